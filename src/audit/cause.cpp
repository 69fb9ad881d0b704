#include "cause.hpp"

#include "symbols/system_call_name.hpp"

#include <fmt/format.h>

namespace flat::audit {

const char *in_words(CauseKind kind) {
    switch (kind) {
    case CauseKind::page_fault: return "page fault";
    case CauseKind::system_call: return "system call";
    case CauseKind::lock: return "lock";
    case CauseKind::preempted: return "preempted";
    case CauseKind::blocked: return "blocked";
    case CauseKind::own_work: return "own work or the machine";
    }
    return "unknown";
}

std::string in_words(const Cause &cause) {
    if (cause.kind != CauseKind::system_call || cause.system_call < 0) return in_words(cause.kind);
    return fmt::format("{} {}", in_words(cause.kind), symbols::system_call_name(cause.system_call));
}

} // namespace flat::audit
