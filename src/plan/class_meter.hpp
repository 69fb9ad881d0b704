// How many blocks of each class of a pool a program needs, block by block: not the sum of what its sizes need, since
// those need not come at the same moment.
#pragma once

#include "class_choice.hpp"

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

namespace flat::plan {

/// Memory grows with the different sizes.
class ClassMeter {
  public:
    /// Of the best of the choices.
    explicit ClassMeter(const Choices &choices);

    /// The class that serves a request: the smallest that holds it and is aligned to it. std::nullopt iff none does.
    std::optional<std::size_t> class_of(std::uint64_t size, std::uint64_t alignment) const;

    void take(std::uint64_t size, std::uint64_t alignment);
    void give(std::uint64_t size, std::uint64_t alignment);

    /// After the last block: forgets classes that served none.
    void finish();

    /// The classes with exactly as many blocks as were live at once in each, ascending.
    std::vector<flat_class> classes() const;

    /// The requested sizes that were live when their class was fullest, ordered: what fills the classes exactly.
    std::vector<DemandRow> demand() const;

    std::uint64_t unserved() const { return unserved_; } // requests that no class serves

  private:
    struct Class {
        flat_class declared{};
        std::uint64_t alignment = 0, live = 0, peak = 0;
        bool at_peak = false;                               // `fullest` is older than the peak
        std::unordered_map<std::uint64_t, DemandRow> sizes; // live, by size
        std::vector<DemandRow> fullest;
    };
    static std::vector<DemandRow> live_in(const Class &each);

    std::vector<Class> classes_;
    std::vector<std::uint64_t> beyond_; // sizes that were left out, though a larger class may have room for them
    std::uint64_t unserved_ = 0;
};

} // namespace flat::plan
