// Checks the table of size classes against what its header says, for every size.
extern "C" {
#include "size_class.h"
}

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>

namespace {

constexpr std::size_t page = 4096;

class size_classes : public testing::Test {
  protected:
    static constexpr at_hand kept{16384, 2};
    void SetUp() override { flat_size_classes_init(kept); }

    static const size_class &of(std::size_t size) { return flat_size_classes[size_class_for(size)]; }
};

TEST_F(size_classes, serve_each_size_by_the_smallest_that_holds_it) {
    EXPECT_EQ(size_class_for(0), 1U);
    for (std::size_t size = 1; size <= SMALL_MAX; size++) {
        const std::size_t number = size_class_for(size);
        ASSERT_GE(number, 1U);
        ASSERT_LT(number, static_cast<std::size_t>(CLASS_COUNT));
        ASSERT_GE(flat_size_classes[number].size, size);
        if (number > 1) {
            ASSERT_LT(flat_size_classes[number - 1].size, size);
        }
    }
}

TEST_F(size_classes, waste_at_most_15_bytes_up_to_512_and_a_seventeenth_above) {
    for (std::size_t size = 1; size <= 512; size++) ASSERT_LT(of(size).size - size, GRANULE) << size;
    for (std::size_t size = 513; size <= SMALL_MAX; size++) {
        ASSERT_LE((of(size).size - size) * 17, of(size).size) << size;
    }
}

TEST_F(size_classes, are_multiples_of_a_granule_and_have_every_power_of_two) {
    for (std::size_t number = 1; number < CLASS_COUNT; number++) {
        EXPECT_EQ(flat_size_classes[number].size % GRANULE, 0U);
    }
    for (std::size_t size = GRANULE; size <= SMALL_MAX; size *= 2) EXPECT_EQ(of(size).size, size);
}

TEST_F(size_classes, fill_their_spans_but_for_a_sixteenth) {
    for (std::size_t number = 1; number < CLASS_COUNT; number++) {
        const size_class &class_ = flat_size_classes[number];
        const std::size_t bytes = class_.pages * page, used = class_.capacity * std::size_t{class_.size};
        EXPECT_LE(class_.pages, SPAN_PAGES);
        EXPECT_LE(used, bytes);
        EXPECT_LE(bytes - used, bytes / 16) << class_.size;
        EXPECT_GE(class_.capacity, class_.taken) << "a stack is filled from one span";
    }
}

TEST_F(size_classes, keep_no_more_than_is_said) {
    std::size_t entries = 0;
    for (std::size_t number = 1; number < CLASS_COUNT; number++) {
        const size_class &class_ = flat_size_classes[number];
        EXPECT_EQ(class_.kept_at, entries);
        EXPECT_TRUE(class_.kept == kept.blocks || class_.kept * std::size_t{class_.size} <= kept.bytes);
        EXPECT_GE(class_.kept, kept.blocks);
        EXPECT_LE(class_.kept, KEPT_MAX);
        EXPECT_EQ(class_.taken, std::min<int>(class_.kept / 2, class_.capacity));
        EXPECT_EQ(class_.given, std::min<int>(class_.kept / 2, GIVEN_MAX));
        entries += class_.kept + std::size_t{1};
    }
    EXPECT_LE(entries, static_cast<std::size_t>(KEPT_ENTRIES));
}

} // namespace
