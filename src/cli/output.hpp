// What a verb reads and writes: files, or standard output.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>

namespace flat::cli {

/// Checks before the work that its result can be written after it; throws std::runtime_error iff it cannot. `file` may
/// be empty (nothing is to be written) or "-" (standard output); `option` is the option that named it.
void require_writable(const std::string &option, const std::string &file);

/// An option, and the file that it names; the latter may be empty, or "-" where the option can mean standard output.
using OptionFile = std::pair<const char *, std::string>;

/// The same check for all files that a verb writes. It also throws iff two of them are the same, or one is a file of
/// `inputs`, which the verb reads.
void require_outputs(std::initializer_list<OptionFile> outputs, std::initializer_list<OptionFile> inputs = {});

/// Throws std::runtime_error iff `text` could not be written to `file` as a whole.
void write_output(const std::string &file, const std::string &text);

/// Throws std::runtime_error iff something that was printed on standard output could not be written.
void require_written();

/// The content of a file; throws std::runtime_error iff it cannot be read.
std::string content_of(const std::string &file);

} // namespace flat::cli
