// links.h: circular lists of numbered nodes.
#include "core/environment.hpp"
#include "core/random_source.hpp"
#include "engine/parts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

constexpr std::uint32_t heads = 3, nodes = 9; // nodes 0 .. 5 can be in a list, and 6 .. 8 are the heads

class lists {
  public:
    lists() {
        for (std::uint32_t i = 0; i < heads; i++) part_links_begin(links_, nodes - heads + i);
    }
    lists(const lists &) = delete;
    lists &operator=(const lists &) = delete;
    ~lists() { part_links_end(links_); }

    static std::uint32_t head(std::uint32_t list) { return nodes - heads + list; }

    void append(std::uint32_t list, std::uint32_t node) {
        part_links_append(links_, head(list), node);
        plain_[list].push_back(node);
    }

    // Whether what is returned says rightly if the list is empty now.
    bool remove(std::uint32_t list, std::size_t at) {
        const std::uint32_t node = plain_[list][at];
        plain_[list].erase(plain_[list].begin() + static_cast<std::ptrdiff_t>(at));
        const std::uint32_t told = part_links_remove(links_, node);
        if (plain_[list].empty()) return told == head(list);
        return told == head(list) || std::find(plain_[list].begin(), plain_[list].end(), told) != plain_[list].end();
    }

    bool are_as_expected() const {
        for (std::uint32_t list = 0; list < heads; list++) {
            if (part_links_are_empty(links_, head(list)) != plain_[list].empty()) return false;
            std::uint32_t at = head(list);
            for (const std::uint32_t node : plain_[list]) {
                if (part_links_next(links_, at) != node || part_links_previous(links_, node) != at) return false;
                at = node;
            }
            if (part_links_next(links_, at) != head(list) || part_links_previous(links_, head(list)) != at)
                return false;
        }
        return true;
    }

    const std::vector<std::uint32_t> &list(std::uint32_t number) const { return plain_[number]; }

  private:
    part_links *links_ = part_links_make(nodes);
    std::vector<std::uint32_t> plain_[heads];
};

} // namespace

TEST(engine_links, a_list_is_empty_at_first) {
    const lists all;
    EXPECT_TRUE(all.are_as_expected());
}

TEST(engine_links, a_node_leaves_its_list_from_any_place) {
    for (std::uint32_t length = 1; length <= 6; length++) {
        for (std::uint32_t at = 0; at < length; at++) {
            lists all;
            for (std::uint32_t i = 0; i < length; i++) all.append(1, i);
            ASSERT_TRUE(all.remove(1, at)) << length << " nodes, the one at " << at;
            ASSERT_TRUE(all.are_as_expected()) << length << " nodes, the one at " << at;
        }
    }
}

TEST(engine_links, nodes_are_in_the_order_in_which_they_came) {
    test::random_source random(test::seed());
    lists all;
    std::vector<std::uint32_t> free{0, 1, 2, 3, 4, 5};
    for (std::size_t i = 0; i < test::scaled(100000); i++) {
        const auto list = static_cast<std::uint32_t>(random.below(heads));
        if (random.one_in(2) && !free.empty()) {
            const std::size_t chosen = random.below(free.size());
            all.append(list, free[chosen]);
            free.erase(free.begin() + static_cast<std::ptrdiff_t>(chosen));
        } else if (!all.list(list).empty()) {
            const std::size_t at = random.below(all.list(list).size());
            free.push_back(all.list(list)[at]);
            ASSERT_TRUE(all.remove(list, at)) << "seed " << test::seed();
        }
        ASSERT_TRUE(all.are_as_expected()) << "seed " << test::seed();
    }
}
