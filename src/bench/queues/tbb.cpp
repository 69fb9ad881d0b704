// oneTBB: task_arena::enqueue of a lambda that holds the payload. The arena has one worker thread. It takes any number
// of tasks, so the submitter counts those that have not run, as a program does that bounds its memory. oneTBB decides
// how long its worker looks for tasks before it sleeps, so it does the same in both modes. Completion is a word in
// memory.
#include "../backend.h"
#include "by_value.hpp"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_scheduler_observer.h>
#include <oneapi/tbb/version.h>

#include <atomic>
#include <optional>

#include <sched.h>

namespace flat::bench {
namespace {

/// Keeps the threads of an arena on a processor.
class Pin final : public tbb::task_scheduler_observer {
  public:
    Pin(tbb::task_arena &arena, int processor) : task_scheduler_observer(arena), processor_(processor) { observe(); }
    ~Pin() override { observe(false); }

    void on_scheduler_entry(bool) override {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(static_cast<std::size_t>(processor_), &set);
        if (sched_setaffinity(0, sizeof set, &set) != 0) queue_failed("cannot run on the requested processor");
    }

  private:
    int processor_;
};

class TaskArena {
  public:
    virtual ~TaskArena() = default;
    virtual bool submit(queue_task *run, const void *payload) = 0;
    virtual void await() = 0;
};

template <std::size_t size> class Tasks final : public TaskArena {
  public:
    explicit Tasks(const queue_plan &plan)
        : threads_(tbb::global_control::max_allowed_parallelism, 2), arena_(1, 0), pin_(arena_, plan.processor),
          capacity_(plan.capacity), sleeps_(plan.sleeping && plan.completions) {}

    bool submit(queue_task *run, const void *payload) override {
        if (submitted_ - done_before_ == capacity_) {
            done_before_ = done_.load(std::memory_order_acquire);
            if (submitted_ - done_before_ == capacity_) return false;
        }
        ++submitted_;
        arena_.enqueue([this, task = Task{Element<size>(run, payload)}] { finish(task); });
        return true;
    }

    void await() override {
        for (std::size_t seen; (seen = done_.load(std::memory_order_acquire)) != submitted_;) {
            if (sleeps_) done_.wait(seen, std::memory_order_acquire);
        }
    }

  private:
    /// The arena calls a constant lambda, and a task may write to its payload.
    struct Task {
        mutable Element<size> element;
    };

    void finish(const Task &task) {
        task.element.run(nullptr, task.element.payload, size);
        done_.fetch_add(1, std::memory_order_release);
        if (sleeps_) done_.notify_one();
    }

    tbb::global_control threads_;
    tbb::task_arena arena_;
    Pin pin_;
    std::size_t capacity_;
    bool sleeps_;
    std::size_t submitted_ = 0, done_before_ = 0;
    alignas(128) std::atomic<std::size_t> done_ = 0;
};

std::unique_ptr<TaskArena> arena;

} // namespace
} // namespace flat::bench

using flat::bench::arena;

bool queue_begin(const queue_plan *plan) {
#define FLATLINE_MAKE(bytes)                                                                                           \
    if (plan->size == bytes) arena = std::make_unique<flat::bench::Tasks<bytes>>(*plan);
    QUEUE_SIZES(FLATLINE_MAKE)
#undef FLATLINE_MAKE
    return arena != nullptr;
}

bool queue_submit(queue_task *run, const void *payload) { return arena->submit(run, payload); }

void queue_await(void) { arena->await(); }

void queue_end(void) { arena.reset(); }

bench_function *bench_code(void) { return reinterpret_cast<bench_function *>(TBB_runtime_interface_version); }
const char *bench_version(void) { return TBB_runtime_version(); }
