#include "live_dispatch.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <stdexcept>
#include <string>
#include <thread>

#include <sys/prctl.h>

namespace flat::bench {
namespace {

constexpr std::size_t block_bytes = 256;    // of a worker's own
constexpr std::uint64_t again_ns = 200'000; // until a task that found too few blocks looks again
constexpr std::uint64_t patience_ns = 60'000'000'000;
constexpr std::uint64_t second_ns = 1'000'000'000;

std::uint64_t now_ns() {
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

/// By the clock of steady_clock, to about 60 us: timers are let ring at once.
void sleep_until(std::uint64_t ns) {
    const std::timespec until{static_cast<std::time_t>(ns / second_ns), static_cast<long>(ns % second_ns)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
    }
}

/// Timers of this thread, and of those that it starts, ring as soon as they can. Where the system refuses it, they ring
/// up to 50 us later, under every policy.
class PromptTimers {
  public:
    PromptTimers() : usual_(prctl(PR_GET_TIMERSLACK, 0UL, 0UL, 0UL, 0UL)) {
        if (usual_ > 0) (void)prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    }
    PromptTimers(const PromptTimers &) = delete;
    PromptTimers &operator=(const PromptTimers &) = delete;
    ~PromptTimers() {
        if (usual_ > 0) (void)prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(usual_), 0UL, 0UL, 0UL);
    }

  private:
    int usual_;
};

/// One task, from when it is due until it is over. Written by one thread at a time.
struct Flight {
    const LiveRun *run = nullptr;
    const LiveTask *task = nullptr;
    std::uint64_t due_ns = 0, ran_ns = 0;
    std::array<void *, most_live_blocks> blocks{};
    bool has_blocks = false;
    std::atomic<bool> over{false};
};

void free_blocks(Flight &of, flat_pool *pool) {
    for (void *&block : of.blocks) {
        if (block != nullptr) flat_pool_free(pool, block);
        block = nullptr;
    }
}

bool take_blocks(Flight &of, flat_pool *pool) {
    for (std::uint32_t i = 0; i < of.task->blocks; i++) {
        of.blocks.at(i) = flat_pool_alloc(pool, block_bytes);
        if (of.blocks.at(i) == nullptr) {
            free_blocks(of, pool);
            return false;
        }
    }
    return true;
}

void run_flight(flat_worker *here, void *payload, std::size_t size) {
    Flight *flight = nullptr;
    if (size != sizeof flight) return;
    std::memcpy(&flight, payload, size);
    flat_pool *const pool = flat_engine_pool(here);
    if (flight->ran_ns == 0) {
        if (!take_blocks(*flight, pool)) {
            if (flat_engine_defer(here, again_ns) == FLAT_OK) return;
        }
        const double speed = flight->run->speeds.at(flat_engine_worker(here));
        const std::uint64_t begun = now_ns();
        sleep_until(begun + static_cast<std::uint64_t>(static_cast<double>(flight->task->service_ns) / speed));
        flight->ran_ns = now_ns();
        if (flight->task->hold_ns != 0 && flat_engine_defer(here, flight->task->hold_ns) == FLAT_OK) return;
    }
    free_blocks(*flight, pool);
    flight->over.store(true, std::memory_order_release);
}

/// An engine that ends with its use.
class Engine {
  public:
    explicit Engine(flat_engine_options options) {
        std::array<char, 256> message{};
        options.message = message.data();
        options.message_size = message.size();
        if (flat_engine_create(&engine_, &options) != FLAT_OK)
            throw std::runtime_error("no engine: " + std::string(message.data()));
        if (flat_engine_register(engine_, &submitter_) != FLAT_OK) throw std::runtime_error("an engine without a lane");
    }
    Engine(const Engine &) = delete;
    Engine &operator=(const Engine &) = delete;
    ~Engine() { flat_engine_destroy(engine_); }

    flat_engine *get() const { return engine_; }
    flat_submitter *submitter() const { return submitter_; }

  private:
    flat_engine *engine_ = nullptr;
    flat_submitter *submitter_ = nullptr;
};

void await_all(const std::vector<Flight> &flights, const std::vector<bool> &accepted) {
    const std::uint64_t until = now_ns() + patience_ns;
    for (std::size_t i = 0; i < flights.size(); i++) {
        while (accepted[i] && !flights[i].over.load(std::memory_order_acquire)) {
            if (now_ns() > until) throw std::runtime_error("a task was accepted and did not end");
            sleep_until(now_ns() + 1'000'000);
        }
    }
}

} // namespace

LiveOutcome run_live(const LiveRun &run) {
    // A class for each type, whose blocks are all grants, and one that is the worker's own.
    const std::array<flat_class, live_types + 1> classes{
        {{64, run.grants}, {128, run.grants}, {block_bytes, run.worker_blocks}}};
    std::array<flat_class_limits, live_types + 1> limits{};
    for (flat_class_limits &each : limits) each.worker_grants = FLAT_NO_GRANTS;
    for (unsigned type = 0; type < live_types; type++) limits.at(type).grants = run.grants;
    limits.back().grants = FLAT_NO_GRANTS;
    flat_engine_options options{};
    options.worker_count = run.speeds.size();
    options.classes = classes.data();
    options.class_count = classes.size();
    options.class_limits = limits.data();
    options.lane_count = 1;
    options.waiting = FLAT_WAITING_SLEEP;
    options.dispatch = run.policy;
    options.dispatch_seed = run.seed;

    const PromptTimers prompt;
    std::vector<Flight> flights(run.tasks.size());
    std::vector<bool> accepted(run.tasks.size());
    const Engine engine(options);
    LiveOutcome outcome;
    const std::uint64_t begin = now_ns() + 10'000'000;
    for (std::size_t i = 0; i < flights.size(); i++) {
        Flight &flight = flights[i];
        flight.run = &run;
        flight.task = &run.tasks[i];
        flight.due_ns = begin + run.tasks[i].due_ns;
        sleep_until(flight.due_ns);
        flat_task task{};
        task.run = run_flight;
        task.type = run.tasks[i].type;
        task.size_class = 1 + run.tasks[i].type;
        const Flight *const payload = &flight;
        accepted[i] =
            flat_engine_submit(engine.submitter(), FLAT_ANY_WORKER, &task, &payload, sizeof payload) == FLAT_OK;
        outcome.refused += !accepted[i];
    }
    await_all(flights, accepted);
    for (std::size_t i = 0; i < flights.size(); i++)
        if (accepted[i]) outcome.sojourns_ns.push_back(flights[i].ran_ns - flights[i].due_ns);
    return outcome;
}

std::vector<std::uint64_t> time_nothing(std::size_t count) {
    std::vector<std::uint64_t> taken(count);
    for (std::uint64_t &each : taken) {
        const std::uint64_t before = now_ns();
        each = now_ns() - before;
    }
    return taken;
}

std::vector<std::uint64_t> time_choices(flat_dispatch_policy policy, std::size_t workers, std::size_t choices) {
    const flat_class tasks{64, 4096};
    flat_class_limits limits{};
    limits.grants = 64;
    limits.worker_grants = FLAT_NO_GRANTS;
    flat_engine_options options{};
    options.worker_count = workers;
    options.classes = &tasks;
    options.class_count = 1;
    options.class_limits = &limits;
    options.lane_count = 1;
    options.dispatch = policy;
    options.caller_runs_workers = true;
    const Engine engine(options);
    std::atomic<bool> ends{false};
    std::thread running([&] {
        while (!ends.load(std::memory_order_relaxed))
            for (std::size_t i = 0; i < workers; i++) (void)flat_engine_step(engine.get(), i);
    });
    flat_task task{};
    task.run = [](flat_worker *, void *, std::size_t) {};
    std::vector<std::uint64_t> taken;
    for (std::size_t i = 0; i < 2 * choices; i++) {
        for (const std::uint64_t until = now_ns() + 2'000; now_ns() < until;) {
        }
        const std::uint64_t before = now_ns();
        const std::size_t worker = flat_engine_dispatch(engine.submitter(), &task, 64);
        const std::uint64_t after = now_ns();
        void *const block = flat_engine_grant(engine.submitter(), worker, 64);
        if (block != nullptr && flat_engine_post(engine.submitter(), block, &task) == FLAT_OK && i >= choices)
            taken.push_back(after - before);
    }
    ends.store(true);
    running.join();
    return taken;
}

} // namespace flat::bench
