#include "plan/tracking.hpp"

#include "plan/texts.hpp"

#include <gtest/gtest.h>

#include <string>

using namespace flat::plan;

namespace {

const std::string head = R"({"schema":"flatline.tracking/1","requests":60,"live_bytes":100,"peak_bytes":5000,)"
                         R"("total_bytes":9000,"sizes":[)";
const std::string row48 = R"({"size":48,"alignment":8,"requests":50,"live":2,"peak_live":30})";
const std::string row512 = R"({"size":512,"alignment":64,"requests":10,"live":0,"peak_live":4})";

std::string with_rows(const std::string &rows) { return head + rows + "]}"; }

std::string with(const std::string &from, const std::string &to) {
    std::string text = with_rows(row48 + "," + row512);
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
}

void expect_refused(const std::string &text, const std::string &part) {
    const std::string message = test::refusal_of([&] { (void)tracking_from(text, "t.json"); });
    EXPECT_TRUE(message.starts_with("t.json:")) << message << "\nof " << text.substr(0, 300);
    EXPECT_NE(message.find(part), std::string::npos) << message << "\nof " << text.substr(0, 300);
    EXPECT_TRUE(message.ends_with("write it again with flat::tracking_resource::write")) << message;
}

} // namespace

TEST(tracking, is_read_as_it_was_written) {
    const Tracking tracking = tracking_from(with_rows(row512 + "," + row48), "t.json");
    EXPECT_EQ(tracking.requests, 60U);
    EXPECT_EQ(tracking.live_bytes, 100U);
    EXPECT_EQ(tracking.peak_bytes, 5000U);
    EXPECT_EQ(tracking.total_bytes, 9000U);
    ASSERT_EQ(tracking.peaks.size(), 2U);
    EXPECT_EQ(tracking.peaks[0], (DemandRow{48, 30, 8}));
    EXPECT_EQ(tracking.peaks[1], (DemandRow{512, 4, 64}));
}

TEST(tracking, becomes_a_pool_for_the_peaks_and_an_arena_for_everything) {
    const Tracking tracking = tracking_from(with_rows(row48 + "," + row512), "t.json");
    const Declaration declaration = declaration_of(tracking, 20);
    ASSERT_TRUE(declaration.arena.has_value());
    EXPECT_EQ(declaration.arena->bytes, 10800U);
    EXPECT_EQ(declaration.arena->alignment, 16U);
    EXPECT_EQ(declaration.demand, tracking.peaks);
    const Plan plan = make_plan(declaration, {});
    ASSERT_TRUE(plan.fit.has_value());
    EXPECT_GE(plan.fit->growth, 1.2);
    EXPECT_TRUE(plan.holds());
    EXPECT_EQ(declaration_of(tracking, 0).arena->bytes, 9008U); // a multiple of 16
}

TEST(tracking, rows_of_which_nothing_was_handed_out_do_not_count) {
    const std::string refused =
        R"({"size":18446744073709551615,"alignment":1048576,"requests":7,"live":0,"peak_live":0})";
    const Tracking tracking = tracking_from(with_rows(row48 + "," + refused), "t.json");
    ASSERT_EQ(tracking.peaks.size(), 1U);
}

TEST(tracking, what_is_no_json_is_refused_where_it_ends) {
    for (const auto &[text, place] : std::initializer_list<std::pair<std::string, std::string>>{
             {"", "t.json:1:1:"},
             {"{\n  \"schema\": \n}", "t.json:3:1:"},
             {"{\"a\":1,}", "t.json:1:8:"},
             {"nonsense", "t.json:1:2:"},
             {std::string("{\"a\"\0:1}", 8), "t.json:1:5:"},
             {"{\"a\":\"\xff\xfe\"}", "t.json:1:7:"},
             {"\xff\xfe{}", "t.json:1:1:"},
             {"{\"a\":-}", "t.json:1:7:"},
             {"{} {}", "t.json:1:4:"},
         }) {
        expect_refused(text, "not JSON from here on");
        const std::string message = test::refusal_of([&] { (void)tracking_from(text, "t.json"); });
        EXPECT_TRUE(message.starts_with(place)) << message;
    }
}

TEST(tracking, every_file_cut_short_is_refused) {
    const std::string whole = with_rows(row48 + "," + row512);
    EXPECT_NO_THROW((void)tracking_from(whole, "t.json"));
    for (std::size_t length = 0; length < whole.size(); ++length) expect_refused(whole.substr(0, length), "t.json");
}

TEST(tracking, what_is_nested_deep_is_refused_however_deep) {
    for (const std::size_t depth : {10U, 1000U, 1000000U}) {
        if (HasFailure()) return; // the deeper, the longer it takes to fail
        std::string lists(depth, '['), objects;
        for (std::size_t i = 0; i < depth; ++i) objects += "{\"a\":";
        expect_refused(lists, "nested too deep");
        expect_refused(objects, "nested too deep");
        expect_refused(with("\"live\":2", "\"live\":" + lists), "nested too deep");
    }
}

TEST(tracking, other_documents_are_refused) {
    for (const char *text : {"3", "null", "\"flatline.tracking/1\"", "[]", "{}", R"({"schema":"flatline.bench/1"})",
                             R"({"schema":1})", R"({"schema":["flatline.tracking/1"]})", R"(["flatline.tracking/1"])"})
        expect_refused(text, "not flatline.tracking/1");
}

TEST(tracking, members_that_stand_twice_are_refused) {
    expect_refused(with("\"requests\":60", "\"requests\":60,\"requests\":60"), "`requests` occurs twice");
    expect_refused(with("\"live\":2", "\"live\":2,\"live\":2"), "`live` occurs twice");
    expect_refused(with("\"live\":2", "\"a\\u001b\":2,\"a\\u001b\":2"), "`a?` occurs twice");
    expect_refused(with_rows(row48 + "," + row48), "sizes[1]: size 48 occurs twice");
}

TEST(tracking, missing_members_are_named) {
    for (const char *member :
         {"\"requests\":60", "\"live_bytes\":100", "\"peak_bytes\":5000", "\"total_bytes\":9000"}) {
        const std::string name = std::string(member).substr(1, std::string(member).find('"', 1) - 1);
        expect_refused(with(std::string(member) + ",", ""), "`" + name + "` is missing");
    }
    for (const char *member : {"size", "alignment", "requests", "live", "peak_live"})
        expect_refused(with("\"" + std::string(member) + "\":" + (std::string(member) == "requests" ? "50" : ""),
                            "\"other\":" + std::string(std::string(member) == "requests" ? "50" : "")),
                       std::string("sizes[0]: `") + member + "` is missing");
    expect_refused(R"({"schema":"flatline.tracking/1","requests":1,"live_bytes":1,"peak_bytes":1,"total_bytes":1})",
                   "`sizes` is missing");
    expect_refused(with("\"sizes\":[", "\"sizes\":{},\"rows\":["), "`sizes` is missing, or not a list");
    expect_refused(with_rows("3"), "sizes[0]: it is not an object");
    expect_refused(with_rows(row48 + ",[]"), "sizes[1]: it is not an object");
    expect_refused(with_rows(""), "no request");
}

TEST(tracking, numbers_must_be_whole_and_fit) {
    for (const char *number : {"-1", "1.5", "1e3", "\"48\"", "null", "true", "[]", "{}", "99999999999999999999999"})
        expect_refused(with("\"size\":48", std::string("\"size\":") + number), "sizes[0]: `size` is ");
    expect_refused(with("\"total_bytes\":9000", "\"total_bytes\":-9000"), "`total_bytes` is -9000");
    expect_refused(with("\"total_bytes\":9000", "\"total_bytes\":1e999"), "out of range");
    expect_refused(with("\"size\":48", "\"size\":\"" + std::string(1000, 'x') + "\\n\""), "sizes[0]: `size` is ");
}

TEST(tracking, what_cannot_be_is_refused) {
    expect_refused(with("\"size\":48", "\"size\":0"), "a size of 0 bytes");
    expect_refused(with("\"alignment\":8", "\"alignment\":24"), "alignment 24 is not a power of two");
    expect_refused(with("\"alignment\":8", "\"alignment\":0"), "alignment 0 is not a power of two");
    expect_refused(with("\"live\":2", "\"live\":31"), "cannot have had");
    expect_refused(with("\"peak_live\":30", "\"peak_live\":51"), "cannot have had");
    expect_refused(with("\"total_bytes\":9000", "\"total_bytes\":9223372036854775808"), "address space");
    expect_refused(with_rows(R"({"size":16,"alignment":8,"requests":18446744073709551615,"live":0,)"
                             R"("peak_live":18446744073709551615})"),
                   "4294967296 live blocks");
    expect_refused(with("\"size\":48", "\"size\":18446744073709551615"), "address space");
}
