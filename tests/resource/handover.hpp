// Passes values from one thread to another: one puts, the other takes.
#ifndef FLATLINE_TESTS_RESOURCE_HANDOVER_HPP
#define FLATLINE_TESTS_RESOURCE_HANDOVER_HPP

#include <array>
#include <atomic>
#include <cstddef>
#include <thread>
#include <utility>

namespace test {

template <class T> class handover {
  public:
    void put(T value) {
        const std::size_t at = put_.load(std::memory_order_relaxed);
        while (at - taken_.load(std::memory_order_acquire) == slots_.size()) std::this_thread::yield();
        slots_[at % slots_.size()] = std::move(value);
        put_.store(at + 1, std::memory_order_release);
    }
    T take() {
        const std::size_t at = taken_.load(std::memory_order_relaxed);
        while (put_.load(std::memory_order_acquire) == at) std::this_thread::yield();
        T value = std::move(slots_[at % slots_.size()]);
        taken_.store(at + 1, std::memory_order_release);
        return value;
    }

  private:
    std::array<T, 16> slots_{};
    std::atomic<std::size_t> put_{0}, taken_{0};
};

} // namespace test

#endif
