#include "bench_columns.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace flat::cli {
namespace {

std::string column_text(const Shown &shown, std::size_t width, const Look &look) {
    if (shown.text.empty()) return std::string(width, ' ');
    return look.dress(fmt::format("{:>{}}", shown.text, width), shown.style);
}

void append_line(std::string &text, std::string line) {
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
}

} // namespace

std::size_t columns_that_fit(std::size_t label, std::size_t figure_width, std::size_t last, const Look &look) {
    const std::size_t width = std::min(look.width, widest), taken = label + last;
    return width > taken ? std::max<std::size_t>(1, (width - taken) / figure_width) : 1;
}

std::string text_of(const ColumnTable &table, const Look &look) {
    std::size_t label = 0;
    for (const ColumnLine &line : table.lines) label = std::max(label, line.label.size());
    const std::size_t in_block =
        columns_that_fit(label, table.figure_width, table.last_heads.size() * table.last_width, look);
    std::string text;
    for (std::size_t from = 0; from < table.heads.size(); from += in_block) {
        const std::size_t to = std::min(from + in_block, table.heads.size());
        std::string head(label, ' ');
        for (std::size_t i = from; i < to; ++i) head += fmt::format("{:>{}}", table.heads[i] + " ", table.figure_width);
        for (const std::string &last : table.last_heads) head += fmt::format("{:>{}}", last, table.last_width);
        text += look.dress(head, Style::faint) + "\n";
        for (const ColumnLine &line : table.lines) {
            std::string shown = fmt::format("{:<{}}", line.label, label);
            for (std::size_t i = from; i < to; ++i) shown += column_text(line.figures[i], table.figure_width, look);
            for (const Shown &last : line.last) shown += column_text(last, table.last_width, look);
            append_line(text, shown);
        }
    }
    return text;
}

Style style_of(const bench::Backend &backend, bool best) {
    if (best) return Style::good;
    if (bench::is_ours(backend.kind)) return Style::strong;
    return competes(backend.kind) ? Style::plain : Style::faint;
}

std::string compact(double value) {
    const double size = std::abs(value);
    if (size < 0.005) return "0.00"; // and not -0.00
    return fmt::format("{:.{}f}", value, size < 99.995 ? 2 : size < 999.95 ? 1 : 0);
}

} // namespace flat::cli
