// Decodes machine code to instructions: x86-64 with Zydis, aarch64 with capstone. Our own tables say what each
// instruction means for a bound. An instruction that they do not know is refused.
#pragma once

#include "instruction.hpp"

#include <cstddef>
#include <memory>
#include <span>

namespace flat::prove {

class Decoder {
  public:
    /// Throws std::runtime_error iff capstone does not know the machine.
    explicit Decoder(Architecture machine);
    ~Decoder();
    Decoder(const Decoder &) = delete;
    Decoder &operator=(const Decoder &) = delete;

    /// The instruction at the start of `code`. If it cannot be proved, it has a refusal; its size is 0 iff even that is
    /// unknown.
    Instruction decode(std::uint64_t address, std::span<const std::byte> code) const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

} // namespace flat::prove
