#include "page.hpp"

#include <cstddef>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace flat::report {
namespace {

constexpr std::string_view token = "__FLATLINE_DATA__";

/// The same object without white space. Each `<`, which only a string can contain, is written so that HTML does not see
/// it.
std::string compact(std::string_view json) {
    const auto data = nlohmann::ordered_json::parse(json, nullptr, false);
    if (!data.is_object()) {
        throw std::runtime_error("the report's data is not a JSON object: write it again with --json, and try again");
    }
    std::string out;
    for (const char c : data.dump()) {
        if (c == '<')
            out += "\\u003c";
        else
            out += c;
    }
    return out;
}

} // namespace

std::string fill_page(std::string_view page_template, std::string_view json) {
    const std::size_t place = page_template.find(token);
    if (place == std::string_view::npos || page_template.find(token, place + 1) != std::string_view::npos) {
        throw std::runtime_error("the page template must hold " + std::string(token) +
                                 " exactly once: build the target report-page again, or install Flatline again");
    }
    std::string page(page_template.substr(0, place));
    page += compact(json);
    page += page_template.substr(place + token.size());
    return page;
}

std::filesystem::path find_template() {
    const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe");
    const std::filesystem::path place = program.parent_path().parent_path() / "share" / "flatline" / "report.html";
    if (!std::filesystem::is_regular_file(place)) {
        throw std::runtime_error("the page template " + place.string() +
                                 " is missing: build the target report-page, or install Flatline again");
    }
    return place;
}

} // namespace flat::report
