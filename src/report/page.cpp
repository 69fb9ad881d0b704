#include "page.hpp"

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <utility>
#include <vector>

namespace flat::report {
namespace {

constexpr std::string_view token = "__FLATLINE_DATA__";
constexpr std::string_view white_space = " \t\r\n";

/// Cuts JSON into slices without interpreting them: enough to regroup members, far less than a parser.
class Scanner {
  public:
    explicit Scanner(std::string_view text) : text_(text) {}

    /// Moves past white space; true iff `expected` comes next, which is then consumed.
    bool take(char expected) {
        skip_space();
        if (at_ == text_.size() || text_[at_] != expected) return false;
        ++at_;
        return true;
    }

    void require(char expected) {
        if (!take(expected)) fail();
    }

    void require_end() {
        skip_space();
        if (at_ != text_.size()) fail();
    }

    /// The next value of any kind, as it is written.
    std::string_view value() {
        skip_space();
        const std::size_t start = at_;
        std::size_t depth = 0;
        do {
            if (at_ == text_.size()) fail();
            const char c = text_[at_];
            if (c == '"')
                skip_string();
            else if (c == '{' || c == '[')
                ++depth, ++at_;
            else if ((c == '}' || c == ']') && depth > 0)
                --depth, ++at_;
            else if (depth > 0)
                ++at_;
            else
                skip_bare();
        } while (depth > 0);
        return text_.substr(start, at_ - start);
    }

    [[noreturn]] void fail() const {
        throw std::runtime_error("the report's data is not well-formed JSON near byte " + std::to_string(at_) +
                                 ": write it with `flatline bench --json` and try again");
    }

  private:
    void skip_space() { at_ = std::min(text_.find_first_not_of(white_space, at_), text_.size()); }

    /// A number, true, false or null.
    void skip_bare() {
        const std::size_t end = std::min(text_.find_first_of(",:{}[]\" \t\r\n", at_), text_.size());
        if (end == at_) fail();
        at_ = end;
    }

    void skip_string() {
        for (++at_; at_ < text_.size(); ++at_) {
            if (text_[at_] == '\\')
                ++at_;
            else if (text_[at_] == '"') {
                ++at_;
                return;
            }
        }
        at_ = text_.size();
        fail();
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

using Member = std::pair<std::string_view, std::string_view>; // name with its quotes, value

std::vector<Member> members_of(std::string_view object) {
    std::vector<Member> members;
    Scanner scan(object);
    scan.require('{');
    if (!scan.take('}')) {
        do {
            const std::string_view name = scan.value();
            if (name.front() != '"') scan.fail();
            scan.require(':');
            members.emplace_back(name, scan.value());
        } while (scan.take(','));
        scan.require('}');
    }
    scan.require_end();
    return members;
}

std::vector<std::string_view> elements_of(std::string_view array) {
    std::vector<std::string_view> elements;
    Scanner scan(array);
    scan.require('[');
    if (!scan.take(']')) {
        do elements.push_back(scan.value());
        while (scan.take(','));
        scan.require(']');
    }
    scan.require_end();
    return elements;
}

/// Appends `json` without white space between its parts and with `<` written so that HTML cannot see it.
void append_compact(std::string &out, std::string_view json) {
    bool in_string = false;
    for (std::size_t i = 0; i < json.size(); ++i) {
        const char c = json[i];
        if (c == '<') {
            out += "\\u003c";
        } else if (in_string && c == '\\' && i + 1 < json.size()) {
            out += c;
            out += json[++i];
        } else if (in_string || white_space.find(c) == std::string_view::npos) {
            out += c;
        }
        if (c == '"') in_string = !in_string;
    }
}

bool same_names(const std::vector<Member> &left, const std::vector<Member> &right) {
    if (left.size() != right.size()) return false;
    for (std::size_t i = 0; i < left.size(); ++i) {
        if (left[i].first != right[i].first) return false;
    }
    return true;
}

/// Appends one part of each member, separated by commas and inside brackets.
template <typename Part> void append_list(std::string &out, const std::vector<Member> &members, Part part) {
    out += '[';
    for (const Member &member : members) {
        append_compact(out, part(member));
        out += ',';
    }
    if (out.back() == ',') out.pop_back();
    out += ']';
}

void append_tables(std::string &out, std::string_view cells) {
    out += "{\"tables\":[";
    std::vector<Member> columns;
    bool open = false;
    for (const std::string_view cell : elements_of(cells)) {
        std::vector<Member> members = members_of(cell);
        if (open && same_names(columns, members)) {
            out += ',';
        } else {
            out += open ? "]},{\"columns\":" : "{\"columns\":";
            append_list(out, members, [](const Member &member) { return member.first; });
            out += ",\"rows\":[";
            columns = members;
            open = true;
        }
        append_list(out, members, [](const Member &member) { return member.second; });
    }
    out += open ? "]}]}" : "]}";
}

std::string pack(std::string_view json) {
    std::string out;
    out.reserve(json.size());
    out += '{';
    for (const auto &[name, value] : members_of(json)) {
        if (out.size() > 1) out += ',';
        append_compact(out, name);
        out += ':';
        if (name == "\"cells\"")
            append_tables(out, value);
        else
            append_compact(out, value);
    }
    out += '}';
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
    page += pack(json);
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
