#include "tracking.hpp"

#include "number_text.hpp"

#include <algorithm>
#include <bit>
#include <set>
#include <stdexcept>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace flat::plan {
namespace {

using json = nlohmann::json;

constexpr std::string_view schema = "flatline.tracking/1";
constexpr std::string_view remedy = "write it again with flat::tracking_resource::write";

/// The document, its list, a row in it: a file that is nested deeper is not a tracking file.
constexpr int most_depth = 3;

/// Bytes: a total that an arena could have, even with the greatest margin.
constexpr std::uint64_t most_total = most_bytes / 16;

/// The place of the character at which parsing stopped, counted from 1: "LINE:COLUMN".
std::string place_of(std::string_view text, std::size_t character) {
    const std::string_view before = text.substr(0, character > 0 ? character - 1 : 0);
    const std::size_t newline = before.rfind('\n');
    return fmt::format("{}:{}", std::ranges::count(before, '\n') + 1,
                       newline == std::string_view::npos ? before.size() + 1 : before.size() - newline);
}

/// Refuses a member that occurs twice, of which the parser would silently keep the last, and a document that is nested
/// too deep to be a tracking file.
class Watch {
  public:
    bool operator()(int depth, json::parse_event_t event, json &parsed) {
        if (depth > most_depth) throw std::runtime_error("it is nested too deep");
        if (event == json::parse_event_t::object_start) keys_.emplace_back();
        if (event == json::parse_event_t::object_end) keys_.pop_back();
        if (event == json::parse_event_t::key && !keys_.back().insert(parsed.get<std::string>()).second)
            throw std::runtime_error(fmt::format("`{}` occurs twice in one object", shown(parsed.get<std::string>())));
        return true;
    }

  private:
    std::vector<std::set<std::string>> keys_; // of the objects that are open
};

std::uint64_t number_at(const json &object, const std::string &key, const std::string &path) {
    const auto found = object.find(key);
    if (found == object.end()) throw std::runtime_error(fmt::format("{}`{}` is missing", path, key));
    if (!found->is_number_unsigned())
        throw std::runtime_error(fmt::format("{}`{}` is {}, not a whole number of at most 64 bits", path, key,
                                             shown(found->dump(-1, ' ', true))));
    return found->get<std::uint64_t>();
}

void add_row(Tracking &tracking, const json &row, const std::string &path) {
    if (!row.is_object()) throw std::runtime_error(path + "it is not an object");
    const std::uint64_t size = number_at(row, "size", path), alignment = number_at(row, "alignment", path),
                        requests = number_at(row, "requests", path), live = number_at(row, "live", path),
                        peak = number_at(row, "peak_live", path);
    if (live > peak || peak > requests)
        throw std::runtime_error(fmt::format(
            "{}{} requests cannot have had {} blocks live at once and {} live at the end", path, requests, peak, live));
    if (!std::has_single_bit(alignment))
        throw std::runtime_error(fmt::format("{}alignment {} is not a power of two", path, alignment));
    tracking.peaks.push_back({size, peak, alignment});
}

void require_schema(const json &document) {
    const auto found = document.is_object() ? document.find("schema") : document.end();
    if (found == document.end() || *found != schema) throw std::runtime_error(fmt::format("it is not {}", schema));
}

Tracking tracking_of(const json &document) {
    require_schema(document);
    Tracking tracking;
    tracking.requests = number_at(document, "requests", "");
    tracking.live_bytes = number_at(document, "live_bytes", "");
    tracking.peak_bytes = number_at(document, "peak_bytes", "");
    tracking.total_bytes = number_at(document, "total_bytes", "");
    if (tracking.total_bytes > most_total)
        throw std::runtime_error(
            fmt::format("`total_bytes` is {}, more than an address space has", tracking.total_bytes));
    const auto sizes = document.find("sizes");
    if (sizes == document.end() || !sizes->is_array()) throw std::runtime_error("`sizes` is missing, or not a list");
    std::set<std::uint64_t> seen;
    for (std::size_t i = 0; i < sizes->size(); ++i) {
        const std::string path = fmt::format("sizes[{}]: ", i);
        add_row(tracking, (*sizes)[i], path);
        if (!seen.insert(tracking.peaks.back().size).second)
            throw std::runtime_error(fmt::format("{}size {} occurs twice", path, tracking.peaks.back().size));
    }
    tracking.peaks = ordered(std::move(tracking.peaks));
    if (tracking.peaks.empty()) throw std::runtime_error("it recorded no request: run the program with its work");
    return tracking;
}

} // namespace

Tracking tracking_from(std::string_view text, const std::string &name) {
    try {
        return tracking_of(json::parse(text, Watch{}));
    } catch (const json::parse_error &error) {
        throw std::runtime_error(
            fmt::format("{}:{}: not JSON from here on: {}", name, place_of(text, error.byte), remedy));
    } catch (const json::exception &) { // a number that does not fit in any type
        throw std::runtime_error(fmt::format("{}: it contains a number that is out of range: {}", name, remedy));
    } catch (const std::runtime_error &error) {
        throw std::runtime_error(fmt::format("{}: not a tracking file: {}: {}", name, error.what(), remedy));
    }
}

Declaration declaration_of(const Tracking &tracking, unsigned margin_percent) {
    Declaration declaration;
    declaration.demand = tracking.peaks;
    const std::uint64_t bytes = with_margin(tracking.total_bytes, margin_percent);
    declaration.arena = Arena{(bytes + usual_arena_alignment - 1) / usual_arena_alignment * usual_arena_alignment};
    return declaration;
}

} // namespace flat::plan
