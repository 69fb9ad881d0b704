// A queue in memory that grows when it is full and is never given back.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace flat::simulate {

template <class Value> class Ring {
  public:
    bool empty() const { return first_ == end_; }
    std::size_t size() const { return end_ - first_; }

    void push(const Value &value) {
        if (size() == values_.size()) grow();
        values_[end_++ & mask()] = value;
    }

    /// Not of an empty one.
    Value pop() { return values_[first_++ & mask()]; }

    /// The value behind `place` others, of which there are fewer than size().
    const Value &at(std::size_t place) const { return values_[(first_ + place) & mask()]; }

  private:
    std::size_t mask() const { return values_.size() - 1; }

    void grow() {
        std::vector<Value> larger(values_.empty() ? 8 : values_.size() * 2);
        const std::size_t count = size();
        for (std::size_t place = 0; place < count; place++) larger[place] = at(place);
        values_ = std::move(larger);
        first_ = 0;
        end_ = count;
    }

    std::vector<Value> values_;
    std::size_t first_ = 0, end_ = 0;
};

} // namespace flat::simulate
