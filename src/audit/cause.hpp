// Why a call took long.
#pragma once

#include <string>

namespace flat::audit {

enum class CauseKind { page_fault, system_call, lock, preempted, blocked, own_work };

/// In the order in which a report names them.
inline constexpr CauseKind all_causes[] = {CauseKind::page_fault, CauseKind::system_call, CauseKind::lock,
                                           CauseKind::preempted,  CauseKind::blocked,     CauseKind::own_work};

struct Cause {
    CauseKind kind = CauseKind::own_work;
    long system_call = -1; // its number, if it is one

    friend bool operator==(const Cause &, const Cause &) = default;
    friend auto operator<=>(const Cause &, const Cause &) = default;
};

/// "page fault", "system call madvise", "lock", "preempted", "blocked", "own work or the machine".
std::string in_words(const Cause &cause);

/// The kind alone: "system call" without which.
const char *in_words(CauseKind kind);

} // namespace flat::audit
