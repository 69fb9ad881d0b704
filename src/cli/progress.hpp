// How far a run is: a bar with the time left on a terminal, a line now and then elsewhere. On standard error.
#pragma once

#include "terminal.hpp"

#include "bench/runner.hpp"

#include <string>
#include <string_view>

namespace flat::cli {

/// Where a run of any kind is.
struct Advance {
    std::size_t done, total; // processes
    unsigned round, rounds;  // of the next one, from 1; 0 before the first
    double seconds_left;     // negative until it can be told
};

class Progress {
  public:
    explicit Progress(Look look) : look_(look) {}
    ~Progress() { clear(); }
    Progress(const Progress &) = delete;
    Progress &operator=(const Progress &) = delete;

    void show(const bench::CampaignStep &step);

    /// `what` is running; `part` is what it belongs to, told where there is no terminal.
    void show(const Advance &advance, std::string_view what, std::string_view part);

    /// Takes the bar away.
    void clear();

  private:
    Look look_;
    bool drawn_ = false;
    std::string last_line_;
};

/// The bar, at most `width` columns wide: "[=====     ]  43 %  1 min 52 s left  churn 1 KiB ...".
std::string progress_bar(const bench::CampaignStep &step, std::size_t width);
std::string progress_bar(const Advance &advance, std::string_view what, std::size_t width);

/// "1 min 52 s left"; "estimating" while that is negative.
std::string describe_time_left(double seconds);

} // namespace flat::cli
