// Which frame is the program's own: of stacks written here, and of those that the fixture's program prints.
#include "symbols/site.hpp"

#include "fixture_stacks.hpp"

#include <gtest/gtest.h>

namespace flat::symbols {
namespace {

SourceFrame frame(const std::string &module, const std::string &function, const std::string &file, int line = 10) {
    return {.function = function, .file = file, .line = file.empty() ? 0 : line, .inlined = false, .module = module};
}

const std::string program = "/home/me/synth/build/synth";
const std::string in_vector = "/usr/include/c++/12/bits/stl_vector.h";

TEST(site, is_the_line_that_calls_an_inlined_function_of_the_standard_library) {
    for (const std::string &name : test::programs()) {
        SCOPED_TRACE(name);
        SourceFrames frames;
        const std::map<std::string, test::stack> stacks = test::stacks_of(name);
        for (const auto &[noted, mark] : {std::pair("reserve", "reserves"), std::pair("push_back", "pushes")}) {
            const std::vector<SourceFrame> stack = test::frames_of(frames, stacks.at(noted));
            const SourceFrame &site = stack.at(site_of(stack));
            EXPECT_TRUE(site.function.starts_with(mark)) << site.function;
            EXPECT_EQ(site.file, test::source_path("program.cpp"));
            EXPECT_EQ(site.line, test::line_of("program.cpp", mark));
        }
    }
}

TEST(site, skips_the_run_time_and_the_preload) {
    EXPECT_EQ(site_of({frame("/opt/flatline/lib/libflatline-audit.so", "malloc", "/src/audit/calls.c"),
                       frame("/lib/x86_64-linux-gnu/libc.so.6", "getdelim", ""),
                       frame("/usr/lib/x86_64-linux-gnu/libstdc++.so.6", "operator new(unsigned long)", ""),
                       frame(program, "render(Block&)", "/home/me/synth/render.cpp"),
                       frame(program, "main", "/home/me/synth/main.cpp")}),
              3U);
}

TEST(site, skips_headers_of_every_standard_library) {
    for (const std::string header :
         {"/usr/include/c++/12/bits/stl_vector.h", "/usr/include/x86_64-linux-gnu/c++/12/bits/c++allocator.h",
          "/usr/lib/llvm-19/bin/../include/c++/v1/__vector/vector.h", "/usr/include/x86_64-linux-gnu/bits/stdio2.h",
          "/usr/lib/gcc/x86_64-linux-gnu/12/include/xmmintrin.h", "/usr/aarch64-linux-gnu/include/c++/12/memory",
          "/usr/lib/llvm-19/lib/clang/19/include/immintrin.h"})
        EXPECT_EQ(site_of({frame(program, "f", header), frame(program, "render", "render.cpp")}), 1U) << header;
    for (const std::string own :
         {"/home/me/include/bits/parts.hpp", "/home/me/c++/main.cpp", "/usr/include/boost/pool.hpp"})
        EXPECT_EQ(site_of({frame(program, "f", own), frame(program, "render", "render.cpp")}), 0U) << own;
}

TEST(site, skips_functions_of_namespace_std_of_which_no_line_is_known) {
    for (const std::string function :
         {"std::vector<int, std::allocator<int> >::push_back(int&&)",
          "void std::vector<int, std::allocator<int> >::_M_realloc_insert<int>(int&&)",
          "std::ostream& std::operator<< <std::char_traits<char> >(std::ostream&, char const*)",
          "__gnu_cxx::new_allocator<char>::allocate(unsigned long, void const*)", "operator new[](unsigned long)",
          "operator new(unsigned long)", "_start"})
        EXPECT_EQ(site_of({frame(program, function, ""), frame(program, "render(Block&)", "")}), 1U) << function;
    for (const std::string function :
         {"std::vector<int> make(std::string const&)", "stdx::grow(int)", "Voice::operator new(unsigned long)",
          "operator newer(int)", "synth+0x1234", "void play<std::string>(std::string)"})
        EXPECT_EQ(site_of({frame(program, function, ""), frame(program, "render(Block&)", "")}), 0U) << function;
}

TEST(site, is_never_the_programs_own_operator_new) {
    EXPECT_EQ(site_of({frame(program, "operator new(unsigned long)", "/home/me/synth/count.cpp"),
                       frame(program, "render(Block&)", "/home/me/synth/render.cpp")}),
              1U);
}

TEST(site, is_the_innermost_frame_with_a_line_if_no_frame_is_the_programs_own) {
    const std::string libc = "/lib/x86_64-linux-gnu/libc.so.6";
    EXPECT_EQ(site_of({frame(libc, "malloc", ""), frame(libc, "getdelim", "./libio/iogetdelim.c"),
                       frame(program, "std::f()", in_vector)}),
              1U);
    EXPECT_EQ(site_of({frame(libc, "malloc", ""), frame(libc, "getdelim", "")}), 0U);
    EXPECT_EQ(site_of({}), 0U);
}

TEST(site, knows_the_run_time_libraries_by_their_names) {
    for (const char *path :
         {"/lib/x86_64-linux-gnu/libc.so.6", "/lib/libc-2.31.so", "libstdc++.so.6.0.30",
          "/usr/lib/llvm-19/lib/libc++.so.1", "/usr/lib/libc++abi.so.1.0", "/lib64/ld-linux-x86-64.so.2",
          "/lib/ld-linux-aarch64.so.1", "/lib/ld-2.31.so", "/lib/ld-musl-x86_64.so.1",
          "/lib/x86_64-linux-gnu/libpthread.so.0", "/lib/libpthread-2.31.so", "/opt/lib/libflatline-audit.so",
          "/opt/lib/libflatline-malloc.so.0.1.0", "/lib/libgcc_s.so.1", "[vdso]", "linux-vdso.so.1"})
        EXPECT_TRUE(is_run_time_library(path)) << path;
    for (const char *path :
         {"", "/usr/bin/ld", "/home/me/libc/synth", "libcurl.so.4", "/opt/libc++extra.so", "libmine.so",
          "/home/me/libsynth-1.2.so", "libflatline-fan", "/home/me/libstdc++.so.6/synth"})
        EXPECT_FALSE(is_run_time_library(path)) << path;
}

} // namespace
} // namespace flat::symbols
