#include "plan/demand.hpp"

#include <gtest/gtest.h>

using namespace flat::plan;

TEST(demand, is_put_in_order_and_equal_sizes_are_added_up) {
    const std::vector<DemandRow> rows = ordered({{64, 3, 1}, {16, 5, 8}, {64, 4, 128}, {48, 0, 1}, {64, 1, 16}});
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_EQ(rows[0], (DemandRow{16, 5, 8}));
    EXPECT_EQ(rows[1], (DemandRow{64, 8, 128}));
    EXPECT_EQ(bytes_of(rows), 16U * 5 + 64 * 8);
    EXPECT_TRUE(ordered({}).empty());
    EXPECT_TRUE(ordered({{48, 0, 1}, {0, 0, 0}}).empty()); // rows without blocks are not checked
}

TEST(demand, refuses_what_cannot_be) {
    for (const std::vector<DemandRow> &rows : std::vector<std::vector<DemandRow>>{
             {{0, 1, 1}},
             {{16, 1, 0}},
             {{16, 1, 3}},
             {{16, 1, UINT64_MAX}},
             {{16, most_live + 1, 1}},
             {{16, most_live, 1}, {32, 1, 1}},
             {{16, UINT64_MAX, 1}, {32, UINT64_MAX, 1}},
             {{most_bytes + 1, 1, 1}},
             {{most_bytes / 2 + 1, 2, 1}},
             {{most_bytes, 1, 1}, {1, 1, 1}},
             {{UINT64_MAX, 1, 1}},
             {{UINT64_MAX, 2, 1}},
             {{std::uint64_t{1} << 63, 2, 1}}, // 2^64
         })
        EXPECT_THROW((void)ordered(rows), std::runtime_error);
    EXPECT_NO_THROW((void)ordered({{16, most_live, 1}}));
    EXPECT_NO_THROW((void)ordered({{most_bytes, 1, std::uint64_t{1} << 63}}));
}
