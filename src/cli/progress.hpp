// How far a run is: a bar with the time left on a terminal, a line now and then elsewhere. On standard error.
#pragma once

#include "terminal.hpp"

#include "bench/runner.hpp"

#include <string>

namespace flat::cli {

class Progress {
  public:
    explicit Progress(Look look) : look_(look) {}
    ~Progress() { clear(); }
    Progress(const Progress &) = delete;
    Progress &operator=(const Progress &) = delete;

    void show(const bench::Step &step);

    /// Takes the bar away.
    void clear();

  private:
    Look look_;
    bool drawn_ = false;
    std::string last_line_;
};

/// The bar, at most `width` columns wide: "[=====     ]  43 %  1 min 52 s left  churn 1 KiB ...".
std::string progress_bar(const bench::Step &step, std::size_t width);

/// "1 min 52 s left"; "estimating" while that is negative.
std::string describe_time_left(double seconds);

} // namespace flat::cli
