// A run as a Markdown table.
#pragma once

#include <string>

namespace flat::cli {

/// The medians of a run as a Markdown table: a row for each cell, a column for each backend, the best of those that
/// compete in bold. The last columns are the medians of the pool, or of whichever subject comes first, and of
/// Flatline's malloc, each divided by the best general-purpose allocator's. They read "void" where the A/A copies
/// differed too much. `document` is flatline.bench/1; throws std::runtime_error iff it is not.
std::string markdown_of(const std::string &document);

} // namespace flat::cli
