// The progress of a run on standard error: a bar with the time left on a terminal, an occasional line elsewhere.
#pragma once

#include "terminal.hpp"

#include "bench/runner.hpp"

#include <string>
#include <string_view>

namespace flat::cli {

/// The position of a run of any kind.
struct Advance {
    std::size_t done, total; // processes
    unsigned round, rounds;  // of the next one, from 1; 0 before the first
    double seconds_left;     // negative until it is known
};

class Progress {
  public:
    explicit Progress(Look look) : look_(look) {}
    ~Progress() { clear(); }
    Progress(const Progress &) = delete;
    Progress &operator=(const Progress &) = delete;

    void show(const bench::CampaignStep &step);

    /// `what` is running; `part` is what it belongs to, which is printed if there is no terminal.
    void show(const Advance &advance, std::string_view what, std::string_view part);

    /// Removes the bar.
    void clear();

  private:
    Look look_;
    bool drawn_ = false;
    std::string last_line_;
};

/// The bar, at most `width` columns wide: "[=====     ]  43 %  1 min 52 s left  churn 1 KiB ...".
std::string progress_bar(const bench::CampaignStep &step, std::size_t width);
std::string progress_bar(const Advance &advance, std::string_view what, std::size_t width);

/// "1 min 52 s left"; "estimating" while `seconds` is negative.
std::string describe_time_left(double seconds);

} // namespace flat::cli
