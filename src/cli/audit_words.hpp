// Figures and names as the report of an audit writes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace flat::cli {

/// "1.2 us", of at most 7 columns; "-" if it is not a duration.
std::string time_text(double ns);

/// "1 call", "12,345 calls".
std::string counted(std::uint64_t count, std::string_view one);

/// "page fault, lock and preempted"; "none" if there is none.
std::string listed(const std::vector<std::string> &words);

/// Names and sentences that may hold any byte, with no word above `columns`, so that they can be wrapped.
std::string wrappable(std::string_view text, std::size_t columns);

} // namespace flat::cli
