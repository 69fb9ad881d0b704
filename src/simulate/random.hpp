// Random numbers of a simulation: xoshiro256++ (Blackman, Vigna, "Scrambled linear pseudorandom number generators", ACM
// TOMS 47, 2021), begun from one number by SplitMix64. The same seed gives the same numbers on every machine, except
// for the last bit of a logarithm, which is the C library's.
#pragma once

#include "../engine/dispatch/chance.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

namespace flat::simulate {

class Random {
  public:
    explicit Random(std::uint64_t seed) {
        chance begin{seed};
        for (std::uint64_t &word : words_) word = chance_bits(&begin);
    }

    std::uint64_t bits() {
        const std::uint64_t result = std::rotl(words_[0] + words_[3], 23) + words_[0], shifted = words_[1] << 17;
        words_[2] ^= words_[0];
        words_[3] ^= words_[1];
        words_[1] ^= words_[2];
        words_[0] ^= words_[3];
        words_[2] ^= shifted;
        words_[3] = std::rotl(words_[3], 45);
        return result;
    }

    /// Above 0, at most 1.
    double share() { return static_cast<double>((bits() >> 11) + 1) * 0x1p-53; }

    /// Below `count`, which is at least 1 and below 2^32.
    std::uint32_t below(std::uint32_t count) { return static_cast<std::uint32_t>((bits() >> 32) * count >> 32); }

    double exponential(double mean) { return -mean * std::log(share()); }

  private:
    std::array<std::uint64_t, 4> words_;
};

} // namespace flat::simulate
