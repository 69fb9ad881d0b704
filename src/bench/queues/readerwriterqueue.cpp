// moodycamel::ReaderWriterQueue; where the consumer sleeps, the BlockingReaderWriterQueue. A busy consumer uses an
// element where it lies in the queue. Completions come back through a second queue.
#include "../backend.h"
#include "by_value.hpp"

#include <readerwriterqueue/readerwriterqueue.h>

namespace flat::bench {
namespace {

template <std::size_t size> class Busy final : public ByValue {
  public:
    explicit Busy(const queue_plan &plan)
        : tasks_(plan.capacity), completions_(plan.capacity), has_completions_(plan.completions) {}

    bool submit(queue_task *run, const void *payload) override { return tasks_.try_emplace(run, payload); }

    void serve() override {
        while (!consumer_ends()) {
            Element<size> *next = tasks_.peek();
            if (next == nullptr) continue;
            next->run(nullptr, next->payload, size);
            (void)tasks_.pop(); // there is one
            if (has_completions_ && !completions_.try_enqueue(0)) queue_failed("a completion did not fit");
        }
    }

    void await() override {
        for (int completion = 0; !completions_.try_dequeue(completion);) {
        }
    }

    void stop() override {}

  private:
    moodycamel::ReaderWriterQueue<Element<size>> tasks_;
    moodycamel::ReaderWriterQueue<int> completions_;
    bool has_completions_;
};

template <std::size_t size> class Sleeping final : public ByValue {
  public:
    explicit Sleeping(const queue_plan &plan)
        : tasks_(plan.capacity), completions_(plan.capacity), has_completions_(plan.completions) {}

    bool submit(queue_task *run, const void *payload) override { return tasks_.try_enqueue({run, payload}); }

    void serve() override {
        Element<size> next;
        while (!consumer_ends()) {
            tasks_.wait_dequeue(next);
            next.run(nullptr, next.payload, size);
            if (has_completions_ && !completions_.try_enqueue(0)) queue_failed("a completion did not fit");
        }
    }

    void await() override {
        int completion = 0;
        completions_.wait_dequeue(completion);
    }

    void stop() override {
        const char nothing[size] = {};
        (void)submit(consumer_nothing, nothing); // it finds room: all tasks have run
    }

  private:
    moodycamel::BlockingReaderWriterQueue<Element<size>> tasks_;
    moodycamel::BlockingReaderWriterQueue<int> completions_;
    bool has_completions_;
};

} // namespace

std::unique_ptr<ByValue> make_queue(const queue_plan &plan) {
    return plan.sleeping ? make_by_size<Sleeping>(plan) : make_by_size<Busy>(plan);
}

} // namespace flat::bench

bench_function *bench_code(void) { return reinterpret_cast<bench_function *>(queue_end); }
const char *bench_version(void) { return "as packaged"; }
