// A run as a table for a text.
#pragma once

#include <string>

namespace flat::cli {

/// A table of a run's medians, as Markdown: a row a cell, a column a backend, the best of those that compete bold, and
/// in the last columns the medians of the pool, or of whichever subject comes first, and of Flatline's malloc divided
/// by the best general allocator's ("void" where A and A differed too much). `document` is flatline.bench/1; throws
/// std::runtime_error iff it is not.
std::string markdown_of(const std::string &document);

} // namespace flat::cli
