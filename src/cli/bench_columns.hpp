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

/// All columns of a kind have the same width; the last columns stand behind the figures.
struct ColumnTable {
    std::vector<std::string> heads, last_heads;
    std::size_t figure_width, last_width;
    std::vector<ColumnLine> lines;
};

/// How many columns of figures fit beside labels of at most `label` columns and `last` columns; at least one.
std::size_t columns_that_fit(std::size_t label, std::size_t figure_width, std::size_t last, const Look &look);

/// Blocks one below the other, each with the labels and the last columns, where the width has no room for all figures.
std::string text_of(const ColumnTable &table, const Look &look);

/// How the figures of a backend are shown, and those of the best.
Style style_of(const bench::Backend &backend, bool best);

/// A figure in at most 6 columns below a million: decimals only where they matter.
std::string compact(double value);

} // namespace flat::cli
