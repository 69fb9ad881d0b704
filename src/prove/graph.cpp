#include "graph.hpp"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

namespace flat::prove {
namespace {

/// So much code would not be read by anyone either.
constexpr std::size_t most_instructions = 200'000;

/// Functions that end the program or the path, by their standards.
constexpr std::string_view never_return[] = {"abort",
                                             "exit",
                                             "_exit",
                                             "_Exit",
                                             "quick_exit",
                                             "pthread_exit",
                                             "longjmp",
                                             "siglongjmp",
                                             "__longjmp_chk",
                                             "__assert_fail",
                                             "__assert",
                                             "__assert_perror_fail",
                                             "__stack_chk_fail",
                                             "__chk_fail",
                                             "__fortify_fail",
                                             "__cxa_throw",
                                             "__cxa_rethrow",
                                             "__cxa_bad_cast",
                                             "__cxa_pure_virtual",
                                             "__cxa_throw_bad_array_new_length",
                                             "_Unwind_Resume",
                                             "_ZSt9terminatev",
                                             "_ZSt17__throw_bad_allocv",
                                             "_ZSt20__throw_length_errorPKc",
                                             "_ZSt24__throw_out_of_range_fmtPKcz"};

bool is_outlined_atomic(std::string_view name) {
    for (const std::string_view operation : {"cas", "swp", "ldadd", "ldclr", "ldeor", "ldset"})
        if (name.starts_with("__aarch64_") && name.substr(10).starts_with(operation)) return true;
    return false;
}

class Walk {
  public:
    Walk(const Binary &binary, const Decoder &decoder, const Rules &rules, const Returns &returns)
        : binary_(binary), decoder_(decoder), rules_(rules), returns_(returns), hands_over_left_(rules.hands_over) {}

    Graph graph_from(std::uint64_t entry) {
        leaders_.insert(entry);
        todo_ = {entry};
        while (!todo_.empty()) {
            const std::uint64_t address = todo_.back();
            todo_.pop_back();
            if (steps_.contains(address)) continue;
            if (steps_.size() == most_instructions) {
                refuse(address, fmt::format("more than {} instructions can be reached", most_instructions));
                break;
            }
            visit(address);
        }
        return blocks_from(entry);
    }

  private:
    struct Step {
        Instruction instruction;
        std::vector<std::uint64_t> next;
        std::optional<std::uint64_t> callee;
        End end = End::goes_on;
    };

    void refuse(std::uint64_t address, std::string why) { graph_.refusals.push_back({address, std::move(why)}); }
    void assume(std::uint64_t address, std::string what) { graph_.assumptions.push_back({address, std::move(what)}); }

    void visit(std::uint64_t address) {
        const std::span<const std::byte> code = binary_.code_at(address);
        if (code.empty()) return refuse(address, "a path leaves the code of the file");
        Step step;
        step.instruction = decoder_.decode(address, code);
        const Instruction &instruction = step.instruction;
        if (!instruction.refusal.empty())
            refuse(address, fmt::format("{}: {}", instruction.refusal,
                                        instruction.text.empty() ? bytes_of(code) : instruction.text));
        if (instruction.size == 0) return void(steps_.emplace(address, std::move(step)));
        if (overlaps(instruction)) return refuse(address, "a path jumps into the middle of another instruction");
        follow(step);
        for (const std::uint64_t next : step.next) todo_.push_back(next);
        if (step.next.size() != 1 || step.next[0] != instruction.end() || step.callee)
            leaders_.insert(step.next.begin(), step.next.end());
        steps_.emplace(address, std::move(step));
    }

    static std::string bytes_of(std::span<const std::byte> code) {
        std::string text = "the bytes";
        for (std::size_t i = 0; i < std::min<std::size_t>(code.size(), 4); i++)
            text += fmt::format(" {:02x}", static_cast<unsigned>(code[i]));
        return text;
    }

    bool overlaps(const Instruction &instruction) const {
        const auto after = steps_.lower_bound(instruction.address);
        if (after != steps_.end() && after->first < instruction.end()) return true;
        return after != steps_.begin() && std::prev(after)->second.instruction.end() > instruction.address;
    }

    void follow(Step &step) {
        const Instruction &instruction = step.instruction;
        switch (instruction.flow) {
        case Flow::next: step.next = {instruction.end()}; break;
        case Flow::branch: step.next = {instruction.end(), instruction.target}; break;
        case Flow::back: step.end = End::back; break;
        case Flow::trap: step.end = End::error; break;
        case Flow::jump: jump(step); break;
        case Flow::call: call(step); break;
        case Flow::indirect_jump: indirect_jump(step); break;
        case Flow::indirect_call: indirect_call(step); break;
        }
        if (step.next.size() == 2 && step.next[0] == step.next[1]) step.next.pop_back();
    }

    /// The name that the rules and the tables may know `address` by, or empty.
    std::string_view name_at(std::uint64_t address) const {
        const Symbol *symbol = binary_.function_at(address);
        return symbol == nullptr ? std::string_view() : symbol->name;
    }

    /// What `address` holds, if all it does is go on where a slot says: an entry of the procedure linkage table.
    const Import *import_behind(std::uint64_t address) const {
        std::uint64_t page = 0;
        for (unsigned i = 0; i < 5; i++) {
            const std::span<const std::byte> code = binary_.code_at(address);
            if (code.empty()) return nullptr;
            const Instruction instruction = decoder_.decode(address, code);
            if (instruction.size == 0) return nullptr;
            if (instruction.flow == Flow::indirect_jump) return binary_.import_at(page != 0 ? page : instruction.slot);
            if (binary_.machine() == Machine::x86_64) {
                if (!instruction.text.starts_with("endbr64")) return nullptr;
            } else if (const std::optional<std::uint64_t> slot = slot_of(code, address, page)) {
                page = *slot;
            }
            address = instruction.end();
        }
        return nullptr;
    }

    /// Of adrp x16, PAGE and ldr x17, [x16, OFFSET]: what x16, then both together name. Anything but these, bti and
    /// add x16 is no entry of such a table.
    static std::optional<std::uint64_t> slot_of(std::span<const std::byte> code, std::uint64_t address,
                                                std::uint64_t page) {
        std::uint32_t word = 0;
        if (code.size() < 4) return std::nullopt;
        std::copy_n(code.begin(), 4, reinterpret_cast<std::byte *>(&word));
        if ((word & 0x9f00001f) == 0x90000010) { // adrp x16
            std::int64_t pages = static_cast<std::int64_t>((word >> 5 & 0x7ffff) << 2 | (word >> 29 & 3));
            if ((pages & 0x100000) != 0) pages -= 0x200000;
            return (address & ~std::uint64_t{4095}) + static_cast<std::uint64_t>(pages * 4096);
        }
        if ((word & 0xffc003ff) == 0xf9400211) return page + (word >> 10 & 0xfff) * 8; // ldr x17, [x16, ...]
        return std::nullopt;
    }

    bool is_apart(std::string_view name) const { return rules_.apart.contains(name); }

    /// Where a function of another file, or one that a resolver picks, is called or jumped to. True where the path goes
    /// on after the call.
    bool leave(Step &step, std::string_view name, const Import *import, bool is_call) {
        const Instruction &instruction = step.instruction;
        if (std::ranges::find(never_return, name) != std::end(never_return)) {
            step.end = End::error;
            return false;
        }
        if (is_apart(name)) {
            assume(instruction.address, fmt::format("{} is counted as the one instruction that calls it", name));
            if (!is_call) step.end = End::elsewhere;
            return is_call;
        }
        if (is_outlined_atomic(name))
            refuse(instruction.address,
                   fmt::format("calls {}, an outlined atomic, which may loop: compile for a machine "
                               "that has these instructions (-march=armv8.1-a)",
                               name));
        else if (import != nullptr && import->is_resolver)
            refuse(instruction.address, fmt::format("calls {}, which is picked when the program starts", name));
        else if (import != nullptr && import->is_defined_here)
            refuse(instruction.address,
                   fmt::format("calls {} through the procedure linkage table, where another file may "
                               "take its place: link with -Bsymbolic-functions",
                               name));
        else
            refuse(instruction.address, fmt::format("calls {}, which is not in this file", name));
        return is_call;
    }

    void jump(Step &step) {
        const std::uint64_t target = step.instruction.target;
        if (const Import *import = import_behind(target)) return void(leave(step, import->name, import, false));
        if (const std::string_view name = name_at(target); is_special(target, name))
            return void(leave(step, name, nullptr, false));
        step.next = {target};
    }

    bool is_special(std::uint64_t target, std::string_view name) const {
        const Symbol *symbol = binary_.function_at(target);
        return std::ranges::find(never_return, name) != std::end(never_return) || is_apart(name) ||
               is_outlined_atomic(name) || (symbol != nullptr && symbol->is_resolver);
    }

    void call(Step &step) {
        const std::uint64_t target = step.instruction.target, behind = step.instruction.end();
        if (const Import *import = import_behind(target)) {
            if (leave(step, import->name, import, true)) step.next = {behind};
            return;
        }
        if (const std::string_view name = name_at(target); is_special(target, name)) {
            if (leave(step, name, nullptr, true)) step.next = {behind};
            return;
        }
        step.callee = target;
        if (returns_(target))
            step.next = {behind};
        else
            step.end = End::error;
    }

    void indirect_jump(Step &step) {
        const Instruction &instruction = step.instruction;
        if (const Import *import = instruction.slot == 0 ? nullptr : binary_.import_at(instruction.slot))
            return void(leave(step, import->name, import, false));
        if (hands_over_left_ > 0) {
            hands_over_left_--;
            step.end = End::elsewhere;
            return assume(instruction.address, "goes on in code that its caller named, which is not counted");
        }
        refuse(instruction.address, fmt::format("jumps where a register or memory says: {}", instruction.text));
    }

    void indirect_call(Step &step) {
        const Instruction &instruction = step.instruction;
        bool goes_on = true;
        if (const Import *import = instruction.slot == 0 ? nullptr : binary_.import_at(instruction.slot))
            goes_on = leave(step, import->name, import, true);
        else
            refuse(instruction.address, fmt::format("calls what a register or memory says: {}", instruction.text));
        if (goes_on) step.next = {instruction.end()};
    }

    Graph blocks_from(std::uint64_t entry) {
        std::map<std::uint64_t, std::size_t> numbers;
        std::vector<std::uint64_t> starts = {entry};
        numbers[entry] = 0;
        for (const std::uint64_t leader : leaders_)
            if (leader != entry && steps_.contains(leader)) {
                numbers[leader] = starts.size();
                starts.push_back(leader);
            }
        for (const std::uint64_t start : starts) {
            Block block;
            for (auto at = steps_.find(start); at != steps_.end();) {
                Step &step = at->second;
                block.instructions.push_back(std::move(step.instruction));
                const std::uint64_t behind = block.last().end();
                const bool ends =
                    step.next.size() != 1 || step.next[0] != behind || step.callee || leaders_.contains(behind);
                if (!ends) {
                    at = steps_.find(behind);
                    continue;
                }
                block.callee = step.callee;
                block.end = step.end;
                for (const std::uint64_t next : step.next)
                    if (numbers.contains(next)) block.next.push_back(numbers[next]);
                break;
            }
            if (!block.instructions.empty()) graph_.blocks.push_back(std::move(block));
        }
        return std::move(graph_);
    }

    const Binary &binary_;
    const Decoder &decoder_;
    const Rules &rules_;
    const Returns &returns_;
    unsigned hands_over_left_;
    std::map<std::uint64_t, Step> steps_;
    std::set<std::uint64_t> leaders_;
    std::vector<std::uint64_t> todo_;
    Graph graph_;
};

} // namespace

Graph graph_of(const Binary &binary, const Decoder &decoder, std::uint64_t entry, const Rules &rules,
               const Returns &returns) {
    return Walk(binary, decoder, rules, returns).graph_from(entry);
}

} // namespace flat::prove
