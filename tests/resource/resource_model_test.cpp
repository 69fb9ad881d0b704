// Tests a chain of three pools below a budget against a model that only counts: which pool serves each request, which
// one gets each block back, and which resource refuses a request.
#include "core/environment.hpp"
#include "core/random_source.hpp"
#include "resource/incidents.hpp"
#include "resource/setups.hpp"

#include <flatline/resource.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <iostream>
#include <vector>

namespace {

using classes = std::vector<flat_class>;
constexpr std::size_t pools = 3;
constexpr std::size_t nobody = SIZE_MAX;

struct model_pool {
    classes layout;
    std::vector<std::size_t> live;

    explicit model_pool(classes of) : layout(std::move(of)), live(layout.size()) {}

    // The class that serves a request of `bytes`, or `nobody`.
    std::size_t serves(std::size_t bytes) const {
        for (std::size_t i = 0; i < layout.size(); i++) {
            if (bytes <= layout[i].block_size) return live[i] < layout[i].block_count ? i : nobody;
        }
        return nobody;
    }
};

struct block {
    char *start;
    std::size_t bytes, pool, size_class;
};

const std::array<classes, pools> layouts = {classes{{32, 3}, {128, 2}}, classes{{64, 5}}, classes{{16, 4}, {256, 6}}};

} // namespace

TEST(resource_model, random_operations_on_a_chain_of_three_under_a_budget) {
    std::cout << "seed: FLATLINE_TEST_SEED=" << test::seed() << std::endl;
    for (std::size_t round = 0; round < test::scaled(100) && !HasFailure(); round++) {
        SCOPED_TRACE("FLATLINE_TEST_SEED=" + std::to_string(test::seed() + round));
        test::random_source random(test::seed() + round);
        test::owned_pool a(layouts[0]), b(layouts[1]), c(layouts[2]);
        const flat_pool *real[pools] = {a, b, c};
        flat::pool_resource first(*a), second(*b), third(*c);
        flat::chain_resource rest(&second, &third), right(&first, &rest), start(&first, &second), left(&start, &third);
        const std::size_t budget = 200 + random.below(2000);
        flat::limited_resource limited(budget, round % 2 == 0 ? &right : &left);
        flat::resource &resource = limited;
        std::vector<model_pool> model(layouts.begin(), layouts.end());
        std::vector<block> live;
        std::vector<char *> dead;
        std::size_t live_bytes = 0;
        const test::recorded_misuse recorded;
        for (int step = 0; step < 1000 && !HasFailure(); step++) {
            const std::uint64_t action = random.below(100);
            if (action < 55) {
                const std::size_t bytes = 1 + random.below(300);
                block expected{nullptr, bytes, nobody, nobody};
                for (std::size_t i = 0; i < pools && expected.pool == nobody && bytes <= budget - live_bytes; i++) {
                    expected.size_class = model[i].serves(bytes);
                    if (expected.size_class != nobody) expected.pool = i;
                }
                try {
                    expected.start = static_cast<char *>(random.one_in(2) ? resource.allocate(bytes, 8)
                                                                          : resource.try_allocate(bytes, 8));
                } catch (const std::bad_alloc &) {
                    ASSERT_STREQ(flat::last_refusal().resource,
                                 bytes > budget - live_bytes ? "limited_resource" : "pool_resource");
                    ASSERT_EQ(flat::last_refusal().bytes, bytes);
                }
                ASSERT_EQ(expected.start != nullptr, expected.pool != nobody) << bytes;
                if (expected.start == nullptr) continue;
                for (std::size_t i = 0; i < pools; i++) {
                    ASSERT_EQ(flat_pool_owns(real[i], expected.start), i == expected.pool);
                }
                std::erase(dead, expected.start);
                model[expected.pool].live[expected.size_class]++;
                live_bytes += bytes;
                live.push_back(expected);
            } else if (action < 90 && !live.empty()) {
                std::swap(live[random.below(live.size())], live.back());
                const block of = live.back();
                live.pop_back();
                if (random.one_in(2)) {
                    resource.deallocate(of.start, of.bytes, 8);
                } else {
                    ASSERT_EQ(resource.try_deallocate(of.start, of.bytes, 8), FLAT_OK);
                }
                model[of.pool].live[of.size_class]--;
                live_bytes -= of.bytes;
                dead.push_back(of.start);
            } else if (!live.empty()) {
                const block &of = live[random.below(live.size())];
                ASSERT_EQ(resource.try_deallocate(of.start + 1, of.bytes, 8), FLAT_INTERIOR_POINTER);
                ASSERT_EQ(resource.try_deallocate(&live, of.bytes, 8), FLAT_FOREIGN_POINTER);
                if (!dead.empty()) {
                    recorded.incidents.clear();
                    resource.deallocate(dead[random.below(dead.size())], of.bytes, 8);
                    ASSERT_EQ(recorded.incidents.size(), 1u);
                    ASSERT_EQ(recorded.incidents[0].status, FLAT_DOUBLE_FREE);
                }
            }
            ASSERT_EQ(limited.live(), live_bytes);
            for (std::size_t i = 0; i < pools; i++) {
                std::array<flat_pool_stats, 2> stats;
                const std::size_t count = flat_pool_get_stats(real[i], stats.data(), stats.size());
                for (std::size_t k = 0; k < count; k++) ASSERT_EQ(stats[k].live, model[i].live[k]);
            }
        }
    }
}
