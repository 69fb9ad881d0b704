#include "progress.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include <fmt/format.h>

namespace flat::cli {
namespace {

constexpr std::size_t bar_width = 24;

} // namespace

std::string describe_time_left(double seconds) {
    if (seconds < 0) return "estimating";
    const long whole = std::lround(seconds);
    return whole < 60 ? fmt::format("{} s left", whole) : fmt::format("{} min {:02} s left", whole / 60, whole % 60);
}

std::string progress_bar(const bench::Step &step, std::size_t width) {
    const std::size_t filled = step.total == 0 ? bar_width : bar_width * step.done / step.total;
    const std::size_t percent = step.total == 0 ? 100 : 100 * step.done / step.total;
    std::string text = fmt::format("[{:<{}}] {:>3} %  {:<17}  {}: {}", std::string(filled, '='), bar_width, percent,
                                   describe_time_left(step.seconds_left), describe(*step.cell), step.backend->name);
    text.resize(std::min(text.size(), width));
    return text;
}

void Progress::show(const bench::Step &step) {
    if (look_.terminal) {
        fmt::print(stderr, "\r\x1b[K{}", progress_bar(step, look_.width - 1));
        std::fflush(stderr);
        drawn_ = true;
        return;
    }
    const std::string line = fmt::format("round {} of {}: {}", step.round, step.rounds, step.cell->suite);
    if (line == last_line_) return;
    fmt::print(stderr, "{}{}\n", line,
               step.seconds_left < 0 ? "" : fmt::format(", {}", describe_time_left(step.seconds_left)));
    last_line_ = line;
}

void Progress::clear() {
    if (drawn_) fmt::print(stderr, "\r\x1b[K");
    drawn_ = false;
}

} // namespace flat::cli
