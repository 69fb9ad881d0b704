// What a verb reads and writes: files, or standard output.
#pragma once

#include <string>

namespace flat::cli {

/// Checks before the work that its result can be written after it; throws std::runtime_error iff it cannot. `file` may
/// be empty (nothing is to be written) or "-" (standard output); `option` is the option that named it.
void require_writable(const std::string &option, const std::string &file);

/// Throws std::runtime_error iff `text` could not be written to `file` as a whole.
void write_output(const std::string &file, const std::string &text);

/// Throws std::runtime_error iff something that was printed on standard output could not be written.
void require_written();

/// The content of a file; throws std::runtime_error iff it cannot be read.
std::string content_of(const std::string &file);

} // namespace flat::cli
