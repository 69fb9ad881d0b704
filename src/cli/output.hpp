// What a verb reads and writes: files, or standard output.
#pragma once

#include <string>

namespace flat::cli {

/// Finds out before the work whether its result can be written after it; throws std::runtime_error iff it cannot.
/// `file` may be empty (nothing is to be written) or "-" (standard output); `option` is what named it.
void require_writable(const std::string &option, const std::string &file);

/// Throws std::runtime_error iff `text` could not be written to `file` as a whole.
void write_output(const std::string &file, const std::string &text);

/// Throws std::runtime_error iff something that was printed on standard output did not get there.
void require_written();

/// All of a file; throws std::runtime_error iff it cannot be read.
std::string content_of(const std::string &file);

} // namespace flat::cli
