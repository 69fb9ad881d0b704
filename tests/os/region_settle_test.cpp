// region_settle.c: locks, NUMA nodes, kinds of pages; granted, and refused with the reason.
#include "os/child.hpp"
#include "os/huge_pages.hpp"
#include "os/system_memory.hpp"
#include "os/test_region.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <sys/mman.h>

namespace {

using test::huge_page;
using test::test_region;

flat_region_options kind(flat_pages allowed, flat_pages required = FLAT_PAGES_DEFAULT) {
    flat_region_options options{};
    options.allowed_pages = allowed;
    options.required_pages = required;
    return options;
}

const flat_region_options locked = test::options_with([](flat_region_options &o) { o.locked = true; });

flat_region_options on_node(unsigned node) {
    flat_region_options options{};
    options.bound = true;
    options.node = node;
    return options;
}

// A lock of `size` bytes with `limit` and without the privilege to exceed it.
template <typename Look> int lock_limited(std::size_t limit, std::size_t size, Look look) {
    return test::in_child([=] {
        DEMAND(test::drop_capability(CAP_IPC_LOCK));
        DEMAND(test::limit(RLIMIT_MEMLOCK, limit));
        const test_region of(size, 16, locked);
        return look(of);
    });
}

} // namespace

TEST(region_lock, granted_is_locked) {
    const test_region of(65536, 4096, locked);
    ASSERT_EQ(of.status(), FLAT_OK) << of.message();
    EXPECT_EQ(of.message(), "");
    EXPECT_EQ(of.facts().locked, 65536u);
}

TEST(region_lock, not_asked_for_is_not_locked) {
    const test_region of(65536, 4096);
    ASSERT_EQ(of.status(), FLAT_OK);
    EXPECT_EQ(of.facts().resident, 65536u);
    EXPECT_EQ(of.facts().locked, 0u);
}

TEST(region_lock, of_a_lazy_region_takes_the_pages_as_they_come) {
    const test_region of(65536, 4096, test::options_with([](flat_region_options &o) { o.lazy = o.locked = true; }));
    if (of.status() == FLAT_UNAVAILABLE) GTEST_SKIP() << of.message(); // Linux before 4.4, or an emulator
    ASSERT_EQ(of.status(), FLAT_OK) << of.message();
    EXPECT_EQ(of.facts().locked, 0u);
    of.start()[0] = of.start()[40000] = 1;
    EXPECT_EQ(of.facts().locked, 2 * test::page_size());
    EXPECT_FALSE(of.region().can_trim);
}

TEST(region_lock, within_the_limit_needs_no_privilege) {
    EXPECT_EQ(lock_limited(65536, 32768,
                           [](const test_region &of) {
                               DEMAND(of.status() == FLAT_OK);
                               DEMAND(of.facts().locked == 32768);
                               return 0;
                           }),
              0);
}

TEST(region_lock, above_the_limit_is_refused_with_the_limit_and_what_to_do) {
    EXPECT_EQ(lock_limited(65536, std::size_t{1} << 20,
                           [](const test_region &of) {
                               DEMAND(of.status() == FLAT_NOT_PERMITTED);
                               DEMAND(of.region().mapping == nullptr);
                               DEMAND(of.says("RLIMIT_MEMLOCK"));
                               DEMAND(of.says("65536 bytes"));
                               DEMAND(of.says("1048576 bytes"));
                               DEMAND(of.says("ulimit -l") && of.says("CAP_IPC_LOCK"));
                               return 0;
                           }),
              0);
}

TEST(region_lock, of_anything_is_refused_where_nothing_may_be_locked) {
    EXPECT_EQ(lock_limited(0, 1,
                           [](const test_region &of) {
                               DEMAND(of.status() == FLAT_NOT_PERMITTED);
                               DEMAND(of.says("0 bytes"));
                               return 0;
                           }),
              0);
}

TEST(region_lock, refused_keeps_no_memory) {
    EXPECT_EQ(lock_limited(0, 1,
                           [](const test_region &) {
                               const std::size_t before = test::mapped_bytes();
                               for (int i = 0; i < 100; i++) {
                                   const test_region again(std::size_t{1} << 20, 16, locked);
                                   DEMAND(again.status() == FLAT_NOT_PERMITTED);
                               }
                               DEMAND(test::mapped_bytes() < before + (std::size_t{32} << 20));
                               return 0;
                           }),
              0);
}

TEST(region_lock, that_the_system_has_no_memory_for_is_not_called_a_limit) {
    EXPECT_DONE_OR_SKIP(test::in_child([] {
        if (!test::fail_call(SYS_mlock, EAGAIN)) return test::cannot_try;
        const test_region of(65536, 16, locked);
        DEMAND(of.status() == FLAT_OUT_OF_MEMORY);
        DEMAND(!of.says("RLIMIT"));
        return 0;
    }));
}

TEST(region_node, that_exists_has_the_pages) {
    const test_region of(65536, 4096, on_node(0));
    if (of.status() != FLAT_OK) GTEST_SKIP() << "no choice of nodes here: " << of.message();
    EXPECT_EQ(of.facts().node, 0);
    EXPECT_EQ(of.facts().resident, 65536u);
}

TEST(region_node, that_does_not_exist_is_refused_with_the_ones_that_do) {
    const test_region probe(4096, 4096, on_node(0));
    if (probe.status() != FLAT_OK) GTEST_SKIP() << "no choice of nodes here: " << probe.message();
    for (unsigned node : {63u, 64u, 1023u, 1024u, 4000000000u}) {
        if (access(("/sys/devices/system/node/node" + std::to_string(node)).c_str(), F_OK) == 0) continue;
        const test_region of(65536, 4096, on_node(node));
        EXPECT_EQ(of.status(), FLAT_UNAVAILABLE) << node;
        EXPECT_TRUE(of.says("NUMA node " + std::to_string(node))) << of.message();
        EXPECT_TRUE(of.says("memory: 0")) << of.message();
        EXPECT_EQ(of.region().mapping, nullptr);
    }
}

TEST(region_node, that_a_sandbox_forbids_to_choose_is_not_permitted) {
    EXPECT_DONE_OR_SKIP(test::in_child([] {
        if (!test::fail_call(SYS_mbind, EPERM)) return test::cannot_try;
        const test_region of(65536, 16, on_node(0));
        DEMAND(of.status() == FLAT_NOT_PERMITTED);
        DEMAND(of.says("mbind"));
        return 0;
    }));
}

TEST(region_node, that_pages_cannot_be_moved_to_is_unavailable) {
    EXPECT_DONE_OR_SKIP(test::in_child([] {
        if (!test::fail_call(SYS_mbind, EIO)) return test::cannot_try;
        const test_region of(65536, 16, on_node(0));
        DEMAND(of.status() == FLAT_UNAVAILABLE);
        DEMAND(of.says("cannot be moved"));
        return 0;
    }));
}

TEST(region_resident, that_the_system_has_no_memory_for_is_refused) {
    EXPECT_DONE_OR_SKIP(test::in_child([] {
        if (!test::fail_call(SYS_madvise, ENOMEM, MADV_POPULATE_WRITE)) return test::cannot_try;
        const test_region of(65536, 16);
        DEMAND(of.status() == FLAT_OUT_OF_MEMORY);
        DEMAND(of.says("65536 bytes resident"));
        const test_region lazy(65536, 16, test::options_with([](flat_region_options &o) { o.lazy = true; }));
        DEMAND(lazy.status() == FLAT_OK);
        return 0;
    }));
}

// As on Linux before 5.14.
TEST(region_resident, is_so_on_a_kernel_that_cannot_populate) {
    EXPECT_DONE_OR_SKIP(test::in_child([] {
        if (!test::fail_call(SYS_madvise, EINVAL, MADV_POPULATE_WRITE)) return test::cannot_try;
        const test_region of(1000000, 4096);
        DEMAND(of.status() == FLAT_OK);
        DEMAND(test::resident_pages(of.start(), of.size()) == test::pages(of.start(), of.size()));
        const test_region in_file(1000000, 4096, test::options_with([](flat_region_options &o) { o.shared = true; }));
        DEMAND(in_file.status() == FLAT_OK);
        DEMAND(in_file.facts().resident == in_file.facts().bytes);
        DEMAND(test::fail_call(SYS_fallocate, ENOSPC));
        const test_region full(1000000, 4096, test::options_with([](flat_region_options &o) { o.shared = true; }));
        DEMAND(full.status() == FLAT_OUT_OF_MEMORY);
        return 0;
    }));
}

TEST(region_resident, is_so_in_a_sandbox_that_forbids_to_populate) {
    for (const int error : {EPERM, ENOSYS}) {
        EXPECT_DONE_OR_SKIP(test::in_child([&] {
            if (!test::fail_call(SYS_madvise, error, MADV_POPULATE_WRITE)) return test::cannot_try;
            const test_region of(1000000, 4096);
            DEMAND(of.status() == FLAT_OK);
            DEMAND(test::resident_pages(of.start(), of.size()) == test::pages(of.start(), of.size()));
            return 0;
        }));
    }
}

TEST(region_mapping, that_the_system_refuses_names_the_limits_that_can_be_the_reason) {
    EXPECT_DONE_OR_SKIP(test::in_child([] {
        if (!test::fail_call(SYS_mmap, ENOMEM, PROT_NONE)) return test::cannot_try;
        for (const flat_pages pages : {FLAT_PAGES_DEFAULT, FLAT_PAGES_EXPLICIT}) { // neither is for want of huge pages
            flat_region_options options = kind(FLAT_PAGES_DEFAULT);
            options.required_pages = pages;
            const test_region none(3 * huge_page, 16, options);
            DEMAND(none.status() == FLAT_OUT_OF_MEMORY);
            DEMAND(none.says("RLIMIT_AS: ") && none.says("RLIMIT_DATA: "));
        }
        return 0;
    }));
    EXPECT_DONE_OR_SKIP(test::in_child([] { // as after mlockall(MCL_FUTURE)
        if (!test::fail_call(SYS_mmap, EAGAIN, PROT_NONE)) return test::cannot_try;
        const test_region of(65536, 16);
        DEMAND(of.status() == FLAT_NOT_PERMITTED);
        DEMAND(of.says("mlockall") && of.says("RLIMIT_MEMLOCK"));
        return 0;
    }));
}

TEST(region_pages, small_ones_are_never_huge) {
    const test_region of(3 * huge_page, huge_page, kind(FLAT_PAGES_SMALL));
    ASSERT_EQ(of.status(), FLAT_OK);
    EXPECT_EQ(of.facts().huge, 0u);
    EXPECT_EQ(of.facts().resident, 3 * huge_page);
}

TEST(region_pages, transparent_ones_where_required_hold_every_byte_or_are_refused) {
    const test_region of(3 * huge_page + 5000, 16, kind(FLAT_PAGES_DEFAULT, FLAT_PAGES_TRANSPARENT));
    if (of.status() == FLAT_UNAVAILABLE) {
        EXPECT_TRUE(of.says("transparent huge pages")) << of.message();
        GTEST_SKIP() << of.message();
    }
    ASSERT_EQ(of.status(), FLAT_OK) << of.message();
    EXPECT_EQ(of.facts().huge, of.facts().bytes);
    EXPECT_EQ(of.facts().resident, of.facts().bytes);
    EXPECT_EQ(of.facts().page_size, test::page_size()) << "the mapping is still one of base pages";
}

TEST(region_pages, transparent_ones_that_the_system_does_not_give_are_reported_as_absent) {
    EXPECT_EQ(test::in_child([] {
                  if (!test::keep_to_small_pages()) return 0; // an emulator's kernel
                  const test_region allowed(3 * huge_page, 16, kind(FLAT_PAGES_TRANSPARENT));
                  DEMAND(allowed.status() == FLAT_OK);
                  DEMAND(allowed.facts().huge == 0);
                  DEMAND(allowed.facts().resident == 3 * huge_page);
                  const test_region required(3 * huge_page, 16, kind(FLAT_PAGES_DEFAULT, FLAT_PAGES_TRANSPARENT));
                  DEMAND(required.status() == FLAT_UNAVAILABLE);
                  DEMAND(required.says("0 of 6291456 bytes"));
                  DEMAND(required.region().mapping == nullptr);
                  return 0;
              }),
              0);
}

TEST(region_pages, required_of_a_system_that_does_not_tell_them_are_refused) {
    EXPECT_EQ(test::in_child([] {
                  rlimit usual{};
                  DEMAND(getrlimit(RLIMIT_NOFILE, &usual) == 0);
                  DEMAND(test::limit(RLIMIT_NOFILE, 0)); // /proc/self/smaps cannot be opened
                  const test_region of(3 * huge_page, 16, kind(FLAT_PAGES_DEFAULT, FLAT_PAGES_TRANSPARENT));
                  DEMAND(setrlimit(RLIMIT_NOFILE, &usual) == 0);
                  DEMAND(of.status() == FLAT_UNAVAILABLE);
                  DEMAND(of.says("smaps"));
                  DEMAND(of.region().mapping == nullptr);
                  return 0;
              }),
              0);
}

TEST(region_pages, explicit_ones_that_are_absent_are_reported_as_absent) {
    const test::huge_page_lock lock;
    const std::size_t size = (test::huge_page_lock::free() + 1) * huge_page;
    if (size > 64 * huge_page) GTEST_SKIP() << "too many huge pages are set aside to ask for one more";
    EXPECT_EQ(test::in_child([=] {
                  const bool transparent_off = test::keep_to_small_pages();
                  const test_region allowed(size, 16, kind(FLAT_PAGES_EXPLICIT));
                  DEMAND(allowed.status() == FLAT_OK);
                  DEMAND(allowed.message().empty());
                  DEMAND(allowed.facts().page_size == test::page_size());
                  DEMAND(!transparent_off || allowed.facts().huge == 0);
                  DEMAND(allowed.facts().locked == 0);
                  DEMAND(allowed.facts().resident == size);
                  return 0;
              }),
              0);
    const test_region required(size, 16, kind(FLAT_PAGES_DEFAULT, FLAT_PAGES_EXPLICIT));
    EXPECT_EQ(required.status(), FLAT_UNAVAILABLE);
    EXPECT_TRUE(required.says("nr_hugepages")) << required.message();
    EXPECT_EQ(required.region().mapping, nullptr);
}

class region_explicit_pages : public testing::Test {
  protected:
    void SetUp() override {
        if (pages.count() < 2) {
            GTEST_SKIP() << "two huge pages of 2 MiB cannot be set aside here: that takes root, a writable "
                            "/proc/sys/vm/nr_hugepages, and memory in one piece";
        }
    }
    static void expect_explicit(const test_region &of) {
        ASSERT_EQ(of.status(), FLAT_OK) << of.message();
        const flat_region_facts facts = of.facts();
        EXPECT_EQ(facts.page_size, huge_page);
        EXPECT_EQ(facts.huge, facts.bytes);
        EXPECT_EQ(facts.resident, facts.bytes);
        EXPECT_EQ(facts.locked, facts.bytes);
        std::fill(of.start(), of.start() + of.size(), 'x');
    }
    test::reserved_huge_pages pages{2};
};

TEST_F(region_explicit_pages, are_seen_in_the_report) {
    const test_region of(2 * huge_page, 16, kind(FLAT_PAGES_EXPLICIT));
    expect_explicit(of);
    EXPECT_EQ(of.facts().huge, 2 * huge_page);
    EXPECT_FALSE(of.region().can_trim);
}

TEST_F(region_explicit_pages, serve_a_region_of_any_size_where_they_are_required) {
    expect_explicit(test_region(1, 16, kind(FLAT_PAGES_DEFAULT, FLAT_PAGES_EXPLICIT)));
    expect_explicit(test_region(huge_page + 1, huge_page, kind(FLAT_PAGES_EXPLICIT, FLAT_PAGES_EXPLICIT)));
}

TEST_F(region_explicit_pages, are_not_spent_on_a_small_region_that_only_may_have_them) {
    const test_region of(4096, 16, kind(FLAT_PAGES_EXPLICIT));
    ASSERT_EQ(of.status(), FLAT_OK);
    EXPECT_EQ(of.facts().page_size, test::page_size());
}

TEST_F(region_explicit_pages, are_counted_out_when_a_lazy_region_is_made) {
    const auto lazily = [](flat_region_options options) {
        options.lazy = true;
        return options;
    };
    const test_region first(2 * huge_page, 16, lazily(kind(FLAT_PAGES_EXPLICIT, FLAT_PAGES_EXPLICIT)));
    ASSERT_EQ(first.status(), FLAT_OK) << first.message();
    EXPECT_EQ(first.facts().resident, 0u);
    const std::size_t left = test::huge_page_lock::free();
    const test_region next((left + 1) * huge_page, 16, lazily(kind(FLAT_PAGES_EXPLICIT, FLAT_PAGES_EXPLICIT)));
    EXPECT_EQ(next.status(), FLAT_UNAVAILABLE);
    first.start()[huge_page] = 1;
    EXPECT_EQ(first.facts().huge, huge_page);
}

TEST_F(region_explicit_pages, need_no_lock) {
    EXPECT_EQ(test::in_child([] {
                  DEMAND(test::drop_capability(CAP_IPC_LOCK));
                  DEMAND(test::limit(RLIMIT_MEMLOCK, 0));
                  flat_region_options options = kind(FLAT_PAGES_EXPLICIT, FLAT_PAGES_EXPLICIT);
                  options.locked = true;
                  const test_region of(huge_page, 16, options);
                  DEMAND(of.status() == FLAT_OK);
                  DEMAND(of.facts().locked == huge_page);
                  return 0;
              }),
              0);
}

TEST_F(region_explicit_pages, can_be_shared) {
    flat_region_options options = kind(FLAT_PAGES_EXPLICIT, FLAT_PAGES_EXPLICIT);
    options.shared = true;
    const test_region of(huge_page + 1, 16, options);
    expect_explicit(of);
    const auto mapped_at = [&](std::uint64_t offset) {
        return test_region(flat_region_options{}, [&](flat_region *region, const flat_region_options *with) {
            return flat_region_map(region, of.region().descriptor, offset, 0, with);
        });
    };
    const test_region again = mapped_at(0), second = mapped_at(huge_page);
    expect_explicit(again);
    expect_explicit(second);
    EXPECT_EQ(again.size(), 2 * huge_page) << "the whole huge pages that the file has";
    again.start()[huge_page] = 'y';
    EXPECT_EQ(of.start()[huge_page], 'y');
    EXPECT_EQ(second.start()[0], 'y');
    EXPECT_EQ(mapped_at(4096).status(), FLAT_INVALID_ARGUMENT) << "no multiple of this file's page";
}
