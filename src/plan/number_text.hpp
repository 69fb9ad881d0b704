// Numbers as people write them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace flat::plan {

/// A whole number in digits, as "1000"; std::nullopt iff it is anything else or does not fit in 64 bits.
std::optional<std::uint64_t> number_from(std::string_view text);

/// Bytes, as "4096", "4K", "4k" or "4KiB"; K, M and G are powers of 1024. std::nullopt iff it is anything else or does
/// not fit in 64 bits.
std::optional<std::uint64_t> bytes_from(std::string_view text);

/// Text from outside, made fit for a one-line message: a character that does not print becomes a '?', and text beyond
/// `most` characters is cut off.
std::string shown(std::string_view text, std::size_t most = 40);

} // namespace flat::plan
