// Misuse has the same effect in every resource: one line and the end of the program, or a call of the set handler.
#ifndef FLATLINE_TESTS_RESOURCE_MISUSE_HPP
#define FLATLINE_TESTS_RESOURCE_MISUSE_HPP

#include "resource/incidents.hpp"
#include "resource/setups.hpp"

#include <gtest/gtest.h>

#include <csignal>

namespace test {

template <class Subject> class misuse : public testing::Test {
  protected:
    Subject setup_;
    flat::resource &resource() { return setup_.resource(); }
    char elsewhere_[64] = {};
};
TYPED_TEST_SUITE_P(misuse);

TYPED_TEST_P(misuse, a_foreign_pointer_ends_the_program_with_one_line) {
    void *block = this->resource().allocate(48, 8);
    EXPECT_EXIT(this->resource().deallocate(this->elsewhere_, 48, 8), testing::KilledBySignal(SIGABRT),
                line_of(TypeParam::name, "free of the foreign pointer", 48));
    this->resource().deallocate(block, 48, 8);
}

TYPED_TEST_P(misuse, a_handler_that_returns_is_told_everything_and_nothing_changes) {
    void *block = this->resource().allocate(48, 8);
    const std::ptrdiff_t blocks = this->setup_.blocks();
    const recorded_misuse recorded;
    this->resource().deallocate(this->elsewhere_, 48, 8);
    EXPECT_EQ(this->setup_.blocks(), blocks);
    ASSERT_EQ(recorded.incidents.size(), 1u);
    const flat::misuse &incident = recorded.incidents.front();
    EXPECT_STREQ(incident.resource, TypeParam::name);
    EXPECT_EQ(incident.status, FLAT_FOREIGN_POINTER);
    EXPECT_STREQ(incident.what, "free of the foreign pointer");
    EXPECT_EQ(incident.block, this->elsewhere_);
    EXPECT_EQ(incident.bytes, 48u);
    EXPECT_EQ(incident.alignment, 8u);
    this->resource().deallocate(block, 48, 8);
    EXPECT_EQ(recorded.incidents.size(), 1u);
}

TYPED_TEST_P(misuse, null_is_left_alone) {
    EXPECT_EQ(this->resource().try_deallocate(nullptr, 48, 8), FLAT_OK); // `deallocate` forbids it in std::pmr
}

TYPED_TEST_P(misuse, asked_with_errors_as_values_no_handler_is_called) {
    const recorded_misuse recorded;
    EXPECT_EQ(this->resource().try_deallocate(this->elsewhere_, 48, 8), FLAT_FOREIGN_POINTER);
    EXPECT_TRUE(recorded.incidents.empty());
}

REGISTER_TYPED_TEST_SUITE_P(misuse, a_foreign_pointer_ends_the_program_with_one_line,
                            a_handler_that_returns_is_told_everything_and_nothing_changes, null_is_left_alone,
                            asked_with_errors_as_values_no_handler_is_called);

// Misuse that only a source that frees blocks can detect.
template <class Subject> class checked_misuse : public misuse<Subject> {};
TYPED_TEST_SUITE_P(checked_misuse);

TYPED_TEST_P(checked_misuse, a_double_free_ends_the_program_with_one_line) {
    void *kept = this->resource().allocate(48, 8);
    void *block = this->resource().allocate(48, 8);
    this->resource().deallocate(block, 48, 8);
    EXPECT_EXIT(this->resource().deallocate(block, 48, 8), testing::KilledBySignal(SIGABRT),
                line_of(TypeParam::name, "double free", 48));
    EXPECT_EQ(this->resource().try_deallocate(block, 48, 8), FLAT_DOUBLE_FREE);
    EXPECT_EQ(this->setup_.blocks(), 1);
    this->resource().deallocate(kept, 48, 8);
    EXPECT_EQ(this->setup_.blocks(), 0);
}

TYPED_TEST_P(checked_misuse, an_interior_pointer_ends_the_program_with_one_line) {
    char *block = static_cast<char *>(this->resource().allocate(48, 8));
    EXPECT_EXIT(this->resource().deallocate(block + 16, 48, 8), testing::KilledBySignal(SIGABRT),
                line_of(TypeParam::name, "free of the interior pointer", 48));
    EXPECT_EQ(this->resource().try_deallocate(block + 1, 48, 8), FLAT_INTERIOR_POINTER);
    EXPECT_EQ(this->setup_.blocks(), 1);
    this->resource().deallocate(block, 48, 8);
    EXPECT_EQ(this->setup_.blocks(), 0);
}

REGISTER_TYPED_TEST_SUITE_P(checked_misuse, a_double_free_ends_the_program_with_one_line,
                            an_interior_pointer_ends_the_program_with_one_line);

} // namespace test

#endif
