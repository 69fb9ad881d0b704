// Asks for the source of addresses whose source is known: those that the fixture's program prints.
#include "symbols/source_frames.hpp"

#include "fixture_stacks.hpp"
#include "scratch_folder.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

namespace flat::symbols {
namespace {

/// Demands that `frame` is of the line that the fixture marks by `mark`.
void expect_place(const SourceFrame &frame, const std::string &file, const std::string &mark) {
    EXPECT_EQ(frame.file, test::source_path(file));
    EXPECT_EQ(frame.line, test::line_of(file, mark));
}

/// The innermost address of the stack of this name, which the independent program prints.
test::return_address innermost(const std::string &name) { return test::stacks_of("independent").at(name).at(0); }

TEST(source_frames, say_the_whole_chain_of_inlined_calls_innermost_first_however_it_was_compiled) {
    for (const std::string &program : test::programs()) {
        SCOPED_TRACE(program);
        SourceFrames frames;
        const test::return_address address = test::stacks_of(program).at("inlined").at(0);
        const std::vector<SourceFrame> &found = frames.at(address.module, address.offset, true);
        ASSERT_EQ(found.size(), 3U);
        EXPECT_EQ(found[0].function, "shapes::innermost(int)");
        EXPECT_EQ(found[1].function, "shapes::middle(int)");
        EXPECT_EQ(found[2].function, "shapes::outer(int)");
        expect_place(found[0], "program.cpp", "innermost");
        expect_place(found[1], "program.cpp", "middle");
        expect_place(found[2], "program.cpp", "outer");
        EXPECT_TRUE(found[0].inlined && found[1].inlined);
        EXPECT_FALSE(found[2].inlined);
        for (const SourceFrame &frame : found) EXPECT_EQ(frame.module, test::made(program));
    }
}

TEST(source_frames, name_templates_hidden_functions_and_lambdas_as_the_source_does) {
    for (const std::string &program : test::programs()) {
        SCOPED_TRACE(program);
        SourceFrames frames;
        const std::map<std::string, test::stack> stacks = test::stacks_of(program);
        const auto first = [&](const char *name) { return test::frames_of(frames, stacks.at(name)).at(0); };
        EXPECT_EQ(first("template").function, "int shapes::Square<int>::grow<char>(char)");
        expect_place(first("template"), "program.cpp", "grow");
        EXPECT_EQ(first("hidden").function, "(anonymous namespace)::hidden(int)");
        expect_place(first("hidden"), "program.cpp", "hidden");
        EXPECT_TRUE(first("within").function.starts_with("(anonymous namespace)::within")) << first("within").function;
        expect_place(first("within"), "program.cpp", "within");
        EXPECT_TRUE(first("lambda").function.starts_with("(anonymous namespace)::by_lambda"))
            << first("lambda").function;
        expect_place(first("lambda"), "program.cpp", "lambda");
    }
}

TEST(source_frames, look_up_the_call_and_not_what_it_returns_to) {
    SourceFrames frames;
    const test::return_address address = test::stacks_of("independent").at("last").at(1);
    EXPECT_EQ(frames.at(address.module, address.offset, true).at(0).function, "ends_by_a_call");
    expect_place(frames.at(address.module, address.offset, true).at(0), "program.cpp", "ends_by_a_call");
    EXPECT_NE(frames.at(address.module, address.offset, false).at(0).function, "ends_by_a_call");
}

TEST(source_frames, find_the_source_of_a_shared_library_that_was_compiled_by_a_relative_path) {
    SourceFrames frames;
    const test::stack stack = test::stacks_of("fixed").at("library");
    EXPECT_EQ(stack.at(0).module, test::made("libfixture.so"));
    const std::vector<SourceFrame> found = test::frames_of(frames, stack);
    ASSERT_GE(found.size(), 3U);
    EXPECT_EQ(found[0].function, "(anonymous namespace)::inside(int)");
    expect_place(found[0], "library.cpp", "inside");
    EXPECT_EQ(found[1].function, "library_entry");
    expect_place(found[1], "library.cpp", "library_entry");
    EXPECT_EQ(found[2].function, "main");
}

TEST(source_frames, know_exported_names_of_a_stripped_library_and_number_the_others) {
    SourceFrames frames;
    const std::string bare = test::made("bare/libfixture.so");
    const std::map<std::string, test::stack> stacks = test::stacks_of("independent");
    const std::vector<SourceFrame> exported = frames.at(bare, stacks.at("exported").at(0).offset, true);
    ASSERT_EQ(exported.size(), 1U);
    EXPECT_EQ(exported[0].function, "shapes::area(double, double)");
    EXPECT_EQ(exported[0].file, "");
    EXPECT_EQ(exported[0].line, 0);
    EXPECT_FALSE(exported[0].inlined);
    EXPECT_EQ(frames.at(bare, stacks.at("library").at(1).offset, true).at(0).function, "library_entry");
    const std::uint64_t hidden = stacks.at("library").at(0).offset;
    std::ostringstream number;
    number << "libfixture.so+0x" << std::hex << hidden;
    EXPECT_EQ(frames.at(bare, hidden, true).at(0).function, number.str());
}

TEST(source_frames, find_a_debug_file_by_the_link_beside_the_program) {
    const test::return_address address = innermost("inlined");
    SourceFrames frames;
    EXPECT_EQ(frames.at(test::made("linked/program"), address.offset, true).size(), 3U);
    EXPECT_EQ(frames.at(test::made("bare/program"), address.offset, true).size(), 1U);
    EXPECT_EQ(frames.at(test::made("alone/program"), address.offset, true).size(), 1U);
}

TEST(source_frames, refuse_a_debug_file_of_another_build) {
    const test::scratch_folder folder;
    std::filesystem::copy_file(test::made("linked/program"), folder / "program");
    std::filesystem::copy_file(test::made("linked/program.debug"), folder / "program.debug");
    std::ofstream(folder / "program.debug", std::ios::app) << "another checksum";
    SourceFrames frames;
    EXPECT_EQ(frames.at((folder / "program").string(), innermost("inlined").offset, true).size(), 1U);
}

TEST(source_frames, find_a_debug_file_by_build_id) {
    const test::return_address address = innermost("inlined");
    SourceFrames frames(test::made("debug"));
    const std::vector<SourceFrame> &found = frames.at(test::made("bare/program"), address.offset, true);
    ASSERT_EQ(found.size(), 3U);
    EXPECT_EQ(found[0].function, "shapes::innermost(int)");
}

/// In a process of its own, whose libdw finds a libdebuginfod that ends the process when it is asked.
TEST(source_framesDeathTest, never_ask_a_server_for_a_debug_file) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const test::return_address address = innermost("inlined");
    const std::string library_path = test::made("asked");
    ASSERT_EQ(setenv("DEBUGINFOD_URLS", "http://127.0.0.1:1/", 1), 0);
    ASSERT_EQ(setenv("LD_LIBRARY_PATH", library_path.c_str(), 1), 0);
    const auto look = [&address] {
        SourceFrames frames;
        for (const char *name : {"alone/program", "bare/program", "bare/libfixture.so"})
            frames.at(test::made(name), address.offset, true);
        std::exit(0);
    };
    EXPECT_EXIT(look(), ::testing::ExitedWithCode(0), "");
    unsetenv("DEBUGINFOD_URLS");
    unsetenv("LD_LIBRARY_PATH");
}

TEST(source_frames, keep_what_they_found_and_open_a_file_once) {
    const test::scratch_folder folder;
    const std::string copy = (folder / "program").string();
    std::filesystem::copy_file(test::made("independent"), copy);
    const std::map<std::string, test::stack> stacks = test::stacks_of("independent");
    SourceFrames frames;
    const std::vector<SourceFrame> &first = frames.at(copy, stacks.at("inlined").at(0).offset, true);
    std::filesystem::remove(copy);
    EXPECT_EQ(&frames.at(copy, stacks.at("inlined").at(0).offset, true), &first);
    EXPECT_EQ(frames.at(copy, stacks.at("hidden").at(0).offset, true).at(0).function,
              "(anonymous namespace)::hidden(int)");
    EXPECT_EQ(first.size(), 3U);
}

TEST(source_frames, number_addresses_outside_of_all_code) {
    SourceFrames frames;
    for (const std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
        const std::vector<SourceFrame> &found = frames.at(test::made("independent"), offset, true);
        ASSERT_EQ(found.size(), 1U);
        EXPECT_TRUE(found[0].function.starts_with("independent+0x")) << found[0].function;
    }
}

} // namespace
} // namespace flat::symbols
