#include "cli/bench_outputs.hpp"

#include "scratch_folder.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <sstream>

using namespace flat::cli;
using json = nlohmann::ordered_json;

namespace {

json cell(const char *suite, const char *backend) {
    return {{"suite", suite},   {"backend", backend},
            {"size", 64},       {"operation", "pair"},
            {"order", ""},      {"calls_per_sample", 32},
            {"unit", "ns"},     {"samples", 2000},
            {"mean", 5.5},      {"p50", 5},
            {"p9999", nullptr}, {"max", 40},
            {"void", false},    {"curve", {{0, 4}, {50, 5}, {99.9, 30}, {100, 40}}}};
}

std::string document(std::vector<json> cells) {
    return json{{"schema", "flatline.bench/1"}, {"cells", std::move(cells)}}.dump();
}

std::vector<std::string> lines_of(const std::string &text) {
    std::istringstream in(text);
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

} // namespace

TEST(csv, has_a_line_for_each_cell_and_backend_and_nothing_for_what_was_not_told) {
    const auto lines = lines_of(csv_of(document({cell("hot", "glibc"), cell("fifo", "a \"quoted\", name")})));
    ASSERT_EQ(lines.size(), 3U);
    EXPECT_EQ(lines[0], "suite,backend,size,operation,order,calls_per_sample,unit,samples,mean,p50,p9999,max,void");
    EXPECT_EQ(lines[1], "hot,glibc,64,pair,,32,ns,2000,5.5,5,,40,false");
    EXPECT_EQ(lines[2], "fifo,\"a \"\"quoted\"\", name\",64,pair,,32,ns,2000,5.5,5,,40,false");
}

TEST(hgrm, has_value_percentile_count_and_one_by_the_rest) {
    json phase = cell("order", "glibc");
    phase.erase("curve");
    json ordered = cell("containers", "glibc");
    ordered["order"] = "list";
    const auto files = hgrm_of(document({cell("hot", "glibc"), phase, ordered}));
    ASSERT_EQ(files.size(), 2U);
    EXPECT_EQ(files[1].first, "containers-64-list-32-pair-glibc.hgrm");
    ordered["threads"] = 4;
    EXPECT_EQ(hgrm_of(document({ordered})).front().first, "containers-64-list-4-threads-32-pair-glibc.hgrm");
    EXPECT_EQ(files[0].first, "hot-64-32-pair-glibc.hgrm");
    const auto lines = lines_of(files[0].second);
    const auto words = [](const std::string &line) {
        std::istringstream in(line);
        std::vector<double> numbers;
        for (double number; in >> number;) numbers.push_back(number);
        return numbers;
    };
    EXPECT_EQ(words(lines[3]), (std::vector<double>{5, 0.5, 1000, 2}));
    EXPECT_EQ(words(lines[4]), (std::vector<double>{30, 0.999, 1998, 1000}));
    EXPECT_EQ(words(lines[5]), (std::vector<double>{40, 1, 2000})); // the last row has no remainder
    EXPECT_EQ(lines.back().substr(0, 5), "#[Max");
}

TEST(bench_outputs, refuse_before_the_work_what_could_not_be_written_after_it) {
    const test::scratch_folder folder;
    BenchOutputs two;
    two.json = two.csv = "-";
    EXPECT_THROW(BenchWriter{two}, std::runtime_error);
    EXPECT_TRUE(two.to_standard_output());
    BenchOutputs nowhere;
    nowhere.markdown = (folder / "absent/table.md").string();
    EXPECT_THROW(BenchWriter{nowhere}, std::runtime_error);
    std::ofstream(folder / "file") << "";
    BenchOutputs folder_that_is_a_file;
    folder_that_is_a_file.hgrm = (folder / "file").string();
    EXPECT_THROW(BenchWriter{folder_that_is_a_file}, std::runtime_error);
    EXPECT_FALSE(nowhere.to_standard_output());
}

TEST(bench_outputs, refuse_what_is_no_run) {
    for (const char *text : {"", "[]", "{}", R"({"schema":"flatline.env/1"})", R"({"schema":"flatline.bench/1"})"}) {
        EXPECT_THROW((void)csv_of(text), std::runtime_error) << text;
        EXPECT_THROW((void)hgrm_of(text), std::runtime_error) << text;
    }
}
