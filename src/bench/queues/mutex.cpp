// A ring of a fixed capacity behind a mutex. A consumer that sleeps does so by a condition variable. One that is busy
// looks at the number of elements, and locks the mutex only if there are any. Completions are counted in the same way.
#include "../backend.h"
#include "by_value.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <vector>

namespace flat::bench {
namespace {

/// A bounded queue for any number of threads.
template <typename What, bool sleeps> class Locked {
  public:
    explicit Locked(std::size_t capacity) : ring_(capacity) {}

    bool put(const What &what) {
        {
            const std::scoped_lock lock(mutex_);
            if (to_ - from_ == ring_.size()) return false;
            ring_[to_++ % ring_.size()] = what;
            count_.store(to_ - from_, std::memory_order_relaxed);
        }
        if constexpr (sleeps) is_filled_.notify_one();
        return true;
    }

    /// Waits until there is one.
    void take(What &what) {
        if constexpr (!sleeps) {
            while (count_.load(std::memory_order_relaxed) == 0) {
                if (consumer_ends()) return;
            }
        }
        std::unique_lock lock(mutex_);
        if constexpr (sleeps) is_filled_.wait(lock, [this] { return to_ != from_; });
        what = ring_[from_++ % ring_.size()];
        count_.store(to_ - from_, std::memory_order_relaxed);
    }

  private:
    std::mutex mutex_;
    std::condition_variable is_filled_;
    std::vector<What> ring_;
    std::size_t from_ = 0, to_ = 0;
    std::atomic<std::size_t> count_ = 0;
};

template <std::size_t size, bool sleeps> class Tasks final : public ByValue {
  public:
    explicit Tasks(const queue_plan &plan)
        : tasks_(plan.capacity), completions_(plan.capacity), has_completions_(plan.completions) {}

    bool submit(queue_task *run, const void *payload) override { return tasks_.put({run, payload}); }

    void serve() override {
        Element<size> next{};
        for (;;) {
            tasks_.take(next);
            if (consumer_ends()) return;
            next.run(nullptr, next.payload, size);
            if (has_completions_ && !completions_.put(0)) queue_failed("a completion did not fit");
        }
    }

    void await() override {
        int completion = 0;
        completions_.take(completion);
    }

    void stop() override {
        const char nothing[size] = {};
        (void)submit(consumer_nothing, nothing); // it finds room: all tasks have run
    }

  private:
    Locked<Element<size>, sleeps> tasks_;
    Locked<int, sleeps> completions_;
    bool has_completions_;
};

template <std::size_t size> using Busy = Tasks<size, false>;
template <std::size_t size> using Sleeping = Tasks<size, true>;

} // namespace

std::unique_ptr<ByValue> make_queue(const queue_plan &plan) {
    return plan.sleeping ? make_by_size<Sleeping>(plan) : make_by_size<Busy>(plan);
}

} // namespace flat::bench

bench_function *bench_code(void) { return reinterpret_cast<bench_function *>(queue_end); }
const char *bench_version(void) { return "as packaged"; }
