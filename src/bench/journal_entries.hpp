// What a campaign's journal keeps of each process: a line of JSON.
#pragma once

#include "journal.hpp"
#include "program_measurement.hpp"
#include "protocol.hpp"

#include <string>
#include <variant>
#include <vector>

namespace flat::bench {

/// What came of one process of a driver: its report, or why there is none.
using Entry = std::variant<DriverReport, std::string>;

/// What came of one process of a program: what its pass was to find, or why it could not.
using ProgramEntry = std::variant<ProbeCount, SystemCalls, ProgramRun, std::string>;

/// An entry, and how long its process took.
template <typename What> struct Timed {
    What entry;
    double seconds;
};

/// What was measured is kept whole: as how often each value occurred, or `in_order` where the order matters.
void append(Journal &journal, const Timed<Entry> &timed, bool in_order);
void append(Journal &journal, const Timed<ProgramEntry> &timed);

/// What was there when the journal was read. Both throw std::runtime_error iff it is of another kind or damaged.
std::vector<Timed<Entry>> entries_of(const Journal &journal);
std::vector<Timed<ProgramEntry>> program_entries_of(const Journal &journal);

} // namespace flat::bench
