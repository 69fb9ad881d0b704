#include "system_call_name.hpp"

#include <climits>
#include <cstdlib>
#include <memory>

#include <fmt/format.h>
#include <seccomp.h>

namespace flat::symbols {

std::string system_call_name(long number) {
    if (number >= 0 && number <= INT_MAX) {
        const std::unique_ptr<char, decltype(&std::free)> name(
            seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, static_cast<int>(number)), &std::free);
        if (name) return name.get();
    }
    return fmt::format("number {}", number);
}

} // namespace flat::symbols
