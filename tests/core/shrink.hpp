// Makes a failing list of operations shorter.
#ifndef FLATLINE_TESTS_CORE_SHRINK_HPP
#define FLATLINE_TESTS_CORE_SHRINK_HPP

#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

namespace test {

// Leaves out ever smaller pieces as long as the rest still fails, for at most ten seconds. `fails` runs a list from the
// beginning and returns the number of operations after which it failed: std::optional, nothing if it did not.
template <typename Operation, typename Fails>
std::vector<Operation> shrink(std::vector<Operation> failing, const Fails &fails) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    for (std::size_t piece = failing.size() / 2 + 1; piece > 0; piece = piece == 1 ? 0 : (piece + 1) / 2) {
        for (std::size_t from = 0; from < failing.size();) {
            if (std::chrono::steady_clock::now() > until) return failing;
            std::vector<Operation> shorter(failing.begin(), failing.begin() + static_cast<std::ptrdiff_t>(from));
            if (from + piece < failing.size()) {
                shorter.insert(shorter.end(), failing.begin() + static_cast<std::ptrdiff_t>(from + piece),
                               failing.end());
            }
            const std::optional<std::size_t> steps = fails(shorter);
            if (!steps) {
                from += piece;
            } else {
                shorter.resize(*steps);
                failing = shorter;
            }
        }
    }
    return failing;
}

} // namespace test

#endif
