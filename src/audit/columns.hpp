// Records as columns of bytes, which compress better: neighbouring records resemble each other byte by byte.
#pragma once

#include "record.h"

#include <cstddef>
#include <span>
#include <vector>

namespace flat::audit {

/// The columns of `records`, behind one another; in the first word of each record the time since the record before.
/// The last records, fewer than eight, stand behind the columns as they are.
std::vector<std::byte> to_columns(std::span<const audit_record> records);

/// The records again. Bytes that make up no whole record at the end are left out.
std::vector<audit_record> from_columns(std::span<const std::byte> columns);

} // namespace flat::audit
