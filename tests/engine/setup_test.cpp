// options.c, layout.c and setup.c: options, footprint, grants, memory of the caller's.
#include "core/placing.hpp"
#include "engine/process.hpp"
#include "engine/test_engine.hpp"

#include <flatline/engine.h>

#include <gtest/gtest.h>

#include <climits>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace {

using test::engine_options;
using test::test_engine;

flat_footprint footprint_of(engine_options &options) {
    flat_footprint footprint{};
    EXPECT_EQ(flat_engine_footprint(options.get(), &footprint), FLAT_OK) << options.message();
    return footprint;
}

// Expects that footprint, init and create refuse the options as invalid, with a message that has these words in it.
void expect_refusal(engine_options &options, const std::string &words) {
    const test::left_behind before = test::look_at_process();
    flat_footprint untouched{1, 2, 3, 4};
    EXPECT_EQ(flat_engine_footprint(options.get(), &untouched), FLAT_INVALID_ARGUMENT) << words;
    EXPECT_NE(options.message().find(words), std::string::npos) << options.message();
    EXPECT_TRUE(untouched.metadata_bytes == 1 && untouched.metadata_alignment == 2 && untouched.block_bytes == 3 &&
                untouched.block_alignment == 4);
    alignas(4096) static char metadata[4096], blocks[4096];
    flat_engine *engine = reinterpret_cast<flat_engine *>(metadata);
    EXPECT_EQ(flat_engine_init(&engine, options.get(), {metadata, sizeof metadata}, {blocks, sizeof blocks}),
              FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(engine, nullptr);
    engine = reinterpret_cast<flat_engine *>(metadata);
    EXPECT_EQ(flat_engine_create(&engine, options.get()), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(engine, nullptr);
    EXPECT_NE(options.message().find(words), std::string::npos) << options.message();
    EXPECT_TRUE(test::is_as_before(before)) << words;
}

void expect_refusal(const std::function<void(engine_options &)> &change, const std::string &words) {
    engine_options options;
    change(options);
    expect_refusal(options, words);
}

void expect_footprint(const std::function<void(engine_options &)> &change) {
    engine_options options;
    change(options);
    (void)footprint_of(options);
}

using placed = test::placing<flat_engine, flat_engine_options, flat_engine_init, flat_engine_destroy>;

class engine_init : public testing::Test {
  protected:
    engine_options options_;
    placed in_{*options_.get(), footprint_of(options_)}; // it points into options_
};

std::size_t capacity_of(flat_submitter *lane, std::size_t worker, std::size_t size) {
    return flat_engine_capacity(lane, worker, size);
}

} // namespace

TEST(engine_options, each_member_out_of_its_range_is_refused_with_what_to_do) {
    expect_refusal([](engine_options &o) { o.value.worker_count = 0; }, "0 workers: 1 to 256");
    expect_refusal([](engine_options &o) { o.value.worker_count = 257; }, "257 workers: 1 to 256");
    expect_refusal([](engine_options &o) { o.value.worker_count = SIZE_MAX; }, "workers: 1 to 256");
    expect_refusal([](engine_options &o) { o.value.lane_count = 1025; }, "1025 lanes: 1 to 1024 are possible, and 0");
    expect_refusal([](engine_options &o) { o.value.lane_count = SIZE_MAX; }, "lanes: 1 to 1024");
    expect_refusal([](engine_options &o) { o.value.waiting = static_cast<flat_waiting>(3); }, "flat_waiting");
    expect_refusal([](engine_options &o) { o.value.starvation_limit = 32768; }, "starvation_limit 32768: 1 to 32767");
    expect_refusal([](engine_options &o) { o.value.starvation_limit = UINT_MAX; }, "1 to 32767 are possible, and 0");
    expect_refusal([](engine_options &o) { o.value.stack_size = 61440; }, "a stack of 61440 bytes: give a multiple of");
    expect_refusal([](engine_options &o) { o.value.stack_size = 65537; }, "a stack of 65537 bytes: give a multiple of");
    expect_refusal([](engine_options &o) { o.value.stack_size = SIZE_MAX - 4095; }, "a stack of");
    expect_refusal([](engine_options &o) { o.value.spin_ns = FLAT_ENGINE_MAX_DELAY_NS + 1; }, "spin_ns");
    expect_refusal([](engine_options &o) { o.value.watchdog_ns = UINT64_MAX; }, "watchdog_ns");
}

TEST(engine_options, the_ends_of_each_range_are_accepted) {
    const auto many_blocks = [](engine_options &o) { o.classes = {{64, 100000}}; };
    expect_footprint([](engine_options &o) { o.value.worker_count = 1; });
    expect_footprint([&](engine_options &o) { many_blocks(o), o.value.worker_count = 256, o.value.lane_count = 1; });
    expect_footprint([&](engine_options &o) { many_blocks(o), o.value.lane_count = 1024; });
    expect_footprint([](engine_options &o) { o.value.waiting = FLAT_WAITING_SLEEP; });
    expect_footprint([](engine_options &o) { o.value.starvation_limit = 32767; });
    expect_footprint([](engine_options &o) { o.value.starvation_limit = 1; });
    expect_footprint([](engine_options &o) { o.value.stack_size = 65536; });
    expect_footprint([](engine_options &o) { o.value.spin_ns = o.value.watchdog_ns = FLAT_ENGINE_MAX_DELAY_NS; });
}

TEST(engine_options, classes_that_are_no_pool_are_refused) {
    expect_refusal([](engine_options &o) { o.classes = {}; }, "worker 0: its classes are no pool");
    expect_refusal([](engine_options &o) { o.classes = {{64, 64}, {64, 64}}; }, "sizes must ascend");
    expect_refusal([](engine_options &o) { o.classes = {{0, 64}}; }, "in their ranges");
    expect_refusal([](engine_options &o) { o.classes = {{64, 0}}; }, "in their ranges");
    const std::vector<flat_class> descending = {{128, 64}, {64, 64}};
    expect_refusal(
        [&](engine_options &o) {
            o.workers.resize(2);
            o.workers[1].classes = descending.data();
            o.workers[1].class_count = descending.size();
        },
        "worker 1: its classes are no pool");
}

TEST(engine_options, totals_beyond_half_of_the_address_space_are_refused) {
    const std::size_t most = static_cast<std::size_t>(PTRDIFF_MAX) / 2;
    expect_refusal(
        [&](engine_options &o) {
            o.classes = {{FLAT_POOL_MAX_BLOCK_SIZE, FLAT_POOL_MAX_BLOCK_COUNT}};
            for (std::size_t i = 63; i > 0; i--) {
                o.classes.insert(o.classes.begin(),
                                 {FLAT_POOL_MAX_BLOCK_SIZE - 16 * (64 - i), FLAT_POOL_MAX_BLOCK_COUNT});
            }
            o.value.worker_count = 4;
            o.limits.resize(64);
            for (flat_class_limits &limits : o.limits) limits.grants = limits.worker_grants = 1;
        },
        "PTRDIFF_MAX / 2");
    expect_refusal(
        [&](engine_options &o) {
            o.classes = {{64, 100000}};
            o.value.worker_count = 256;
            o.value.lane_count = 1;
            o.value.caller_runs_workers = false;
            o.value.stack_size = most / 256 / 4096 * 4096;
        },
        "PTRDIFF_MAX / 2");
}

TEST(engine_options, null_is_refused) {
    engine_options options;
    flat_footprint footprint;
    flat_engine *engine = reinterpret_cast<flat_engine *>(&options);
    EXPECT_EQ(flat_engine_footprint(nullptr, &footprint), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(flat_engine_footprint(options.get(), nullptr), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(flat_engine_create(nullptr, options.get()), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(flat_engine_create(&engine, nullptr), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(engine, nullptr);
    EXPECT_EQ(flat_engine_init(nullptr, options.get(), {}, {}), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(flat_engine_init(&engine, nullptr, {}, {}), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(flat_engine_init(&engine, options.get(), {}, {}), FLAT_INVALID_ARGUMENT);
    flat_engine_destroy(nullptr);
}

TEST(engine_options, a_message_is_empty_where_nothing_was_refused_and_never_longer_than_its_room) {
    engine_options options;
    char text[8];
    flat_engine_options given = *options.get();
    given.message = text;
    given.message_size = sizeof text;
    flat_footprint footprint;
    EXPECT_EQ(flat_engine_footprint(&given, &footprint), FLAT_OK);
    EXPECT_STREQ(text, "");
    given.worker_count = 0;
    EXPECT_EQ(flat_engine_footprint(&given, &footprint), FLAT_INVALID_ARGUMENT);
    EXPECT_STREQ(text, "0 worke");
    given.message = nullptr;
    EXPECT_EQ(flat_engine_footprint(&given, &footprint), FLAT_INVALID_ARGUMENT);
}

TEST(engine_grants, are_by_default_half_of_the_blocks_divided_evenly_and_rounded_down) {
    for (const std::size_t blocks : {8u, 9u, 15u, 16u, 30u, 64u, 1000u}) {
        engine_options options;
        options.classes = {{64, blocks}};
        const test_engine engine(options);
        flat_submitter *lane = engine.lane();
        std::size_t of_worker = 0;
        const test::action look = [&](flat_worker *here) {
            of_worker = capacity_of(flat_engine_submitter(here), 1, 64);
        };
        ASSERT_EQ(test::submit_action(lane, 0, look), FLAT_OK);
        ASSERT_EQ(engine.run(), 1u);
        EXPECT_EQ(capacity_of(lane, 0, 64), blocks / 2 / 4) << blocks;
        EXPECT_EQ(capacity_of(lane, 1, 64), blocks / 2 / 4) << blocks;
        EXPECT_EQ(of_worker, blocks / 2 / 4) << blocks;
        EXPECT_EQ(capacity_of(lane, 0, 32), 64u) << "inline ones";
    }
}

TEST(engine_grants, a_default_that_leaves_a_lane_none_is_refused) {
    expect_refusal([](engine_options &o) { o.classes = {{64, 7}}; }, "half of 7 blocks among 4 lanes leaves no grant");
    expect_refusal([](engine_options &o) { o.classes = {{64, 64}, {128, 1}}; }, "worker 0, class 1: ");
    expect_refusal(
        [](engine_options &o) {
            o.classes = {{64, 7}};
            o.limits = {{1, 0, 0}};
        },
        "give the class more blocks, or say how many grants");
    expect_footprint([](engine_options &o) {
        o.classes = {{64, 7}};
        o.limits = {{1, 1, 0}};
    });
}

TEST(engine_grants, are_those_that_were_asked_for) {
    engine_options options;
    options.limits = {{5, FLAT_NO_GRANTS, 0}, {FLAT_NO_GRANTS, 2, 0}};
    options.value.inline_limits = {7, 3, 0};
    const test_engine engine(options);
    flat_submitter *lane = engine.lane();
    std::vector<std::size_t> of_worker;
    const test::action look = [&](flat_worker *here) {
        for (const std::size_t size : {1u, 64u, 256u})
            of_worker.push_back(capacity_of(flat_engine_submitter(here), 1, size));
    };
    ASSERT_EQ(test::submit_action(lane, 1, look), FLAT_OK);
    ASSERT_EQ(engine.run(), 1u);
    EXPECT_EQ(of_worker, (std::vector<std::size_t>{3, 0, 2}));
    EXPECT_EQ(capacity_of(lane, 0, 1), 7u);
    EXPECT_EQ(capacity_of(lane, 0, 64), 5u);
    EXPECT_EQ(capacity_of(lane, 0, 256), 0u);
    EXPECT_EQ(flat_engine_grant(lane, 0, 256), nullptr);
}

// A submit of a small payload needs no block, and a grant of that size is one.
TEST(engine_grants, of_a_small_size_are_blocks_and_its_capacity_is_that_of_a_submit) {
    engine_options options;
    options.classes = {{32, 100}, {64, 100}};
    options.limits = {{6, 1, 0}, {FLAT_NO_GRANTS, FLAT_NO_GRANTS, 0}};
    options.value.inline_limits = {7, 3, 0};
    const test_engine engine(options);
    flat_submitter *lane = engine.lane();
    EXPECT_EQ(capacity_of(lane, 0, 16), 7u);
    EXPECT_EQ(flat_engine_grants(lane, 0, 16), 6u);
    EXPECT_EQ(capacity_of(lane, 0, 64), 0u);
    EXPECT_EQ(flat_engine_grants(lane, 0, 64), 0u);
    EXPECT_EQ(flat_engine_grants(lane, 0, 65), 0u);
    EXPECT_EQ(flat_engine_grants(lane, 2, 16), 0u);
    EXPECT_EQ(flat_engine_grants(nullptr, 0, 16), 0u);
    std::size_t granted = 0;
    while (flat_engine_grant(lane, 0, 16) != nullptr) granted++;
    EXPECT_EQ(granted, 6u);
}

TEST(engine_grants, more_than_the_class_has_are_refused_and_exactly_as_many_are_not) {
    expect_footprint([](engine_options &o) { o.limits = {{20, 12, 0}, {}}; }); // 2 * 20 + 2 * 12 == 64
    expect_refusal([](engine_options &o) { o.limits = {{20, 13, 0}, {}}; },
                   "worker 0, class 0: 66 grants of 64 blocks");
    expect_refusal([](engine_options &o) { o.limits = {{65535, 1, 0}, {}}; }, "grants of 64 blocks");
    expect_refusal([](engine_options &o) { o.limits = {{SIZE_MAX - 1, 1, 0}, {}}; }, "more than 65535");
}

TEST(engine_grants, a_lane_has_one_at_least_and_65535_at_most) {
    const auto none = [](engine_options &o) {
        o.limits = {{FLAT_NO_GRANTS, FLAT_NO_GRANTS, 0}, {FLAT_NO_GRANTS, FLAT_NO_GRANTS, 0}};
        o.value.inline_limits = {FLAT_NO_GRANTS, FLAT_NO_GRANTS, 0};
    };
    expect_refusal(none, "a lane has 0 grants: 1 to 65535 are possible");
    expect_footprint([&](engine_options &o) { none(o), o.value.inline_limits.grants = 1; });
    const auto most = [](engine_options &o) {
        o.value.worker_count = o.value.lane_count = 1;
        o.classes = {{16, 70000}};
        o.limits = {{65534, 1, 0}};
        o.value.inline_limits = {1, 1, 0};
    };
    expect_footprint(most);
    expect_refusal([&](engine_options &o) { most(o), o.value.inline_limits.grants = 2; }, "a lane has 65536 grants");
    expect_refusal([&](engine_options &o) { most(o), o.value.inline_limits.grants = 65536; }, "more than 65535");
}

TEST(engine_workers, may_have_classes_and_grants_of_their_own) {
    const std::vector<flat_class> classes = {{32, 80}, {1024, 16}, {5000, 8}};
    const std::vector<flat_class_limits> limits = {{2, 2, 0}, {3, 1, 0}};
    engine_options options;
    options.workers.resize(2);
    options.workers[0].class_limits = limits.data();
    options.workers[1].classes = classes.data();
    options.workers[1].class_count = classes.size();
    options.limits = {{1, 1, 0}, {1, 1, 0}}; // of nobody: both workers differ
    const test_engine engine(options);
    flat_submitter *lane = engine.lane();
    EXPECT_EQ(capacity_of(lane, 0, 64), 2u);
    EXPECT_EQ(capacity_of(lane, 0, 256), 3u);
    EXPECT_EQ(capacity_of(lane, 0, 257), 0u);
    EXPECT_EQ(capacity_of(lane, 1, 64), 2u) << "its class of 1024 bytes: 16 / 2 / 4";
    EXPECT_EQ(capacity_of(lane, 1, 5000), 1u);
    EXPECT_EQ(capacity_of(lane, 1, 5009), 0u) << "5000 rounded up to whole granules is 5008";
}

TEST_F(engine_init, succeeds_in_exactly_its_footprint) {
    EXPECT_EQ(in_.init(in_.exact_metadata(), in_.exact_blocks()), FLAT_OK);
}

TEST_F(engine_init, refuses_a_byte_less) {
    flat_memory less = in_.exact_metadata();
    less.size--;
    EXPECT_EQ(in_.init(less, in_.exact_blocks()), FLAT_OUT_OF_MEMORY);
    less = in_.exact_blocks();
    less.size--;
    EXPECT_EQ(in_.init(in_.exact_metadata(), less), FLAT_OUT_OF_MEMORY);
    less.size = 0;
    EXPECT_EQ(in_.init(in_.exact_metadata(), less), FLAT_OUT_OF_MEMORY);
}

TEST_F(engine_init, refuses_what_is_not_aligned) {
    EXPECT_EQ(in_.need.metadata_alignment, 4096u);
    EXPECT_EQ(in_.need.block_alignment, 4096u);
    for (const std::size_t by : {1u, 64u, 128u, 2048u, 4095u}) {
        EXPECT_EQ(in_.init({in_.metadata.start() + by, in_.need.metadata_bytes}, in_.exact_blocks()),
                  FLAT_INVALID_ARGUMENT);
        EXPECT_EQ(in_.init(in_.exact_metadata(), {in_.blocks.start() + by, in_.need.block_bytes}),
                  FLAT_INVALID_ARGUMENT);
    }
    EXPECT_EQ(in_.init({in_.metadata.start() + 4096, in_.need.metadata_bytes}, in_.exact_blocks()), FLAT_OK);
}

TEST_F(engine_init, refuses_memories_that_overlap_or_wrap_around) {
    const test::mapping both(in_.need.metadata_bytes + in_.need.block_bytes + 4096, 4096);
    const std::size_t behind = (in_.need.metadata_bytes + 4095) / 4096 * 4096;
    flat_engine *engine;
    const auto init = [&](std::size_t blocks_at) {
        return flat_engine_init(&engine, options_.get(), {both.start(), in_.need.metadata_bytes},
                                {both.start() + blocks_at, in_.need.block_bytes});
    };
    EXPECT_EQ(init(0), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(init(behind - 4096), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(init(behind), FLAT_OK) << "memories may touch";
    flat_engine_destroy(engine);
    void *const last_page = test::at(UINTPTR_MAX - 4095);
    EXPECT_EQ(in_.init({last_page, in_.need.metadata_bytes}, in_.exact_blocks()), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(in_.init(in_.exact_metadata(), {last_page, in_.need.block_bytes}), FLAT_INVALID_ARGUMENT);
}

TEST_F(engine_init, says_how_much_it_needs) {
    flat_memory less = in_.exact_metadata();
    less.size--;
    flat_engine *engine;
    EXPECT_EQ(flat_engine_init(&engine, options_.get(), less, in_.exact_blocks()), FLAT_OUT_OF_MEMORY);
    const std::string need = std::to_string(in_.need.metadata_bytes) + " and " + std::to_string(in_.need.block_bytes);
    EXPECT_NE(options_.message().find(need), std::string::npos) << options_.message();
}

TEST(engine_footprint, is_that_of_every_shape_to_the_byte) {
    // Small engines whose parts have odd lengths: each fits in its footprint, and in nothing less.
    for (std::size_t workers = 1; workers <= 3; workers++) {
        for (std::size_t lanes = 1; lanes <= 3; lanes++) {
            for (std::size_t grants = 1; grants <= 5; grants++) {
                engine_options options;
                options.value.worker_count = workers;
                options.value.lane_count = lanes;
                options.classes = {{48, 40}};
                options.limits = {{grants, grants == 1 ? FLAT_NO_GRANTS : 1, 0}};
                options.value.inline_limits = {grants % 2 != 0 ? FLAT_NO_GRANTS : grants, FLAT_NO_GRANTS, 0};
                placed in(*options.get(), footprint_of(options));
                flat_memory less = in.exact_metadata();
                less.size--;
                ASSERT_EQ(in.init(less, in.exact_blocks()), FLAT_OUT_OF_MEMORY);
                ASSERT_EQ(in.init(in.exact_metadata(), in.exact_blocks()), FLAT_OK);
            }
        }
    }
}

TEST(engine_footprint, stacks_are_in_it) {
    engine_options options;
    const std::size_t without = footprint_of(options).metadata_bytes;
    options.value.caller_runs_workers = false;
    options.value.stack_size = 65536;
    EXPECT_EQ(footprint_of(options).metadata_bytes, without + std::size_t{2} * (65536 + 4096));
    options.value.watchdog_ns = 1000000;
    EXPECT_EQ(footprint_of(options).metadata_bytes, without + std::size_t{3} * (65536 + 32768 + 4096));
    options.value.stack_size = 0;
    EXPECT_EQ(footprint_of(options).metadata_bytes, without + std::size_t{3} * (262144 + 32768 + 4096));
}

TEST(engine_create, leaves_nothing_behind_when_it_is_destroyed) {
    test::left_behind before{};
    for (int i = 0; i < 3; i++) { // the first time the C library may map something
        if (i == 1) before = test::look_at_process();
        const test_engine engine;
        EXPECT_GT(test::look_at_process().files, 0u);
    }
    EXPECT_TRUE(test::is_as_before(before));
}
