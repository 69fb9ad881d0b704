#include "meaning.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include <Zydis/Zydis.h>
#include <fmt/format.h>

namespace flat::prove {
namespace {

constexpr unsigned register_count = 1, register_pointer = 4, register_frame = 5; // rcx, rsp, rbp

// Instructions of these categories only compute, and access only the memory that their operands name.
constexpr ZydisInstructionCategory computing[] = {ZYDIS_CATEGORY_ADOX_ADCX,   ZYDIS_CATEGORY_AES,
                                                  ZYDIS_CATEGORY_AVX,         ZYDIS_CATEGORY_AVX2,
                                                  ZYDIS_CATEGORY_AVX512,      ZYDIS_CATEGORY_AVX512_BITALG,
                                                  ZYDIS_CATEGORY_AVX512_VBMI, ZYDIS_CATEGORY_AVX512_VP2INTERSECT,
                                                  ZYDIS_CATEGORY_BINARY,      ZYDIS_CATEGORY_BITBYTE,
                                                  ZYDIS_CATEGORY_BLEND,       ZYDIS_CATEGORY_BMI1,
                                                  ZYDIS_CATEGORY_BMI2,        ZYDIS_CATEGORY_BROADCAST,
                                                  ZYDIS_CATEGORY_CMOV,        ZYDIS_CATEGORY_COMPRESS,
                                                  ZYDIS_CATEGORY_CONFLICT,    ZYDIS_CATEGORY_CONVERT,
                                                  ZYDIS_CATEGORY_DATAXFER,    ZYDIS_CATEGORY_EXPAND,
                                                  ZYDIS_CATEGORY_FCMOV,       ZYDIS_CATEGORY_FLAGOP,
                                                  ZYDIS_CATEGORY_FMA4,        ZYDIS_CATEGORY_FP16,
                                                  ZYDIS_CATEGORY_GFNI,        ZYDIS_CATEGORY_IFMA,
                                                  ZYDIS_CATEGORY_KMASK,       ZYDIS_CATEGORY_LOGICAL,
                                                  ZYDIS_CATEGORY_LOGICAL_FP,  ZYDIS_CATEGORY_LZCNT,
                                                  ZYDIS_CATEGORY_MMX,         ZYDIS_CATEGORY_MOVDIR,
                                                  ZYDIS_CATEGORY_PCLMULQDQ,   ZYDIS_CATEGORY_POP,
                                                  ZYDIS_CATEGORY_PREFETCH,    ZYDIS_CATEGORY_PREFETCHWT1,
                                                  ZYDIS_CATEGORY_PUSH,        ZYDIS_CATEGORY_RDPID,
                                                  ZYDIS_CATEGORY_RDRAND,      ZYDIS_CATEGORY_RDSEED,
                                                  ZYDIS_CATEGORY_ROTATE,      ZYDIS_CATEGORY_SEMAPHORE,
                                                  ZYDIS_CATEGORY_SETCC,       ZYDIS_CATEGORY_SHA,
                                                  ZYDIS_CATEGORY_SHIFT,       ZYDIS_CATEGORY_SSE,
                                                  ZYDIS_CATEGORY_STTNI,       ZYDIS_CATEGORY_TBM,
                                                  ZYDIS_CATEGORY_VAES,        ZYDIS_CATEGORY_VBMI2,
                                                  ZYDIS_CATEGORY_VEX,         ZYDIS_CATEGORY_VFMA,
                                                  ZYDIS_CATEGORY_VPCLMULQDQ,  ZYDIS_CATEGORY_X87_ALU,
                                                  ZYDIS_CATEGORY_XOP,         ZYDIS_CATEGORY_CLFLUSHOPT,
                                                  ZYDIS_CATEGORY_CLWB,        ZYDIS_CATEGORY_CLDEMOTE,
                                                  ZYDIS_CATEGORY_AVX2GATHER,  ZYDIS_CATEGORY_GATHER,
                                                  ZYDIS_CATEGORY_SCATTER,     ZYDIS_CATEGORY_STRINGOP};

// Such instructions of other categories.
constexpr ZydisMnemonic computing_too[] = {
    ZYDIS_MNEMONIC_LEA,    ZYDIS_MNEMONIC_LEAVE,  ZYDIS_MNEMONIC_PAUSE,  ZYDIS_MNEMONIC_MFENCE, ZYDIS_MNEMONIC_LFENCE,
    ZYDIS_MNEMONIC_SFENCE, ZYDIS_MNEMONIC_RDTSC,  ZYDIS_MNEMONIC_RDTSCP, ZYDIS_MNEMONIC_XGETBV, ZYDIS_MNEMONIC_CLFLUSH,
    ZYDIS_MNEMONIC_XLAT,   ZYDIS_MNEMONIC_RDSSPD, ZYDIS_MNEMONIC_RDSSPQ};

// These neither read nor write the memory that they name.
constexpr ZydisMnemonic without_access[] = {ZYDIS_MNEMONIC_NOP, ZYDIS_MNEMONIC_ENDBR64, ZYDIS_MNEMONIC_ENDBR32};

// In the categories above, but these access more than their operand says, or change the meaning of the operands of
// other instructions.
constexpr ZydisMnemonic not_in_the_table[] = {
    ZYDIS_MNEMONIC_ENTER,   ZYDIS_MNEMONIC_FNSAVE,   ZYDIS_MNEMONIC_FRSTOR,
    ZYDIS_MNEMONIC_FLDENV,  ZYDIS_MNEMONIC_FNSTENV,  ZYDIS_MNEMONIC_FXSAVE,
    ZYDIS_MNEMONIC_FXRSTOR, ZYDIS_MNEMONIC_FXSAVE64, ZYDIS_MNEMONIC_FXRSTOR64};

constexpr ZydisInstructionCategory systems[] = {ZYDIS_CATEGORY_SYSCALL, ZYDIS_CATEGORY_INTERRUPT};

template <typename List, typename Item> bool is_in(const List &list, Item item) {
    return std::ranges::find(list, item) != std::end(list);
}

/// The number of the general register that `reg` is or is a part of.
std::optional<unsigned> number_of(ZydisRegister reg) {
    const ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
    if (whole < ZYDIS_REGISTER_RAX || whole > ZYDIS_REGISTER_R15) return std::nullopt;
    return static_cast<unsigned>(whole - ZYDIS_REGISTER_RAX);
}

bool is_high_byte(ZydisRegister reg) { return reg >= ZYDIS_REGISTER_AH && reg <= ZYDIS_REGISTER_BH; }

constexpr std::uint32_t bit(unsigned reg) { return std::uint32_t{1} << reg; }

/// Translates one instruction.
class X86 {
  public:
    X86(const ZydisDecodedInstruction &decoded, std::span<const ZydisDecodedOperand> operands, Instruction &to)
        : decoded_(decoded), mnemonic_(decoded.mnemonic), operands_(operands), to_(to) {}

    void give() {
        if (flow()) return;
        if (is_refused()) return;
        accesses();
        follow_values();
        stack();
        count();
    }

  private:
    bool is(ZydisMnemonic mnemonic) const { return mnemonic_ == mnemonic; }
    bool has(std::uint64_t attribute) const { return (decoded_.attributes & attribute) != 0; }
    std::span<const ZydisDecodedOperand> written_out() const { return operands_.first(decoded_.operand_count_visible); }
    static bool reads(const ZydisDecodedOperand &operand) {
        return (operand.actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
    }
    static bool writes(const ZydisDecodedOperand &operand) {
        return (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
    }
    static bool is_memory(const ZydisDecodedOperand &operand) { return operand.type == ZYDIS_OPERAND_TYPE_MEMORY; }

    void refuse(std::string_view why) { to_.refusal = why; }
    void refuse_unlisted() {
        to_.refusal = fmt::format("an instruction whose memory accesses are not known ({})",
                                  ZydisISASetGetString(decoded_.meta.isa_set));
    }

    /// Jumps, calls and returns. True if the instruction needs no further treatment.
    bool flow() {
        if (is(ZYDIS_MNEMONIC_RET)) return back(), true;
        static constexpr ZydisMnemonic traps[] = {ZYDIS_MNEMONIC_UD0, ZYDIS_MNEMONIC_UD1, ZYDIS_MNEMONIC_UD2,
                                                  ZYDIS_MNEMONIC_INT3, ZYDIS_MNEMONIC_HLT};
        if (is_in(traps, mnemonic_)) {
            to_.flow = Flow::trap;
            if (is(ZYDIS_MNEMONIC_HLT)) refuse("an instruction for the operating system, or one that it may intercept");
            return true;
        }
        if (decoded_.meta.category == ZYDIS_CATEGORY_RET || decoded_.meta.category == ZYDIS_CATEGORY_SYSRET) {
            to_.flow = Flow::back; // from an interrupt or from the operating system
            return refuse("an instruction for the operating system, or one that it may intercept"), true;
        }
        if (is(ZYDIS_MNEMONIC_XBEGIN)) {
            to_.flow = Flow::branch;
            to_.target = target_of(operands_[0]);
            return refuse("a transaction, which other processors can make fail"), true;
        }
        const bool calls = is(ZYDIS_MNEMONIC_CALL), jumps = is(ZYDIS_MNEMONIC_JMP);
        const bool branches =
            decoded_.meta.category == ZYDIS_CATEGORY_COND_BR && !is(ZYDIS_MNEMONIC_XEND) && !is(ZYDIS_MNEMONIC_XABORT);
        if (!calls && !jumps && !branches) return false;
        const ZydisDecodedOperand &where = operands_[0];
        const bool constant = where.type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
        to_.flow = Flow::indirect_jump;
        if (decoded_.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR || where.type == ZYDIS_OPERAND_TYPE_POINTER)
            return refuse("a far jump"), true;
        if (decoded_.operand_width == 16) return refuse("a jump within 64 KiB"), true;
        if (constant) to_.target = target_of(where);
        to_.operands[0] = operand_of(where);
        to_.flow = branches   ? Flow::branch
                   : calls    ? (constant ? Flow::call : Flow::indirect_call)
                   : constant ? Flow::jump
                              : Flow::indirect_jump;
        if (calls) {
            to_.stores = 1;
            to_.stack.written = {Base::pointer, -8, 8}; // the return address
        }
        if (branches) condition();
        const bool counts_down = is(ZYDIS_MNEMONIC_LOOP) || is(ZYDIS_MNEMONIC_LOOPE) || is(ZYDIS_MNEMONIC_LOOPNE);
        if (!calls) to_.counting = {Counting::Kind::none, 0, 0, counts_down ? bit(register_count) : 0, true};
        if (is_memory(where)) jumps_by_memory(where.mem);
        return true;
    }

    void back() {
        to_.flow = Flow::back;
        to_.loads = 1;
        to_.counting = {Counting::Kind::none, 0, 0, 0, true};
        if (!written_out().empty()) refuse("a return that takes arguments off the stack");
        if (decoded_.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR) refuse("a far return");
    }

    std::uint64_t target_of(const ZydisDecodedOperand &operand) const {
        return operand.imm.is_relative ? to_.end() + operand.imm.value.u : operand.imm.value.u;
    }

    void jumps_by_memory(const ZydisDecodedOperandMem &memory) {
        to_.loads += 1;
        note_accessed(memory);
        if (memory.base == ZYDIS_REGISTER_RIP && memory.index == ZYDIS_REGISTER_NONE && !is_thread_local(memory))
            to_.slot = to_.end() + static_cast<std::uint64_t>(memory.disp.value);
    }

    void condition() {
        struct Named {
            ZydisMnemonic mnemonic;
            BranchCondition condition;
            bool is_unsigned;
        };
        static constexpr Named named[] = {{ZYDIS_MNEMONIC_JZ, BranchCondition::equal, true},
                                          {ZYDIS_MNEMONIC_JNZ, BranchCondition::unequal, true},
                                          {ZYDIS_MNEMONIC_JB, BranchCondition::less, true},
                                          {ZYDIS_MNEMONIC_JL, BranchCondition::less, false},
                                          {ZYDIS_MNEMONIC_JBE, BranchCondition::less_or_equal, true},
                                          {ZYDIS_MNEMONIC_JLE, BranchCondition::less_or_equal, false},
                                          {ZYDIS_MNEMONIC_JNBE, BranchCondition::greater, true},
                                          {ZYDIS_MNEMONIC_JNLE, BranchCondition::greater, false},
                                          {ZYDIS_MNEMONIC_JNB, BranchCondition::greater_or_equal, true},
                                          {ZYDIS_MNEMONIC_JNL, BranchCondition::greater_or_equal, false}};
        for (const Named &each : named)
            if (is(each.mnemonic)) {
                to_.condition = each.condition;
                to_.compares_unsigned = each.is_unsigned;
            }
    }

    /// Refuses system calls, instructions that wait or repeat, and unknown ones.
    bool is_refused() {
        const ZydisInstructionCategory category = decoded_.meta.category;
        if (is_in(systems, category)) return refuse("a system call"), true;
        if (has(ZYDIS_ATTRIB_IS_PRIVILEGED) || is(ZYDIS_MNEMONIC_CPUID) || category == ZYDIS_CATEGORY_SYSTEM ||
            category == ZYDIS_CATEGORY_IO || category == ZYDIS_CATEGORY_IOSTRINGOP || category == ZYDIS_CATEGORY_SYSRET)
            if (!is_in(computing_too, mnemonic_))
                return refuse("an instruction for the operating system, or one that it may intercept"), true;
        if (category == ZYDIS_CATEGORY_WAITPKG) return refuse("an instruction that waits for an event"), true;
        if (is_in(without_access, mnemonic_)) return false;
        if (has(ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE) &&
            category == ZYDIS_CATEGORY_STRINGOP)
            return refuse("repeats a number of times that a register holds"), true;
        if ((!is_in(computing, category) && !is_in(computing_too, mnemonic_)) || is_in(not_in_the_table, mnemonic_))
            return refuse_unlisted(), true;
        return false;
    }

    void accesses() {
        if (has(ZYDIS_ATTRIB_HAS_LOCK)) to_.atomic = true;
        to_.compares = is(ZYDIS_MNEMONIC_CMPXCHG) || is(ZYDIS_MNEMONIC_CMPXCHG8B) || is(ZYDIS_MNEMONIC_CMPXCHG16B);
        if (is_in(without_access, mnemonic_)) return;
        const bool prefetches =
            decoded_.meta.category == ZYDIS_CATEGORY_PREFETCH || decoded_.meta.category == ZYDIS_CATEGORY_PREFETCHWT1;
        for (const ZydisDecodedOperand &operand : operands_) {
            if (!is_memory(operand) || operand.mem.type == ZYDIS_MEMOP_TYPE_AGEN) continue;
            const unsigned places = operand.mem.type == ZYDIS_MEMOP_TYPE_VSIB ? elements() : 1;
            if (reads(operand) || prefetches) to_.loads += places;
            if (writes(operand) && !prefetches) to_.stores += places;
            if (operand.visibility != ZYDIS_OPERAND_VISIBILITY_HIDDEN) note_accessed(operand.mem);
            if (is(ZYDIS_MNEMONIC_XCHG)) to_.atomic = true; // with or without a prefix
        }
    }

    /// The most places that the instruction gathers from or scatters to.
    unsigned elements() const {
        unsigned most = 1;
        for (const ZydisDecodedOperand &operand : written_out())
            if (operand.type == ZYDIS_OPERAND_TYPE_REGISTER && operand.element_size != 0)
                most = std::max(most, unsigned{operand.size} / operand.element_size);
        return most;
    }

    /// Notes the operand as an address, without the part of its displacement that stays within a cache line.
    void note_accessed(const ZydisDecodedOperandMem &memory) {
        const auto name = [](ZydisRegister reg) {
            return reg == ZYDIS_REGISTER_NONE ? "" : ZydisRegisterGetString(reg);
        };
        const std::int64_t by = memory.disp.value;
        const std::int64_t line =
            memory.base == ZYDIS_REGISTER_RIP ? (static_cast<std::int64_t>(to_.end()) + by) >> 6 : by >> 6;
        const std::string_view segment = is_thread_local(memory) ? name(memory.segment) : "";
        to_.accessed =
            fmt::format("{}:{}+{}*{}+{}", segment, name(memory.base), name(memory.index), memory.scale, line);
    }

    static bool is_thread_local(const ZydisDecodedOperandMem &memory) {
        return memory.segment == ZYDIS_REGISTER_FS || memory.segment == ZYDIS_REGISTER_GS;
    }

    // Values, as far as they are tracked.

    Operand operand_of(const ZydisDecodedOperand &from) const {
        Operand to;
        to.bits = from.size;
        if (from.type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
            to.kind = Operand::Kind::constant;
            to.value = from.imm.value.s;
        } else if (from.type == ZYDIS_OPERAND_TYPE_REGISTER) {
            const std::optional<unsigned> number = number_of(from.reg.value);
            if (!number || is_high_byte(from.reg.value)) return to;
            to.kind = Operand::Kind::reg;
            to.reg = *number;
        } else if (is_memory(from) && from.mem.type != ZYDIS_MEMOP_TYPE_VSIB && !is_thread_local(from.mem) &&
                   decoded_.address_width == 64) {
            to.value = from.mem.disp.value;
            to.scale = from.mem.scale == 0 ? 1 : from.mem.scale;
            if (from.mem.base == ZYDIS_REGISTER_RIP)
                to.value = static_cast<std::int64_t>(static_cast<std::uint64_t>(to.value) + to_.end());
            else if (from.mem.base != ZYDIS_REGISTER_NONE)
                to.base = *number_of(from.mem.base);
            if (from.mem.index != ZYDIS_REGISTER_NONE) to.index = *number_of(from.mem.index);
            to.kind = Operand::Kind::memory;
        }
        return to;
    }

    void follow_values() {
        struct Named {
            ZydisMnemonic mnemonic;
            Operation operation;
        };
        static constexpr Named named[] = {
            {ZYDIS_MNEMONIC_MOV, Operation::move},        {ZYDIS_MNEMONIC_MOVZX, Operation::move_zero},
            {ZYDIS_MNEMONIC_MOVSX, Operation::move_sign}, {ZYDIS_MNEMONIC_MOVSXD, Operation::move_sign},
            {ZYDIS_MNEMONIC_LEA, Operation::address},     {ZYDIS_MNEMONIC_ADD, Operation::add},
            {ZYDIS_MNEMONIC_SUB, Operation::subtract},    {ZYDIS_MNEMONIC_AND, Operation::bit_and},
            {ZYDIS_MNEMONIC_SHL, Operation::shift_left},  {ZYDIS_MNEMONIC_CMP, Operation::compare},
            {ZYDIS_MNEMONIC_PUSH, Operation::push},       {ZYDIS_MNEMONIC_POP, Operation::pop}};
        const std::span<const ZydisDecodedOperand> visible = written_out();
        for (const Named &each : named)
            if (is(each.mnemonic)) to_.operation = each.operation;
        for (std::size_t i = 0; i < std::min<std::size_t>(visible.size(), 2); i++)
            to_.operands[i] = operand_of(visible[i]);
        Operand &first = to_.operands[0], &second = to_.operands[1];
        const bool itself = second.kind == Operand::Kind::reg && first.kind == Operand::Kind::reg &&
                            second.reg == first.reg && second.bits == first.bits;
        if ((is(ZYDIS_MNEMONIC_XOR) || is(ZYDIS_MNEMONIC_SUB)) && itself) {
            to_.operation = Operation::move;
            second = {Operand::Kind::constant, first.bits};
        }
        if (is(ZYDIS_MNEMONIC_CDQE)) {
            to_.operation = Operation::move_sign;
            first = {Operand::Kind::reg, 64, 0};
            second = {Operand::Kind::reg, 32, 0};
        }
        if (is(ZYDIS_MNEMONIC_INC) || is(ZYDIS_MNEMONIC_DEC)) {
            to_.operation = Operation::add;
            second = {Operand::Kind::constant, first.bits};
            second.value = is(ZYDIS_MNEMONIC_INC) ? 1 : -1;
        }
    }

    // The stack: the pointer is rsp, the frame rbp.

    static Base base_of(unsigned reg) {
        return reg == register_pointer ? Base::pointer : reg == register_frame ? Base::frame : Base::none;
    }

    bool is_register(unsigned i, unsigned reg) const {
        return to_.operands[i].kind == Operand::Kind::reg && to_.operands[i].reg == reg && to_.operands[i].bits == 64;
    }

    void move_pointer(std::int64_t by) {
        to_.stack.pointer = StackEffect::Pointer::moved;
        to_.stack.pointer_by = by;
    }

    void stack() {
        to_.counting.writes = written_registers();
        const Operand &first = to_.operands[0];
        if (to_.stores > 0 && first.kind == Operand::Kind::memory && first.index == Operand::no_register &&
            base_of(first.base) != Base::none)
            to_.stack.written = {base_of(first.base), first.value, first.bits == 0 ? 64U : first.bits / 8};
        if (push_or_pop() || adds_to_pointer() || copies()) return;
        // Any other instruction that writes one of both puts an untracked value in it.
        if ((to_.counting.writes & bit(register_pointer)) != 0) to_.stack.pointer = StackEffect::Pointer::lost;
        if ((to_.counting.writes & bit(register_frame)) != 0) to_.stack.frame = StackEffect::Frame::lost;
    }

    std::uint32_t written_registers() const {
        std::uint32_t all = 0;
        for (const ZydisDecodedOperand &operand : operands_)
            if (operand.type == ZYDIS_OPERAND_TYPE_REGISTER && writes(operand))
                if (const std::optional<unsigned> number = number_of(operand.reg.value)) all |= bit(*number);
        return all;
    }

    bool push_or_pop() {
        const bool pushes = decoded_.meta.category == ZYDIS_CATEGORY_PUSH,
                   pops = decoded_.meta.category == ZYDIS_CATEGORY_POP;
        if (pushes) {
            move_pointer(-std::int64_t{word()});
            to_.stack.written = {Base::pointer, -std::int64_t{word()}, word()};
            return true;
        }
        if (pops) {
            move_pointer(word());
            if (is_part(0, register_frame)) to_.stack.frame = StackEffect::Frame::lost;
            if (is_part(0, register_pointer)) to_.stack.pointer = StackEffect::Pointer::lost;
            return true;
        }
        if (is(ZYDIS_MNEMONIC_LEAVE)) {
            to_.stack.pointer =
                decoded_.operand_width == 16 ? StackEffect::Pointer::lost : StackEffect::Pointer::from_frame;
            to_.stack.pointer_by = 8;
            to_.stack.frame = StackEffect::Frame::lost;
            return true;
        }
        return false;
    }

    bool is_part(unsigned i, unsigned reg) const {
        return to_.operands[i].kind == Operand::Kind::reg && to_.operands[i].reg == reg;
    }

    /// The bytes that push and pop move: 8, or 2 with an operand-size prefix.
    std::uint32_t word() const {
        for (const ZydisDecodedOperand &operand : operands_)
            if (is_memory(operand) && operand.visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN) return operand.size / 8U;
        return 8;
    }

    bool adds_to_pointer() {
        const Operand &by = to_.operands[1];
        if (!is_register(0, register_pointer) || by.kind != Operand::Kind::constant) return false;
        if (is(ZYDIS_MNEMONIC_ADD) || is(ZYDIS_MNEMONIC_SUB))
            return move_pointer(is(ZYDIS_MNEMONIC_ADD) ? by.value : -by.value), true;
        // Aligns to a multiple of a power of two.
        const std::int64_t multiple = -by.value;
        if (!is(ZYDIS_MNEMONIC_AND) || multiple <= 0 || multiple > 1 << 20 || (multiple & (multiple - 1)) != 0)
            return false;
        to_.stack.pointer = StackEffect::Pointer::aligned;
        to_.stack.pointer_by = multiple;
        return true;
    }

    /// mov and lea to one of both, from one of both or another register.
    bool copies() {
        const bool to_pointer = is_register(0, register_pointer), to_frame = is_register(0, register_frame);
        const Operand &source = to_.operands[1];
        unsigned reg = Operand::no_register;
        std::int64_t by = 0;
        if (to_.operation == Operation::move && source.kind == Operand::Kind::reg) {
            reg = source.reg;
        } else if (to_.operation == Operation::address && source.index == Operand::no_register) {
            reg = source.base;
            by = source.value;
        }
        if ((!to_pointer && !to_frame) || reg == Operand::no_register) return false;
        const Base from = base_of(reg);
        if (to_pointer) {
            to_.stack.pointer = from == Base::pointer ? StackEffect::Pointer::moved
                                : from == Base::frame ? StackEffect::Pointer::from_frame
                                                      : StackEffect::Pointer::from_register;
            to_.stack.pointer_by = by;
            to_.stack.pointer_register = reg;
        } else if (from == Base::pointer) {
            to_.stack.frame = StackEffect::Frame::from_pointer;
            to_.stack.frame_by = by;
        } else {
            return false;
        }
        return true;
    }

    // Instructions that may count the rounds of a loop.

    bool keeps_flags() const {
        if (decoded_.cpu_flags == nullptr) return true;
        const ZydisAccessedFlags &flags = *decoded_.cpu_flags;
        return (flags.modified | flags.set_0 | flags.set_1 | flags.undefined) == 0;
    }

    void count() {
        Counting &counting = to_.counting;
        counting.keeps_flags = keeps_flags();
        const Operand &first = to_.operands[0], &second = to_.operands[1];
        if (first.kind != Operand::Kind::reg || first.bits < 32) return;
        const auto is_a = [&](Counting::Kind kind, std::int64_t value) {
            counting.kind = kind;
            counting.reg = first.reg;
            counting.value = value;
            counting.is_wide = first.bits == 64;
        };
        const bool constant = second.kind == Operand::Kind::constant, reg = second.kind == Operand::Kind::reg;
        const bool itself = reg && second.reg == first.reg;
        if (to_.operation == Operation::move && constant) is_a(Counting::Kind::sets, second.value);
        if (to_.operation == Operation::add && constant) is_a(Counting::Kind::adds, second.value);
        if (to_.operation == Operation::subtract && constant) is_a(Counting::Kind::adds, -second.value);
        if (to_.operation == Operation::compare && constant) is_a(Counting::Kind::compares, second.value);
        if (is(ZYDIS_MNEMONIC_TEST) && itself) is_a(Counting::Kind::compares, 0);
        if (to_.operation == Operation::address && second.index == Operand::no_register) {
            if (second.base == first.reg)
                is_a(Counting::Kind::adds, second.value);
            else if (second.base == Operand::no_register && second.kind == Operand::Kind::memory)
                is_a(Counting::Kind::sets, second.value);
            else if (first.bits == 64 && second.kind == Operand::Kind::memory)
                is_a(Counting::Kind::copies, second.value), counting.other = second.base;
        }
        if (first.bits != 64 || !reg || second.bits != 64) return;
        if (to_.operation == Operation::move) is_a(Counting::Kind::copies, 0), counting.other = second.reg;
        if (to_.operation == Operation::compare)
            is_a(Counting::Kind::compares_registers, 0), counting.other = second.reg;
    }

    const ZydisDecodedInstruction &decoded_;
    const ZydisMnemonic mnemonic_;
    const std::span<const ZydisDecodedOperand> operands_;
    Instruction &to_;
};

ZydisDecoder decoder_of_64_bits() {
    ZydisDecoder decoder;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    return decoder;
}

ZydisFormatter formatter_like_intel() {
    ZydisFormatter formatter;
    ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_INTEL);
    ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, ZYAN_FALSE);
    ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_FORCE_RELATIVE_RIPREL, ZYAN_TRUE);
    ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE, ZYDIS_PADDING_DISABLED);
    return formatter;
}

/// The instruction set that the first bytes indicate, if they do.
std::string_view encoding_of(std::span<const std::byte> code) {
    const auto first = code.empty() ? std::byte{0} : code[0];
    if (first == std::byte{0x62}) return ", encoded by EVEX (AVX-512, AVX10 or APX)";
    if (first == std::byte{0xd5}) return ", encoded by REX2 (APX)";
    if (first == std::byte{0xc4} || first == std::byte{0xc5}) return ", encoded by VEX (AVX or AMX)";
    return "";
}

} // namespace

void give_meaning_x86(std::span<const std::byte> code, Instruction &instruction) {
    static const ZydisDecoder decoder = decoder_of_64_bits();
    static const ZydisFormatter formatter = formatter_like_intel();
    ZydisDecodedInstruction decoded;
    std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands;
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code.data(), code.size(), &decoded, operands.data()))) {
        instruction.refusal = fmt::format("an instruction that cannot be decoded{}", encoding_of(code));
        return;
    }
    instruction.size = decoded.length;
    char text[128];
    if (ZYAN_SUCCESS(ZydisFormatterFormatInstruction(&formatter, &decoded, operands.data(),
                                                     decoded.operand_count_visible, text, sizeof text,
                                                     instruction.address, ZYAN_NULL)))
        instruction.text = text;
    X86(decoded, std::span(operands).first(decoded.operand_count), instruction).give();
}

} // namespace flat::prove
