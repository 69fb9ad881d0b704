#include "bench/catalogue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <string>

using namespace flat::bench;

TEST(catalogue, names_every_cell_of_the_quick_run_once) {
    std::set<std::string> names;
    for (const Cell &cell : cells(Mode::quick)) EXPECT_TRUE(names.insert(describe(cell)).second) << describe(cell);
    EXPECT_EQ(names.size(), 5U * 2 + 2 * 2 + 2 * 2 + 2 + 3 + 5);
    EXPECT_TRUE(names.contains("hot 4 KiB, single calls"));
    EXPECT_TRUE(names.contains("mixed 7 sizes, blocks of 32 calls"));
}

TEST(catalogue, names_every_cell_of_the_full_run_once_and_the_quick_ones_first) {
    std::set<std::string> names;
    const std::vector<Cell> quick = cells(Mode::quick), full = cells(Mode::full);
    for (const Cell &cell : full) EXPECT_TRUE(names.insert(describe(cell)).second) << describe(cell);
    ASSERT_GT(full.size(), quick.size());
    for (std::size_t i = 0; i < full.size(); ++i) {
        EXPECT_EQ(suite_of(full[i]).in_quick, i < quick.size()) << describe(full[i]);
        if (i < quick.size()) {
            EXPECT_EQ(describe(full[i]), describe(quick[i]));
        }
    }
    EXPECT_TRUE(names.contains("anysize any size uniform, single calls"));
    EXPECT_TRUE(names.contains("containers map-int, single rounds"));
    EXPECT_TRUE(names.contains("containers trades, blocks of 32 rounds"));
    EXPECT_TRUE(names.contains("threads 64 B larson, single calls, 2 threads"));
    EXPECT_TRUE(names.contains("threads 64 B larson, blocks of 64 calls, 2 threads"));
}

TEST(catalogue, has_threads_of_more_than_there_are_processors_and_of_as_many_as_are_asked_for) {
    const auto in = [](const std::vector<Cell> &all, unsigned threads, std::string_view suite, std::string_view order) {
        return std::ranges::count_if(all, [&](const Cell &cell) {
            return cell.threads == threads && cell.suite == suite && cell.order == order;
        });
    };
    const std::vector<Cell> usual = cells(Mode::full);
    for (const unsigned threads : {2U, 4U, 8U}) {
        for (const char *order : {"independent", "producer-consumer", "larson"})
            EXPECT_EQ(in(usual, threads, "threads", order), threads == 2 ? 3 : 2) << order << threads;
        EXPECT_EQ(in(usual, threads, "threads", "many-to-one"), threads > 2 ? 2 : 0) << threads;
        EXPECT_EQ(in(usual, threads, "pipeline", ""), threads == 2 ? 3 : 0) << threads;
    }
    const std::vector<unsigned> asked{3, 6, 3};
    const std::vector<Cell> some = cells(Mode::full, asked);
    for (const unsigned threads : asked) {
        const bool even = threads % 2 == 0; // each producer needs a consumer
        EXPECT_EQ(in(some, threads, "threads", "many-to-one"), 2);
        EXPECT_EQ(in(some, threads, "threads", "producer-consumer"), even ? 2 : 0);
        EXPECT_EQ(in(some, threads, "pipeline", ""), even ? 2 : 0);
    }
    EXPECT_EQ(in(some, 2, "threads", "larson"), 0);
}

TEST(catalogue, has_the_malloc_under_every_policy_wherever_a_general_one_is) {
    for (const char *policy : {"flatline-malloc", "flatline-malloc-latency", "flatline-malloc-memory"}) {
        EXPECT_TRUE(is_ours(find_backend(policy)->kind));
        for (const Cell &cell : cells(Mode::full))
            EXPECT_EQ(takes_part(*find_backend(policy), cell), takes_part(*find_backend("glibc"), cell))
                << policy << describe(cell);
    }
    EXPECT_TRUE(is_ours(find_backend("flatline-percore")->kind));
    for (const char *other : {"flatline-pool-again", "floor", "list", "glibc", "boost-pool", "std-pool"})
        EXPECT_FALSE(is_ours(find_backend(other)->kind)) << other;
}

TEST(catalogue, has_a_cell_and_a_line_for_each_suite) {
    const std::vector<Cell> full = cells(Mode::full);
    for (const Suite &suite : suites()) {
        EXPECT_EQ(find_suite(suite.name), &suite);
        EXPECT_FALSE(suite.description.empty()) << suite.name;
        EXPECT_LE(suite.description.size(), 70U) << suite.name;
        EXPECT_NE(std::ranges::find(full, suite.name, &Cell::suite), full.end()) << suite.name;
    }
    EXPECT_EQ(find_suite("cold"), nullptr);
    EXPECT_THROW(suite_of(Cell{"cold", 64, 32, "", 1}), std::logic_error);
}

TEST(catalogue, measures_a_capacity_before_any_share_of_it) {
    std::set<std::string_view> measured;
    for (const Cell &cell : cells(Mode::full)) {
        if (is_capacity(cell)) {
            EXPECT_TRUE(measured.insert(cell.suite).second) << describe(cell);
            EXPECT_EQ(cell.percent, 0U);
        } else if (cell.percent != 0) {
            EXPECT_TRUE(measured.contains(cell.suite)) << describe(cell);
        }
    }
    EXPECT_EQ(measured, (std::set<std::string_view>{"arrivals", "engine"}));
}

TEST(catalogue, lets_a_backend_take_part_in_what_it_can_do) {
    const Cell larson{"threads", 64, 1, "larson", 1, 0, 0, several_threads | remote_free, 2},
        any{"anysize", 0, 32, "", 1, 0, 0, any_size};
    const Cell plain{"hot", 64, 32, "", 1};
    EXPECT_TRUE(takes_part(*find_backend("glibc"), larson));
    EXPECT_TRUE(takes_part(*find_backend("flatline-pool"), any));
    EXPECT_FALSE(takes_part(*find_backend("flatline-pool"), larson));
    EXPECT_TRUE(takes_part(*find_backend("flatline-percore"), larson));
    EXPECT_FALSE(takes_part(*find_backend("flatline-percore"), plain));
    for (const char *fixed : {"list", "boost-pool", "foonathan-pool"}) {
        EXPECT_FALSE(takes_part(*find_backend(fixed), larson)) << fixed;
        EXPECT_FALSE(takes_part(*find_backend(fixed), any)) << fixed;
        EXPECT_TRUE(takes_part(*find_backend(fixed), plain)) << fixed;
    }
    for (const char *heap : {"o1heap", "flatline-heap"}) {
        EXPECT_FALSE(takes_part(*find_backend(heap), plain)) << heap;
        EXPECT_TRUE(takes_part(*find_backend(heap), any)) << heap;
    }
}

TEST(catalogue, has_in_stalls_what_serves_a_whole_process_and_a_copy_of_the_malloc_nowhere_else) {
    for (const Cell &cell : cells(Mode::full)) {
        const bool stalls = cell.suite == "stalls";
        EXPECT_EQ(takes_part(*find_backend("flatline-malloc-again"), cell), stalls) << describe(cell);
        for (const Backend &backend : backends()) {
            const bool is_malloc = backend.kind == Kind::general || backend.kind == Kind::drop_in;
            const bool serves = (is_malloc && !is_queue(backend)) || backend.name == "floor";
            if (stalls && backend.kind != Kind::again) {
                EXPECT_EQ(takes_part(backend, cell), serves) << backend.name << describe(cell);
            }
        }
    }
}

TEST(catalogue, has_every_resource_and_every_malloc_in_containers_and_the_floor_where_arrays_do_the_work) {
    for (const Cell &cell : cells(Mode::full)) {
        for (const Backend &backend : backends()) {
            const bool is_malloc = backend.kind == Kind::general || backend.kind == Kind::drop_in;
            const bool in_containers = (is_malloc && !is_queue(backend)) || backend.driver.starts_with("std-") ||
                                       backend.driver.starts_with("allocator-") ||
                                       backend.driver.ends_with("-resource") || backend.driver == "inline-arena";
            const bool with_calls = runs_calls(backend);
            if (!suite_of(cell).has_rounds) {
                EXPECT_LE(takes_part(backend, cell), with_calls) << backend.name << describe(cell);
            } else if (backend.name == "floor") {
                EXPECT_EQ(takes_part(backend, cell), cell.needs == plain_arrays) << describe(cell);
            } else {
                EXPECT_EQ(takes_part(backend, cell), in_containers) << backend.name << describe(cell);
            }
        }
    }
    EXPECT_TRUE(runs_calls(*find_backend("glibc")) && runs_containers(*find_backend("glibc")));
    EXPECT_FALSE(runs_calls(*find_backend("std-pool")));
    EXPECT_FALSE(runs_containers(*find_backend("flatline-pool")));
}

TEST(catalogue, holds_each_resource_against_one_that_is_there) {
    for (const Backend &backend : backends()) {
        if (!backend.beside.empty()) {
            EXPECT_NE(find_backend(backend.beside), nullptr) << backend.name;
        }
        if (backend.kind == Kind::again) {
            EXPECT_EQ(find_backend(backend.beside)->driver, backend.driver) << backend.name;
            const Kind original = find_backend(backend.beside)->kind;
            EXPECT_TRUE(original == Kind::subject || original == Kind::drop_in) << backend.name;
        }
    }
}

TEST(catalogue, has_samples_for_p9999_of_calls_and_for_p999_of_rounds_in_four_processes) {
    for (const Cell &cell : cells(Mode::full)) {
        if (suite_of(cell).has_rounds && cell.calls == 1) {
            EXPECT_GE(cell.samples * 4, 20'000U) << describe(cell);
        } else if (cell.needs == sleeping_tasks) {
            EXPECT_GE(cell.samples * 4, 10'000U) << describe(cell);
        } else if (!suite_of(cell).has_rounds && cell.calls != 0) {
            EXPECT_GE(cell.samples * 4, 100'000U) << describe(cell);
        }
    }
}

TEST(catalogue, has_queues_in_suite_engine_and_allocators_in_all_others) {
    std::set<std::string_view> busy, asleep, bounded;
    for (const Cell &cell : cells(Mode::full)) {
        for (const Backend &backend : backends()) {
            if (!takes_part(backend, cell)) continue;
            EXPECT_EQ(suite_of(cell).has_tasks, is_queue(backend)) << backend.name << describe(cell);
            if (cell.needs == busy_tasks) busy.insert(backend.name);
            if (cell.needs == sleeping_tasks) asleep.insert(backend.name);
            if (cell.needs == bounded_tasks) bounded.insert(backend.name);
        }
    }
    EXPECT_EQ(busy, (std::set<std::string_view>{"engine", "engine-again", "engine-grant", "remote-free", "ring",
                                                "mutex-queue", "concurrentqueue", "tbb-arena", "readerwriterqueue",
                                                "boost-spsc"}));
    EXPECT_EQ(asleep, (std::set<std::string_view>{"engine", "engine-again", "engine-grant", "futex", "mutex-queue",
                                                  "concurrentqueue", "tbb-arena", "readerwriterqueue"}));
    EXPECT_EQ(bounded, (std::set<std::string_view>{"engine", "engine-grant"}));
}

TEST(catalogue, leaves_the_long_cells_of_suite_engine_out_of_its_short_run) {
    std::size_t left = 0;
    for (const Cell &cell : cells(Mode::full)) {
        EXPECT_LE(cell.is_long, suite_of(cell).has_tasks) << describe(cell);
        EXPECT_FALSE(is_overload(cell) && !cell.is_long) << describe(cell);
        left += suite_of(cell).has_tasks && !cell.is_long ? 1U : 0U;
    }
    EXPECT_EQ(left,
              4U * 2 + 2 + 4); // busy, sleeping, each with answers, and saturated, of two sizes; and on a schedule
}

TEST(catalogue, names_each_backend_once_and_fits_the_summary) {
    std::set<std::string_view> names, of_calls, of_containers; // they have separate summaries
    for (const Backend &backend : backends()) {
        EXPECT_TRUE(names.insert(backend.name).second) << backend.name;
        if (runs_calls(backend)) {
            EXPECT_TRUE(of_calls.insert(backend.column).second) << backend.column;
        }
        if (runs_containers(backend)) {
            EXPECT_TRUE(of_containers.insert(backend.column).second) << backend.column;
        }
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
    EXPECT_TRUE(competes(find_backend("std-pool")->kind));
    EXPECT_TRUE(competes(find_backend("boost-spsc")->kind));
    EXPECT_FALSE(competes(find_backend("ring")->kind));
    EXPECT_FALSE(competes(find_backend("remote-free")->kind));
}
