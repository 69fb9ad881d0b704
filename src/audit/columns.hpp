// Records as columns of bytes, which compress better: neighbouring records resemble each other byte by byte, and half
// of the bytes are the same in all of them.
#pragma once

#include "record.h"

#include <cstddef>
#include <span>
#include <vector>

namespace flat::audit {

/// Appends `records` to `packed`: what is the same in all of them once, then the bytes that differ, column by column.
/// In the first word of each record stands the time since the record before. At most `most_in_columns` records.
void append_columns(std::vector<std::byte> &packed, std::span<const audit_record> records);

inline constexpr std::size_t most_in_columns = std::size_t{1} << 20;

/// The records again; none of something that `append_columns` has not made.
std::vector<audit_record> from_columns(std::span<const std::byte> packed);

} // namespace flat::audit
