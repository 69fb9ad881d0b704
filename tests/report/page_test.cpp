// Tests src/report/page.cpp: the output of fill_page, its refusals, and the search path of find_template.
#include "page.hpp"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>
#include <string_view>

namespace {

using flat::report::fill_page;
using flat::report::find_template;

std::string filled(std::string_view json) { return fill_page("__FLATLINE_DATA__", json); }

/// Returns the message of the refusal, or an empty string if there was none.
template <typename Action> std::string refusal(Action action) {
    try {
        action();
    } catch (const std::runtime_error &error) {
        return error.what();
    }
    return {};
}

TEST(FillPage, ReplacesTheTokenAndNothingElse) {
    EXPECT_EQ(fill_page("<a>__FLATLINE_DATA__</a>", "{\"x\":1}"), "<a>{\"x\":1}</a>");
    EXPECT_EQ(filled(" { } "), "{}");
}

TEST(FillPage, DropsWhiteSpaceOutsideStringsOnly) {
    EXPECT_EQ(filled("{ \"a b\" : [ 1 ,\n\t-2.5 , null, true ] , \"c\" : {} }"),
              "{\"a b\":[1,-2.5,null,true],\"c\":{}}");
    EXPECT_EQ(filled(R"({"s": "a \" b \\", "t": "{ [ , : ] }"})"), R"({"s":"a \" b \\","t":"{ [ , : ] }"})");
}

TEST(FillPage, LetsNoTextEndTheScript) {
    EXPECT_EQ(filled(R"({"<a": "</script><!--", "cells": [{"<": "<"}]})"),
              R"({"\u003ca":"\u003c/script>\u003c!--","cells":[{"\u003c":"\u003c"}]})");
}

TEST(FillPage, KeepsTheOrderOfNames) {
    EXPECT_EQ(filled(R"({"b": 1, "a": [{"z": 2, "y": 3}]})"), R"({"b":1,"a":[{"z":2,"y":3}]})");
}

TEST(FillPage, KeepsEveryNumber) {
    EXPECT_EQ(filled(R"({"n":[18446744073709551615,-9223372036854775808,0.1,1.7976931348623157e+308,5e-324]})"),
              R"({"n":[18446744073709551615,-9223372036854775808,0.1,1.7976931348623157e+308,5e-324]})");
}

TEST(FillPage, RefusesATemplateWithoutExactlyOneToken) {
    EXPECT_NE(refusal([] { fill_page("<html></html>", "{}"); }).find("__FLATLINE_DATA__"), std::string::npos);
    EXPECT_THROW(fill_page("__FLATLINE_DATA__ __FLATLINE_DATA__", "{}"), std::runtime_error);
}

TEST(FillPage, RefusesEveryPrefixOfGoodData) {
    const std::string good = R"({"a": "x\"y", "cells": [{"p": [1, 2]}, {"p": [3]}]})";
    ASSERT_NO_THROW(filled(good));
    for (std::size_t length = 0; length < good.size(); ++length)
        EXPECT_THROW(filled(std::string_view(good).substr(0, length)), std::runtime_error) << length << " bytes";
}

TEST(FillPage, RefusesDataThatIsNotOneObject) {
    for (const char *bad : {"{\"a\":\"x\xff\"}", "[]", "{} {}", "{\"a\":}", "{\"a\" 1}", "{1:2}", "{\"a\":1,}"})
        EXPECT_THROW(filled(bad), std::runtime_error) << bad;
}

// The test runs from its own folder (tree/bin), so that it can make and remove share/ beside it.
TEST(FindTemplate, LooksInShareBesideTheRunningProgram) {
    const std::filesystem::path tree =
        std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / "share";
    std::filesystem::remove_all(tree);
    EXPECT_NE(refusal([] { static_cast<void>(find_template()); }).find("share/flatline/report.html is missing"),
              std::string::npos);
    std::filesystem::create_directories(tree / "flatline");
    std::ofstream(tree / "flatline" / "report.html") << "x";
    EXPECT_EQ(find_template(), tree / "flatline" / "report.html");
    std::filesystem::remove_all(tree);
}

} // namespace
