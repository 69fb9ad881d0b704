// src/report/page.cpp: what fill_page writes, and what it refuses.
//
//   the_token_becomes_the_data          fill_page: everything around the token stays
//   white_space_goes_strings_stay       fill_page: compact outside strings, untouched inside
//   no_text_can_end_the_script          fill_page: every '<' escaped, in names and values
//   cells_become_tables                 fill_page: one table for each run of equal names; order kept
//   a_template_without_token_is_refused fill_page: none, or two
//   broken_data_is_refused              fill_page: every prefix of good data, and trailing text
//   a_missing_template_is_named         find_template: the path is in the message
#include "page.hpp"

#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace {

using flat::report::fill_page;
using flat::report::find_template;

int failures = 0;

void expect_equal(std::string_view what, std::string_view actual, std::string_view expected) {
    if (actual == expected)
        return;
    ++failures;
    std::cerr << what << "\n  is       " << actual << "\n  expected " << expected << '\n';
}

/// The message with which `action` fails; reports a failure of the test iff it does not fail.
template <typename Action> std::string message_of(std::string_view what, Action action) {
    try {
        action();
    } catch (const std::runtime_error &error) {
        return error.what();
    }
    ++failures;
    std::cerr << what << ": was accepted\n";
    return {};
}

std::string filled(std::string_view json) { return fill_page("__FLATLINE_DATA__", json); }

void the_token_becomes_the_data() {
    expect_equal("around the token", fill_page("<a>__FLATLINE_DATA__</a>", "{\"x\":1}"), "<a>{\"x\":1}</a>");
    expect_equal("empty object", filled(" { } "), "{}");
}

void white_space_goes_strings_stay() {
    expect_equal("compact", filled("{ \"a b\" : [ 1 ,\n\t-2.5e3 , null, true ] , \"c\" : {} }"),
                 "{\"a b\":[1,-2.5e3,null,true],\"c\":{}}");
    expect_equal("strings", filled(R"({"s": "a \" b \\", "t": "{ [ , : ] }"})"),
                 R"({"s":"a \" b \\","t":"{ [ , : ] }"})");
}

void no_text_can_end_the_script() {
    expect_equal("less-than", filled(R"({"<a": "</script><!--", "cells": [{"<": "<"}]})"),
                 R"({"\u003ca":"\u003c/script>\u003c!--","cells":{"tables":[{"columns":["\u003c"],"rows":[["\u003c"]]}]}})");
}

void cells_become_tables() {
    expect_equal("no cells", filled(R"({"cells": []})"), R"({"cells":{"tables":[]}})");
    expect_equal("runs", filled(R"({"cells": [{"a": 1, "b": [[0, 1]]}, {"a": 2, "b": []}, {"a": 3}, {"a": 4, "b": 5}]})"),
                 R"({"cells":{"tables":[{"columns":["a","b"],"rows":[[1,[[0,1]]],[2,[]]]},)"
                 R"({"columns":["a"],"rows":[[3]]},{"columns":["a","b"],"rows":[[4,5]]}]}})");
    expect_equal("names of equal number", filled(R"({"cells": [{"a": 1}, {"b": 2}]})"),
                 R"({"cells":{"tables":[{"columns":["a"],"rows":[[1]]},{"columns":["b"],"rows":[[2]]}]}})");
    expect_equal("a cell without members", filled(R"({"cells": [{}]})"),
                 R"({"cells":{"tables":[{"columns":[],"rows":[[]]}]}})");
}

void a_template_without_token_is_refused() {
    const auto none = message_of("no token", [] { fill_page("<html></html>", "{}"); });
    if (none.find("__FLATLINE_DATA__") == std::string::npos)
        expect_equal("the message names the token", none, "...__FLATLINE_DATA__...");
    message_of("two tokens", [] { fill_page("__FLATLINE_DATA__ __FLATLINE_DATA__", "{}"); });
}

void broken_data_is_refused() {
    const std::string good = R"({"a": "x\"y", "cells": [{"p": [1, 2]}, {"p": [3]}]})";
    for (std::size_t length = 0; length < good.size(); ++length)
        message_of("the first " + std::to_string(length) + " bytes", [&] { filled(good.substr(0, length)); });
    for (const char *bad : {"[]", "{} {}", "{\"a\":}", "{\"a\" 1}", "{1:2}", "{\"a\":1,}", R"({"cells":[1]})"})
        message_of(bad, [&] { filled(bad); });
}

void a_missing_template_is_named() {
    const std::string message = message_of("no template beside this test", [] { find_template(); });
    if (message.find("share/flatline/report.html") == std::string::npos)
        expect_equal("the message names the path", message, ".../share/flatline/report.html...");
}

} // namespace

int main() {
    the_token_becomes_the_data();
    white_space_goes_strings_stay();
    no_text_can_end_the_script();
    cells_become_tables();
    a_template_without_token_is_refused();
    broken_data_is_refused();
    a_missing_template_is_named();
    std::cout << (failures == 0 ? "every promise of page.hpp holds\n" : "promises of page.hpp are broken\n");
    return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
