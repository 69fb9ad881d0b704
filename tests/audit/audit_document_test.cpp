#include "cli/audit_document.hpp"

#include "made_findings.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include <nlohmann/json.hpp>

using namespace flat;
using nlohmann::json;

namespace {

json document_of(const audit::Findings &findings) { return json::parse(cli::audit_document(findings)); }

} // namespace

TEST(audit_document, has_the_members_that_the_contract_names) {
    const json document = document_of(test::made_findings());
    EXPECT_EQ(document.at("schema"), "flatline.audit/1");
    EXPECT_EQ(document.at("calls"), 1'234'567);
    EXPECT_EQ(document.at("dropped"), 0);
    EXPECT_EQ(document.at("causes_available"),
              json({"page fault", "system call", "lock", "own work or the machine", "first touch"}));
    const json &stall = document.at("stalls").at(0);
    EXPECT_EQ(stall.at("operation"), "operator new");
    EXPECT_EQ(stall.at("count"), 17);
    EXPECT_EQ(stall.at("p50_ns"), 120'000);
    EXPECT_EQ(stall.at("p999_ns"), 1'900'000);
    EXPECT_EQ(stall.at("max_ns"), 2'000'000);
    EXPECT_EQ(stall.at("total_ns"), 3'000'000);
    EXPECT_EQ(stall.at("cause"), "page fault");
    EXPECT_EQ(stall.at("thread"), "render (101)");
    EXPECT_EQ(stall.at("site"), json({{"function", "mix"}, {"file", "/home/a/mix.cpp"}, {"line", 31}}));
    ASSERT_EQ(stall.at("stack").size(), 5u);
    EXPECT_EQ(stall.at("stack").at(2).at("function"), "render(Frame&)");
    EXPECT_EQ(stall.at("stack").at(2).at("file"), "/home/a/render.cpp");
    EXPECT_EQ(stall.at("stack").at(2).at("line"), 123);
    EXPECT_EQ(document.at("stalls").at(1).at("cause"), "system call read");
    EXPECT_EQ(document.at("stalls").at(1).at("cause_kind"), "system call");
}

TEST(audit_document, keeps_the_stalls_in_their_order) {
    audit::Findings findings = test::made_findings();
    std::swap(findings.stalls[0], findings.stalls[2]);
    EXPECT_EQ(document_of(findings).at("stalls").at(0).at("operation"), "malloc");
}

TEST(audit_document, has_no_site_without_a_stack) {
    EXPECT_EQ(document_of(test::made_findings()).at("stalls").at(2).at("site"), nullptr);
    EXPECT_EQ(document_of(test::made_findings()).at("stalls").at(2).at("stack"), json::array());
}

TEST(audit_document, says_why_a_cause_could_not_be_told) {
    const json missing = document_of(test::made_findings()).at("causes_missing");
    ASSERT_EQ(missing.size(), 2u);
    EXPECT_EQ(missing.at(0).at("cause"), "preempted");
    EXPECT_EQ(missing.at(0).at("why"), "perf_event_open is refused (perf_event_paranoid is 3)");
}

TEST(audit_document, has_what_the_page_shows) {
    const json document = document_of(test::made_findings());
    for (const auto &curve :
         {document.at("floor"), document.at("allocating").at("all"), document.at("allocating").at("undisturbed"),
          document.at("freeing").at("all"), document.at("freeing").at("undisturbed")}) {
        EXPECT_EQ(curve.at("points").size(), 3u);
        EXPECT_EQ(curve.at("points").at(2).at(1), curve.at("max_ns"));
        for (const char *name : {"count", "p50_ns", "p90_ns", "p99_ns", "p999_ns", "p9999_ns", "mean_ns", "total_ns"})
            EXPECT_TRUE(curve.at(name).is_number()) << name;
    }
    EXPECT_EQ(document.at("slow_calls").at(0), json({1'500'000'000, 2'000'000, 0, 0}));
    EXPECT_EQ(document.at("slow_calls").size(), 3u);
    EXPECT_EQ(document.at("threads").at(1).at("name"), "worker");
    EXPECT_EQ(document.at("flame").at("value"), 61'000'000);
    EXPECT_EQ(document.at("flame").at("worst"), 2'000'000);
    EXPECT_EQ(document.at("flame").at("children").at(0).at("name"), "libc.so.6+0x27249");
    EXPECT_EQ(document.at("over_ns"), 10'000);
    EXPECT_EQ(document.at("whole"), true);
    EXPECT_EQ(document.at("notes"), json({"Times of one thread are not known."}));
}

TEST(audit_document, is_json_whatever_the_names_are) {
    for (const std::string &name : test::hostile_names()) {
        const json document = document_of(test::findings_named(name));
        const std::string function = document.at("stalls").at(0).at("site").at("function");
        EXPECT_FALSE(function.empty());
        const bool is_text = name != "not UTF-8: \xff\xfe\xc3(" && name != "half a letter: \xe2\x82";
        if (!name.empty()) {
            EXPECT_EQ(function == name, is_text);
        }
        EXPECT_EQ(function.find("\uFFFD") == std::string::npos, is_text);
    }
}

TEST(audit_document, holds_the_largest_figures) {
    const json document = document_of(test::huge_findings());
    EXPECT_EQ(document.at("calls"), UINT64_MAX);
    EXPECT_EQ(document.at("stalls").at(0).at("count"), UINT64_MAX);
    EXPECT_TRUE(document.at("flame").at("value").is_number_integer());
}

TEST(audit_document, of_an_empty_audit_has_the_same_members) {
    const json empty = document_of({}), made = document_of(test::made_findings());
    std::set<std::string> names, made_names;
    for (const auto &[name, value] : empty.items()) names.insert(name);
    for (const auto &[name, value] : made.items()) made_names.insert(name);
    EXPECT_EQ(names, made_names);
    EXPECT_EQ(empty.at("stalls"), json::array());
    EXPECT_EQ(empty.at("flame").at("children"), json::array());
}
