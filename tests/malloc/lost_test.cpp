// Addresses whose state is unknown after a system call failed: what others map there stays theirs, and no block is
// handed out there.
#include "os/child.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

namespace {

constexpr std::size_t page = 4096, mib = std::size_t{1} << 20, chunk = 4 * mib;

// What the next system call does: see mmap() and munmap() below.
bool maps_nothing = false, unmaps_a_half = false;

char *take(std::size_t bytes) { return static_cast<char *>(std::malloc(bytes)); }
char *resized(char *block, std::size_t bytes) { return static_cast<char *>(std::realloc(block, bytes)); }

// Returns a block of a chunk and `more` pages. Free pages follow it, of which the first `with_memory` have memory.
char *before_free_pages(std::size_t more, std::size_t with_memory) {
    char *block = static_cast<char *>(std::aligned_alloc(chunk, 32 * mib));
    if (block == nullptr || resized(block, chunk + (more + with_memory) * page) != block) return nullptr;
    (void)malloc_trim(0);
    return resized(block, chunk + more * page);
}

// A realloc could grow in place, but the system refuses the memory, and the tables then say that the pages are free
// again. It looks for a new place and finds the same pages. Of those that have memory the system unmaps only half.
int lose(std::size_t more, std::size_t with_memory) {
    char *growing = before_free_pages(more, with_memory);
    DEMAND(growing != nullptr);
    char *end = growing + chunk + more * page;
    maps_nothing = unmaps_a_half = true;
    growing[0] = growing[chunk - 1] = 1;
    char *moved = resized(growing, 20 * mib);
    DEMAND(!maps_nothing && !unmaps_a_half);
    DEMAND(moved != nullptr && moved != growing && moved[0] == 1 && moved[chunk - 1] == 1);

    const std::size_t half = (with_memory + 1) / 2 * page;
    void *theirs = mmap(end, half, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    DEMAND(theirs == end);
    std::memset(theirs, 7, half);
    (void)malloc_trim(0);
    std::vector<char *> blocks(24);
    for (char *&block : blocks) {
        block = take(2 * mib);
        DEMAND(block != nullptr);
        std::memset(block, 1, 2 * mib);
    }
    for (char *block : blocks) std::free(block);
    std::free(moved);
    (void)malloc_trim(0);
    const std::vector<char> expected(half, 7);
    DEMAND(std::memcmp(theirs, expected.data(), half) == 0);
    return 0;
}

// In the malloc's tables 32 pages share an entry: the tested pages lie in all ways within and across entries.
class lost_addresses : public testing::TestWithParam<std::size_t> {};

TEST_P(lost_addresses, are_never_used_again) {
    for (std::size_t with_memory = 1; with_memory <= 40; with_memory += with_memory < 8 ? 1 : 5) {
        EXPECT_EQ(test::in_child([&] { return lose(GetParam(), with_memory); }), 0) << with_memory;
    }
}

INSTANTIATE_TEST_SUITE_P(from_page, lost_addresses, testing::Values(0, 1, 2, 15, 16, 24, 30, 31));

} // namespace

extern "C" [[gnu::visibility("default")]] void *mmap(void *at, std::size_t bytes, int access, int flags, int file,
                                                     off_t offset) noexcept {
    if (maps_nothing) {
        maps_nothing = false;
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return reinterpret_cast<void *>(syscall(SYS_mmap, at, bytes, access, flags, file, offset)); // NOLINT
}

extern "C" [[gnu::visibility("default")]] int munmap(void *at, std::size_t bytes) noexcept {
    if (!unmaps_a_half) return static_cast<int>(syscall(SYS_munmap, at, bytes));
    unmaps_a_half = false;
    (void)syscall(SYS_munmap, at, (bytes / page + 1) / 2 * page);
    errno = ENOMEM;
    return -1;
}
