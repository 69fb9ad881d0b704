// Compares the counts after random operations, and the file, with those of a plain reference.
#include "core/environment.hpp"
#include "core/random_source.hpp"
#include "resource/setups.hpp"

#include <flatline/tracking_resource.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>
#include <vector>

namespace {

using test::random_source;

// The rule of the file format in a second, plain implementation.
std::uint64_t row_of(std::uint64_t bytes) {
    if (bytes == 0) bytes = 1;
    if (bytes <= 4096) return (bytes + 15) / 16 * 16;
    for (std::uint64_t power = 4096;; power *= 2) {
        for (std::uint64_t quarters = 5; quarters <= 8; quarters++) {
            const bool last = power == std::uint64_t{1} << 63 && quarters == 8;
            const std::uint64_t end = last ? UINT64_MAX : power / 4 * quarters;
            if (bytes <= end) return end;
        }
    }
}

struct reference {
    flat::tracking_stats stats{};
    std::map<std::uint64_t, flat::tracked_size> rows;

    void take(std::size_t bytes, std::size_t alignment) {
        flat::tracked_size &row = rows[row_of(bytes)];
        row.size = row_of(bytes);
        row.requests++;
        row.live++;
        row.peak_live = std::max(row.peak_live, row.live);
        row.alignment = std::max<std::uint64_t>(row.alignment, alignment);
        const std::uint64_t counted = bytes == 0 ? 1 : bytes;
        stats.requests++;
        stats.live++;
        stats.live_bytes += counted;
        stats.peak_bytes = std::max(stats.peak_bytes, stats.live_bytes);
        while (stats.total_bytes % 16 != 0) stats.total_bytes++;
        stats.total_bytes += counted;
        while (stats.total_bytes % 16 != 0) stats.total_bytes++;
        if (alignment > 16) stats.total_bytes += alignment - 16;
    }
    void give(std::size_t bytes) {
        rows[row_of(bytes)].live--;
        stats.live--;
        stats.live_bytes -= bytes == 0 ? 1 : bytes;
    }
    std::string file() const {
        std::string text = "{\"schema\":\"flatline.tracking/1\",\"requests\":" + std::to_string(stats.requests) +
                           ",\"live_bytes\":" + std::to_string(stats.live_bytes) +
                           ",\"peak_bytes\":" + std::to_string(stats.peak_bytes) +
                           ",\"total_bytes\":" + std::to_string(stats.total_bytes) + ",\"sizes\":[";
        const char *between = "\n";
        for (const auto &[size, row] : rows) {
            text += std::string(between) + " {\"size\":" + std::to_string(size) +
                    ",\"alignment\":" + std::to_string(row.alignment) +
                    ",\"requests\":" + std::to_string(row.requests) + ",\"live\":" + std::to_string(row.live) +
                    ",\"peak_live\":" + std::to_string(row.peak_live) + "}";
            between = ",\n";
        }
        return text + "]}\n";
    }
};

void expect_same(const flat::tracking_resource &tracking, const reference &reference) {
    const flat::tracking_stats stats = tracking.stats();
    ASSERT_EQ(stats.requests, reference.stats.requests);
    ASSERT_EQ(stats.live, reference.stats.live);
    ASSERT_EQ(stats.live_bytes, reference.stats.live_bytes);
    ASSERT_EQ(stats.peak_bytes, reference.stats.peak_bytes);
    ASSERT_EQ(stats.total_bytes, reference.stats.total_bytes);
    std::vector<flat::tracked_size> rows(flat::tracking_resource::rows);
    rows.resize(tracking.sizes(rows.data(), rows.size()));
    ASSERT_EQ(rows.size(), reference.rows.size());
    auto expected = reference.rows.begin();
    for (const flat::tracked_size &row : rows) {
        ASSERT_EQ(row.size, expected->second.size);
        ASSERT_EQ(row.alignment, expected->second.alignment);
        ASSERT_EQ(row.requests, expected->second.requests);
        ASSERT_EQ(row.live, expected->second.live);
        ASSERT_EQ(row.peak_live, expected->second.peak_live);
        ++expected;
    }
}

std::string content_of(const char *path) {
    std::string text;
    std::FILE *file = std::fopen(path, "r");
    for (int c; file != nullptr && (c = std::fgetc(file)) != EOF;) text += static_cast<char>(c);
    if (file != nullptr) std::fclose(file);
    return text;
}

// Grants every request with an address that has any alignment, but without memory behind it.
class imaginary_resource final : public std::pmr::memory_resource {
    void *do_allocate(std::size_t, std::size_t) override { return reinterpret_cast<void *>(std::uintptr_t{1} << 30); }
    void do_deallocate(void *, std::size_t, std::size_t) override {}
    bool do_is_equal(const memory_resource &other) const noexcept override { return this == &other; }
};

class tracking_resource : public testing::Test {
  protected:
    void SetUp() override { std::cout << "seed: FLATLINE_TEST_SEED=" << test::seed() << std::endl; }
};

} // namespace

TEST_F(tracking_resource, counts_as_a_plain_reference_does) {
    for (std::size_t round = 0; round < test::scaled(20) && !HasFailure(); round++) {
        SCOPED_TRACE("FLATLINE_TEST_SEED=" + std::to_string(test::seed() + round));
        random_source random(test::seed() + round);
        imaginary_resource anything;
        flat::tracking_resource tracking(&anything);
        reference plain;
        std::vector<std::size_t> live;
        for (int step = 0; step < 2000 && !HasFailure(); step++) {
            if (!live.empty() && random.below(100) < 45) {
                const std::size_t which = random.below(live.size());
                tracking.deallocate(&anything, live[which], 1);
                plain.give(live[which]);
                live[which] = live.back();
                live.pop_back();
            } else {
                const std::size_t bytes = random.one_in(50) ? 0 : random.magnitude(std::size_t{1} << 50);
                const std::size_t alignment = std::size_t{1} << random.below(13);
                void *block =
                    random.one_in(2) ? tracking.allocate(bytes, alignment) : tracking.try_allocate(bytes, alignment);
                ASSERT_NE(block, nullptr);
                plain.take(bytes, alignment);
                live.push_back(bytes);
            }
            if (step % 100 == 99) expect_same(tracking, plain);
        }
        const std::string path = testing::TempDir() + "flatline_tracking_test.json";
        ASSERT_TRUE(tracking.write(path.c_str()));
        EXPECT_EQ(content_of(path.c_str()), plain.file());
        std::remove(path.c_str());
    }
}

TEST_F(tracking_resource, has_a_row_for_every_size) {
    std::uint64_t before = 0;
    std::size_t rows = 0;
    for (std::uint64_t size = 1; size <= 1 << 20; size++) {
        ASSERT_EQ(flat::tracking_resource::row_size(size), row_of(size)) << size;
        rows += flat::tracking_resource::row_size(size) != before;
        before = flat::tracking_resource::row_size(size);
    }
    for (int bit = 20; bit < 64; bit++) {
        for (std::uint64_t quarters = 4; quarters < 8; quarters++) {
            const std::uint64_t border = (std::uint64_t{1} << bit) / 4 * quarters;
            for (std::uint64_t size : {border - 1, border, border + 1}) {
                ASSERT_EQ(flat::tracking_resource::row_size(size), row_of(size)) << size;
            }
        }
    }
    EXPECT_EQ(flat::tracking_resource::row_size(UINT64_MAX), UINT64_MAX);
    EXPECT_EQ(flat::tracking_resource::row_size(0), 16u);
    EXPECT_EQ(rows + 4 * 44, flat::tracking_resource::rows);
}

TEST_F(tracking_resource, tells_how_many_rows_there_are_whatever_it_is_given_room_for) {
    imaginary_resource anything;
    flat::tracking_resource tracking(&anything);
    for (std::size_t bytes : {10u, 20u, 5000u}) (void)tracking.allocate(bytes, 8);
    EXPECT_EQ(tracking.sizes(nullptr, 0), 3u);
    flat::tracked_size rows[3] = {};
    EXPECT_EQ(tracking.sizes(rows, 2), 3u);
    EXPECT_EQ(rows[1].size, 32u);
    EXPECT_EQ(rows[2].size, 0u) << "written beyond the room that was given";
}

TEST_F(tracking_resource, does_not_count_what_is_refused_below) {
    test::owned_pool pool({{64, 1}});
    flat::pool_resource below(*pool);
    flat::tracking_resource tracking(&below);
    void *block = tracking.allocate(64, 8);
    EXPECT_THROW((void)tracking.allocate(64, 8), std::bad_alloc);
    EXPECT_EQ(tracking.try_allocate(64, 8), nullptr);
    EXPECT_EQ(tracking.stats().requests, 1u);
    EXPECT_EQ(tracking.try_deallocate(&pool, 64, 8), FLAT_FOREIGN_POINTER);
    EXPECT_EQ(tracking.stats().live, 1u);
    tracking.deallocate(block, 64, 8);
    EXPECT_EQ(tracking.stats().live, 0u);
}

// This makes the figure usable as the size of an arena.
TEST_F(tracking_resource, its_total_is_enough_for_an_arena_that_is_never_reset) {
    for (std::size_t round = 0; round < test::scaled(50); round++) {
        random_source random(test::seed() + round);
        std::vector<std::pair<std::size_t, std::size_t>> requests;
        imaginary_resource anything;
        flat::tracking_resource tracking(&anything);
        for (int i = 0; i < 100; i++) {
            requests.emplace_back(random.magnitude(1000), std::size_t{1} << random.below(8));
            (void)tracking.allocate(requests.back().first, requests.back().second);
        }
        test::owned_arena arena(tracking.stats().total_bytes);
        flat::arena_resource resource(*arena);
        for (auto [bytes, alignment] : requests) ASSERT_NE(resource.try_allocate(bytes, alignment), nullptr);
    }
}

TEST_F(tracking_resource, says_when_its_file_could_not_be_written) {
    const flat::tracking_resource tracking;
    EXPECT_FALSE(tracking.write("/nonexistent/folder/file.json"));
    std::FILE *full = std::fopen("/dev/full", "w");
    ASSERT_NE(full, nullptr);
    EXPECT_FALSE(tracking.write(full));
    std::fclose(full);
    EXPECT_FALSE(tracking.write("/dev/full"));
}
