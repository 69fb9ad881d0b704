#include "bench/catalogue.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

using namespace flat::bench;

TEST(catalogue, names_every_cell_of_the_quick_run_once) {
    std::set<std::string> names;
    for (const Cell &cell : cells()) EXPECT_TRUE(names.insert(describe(cell)).second) << describe(cell);
    EXPECT_EQ(names.size(), 5U * 2 + 2 * 2 + 2 * 2 + 2 + 3 + 5);
    EXPECT_TRUE(names.contains("hot 4 KiB, single calls"));
    EXPECT_TRUE(names.contains("mixed 7 sizes, blocks of 32 calls"));
}

TEST(catalogue, has_samples_for_p9999_in_four_rounds) {
    for (const Cell &cell : cells()) {
        if (cell.calls != 0) {
            EXPECT_GE(cell.samples * 4, 100'000U) << describe(cell);
        }
    }
}

TEST(catalogue, names_each_backend_once_and_fits_the_summary) {
    std::set<std::string_view> names, columns;
    for (const Backend &backend : backends()) {
        EXPECT_TRUE(names.insert(backend.name).second) << backend.name;
        EXPECT_TRUE(columns.insert(backend.column).second) << backend.column;
        EXPECT_LE(backend.column.size(), 6U) << backend.name;
        EXPECT_LE(backend.title.size(), 20U) << backend.name;
        EXPECT_FALSE(backend.how.empty()) << backend.name;
        EXPECT_EQ(find_backend(backend.name), &backend);
    }
    EXPECT_EQ(find_backend("nomalloc"), nullptr);
}

TEST(catalogue, ranks_neither_the_floor_nor_what_checks_nothing) {
    EXPECT_FALSE(competes(find_backend("floor")->kind));
    EXPECT_FALSE(competes(find_backend("list")->kind));
    EXPECT_FALSE(competes(find_backend("flatline-pool-again")->kind));
    EXPECT_TRUE(competes(find_backend("flatline-pool")->kind));
    EXPECT_TRUE(competes(find_backend("mimalloc")->kind));
    EXPECT_TRUE(competes(find_backend("boost-pool")->kind));
}
