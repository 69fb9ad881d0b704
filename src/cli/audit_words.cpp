#include "audit_words.hpp"

#include "top_text.hpp"

#include "audit/readable.hpp"
#include "bench/catalogue.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace flat::cli {

std::string time_text(double ns) {
    constexpr double most = 1e19; // below the largest count
    if (!(ns >= 0)) return "-";
    return short_time(static_cast<std::uint64_t>(std::round(std::min(ns, most))));
}

std::string counted(std::uint64_t count, std::string_view one) {
    return fmt::format("{} {}{}", bench::grouped(count), one, count == 1 ? "" : "s");
}

std::string listed(const std::vector<std::string> &words) {
    if (words.empty()) return "none";
    std::string text;
    for (std::size_t i = 0; i < words.size(); ++i)
        text += (i == 0 ? "" : i + 1 == words.size() ? " and " : ", ") + words[i];
    return text;
}

std::string wrappable(std::string_view text, std::size_t columns) {
    const std::string clean = audit::readable(text);
    std::string whole;
    for (std::size_t at = 0; at <= clean.size();) {
        const std::size_t end = std::min(clean.find(' ', at), clean.size());
        whole += (at == 0 ? "" : " ") + audit::without_end(std::string_view(clean).substr(at, end - at), columns);
        at = end + 1;
    }
    return whole;
}

} // namespace flat::cli
