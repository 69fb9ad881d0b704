#include "bench/bindings.hpp"

#include <gtest/gtest.h>

#include <array>

using namespace flat::bench;

namespace {

const std::vector<Mapping> mappings{{0x1000, 0x2000, 0, "/usr/bin/tool"},
                                    {0x3000, 0x4000, 0, "/lib/libjemalloc.so.2"},
                                    {0x5000, 0x6000, 0, "/lib/libc.so.6"},
                                    {0x7000, 0x8000, 0, "/lib/ld-linux-x86-64.so.2"},
                                    {0x9000, 0xa000, 0, ""}};

Binding to(const char *target, const char *function = "malloc") { return {"/usr/bin/tool", function, target}; }

std::string doubt(const std::vector<Binding> &bindings, const std::vector<Mapping> &present = mappings) {
    return reason_to_doubt("/lib/libjemalloc.so.2", "/usr/bin/tool", present, bindings);
}

void expect_in(const std::string &part, const std::string &text) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
}

} // namespace

TEST(bindings, leave_no_doubt_where_every_call_goes_to_the_library) {
    EXPECT_EQ(doubt({to("/lib/libjemalloc.so.2"), to("/lib/libjemalloc.so.2", "free")}), "");
}

TEST(bindings, show_a_call_that_goes_elsewhere) {
    expect_in(
        "the wrong library served the calls: those of realloc in /usr/bin/tool go to /lib/libc.so.6 instead of",
        doubt({to("/lib/libjemalloc.so.2"), to("/lib/libjemalloc.so.2", "free"), to("/lib/libc.so.6", "realloc")}));
}

TEST(bindings, show_a_program_with_an_allocator_of_its_own) {
    expect_in("linked with its own allocator", doubt({{"/lib/libc.so.6", "malloc", "/usr/bin/tool"}}));
}

TEST(bindings, show_a_library_that_is_not_there) {
    std::vector<Mapping> without = mappings;
    without.erase(without.begin() + 1);
    expect_in("the preload did not work: /lib/libjemalloc.so.2 is not in the memory", doubt({}, without));
}

TEST(bindings, show_a_program_without_a_loader) {
    expect_in("linked statically", doubt({}, {mappings[0], mappings[4]}));
}

TEST(bindings, are_doubted_where_none_is_known) {
    expect_in("does not show which library", doubt({}));
    expect_in("does not show which library", doubt({to("/lib/libjemalloc.so.2")}));
}
