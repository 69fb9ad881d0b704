// Every sequence of operations up to a length, on pools so small that there are not too many. Since the pool's whole
// state is its metadata, a copy of those bytes takes it back to where a branch began.
#include "core/environment.hpp"
#include "core/model_run.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace {

using test::address_of;
using test::at;
using test::model;
using test::test_pool;

struct action {
    std::string words;
    std::function<bool(flat_pool *, model &)> act; // true iff pool and model agree
};

// Allocs of every class's size, of one byte too much, and of two at once; frees of every block, of the place behind the
// last, and of an interior address; reset.
std::vector<action> alphabet(const model &reference) {
    std::vector<action> actions;
    const auto alloc = [&](std::size_t size) {
        actions.push_back({"alloc " + std::to_string(size), [size](flat_pool *pool, model &m) {
                               return address_of(flat_pool_alloc(pool, size)) == m.alloc(m.class_for(size));
                           }});
    };
    const auto free = [&](std::string words, std::uintptr_t address) {
        actions.push_back({std::move(words), [address](flat_pool *pool, model &m) {
                               return flat_pool_free(pool, at(address)) == m.free(address);
                           }});
    };
    for (const test::model_class &c : reference.classes) {
        alloc(c.size);
        actions.push_back({"alloc_many " + std::to_string(c.size), [size = c.size](flat_pool *pool, model &m) {
                               test::model_class *of = m.class_for(size);
                               void *blocks[2] = {nullptr, nullptr};
                               const bool served = of->free_blocks() >= 2;
                               if (!served) of->refused++;
                               if (flat_pool_alloc_many(pool, size, blocks, 2) != (served ? 2u : 0u)) return false;
                               for (void *block : blocks) {
                                   if (address_of(block) != (served ? of->take() : 0)) return false;
                               }
                               return true;
                           }});
        for (std::size_t i = 0; i <= c.count; i++) {
            free("free block " + std::to_string(i) + " of " + std::to_string(c.size), c.address(i));
        }
    }
    free("free interior", reference.classes[0].start + 8);
    actions.push_back({"reset", [](flat_pool *pool, model &m) {
                           flat_pool_reset(pool);
                           m.reset();
                           return true;
                       }});
    return actions;
}

class every_sequence {
  public:
    explicit every_sequence(const std::vector<flat_class> &classes)
        : pool_(classes, PROT_NONE), reference_(classes, test::first_blocks(pool_)), actions_(alphabet(reference_)) {}

    // All sequences of at most `length` actions; the number tried.
    std::size_t run(std::size_t length) {
        tried_ = 0;
        descend(length, reference_);
        return tried_;
    }
    const std::string &failure() const { return failure_; }
    std::size_t actions() const { return actions_.size(); }

  private:
    void descend(std::size_t length, const model &before) {
        if (length == 0 || !failure_.empty()) return;
        const std::vector<char> state(pool_.metadata().start(), pool_.metadata().start() + pool_.metadata().size());
        for (const action &action : actions_) {
            tried_++;
            model after = before;
            path_.push_back(&action);
            const bool agree = action.act(pool_, after) && is_like(after);
            if (!agree && failure_.empty()) {
                for (const auto *step : path_) failure_ += step->words + "; ";
            }
            descend(length - 1, after);
            path_.pop_back();
            std::memcpy(pool_.metadata().start(), state.data(), state.size());
            if (!failure_.empty()) return;
        }
    }

    bool is_like(const model &expected) {
        if (flat_pool_check(pool_) != FLAT_OK) return false;
        flat_pool_stats stats[4];
        const std::size_t classes = flat_pool_get_stats(pool_, stats, 4);
        for (std::size_t i = 0; i < classes; i++) {
            const test::model_class &c = expected.classes[i];
            if (stats[i].live != c.live.size() || stats[i].high_water != c.used.size()) return false;
            if (stats[i].refused != c.refused) return false;
        }
        return true;
    }

    test_pool pool_;
    model reference_;
    std::vector<action> actions_;
    std::vector<const action *> path_;
    std::string failure_;
    std::size_t tried_ = 0;
};

void try_all(const std::vector<flat_class> &classes, std::size_t length) {
    every_sequence sequences(classes);
    const std::size_t tried = sequences.run(length);
    ASSERT_EQ(sequences.failure(), "") << "sequence that pool and model disagree on";
    std::size_t expected = 0, level = 1;
    for (std::size_t i = 0; i < length; i++) expected += level *= sequences.actions();
    EXPECT_EQ(tried, expected) << "not every sequence was tried";
}

} // namespace

TEST(pool_exhaustive, one_block) { try_all({{16, 1}}, 7); }
TEST(pool_exhaustive, two_blocks) { try_all({{48, 2}}, 6); }
TEST(pool_exhaustive, three_blocks) { try_all({{16, 3}}, 6); }
TEST(pool_exhaustive, four_blocks) { try_all({{80, 4}}, 5); }
TEST(pool_exhaustive, two_classes) { try_all({{16, 2}, {32, 1}}, 5); }
TEST(pool_exhaustive, two_classes_above_the_table_of_sizes) { try_all({{4096, 1}, {8192, 2}}, 5); }
TEST(pool_exhaustive, three_classes) { try_all({{16, 1}, {48, 1}, {4112, 1}}, 5); }
