#include "cause.hpp"

#include <climits>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include <fmt/format.h>
#include <seccomp.h>

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
    return fmt::format("{} {}", in_words(cause.kind), system_call_name(cause.system_call));
}

std::string system_call_name(long number) {
    if (number >= 0 && number <= INT_MAX) {
        const std::unique_ptr<char, decltype(&std::free)> name(
            seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, static_cast<int>(number)), &std::free);
        if (name) return name.get();
    }
    return fmt::format("number {}", number);
}

} // namespace flat::audit
