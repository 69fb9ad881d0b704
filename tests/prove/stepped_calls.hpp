// What the parts of stepped_calls share: random numbers, the same in each run, and what they require.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>

namespace flat::test {

inline std::mt19937 random_numbers{5};

inline std::size_t below(std::size_t end) { return random_numbers() % end; }

/// A size of random magnitude with random bits.
inline std::size_t any_size() {
    const std::uint64_t bits = std::uint64_t{random_numbers()} << 32 | random_numbers();
    return bits >> below(64);
}

inline void require(bool holds, const char *what) {
    if (holds) return;
    std::fprintf(stderr, "stepped_calls: %s\n", what);
    std::abort();
}

/// Ignores an answer, because either one is correct.
template <class Answer> void take_any(Answer) {}

/// Calls of the engine, in stepped_engine.cpp.
void call_engines();

} // namespace flat::test
