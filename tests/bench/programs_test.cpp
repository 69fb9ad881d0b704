#include "bench/programs.hpp"

#include "scratch_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

using namespace flat::bench;

namespace {

std::vector<const Program *> all() {
    std::vector<const Program *> each;
    for (const Program &program : programs()) each.push_back(&program);
    return each;
}

} // namespace

TEST(programs, are_eight_with_a_package_each) {
    std::set<std::string_view> names;
    for (const Program &program : programs()) {
        EXPECT_TRUE(names.insert(program.name).second) << program.name;
        EXPECT_FALSE(program.package.empty()) << program.name;
        EXPECT_FALSE(program.work.empty()) << program.name;
        EXPECT_EQ(find_program(program.name), &program);
    }
    EXPECT_EQ(names.size(), 8U);
    EXPECT_EQ(find_program("emacs"), nullptr);
}

TEST(programs, are_given_the_same_work_each_time_and_less_at_a_smaller_scale) {
    for (const Program &program : programs()) {
        SCOPED_TRACE(program.name);
        const Work one = program.generate(0.2), other = program.generate(0.2), larger = program.generate(1);
        EXPECT_EQ(one.files, other.files);
        EXPECT_EQ(one.arguments, other.arguments);
        EXPECT_TRUE(one.files != larger.files || one.arguments != larger.arguments || one.client != larger.client);
        EXPECT_EQ(one.client.empty(), program.client.empty());
    }
}

TEST(programs, that_serve_have_a_port_and_those_that_do_not_have_none) {
    for (const Program &program : programs()) {
        const Work work = program.generate(0.1);
        EXPECT_EQ(std::ranges::count(work.arguments, "{port}"), program.client.empty() ? 0 : 1) << program.name;
        EXPECT_EQ(std::ranges::count(work.client, "{port}"), program.client.empty() ? 0 : 1) << program.name;
    }
}

TEST(programs, that_are_missing_are_named_with_their_package) {
    const test::scratch_folder folder;
    for (const char *file : {"second/lua5.4", "first/perl", "second/perl", "first/redis-server"}) folder.put(file, "x");
    const FoundPrograms located = locate_programs(all(), {folder / "first", folder / "second"});
    ASSERT_EQ(located.found.size(), 2U);
    EXPECT_EQ(located.found[0].executable, folder / "second/lua5.4");
    EXPECT_EQ(located.found[1].executable, folder / "first/perl");
    ASSERT_EQ(located.missing.size(), 6U);
    EXPECT_EQ(located.missing[0].program->name, "redis"); // it needs its client
    EXPECT_EQ(located.missing[0].how, "apt-get install redis-server");
    EXPECT_EQ(located.missing[2].how, "apt-get install z3");
    folder.put("second/redis-benchmark", "x");
    EXPECT_EQ(locate_programs(all(), {folder / "first", folder / "second"}).missing.size(), 5U);
}

TEST(programs, are_the_systems_own_wherever_path_leads) {
    for (const std::filesystem::path &directory : program_directories())
        EXPECT_TRUE(directory == "/bin" || directory.string().starts_with("/usr/")) << directory;
    EXPECT_EQ(program_directories().front(), "/usr/bin");
}
