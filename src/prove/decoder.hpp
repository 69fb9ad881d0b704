// Architecture code to instructions. Zydis decodes x86-64, capstone aarch64; what each instruction means for a bound is
// said by tables of our own, and an instruction that they do not know is refused.
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

    /// The instruction that `code` begins with. One that is not to be proved has a refusal; its size is 0 iff not even
    /// that is known.
    Instruction decode(std::uint64_t address, std::span<const std::byte> code) const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

} // namespace flat::prove
