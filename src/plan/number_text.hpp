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

/// Nanoseconds, as "20us", "20 us" or "5s"; the units are ns, us, ms and s. std::nullopt iff it is anything else or
/// does not fit in 64 bits.
std::optional<std::uint64_t> duration_from(std::string_view text);

/// The same duration in the largest unit that divides it: "20us".
std::string duration_text(std::uint64_t ns);

/// Text from outside, made fit for a one-line message: a character that does not print becomes a '?', and text beyond
/// `most` characters is cut off.
std::string shown(std::string_view text, std::size_t most = 40);

} // namespace flat::plan
