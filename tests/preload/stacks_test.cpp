// Stacks as numbers: from the caller that is named outwards, through signals, inlined code and code that no file has.
#include "preload/stacks.h"

extern "C" {
#include "preload/unwind.h"
}

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

namespace {

#define NOINLINE __attribute__((noinline, noclone))

interned_table *table() {
    static const auto made = std::make_unique<interned_table>();
    static const bool prepared = (stacks_prepare(), true);
    return prepared ? made.get() : nullptr;
}

std::vector<std::uint64_t> frames_of(std::uint32_t stack) {
    std::vector<std::uint64_t> frames(UNWIND_DEPTH);
    frames.resize(stack_get(table(), stack, frames.data()));
    return frames;
}

std::string path_of(std::uint64_t frame) {
    std::size_t count = 0;
    const std::uint64_t *words = interned_get(table(), frame_file(frame), &count);
    return words == nullptr ? "" : std::string(reinterpret_cast<const char *>(words)).substr(0, count * 8);
}

volatile int kept_apart; // so that no call is the last that a function does

struct Found {
    std::uintptr_t innermost = 0;
    std::uint32_t stack = 0;
};

/// As the function of an allocator: the stack from its caller on.
NOINLINE Found look() {
    Found found;
    found.innermost = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
    found.stack = stack_of(table(), __builtin_return_address(0));
    kept_apart = kept_apart + 1;
    return found;
}

NOINLINE Found recurse(int depth) {
    Found found = depth > 0 ? recurse(depth - 1) : look();
    kept_apart = kept_apart + 1;
    return found;
}

void expect_begins_with(const Found &found) {
    const std::vector<std::uint64_t> frames = frames_of(found.stack);
    ASSERT_FALSE(frames.empty());
    EXPECT_EQ(frames[0], frame_of(table(), found.innermost));
}

TEST(stack, begins_with_the_caller_and_names_its_file) {
    errno = 77;
    const Found found = look();
    EXPECT_EQ(errno, 77);
    expect_begins_with(found);
    const std::vector<std::uint64_t> frames = frames_of(found.stack);
    EXPECT_GT(frames.size(), 3U); // main and what GoogleTest has between
    char self[4096] = {};
    ASSERT_GT(readlink("/proc/self/exe", self, sizeof self - 1), 0);
    EXPECT_EQ(path_of(frames[0]), self);
    EXPECT_STREQ(stacks_program(), self);
}

TEST(stack, of_the_same_place_is_the_same_number) {
    std::uint32_t stacks[3];
    for (std::uint32_t &stack : stacks) stack = look().stack;
    EXPECT_EQ(stacks[0], stacks[1]);
    EXPECT_EQ(stacks[1], stacks[2]);
    EXPECT_NE(stacks[0], look().stack);
}

TEST(stack, of_recursion_has_each_frame_from_the_innermost_on) {
    const std::size_t without = frames_of(recurse(0).stack).size();
    for (const int depth : {1, 2, 5, 20}) {
        const Found found = recurse(depth);
        expect_begins_with(found);
        EXPECT_EQ(frames_of(found.stack).size(), without + static_cast<std::size_t>(depth));
    }
}

Found call_allocator(int depth);

/// An allocator that calls the program again before it looks, as for a handler of a new block.
NOINLINE Found look_within(int depth) {
    Found found;
    if (depth > 0) {
        found = call_allocator(depth - 1);
    } else {
        found.innermost = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
        found.stack = stack_of(table(), __builtin_return_address(0));
    }
    kept_apart = kept_apart + 1;
    return found;
}

NOINLINE Found call_allocator(int depth) {
    Found found = look_within(depth);
    kept_apart = kept_apart + 1;
    return found;
}

TEST(stack, of_an_allocator_within_itself_begins_with_the_innermost_of_the_equal_callers) {
    std::vector<std::size_t> sizes;
    for (const int depth : {0, 1, 2}) {
        const Found found = call_allocator(depth);
        expect_begins_with(found);
        sizes.push_back(frames_of(found.stack).size());
    }
    EXPECT_EQ(sizes[1], sizes[0] + 2);
    EXPECT_EQ(sizes[2], sizes[0] + 4);
}

TEST(stack, that_is_deeper_than_64_frames_is_its_innermost_ones) {
    const Found found = recurse(200);
    expect_begins_with(found);
    const std::vector<std::uint64_t> frames = frames_of(found.stack);
    ASSERT_EQ(frames.size(), std::size_t{UNWIND_DEPTH});
    for (std::size_t i = 2; i < frames.size(); i++) EXPECT_EQ(frames[i], frames[1]);
}

TEST(stack, is_the_named_caller_alone_if_no_frame_returns_there) {
    const auto nowhere = reinterpret_cast<std::uintptr_t>(&kept_apart);
    const std::vector<std::uint64_t> frames = frames_of(stack_of(table(), reinterpret_cast<void *>(nowhere)));
    ASSERT_EQ(frames.size(), 1U);
    EXPECT_EQ(frames[0], frame_of(table(), nowhere));
}

Found in_handler;
void handle(int) { in_handler = look(); }

NOINLINE std::uintptr_t interrupted() {
    (void)raise(SIGUSR1);
    kept_apart = kept_apart + 1;
    return reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
}

TEST(stack, goes_on_through_a_signals_handler_to_what_it_interrupted) {
    ASSERT_NE(std::signal(SIGUSR1, handle), SIG_ERR);
    const std::uintptr_t caller = interrupted();
    expect_begins_with(in_handler);
    const std::vector<std::uint64_t> frames = frames_of(in_handler.stack);
    EXPECT_NE(std::find(frames.begin(), frames.end(), frame_of(table(), caller)), frames.end());
}

#if defined(__x86_64__)
TEST(stack, ends_in_code_that_no_file_has_with_its_address) {
    // subq $8, %rsp; call *%rdi; addq $8, %rsp; ret
    constexpr unsigned char code[] = {0x48, 0x83, 0xec, 8, 0xff, 0xd7, 0x48, 0x83, 0xc4, 8, 0xc3};
    void *place = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(place, MAP_FAILED);
    std::memcpy(place, code, sizeof code);
    ASSERT_EQ(mprotect(place, 4096, PROT_READ | PROT_EXEC), 0);
    void (*stub)(void (*)()) = nullptr;
    std::memcpy(&stub, &place, sizeof place);
    static Found found;
    stub([] { found = look(); });
    stub([] { found.stack = stack_of(table(), __builtin_return_address(0)); });
    const std::vector<std::uint64_t> frames = frames_of(found.stack);
    ASSERT_EQ(frames.size(), 1U);
    EXPECT_EQ(frames[0], FRAME_ABSOLUTE | (reinterpret_cast<std::uintptr_t>(place) + 6));
    EXPECT_EQ(frame_file(frames[0]), 0U);
    EXPECT_EQ(frame_offset(frames[0]), reinterpret_cast<std::uintptr_t>(place) + 6);
    EXPECT_EQ(munmap(place, 4096), 0);
}
#endif

} // namespace
