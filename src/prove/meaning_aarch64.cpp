#include "meaning.hpp"

#include <cstring>
#include <string_view>

#include <fmt/format.h>

namespace flat::prove {
namespace {

// Source: the tables of "C4 The A64 Instruction Set Encoding" in Arm's Architecture Reference Manual. A word that these
// functions recognise is what they say. Any other must be known to capstone, and must neither access memory nor branch.

constexpr unsigned register_frame = 29, register_link = 30, register_pointer = 31;

constexpr std::uint32_t bits(std::uint32_t word, unsigned high, unsigned low) {
    return word >> low & ((std::uint32_t{2} << (high - low)) - 1);
}

/// The bits `high` to `low`, as two's complement.
constexpr std::int64_t signed_bits(std::uint32_t word, unsigned high, unsigned low) {
    const std::int64_t sign = std::int64_t{1} << (high - low);
    return (static_cast<std::int64_t>(bits(word, high, low)) ^ sign) - sign;
}

constexpr bool matches(std::uint32_t word, std::uint32_t mask, std::uint32_t value) { return (word & mask) == value; }

class A64 {
  public:
    A64(std::uint32_t word, const cs_insn *insn, Instruction &to) : word_(word), insn_(insn), to_(to) {}

    void give() {
        to_.size = 4;
        if (matches(word_, 0xffff0000, 0)) {
            to_.flow = Flow::trap;
            if (insn_ == nullptr) to_.text = fmt::format("udf #{}", bits(word_, 15, 0));
        } else if (matches(word_, 0x1c000000, 0x14000000)) {
            branch_or_system();
        } else if (matches(word_, 0x0a000000, 0x08000000)) {
            load_or_store();
        } else {
            computes();
        }
        if (insn_ == nullptr && to_.text.empty()) to_.refusal = "an instruction that cannot be decoded";
    }

  private:
    void refuse(std::string_view why) { to_.refusal = why; }

    // Branches, exceptions, system instructions.

    void branch_or_system() {
        const auto to = [this](unsigned high, unsigned low) {
            to_.target = to_.address + static_cast<std::uint64_t>(signed_bits(word_, high, low) * 4);
        };
        if (matches(word_, 0x7c000000, 0x14000000)) { // b, bl
            to_.flow = (word_ >> 31) != 0 ? Flow::call : Flow::jump;
            if (to_.flow == Flow::call) to_.stack.link = StackEffect::Link::lost;
            if (to_.flow == Flow::jump) to_.counting = {Counting::Kind::none, 0, 0, 0, true};
            return to(25, 0);
        }
        if (matches(word_, 0xfe000000, 0x54000000)) { // b.cond
            to_.flow = bits(word_, 3, 1) == 7 ? Flow::jump : Flow::branch;
            to_.condition = condition_of(bits(word_, 3, 0));
            to_.counting = {Counting::Kind::none, 0, 0, 0, true};
            return to(23, 5);
        }
        if (matches(word_, 0x7e000000, 0x34000000)) { // cbz, cbnz
            to_.flow = Flow::branch;
            to_.condition = bits(word_, 24, 24) != 0 ? BranchCondition::unequal : BranchCondition::equal;
            to_.counting = {Counting::Kind::compares, first_register(), 0, 0, true};
            return to(23, 5);
        }
        if (matches(word_, 0x7e000000, 0x36000000)) { // tbz, tbnz
            to_.flow = Flow::branch;
            to_.counting = {Counting::Kind::none, 0, 0, 0, true};
            return to(18, 5);
        }
        if (matches(word_, 0xfe000000, 0xd6000000)) return to_register();
        if (matches(word_, 0xff000000, 0xd4000000)) return exception();
        if (matches(word_, 0xfffff01f, 0xd503201f)) return count(), hint();
        if (matches(word_, 0xfffff01f, 0xd503301f)) return; // dmb, dsb, isb, clrex
        if (matches(word_, 0xfff00000, 0xd5300000)) return; // mrs
        refuse("an instruction for the operating system, or one whose memory accesses are not known");
    }

    void to_register() {
        const std::uint32_t kind = bits(word_, 23, 21) & 3, which = bits(word_, 9, 5);
        static constexpr std::string_view authenticated[] = {"braa", "blraa", "retaa"}; // capstone does not know these
        if (insn_ == nullptr && kind < 3 && bits(word_, 11, 11) != 0) to_.text = authenticated[kind];
        if (kind == 0) {
            to_.flow = Flow::indirect_jump;
        } else if (kind == 1) {
            to_.flow = Flow::indirect_call;
            to_.stack.link = StackEffect::Link::lost;
        } else if (kind == 2 && (which == register_link || bits(word_, 11, 11) != 0)) { // ret, retaa, retab
            to_.flow = Flow::back;
        } else {
            to_.flow = Flow::back;
            refuse("returns through a register other than the link register");
        }
    }

    void exception() {
        const std::uint32_t kind = bits(word_, 23, 21), level = bits(word_, 1, 0);
        if (kind == 1) // brk
            to_.flow = Flow::trap;
        else
            refuse(kind == 0 && level == 1 ? "a system call" : "an instruction for the operating system");
    }

    void hint() {
        const std::uint32_t number = bits(word_, 11, 5);
        if (number == 2 || number == 3) refuse("an instruction that waits for an event"); // wfe, wfi
    }

    // Loads and stores.

    bool is_vector() const { return bits(word_, 26, 26) != 0; }
    std::uint32_t base_register() const { return bits(word_, 9, 5); }
    std::uint32_t first_register() const { return bits(word_, 4, 0); }

    void access(bool load, unsigned count) { (load ? to_.loads : to_.stores) += count; }

    void access_both() {
        to_.loads = to_.stores = 1;
        to_.atomic = true;
    }

    void load_or_store() {
        note_accessed("");
        to_.counting.keeps_flags = true;
        const bool ahead = matches(word_, 0x3b000000, 0x39000000), by_register = matches(word_, 0x3b200c00, 0x38200800);
        if (ahead || by_register) to_.counting.writes = is_load() && !is_vector() ? bit(first_register()) : 0;
        if (matches(word_, 0x3f000000, 0x08000000)) return exclusive_or_ordered();
        if (matches(word_, 0xbe000000, 0x0c000000)) return vector_structure();
        if (matches(word_, 0x3b000000, 0x18000000)) return literal();
        if (matches(word_, 0x3f200c00, 0x19000000))
            return access(bits(word_, 23, 22) != 0, 1), loses(first_register()); // ldapur, stlur
        if (matches(word_, 0x3a000000, 0x28000000)) return pair();
        if (matches(word_, 0x3b200c00, 0x38200000)) return atomic();
        if (matches(word_, 0x3b200c00, 0x38200800)) return one(0, 0);
        if (matches(word_, 0x3b200000, 0x38000000)) return one_near();
        if (matches(word_, 0x3b000000, 0x39000000)) return one_ahead();
        refuse("an instruction whose memory accesses are not known");
    }

    void exclusive_or_ordered() {
        const bool o2 = bits(word_, 23, 23), load = bits(word_, 22, 22), o1 = bits(word_, 21, 21);
        if (o2 && !o1) { // stlr, ldar and the like
            access(load, 1);
        } else if (o1 && (o2 || bits(word_, 31, 31) == 0)) { // cas, casp
            access_both();
            to_.compares = true;
            if (!o2) to_.loads = to_.stores = 2;
            name_unknown(o2 ? "cas" : "casp");
        } else { // stxr, ldxr, stxp, ldxp
            access(load, o1 ? 2 : 1);
            to_.exclusive = true;
        }
        loses(first_register());
        loses(bits(word_, 14, 10));
        loses(bits(word_, 20, 16));
    }

    void atomic() {
        const bool o3 = bits(word_, 15, 15);
        const std::uint32_t operation = bits(word_, 14, 12);
        static constexpr std::string_view names[] = {"ldadd",  "ldclr",  "ldeor",  "ldset",
                                                     "ldsmax", "ldsmin", "ldumax", "ldumin"};
        loses(first_register());
        if (is_vector()) return refuse("an instruction whose memory accesses are not known");
        if (o3 && operation == 4) return access(true, 1), name_unknown("ldapr");
        if (o3 && operation != 0) return refuse("an instruction whose memory accesses are not known");
        access_both();
        name_unknown(o3 ? "swp" : names[operation]);
    }

    /// Gives an instruction that capstone cannot decode its name and registers.
    void name_unknown(std::string_view name) {
        if (insn_ != nullptr) return;
        to_.text = fmt::format("{} x{}, x{}, [x{}]", name, bits(word_, 20, 16), first_register(), base_register());
    }

    void vector_structure() {
        const bool load = bits(word_, 22, 22) != 0, single = bits(word_, 24, 24) != 0,
                   writes_back = bits(word_, 23, 23) != 0;
        const std::uint32_t operation = bits(word_, 15, 12);
        if (single) {
            access(load, ((bits(word_, 13, 13) << 1) | bits(word_, 21, 21)) + 1);
        } else {
            const unsigned registers = operation == 7                      ? 1
                                       : operation == 8 || operation == 10 ? 2
                                       : operation == 4 || operation == 6  ? 3
                                                                           : 4;
            access(load, registers);
        }
        if (writes_back && base_register() == register_pointer) to_.stack.pointer = StackEffect::Pointer::lost;
        if (writes_back) loses(base_register());
    }

    void literal() {
        access(true, 1);
        if (!is_vector()) loses(first_register());
    }

    void pair() {
        const bool load = bits(word_, 22, 22) != 0;
        const std::uint32_t kind = bits(word_, 24, 23),
                            size = bits(word_, 31, 30); // 0 and 2: offset, 1: post-index, 3: pre-index
        const unsigned each = is_vector() ? 4U << size : size == 2 ? 8 : 4;
        const std::int64_t by = signed_bits(word_, 21, 15) * each;
        access(load, 2);
        note_accessed(fmt::format("{}", by >> 6));
        addressed(load, kind == 1 || kind == 3, by, kind == 1 ? 0 : by, {first_register(), bits(word_, 14, 10)}, each);
    }

    unsigned scale() const {
        const bool wide = is_vector() && bits(word_, 23, 23) != 0;
        return wide ? 4 : bits(word_, 31, 30);
    }

    bool is_load() const { return is_vector() ? bits(word_, 22, 22) != 0 : bits(word_, 23, 22) != 0; }

    void one(std::int64_t by, std::int64_t offset, bool writes_back = false) {
        access(is_load(), 1);
        const bool prefetches = !is_vector() && bits(word_, 31, 30) == 3 && bits(word_, 23, 22) == 2;
        if (prefetches) return;
        const bool known_place = bits(word_, 24, 24) != 0 || bits(word_, 21, 21) == 0;
        if (known_place)
            addressed(is_load(), writes_back, by, offset, {first_register(), register_pointer}, 1U << scale());
        else if (is_load() && !is_vector())
            loses(first_register());
    }

    /// A displacement of nine bits: unscaled, post-index, unprivileged, pre-index.
    void one_near() {
        const std::uint32_t kind = bits(word_, 11, 10);
        const std::int64_t by = signed_bits(word_, 20, 12);
        note_accessed(fmt::format("{}", (kind == 1 ? 0 : by) >> 6));
        one(by, kind == 1 ? 0 : by, kind == 1 || kind == 3);
    }

    void one_ahead() {
        const std::int64_t by = static_cast<std::int64_t>(bits(word_, 21, 10)) << scale();
        note_accessed(fmt::format("{}", by >> 6));
        one(by, by);
    }

    struct Registers {
        std::uint32_t first, second; // `register_pointer`: none, or zero
    };

    /// Loads or stores one or two registers at a constant displacement from the base, which may be updated.
    void addressed(bool load, bool writes_back, std::int64_t by, std::int64_t offset, Registers registers,
                   unsigned each) {
        const std::uint32_t from = base_register();
        const Base base = from == register_pointer ? Base::pointer : from == register_frame ? Base::frame : Base::none;
        if (writes_back && from == register_pointer) {
            to_.stack.pointer = StackEffect::Pointer::moved;
            to_.stack.pointer_by = by;
        } else if (writes_back) {
            loses(from);
        }
        const bool first = registers.first == register_link, second = registers.second == register_link;
        if (load && !is_vector()) {
            if ((first || second) && base == Base::pointer) {
                to_.stack.link = StackEffect::Link::restored;
                to_.stack.link_slot = {base, offset + (first ? 0 : each), each};
            } else {
                loses(registers.first);
                loses(registers.second);
            }
            if (registers.first == register_frame || registers.second == register_frame)
                to_.stack.frame = StackEffect::Frame::lost;
        } else if (!load && base != Base::none) {
            const unsigned pair = matches(word_, 0x3a000000, 0x28000000) ? 2 : 1;
            to_.stack.written = {base, offset, each * pair};
            if ((first || second) && !is_vector() && base == Base::pointer) {
                to_.stack.link = StackEffect::Link::saved;
                to_.stack.link_slot = {base, offset + (first ? 0 : each), each};
            }
        }
    }

    void note_accessed(std::string_view line) {
        to_.accessed =
            fmt::format("x{}+{}", base_register(), line.empty() ? fmt::format("{:#x}", word_) : std::string(line));
    }

    /// The instruction writes an untracked value to a general register.
    void loses(std::uint32_t which) {
        if (which == register_frame) to_.stack.frame = StackEffect::Frame::lost;
        if (which == register_link) to_.stack.link = StackEffect::Link::lost;
    }

    static BranchCondition condition_of(std::uint32_t code) {
        switch (code) {
        case 0: return BranchCondition::equal;
        case 1: return BranchCondition::unequal;
        case 2:
        case 10: return BranchCondition::greater_or_equal;
        case 3:
        case 11: return BranchCondition::less;
        case 8:
        case 12: return BranchCondition::greater;
        case 9:
        case 13: return BranchCondition::less_or_equal;
        default: return BranchCondition::other;
        }
    }

    /// Instructions that may count the rounds of a loop: additions of and comparisons with a constant, and constants.
    /// An instruction in any other form may write every register, unless it writes no general one.
    void count() {
        Counting &counting = to_.counting;
        const std::uint32_t to = first_register(), from = base_register();
        const bool sets_flags = bits(word_, 29, 29) != 0, subtracts = bits(word_, 30, 30) != 0;
        if (matches(word_, 0xfffff01f, 0xd503201f)) counting = {Counting::Kind::none, 0, 0, 0, true}; // nop
        if (matches(word_, 0x7f800000, 0x52800000) && bits(word_, 22, 21) == 0)                       // movz
            counting = {Counting::Kind::sets, to, bits(word_, 20, 5), bit(to), true};
        if (!matches(word_, 0x1f000000, 0x11000000) || bits(word_, 23, 22) != 0) return; // add, sub
        const std::int64_t amount = bits(word_, 21, 10), by = subtracts ? -amount : amount;
        const bool compares = sets_flags && subtracts && to == register_pointer;
        if (compares)
            counting = {Counting::Kind::compares, from, amount, 0, false};
        else if (to == from && to != register_pointer)
            counting = {Counting::Kind::adds, to, by, bit(to), !sets_flags};
        else
            counting = {Counting::Kind::none, 0, 0, to == register_pointer ? 0 : bit(to), !sets_flags};
    }

    static constexpr std::uint32_t bit(std::uint32_t reg) { return std::uint32_t{1} << reg; }

    // All other instructions: neither memory nor branches.

    void computes() {
        if (insn_ == nullptr) return;
        count();
        const std::uint32_t to = first_register(), from = base_register();
        const bool adds = matches(word_, 0x9f800000, 0x91000000) && bits(word_, 29, 29) == 0; // 64 bits, no flags
        if (adds && (to == register_pointer || to == register_frame)) return adds_to(to, from);
        const bool extends = matches(word_, 0x1fe00000, 0x0b200000), masks = matches(word_, 0x1f800000, 0x12000000);
        const bool adds_any = matches(word_, 0x1f800000, 0x11000000);
        const bool sets_flags = bits(word_, 29, 29) != 0;
        const bool may_be_pointer = ((extends || adds_any) && !sets_flags) || (masks && bits(word_, 30, 29) != 3);
        if (may_be_pointer && to == register_pointer) to_.stack.pointer = StackEffect::Pointer::lost;
        const cs_arm64 &detail = insn_->detail->arm64;
        if (detail.op_count == 0 || detail.operands[0].type != ARM64_OP_REG) return;
        const arm64_reg reg = detail.operands[0].reg;
        if (reg == ARM64_REG_X29 || reg == ARM64_REG_W29 || reg == ARM64_REG_FP)
            to_.stack.frame = StackEffect::Frame::lost;
        if (reg == ARM64_REG_X30 || reg == ARM64_REG_W30 || reg == ARM64_REG_LR)
            to_.stack.link = StackEffect::Link::lost;
    }

    void adds_to(std::uint32_t to, std::uint32_t from) {
        const std::int64_t amount = static_cast<std::int64_t>(bits(word_, 21, 10))
                                    << (bits(word_, 22, 22) != 0 ? 12 : 0);
        const std::int64_t by = bits(word_, 30, 30) != 0 ? -amount : amount;
        StackEffect &stack = to_.stack;
        if (to == register_pointer && from == register_pointer) {
            stack.pointer = StackEffect::Pointer::moved;
            stack.pointer_by = by;
        } else if (to == register_pointer && from == register_frame) {
            stack.pointer = StackEffect::Pointer::from_frame;
            stack.pointer_by = by;
        } else if (to == register_pointer) {
            stack.pointer = StackEffect::Pointer::lost;
        } else if (from == register_pointer) {
            stack.frame = StackEffect::Frame::from_pointer;
            stack.frame_by = by;
        } else {
            stack.frame = StackEffect::Frame::lost;
        }
    }

    std::uint32_t word_;
    const cs_insn *insn_;
    Instruction &to_;
};

} // namespace

void give_meaning_aarch64(std::span<const std::byte> code, const cs_insn *insn, Instruction &instruction) {
    std::uint32_t word = 0;
    if (code.size() < sizeof word) {
        instruction.refusal = "an instruction that cannot be decoded";
        return;
    }
    std::memcpy(&word, code.data(), sizeof word);
    A64(word, insn, instruction).give();
}

} // namespace flat::prove
