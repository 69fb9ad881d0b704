// How much of 1 GiB that was freed each policy keeps, and how fast the rest is returned to the OS: the bounds of
// docs/malloc.md. The environment sets the policy of the whole process: ctest runs all of this under each.
#include "os/child.hpp"
#include "os/system_memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <latch>
#include <malloc.h>
#include <semaphore>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

// Of the process: set before its first test.
[[maybe_unused]] const bool only_small_pages = test::keep_to_small_pages();

constexpr std::size_t kib = 1024, mib = 1024 * kib, gib = 1024 * mib;
constexpr std::size_t page = 4 * kib, chunk = 4 * mib;

using test::resident_bytes;

struct bounds {
    std::size_t heap, left, huge, at_hand, spans;
    long at_once; // pages that one call makes resident for a large class in a large heap; 0: none
    // The most that stays resident of 1 GiB when nothing else is in use. The tables stay, too: at most 3.33 % of what
    // was in use.
    [[nodiscard]] std::size_t after_a_gib() const { return heap + huge + at_hand + spans + gib / 30; }
};

constexpr std::size_t empty_spans = 5632 * kib;

bounds bounds_here() {
    const char *name = std::getenv("FLATLINE_POLICY");
    const std::string policy = name == nullptr ? "balanced" : name;
    if (policy == "latency") return {gib, gib, gib, 10400 * kib, empty_spans, 512};
    if (policy == "memory") return {256 * kib, 256 * kib, 4 * mib, 1700 * kib, 0, 0};
    return {256 * kib, 4 * mib, 64 * mib, 7700 * kib, empty_spans, 16};
}

bool keeps_all() { return bounds_here().heap == gib; }

// Allocates blocks and writes to all their pages, so that they are resident.
std::vector<char *> take(std::size_t bytes, std::size_t size) {
    std::vector<char *> blocks(bytes / size);
    for (char *&block : blocks) {
        block = static_cast<char *>(malloc(size));
        for (std::size_t at = 0; at < size; at += page) block[at] = 1;
        block[size - 1] = 1;
    }
    return blocks;
}

void give(std::vector<char *> &blocks) {
    for (char *block : blocks) free(block);
    std::vector<char *>().swap(blocks);
}

// The calls of a program that goes on running: the usual ones, and no others.
void go_on(std::size_t pairs) {
    for (std::size_t i = 0; i < pairs; i++) free(malloc(64));
}

// Several times the number of steps in which a GiB is returned.
constexpr std::size_t calls = gib / mib;

// What a thread runs while it returns memory to the OS: see madvise() below.
thread_local std::function<void()> *as_memory_goes = nullptr;
thread_local std::size_t bytes_that_went = 0;

class malloc_policy : public testing::TestWithParam<std::size_t> {
  protected:
    void SetUp() override { (void)malloc_trim(0); }
};

TEST_P(malloc_policy, keeps_of_a_gib_that_was_freed_what_it_says) {
    const std::size_t before = resident_bytes();
    std::vector<char *> blocks = take(gib, GetParam());
    EXPECT_GE(resident_bytes(), before + blocks.size() * GetParam());
    give(blocks);
    if (GetParam() <= mib) go_on(calls);
    EXPECT_LE(resident_bytes(), before + bounds_here().after_a_gib() + (keeps_all() ? gib : 0));
    if (keeps_all()) {
        EXPECT_GE(resident_bytes(), before + gib / 2);
    }
    EXPECT_EQ(malloc_trim(0), 1);
    EXPECT_LE(resident_bytes(), before + gib / 31 + mib);
    (void)malloc_trim(0);
    const int again = malloc_trim(0);
    EXPECT_EQ(again, 0) << "there is nothing left to give back";
}

INSTANTIATE_TEST_SUITE_P(of_blocks, malloc_policy,
                         testing::Values(64, 1000, 10000, 100 * kib, mib, 5 * mib, 50 * mib, gib),
                         [](const auto &tested) { return "of_" + std::to_string(tested.param) + "_bytes"; });

TEST(malloc_policy_steps, no_call_gives_back_more_than_a_step) {
    constexpr std::size_t counted_late = mib; // the kernel updates its counters in batches
    for (const std::size_t size : {64 * mib, 2 * mib, 100 * kib, std::size_t{10000}}) {
        const std::vector<char *> blocks = take(gib, size);
        const std::size_t step = size > mib ? size + size / 64 + 2 * chunk : mib; // huge blocks: as much as is freed
        std::size_t now = test::about_resident_bytes(), longer = 0;
        const auto look = [&] {
            const std::size_t before = now;
            now = test::about_resident_bytes();
            if (before > now + step + counted_late) longer++;
        };
        for (char *block : blocks) {
            free(block);
            look();
        }
        for (std::size_t i = 0; i < calls; i++) {
            void *block = malloc(64);
            look();
            free(block);
            look();
        }
        EXPECT_EQ(longer, 0U) << size;
        (void)malloc_trim(0);
    }
}

// A call that frees or shrinks a huge block returns as much memory to the OS, so that no other call has to.
TEST(malloc_policy_steps, what_is_freed_of_huge_blocks_goes_back_with_it) {
    constexpr std::size_t counted_late = mib;
    const auto stays = [&](std::size_t before) {
        EXPECT_LE(resident_bytes(), before + bounds_here().huge + gib / 30);
        const std::size_t now = resident_bytes();
        go_on(calls);
        EXPECT_LE(now, resident_bytes() + counted_late);
    };
    if (keeps_all()) GTEST_SKIP() << "all of it stays";
    for (const std::size_t size : {gib, 256 * mib, 5 * mib, 2 * mib}) {
        SCOPED_TRACE(size);
        (void)malloc_trim(0);
        const std::size_t before = resident_bytes();
        std::vector<char *> blocks = take(gib, size);
        give(blocks);
        stays(before);
    }
    (void)malloc_trim(0);
    const std::size_t before = resident_bytes();
    std::vector<char *> blocks = take(gib, gib);
    blocks[0] = static_cast<char *>(realloc(blocks[0], 2 * mib));
    stays(before + 2 * mib);
    give(blocks);
}

// The page faults of this process so far. Pages that a single system call makes resident count, too.
long page_faults() {
    struct rusage used{};
    (void)getrusage(RUSAGE_SELF, &used);
    return used.ru_minflt;
}

// A program that frees and allocates the same memory over and over waits for page faults only a few times. After that
// it waits for at most one page per 64 calls, or one chunk per 64 huge blocks. ctest runs this in a process of its own:
// what other tests have allocated would have to be used up first.
TEST(malloc_policy_credit, is_used_up_by_what_comes_and_goes) {
    constexpr std::size_t bytes = 256 * mib, rounds_at_most = 20; // several times the most that was ever in use
    for (const std::size_t size : {100 * kib, 64 * mib}) {
        (void)malloc_trim(0);
        std::size_t round = 0;
        long waits = bytes / page;
        for (; round < rounds_at_most && waits > static_cast<long>(bytes / page / 20); round++) {
            const long before = page_faults();
            std::vector<char *> blocks = take(bytes, size);
            give(blocks);
            go_on(bytes / chunk);
            waits = page_faults() - before;
        }
        EXPECT_LT(round, rounds_at_most) << size;
    }
}

// A block that is freed and allocated again gets resident memory, even if the policy's limit of kept memory is reached.
// It may have to move when larger blocks beside it are freed.
TEST(malloc_policy_steps, a_block_that_comes_and_goes_has_memory_that_is_there) {
    constexpr std::size_t size = 2 * mib, rounds = 100;
    (void)malloc_trim(0);
    std::vector<char *> small = take(size, size);
    const std::vector<char *> large = take(gib, 256 * mib);
    const long before = page_faults();
    for (char *block : large) {
        give(small);
        free(block);
        for (std::size_t i = 0; i < rounds; i++) {
            small = take(size, size);
            give(small);
        }
        small = take(size, size);
    }
    EXPECT_LE(page_faults() - before, static_cast<long>((large.size() + 1) * size / page));
    give(small);
}

// While one thread returns memory to the OS, another that would otherwise have to do so does not wait for it: no lock
// is held, and none of the other thread's calls returns anything.
TEST(malloc_policy_threads, leave_to_another_what_it_is_giving_back) {
    (void)malloc_trim(0);
    if (keeps_all()) GTEST_SKIP() << "none gives anything back";
    std::size_t by_the_other = 0, rounds = 0;
    bool ends = false;
    std::binary_semaphore goes_on{0}, has_gone_on{0};
    std::thread other([&] {
        for (;;) {
            goes_on.acquire();
            if (ends) return;
            const std::size_t before = bytes_that_went;
            for (int i = 0; i < 100; i++) free(malloc(2 * mib));
            go_on(100);
            by_the_other += bytes_that_went - before;
            rounds++;
            has_gone_on.release();
        }
    });
    std::function<void()> let_the_other_go_on = [&] {
        goes_on.release();
        if (!has_gone_on.try_acquire_for(std::chrono::seconds(10))) std::abort(); // the other thread waits for this one
    };
    let_the_other_go_on(); // it has what it needs now: taking new addresses returns memory, too
    by_the_other = rounds = 0;
    const std::vector<char *> large = take(gib, 256 * mib);
    as_memory_goes = &let_the_other_go_on;
    for (char *block : large) free(block);
    as_memory_goes = nullptr;
    ends = true;
    goes_on.release();
    other.join();
    EXPECT_GE(rounds, gib / mib / 2);
    EXPECT_EQ(by_the_other, 0U);
}

// Memory that a thread is returning while another thread forks is free in the child. The child returns it to the OS,
// and returns its own as usual.
TEST(malloc_policy_threads, give_back_in_a_child_what_they_were_giving_back) {
    (void)malloc_trim(0);
    if (keeps_all()) GTEST_SKIP() << "none gives anything back";
    const std::size_t before_all = resident_bytes();
    char *large = take(gib, gib)[0];
    int status = -1;
    std::function<void()> let_another_fork = [&] {
        as_memory_goes = nullptr;
        std::thread([&] {
            status = test::in_child([&] {
                (void)malloc_trim(0);
                const std::size_t before = resident_bytes();
                if (before > before_all + chunk + gib / 30) return 2;
                std::vector<char *> blocks = take(256 * mib, 64 * mib);
                give(blocks);
                return resident_bytes() <= before + bounds_here().huge + gib / 30 ? 0 : 1;
            });
        }).join();
    };
    as_memory_goes = &let_another_fork;
    free(large);
    as_memory_goes = nullptr;
    EXPECT_EQ(status, 0);
}

// More threads return memory at a time than the malloc keeps track of. None of them leaves its memory to others, and a
// child that is forked meanwhile gets all but the steps in progress.
TEST(malloc_policy_threads, give_back_as_much_each_when_many_do) {
    constexpr std::size_t count = 24, size = 32 * mib, in_steps = count * 2 * chunk;
    (void)malloc_trim(0);
    if (keeps_all()) GTEST_SKIP() << "none gives anything back";
    const std::size_t before = resident_bytes();
    const std::vector<char *> large = take(count * size, size);
    std::vector<char *> kept = take(256 * mib, 64 * mib);
    give(kept);
    std::counting_semaphore<count> is_at_it{0};
    std::latch has_forked(1);
    std::function<void()> wait_once = [&] {
        as_memory_goes = nullptr;
        is_at_it.release();
        has_forked.wait();
    };
    std::vector<std::thread> threads;
    for (char *block : large)
        threads.emplace_back([&wait_once, block] {
            as_memory_goes = &wait_once;
            free(block);
        });
    for (std::size_t i = 0; i < count; i++)
        if (!is_at_it.try_acquire_for(std::chrono::seconds(10))) std::abort(); // a thread left all of it to others
    const int status = test::in_child([&] {
        (void)malloc_trim(0);
        return resident_bytes() <= before + in_steps + gib / 30 ? 0 : 1;
    });
    has_forked.count_down();
    for (std::thread &thread : threads) thread.join();
    EXPECT_EQ(status, 0);
    EXPECT_LE(resident_bytes(), before + bounds_here().huge + gib / 30);
    const std::size_t now = resident_bytes();
    go_on(calls);
    EXPECT_LE(now, resident_bytes() + mib);
}

// Once the credit is used up, malloc_trim renews it: blocks that are live during the trim may be returned to the OS
// when they are freed.
TEST(malloc_policy_credit, is_renewed_by_malloc_trim) {
    constexpr std::size_t bytes = 256 * mib, size = 100 * kib;
    for (std::size_t round = 0; round < 10; round++) {
        std::vector<char *> blocks = take(bytes, size);
        give(blocks);
        go_on(bytes / chunk);
    }
    std::vector<char *> blocks = take(bytes, size);
    (void)malloc_trim(0);
    give(blocks);
    go_on(bytes / chunk);
    if (!keeps_all()) {
        EXPECT_LE(resident_bytes(), bytes / 2);
    }
}

// A block that is larger than all memory so far finds only free pieces that are too small. These are returned to the OS
// to pay for its new pages.
TEST(malloc_policy_steps, pages_begun_anew_are_paid_for_by_those_that_lie_free) {
    (void)malloc_trim(0);
    const std::size_t all = mallinfo2().arena + 4 * gib, before = resident_bytes();
    auto *block = static_cast<char *>(malloc(all));
    if (block == nullptr) GTEST_SKIP() << "the machine is too small for one block of so many bytes";
    std::memset(block, 1, 8 * chunk);
    free(block);
    go_on(2 * all / chunk); // the first of the freed pages are kept
    void *piece = malloc(2 * mib);
    void *other = malloc(2 * all);
    go_on(2 * all / chunk);
    if (!keeps_all()) {
        EXPECT_LE(resident_bytes(), before + 2 * mib + 2 * mib); // the piece may be resident
    }
    free(other);
    free(piece);
}

// Whether no other test runs in this process. What other tests leave behind would count.
bool is_alone() { return testing::UnitTest::GetInstance()->test_to_run_count() == 1; }

// Large blocks that are never written to have only their tables resident. These are small, and return with the blocks.
TEST(malloc_policy_tables, tables_of_what_is_free_go_back) {
    if (!is_alone()) GTEST_SKIP() << "in a process of its own only";
    (void)malloc_trim(0);
    std::vector<void *> blocks(64 * gib / 1000000);
    const std::size_t before = resident_bytes();
    for (void *&block : blocks) block = malloc(1000000);
    if (blocks.back() == nullptr) GTEST_SKIP() << "so many bytes cannot be mapped here";
    EXPECT_LE(resident_bytes(), before + 40 * mib);
    for (void *block : blocks) free(block);
    (void)malloc_trim(0);
    EXPECT_LE(resident_bytes(), before + 4 * mib);
}

// When many huge blocks are freed, the pages that stay mapped are not forgotten while the tables of the others are
// returned: one block of nearly as many bytes is placed where they were.
TEST(malloc_policy_tables, what_is_kept_is_served_again) {
    if (!is_alone()) GTEST_SKIP() << "in a process of its own only";
    constexpr std::size_t bytes = 512 * mib, size = 4 * mib;
    std::vector<char *> blocks = take(bytes, size);
    const auto [lowest, highest] = std::minmax_element(blocks.begin(), blocks.end(), std::less<>());
    const char *from = *lowest, *until = *highest;
    give(blocks);
    go_on(2 * bytes / chunk);
    auto *block = static_cast<char *>(malloc(bytes * 3 / 4));
    EXPECT_TRUE(from <= block && block <= until);
    free(block);
}

// Allocates 64-byte blocks without touching them. A growing class makes two or 64 pages resident at a time; with the
// policy memory it makes none resident.
TEST(malloc_policy_growth, makes_pages_resident_some_at_a_time) {
    (void)malloc_trim(0);
    constexpr std::size_t count = 100000, size = 64;
    std::vector<void *> blocks(count);
    const std::size_t before = resident_bytes();
    for (void *&block : blocks) block = malloc(size);
    const std::size_t now = resident_bytes(), grown = now > before ? now - before : 0;
    if (bounds_here().at_once == 0) {
        EXPECT_LT(grown, count * size / 10);
    } else {
        EXPECT_GE(grown, count * size * 9 / 10);
        EXPECT_LE(grown, count * size + 2 * mib);
    }
    for (void *block : blocks) free(block);
}

// A thread's first thousand blocks lie on 16 pages. With any policy at most a fourth as many pages may become resident
// besides, plus some pages of the tables and those of the heap itself.
TEST(malloc_policy_growth, a_small_heap_has_little_more_resident_than_its_blocks) {
    std::thread([] {
        std::array<void *, 1000> blocks{};
        const long before = page_faults();
        for (void *&block : blocks) {
            block = malloc(64);
            *static_cast<char *>(block) = 1;
        }
        EXPECT_LE(page_faults() - before, 16 + 4 + 30);
        for (void *block : blocks) free(block);
    }).join();
}

// Once a class has 2 MiB and its heap 64 MiB, a call that finds nothing free makes as many pages resident as the policy
// says, plus at most the tables of the pages that it maps and two eighths of a chunk's states. There are no more such
// calls than that implies. Neither a write to a block nor a free then waits for a page, except for the first spans of a
// class and, with the policy balanced, the first chunk's tables.
TEST(malloc_policy_growth, makes_as_many_pages_resident_at_once_as_it_says) {
    constexpr std::size_t bytes = 96 * mib, size = 64;
    constexpr long tables = (36 + 2 * 8) * kib / page + 6, of_a_chunk = 72 * kib / page + 3, others = 8;
    constexpr long until_it_is_large = 400;
    std::vector<void *> blocks(bytes / size);
    (void)malloc_trim(0);
    long most = 0, waits = 0;
    for (void *&block : blocks) {
        const long before = page_faults();
        block = malloc(size);
        const long here = page_faults() - before;
        most = std::max(most, here);
        waits += here != 0 ? 1 : 0;
    }
    const long before_writes = page_faults();
    for (void *block : blocks) *static_cast<char *>(block) = 1;
    const long before_frees = page_faults();
    for (void *block : blocks) free(block);
    const long after = page_faults();
    EXPECT_GE(most, bounds_here().at_once * 9 / 10); // there may be fewer at the end of the mapped pages
    EXPECT_LE(most, bounds_here().at_once + tables + others);
    if (bounds_here().at_once != 0) {
        EXPECT_LE(waits, static_cast<long>(bytes / page) / bounds_here().at_once + until_it_is_large);
        EXPECT_LE(before_frees - before_writes, 16 + others);
        EXPECT_LE(after - before_frees, of_a_chunk + others);
    }
}

// If the program locks its future mappings, a call makes at most 128 KiB of blocks and a chunk's tables resident.
TEST(malloc_policy_locked, memory_becomes_resident_in_small_steps) {
    const int status = test::in_child([] {
        constexpr long blocks = 128 * kib / page, tables = 136 * kib / page + 8, others = 8;
        if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) return 2;
        long most = 0;
        for (int i = 0; i < 100000; i++) {
            const long before = page_faults();
            void *volatile block = malloc(1000);
            if (block == nullptr) return 3;
            most = std::max(most, page_faults() - before);
        }
        return most <= blocks + tables + others && munlockall() == 0 ? 0 : 1;
    });
    if (status == 2) GTEST_SKIP() << "this system lets the program lock no memory";
    EXPECT_EQ(status, 0);
}

// A growing size also uses the thread cache's blocks of all other sizes, unless the policy keeps everything.
TEST(malloc_policy_growth, of_one_size_uses_what_others_have_left) {
    (void)malloc_trim(0);
    const std::size_t before = resident_bytes();
    for (std::size_t size = 16; size <= 16 * kib; size = size < 512 ? size + 16 : size + size / 32) {
        std::vector<char *> blocks = take(64 * kib, size);
        give(blocks);
    }
    std::vector<char *> blocks = take(16 * mib, 64);
    const std::size_t needed = blocks.size() * (64 + sizeof(char *)) * 31 / 30;
    if (!keeps_all()) {
        EXPECT_LT(resident_bytes(), before + needed + mib);
    }
    give(blocks);
}

// A span holds eight blocks of this size. With the policy memory the thread cache holds four and moves two at a time.
// Once those four are allocated again, the next comes from the span with one free block, not from the one with three.
TEST(malloc_policy_growth, takes_from_the_fullest_span_with_the_policy_memory) {
    if (bounds_here().spans != 0) GTEST_SKIP() << "another policy";
    (void)malloc_trim(0);
    std::vector<char *> blocks = take(16 * std::size_t{992}, 992);
    free(blocks[8]);
    for (std::size_t i = 0; i < 7; i++) free(blocks[i]);
    std::vector<char *> again;
    for (std::size_t i = 0; i < 5; i++) again.push_back(static_cast<char *>(malloc(992)));
    EXPECT_EQ(again.back(), blocks[8]);
    give(again);
    free(blocks[7]);
    for (std::size_t i = 9; i < blocks.size(); i++) free(blocks[i]);
}

// The cached blocks and empty spans of 64 sizes are more than a thread may keep in free pages. They become free pages
// when the thread ends.
TEST(malloc_policy_threads, leave_no_more_behind_than_may_be_left) {
    constexpr std::size_t of_a_thread = 256 * kib; // its heap itself, its stack, and its chunk's tables
    (void)malloc_trim(0);
    const std::size_t before = resident_bytes();
    std::vector<std::thread> threads;
    std::latch all_have_freed(16); // otherwise a thread would take over what another left
    for (int i = 0; i < 16; i++) {
        threads.emplace_back([&] {
            std::vector<std::vector<char *>> blocks;
            for (std::size_t size = 256; size <= 16 * kib; size += 256) blocks.push_back(take(64 * kib, size));
            for (std::vector<char *> &of_one_size : blocks) give(of_one_size);
            all_have_freed.arrive_and_wait();
        });
    }
    for (std::thread &thread : threads) thread.join();
    if (!keeps_all()) {
        EXPECT_LE(resident_bytes(), before + bounds_here().left + 16 * of_a_thread + 2 * mib);
    }
    (void)malloc_trim(0);
    EXPECT_LE(resident_bytes(), before + 16 * of_a_thread + 2 * mib);
}

// A thread takes over what an ended thread left, which is more than a thread may keep. It returns the excess to the OS,
// whatever calls it makes.
TEST(malloc_policy_threads, give_back_what_another_has_left_to_them) {
    if (bounds_here().left <= bounds_here().heap || keeps_all()) GTEST_SKIP() << "no more is left than a thread keeps";
    (void)malloc_trim(0);
    std::thread([] {
        std::vector<std::vector<char *>> blocks;
        for (std::size_t size = 256; size <= 16 * kib; size += 256) blocks.push_back(take(64 * kib, size));
        for (std::vector<char *> &of_one_size : blocks) give(of_one_size);
    }).join();
    std::thread([] {
        go_on(1);
        const std::size_t before = resident_bytes();
        go_on(10);
        EXPECT_LE(resident_bytes() + mib, before);
    }).join();
}

TEST(malloc_policy_counts, mallinfo2_counts_each_block) {
    const struct mallinfo2 before = mallinfo2();
    std::array<char *, 1000> small{};
    for (char *&block : small) block = static_cast<char *>(malloc(100));
    void *large = malloc(100 * kib), *huge = malloc(10 * mib);
    const struct mallinfo2 now = mallinfo2();
    EXPECT_EQ(now.uordblks - before.uordblks, small.size() * malloc_usable_size(small[0]) + malloc_usable_size(large));
    EXPECT_EQ(now.hblks - before.hblks, 1U);
    EXPECT_EQ(now.hblkhd - before.hblkhd, malloc_usable_size(huge));
    EXPECT_EQ(now.arena, now.uordblks + now.fordblks);
    free(huge);
    free(large);
    for (char *block : small) free(block);
    EXPECT_EQ(mallinfo2().uordblks, before.uordblks);
    EXPECT_EQ(mallinfo2().hblks, before.hblks);
    EXPECT_GT(mallinfo2().keepcost, 0U);
}

} // namespace

// Replaces the system's madvise, so that the test knows which thread returns memory and can let another one run
// meanwhile.
extern "C" [[gnu::visibility("default")]] int madvise(void *start, std::size_t bytes, int advice) noexcept {
    if (advice == MADV_DONTNEED && bytes >= mib) { // from huge blocks, not from a thread's small ones
        bytes_that_went += bytes;
        if (as_memory_goes != nullptr) (*as_memory_goes)();
    }
    return static_cast<int>(syscall(SYS_madvise, start, bytes, advice));
}
