// moodycamel::ConcurrentQueue with a token for each side, which is its fast way; where the consumer sleeps, the
// BlockingConcurrentQueue. Completions come back through a second one.
#include "../backend.h"
#include "by_value.hpp"

#include <concurrentqueue/blockingconcurrentqueue.h>

namespace flat::bench {
namespace {

/// One producer with a token. Without this the capacity would be rounded up for producers that never come.
template <typename Queue> struct OneProducer {
    explicit OneProducer(std::size_t capacity) : queue(capacity, 1, 0), producer(queue), consumer(queue) {}

    Queue queue;
    moodycamel::ProducerToken producer;
    moodycamel::ConsumerToken consumer;
};

template <std::size_t size, template <typename...> class Channel> class Tasks final : public ByValue {
  public:
    explicit Tasks(const queue_plan &plan)
        : tasks_(plan.capacity), completions_(plan.capacity), has_completions_(plan.completions) {}

    bool submit(queue_task *run, const void *payload) override { return tasks_.put(Element<size>(run, payload)); }

    void serve() override {
        Element<size> next;
        while (!consumer_ends()) {
            if (!tasks_.take(next)) continue;
            next.run(nullptr, next.payload, size);
            if (has_completions_ && !completions_.put(0)) queue_failed("a completion did not fit");
        }
    }

    void await() override {
        for (int completion = 0; !completions_.take(completion);) {
        }
    }

    void stop() override {
        const char nothing[size] = {};
        (void)submit(consumer_nothing, nothing); // it finds room: all tasks have run
    }

  private:
    Channel<Element<size>> tasks_;
    Channel<int> completions_;
    bool has_completions_;
};

template <typename What> class Polled {
  public:
    explicit Polled(std::size_t capacity) : of_(capacity) {}
    bool put(const What &what) { return of_.queue.try_enqueue(of_.producer, what); }
    bool take(What &what) { return of_.queue.try_dequeue(of_.consumer, what); }

  private:
    OneProducer<moodycamel::ConcurrentQueue<What>> of_;
};

template <typename What> class Awaited {
  public:
    explicit Awaited(std::size_t capacity) : of_(capacity) {}
    bool put(const What &what) { return of_.queue.try_enqueue(of_.producer, what); }
    bool take(What &what) {
        of_.queue.wait_dequeue(of_.consumer, what);
        return true;
    }

  private:
    OneProducer<moodycamel::BlockingConcurrentQueue<What>> of_;
};

template <std::size_t size> using Busy = Tasks<size, Polled>;
template <std::size_t size> using Sleeping = Tasks<size, Awaited>;

} // namespace

std::unique_ptr<ByValue> make_queue(const queue_plan &plan) {
    return plan.sleeping ? make_by_size<Sleeping>(plan) : make_by_size<Busy>(plan);
}

} // namespace flat::bench

bench_function *bench_code(void) { return reinterpret_cast<bench_function *>(queue_end); }
const char *bench_version(void) { return "as packaged"; }
