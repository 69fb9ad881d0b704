// Reads JSON that another program may have written, or that may be cut off.
#pragma once

#include <optional>
#include <string_view>

#include <nlohmann/json.hpp>

namespace flat::bench {

/// Deeper than anything that Flatline writes, and far from the depth at which a walk through the values overflows the
/// stack.
constexpr int most_json_depth = 64;

/// The value, with members in their order; nothing iff the text is not JSON, or nested deeper than that.
inline std::optional<nlohmann::ordered_json> json_from(std::string_view text) {
    bool too_deep = false;
    const auto watch = [&too_deep](int depth, nlohmann::ordered_json::parse_event_t, nlohmann::ordered_json &) {
        too_deep |= depth > most_json_depth;
        return !too_deep; // a value that is not kept is not built
    };
    auto value = nlohmann::ordered_json::parse(text, watch, false);
    if (value.is_discarded() || too_deep) return std::nullopt;
    return value;
}

} // namespace flat::bench
