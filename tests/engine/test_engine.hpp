// Engines for tests: options that own their arrays, an engine that ends with its test, and tasks that are functions of
// the test.
#ifndef FLATLINE_TESTS_ENGINE_TEST_ENGINE_HPP
#define FLATLINE_TESTS_ENGINE_TEST_ENGINE_HPP

#include "sanitizers.hpp"

#include <flatline/engine.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace test {

constexpr std::uint64_t engine_second = 1000000000, engine_hour = 3600 * engine_second;
// From now to a deadline that a test lets pass: so long that a thread which the system does not run for a while has
// still submitted, or begun, the task before it.
constexpr std::uint64_t engine_soon = engine_second / 10;
constexpr std::uint64_t patience = 20 * engine_second; // what has not come by then is lost: no latency is tested

// Two workers of the caller's, two lanes, two classes. With four lanes to each worker, a lane has by default
// 64 / 2 / 4 == 8 grants of the first class and 4 of the second.
class engine_options {
  public:
    engine_options() {
        value.worker_count = 2;
        value.lane_count = 2;
        value.caller_runs_workers = true;
        value.stack_size = worker_stack;
    }

    std::vector<flat_class> classes{{64, 64}, {256, 32}};
    std::vector<flat_class_limits> limits;    // empty: none are given
    std::vector<flat_worker_options> workers; // the same
    flat_engine_options value{};

    // Valid until this changes.
    const flat_engine_options *get() {
        value.classes = classes.data();
        value.class_count = classes.size();
        value.class_limits = limits.empty() ? nullptr : limits.data();
        value.workers = workers.empty() ? nullptr : workers.data();
        value.message = message_.data();
        value.message_size = message_.size();
        return &value;
    }

    std::string message() const { return message_.data(); }

  private:
    std::array<char, 512> message_{};
};

class test_engine {
  public:
    explicit test_engine(engine_options options = {}) : options_(std::move(options)) {
        if (flat_engine_create(&engine_, options_.get()) != FLAT_OK) throw std::runtime_error(options_.message());
    }
    test_engine(const test_engine &) = delete;
    test_engine &operator=(const test_engine &) = delete;
    ~test_engine() { flat_engine_destroy(engine_); }

    operator flat_engine *() const { return engine_; } // NOLINT: it stands for the engine

    // A lane of the calling thread.
    flat_submitter *lane() const {
        flat_submitter *made = nullptr;
        const flat_status status = flat_engine_register(engine_, &made);
        if (status != FLAT_OK) throw std::runtime_error(flat_status_string(status));
        return made;
    }

    std::uint64_t now() const { return flat_engine_now(engine_); }
    std::size_t workers() const { return options_.value.worker_count; }

    // Lets the workers run until none of them finds a task. Returns the number of steps that found one.
    std::size_t run() const {
        std::size_t steps = 0;
        for (bool any = true; any;) {
            any = false;
            for (std::size_t i = 0; i < workers(); i++) {
                while (flat_engine_step(engine_, i)) {
                    any = true;
                    steps++;
                }
            }
        }
        return steps;
    }

    // Steps a worker until `done()`, as long as `patience`; returns whether it came.
    template <class Done> bool run_until(std::size_t worker, Done done) const {
        const std::uint64_t end = now() + patience;
        while (!done()) {
            if (now() > end) return false;
            (void)flat_engine_step(engine_, worker);
        }
        return true;
    }

  private:
    engine_options options_;
    flat_engine *engine_ = nullptr;
};

// A task that calls a function of the test, which must outlive it.
using action = std::function<void(flat_worker *here)>;

inline void call_action(flat_worker *here, void *payload, std::size_t size) {
    const action *act = nullptr;
    if (size != sizeof act) return;
    std::memcpy(&act, payload, size);
    (*act)(here);
}

inline flat_task task_of(flat_task_function *run, unsigned urgency = 0) {
    flat_task task{};
    task.run = run;
    task.urgency = urgency;
    return task;
}

inline flat_status submit_action(flat_submitter *to, std::size_t worker, const action &act, flat_task task = {}) {
    const action *payload = &act;
    task.run = call_action;
    return flat_engine_submit(to, worker, &task, &payload, sizeof payload);
}

inline void do_nothing_at_all(flat_worker *, void *, std::size_t) {}

// Polls everything.
inline std::vector<flat_completion> poll_all(flat_submitter *of) {
    std::vector<flat_completion> all;
    std::array<flat_completion, 16> some{};
    for (std::size_t count = some.size(); count == some.size();) {
        count = flat_engine_poll(of, some.data(), some.size());
        all.insert(all.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(count));
    }
    return all;
}

} // namespace test

#endif
