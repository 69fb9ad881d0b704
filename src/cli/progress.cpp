#include "progress.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include <fmt/format.h>

namespace flat::cli {
namespace {

constexpr std::size_t bar_width = 24;

Advance advance_of(const bench::CampaignStep &step) {
    return {step.done, step.total, step.round, step.rounds, step.seconds_left};
}

std::string describe_step(const bench::CampaignStep &step) {
    return fmt::format("{}: {}", describe(*step.cell), step.backend->name);
}

} // namespace

std::string describe_time_left(double seconds) {
    if (seconds < 0) return "estimating";
    const long whole = std::lround(seconds);
    return whole < 60 ? fmt::format("{} s left", whole) : fmt::format("{} min {:02} s left", whole / 60, whole % 60);
}

std::string progress_bar(const Advance &advance, std::string_view what, std::size_t width) {
    const std::size_t filled = advance.total == 0 ? bar_width : bar_width * advance.done / advance.total;
    const std::size_t percent = advance.total == 0 ? 100 : 100 * advance.done / advance.total;
    std::string text = fmt::format("[{:<{}}] {:>3} %  {:<17}  {}", std::string(filled, '='), bar_width, percent,
                                   describe_time_left(advance.seconds_left), what);
    text.resize(std::min(text.size(), width));
    return text;
}

std::string progress_bar(const bench::CampaignStep &step, std::size_t width) {
    return progress_bar(advance_of(step), describe_step(step), width);
}

void Progress::show(const bench::CampaignStep &step) { show(advance_of(step), describe_step(step), step.cell->suite); }

void Progress::show(const Advance &advance, std::string_view what, std::string_view part) {
    if (look_.terminal) {
        fmt::print(stderr, "\r\x1b[K{}", progress_bar(advance, what, look_.width - 1));
        std::fflush(stderr);
        drawn_ = true;
        return;
    }
    const std::string line =
        advance.round == 0 ? std::string(part) : fmt::format("round {} of {}: {}", advance.round, advance.rounds, part);
    if (line == last_line_) return;
    fmt::print(stderr, "{}{}\n", line,
               advance.seconds_left < 0 ? "" : fmt::format(", {}", describe_time_left(advance.seconds_left)));
    last_line_ = line;
}

void Progress::clear() {
    if (drawn_) fmt::print(stderr, "\r\x1b[K");
    drawn_ = false;
}

} // namespace flat::cli
