// Compares one cell of two runs: whether the subject became slower between them, as far as two runs can tell.
#pragma once

#include "bootstrap.hpp"

#include <vector>

namespace flat::bench {

/// One run's data for a cell.
struct Side {
    std::vector<double> processes;             // the subject's figure in each process, in the order of the rounds
    std::vector<std::vector<double>> controls; // the same for what did not change between the runs; each is as long
    double copy_difference;                    // difference of the A/A copies in that run, as a share
    double resolution;                         // as a share: the smallest difference that the clock can tell
    bool is_void;
};

enum class Change { worse, better, none, voided };

struct Comparison {
    Change change;
    double ratio;           // new to old, of the midmeans over the processes; relative to the controls if there are any
    Interval before, after; // 95 % of those midmeans; both divided by the old one
};

/// Each process of the subject is divided by the geometric mean of the controls in the same round, which cancels what
/// the machine did to all of them, then or since. Worse or better iff the intervals do not overlap and the ratio is
/// further from 1 than `least` (a share), than the A/A copies differ and than the resolution, in either run.
/// `more_is_better`: for a rate.
///
/// Throws std::logic_error iff a side has no process, or a control of another length.
Comparison compare(const Side &old_run, const Side &new_run, double least, bool more_is_better);

} // namespace flat::bench
