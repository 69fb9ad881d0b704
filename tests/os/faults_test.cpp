// faults.c: the kernel's counters.
#include "../../src/os/faults.h"

#include "os/system_memory.hpp"
#include "os/trap.hpp"

#include <gtest/gtest.h>

#include <sched.h>
#include <sys/mman.h>
#include <time.h>

TEST(faults, counts_a_first_touch) {
    const std::size_t page = test::page_size(), pages = 64;
    char *memory =
        static_cast<char *>(mmap(nullptr, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(memory, MAP_FAILED);
    (void)madvise(memory, pages * page, MADV_NOHUGEPAGE);
    const flat_faults before = flat_faults_now();
    for (std::size_t i = 0; i < pages; i++) test::write(memory + i * page);
    const flat_faults after = flat_faults_now();
    EXPECT_GE(after.minor + after.major, before.minor + before.major + pages);
    ASSERT_EQ(munmap(memory, pages * page), 0);
}

TEST(faults, counts_a_switch_that_the_process_asked_for) {
    const flat_faults before = flat_faults_now();
    const timespec moment{0, 1000000};
    for (int i = 0; i < 5; i++) nanosleep(&moment, nullptr);
    EXPECT_GE(flat_faults_now().voluntary, before.voluntary + 1);
}

TEST(faults, never_counts_backwards) {
    flat_faults last = flat_faults_now();
    for (int i = 0; i < 1000; i++) {
        const flat_faults now = flat_faults_now();
        ASSERT_GE(now.minor, last.minor);
        ASSERT_GE(now.major, last.major);
        ASSERT_GE(now.voluntary, last.voluntary);
        ASSERT_GE(now.involuntary, last.involuntary);
        last = now;
    }
}
