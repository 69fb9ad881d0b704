#include "decoder.hpp"

#include "meaning.hpp"

#include <stdexcept>

#include <fmt/format.h>

namespace flat::prove {

struct Decoder::State {
    csh handle = 0; // capstone's, for aarch64
    cs_insn *decoded = nullptr;
    Architecture machine;
};

Decoder::Decoder(Architecture machine) : state_(std::make_unique<State>()) {
    State &state = *state_;
    state.machine = machine;
    if (machine == Architecture::x86_64) return;
    const cs_err error = cs_open(CS_ARCH_ARM64, CS_MODE_LITTLE_ENDIAN, &state.handle);
    if (error != CS_ERR_OK) throw std::runtime_error(fmt::format("capstone: {}", cs_strerror(error)));
    cs_option(state.handle, CS_OPT_DETAIL, CS_OPT_ON);
    state.decoded = cs_malloc(state.handle);
    if (state.decoded == nullptr) throw std::runtime_error("capstone: out of memory");
}

Decoder::~Decoder() {
    if (state_->decoded != nullptr) cs_free(state_->decoded, 1);
    if (state_->handle != 0) cs_close(&state_->handle);
}

Instruction Decoder::decode(std::uint64_t address, std::span<const std::byte> code) const {
    Instruction instruction;
    instruction.address = address;
    if (state_->machine == Architecture::x86_64) {
        give_meaning_x86(code, instruction);
        return instruction;
    }
    const auto *bytes = reinterpret_cast<const std::uint8_t *>(code.data());
    std::size_t left = code.size();
    std::uint64_t next = address;
    const bool decoded = cs_disasm_iter(state_->handle, &bytes, &left, &next, state_->decoded);
    const cs_insn *insn = decoded ? state_->decoded : nullptr;
    if (insn != nullptr) {
        instruction.size = insn->size;
        instruction.text = insn->mnemonic;
        if (insn->op_str[0] != 0) instruction.text += std::string(" ") + insn->op_str;
    }
    give_meaning_aarch64(code, insn, instruction);
    return instruction;
}

} // namespace flat::prove
