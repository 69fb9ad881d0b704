// The queues of C++ that hold their elements by value, each compiled for every size of a payload, behind the functions
// of queue.h.
#pragma once

#include "../queue.h"
#include "consumer.h"

#include <cstddef>
#include <cstring>
#include <memory>

namespace flat::bench {

/// A task with its payload, as an element of a queue.
template <std::size_t size> struct Element {
    queue_task *run;
    alignas(16) char payload[size];

    Element() = default; // what a queue constructs beforehand is not written
    Element(queue_task *task, const void *from) : run(task) { std::memcpy(payload, from, size); }
};

class ByValue {
  public:
    virtual ~ByValue() = default;
    virtual bool submit(queue_task *run, const void *payload) = 0;
    virtual void serve() = 0; // the consumer's thread: until consumer_ends()
    virtual void await() = 0;
    virtual void stop() = 0; // makes serve() return
};

/// The queue that is measured; nullptr iff it cannot do what the plan asks.
std::unique_ptr<ByValue> make_queue(const queue_plan &plan);

/// A Queue<size> of the planned size.
template <template <std::size_t> class Queue> std::unique_ptr<ByValue> make_by_size(const queue_plan &plan) {
#define FLATLINE_MAKE(bytes)                                                                                           \
    if (plan.size == bytes) return std::make_unique<Queue<bytes>>(plan);
    QUEUE_SIZES(FLATLINE_MAKE)
#undef FLATLINE_MAKE
    return nullptr;
}

} // namespace flat::bench
