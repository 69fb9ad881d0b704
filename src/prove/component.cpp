#include "component.hpp"

#include <algorithm>
#include <utility>

namespace flat::prove {
namespace {

/// Tarjan's algorithm ("Depth-first search and linear graph algorithms", 1972), with an explicit stack in place of
/// recursion.
class Components {
  public:
    explicit Components(const Graph &graph)
        : graph_(graph), seen_(graph.blocks.size()), low_(graph.blocks.size()), open_(graph.blocks.size()) {}

    std::vector<Component> find() {
        for (std::size_t block = 0; block < graph_.blocks.size(); block++)
            if (seen_[block] == 0) search(block);
        std::ranges::reverse(found_); // each was found after all components that it leads to
        return std::move(found_);
    }

  private:
    struct Visit {
        std::size_t block, next;
    };

    void search(std::size_t root) {
        std::vector<Visit> way = {begin(root)};
        while (!way.empty()) {
            Visit &visit = way.back();
            const std::vector<std::size_t> &next = graph_.blocks[visit.block].next;
            if (visit.next < next.size()) {
                const std::size_t to = next[visit.next++];
                if (seen_[to] == 0)
                    way.push_back(begin(to));
                else if (open_[to])
                    low_[visit.block] = std::min(low_[visit.block], seen_[to]);
                continue;
            }
            const std::size_t block = visit.block;
            way.pop_back();
            if (!way.empty()) low_[way.back().block] = std::min(low_[way.back().block], low_[block]);
            if (low_[block] == seen_[block]) close(block);
        }
    }

    Visit begin(std::size_t block) {
        seen_[block] = low_[block] = ++count_;
        open_[block] = true;
        stack_.push_back(block);
        return {block, 0};
    }

    void close(std::size_t root) {
        Component component;
        for (std::size_t block = graph_.blocks.size(); block != root;) {
            block = stack_.back();
            stack_.pop_back();
            open_[block] = false;
            component.blocks.push_back(block);
        }
        const std::vector<std::size_t> &next = graph_.blocks[root].next;
        component.is_loop = component.blocks.size() > 1 || std::ranges::find(next, root) != next.end();
        std::ranges::sort(component.blocks);
        found_.push_back(std::move(component));
    }

    const Graph &graph_;
    std::vector<std::size_t> seen_, low_; // seen_: order of the visits from 1; 0: not visited
    std::vector<bool> open_;
    std::vector<std::size_t> stack_;
    std::size_t count_ = 0;
    std::vector<Component> found_;
};

} // namespace

std::vector<Component> components_of(const Graph &graph) { return Components(graph).find(); }

} // namespace flat::prove
