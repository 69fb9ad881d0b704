// The processors that the program may use, one for each thread of a test in turn. Threads that were just started, or
// that wait for each other, are otherwise often put on one processor, where nothing overlaps.
#ifndef FLATLINE_TESTS_CORE_PROCESSORS_HPP
#define FLATLINE_TESTS_CORE_PROCESSORS_HPP

#include <cstddef>
#include <sched.h>
#include <vector>

namespace test {

class processors {
  public:
    processors() {
        if (sched_getaffinity(0, sizeof all_, &all_) != 0) return;
        for (std::size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
            if (CPU_ISSET(cpu, &all_)) numbers_.push_back(cpu);
        }
    }
    processors(const processors &) = delete;
    processors &operator=(const processors &) = delete;
    // The thread that ends this may use all of them again.
    ~processors() {
        if (!numbers_.empty()) (void)sched_setaffinity(0, sizeof all_, &all_);
    }

    // Keeps the calling thread to one of them, where the system lets it.
    void keep_to(std::size_t number) const {
        if (numbers_.empty()) return;
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(numbers_[number % numbers_.size()], &one);
        (void)sched_setaffinity(0, sizeof one, &one);
    }

  private:
    cpu_set_t all_;
    std::vector<std::size_t> numbers_;
};

} // namespace test

#endif
