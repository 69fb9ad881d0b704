#include "cli/plan_text.hpp"

#include "core/environment.hpp"
#include "core/random_source.hpp"
#include "plan/engine_declarations.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

using namespace flat;
using cli::Look;
using cli::map_text;
using cli::plan_text;

namespace {

Look look_of(std::size_t width) {
    Look look;
    look.width = width;
    return look;
}

std::vector<std::string> lines_of(const std::string &text) {
    std::istringstream in(text);
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

/// The number of columns. A UTF-8 character has one column.
std::size_t columns_of(const std::string &line) {
    return static_cast<std::size_t>(
        std::ranges::count_if(line, [](char each) { return (static_cast<unsigned char>(each) & 0xc0) != 0x80; }));
}

std::size_t widest_of(const std::string &text) {
    std::size_t widest = 0;
    for (const std::string &line : lines_of(text)) widest = std::max(widest, columns_of(line));
    return widest;
}

/// The column of the first such character, or npos.
std::size_t column_of(const std::string &line, std::string_view what) {
    const std::size_t at = line.find(what);
    return at == std::string::npos ? at : columns_of(line.substr(0, at));
}

plan::Declaration random_declaration(test::random_source &random) {
    plan::Declaration declaration;
    if (random.one_in(2)) {
        for (std::size_t size = 1 + random.below(100); declaration.classes.size() < 1 + random.below(64);
             size += 16 + random.magnitude(1 << 20))
            declaration.classes.push_back({size, random.magnitude(1 << 12)});
    }
    for (std::size_t left = random.below(12); left > 0 || declaration.classes.size() + declaration.demand.size() == 0;
         left -= left > 0)
        declaration.demand.push_back(
            {random.magnitude(1 << 20), random.magnitude(1 << 16), std::uint64_t{1} << random.below(13)});
    if (random.one_in(2)) declaration.arena = plan::Arena{random.magnitude(std::uint64_t{1} << 38)};
    if (random.one_in(3)) {
        const std::size_t largest = random.magnitude(1 << 16);
        declaration.heap = flat_heap_demand{largest + random.below(1 << 22), largest, largest, 0, random.one_in(2)};
    }
    return declaration;
}

/// One that the engine accepts.
plan::EngineDeclaration possible_engine(test::random_source &random) {
    for (;;) {
        const plan::EngineDeclaration engine = test::random_engine(random);
        const plan::EngineOptions options(engine);
        flat_footprint need;
        if (flat_engine_footprint(&options.get(), &need) == FLAT_OK) return engine;
    }
}

} // namespace

TEST(plan_text, fits_the_terminal) {
    const std::uint64_t seed = test::seed();
    SCOPED_TRACE("FLATLINE_TEST_SEED=" + std::to_string(seed));
    test::random_source random(seed);
    for (std::size_t left = test::scaled(300); left > 0; --left) {
        plan::Declaration declaration = random_declaration(random);
        if (random.one_in(3)) declaration.engine = possible_engine(random);
        const plan::Plan plan = plan::make_plan(declaration, {});
        const std::optional<plan::Tracking> none;
        ASSERT_LE(widest_of(plan_text(plan, none, look_of(100))), 100U) << plan_text(plan, none, look_of(100));
        ASSERT_LE(widest_of(plan_text(plan, none, look_of(300))), 100U);
        ASSERT_LE(widest_of(plan_text(plan, none, look_of(80))), 80U) << plan_text(plan, none, look_of(80));
    }
}

TEST(plan_text, the_map_has_every_memory_between_two_guards_and_every_class_in_its_place) {
    const plan::Plan plan =
        plan::make_plan({.classes = {{64, 1000}, {256, 200}, {4096, 16}}, .arena = plan::Arena{65536}}, {});
    const std::vector<std::string> lines = lines_of(map_text(plan, true, look_of(100)));
    ASSERT_EQ(lines.size(), 9U); // head, three classes, metadata, arena, guards, two of the legend
    const std::string &guards = lines[6];
    std::vector<std::size_t> marks;
    for (std::size_t column = 0, at = 0; at < guards.size(); ++column) {
        const bool mark = guards.compare(at, 3, "▒") == 0;
        if (mark) marks.push_back(column);
        at += mark ? 3 : 1;
    }
    ASSERT_EQ(marks.size(), 6U);
    EXPECT_EQ(column_of(lines[1], "█"), marks[0] + 1);
    for (std::size_t i = 1; i <= 3; ++i) EXPECT_LE(columns_of(lines[i]), marks[1]) << lines[i];
    EXPECT_LT(column_of(lines[1], "█"), column_of(lines[2], "█"));
    EXPECT_LE(columns_of(lines[1]), column_of(lines[2], "█")); // neighbours: one ends where the next begins
    EXPECT_GE(columns_of(lines[1]) + 1, column_of(lines[2], "█"));
    EXPECT_EQ(column_of(lines[3], "░") + 1, column_of(lines[3], "█")); // 6,144 bytes of padding
    EXPECT_EQ(column_of(lines[4], "▓"), marks[2] + 1);
    EXPECT_EQ(column_of(lines[5], "█"), marks[4] + 1);
    EXPECT_EQ(columns_of(lines[3]), marks[1]); // the last part reaches the guard
    EXPECT_EQ(columns_of(lines[4]), marks[3]);
    EXPECT_EQ(columns_of(lines[5]), marks[5]);
    EXPECT_EQ(map_text(plan, false, look_of(100)).find("arena"), std::string::npos);
}

TEST(plan_text, a_margin_that_costs_less_than_nothing_is_told_as_it_is) {
    // With more blocks the map has more and smaller spans, and the classes need less padding.
    plan::Declaration declaration;
    plan::Plan plan;
    const auto cheaper = [&] {
        return std::ranges::any_of(plan.margins,
                                   [&](const plan::Margin &each) { return each.bytes < plan.margins.front().bytes; });
    };
    test::random_source random(1);
    for (int left = 100000; left > 0; --left) {
        declaration.demand.clear();
        for (std::uint64_t size = 16; declaration.demand.size() < 2 + random.below(3);
             size += 16 + 16 * random.below(300))
            declaration.demand.push_back({size, random.magnitude(1000), 1});
        plan = plan::make_plan(declaration, {10, 64});
        if (cheaper()) break;
    }
    ASSERT_TRUE(cheaper()) << "no such demand was found: look for another seed";
    const std::string text = plan_text(plan, {}, look_of(100));
    EXPECT_NE(text.find(" -"), std::string::npos) << text;
    EXPECT_EQ(text.find("18,446,"), std::string::npos) << text; // 2^64 and some
}

TEST(plan_text, numbers_of_times_are_rounded_down) {
    const plan::Plan plan = plan::make_plan({.classes = {{64, 1999}}, .demand = {{64, 1000, 1}}}, {});
    EXPECT_NE(plan_text(plan, {}, look_of(100)).find("1.99 times"), std::string::npos);
    const plan::Plan less = plan::make_plan({.classes = {{64, 999999}}, .demand = {{64, 1000000, 1}}}, {});
    EXPECT_NE(plan_text(less, {}, look_of(100)).find("at 0.99"), std::string::npos);
}

TEST(plan_text, bounds_are_rounded_up) {
    plan::EngineDeclaration engine;
    engine.lane_count = 1;
    engine.classes = {{{64, 1}}, {{FLAT_NO_GRANTS, FLAT_NO_GRANTS, 0}}, {1}};
    engine.inline_limits = {1, FLAT_NO_GRANTS, 5001};
    engine.inline_urgencies = 1;
    engine.overhead_ns = 0;
    const std::string text = plan_text(plan::make_plan({.engine = engine}, {}), {}, look_of(100));
    EXPECT_NE(text.find("     inline        0    5.01 µs           0            0            0    10.1 µs\n"),
              std::string::npos)
        << text; // 5,001 and 10,002 ns
}
