// The cache of a thread's stacks: which calls must be unwound, by counting, and that each has its own stack: the number
// of a stack that is unwound without the cache is the oracle.
#include "preload/stack_cache.h"

#include "preload/stacks.h"

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <ucontext.h>
#include <unwind.h>

namespace {
thread_local std::size_t unwound, frames_unwound;

struct Look {
    _Unwind_Trace_Fn function;
    void *context;
};
_Unwind_Reason_Code count_and_look(_Unwind_Context *frame, void *of) {
    frames_unwound++;
    const Look *look = static_cast<Look *>(of);
    return look->function(frame, look->context);
}
} // namespace

// In the place of the run time's own: it counts, and hands on.
extern "C" _Unwind_Reason_Code _Unwind_Backtrace(_Unwind_Trace_Fn function, void *context) {
    static auto *const next = reinterpret_cast<decltype(&_Unwind_Backtrace)>(dlsym(RTLD_NEXT, "_Unwind_Backtrace"));
    unwound++;
    Look look{function, context};
    return next(count_and_look, &look);
}

namespace {

#define NOINLINE __attribute__((noinline, noclone))

#if defined(__x86_64__)
constexpr bool proves = true;
#else
constexpr bool proves = false;
#endif

interned_table *table() {
    static const auto made = std::make_unique<interned_table>();
    static const bool prepared = (stacks_prepare(), stack_cache_prepare(), true);
    return prepared ? made.get() : nullptr;
}

thread_local stack_cache cache; // where the audit has it: among the variables of a thread
bool asks_oracle = true;
volatile int kept_apart; // so that no call is the last that a function does

struct Found {
    std::uint32_t stack = 0;
    const void *caller = nullptr;
    std::uintptr_t frame = 0;
    std::size_t unwound = 0, frames = 0; // for it
    std::ptrdiff_t entry = 0;
    bool is_right = false;
};

/// As a function of the audit does.
NOINLINE Found call(bool slow) {
    Found found;
    found.caller = __builtin_return_address(0);
    found.frame = reinterpret_cast<std::uintptr_t>(__builtin_dwarf_cfa());
    if (cache.entries == nullptr) stack_cache_begin(&cache);
    const std::size_t before = unwound, frames_before = frames_unwound;
    const stack_place place = stack_place_of(&cache, found.caller, found.frame);
    std::uint64_t stack = stack_at_hand(&place);
    if (slow || !stack_is_at_hand(&place, stack))
        stack = stack_find(&cache, table(), &place, found.caller, found.frame, slow);
    found.stack = static_cast<std::uint32_t>(stack);
    found.unwound = unwound - before;
    found.frames = frames_unwound - frames_before;
    found.entry = place.entry - cache.entries;
    found.is_right = !asks_oracle || found.stack == stack_of(table(), found.caller);
    kept_apart = kept_apart + 1;
    return found;
}

/// The calls of one place, one after another: how many stacks were unwound. None may be wrong.
NOINLINE std::size_t unwound_for(int calls, bool slow) {
    std::size_t sum = 0;
    for (int i = 0; i < calls; i++) {
        const Found found = call(slow);
        sum += found.unwound;
        EXPECT_TRUE(found.is_right);
    }
    return sum;
}

struct StackCache : testing::Test {
    void SetUp() override {
        ASSERT_NE(table(), nullptr); // prepared
        stack_cache_end(&cache);
        cache = {};
    }
    void TearDown() override {
        stack_cache_end(&cache);
        asks_oracle = true;
    }
};
using stack_cache_of_a_thread = StackCache;

TEST_F(stack_cache_of_a_thread, unwinds_a_place_once) { EXPECT_EQ(unwound_for(100, false), 1U); }

TEST_F(stack_cache_of_a_thread, does_not_unwind_a_slow_call_again) {
    if (!proves) GTEST_SKIP() << "there are no proofs on this processor";
    EXPECT_EQ(unwound_for(100, true), 1U);
}

TEST_F(stack_cache_of_a_thread, does_not_unwind_a_slow_call_of_another_thread_again) {
    if (!proves) GTEST_SKIP() << "there are no proofs on this processor";
    std::size_t sum = 0;
    std::thread([&] {
        sum = unwound_for(100, true);
        stack_cache_end(&cache);
    }).join();
    EXPECT_EQ(sum, 1U);
}

NOINLINE std::size_t unwound_below_a_large_frame() {
    volatile unsigned char room[3][8192];
    room[0][0] = 1;
    room[2][8191] = 1;
    const std::size_t sum = unwound_for(100, true);
    kept_apart = kept_apart + room[0][0];
    return sum;
}

/// By the kernel, which is asked once.
TEST_F(stack_cache_of_a_thread, knows_a_threads_stack_below_a_large_frame) {
    utsname system;
    int major = 0, minor = 0;
    ASSERT_EQ(uname(&system), 0);
    ASSERT_EQ(std::sscanf(system.release, "%d.%d", &major, &minor), 2);
    if (!proves || major * 100 + minor < 611) GTEST_SKIP() << "it cannot be asked before Linux 6.11";
    std::size_t sum = 0;
    std::thread([&] {
        sum = unwound_below_a_large_frame();
        stack_cache_end(&cache);
    }).join();
    EXPECT_EQ(sum, 1U);
}

NOINLINE Found through_wrapper(bool slow) {
    Found found = call(slow);
    kept_apart = kept_apart + 1;
    return found;
}
template <int number> NOINLINE Found by_caller(bool slow) {
    Found found = through_wrapper(slow);
    kept_apart = kept_apart + number;
    return found;
}
NOINLINE Found through_two(bool slow) {
    Found found = through_wrapper(slow);
    kept_apart = kept_apart + 1;
    return found;
}
template <int number> NOINLINE Found by_caller_further_out(bool slow) {
    Found found = through_two(slow);
    kept_apart = kept_apart + number;
    return found;
}

/// What became of calls by each of these in turn, which have the return address and the stack pointer in common.
std::vector<Found> in_turn(const std::vector<Found (*)(bool)> &callers, int rounds, bool slow) {
    std::vector<Found> all;
    for (int round = 0; round < rounds; round++)
        for (const auto caller : callers) all.push_back(caller(slow));
    for (const Found &each : all) {
        EXPECT_EQ(each.caller, all[0].caller); // or else the test shows nothing
        EXPECT_EQ(each.frame, all[0].frame);
        EXPECT_TRUE(each.is_right);
    }
    return all;
}

std::size_t unwound_in(const std::vector<Found> &all) {
    std::size_t sum = 0;
    for (const Found &each : all) sum += each.unwound;
    return sum;
}

TEST_F(stack_cache_of_a_thread, tells_the_callers_of_a_wrapper_apart) {
    if (!proves) GTEST_SKIP() << "nothing is known of callers further out on this processor";
    for (const bool slow : {false, true}) {
        SetUp();
        EXPECT_EQ(unwound_in(in_turn({by_caller<1>, by_caller<2>, by_caller<3>, by_caller<4>}, 10, slow)), 4U);
    }
}

TEST_F(stack_cache_of_a_thread, unwinds_a_slow_call_of_another_caller_further_out) {
    const std::vector<Found> all = in_turn({by_caller_further_out<1>, by_caller_further_out<2>}, 10, true);
    EXPECT_EQ(unwound_in(all), all.size());
    EXPECT_NE(all[0].stack, all[1].stack);
}

/// Below `depth` frames, from two places: the frames that were unwound for the second.
NOINLINE std::size_t frames_for_the_second(int depth) {
    if (depth > 0) {
        const std::size_t frames = frames_for_the_second(depth - 1);
        kept_apart = kept_apart + 1;
        return frames;
    }
    EXPECT_TRUE(call(false).is_right);
    const Found second = call(false);
    EXPECT_TRUE(second.is_right);
    EXPECT_EQ(second.unwound, 1U);
    return second.frames;
}

TEST_F(stack_cache_of_a_thread, unwinds_no_frame_further_out_that_the_stack_before_had) {
    if (!proves) GTEST_SKIP() << "nothing is known of callers further out on this processor";
    for (const int depth : {2, 10, 40, 200}) {
        SetUp();
        EXPECT_LE(frames_for_the_second(depth), depth < 60 ? 10U : 70U) << depth; // what GoogleTest has is 20 and more
    }
}

NOINLINE Found with_room(std::size_t bytes, bool slow) {
    volatile auto *room = static_cast<volatile unsigned char *>(__builtin_alloca(bytes));
    for (std::size_t i = 0; i < bytes; i++) room[i] = static_cast<unsigned char>(bytes * 7 + i);
    Found found = call(slow);
    kept_apart = kept_apart + room[0];
    return found;
}
NOINLINE Found with_more_room(std::size_t bytes, std::size_t within, bool slow) {
    volatile auto *room = static_cast<volatile unsigned char *>(__builtin_alloca(bytes));
    room[0] = 1;
    Found found = with_room(within, slow);
    kept_apart = kept_apart + room[0];
    return found;
}

TEST_F(stack_cache_of_a_thread, takes_no_contents_of_a_frame_for_callers) {
    std::vector<Found> all;
    for (std::size_t bytes = 64; bytes < 64 + 16 * 64; bytes += 64)
        all.push_back(with_more_room(bytes, 2048 - bytes, false));
    for (const Found &each : all) {
        EXPECT_EQ(each.caller, all[0].caller); // or else this test shows nothing
        EXPECT_EQ(each.frame, all[0].frame);
    }
    EXPECT_LE(unwound_in(all), 2U);
}

constexpr int levels = 4000;

/// One call in each level, on frames of several sizes.
template <std::size_t bytes> NOINLINE void recurse(int depth, bool slow, std::vector<Found> &into) {
    volatile char room[bytes];
    room[0] = 1;
    if (depth > 0) recurse<bytes>(depth - 1, slow, into);
    into.push_back(call(slow));
    kept_apart = kept_apart + room[0];
}

template <std::size_t bytes> NOINLINE void pass(bool slow, std::vector<Found> &into) {
    into.clear();
    recurse<bytes>(levels, slow, into);
    kept_apart = kept_apart + 1;
}

/// The calls of a fourth pass: by then the cache has grown, and come to rest.
/// Behind those in which the cache grows.
template <std::size_t bytes> std::vector<Found> eighth_pass(bool slow) {
    std::vector<Found> into;
    into.reserve(levels + 1);
    for (int i = 0; i < 8; i++) pass<bytes>(slow, into);
    return into;
}

/// Two entries stand for each place. Once there are 32,768, hardly any of 4,000 that stand where chance has put them
/// are lost to others; of 4,096 it would be 40 %.
TEST_F(stack_cache_of_a_thread, has_most_stacks_of_4000_levels_of_recursion_at_hand) {
    constexpr std::vector<Found> (*recursions[])(bool) = {eighth_pass<16>,  eighth_pass<40>,  eighth_pass<56>,
                                                          eighth_pass<80>,  eighth_pass<104>, eighth_pass<136>,
                                                          eighth_pass<200>, eighth_pass<264>};
    std::size_t sum = 0;
    asks_oracle = false;
    for (const auto recursion : recursions) {
        SetUp();
        const std::vector<Found> all = recursion(false);
        sum += unwound_in(all);
        std::map<std::ptrdiff_t, int> places;
        for (const Found &found : all) places[found.entry / 2]++;
        for (const Found &found : all) {
            if (places[found.entry / 2] <= 2) {
                ASSERT_EQ(found.unwound, 0U);
            }
        }
    }
    EXPECT_LT(sum, std::size(recursions) * levels / 20);
}

/// There is room for the proofs of 1,000 of them.
TEST_F(stack_cache_of_a_thread, has_the_right_stacks_after_proofs_were_written_over) {
    if (!proves) GTEST_SKIP() << "there are no proofs on this processor";
    const std::vector<Found> all = eighth_pass<40>(true);
    EXPECT_GT(unwound_in(all), 0U);
    for (const Found &found : all) EXPECT_TRUE(found.is_right);
    EXPECT_EQ(unwound_for(100, true), 1U);
}

std::size_t in_handler;
void handle(int) { in_handler = unwound_for(3, true); }

TEST_F(stack_cache_of_a_thread, unwinds_each_slow_call_in_a_signals_handler) {
    ASSERT_NE(std::signal(SIGUSR1, handle), SIG_ERR);
    ASSERT_EQ(std::raise(SIGUSR1), 0);
    EXPECT_EQ(in_handler, 3U);
}

ucontext_t outside, coroutine;
std::size_t in_coroutine;
void run_coroutine() {
    in_coroutine = unwound_for(3, true);
    swapcontext(&coroutine, &outside);
}

/// That may be unmapped while the cache still knows where return addresses stood on it.
TEST_F(stack_cache_of_a_thread, unwinds_each_slow_call_on_a_stack_that_is_not_the_threads) {
    constexpr std::size_t size = 256 * 1024;
    void *stack = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(stack, MAP_FAILED);
    ASSERT_EQ(getcontext(&coroutine), 0);
    coroutine.uc_stack.ss_sp = stack;
    coroutine.uc_stack.ss_size = size;
    makecontext(&coroutine, run_coroutine, 0);
    ASSERT_EQ(swapcontext(&outside, &coroutine), 0);
    EXPECT_EQ(in_coroutine, 3U);
    EXPECT_EQ(munmap(stack, size), 0);
}

TEST_F(stack_cache_of_a_thread, has_few_stacks_at_hand_when_its_memory_is_gone) {
    EXPECT_EQ(unwound_for(2, false), 1U);
    stack_cache_end(&cache);
    EXPECT_EQ(unwound_for(100, false), 1U);
    EXPECT_EQ(unwound_for(3, true), 3U);
}

} // namespace
