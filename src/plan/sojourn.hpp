// How long a task can take that an engine has accepted, from then until it is done: a bound for each kind of payload
// and urgency.
//
// An engine accepts a task against a grant, and a worker has a fixed number of grants. So whatever can be ahead of an
// accepted task is counted beforehand, and more is refused. Here a worker has kinds of payloads, j: its classes and the
// inline ones. m(j) grants of all lanes carry kind j, each run of such a task takes at most s(j), and such tasks are
// submitted with the urgencies U(j). M(u) is the sum of m(j) over the kinds whose U(j) has u; G is the sum over all
// kinds. L is the starvation limit.
//
// Let T be a task of kind c and urgency u. Before it begins, the worker runs at most:
//
//   running        1        a task that runs as T is accepted, or that is chosen by a look for tasks that had already
//                           passed T's lane. The next look takes T in.
//   as urgent      M(u) - 1 a list is first in, first out. What is ahead of T in its own holds a grant as T does,
//                           whether it was submitted, submitted by a task, deferred, or waited for its start. A task
//                           that is deferred later, or that comes later, is behind T.
//   more urgent    M(u) L   T and each task ahead of it is chosen when its list is next. Until then at most L more
//                           urgent tasks are chosen: after L the list is overdue. 0 if none is more urgent.
//   less urgent    N(w)     of urgency w < u, which is chosen only if it is overdue: at once if it was already, and
//   then
//                           after each L choices of more urgent tasks. These are of those above, and of the urgencies
//                           x between w and u:
//                             N(w) <= 1 + (M(u) - 1 + M(u) L + sum of N(x)) / L
//
// An expired or cancelled task is chosen as any other, or ends without that; so it takes no more than its place, also
// if it runs to dispose of its payload. A task whose run defers itself takes a new place, behind T.
//
// Each run takes at most its kind's limit: those ahead that are as urgent at most theirs in sum, since they hold
// different grants; each other one the largest that it can have. In addition the engine spends at most `overhead` on
// each task that it takes in, which are those that were run and at most one for each grant that were not:
//
//   sojourn <= s(c) + max s + (sum of m(j) s(j) over the kinds of urgency u) - s(c) + M(u) L max(s above u)
//              + sum of N(w) max(s of w) + overhead (1 + M(u) - 1 + M(u) L + sum of N(w) + G)
//
// It is counted from the return of the submit; of a task with a start, or that was deferred, from when it is ready
// again. What is not in it: whatever keeps the worker's thread from running (interrupts, other threads, waking it up),
// runs that break their limit, and submitters that submit and cancel again and again: each cancellation takes up to
// `overhead`, and no choice.
#pragma once

#include <flatline/engine.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>

namespace flat::plan {

/// A set of urgencies: bit u stands for urgency u.
using Urgencies = std::uint32_t;
constexpr Urgencies every_urgency = (1U << FLAT_ENGINE_URGENCIES) - 1;

/// What the engine itself spends on a task, unless it is declared: submit, take in, choose, begin, count, give back;
/// and a look at each lane that has nothing. An assumption with room for cold caches, to be replaced by what you
/// measure on your machine: the difference between the sojourn and the service of `flatline bench engine`.
constexpr std::uint64_t usual_overhead_ns = 1000, overhead_of_lane_ns = 10;

/// A kind of payload, of one worker.
struct PayloadKind {
    std::uint64_t grants = 0;     // of all lanes together
    std::uint64_t service_ns = 0; // the limit of each run; 0: there is none
    Urgencies urgencies = every_urgency;
};

/// What can be run before an accepted task.
struct TasksBefore {
    std::uint64_t running = 1;
    std::uint64_t as_urgent = 0;
    std::uint64_t more_urgent = 0;
    std::array<std::uint64_t, FLAT_ENGINE_URGENCIES> less_urgent{}; // by urgency
    std::uint64_t all() const;
    bool operator==(const TasksBefore &) const = default;
};

struct SojournBound {
    unsigned urgency = 0;
    TasksBefore before;
    std::optional<std::uint64_t> ns;      // none: see below
    std::optional<std::size_t> unlimited; // the first kind without a limit. If there is none either, the bound exceeds
                                          // 584 years
    bool operator==(const SojournBound &) const = default;
};

/// The bound of a task of kind number `kind`, which has a grant and may have this urgency. `starvation_limit` is at
/// least 1.
SojournBound sojourn_bound(std::span<const PayloadKind> kinds, std::size_t kind, unsigned urgency,
                           unsigned starvation_limit, std::uint64_t overhead_ns);

} // namespace flat::plan
