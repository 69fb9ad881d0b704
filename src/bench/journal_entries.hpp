// The journal's entry for each process: a line of JSON.
#pragma once

#include "journal.hpp"
#include "program_measurement.hpp"
#include "protocol.hpp"

#include <string>
#include <variant>
#include <vector>

namespace flat::bench {

/// The result of one process of a driver: its report, or why there is none.
using Entry = std::variant<DriverReport, std::string>;

/// The result of one process of a program: the data that its pass collects, or why it could not.
using ProgramEntry = std::variant<ProbeCount, SystemCalls, ProgramRun, std::string>;

/// An entry, and how long its process took.
template <typename What> struct Timed {
    What entry;
    double seconds;
};

/// All measured values are kept: as how often each occurred, or `in_order` if the order matters.
void append(Journal &journal, const Timed<Entry> &timed, bool in_order);
void append(Journal &journal, const Timed<ProgramEntry> &timed);

/// The entries that the journal had when it was read. Both throw std::runtime_error iff it is of another kind or
/// damaged.
std::vector<Timed<Entry>> entries_of(const Journal &journal);
std::vector<Timed<ProgramEntry>> program_entries_of(const Journal &journal);

} // namespace flat::bench
