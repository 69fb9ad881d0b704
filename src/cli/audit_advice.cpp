#include "audit_advice.hpp"

#include "audit_words.hpp"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

namespace flat::cli {
namespace {

using audit::CauseKind;
using audit::Stall;

const char *advice_on(CauseKind kind) {
    switch (kind) {
    case CauseKind::page_fault:
        return "Allocate the memory and write to it before the deadline begins. A pool is resident before its first "
               "call (flat_pool_create). Without a change to the program, `flatline run --policy latency` makes many "
               "pages resident at once, and keeps them.";
    case CauseKind::system_call:
        return "The allocator gets memory from the kernel or returns it. A pool makes no system call once it is "
               "created (flat_pool_create). Without a change to the program, `flatline run --policy latency` returns "
               "nothing to the kernel.";
    case CauseKind::lock:
        return "Threads wait for each other inside the allocator. Give each thread or core a pool of its own, with "
               "blocks that any thread may free (flat_percore_create).";
    case CauseKind::preempted:
        return "This is not the allocator: the scheduler gave the processor to another task. Use a real-time priority "
               "or an "
               "isolated processor; `flatline env` shows how this machine is set up, and `flatline bench` how it "
               "disturbs a call.";
    case CauseKind::blocked:
        return "The call waited in the kernel, as for memory to be reclaimed or a page to be read from disk. Keep "
               "memory free, and lock what the deadline needs: a region that is created locked (flat_region_create), "
               "or mlockall.";
    case CauseKind::own_work:
        return "No event of the kernel explains these. The allocator searched, merged or spun, or the machine itself "
               "was interrupted. A pool takes a bounded number of steps: `flatline plan` sizes one, and `flatline "
               "prove` shows the bound.";
    }
    return "";
}

} // namespace

std::string audit_advice(const audit::Findings &findings, const Look &look) {
    std::string text;
    for (const CauseKind kind : audit::all_causes) {
        std::uint64_t count = 0;
        double total_ns = 0;
        bool touched = false;
        for (const Stall &stall : findings.stalls) {
            if (stall.cause.kind != kind) continue;
            count += stall.count;
            total_ns += stall.total_ns;
            touched = touched || stall.operation == "first touch";
        }
        if (count == 0) continue;
        text +=
            look.dress(audit::in_words(kind), Style::strong) +
            look.dress(fmt::format(": {}, {} in total", counted(count, "time"), time_text(total_ns)), Style::faint) +
            "\n";
        std::string advice = advice_on(kind);
        if (touched)
            advice += " First touch: the site is where the block was allocated that the program then wrote to.";
        text += "  " + wrapped(advice, std::clamp<std::size_t>(look.width, 80, widest) - 2);
    }
    return text;
}

} // namespace flat::cli
