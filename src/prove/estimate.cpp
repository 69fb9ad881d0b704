#include "estimate.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <string_view>

namespace flat::prove {
namespace {

constexpr std::uint64_t line_bytes = 64;

/// The bit of a register, as in Counting::writes. 0 for a register that is never written: the instruction's own
/// address, and the segments, where thread-local data lies. Nothing if the name is not known.
std::optional<std::uint32_t> bit_of(std::string_view name) {
    static constexpr std::array<std::string_view, 16> x86 = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
                                                             "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};
    if (name == "rip" || name == "fs" || name == "gs") return 0;
    if (const auto found = std::ranges::find(x86, name); found != x86.end())
        return std::uint32_t{1} << static_cast<unsigned>(found - x86.begin());
    unsigned number = 32;
    if (name.starts_with('x')) std::from_chars(name.data() + 1, name.data() + name.size(), number);
    if (number >= 32) return std::nullopt;
    return std::uint32_t{1} << number;
}

/// Calls `see` with the name of each register in an address.
template <typename See> void each_name(std::string_view address, See see) {
    static constexpr std::string_view between = ":+*";
    for (std::size_t at = 0; at < address.size();) {
        const std::size_t end = std::min(address.find_first_of(between, at), address.size());
        const std::string_view part = address.substr(at, end - at);
        if (!part.empty() && part[0] >= 'a' && part[0] <= 'z') see(part);
        at = end + 1;
    }
}

/// The registers of an address. Nothing if it may have others than those named, such as an index that only the
/// instruction's code has.
std::optional<std::uint32_t> registers_of(const std::string &address) {
    if (address.find("0x") != std::string::npos) return std::nullopt;
    std::uint32_t all = 0;
    bool known = true;
    each_name(address, [&](std::string_view name) {
        const std::optional<std::uint32_t> bit = bit_of(name);
        known = known && bit.has_value();
        all |= bit.value_or(0);
    });
    return known ? std::optional(all) : std::nullopt;
}

/// Whether an instruction accesses only the stack: through the stack pointer, or without a memory operand (push, call).
bool is_on_stack(const Instruction &instruction) {
    if (instruction.accessed.empty()) return true;
    if (!registers_of(instruction.accessed)) return false;
    bool found = false;
    each_name(instruction.accessed,
              [&found](std::string_view name) { found = found || name == "rsp" || name == "x31"; });
    return found;
}

/// The registers that may be written before the path continues with `next`: all of them if other code, whose cost is
/// stated apart, may have run in between.
std::uint32_t written_by(const Step &step, const Step *next) {
    const Instruction &instruction = step.instruction;
    const std::uint64_t then = next == nullptr ? 0 : next->instruction.address;
    switch (instruction.flow) {
    case Flow::next: return instruction.counting.writes;
    case Flow::back: return 0;
    case Flow::jump:
    case Flow::call:
        if (then == instruction.target) return 0;
        break;
    case Flow::branch: // x86-64's loop counts down, and is the only one that writes
        if ((then == instruction.target || then == instruction.end()) && !instruction.text.starts_with("loop"))
            return 0;
        break;
    default: break;
    }
    return ~std::uint32_t{0};
}

/// The data lines that a path may touch for the first time, as defined by Estimate::data_lines.
class DataLines {
  public:
    void pass(const Step &step, const Step *next) {
        const Instruction &instruction = step.instruction;
        const std::uint64_t accesses = instruction.loads + instruction.stores;
        if (is_on_stack(instruction)) {
            stack_accesses_ += step.times * accesses;
        } else if (accesses > 0) {
            lines_ += step.times * first_of(instruction, accesses, step.times == 1);
        }
        const std::uint32_t written = written_by(step, next);
        std::erase_if(seen_, [written](const auto &each) { return (each.second.registers & written) != 0; });
    }

    std::uint64_t most(std::uint64_t stack_bytes) const {
        return lines_ + std::min(stack_bytes / line_bytes + 2, stack_accesses_);
    }

  private:
    struct Seen {
        std::uint32_t registers = 0; // of the address
        std::uint64_t accesses = 0;
    };

    std::uint64_t first_of(const Instruction &instruction, std::uint64_t accesses, bool once) {
        const std::optional<std::uint32_t> registers = registers_of(instruction.accessed);
        if (!registers || !once) return accesses;
        Seen &seen = seen_.try_emplace(instruction.accessed, Seen{*registers, 0}).first->second;
        const std::uint64_t before = std::min<std::uint64_t>(seen.accesses, 2);
        seen.accesses += accesses;
        return std::min<std::uint64_t>(seen.accesses, 2) - before;
    }

    std::map<std::string, Seen> seen_; // by address; reset when one of its registers is written
    std::uint64_t lines_ = 0, stack_accesses_ = 0;
};

} // namespace

Estimate estimate_of(const std::vector<Step> &path, std::uint64_t stack_bytes, const Latencies &latencies) {
    std::set<std::uint64_t> code;
    DataLines data;
    std::uint64_t instructions = 0, loads = 0, stores = 0;
    for (std::size_t i = 0; i < path.size(); i++) {
        const Instruction &instruction = path[i].instruction;
        instructions += path[i].times;
        loads += path[i].times * instruction.loads;
        stores += path[i].times * instruction.stores;
        data.pass(path[i], i + 1 < path.size() ? &path[i + 1] : nullptr);
        const std::uint64_t last = instruction.end() - (instruction.size > 0 ? 1 : 0);
        for (std::uint64_t line = instruction.address / line_bytes; line <= last / line_bytes; line++)
            code.insert(line);
    }
    Estimate estimate;
    estimate.code_lines = code.size();
    estimate.data_lines = data.most(stack_bytes);
    // The processor does not wait for a store that hits, so the estimate is greatest if the misses are stores.
    const std::uint64_t missed_loads = estimate.data_lines - std::min(estimate.data_lines, stores);
    const auto times = [](std::uint64_t count, double ns) { return static_cast<double>(count) * ns; };
    const double work = times(instructions, latencies.instruction.ns);
    const double miss = latencies.memory.ns, walk = latencies.page_walk.ns, hit = latencies.first_level();
    estimate.best = work + times(loads, hit);
    estimate.cold = work + times(loads - missed_loads, hit) + times(estimate.data_lines + estimate.code_lines, miss);
    estimate.hostile = work + times(loads + stores + estimate.code_lines, miss + walk);
    return estimate;
}

} // namespace flat::prove
