// One cell of two runs: whether what was timed became slower between them, as far as two runs can tell.
#pragma once

#include "bootstrap.hpp"

#include <vector>

namespace flat::bench {

/// What one run says of a cell.
struct Side {
    std::vector<double> processes;             // the subject's figure in each process, in the order of the rounds
    std::vector<std::vector<double>> controls; // the same of what did not change between the runs, each as long
    double copy_difference;                    // A against A in that run, as a share
    double resolution;                         // as a share: what the clock can tell apart
    bool is_void;
};

enum class Change { worse, better, none, voided };

struct Comparison {
    Change change;
    double ratio;           // new to old, of the midmeans over the processes; beside the controls where there are any
    Interval before, after; // 95 % of those midmeans; both divided by the old one
};

/// Each process of the subject is divided by the geometric mean of the controls' in the same round: what the machine
/// did to all of them, then or since, falls out. Worse or better iff the ratio is further from 1 than `least` (a share)
/// and than A was from A and than the resolution in either run, and the intervals do not overlap. `more_is_better`: a
/// rate.
///
/// Throws std::logic_error iff a side has no process, or a control of another length.
Comparison compare(const Side &old_run, const Side &new_run, double least, bool more_is_better);

} // namespace flat::bench
