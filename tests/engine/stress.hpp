// What the tests of the engine under threads share: an engine that ends with its test, tasks that stand still, and
// whether every grant is back.
#ifndef FLATLINE_TESTS_ENGINE_STRESS_HPP
#define FLATLINE_TESTS_ENGINE_STRESS_HPP

#include "sanitizers.hpp"

#include <flatline/engine.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace test {

constexpr std::uint64_t millisecond = 1'000'000, hour = 3600 * 1000 * millisecond;
// From now to a deadline that a test lets pass: so long that a thread which the system does not run for a while has
// still submitted the task before it.
constexpr std::uint64_t soon = 100 * millisecond;

// How long a test waits before it says "lost": a patience(), or FLATLINE_TEST_PATIENCE seconds, with which planted
// faults are seen sooner. No limit here is a latency.
inline std::uint64_t patience() {
    static const char *const given = std::getenv("FLATLINE_TEST_PATIENCE");
    return (given != nullptr ? std::strtoull(given, nullptr, 10) : 60) * 1000 * millisecond;
}

// Whether the condition holds within that time.
template <class Condition> bool comes(Condition condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(patience());
    while (!condition()) {
        if (std::chrono::steady_clock::now() > end) return false;
        std::this_thread::yield();
    }
    return true;
}

// An engine that is destroyed with its test.
class owned_engine {
  public:
    explicit owned_engine(const flat_engine_options &options) {
        char message[300] = "";
        flat_engine_options told = options;
        told.message = message;
        told.message_size = sizeof message;
        if (thread_sanitizer) told.stack_size = worker_stack;
        if (flat_engine_create(&engine_, &told) != FLAT_OK) throw std::runtime_error(message);
    }
    owned_engine(const owned_engine &) = delete;
    owned_engine &operator=(const owned_engine &) = delete;
    ~owned_engine() { flat_engine_destroy(engine_); }

    operator flat_engine *() const { return engine_; } // NOLINT: it stands for the engine

    // A lane that the calling thread gives back itself.
    flat_submitter *lane() const {
        flat_submitter *made = nullptr;
        const flat_status status = flat_engine_register(engine_, &made);
        if (status != FLAT_OK) throw std::runtime_error(flat_status_string(status));
        return made;
    }

    std::uint64_t in(std::uint64_t ns) const { return flat_engine_now(engine_) + ns; }

  private:
    flat_engine *engine_ = nullptr;
};

inline void do_nothing(flat_worker *, void *, std::size_t) {}

// Submits a task whose payload is one trivially copied value.
template <class Value>
flat_status submit_value(flat_submitter *to, std::size_t worker, flat_task task, const Value &value) {
    return flat_engine_submit(to, worker, &task, &value, sizeof value);
}

template <class Value> Value payload_as(const void *payload) {
    Value value;
    std::memcpy(&value, payload, sizeof value);
    return value;
}

// A task that stands still in its worker until the gate is opened. Where a test that failed leaves the gate closed, its
// destructor opens it and waits for those that stand there, or the engine could never be destroyed.
struct gate {
    explicit gate(flat_engine *engine) : engine_(engine) {}
    gate(const gate &) = delete;
    gate &operator=(const gate &) = delete;
    ~gate() {
        if (!is_open.exchange(true)) (void)!flat_engine_drain(engine_, patience());
    }

    std::atomic<bool> is_open{false};
    std::atomic<std::size_t> inside{0};

    static void stand(flat_worker *, void *payload, std::size_t) {
        gate &at = *payload_as<gate *>(payload);
        at.inside++;
        while (!at.is_open) std::this_thread::sleep_for(std::chrono::microseconds(100));
        at.inside--;
    }

    bool close_worker(flat_submitter *lane, std::size_t worker) {
        const std::size_t before = inside;
        return submit_value(lane, worker, {.run = stand}, this) == FLAT_OK && comes([&] { return inside > before; });
    }

  private:
    flat_engine *engine_;
};

// Takes every grant of a lane, for payloads of each size and inline ones, and gives all back. Returns what is missing,
// or "". The engine must accept tasks, and the lane must have none in flight.
inline std::string missing_grants(flat_engine *engine, flat_submitter *lane, std::size_t worker,
                                  const std::vector<std::size_t> &sizes) {
    const auto differs = [&](std::size_t size, std::size_t found) {
        const std::size_t capacity = flat_engine_capacity(lane, worker, size);
        if (found == capacity) return std::string();
        return "worker " + std::to_string(worker) + ", " + std::to_string(size) + " bytes: " + std::to_string(found) +
               " of " + std::to_string(capacity) + " grants; ";
    };
    std::string missing;
    for (const std::size_t size : sizes) {
        std::vector<void *> held;
        while (void *block = flat_engine_grant(lane, worker, size)) held.push_back(block);
        missing += differs(size, held.size());
        for (void *block : held) {
            if (flat_engine_release(lane, block) != FLAT_OK) missing += "a grant is not taken back; ";
        }
    }
    std::vector<flat_ticket> tickets;
    flat_ticket ticket = 0;
    const flat_task later = {.run = do_nothing, .start_ns = flat_engine_now(engine) + hour, .ticket = &ticket};
    while (flat_engine_submit(lane, worker, &later, nullptr, 0) == FLAT_OK) tickets.push_back(ticket);
    missing += differs(0, tickets.size());
    for (const flat_ticket each : tickets) {
        if (flat_engine_cancel(lane, each) != FLAT_OK) missing += "a task is not cancelled; ";
    }
    return missing;
}

// What a worker finds of its own: every grant of its lanes, and its pool.
struct worker_report {
    const std::vector<std::size_t> *sizes;
    std::size_t workers;
    std::string missing;
    std::size_t live; // blocks of its pool that are grants or allocated
    std::atomic<bool> is_made;

    static void make(flat_worker *here, void *payload, std::size_t) {
        worker_report &report = *payload_as<worker_report *>(payload);
        for (std::size_t i = 0; i < report.workers; i++) {
            report.missing += missing_grants(flat_engine_of(here), flat_engine_submitter(here), i, *report.sizes);
        }
        std::array<flat_pool_stats, FLAT_POOL_MAX_CLASSES> stats{};
        const std::size_t classes = flat_pool_get_stats(flat_engine_pool(here), stats.data(), stats.size());
        report.live = 0;
        for (std::size_t i = 0; i < classes; i++) report.live += stats[i].live;
        if (flat_pool_check(flat_engine_pool(here)) != FLAT_OK) report.missing += "the pool is corrupted; ";
        report.is_made = true;
    }
};

// What is missing of an engine in which nothing is in flight, and which then accepts tasks: grants of any lane, or
// blocks of a worker's pool, of which `live` are grants or the test's. No lane may be in use; all of them are taken for
// the time of the call, so that none is left out.
inline std::string missing_of(flat_engine *engine, std::size_t lanes, std::size_t workers,
                              const std::vector<std::size_t> &sizes, std::size_t live) {
    std::string missing;
    std::vector<flat_submitter *> taken(lanes);
    flat_engine_resume(engine);
    for (flat_submitter *&lane : taken) {
        if (!comes([&] { return flat_engine_register(engine, &lane) == FLAT_OK; })) return "a lane does not come back";
        for (std::size_t i = 0; i < workers; i++) missing += missing_grants(engine, lane, i, sizes);
    }
    if (flat_engine_drain(engine, patience()) != FLAT_OK) return missing + "what was cancelled is not done";
    flat_engine_resume(engine);
    for (std::size_t i = 0; i < workers; i++) {
        worker_report report{&sizes, workers, "", 0, {false}};
        if (submit_value(taken[0], i, {.run = worker_report::make}, &report) != FLAT_OK) return "a task is refused";
        if (flat_engine_drain(engine, patience()) != FLAT_OK || !report.is_made) return missing + "a task is lost";
        flat_engine_resume(engine);
        if (report.live != live) {
            missing += "worker " + std::to_string(i) + ": " + std::to_string(report.live) + " of " +
                       std::to_string(live) + " live blocks; ";
        }
        if (!report.missing.empty()) missing += "of worker " + std::to_string(i) + "'s own lanes: " + report.missing;
    }
    for (flat_submitter *lane : taken) flat_engine_unregister(lane);
    return missing;
}

} // namespace test

#endif
