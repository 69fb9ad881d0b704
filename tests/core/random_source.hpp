// Random numbers that are the same for the same seed on every machine and standard library (splitmix64).
#ifndef FLATLINE_TESTS_CORE_RANDOM_SOURCE_HPP
#define FLATLINE_TESTS_CORE_RANDOM_SOURCE_HPP

#include <bit>
#include <cstdint>

namespace test {

class random_source {
  public:
    explicit random_source(std::uint64_t seed) : state_(seed) {}

    std::uint64_t next() {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }

    // 0 .. bound - 1
    std::uint64_t below(std::uint64_t bound) { return next() % bound; }

    // 1 .. most, each order of magnitude as likely as the next
    std::uint64_t magnitude(std::uint64_t most) {
        const std::uint64_t ceiling = std::uint64_t{1} << below(static_cast<std::uint64_t>(std::bit_width(most)) + 1);
        return 1 + below(ceiling < most ? ceiling : most);
    }

    bool one_in(std::uint64_t chances) { return below(chances) == 0; }

  private:
    std::uint64_t state_;
};

} // namespace test

#endif
