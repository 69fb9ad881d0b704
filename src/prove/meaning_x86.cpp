#include "meaning.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include <fmt/format.h>

namespace flat::prove {
namespace {

using Names = std::span<const std::string_view>;

bool is_in(Names names, std::string_view name) { return std::ranges::find(names, name) != names.end(); }

// What memory as the first operand is: read, written, or both. Names as in Intel's manual, volume 2.
constexpr std::string_view first_is_read[] = {
    "cmp", "test",     "bt",         "mul",        "imul",       "div",         "idiv",      "push",    "call",
    "jmp", "prefetch", "prefetcht0", "prefetcht1", "prefetcht2", "prefetchnta", "prefetchw", "ldmxcsr", "vldmxcsr"};
constexpr std::string_view first_is_written[] = {"mov",  "movabs",  "movbe",    "movnti", "movd",
                                                 "movq", "stmxcsr", "vstmxcsr", "pop"};
constexpr std::string_view first_is_both[] = {"add",  "or",   "adc",     "sbb",       "and",       "sub", "xor", "inc",
                                              "dec",  "neg",  "not",     "shl",       "sal",       "shr", "sar", "rol",
                                              "ror",  "rcl",  "rcr",     "shld",      "shrd",      "bts", "btr", "btc",
                                              "xchg", "xadd", "cmpxchg", "cmpxchg8b", "cmpxchg16b"};

// The other instructions for general registers; memory as their second operand is read.
constexpr std::string_view general[] = {
    "movzx", "movsx", "movsxd", "bsf",    "bsr",    "tzcnt",  "lzcnt", "popcnt", "bswap", "cdqe", "cwde", "cbw",
    "cqo",   "cdq",   "cwd",    "andn",   "bextr",  "blsi",   "blsr",  "blsmsk", "bzhi",  "pdep", "pext", "rorx",
    "sarx",  "shlx",  "shrx",   "mulx",   "adcx",   "adox",   "crc32", "clc",    "stc",   "cmc",  "cld",  "std",
    "lahf",  "sahf",  "pause",  "mfence", "lfence", "sfence", "rdtsc", "rdtscp", "xgetbv"};

// Neither reads nor writes the memory it names.
constexpr std::string_view without_access[] = {"lea", "nop", "endbr64", "endbr32"};

constexpr std::string_view system_calls[] = {"syscall", "sysenter", "int", "int1", "into"};
constexpr std::string_view privileged[] = {"hlt",   "in",     "out",     "insb",   "insw",  "insd",  "outsb",
                                           "outsw", "outsd",  "cli",     "sti",    "rdmsr", "wrmsr", "iretq",
                                           "iretd", "sysret", "sysexit", "swapgs", "cpuid"};

struct StringAccess {
    std::string_view name;
    unsigned loads, stores;
};
constexpr StringAccess string_accesses[] = {{"movsb", 1, 1}, {"movsw", 1, 1}, {"movsd", 1, 1}, {"movsq", 1, 1},
                                            {"stosb", 0, 1}, {"stosw", 0, 1}, {"stosd", 0, 1}, {"stosq", 0, 1},
                                            {"lodsb", 1, 0}, {"lodsw", 1, 0}, {"lodsd", 1, 0}, {"lodsq", 1, 0},
                                            {"scasb", 1, 0}, {"scasw", 1, 0}, {"scasd", 1, 0}, {"scasq", 1, 0},
                                            {"cmpsb", 2, 0}, {"cmpsw", 2, 0}, {"cmpsd", 2, 0}, {"cmpsq", 2, 0}};

// Vector instructions that access more than one place, or a place under a mask.
constexpr std::string_view scattered[] = {"gather", "scatter", "maskmov", "compress", "expand"};

// Memory as their first operand is written, and nothing of it read.
constexpr std::string_view vector_stores[] = {"mov", "vmov", "pextr", "vpextr", "extractps", "vextract", "vcvtps2ph"};

constexpr std::uint8_t vector_groups[] = {X86_GRP_MMX,    X86_GRP_SSE1,  X86_GRP_SSE2, X86_GRP_SSE3, X86_GRP_SSSE3,
                                          X86_GRP_SSE41,  X86_GRP_SSE42, X86_GRP_AVX,  X86_GRP_AVX2, X86_GRP_AES,
                                          X86_GRP_PCLMUL, X86_GRP_FMA,   X86_GRP_F16C, X86_GRP_SHA,  X86_GRP_AVX512,
                                          X86_GRP_VLX,    X86_GRP_BWI,   X86_GRP_DQI};

bool starts_with_one_of(std::string_view name, Names beginnings) {
    return std::ranges::any_of(beginnings, [name](std::string_view each) { return name.starts_with(each); });
}

/// One instruction on its way to its meaning.
class X86 {
  public:
    X86(csh handle, const cs_insn &insn, Instruction &to)
        : handle_(handle), insn_(insn), x86_(insn.detail->x86), to_(to) {
        std::string_view name = insn.mnemonic;
        name_ = name.substr(name.rfind(' ') + 1); // npos + 1 is 0
    }

    void give() {
        if (flow()) return;
        if (is_system()) return;
        if (is_string()) return;
        accesses();
        if (!to_.refusal.empty()) return;
        stack();
        count();
    }

  private:
    const cs_x86_op &operand(unsigned i) const { return x86_.operands[i]; }
    bool is_memory(unsigned i) const { return i < x86_.op_count && operand(i).type == X86_OP_MEM; }
    bool is_register(unsigned i, x86_reg reg) const {
        return i < x86_.op_count && operand(i).type == X86_OP_REG && operand(i).reg == reg;
    }
    bool has_prefix(std::uint8_t prefix) const { return x86_.prefix[0] == prefix; }

    void refuse(std::string_view why) { to_.refusal = why; }

    /// Jumps, calls and returns. True where nothing else is to be said.
    bool flow() {
        const bool jumps = name_.starts_with('j'), loops = name_.starts_with("loop");
        if (name_ == "ret") {
            if (x86_.op_count != 0) return refuse("a return that takes arguments off the stack"), true;
            to_.flow = Flow::back;
            to_.loads = 1;
            return true;
        }
        if (name_ == "ud2" || name_ == "ud1" || name_ == "ud0" || name_ == "int3") return to_.flow = Flow::trap, true;
        if (!jumps && !loops && name_ != "call") return false;
        const bool constant = x86_.op_count > 0 && operand(0).type == X86_OP_IMM;
        if (constant) to_.target = static_cast<std::uint64_t>(operand(0).imm);
        if (name_ == "call") {
            to_.flow = constant ? Flow::call : Flow::indirect_call;
            to_.stores = 1;
            to_.stack.written = {Base::pointer, -8, 8}; // where to return to
        } else {
            to_.flow = name_ != "jmp" ? Flow::branch : constant ? Flow::jump : Flow::indirect_jump;
            if (!constant && name_ != "jmp") refuse("a far jump");
            to_.condition = condition_of(name_);
        }
        if (is_memory(0)) {
            to_.loads += 1;
            note_accessed(operand(0).mem);
            const x86_op_mem &memory = operand(0).mem;
            if (memory.base == X86_REG_RIP && memory.index == X86_REG_INVALID)
                to_.slot = to_.end() + static_cast<std::uint64_t>(memory.disp);
        }
        return true;
    }

    bool is_system() {
        if (is_in(system_calls, name_)) return refuse("a system call"), true;
        if (is_in(privileged, name_))
            return refuse("an instruction for the operating system, or one that it may intercept"), true;
        return false;
    }

    bool is_string() {
        const auto *found = std::ranges::find(string_accesses, name_, &StringAccess::name);
        if (found == std::end(string_accesses) || !has_implied_memory()) return false;
        if (has_prefix(X86_PREFIX_REP) || has_prefix(X86_PREFIX_REPNE)) {
            refuse("repeats as often as a register says");
            return true;
        }
        to_.loads = found->loads;
        to_.stores = found->stores;
        return true;
    }

    /// movsd and cmpsd are vector instructions too.
    bool has_implied_memory() const {
        for (unsigned i = 0; i < x86_.op_count; i++) {
            if (!is_memory(i)) continue;
            const x86_op_mem &memory = operand(i).mem;
            if ((memory.base == X86_REG_RDI || memory.base == X86_REG_RSI) && memory.disp == 0 &&
                memory.index == X86_REG_INVALID && insn_.size <= 3 && (insn_.bytes[insn_.size - 1] & 0xf0) == 0xa0)
                return true;
        }
        return false;
    }

    bool is_vector() const {
        return std::ranges::any_of(vector_groups,
                                   [this](std::uint8_t group) { return cs_insn_group(handle_, &insn_, group); });
    }

    void accesses() {
        if (has_prefix(X86_PREFIX_LOCK)) to_.atomic = true;
        to_.compares = name_.starts_with("cmpxchg");
        unsigned memory = 0;
        while (memory < x86_.op_count && !is_memory(memory)) memory++;
        const bool is_float = cs_insn_group(handle_, &insn_, X86_GRP_FPU) || (name_.starts_with('f') && !is_vector());
        const bool is_known = is_in(general, name_) || is_in(first_is_read, name_) || is_in(first_is_written, name_) ||
                              is_in(first_is_both, name_) || is_in(without_access, name_) || name_.starts_with("set") ||
                              name_.starts_with("cmov") || name_ == "leave" || name_ == "pushfq" || name_ == "popfq" ||
                              is_vector() || is_float;
        if (!is_known || starts_with_any_scattered())
            return refuse("an instruction that is not in the table of what each accesses");
        if (is_in(without_access, name_)) return;
        if (memory < x86_.op_count) {
            note_accessed(operand(memory).mem);
            if (is_float) return float_access();
            if (memory == 0 || name_ == "xchg")
                first_access();
            else
                to_.loads += 1;
            if (name_ == "xchg") to_.atomic = true; // with or without a prefix
        } else if (is_float && is_wide_float()) {
            return refuse("an instruction that is not in the table of what each accesses");
        }
        if (name_ == "push" || name_ == "pushfq") to_.stores += 1;
        if (name_ == "pop" || name_ == "popfq" || name_ == "leave") to_.loads += 1;
    }

    bool starts_with_any_scattered() const {
        return std::ranges::any_of(scattered, [this](std::string_view each) {
            return name_.find(each) != std::string_view::npos && is_vector();
        });
    }

    bool is_wide_float() const {
        return name_.find("save") != std::string_view::npos || name_.find("rstor") != std::string_view::npos ||
               name_.find("env") != std::string_view::npos;
    }

    void float_access() {
        if (is_wide_float()) return refuse("an instruction that is not in the table of what each accesses");
        const bool stores = name_.starts_with("fst") || name_.starts_with("fist") || name_.starts_with("fnst") ||
                            name_.starts_with("fbst");
        (stores ? to_.stores : to_.loads) += 1;
    }

    void first_access() {
        const bool reads = is_in(first_is_read, name_), both = is_in(first_is_both, name_);
        const bool writes = is_in(first_is_written, name_) || name_.starts_with("set") ||
                            (!reads && !both && is_vector() && starts_with_one_of(name_, vector_stores));
        if (!reads && !both && !writes) return refuse("an instruction that is not in the table of what each accesses");
        to_.loads += reads || both;
        to_.stores += writes || both;
    }

    /// The operand as an address, but for the part of its displacement that stays within a cache line.
    void note_accessed(const x86_op_mem &memory) {
        const auto name = [this](x86_reg reg) { return reg == X86_REG_INVALID ? "" : cs_reg_name(handle_, reg); };
        const std::int64_t line =
            memory.base == X86_REG_RIP ? (static_cast<std::int64_t>(to_.end()) + memory.disp) >> 6 : memory.disp >> 6;
        to_.accessed = fmt::format("{}:{}+{}*{}+{}", name(memory.segment), name(memory.base), name(memory.index),
                                   memory.scale, line);
    }

    // The stack: the pointer is rsp, the frame rbp.

    static Base base_of(x86_reg reg) {
        return reg == X86_REG_RSP ? Base::pointer : reg == X86_REG_RBP ? Base::frame : Base::none;
    }

    static bool is_part_of(std::uint32_t reg, x86_reg whole) {
        if (whole == X86_REG_RSP)
            return reg == X86_REG_RSP || reg == X86_REG_ESP || reg == X86_REG_SP || reg == X86_REG_SPL;
        return reg == X86_REG_RBP || reg == X86_REG_EBP || reg == X86_REG_BP || reg == X86_REG_BPL;
    }

    void move_pointer(std::int64_t by) {
        to_.stack.pointer = StackEffect::Pointer::moved;
        to_.stack.pointer_by = by;
    }

    void stack() {
        if (to_.stores > 0 && is_memory(0)) note_slot(operand(0));
        if (push_or_pop()) return;
        if (adds_to_pointer()) return;
        if (copies()) return;
        // Whatever else names one of both may write it.
        const bool only_reads = is_in(first_is_read, name_);
        for (unsigned i = 0; i < x86_.op_count; i++) {
            if (operand(i).type != X86_OP_REG || only_reads) continue;
            const bool is_source = i > 0 && name_ != "xchg" && name_ != "xadd";
            if (is_source) continue;
            if (is_part_of(operand(i).reg, X86_REG_RSP)) to_.stack.pointer = StackEffect::Pointer::lost;
            if (is_part_of(operand(i).reg, X86_REG_RBP)) to_.stack.frame = StackEffect::Frame::lost;
        }
        if (name_ == "cmpxchg16b" || name_ == "cmpxchg8b") return; // rbx, rax, rdx
    }

    void note_slot(const cs_x86_op &written) {
        const Base base = base_of(written.mem.base);
        if (base == Base::none || written.mem.index != X86_REG_INVALID) return;
        to_.stack.written = {base, written.mem.disp, written.size == 0 ? 64U : written.size};
    }

    bool push_or_pop() {
        if (name_ == "push" || name_ == "pushfq") {
            move_pointer(-std::int64_t{word()});
            to_.stack.written = {Base::pointer, -std::int64_t{word()}, word()};
            return true;
        }
        if (name_ == "pop" || name_ == "popfq") {
            move_pointer(word());
            if (is_register(0, X86_REG_RBP)) to_.stack.frame = StackEffect::Frame::lost;
            if (is_register(0, X86_REG_RSP)) to_.stack.pointer = StackEffect::Pointer::lost;
            return true;
        }
        if (name_ == "leave") {
            to_.stack.pointer = StackEffect::Pointer::from_frame;
            to_.stack.pointer_by = 8;
            to_.stack.frame = StackEffect::Frame::lost;
            return true;
        }
        return false;
    }

    /// What push and pop move: 8 bytes, but 2 behind an operand-size prefix.
    std::uint32_t word() const { return x86_.prefix[2] == X86_PREFIX_OPSIZE ? 2 : 8; }

    bool adds_to_pointer() {
        if ((name_ != "add" && name_ != "sub") || !is_register(0, X86_REG_RSP)) return false;
        if (operand(1).type != X86_OP_IMM)
            to_.stack.pointer = StackEffect::Pointer::lost;
        else
            move_pointer(name_ == "add" ? operand(1).imm : -operand(1).imm);
        return true;
    }

    /// mov and lea between both.
    bool copies() {
        const bool to_pointer = is_register(0, X86_REG_RSP), to_frame = is_register(0, X86_REG_RBP);
        if (!to_pointer && !to_frame) return false;
        Base from = Base::none;
        std::int64_t by = 0;
        if (name_ == "mov" && x86_.op_count == 2 && operand(1).type == X86_OP_REG) {
            from = base_of(operand(1).reg);
        } else if (name_ == "lea" && operand(1).mem.index == X86_REG_INVALID) {
            from = base_of(operand(1).mem.base);
            by = operand(1).mem.disp;
        }
        if (to_pointer && from == Base::pointer) {
            move_pointer(by);
        } else if (to_pointer && from == Base::frame) {
            to_.stack.pointer = StackEffect::Pointer::from_frame;
            to_.stack.pointer_by = by;
        } else if (to_frame && from == Base::pointer) {
            to_.stack.frame = StackEffect::Frame::from_pointer;
            to_.stack.frame_by = by;
        } else {
            return false;
        }
        return true;
    }

    // What may count the rounds of a loop.

    static Condition condition_of(std::string_view name) {
        if (name == "je") return Condition::equal;
        if (name == "jne") return Condition::unequal;
        if (name == "jb" || name == "jl") return Condition::less;
        if (name == "jbe" || name == "jle") return Condition::less_or_equal;
        if (name == "ja" || name == "jg") return Condition::greater;
        if (name == "jae" || name == "jge") return Condition::greater_or_equal;
        return Condition::other;
    }

    /// The number of a whole general register, of 32 or 64 bits.
    static std::optional<unsigned> number_of(std::uint32_t reg) {
        static constexpr std::array wide = {
            X86_REG_RAX, X86_REG_RCX, X86_REG_RDX, X86_REG_RBX, X86_REG_RSP, X86_REG_RBP, X86_REG_RSI, X86_REG_RDI,
            X86_REG_R8,  X86_REG_R9,  X86_REG_R10, X86_REG_R11, X86_REG_R12, X86_REG_R13, X86_REG_R14, X86_REG_R15};
        static constexpr std::array narrow = {X86_REG_EAX,  X86_REG_ECX,  X86_REG_EDX,  X86_REG_EBX,
                                              X86_REG_ESP,  X86_REG_EBP,  X86_REG_ESI,  X86_REG_EDI,
                                              X86_REG_R8D,  X86_REG_R9D,  X86_REG_R10D, X86_REG_R11D,
                                              X86_REG_R12D, X86_REG_R13D, X86_REG_R14D, X86_REG_R15D};
        for (unsigned i = 0; i < wide.size(); i++)
            if (reg == static_cast<std::uint32_t>(wide[i]) || reg == static_cast<std::uint32_t>(narrow[i])) return i;
        return std::nullopt;
    }

    /// What is not in these forms may write every register.
    void count() {
        Counting &counting = to_.counting;
        static constexpr std::string_view plain[] = {"mov", "lea", "movzx", "movsx", "movsxd", "nop",    "add",  "sub",
                                                     "and", "or",  "xor",   "inc",   "dec",    "cmp",    "test", "shl",
                                                     "shr", "sar", "neg",   "not",   "imul",   "endbr64"};
        static constexpr std::string_view without_flags[] = {"mov",    "lea", "movzx", "movsx",
                                                             "movsxd", "nop", "not",   "endbr64"};
        if (name_ == "cdqe" || name_ == "cwde")
            counting = {Counting::Kind::none, 0, 0, std::uint32_t{1} << 0, true}; // rax
        if (name_ == "cqo" || name_ == "cdq")
            counting = {Counting::Kind::none, 0, 0, std::uint32_t{1} << 2, true}; // rdx
        if (!is_in(plain, name_) || (name_ == "imul" && x86_.op_count == 1)) return;
        counting.keeps_flags = is_in(without_flags, name_);
        const bool only_reads = is_in(first_is_read, name_) && name_ != "imul";
        const bool has_target = x86_.op_count > 0 && operand(0).type == X86_OP_REG && !only_reads;
        const std::optional<unsigned> reg =
            x86_.op_count > 0 && operand(0).type == X86_OP_REG ? number_of(operand(0).reg) : std::nullopt;
        if (has_target && !reg) return; // a part of a register
        counting.writes = has_target ? std::uint32_t{1} << *reg : 0;
        if (!reg) return;
        counting.reg = *reg;
        const bool constant = x86_.op_count == 2 && operand(1).type == X86_OP_IMM;
        const bool itself = x86_.op_count == 2 && operand(1).type == X86_OP_REG && operand(1).reg == operand(0).reg;
        const auto is = [&counting](Counting::Kind kind, std::int64_t value) {
            counting.kind = kind;
            counting.value = value;
        };
        if (name_ == "mov" && constant) is(Counting::Kind::sets, operand(1).imm);
        if (name_ == "xor" && itself) is(Counting::Kind::sets, 0);
        if (name_ == "add" && constant) is(Counting::Kind::adds, operand(1).imm);
        if (name_ == "sub" && constant) is(Counting::Kind::adds, -operand(1).imm);
        if (name_ == "inc") is(Counting::Kind::adds, 1);
        if (name_ == "dec") is(Counting::Kind::adds, -1);
        if (name_ == "cmp" && constant) is(Counting::Kind::compares, operand(1).imm);
        if (name_ == "test" && itself) is(Counting::Kind::compares, 0);
        if (name_ == "lea" && operand(1).mem.index == X86_REG_INVALID && number_of(operand(1).mem.base) == reg)
            is(Counting::Kind::adds, operand(1).mem.disp);
    }

    csh handle_;
    const cs_insn &insn_;
    const cs_x86 &x86_;
    Instruction &to_;
    std::string_view name_; // without a prefix
};

} // namespace

void give_meaning_x86(csh handle, const cs_insn &insn, Instruction &instruction) {
    X86(handle, insn, instruction).give();
}

} // namespace flat::prove
