// Millions of tasks of every kind, from several submitters and from tasks, to several workers: each ends exactly once,
// with the payload that it was given.
#include "core/environment.hpp"
#include "core/random_source.hpp"
#include "engine/stress.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <memory>

namespace {

using test::random_source;

constexpr std::size_t submitters = 3, workers = 2, sources = submitters + workers, largest = 4096;
constexpr std::array<flat_class, 3> classes{{{128, 2000}, {1024, 1000}, {largest, 600}}};
const std::vector<std::size_t> sizes{128, 1024, largest};
constexpr std::size_t live = 5 * (200 + 100 + 60); // by default half of the blocks, among five lanes

// A task is named by its source and its number there. The name is the first word of its payload, and decides about the
// rest of it and about what kind of task it is. A payload below a word has no name: see `tiny`.
using name = std::uint64_t;
constexpr unsigned source_shift = 40;
constexpr std::uint64_t number_mask = (std::uint64_t{1} << source_shift) - 1;

struct task_kind {
    explicit task_kind(name of) {
        random_source random(of);
        const std::uint64_t kind = random.below(8);
        size = random.one_in(2) ? random.below(largest + 1) : random.magnitude(largest);
        if (random.one_in(16)) size = random.below(sizeof(name));
        is_plain = kind < 4 && size >= sizeof(name);
        completion = !is_plain && (kind != 4 || is_tiny());
        always_run = !is_plain && kind <= 5 && !is_tiny();
        has_deadline = !is_plain && random.one_in(4);
        is_late = random.one_in(16);
        is_deferred = random.one_in(32);
        has_child = random.one_in(8);
        urgency = static_cast<unsigned>(random.below(FLAT_ENGINE_URGENCIES));
        type = static_cast<unsigned>(random.below(FLAT_ENGINE_TASK_TYPES));
        asks_for_largest = random.one_in(64);
    }
    bool is_tiny() const { return size < sizeof(name); }

    std::size_t size;
    bool is_plain; // it runs: it has no deadline and is not cancelled
    bool completion, always_run, has_deadline, is_late, is_deferred, has_child, asks_for_largest;
    unsigned urgency, type;
};

// What became of a task: how often it ran or was disposed of, was completed, was deferred, and was accepted.
constexpr unsigned ran = 1, completed = 1 << 2, deferred = 1 << 4, accepted = 1 << 6, each_count = 3;

struct source {
    explicit source(std::size_t most) : fates(most) {}

    std::vector<std::atomic<std::uint8_t>> fates;
    flat_submitter *lane = nullptr;
    random_source random{0};
    std::size_t number = 0; // of the source
    std::uint64_t next = 0, wanted = 0, polled = 0, refused = 0, late = 0, cancelled = 0;
    std::array<std::uint64_t, 3> outcomes{}; // seen by completions alone
    std::uint64_t tiny_done = 0;
    std::array<flat_ticket, 16> tickets{};
    std::array<unsigned char, largest> scratch{};
};

// What one worker saw, by source.
struct alignas(128) ledger {
    std::array<std::array<std::uint64_t, 3>, sources> outcomes{};
    std::uint64_t tiny_runs = 0;
};

struct everything {
    flat_engine *engine = nullptr;
    std::vector<std::unique_ptr<source>> from;
    std::array<ledger, workers> ledgers;
    std::atomic<const char *> wrong{nullptr};
    bool has_children = true; // until the end begins
};

everything *all;

void require(bool holds, const char *what) {
    if (!holds) all->wrong.store(what);
}

// The words of a payload after its name are random numbers that follow from it.
void fill(void *payload, name of, std::size_t size) {
    auto *to = static_cast<unsigned char *>(payload);
    random_source random(of ^ size);
    if (size < sizeof of) {
        const std::uint64_t word = random_source(size).next();
        std::memcpy(to, &word, size);
        return;
    }
    std::memcpy(to, &of, sizeof of);
    for (std::size_t at = sizeof of; at < size; at += sizeof(std::uint64_t)) {
        const std::uint64_t word = random.next();
        std::memcpy(to + at, &word, std::min(sizeof word, size - at));
    }
}

bool is_whole(const void *payload, std::size_t size) {
    const auto *at = static_cast<const unsigned char *>(payload);
    if (size < sizeof(name)) {
        const std::uint64_t word = random_source(size).next();
        return std::memcmp(at, &word, size) == 0;
    }
    random_source random(test::payload_as<name>(payload) ^ size);
    std::uint64_t differs = 0;
    for (std::size_t i = sizeof(name); i < size; i += sizeof(std::uint64_t)) {
        const std::uint64_t right = random.next();
        std::uint64_t found = right;
        std::memcpy(&found, at + i, std::min(sizeof found, size - i));
        differs |= found ^ right;
    }
    return differs == 0;
}

bool send(source &by, bool is_outside);
void poll(source &by);

void run(flat_worker *here, void *payload, std::size_t size) {
    ledger &book = all->ledgers[flat_engine_worker(here)];
    require(is_whole(payload, size), "a payload is not what was submitted");
    if (size < sizeof(name)) {
        book.tiny_runs++;
        return;
    }
    const name of = test::payload_as<name>(payload);
    const task_kind kind(of);
    source &from = *all->from[of >> source_shift];
    const flat_outcome outcome = flat_engine_outcome(here);
    require(kind.size == size, "a task has another's payload");
    std::atomic<std::uint8_t> &fate = from.fates[of & number_mask];
    if (outcome == FLAT_TASK_DONE && kind.is_deferred && (fate & deferred) == 0) {
        fate += deferred;
        require(flat_engine_defer(here, of % 50'000) == FLAT_OK, "a deferral is refused");
        return;
    }
    fate += ran;
    book.outcomes[of >> source_shift][outcome]++;
    const name left = ~of;
    if (kind.completion) std::memcpy(payload, &left, sizeof left);
    if (outcome != FLAT_TASK_DONE || !kind.has_child || !all->has_children) return;
    source &own = *all->from[submitters + flat_engine_worker(here)];
    own.lane = flat_engine_submitter(here);
    poll(own);
    if (own.next < own.fates.size()) (void)send(own, false);
}

void take(source &by, const flat_completion &of) {
    const std::uint64_t number = reinterpret_cast<std::uintptr_t>(of.context) - 1;
    require(number < by.next, "a completion of no task");
    if (number >= by.next) return;
    const name is = by.number << source_shift | number;
    const task_kind kind(is);
    const std::uint8_t fate = by.fates[number] += completed;
    const bool has_run = (fate & each_count * ran) == ran;
    require(kind.completion && of.size == kind.size, "a completion of another task");
    by.polled++;
    if (kind.is_tiny()) {
        by.tiny_done += of.outcome == FLAT_TASK_DONE;
    } else {
        require(has_run == (kind.always_run || of.outcome == FLAT_TASK_DONE), "a completion says what was not");
        if (of.payload != nullptr && has_run) {
            require(test::payload_as<name>(of.payload) == ~is, "a payload is not as the task left it");
        }
    }
    if (kind.is_tiny() || (of.outcome != FLAT_TASK_DONE && !kind.always_run)) by.outcomes[of.outcome]++;
}

void poll(source &by) {
    std::array<flat_completion, 8> got;
    for (std::size_t count = got.size(); count == got.size();) {
        count = flat_engine_poll(by.lane, got.data(), got.size());
        for (std::size_t i = 0; i < count; i++) take(by, got[i]);
    }
}

flat_task describe(source &by, const task_kind &kind, flat_ticket &ticket) {
    flat_task task = {.run = run,
                      .size_class = kind.asks_for_largest ? unsigned{classes.size()} : 0,
                      .urgency = kind.urgency,
                      .type = kind.type,
                      .completion = kind.completion,
                      .always_run = kind.always_run,
                      .context = reinterpret_cast<void *>(by.next + 1),
                      .ticket = &ticket};
    const std::uint64_t now = flat_engine_now(all->engine);
    if (kind.is_late) task.start_ns = now + by.random.below(200'000);
    if (kind.has_deadline) task.deadline_ns = std::max(now + by.random.below(300'000), task.start_ns);
    return task;
}

// One try to submit the next task of a source, by one of the ways that there are.
flat_status try_to_send(source &by, const task_kind &kind, flat_ticket &ticket, bool is_outside) {
    const name is = by.number << source_shift | by.next;
    const flat_task task = describe(by, kind, ticket);
    const std::size_t worker = by.random.below(workers);
    if (kind.size > FLAT_ENGINE_INLINE_BYTES && by.random.one_in(2)) {
        void *block = flat_engine_grant(by.lane, worker, kind.size);
        if (block == nullptr) return FLAT_NO_GRANT;
        fill(block, is, kind.size);
        const flat_status status = flat_engine_post(by.lane, block, &task);
        require(status == FLAT_OK || flat_engine_release(by.lane, block) == FLAT_OK, "a grant is not taken back");
        return status;
    }
    fill(by.scratch.data(), is, kind.size);
    const std::size_t to = by.random.one_in(8) ? FLAT_ANY_WORKER : worker;
    if (!is_outside || by.random.one_in(2)) return flat_engine_submit(by.lane, to, &task, by.scratch.data(), kind.size);
    return flat_engine_submit_until(by.lane, to, &task, by.scratch.data(), kind.size,
                                    flat_engine_now(all->engine) + test::millisecond);
}

void cancel_some(source &by) {
    flat_ticket &ticket = by.tickets[by.random.below(by.tickets.size())];
    if (ticket == 0 || !by.random.one_in(4)) return;
    const flat_status status = flat_engine_cancel(by.lane, ticket);
    require(status == FLAT_OK || status == FLAT_STALE_TICKET || status == FLAT_RING_FULL, "a cancellation fails");
    by.cancelled += status == FLAT_OK;
}

// Submits the next task. One from outside is tried until it is accepted, for a patience(); one from a task three times.
bool send(source &by, bool is_outside) {
    const name is = by.number << source_shift | by.next;
    const task_kind kind(is);
    flat_ticket ticket = 0;
    const std::uint64_t until = flat_engine_now(all->engine) + test::patience();
    by.next++; // before it can be completed
    for (unsigned tries = 0; is_outside || tries < 3; tries++) {
        by.next--;
        const flat_status status = try_to_send(by, kind, ticket, is_outside);
        by.next++;
        if (status == FLAT_OK) {
            by.fates[by.next - 1] += accepted;
            by.wanted += kind.completion;
            if (!kind.is_plain) by.tickets[by.next % by.tickets.size()] = ticket;
            cancel_some(by);
            return true;
        }
        const bool is_full = status == FLAT_NO_GRANT || status == FLAT_RING_FULL || status == FLAT_TIMED_OUT;
        require(is_full || (status == FLAT_DEADLINE_PAST && kind.has_deadline), flat_status_string(status));
        (is_full ? by.refused : by.late)++;
        poll(by);
        if (is_outside && flat_engine_now(all->engine) > until) require(false, "lost: no grant comes back");
        if (all->wrong.load() != nullptr) break;
    }
    by.next--;
    return false;
}

void be_submitter(source &by, std::uint64_t count) {
    if (flat_engine_register(all->engine, &by.lane) != FLAT_OK) return require(false, "a lane is refused");
    while (by.next < count && all->wrong.load() == nullptr) {
        (void)send(by, true);
        if (by.random.one_in(4)) poll(by);
    }
    const std::uint64_t until = flat_engine_now(all->engine) + test::patience();
    while (by.polled < by.wanted && all->wrong.load() == nullptr) {
        require(flat_engine_wait(by.lane, until) == FLAT_OK, "lost: a completion does not come");
        poll(by);
    }
    flat_engine_unregister(by.lane);
}

void poll_all(flat_worker *here, void *, std::size_t) {
    source &own = *all->from[submitters + flat_engine_worker(here)];
    own.lane = flat_engine_submitter(here);
    poll(own);
}

// The workers' own lanes, whose completions only their tasks can poll.
void poll_within(flat_engine *engine) {
    flat_submitter *lane = nullptr;
    require(flat_engine_register(engine, &lane) == FLAT_OK, "a lane is refused");
    const flat_task task = {.run = poll_all};
    for (std::size_t i = 0; i < workers; i++) {
        require(flat_engine_submit(lane, i, &task, nullptr, 0) == FLAT_OK, "a task is refused");
    }
    require(flat_engine_drain(engine, test::patience()) == FLAT_OK, "lost: a task does not end");
    flat_engine_unregister(lane);
    flat_engine_resume(engine);
}

void expect_each_once(const source &of) {
    for (std::uint64_t i = 0; i < of.next; i++) {
        const task_kind kind(of.number << source_shift | i);
        const unsigned fate = of.fates[i], runs = fate & each_count, completions = fate / completed & each_count;
        ASSERT_EQ(fate / accepted, 1u) << "task " << i;
        ASSERT_EQ(completions, kind.completion ? 1u : 0u) << "task " << i;
        if (!kind.completion || (kind.always_run && !kind.is_tiny())) {
            ASSERT_EQ(runs, 1u) << "task " << i;
        }
    }
    for (std::uint64_t i = of.next; i < of.fates.size(); i++) ASSERT_EQ(of.fates[i] / accepted, 0u) << "task " << i;
}

void expect_accounts(const everything &of) {
    std::uint64_t tiny_runs = 0, tiny_done = 0;
    for (const ledger &each : of.ledgers) tiny_runs += each.tiny_runs;
    for (std::size_t i = 0; i < sources; i++) {
        const source &from = *of.from[i];
        SCOPED_TRACE(testing::Message() << "source " << i);
        std::array<std::uint64_t, 3> outcomes = from.outcomes;
        for (const ledger &each : of.ledgers) {
            for (std::size_t k = 0; k < outcomes.size(); k++) outcomes[k] += each.outcomes[i][k];
        }
        std::printf("source %zu: %" PRIu64 " accepted, %" PRIu64 " done, %" PRIu64 " expired, %" PRIu64
                    " cancelled; %" PRIu64 " tries refused, %" PRIu64 " too late\n",
                    i, from.next, outcomes[0], outcomes[1], outcomes[2], from.refused, from.late);
        EXPECT_EQ(from.next, outcomes[0] + outcomes[1] + outcomes[2]);
        EXPECT_EQ(from.polled, from.wanted);
        expect_each_once(from);
        tiny_done += from.tiny_done;
    }
    EXPECT_EQ(tiny_runs, tiny_done);
}

} // namespace

// `make check` runs ten million of them: see stress.cmake.
TEST(engine_many_tasks, each_ends_once_with_its_payload_whole) {
    const std::uint64_t count = test::scaled(500'000) / submitters;
    SCOPED_TRACE(testing::Message() << "FLATLINE_TEST_SEED=" << test::seed());
    auto state = std::make_unique<everything>();
    all = state.get();
    for (std::size_t i = 0; i < sources; i++) {
        state->from.push_back(std::make_unique<source>(count));
        state->from[i]->number = i;
        state->from[i]->random = random_source(test::seed() + i);
    }
    {
        const test::owned_engine engine({.worker_count = workers,
                                         .classes = classes.data(),
                                         .class_count = classes.size(),
                                         .lane_count = submitters});
        state->engine = engine;
        std::vector<std::thread> threads;
        for (std::size_t i = 0; i < submitters; i++) {
            threads.emplace_back([&, i] { be_submitter(*state->from[i], count); });
        }
        for (std::thread &each : threads) each.join();
        ASSERT_STREQ(state->wrong, nullptr);
        ASSERT_EQ(flat_engine_drain(engine, test::patience()), FLAT_OK);
        flat_engine_resume(engine);
        poll_within(engine);
        ASSERT_EQ(test::missing_of(engine, submitters, workers, sizes, live), "");
    }
    ASSERT_STREQ(state->wrong, nullptr);
    expect_accounts(*state);
}
