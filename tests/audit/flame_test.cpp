#include "audit/flame.hpp"

#include "made_findings.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

using namespace flat::audit;

namespace {

const FlameNode *child_of(const FlameNode &node, const std::string &name) {
    const auto found = std::ranges::find(node.children, name, &FlameNode::name);
    return found == node.children.end() ? nullptr : &*found;
}

/// Of frames named so, the innermost first.
StackTime stack_time(const std::vector<std::string> &functions, double total_ns, double max_ns) {
    StackTime stack{"malloc", 1, 16, total_ns, max_ns, {}};
    for (const std::string &function : functions) stack.stack.push_back({function, "", 0, false, ""});
    return stack;
}

} // namespace

TEST(flame_graph, adds_up_times_from_the_outermost_function_to_the_operation) {
    const FlameNode all = flame_of(test::made_findings().stacks);
    EXPECT_EQ(all.total_ns, 6.1e7);
    ASSERT_EQ(all.children.size(), 2u);
    const FlameNode *work = child_of(all, "work()");
    ASSERT_NE(work, nullptr);
    EXPECT_EQ(work->total_ns, 2.1e7);
    ASSERT_NE(child_of(*work, "free"), nullptr);
    EXPECT_EQ(child_of(*work, "free")->total_ns, 2e7);
    EXPECT_EQ(child_of(*work, "malloc")->total_ns, 1e6);
    const FlameNode *node = &all;
    for (const char *name : {"libc.so.6+0x27249", "main", "render(Frame&)", "mix",
                             "std::vector<float>::reserve(unsigned long)", "operator new"}) {
        node = child_of(*node, name);
        ASSERT_NE(node, nullptr) << name;
        EXPECT_EQ(node->total_ns, 4e7);
    }
    EXPECT_TRUE(node->children.empty());
}

TEST(flame_graph, has_the_longest_single_call_and_no_sum_of_several) {
    const FlameNode all = flame_of(test::made_findings().stacks);
    EXPECT_EQ(all.max_ns, 2'000'000);
    EXPECT_EQ(child_of(all, "work()")->max_ns, 12'000);
}

TEST(flame_graph, has_the_longest_first) {
    const FlameNode all = flame_of({stack_time({"a"}, 1, 1), stack_time({"b"}, 3, 1), stack_time({"c"}, 2, 1)});
    ASSERT_EQ(all.children.size(), 3u);
    EXPECT_EQ(all.children[0].name, "b");
    EXPECT_EQ(all.children[1].name, "c");
    EXPECT_EQ(all.children[2].name, "a");
}

TEST(flame_graph, keeps_what_a_function_allocates_itself_beside_what_it_calls) {
    const FlameNode all = flame_of(
        {stack_time({"inner", "outer"}, 5, 5), stack_time({"outer"}, 7, 7), stack_time({"inner", "outer"}, 1, 9)});
    ASSERT_EQ(all.children.size(), 1u);
    const FlameNode &outer = all.children[0];
    EXPECT_EQ(outer.total_ns, 13);
    ASSERT_EQ(outer.children.size(), 2u);
    EXPECT_EQ(child_of(outer, "malloc")->total_ns, 7);
    EXPECT_EQ(child_of(outer, "inner")->total_ns, 6);
    EXPECT_EQ(child_of(outer, "inner")->max_ns, 9);
}

TEST(flame_graph, of_nothing_is_an_empty_root) {
    const FlameNode all = flame_of({});
    EXPECT_EQ(all.name, "all");
    EXPECT_EQ(all.total_ns, 0);
    EXPECT_TRUE(all.children.empty());
}

TEST(flame_graph, has_a_stack_without_a_frame_under_its_root) {
    const FlameNode all = flame_of({stack_time({}, 4, 4), stack_time({"a"}, 2, 2)});
    ASSERT_NE(child_of(all, "malloc"), nullptr);
    EXPECT_EQ(child_of(all, "malloc")->total_ns, 4);
    EXPECT_EQ(all.total_ns, 6);
}
