// engine_soak SECONDS [SEED]: threads take lanes, submit tasks of all kinds beyond what fits, and leave, or end without
// leaving, for the given time. Exit status 0: every accepted task ended once and with its payload whole, every grant
// and every block is back at the end, and resident memory did not grow.
#include "core/random_source.hpp"
#include "engine/stress.hpp"
#include "os/system_memory.hpp"
#include "resident_growth.hpp"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <random>
#include <shared_mutex>

namespace {

using test::millisecond, test::random_source;

constexpr std::size_t workers = 3, lanes = 4, thread_count = 6;
constexpr std::array<flat_class, 3> classes{{{64, 400}, {512, 200}, {4096, 60}}};
constexpr std::array<flat_class_limits, 3> limits{{{30, 20, 0}, {15, 10, 0}, {4, 3, 0}}};
const std::vector<std::size_t> sizes{64, 512, 4096};
constexpr std::size_t live = lanes * (30 + 15 + 4) + workers * (20 + 10 + 3);

flat_engine *engine;
std::atomic<bool> is_over;
std::atomic<std::uint64_t> lives, left, accepted, refused, late, deferred, polled, numbers;
std::array<std::atomic<std::uint64_t>, 3> outcomes;

[[noreturn]] void fail(const char *what) {
    std::fprintf(stderr, "engine_soak: %s\n", what);
    std::fflush(nullptr);
    std::_Exit(1);
}

// At both ends of a payload.
struct stamp {
    std::uint64_t number, check;
    std::uint32_t size, deferrals, has_ended;

    std::uint64_t right() const { return (number * 0x9e3779b97f4a7c15u) ^ size; }
};

std::uint64_t last_word(const void *payload, std::size_t size) {
    return test::payload_as<std::uint64_t>(static_cast<const char *>(payload) + size - sizeof(std::uint64_t));
}

void submit_one(flat_submitter *lane, random_source &random, bool is_nested);

// Each task is always run, so that none ends unseen.
void run(flat_worker *here, void *payload, std::size_t size) {
    auto &of = *static_cast<stamp *>(payload);
    if (of.size != size || of.check != of.right() || last_word(payload, size) != of.check) fail("a payload is spoilt");
    if (of.has_ended != 0) fail("a task is run twice");
    const flat_outcome outcome = flat_engine_outcome(here);
    random_source random(of.check);
    if (outcome == FLAT_TASK_DONE && of.deferrals > 0) {
        of.deferrals--;
        deferred++;
        if (flat_engine_defer(here, random.below(millisecond)) != FLAT_OK) fail("a deferral is refused");
        return;
    }
    of.has_ended = 1;
    outcomes[outcome]++;
    if (outcome != FLAT_TASK_DONE || !random.one_in(4)) return;
    std::array<flat_completion, 4> completions;
    polled += flat_engine_poll(flat_engine_submitter(here), completions.data(), completions.size());
    submit_one(flat_engine_submitter(here), random, true);
}

void fill(void *payload, std::size_t size, random_source &random) {
    auto &of = *static_cast<stamp *>(payload);
    of = {numbers++, 0, static_cast<std::uint32_t>(size), random.one_in(16) ? unsigned(random.below(4)) : 0, 0};
    of.check = of.right();
    std::memcpy(static_cast<char *>(payload) + size - sizeof of.check, &of.check, sizeof of.check);
}

// Submits one task by one of the ways that there are, and counts what became of it.
void submit_one(flat_submitter *lane, random_source &random, bool is_nested) {
    const std::uint64_t now = flat_engine_now(engine);
    flat_ticket ticket = 0;
    flat_task task = {.run = run,
                      .urgency = static_cast<unsigned>(random.below(FLAT_ENGINE_URGENCIES)),
                      .completion = random.one_in(4),
                      .always_run = true,
                      .ticket = &ticket};
    if (random.one_in(16)) task.start_ns = now + random.below(4 * millisecond);
    if (random.one_in(4)) task.deadline_ns = std::max(task.start_ns, now + random.below(2 * millisecond));
    const std::size_t size = sizeof(stamp) + sizeof(std::uint64_t) + 8 * random.below(500),
                      worker = random.below(workers);
    alignas(stamp) std::array<char, 4096> payload;
    flat_status status = FLAT_NO_GRANT;
    if (random.one_in(2)) {
        void *block = flat_engine_grant(lane, worker, size);
        if (block != nullptr) {
            fill(block, size, random);
            status = flat_engine_post(lane, block, &task);
            if (status != FLAT_OK && flat_engine_release(lane, block) != FLAT_OK) fail("a grant is not taken back");
        }
    } else {
        fill(payload.data(), size, random);
        status = is_nested || !random.one_in(16)
                     ? flat_engine_submit(lane, FLAT_ANY_WORKER, &task, payload.data(), size)
                     : flat_engine_submit_until(lane, worker, &task, payload.data(), size, now + millisecond);
    }
    switch (status) {
    case FLAT_OK: accepted++; break;
    case FLAT_DEADLINE_PAST: late++; break;
    case FLAT_NO_GRANT:
    case FLAT_RING_FULL:
    case FLAT_TIMED_OUT: refused++; break;
    default: fail(flat_status_string(status));
    }
    if (status != FLAT_OK || !random.one_in(8)) return;
    if (random.one_in(2)) ticket ^= 1; // of the time before, or after
    (void)!flat_engine_cancel(lane, ticket);
}

// See surge_test.cpp: what ThreadSanitizer does not know of a thread that has ended.
std::shared_mutex ending;

flat_submitter *take_lane() {
    flat_submitter *lane = nullptr;
    const std::shared_lock held(ending);
    const flat_status status = flat_engine_register(engine, &lane);
    if (status != FLAT_OK && status != FLAT_UNAVAILABLE) fail(flat_status_string(status));
    return lane;
}

void live_once(std::uint64_t seed) {
    random_source random(seed);
    flat_submitter *lane = nullptr;
    if (!test::comes([&] { return is_over || (lane = take_lane()) != nullptr; })) fail("lost: no lane comes back");
    if (lane == nullptr) return;
    const std::uint64_t end = flat_engine_now(engine) + (5 + random.below(300)) * millisecond;
    std::array<flat_completion, 8> completions;
    while (!is_over && flat_engine_now(engine) < end) {
        for (std::uint64_t burst = random.magnitude(300); burst > 0; burst--) submit_one(lane, random, false);
        if (random.one_in(4)) (void)!flat_engine_wait(lane, flat_engine_now(engine) + millisecond);
        if (random.one_in(2)) polled += flat_engine_poll(lane, completions.data(), completions.size());
        if (random.one_in(4)) std::this_thread::sleep_for(std::chrono::microseconds(random.below(2000)));
        if (random.one_in(16)) (void)!flat_engine_grant(lane, random.below(workers), 64);
    }
    if (random.one_in(2)) {
        flat_engine_unregister(lane);
        left++;
    } else if (test::thread_sanitizer) {
        const std::unique_lock last(ending);
    }
}

// Runs one thread after the other until the test is over.
void live_on(std::uint64_t seed) {
    for (random_source random(seed); !is_over; lives++) std::thread(live_once, random.next()).join();
}

void require_all_back() {
    if (flat_engine_drain(engine, test::patience()) != FLAT_OK) fail("lost: a drain does not end");
    if (outcomes[0] + outcomes[1] + outcomes[2] != accepted) fail("a task is lost, or was run twice");
    const std::string missing = test::missing_of(engine, lanes, workers, sizes, live);
    if (!missing.empty()) fail(missing.c_str());
}

// Tasks of the workers poll their own lanes' completions, when there is nothing to do any more.
void poll_within() {
    flat_submitter *lane = take_lane();
    if (lane == nullptr && !test::comes([&] { return (lane = take_lane()) != nullptr; }))
        fail("lost: no lane comes back");
    const flat_task task = {.run = [](flat_worker *here, void *, std::size_t) {
        flat_completion completion;
        while (flat_engine_poll(flat_engine_submitter(here), &completion, 1) != 0) polled++;
    }};
    if (flat_engine_drain(engine, test::patience()) != FLAT_OK) fail("lost: a drain does not end");
    flat_engine_resume(engine);
    for (std::size_t i = 0; i < workers; i++) {
        if (flat_engine_submit(lane, i, &task, nullptr, 0) != FLAT_OK) fail("a task is refused");
    }
    flat_engine_unregister(lane);
}

} // namespace

int main(int argc, char **argv) {
    const unsigned seconds = argc > 1 ? static_cast<unsigned>(std::strtoul(argv[1], nullptr, 10)) : 0;
    const std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : std::random_device()();
    if (seconds == 0) fail("usage: engine_soak SECONDS [SEED]");
    if (!test::growth_is_seen()) fail("growth of memory would not be seen");
    const test::owned_engine made({.worker_count = workers,
                                   .classes = classes.data(),
                                   .class_count = classes.size(),
                                   .class_limits = limits.data(),
                                   .lane_count = lanes});
    engine = made;
    (void)test::keep_to_small_pages();
    std::printf("%u seconds, seed %" PRIu64 "\n", seconds, seed);
    std::vector<std::thread> threads;
    std::vector<std::size_t> pages;
    for (std::size_t i = 0; i < thread_count; i++) threads.emplace_back(live_on, seed + i);
    for (unsigned second = 0; second < seconds; second++) {
        std::this_thread::sleep_for(std::chrono::seconds(1));
        pages.push_back(test::resident_bytes() / test::page_size());
    }
    is_over = true;
    for (std::thread &each : threads) each.join();
    poll_within();
    require_all_back();
    std::printf("%" PRIu64 " lives, %" PRIu64 " left; %" PRIu64 " tasks, %" PRIu64 " refused, %" PRIu64
                " too late; %" PRIu64 " done, %" PRIu64 " expired, %" PRIu64 " cancelled, %" PRIu64
                " deferrals, %" PRIu64 " polled: every grant is back\n",
                lives.load(), left.load(), accepted.load(), refused.load(), late.load(), outcomes[0].load(),
                outcomes[1].load(), outcomes[2].load(), deferred.load(), polled.load());
    if (test::memory_is_its_own && !test::is_flat(pages)) fail("resident memory grows");
    return 0;
}
