// Which frame of a stack is the program's own: where a person looks first.
#pragma once

#include "source_frames.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace flat::symbols {

/// Whether the file at this path is a part of the C or C++ run time (libc, libstdc++, libc++, the loader, ...), or one
/// of Flatline's own preloads, libflatline-*.so. Judged by its name alone.
bool is_run_time_library(const std::string &module);

/// Whether a frame is the program's own. It is not, iff
/// - its module is a run-time library,
/// - its source file is a header of the standard library or of the compiler, inlined or not,
/// - it has no source file, and its function is of namespace std, or
/// - it is operator new or delete, or the program's entry.
bool is_the_programs_own(const SourceFrame &frame);

/// The index of the site in `stack`, whose frames stand innermost first: the innermost frame that is the program's own.
/// If none is the program's own: the innermost frame that has a line; if none has, 0. So it is for an empty stack.
std::size_t site_of(const std::vector<SourceFrame> &stack);

/// Whether a frame is the program's own: then frames behind it do not change the site.
bool has_site(const std::vector<SourceFrame> &stack);

} // namespace flat::symbols
