// A table of figures with a column for each backend. The summaries of calls and of rounds are such tables.
#pragma once

#include "terminal.hpp"

#include "bench/catalogue.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace flat::cli {

struct Shown {
    std::string text;
    Style style = Style::plain;
};

struct ColumnLine {
    std::string label;
    std::vector<Shown> figures; // as many as the table has heads
    std::vector<Shown> last;    // as many as it has last heads
};

/// All columns of a kind have the same width; the last columns follow the figures.
struct ColumnTable {
    std::vector<std::string> heads, last_heads;
    std::size_t figure_width, last_width;
    std::vector<ColumnLine> lines;
};

/// How many columns of figures fit next to labels of width `label` and last columns of width `last`; at least one.
std::size_t columns_that_fit(std::size_t label, std::size_t figure_width, std::size_t last, const Look &look);

/// If the figures do not fit in the width, the text has several blocks, each with the labels and the last columns.
std::string text_of(const ColumnTable &table, const Look &look);

/// The style of a backend's figures; `best` if they are the best.
Style style_of(const bench::Backend &backend, bool best);

/// A figure in at most 6 columns below a million: decimals only where they matter.
std::string compact(double value);

} // namespace flat::cli
