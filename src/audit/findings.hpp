// What an audit has found, ready to be shown: the terminal, the page and every export show this and nothing else.
#pragma once

#include "cause.hpp"

#include "symbols/source_frames.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace flat::audit {

using Stack = std::vector<symbols::SourceFrame>; // innermost first

/// Calls of one kind that were slow at one site for one cause. All times are in ns. Of first touch, the calls are
/// bursts of page faults in one block's memory, and the site and the stack are those of the block's allocation.
struct Stall {
    std::string operation; // "malloc", "operator new", ..., "first touch"
    Cause cause;
    std::uint64_t count = 0;
    double p50_ns = 0, p999_ns = 0, max_ns = 0, total_ns = 0; // of these slow calls
    std::string thread;                                       // of the slowest: "name (number)"
    double at_ns = 0;                                         // when the slowest began, since the audit did
    std::uint64_t largest_bytes = 0;                          // that was asked for, or of the block
    std::uint64_t page_faults = 0, system_calls = 0;          // in all of them; faults only where they could be told
    std::size_t site = 0;                                     // index in `stack` of the frame that is the program's own
    Stack stack;                                              // of the slowest
};

/// One slow call, for the timeline.
struct SlowCall {
    double at_ns = 0, duration_ns = 0;
    std::uint32_t thread = 0; // index in Findings::threads
    std::uint32_t stall = 0;  // index in Findings::stalls
};

/// Percentiles of durations in ns; nothing is trimmed.
struct Curve {
    std::uint64_t count = 0;
    double p50_ns = 0, p90_ns = 0, p99_ns = 0, p999_ns = 0, p9999_ns = 0, max_ns = 0, mean_ns = 0, total_ns = 0;
    std::vector<double> percent, ns; // points of the curve: `percent` of the calls took at most `ns`
};

/// Of allocating calls, or of freeing ones.
struct Curves {
    Curve all;         // of which the cost of telling system calls is subtracted
    Curve undisturbed; // only calls in which none was told
};

struct ThreadFinding {
    std::string name, program; // the program's path
    std::int32_t process = 0, thread = 0;
    std::uint64_t calls = 0, dropped = 0;
    double in_calls_ns = 0, slow_ns = 0;
};

/// Time and worst call by stack, for flame graphs: every call, not only the slow ones.
struct StackTime {
    std::string operation;
    std::uint64_t count = 0, bytes = 0; // bytes: that were asked for
    double total_ns = 0, max_ns = 0;
    Stack stack;
};

/// A kind of cause that could not be told on this machine, and why; or something else the reader must know.
struct MissingCause {
    CauseKind kind;
    std::string why;
};

struct Findings {
    std::string command;                  // the program and its arguments
    std::string machine, under;           // the allocator's file
    double over_ns = 0;                   // from which a call is slow
    double seconds = 0;                   // from the audit's begin to its end
    std::uint64_t calls = 0, dropped = 0; // dropped: of the calls
    bool whole = true;                    // false: the recording ends before the program did
    bool timed = true;         // false: a time is that of the page faults, system calls and waits in a call (--causes)
    std::optional<int> status; // the program's exit status, or 128 and the signal that ended it; none: not known
    std::vector<CauseKind> available;
    bool first_touch = false; // whether page faults could be charged to the blocks that were touched
    std::vector<MissingCause> missing;
    std::vector<std::string> notes; // in whole sentences
    Curve floor;                    // of empty calls in the first process
    double told_ns = 0;             // what telling a system call costs, which is subtracted
    Curves taking, giving;          // malloc, calloc, realloc, operator new; free, operator delete
    std::vector<ThreadFinding> threads;
    std::vector<Stall> stalls;        // by their total time, the longest first; preempted ones behind all others
    std::vector<SlowCall> slow_calls; // the longest ones, at most `most_slow_calls`, by when they began
    std::uint64_t slow_count = 0;     // of all of them
    std::vector<StackTime> stacks;    // by total time, the longest first
};

inline constexpr std::size_t most_slow_calls = 20000;

} // namespace flat::audit
