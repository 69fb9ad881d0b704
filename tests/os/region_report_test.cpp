// region_report.c: what the kernel says of a region, beside what this test reads from other places of the kernel's.
#include "os/child.hpp"
#include "os/huge_pages.hpp"
#include "os/system_memory.hpp"
#include "os/test_region.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/mman.h>

namespace {

using test::huge_page;
using test::test_region;

const flat_region_options lazily = test::options_with([](flat_region_options &o) { o.lazy = true; });

// The sum of one figure of /proc/self/smaps over the mappings that lie within [start, start + size), in bytes.
std::size_t smaps(const std::string &name, const void *start, std::size_t size) {
    const auto from = test::address_of(start), to = from + size;
    std::ifstream file("/proc/self/smaps");
    std::size_t sum = 0;
    bool within = false;
    for (std::string line; std::getline(file, line);) {
        std::istringstream fields(line);
        std::uintptr_t low = 0, high = 0;
        char dash = 0;
        if (fields >> std::hex >> low >> dash >> high && dash == '-') within = low >= from && high <= to;
        if (within && line.rfind(name + ":", 0) == 0) sum += std::stoul(line.substr(name.size() + 1)) * 1024;
    }
    return sum;
}

// Pages of a thousand, on both sides of the report's own steps.
constexpr std::size_t sparse[] = {0, 3, 511, 512, 513, 999};

flat_region given(void *start, std::size_t size) {
    flat_region region{};
    EXPECT_EQ(flat_region_from_memory(&region, {start, size}), FLAT_OK);
    return region;
}

flat_region_facts facts_of(const flat_region &region) {
    flat_region_facts facts{};
    EXPECT_EQ(flat_region_report(&region, &facts), FLAT_OK);
    return facts;
}

} // namespace

TEST(region_report, counts_the_pages_that_the_region_lies_on) {
    const std::size_t page = test::page_size();
    const test_region of(10 * page, page, lazily);
    for (std::size_t from : {std::size_t{0}, std::size_t{1}, page - 1}) {
        for (std::size_t size : {std::size_t{1}, page, page + 1, 3 * page}) {
            const flat_region part = given(of.start() + from, size);
            ASSERT_EQ(facts_of(part).bytes, test::pages(part.start, size) * page) << from << " " << size;
        }
    }
}

TEST(region_report, sees_each_page_come) {
    const std::size_t page = test::page_size();
    const test_region of(1000 * page, page, lazily);
    EXPECT_EQ(of.facts().resident, 0u);
    EXPECT_EQ(of.facts().node, FLAT_NODE_UNKNOWN);
    std::size_t written = 0;
    for (std::size_t at : sparse) {
        of.start()[at * page] = 1;
        written++;
        ASSERT_EQ(of.facts().resident, written * page) << at;
        ASSERT_EQ(test::resident_pages(of.start(), of.size()), written);
    }
    EXPECT_EQ(of.facts().page_size, page);
    EXPECT_EQ(facts_of(given(of.start() + page, 510 * page)).resident, page) << "of a part only what lies in it";
}

// A read of memory that was never written maps the common page of zeroes, and the first write then faults.
TEST(region_report, a_page_that_was_only_read_is_not_there_yet) {
    const test_region of(65536, 4096, lazily);
    if (of.facts().node == FLAT_NODE_UNKNOWN) {
        const test_region probe(65536, 4096);
        if (probe.facts().node == FLAT_NODE_UNKNOWN) GTEST_SKIP() << "this kernel does not tell about nodes";
    }
    for (std::size_t at = 0; at < of.size(); at += test::page_size()) {
        (void)*static_cast<const volatile char *>(of.start() + at);
    }
    EXPECT_EQ(of.facts().resident, 0u);
}

TEST(region_report, tells_what_other_places_of_the_kernel_tell) {
    for (const flat_pages pages : {FLAT_PAGES_DEFAULT, FLAT_PAGES_SMALL, FLAT_PAGES_TRANSPARENT}) {
        for (const bool locked : {false, true}) {
            flat_region_options options{};
            options.allowed_pages = pages;
            options.locked = locked;
            const test_region of(4 * huge_page + 12288, 4096, options);
            if (of.status() == FLAT_NOT_PERMITTED) continue;
            ASSERT_EQ(of.status(), FLAT_OK) << of.message();
            const flat_region_facts facts = of.facts();
            EXPECT_EQ(facts.bytes, of.size());
            EXPECT_EQ(facts.resident, smaps("Rss", of.mapping(), of.region().mapping_size));
            EXPECT_EQ(facts.huge, smaps("AnonHugePages", of.mapping(), of.region().mapping_size));
            EXPECT_EQ(facts.locked, smaps("Locked", of.mapping(), of.region().mapping_size));
            EXPECT_EQ(facts.page_size, smaps("KernelPageSize", of.start(), of.size()));
        }
    }
}

TEST(region_report, follows_what_happens_to_the_region_later) {
    const test_region of(1 << 20, 4096);
    EXPECT_EQ(of.facts().resident, std::size_t{1} << 20);
    ASSERT_EQ(madvise(of.start(), 1 << 19, MADV_DONTNEED), 0);
    if (*static_cast<volatile char *>(of.start()) == 0 && of.facts().resident == std::size_t{1} << 20) {
        GTEST_SKIP() << "an emulator that forgets no page";
    }
    EXPECT_LE(of.facts().resident, (std::size_t{1} << 19) + test::page_size());
    ASSERT_EQ(mlock2(of.start() + (1 << 19), 4096, 0), 0); // not mlock: sanitizers make it do nothing
    EXPECT_EQ(of.facts().locked, 4096u);
}

TEST(region_report, of_the_callers_memory_tells_of_its_part_of_a_mapping) {
    static char array[1 << 20];
    std::fill(array, array + sizeof array, 'x');
    const flat_region_facts facts = facts_of(given(array + 5000, 100000));
    EXPECT_EQ(facts.bytes, test::pages(array + 5000, 100000) * test::page_size());
    EXPECT_EQ(facts.resident, facts.bytes);
    EXPECT_EQ(facts.locked, 0u);
    EXPECT_EQ(facts.huge, 0u) << "too small for a huge page";
    EXPECT_EQ(facts.page_size, test::page_size());
}

TEST(region_report, of_a_part_counts_no_huge_page_that_may_lie_elsewhere) {
    flat_region_options options{};
    options.required_pages = FLAT_PAGES_TRANSPARENT;
    const test_region of(4 * huge_page, huge_page, options);
    if (of.status() != FLAT_OK) GTEST_SKIP() << of.message();
    // Every page is huge: so is each part.
    EXPECT_EQ(facts_of(given(of.start() + huge_page, 2 * huge_page)).huge, 2 * huge_page);
    EXPECT_EQ(facts_of(given(of.start() + 4096, 8192)).huge, 8192u);
    // Two of four are left, and the kernel does not say which.
    ASSERT_EQ(madvise(of.start(), huge_page, MADV_DONTNEED), 0);
    ASSERT_EQ(madvise(of.start() + 3 * huge_page, huge_page, MADV_DONTNEED), 0);
    EXPECT_EQ(of.facts().huge, 2 * huge_page);
    EXPECT_EQ(facts_of(given(of.start(), 2 * huge_page)).huge, 0u);
    EXPECT_EQ(facts_of(given(of.start(), 3 * huge_page)).huge, huge_page);
}

TEST(region_report, without_a_word_on_nodes_tells_the_rest) {
    EXPECT_DONE_OR_SKIP(test::in_child([] {
        if (!test::fail_call(SYS_move_pages, EPERM)) return test::cannot_try;
        const std::size_t page = test::page_size();
        const test_region of(1000 * page, page, lazily);
        for (std::size_t at : sparse) of.start()[at * page] = 1;
        const flat_region_facts facts = of.facts();
        DEMAND(facts.resident == 6 * page);
        DEMAND(facts.node == FLAT_NODE_UNKNOWN);
        DEMAND(facts.bytes == 1000 * page && facts.page_size == page);
        return 0;
    }));
}

TEST(region_report, without_proc_is_unavailable) {
    EXPECT_EQ(test::in_child([] {
                  const test_region of(65536, 16);
                  flat_region_facts facts{};
                  facts.bytes = 7;
                  DEMAND(test::limit(RLIMIT_NOFILE, 0));
                  DEMAND(flat_region_report(&of.region(), &facts) == FLAT_UNAVAILABLE);
                  DEMAND(facts.bytes == 7);
                  flat_region_options options{};
                  options.required_pages = FLAT_PAGES_TRANSPARENT;
                  const test_region required(huge_page, 16, options);
                  DEMAND(required.status() == FLAT_UNAVAILABLE);
                  DEMAND(required.says("/proc/self/smaps"));
                  return 0;
              }),
              0);
}

TEST(region_report, that_breaks_off_is_unavailable) {
    EXPECT_DONE_OR_SKIP(test::in_child([] {
        const test_region of(65536, 16);
        flat_region_facts facts{};
        if (!test::fail_call(SYS_read, EIO)) return test::cannot_try;
        DEMAND(flat_region_report(&of.region(), &facts) == FLAT_UNAVAILABLE);
        return 0;
    }));
}

TEST(region_report, leaves_no_descriptor_open) {
    EXPECT_EQ(test::in_child([] {
                  const test_region of(65536, 16);
                  DEMAND(test::limit(RLIMIT_NOFILE, 32));
                  for (int i = 0; i < 100; i++) DEMAND(of.facts().resident == 65536);
                  (void)test::fail_call(SYS_move_pages, ENOSYS);
                  for (int i = 0; i < 100; i++) DEMAND(of.facts().resident == 65536);
                  return 0;
              }),
              0);
}

TEST(region_report, refuses_what_is_no_region) {
    const flat_region clear{};
    const test_region of(4096, 16);
    flat_region_facts facts{};
    EXPECT_EQ(flat_region_report(nullptr, &facts), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(flat_region_report(&clear, &facts), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(flat_region_report(&of.region(), nullptr), FLAT_INVALID_ARGUMENT);
}

TEST(region_report, of_memory_that_is_not_mapped_is_unavailable) {
    flat_region region{};
    {
        const test_region of(65536, 16);
        region = of.region();
    }
    flat_region_facts facts{};
    EXPECT_EQ(flat_region_report(&region, &facts), FLAT_UNAVAILABLE);
}
