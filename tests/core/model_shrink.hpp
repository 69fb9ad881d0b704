// Lists of operations on an allocator and its model side by side: run, shrunk on a failure, told in words.
//
// A `Pair` has start_again, apply, compare, drain and describe, as model_run.hpp and heap_model_run.hpp do.
#ifndef FLATLINE_TESTS_CORE_MODEL_SHRINK_HPP
#define FLATLINE_TESTS_CORE_MODEL_SHRINK_HPP

#include "core/shrink.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace test {

// "" or what went wrong; `steps` then is the number of operations that it took.
template <typename Pair, typename Operation>
std::string run(Pair &pair, const std::vector<Operation> &operations, std::size_t &steps) {
    pair.start_again();
    for (steps = 0; steps < operations.size();) {
        const std::string wrong = pair.apply(operations[steps++]);
        if (!wrong.empty()) return wrong;
    }
    std::string wrong = pair.compare();
    return wrong.empty() ? pair.drain() : wrong;
}

// The list without what the failure does not need.
template <typename Pair, typename Operation>
std::vector<Operation> shrink(Pair &pair, const std::vector<Operation> &failing) {
    return shrink(failing, [&pair](const std::vector<Operation> &shorter) {
        std::size_t steps;
        return run(pair, shorter, steps).empty() ? std::nullopt : std::optional(steps);
    });
}

template <typename Pair, typename Operation>
std::string in_words(Pair &pair, const std::vector<Operation> &operations) {
    std::string text;
    pair.start_again();
    for (const Operation &op : operations) {
        text += "  " + pair.describe(op) + '\n';
        const std::string wrong = pair.apply(op);
        if (!wrong.empty()) return text + "  -> " + wrong + '\n';
    }
    const std::string wrong = pair.compare();
    return text + "  -> " + (wrong.empty() ? pair.drain() : wrong) + '\n';
}

} // namespace test

#endif
