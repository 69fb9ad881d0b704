#include "symbols/demangle.hpp"

#include <gtest/gtest.h>

namespace flat::symbols {
namespace {

TEST(demangle, gives_names_of_cpp_and_of_both_manglings_of_rust) {
    EXPECT_EQ(demangled("_ZN6shapes6SquareIiE4growIcEEiT_"), "int shapes::Square<int>::grow<char>(char)");
    EXPECT_EQ(demangled("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE"), "core::fmt::Write::write_fmt");
    EXPECT_EQ(demangled("_RNvCs15kBYyAo9fc_7mycrate7example"), "mycrate::example");
}

TEST(demangle, leaves_other_names_as_they_are) {
    for (const char *name : {"", "main", "_Z", "_ZN", "malloc", "_R", "library_entry"})
        EXPECT_EQ(demangled(name), name);
    EXPECT_EQ(demangled_parts("main", NameParts::with_parameters), "");
}

TEST(demangle, says_as_much_of_a_name_as_is_asked_for) {
    const std::string name = "_ZN6shapes6SquareIiE4growIcEEiT_";
    EXPECT_EQ(demangled_parts(name, NameParts::name_alone), "shapes::Square<int>::grow<char>");
    EXPECT_EQ(demangled_parts(name, NameParts::with_parameters_alone), "shapes::Square<int>::grow<char>(char)");
}

} // namespace
} // namespace flat::symbols
