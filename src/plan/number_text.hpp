// Numbers as people write them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace flat::plan {

/// A whole number in digits, as "1000"; nothing iff it is anything else or does not fit in 64 bits.
std::optional<std::uint64_t> number_from(std::string_view text);

/// Bytes, as "4096", "4K", "4k" or "4KiB"; K, M and G are powers of 1024. Nothing iff it is anything else or does not
/// fit in 64 bits.
std::optional<std::uint64_t> bytes_from(std::string_view text);

/// Somebody's text, fit for a message of one line: what does not print is a '?', and what is longer than `most` is cut
/// off.
std::string shown(std::string_view text, std::size_t most = 40);

} // namespace flat::plan
