// The part of stepped_calls that calls the engine.
#include "stepped_calls.hpp"
#include "stepper.hpp"

#include <flatline/engine.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

using flat::test::below;
using flat::test::require;
using flat::test::take_any;

/// An engine whose workers the caller runs, and the calls that a program could make on it. Each time is past or an hour
/// away, so that what is executed does not depend on how fast it is.
class EngineCalls {
  public:
    /// With `chooses` the submitter chooses workers, and so accounts for all its tasks.
    explicit EngineCalls(const std::vector<flat_class> &classes, bool chooses = false) : classes_(classes) {
        flat_engine_options options{};
        options.worker_count = 2;
        options.classes = classes.data();
        options.class_count = classes.size();
        options.inline_limits.grants = 6;
        options.lane_count = 1;
        options.caller_runs_workers = true;
        require(flat_engine_create(&engine_, &options) == FLAT_OK, "no memory for an engine");
        require(flat_engine_register(engine_, &submitter_) == FLAT_OK, "no lane");
        const flat_task task{};
        if (chooses) require(flat_engine_dispatch(submitter_, &task, 8) != FLAT_ANY_WORKER, "no worker has a grant");
    }

    void at_random(int steps) {
        for (int step = 0; step < steps; step++) {
            submit(below(3), any_task());
            hold();
            if (below(4) == 0) run(below(2));
            if (below(16) == 0) end_all();
        }
        end_all();
    }

    /// Tasks with everything that a task may have, posted or copied while no grant of their class is left and several
    /// have come back. What the calls at random reach depends on the machine: tasks that wait are cancelled in an order
    /// that follows from its counter. So all that is recorded is reached here.
    void longest_paths() {
        for (const flat_class &each : classes_) {
            const std::size_t size = each.block_size;
            std::vector<void *> blocks;
            while (void *block = flat_engine_grant(submitter_, 0, size)) blocks.push_back(block);
            const std::size_t first = blocks.size() / 2;
            for (std::size_t i = 0; i < blocks.size(); i++) {
                if (i == first) run(0);
                const flat_task task = fullest_task(i >= first);
                require(flat_engine_post(submitter_, blocks[i], &task) == FLAT_OK, "a grant that is held");
            }
            end_all_and_release();
            submit_fullest(0, size - 1);
            const unsigned number = static_cast<unsigned>(&each - classes_.data()) + 1;
            submit_fullest(number, size - 1);
            grant_what_came_back(number, size);
        }
        for (const std::size_t size : inline_sizes) {
            flat_task plain{};
            plain.run = run_to_the_end;
            plain.ticket = &ticket_;
            for (int turn = 0; turn < 12; turn++) { // a cancellation puts the rings out of step by one
                submit_all(plain, size);
                require(flat_engine_submit(submitter_, 0, &plain, payload_.data(), size) == FLAT_OK, "no grant");
                require(flat_engine_cancel(submitter_, ticket_) == FLAT_OK, "a task that waits is not cancelled");
                run(0);
            }
            plain.completion = true;
            submit_all(plain, size);
            end_all_and_release();
            submit_fullest(0, size);
            submit_fullest(static_cast<unsigned>(classes_.size()), size);
        }
    }

  private:
    static constexpr std::uint64_t hour = 3'600'000'000'000;
    // Each is copied in another way.
    static constexpr std::array<std::size_t, 7> inline_sizes{0, 1, 2, 4, 8, 16, FLAT_ENGINE_INLINE_BYTES};

    /// As many as there are grants for; then those that are not to wait are done.
    void submit_all(const flat_task &task, std::size_t size) {
        while (flat_engine_submit(submitter_, 0, &task, payload_.data(), size) == FLAT_OK) {
        }
        run(0);
    }

    /// While none of their grants is left the second time, and all have come back. The call is one that is not looked
    /// at, so that the calls in it are.
    void submit_fullest(unsigned size_class, std::size_t size) {
        for (const bool waits : {false, true}) {
            flat_task task = fullest_task(waits);
            task.size_class = size_class;
            while (flat_engine_submit_until(submitter_, 0, &task, payload_.data(), size, 1) == FLAT_OK) {
            }
            run(0);
        }
        end_all_and_release();
    }

    /// Tasks of each urgency, of which the worker chooses; then their grants.
    void grant_what_came_back(unsigned size_class, std::size_t size) {
        flat_task task{};
        task.run = run_task;
        task.size_class = size_class;
        while (flat_engine_submit(submitter_, 0, &task, payload_.data(), size) == FLAT_OK) {
            task.urgency = (task.urgency + 1) % FLAT_ENGINE_URGENCIES;
        }
        run(0);
        while (void *block = flat_engine_grant(submitter_, 0, size)) held_.push_back(block);
        end_all_and_release();
    }

    void end_all_and_release() {
        end_all();
        for (void *block : held_) require(flat_engine_release(submitter_, block) == FLAT_OK, "a grant that is held");
        held_.clear();
    }

    flat_task fullest_task(bool waits) {
        flat_task task{};
        task.run = run_task;
        task.completion = waits; // without one the grant comes back to the lane by itself
        task.always_run = true;
        task.deadline_ns = flat_engine_now(engine_) + hour;
        task.start_ns = waits ? task.deadline_ns : 1;
        task.ticket = &ticket_;
        return task;
    }

    static void run_task(flat_worker *here, void *, std::size_t size) {
        if (size % 3 == 0 && below(4) == 0) take_any(flat_engine_defer(here, below(2) * hour));
    }

    static void run_to_the_end(flat_worker *, void *, std::size_t) {}

    flat_task any_task() {
        flat_task task{};
        task.run = run_task;
        task.urgency = static_cast<unsigned>(below(5));
        task.type = static_cast<unsigned>(below(17));
        task.size_class = below(8) == 0 ? static_cast<unsigned>(below(classes_.size() + 2)) : 0;
        task.completion = below(3) == 0;
        task.always_run = below(3) == 0;
        const std::uint64_t now = flat_engine_now(engine_);
        if (below(3) == 0) task.deadline_ns = below(4) == 0 ? 1 : now + hour;
        if (below(3) == 0) task.start_ns = below(2) == 0 ? 1 : now + below(2) * hour;
        if (below(64) == 0) task.start_ns = UINT64_MAX - 1;
        if (below(2) == 0) task.ticket = &ticket_;
        return task;
    }

    std::size_t any_payload() { return below(3) == 0 ? below(40) : below(classes_.back().block_size + 20); }

    void submit(std::size_t worker, const flat_task &task) {
        take_any(flat_engine_submit(submitter_, worker, &task, payload_.data(), any_payload()));
        take_any(
            flat_engine_submit_until(submitter_, worker, &task, payload_.data(), any_payload(), 1)); // does not wait
        flat_task plain{};
        plain.run = run_task;
        plain.urgency = static_cast<unsigned>(below(4));
        plain.completion = below(2) == 0;
        plain.ticket = below(2) == 0 ? &ticket_ : nullptr;
        take_any(flat_engine_submit(submitter_, worker, &plain, payload_.data(), below(33)));
        if (ticket_ != 0) take_any(flat_engine_cancel(submitter_, ticket_));
    }

    /// Takes a grant, and posts or releases one that is held, or what is none.
    void hold() {
        void *block = flat_engine_grant(submitter_, below(3), any_payload());
        if (block != nullptr) held_.push_back(block);
        if (held_.empty()) return;
        const std::size_t which = below(held_.size());
        void *chosen = held_[which];
        require(flat_engine_release(submitter_, static_cast<char *>(chosen) + 1) == FLAT_FOREIGN_POINTER,
                "half a block");
        require(flat_engine_release(submitter_, this) == FLAT_FOREIGN_POINTER, "no block");
        const flat_task task = any_task();
        const flat_status done =
            below(4) == 0 ? flat_engine_release(submitter_, chosen) : flat_engine_post(submitter_, chosen, &task);
        if (done == FLAT_OK) held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(which));
    }

    void run(std::size_t worker) {
        while (flat_engine_step(engine_, worker)) {
        }
        std::array<flat_completion, 2> completions;
        for (std::size_t taken = 1; taken != 0;) {
            taken = flat_engine_poll(submitter_, completions.data(), 1 + below(2));
            for (std::size_t i = 0; i < taken; i++) {
                void *block = completions[i].payload;
                if (flat_engine_keep(submitter_, block) == FLAT_OK) held_.push_back(block);
            }
        }
    }

    /// Cancels what waits, and begins anew.
    void end_all() {
        require(flat_engine_stop(engine_, 0) != FLAT_INVALID_ARGUMENT, "no engine");
        submit(below(2), any_task()); // is refused
        for (std::size_t worker = 0; worker < 2; worker++) run(worker);
        flat_engine_resume(engine_);
    }

    std::vector<flat_class> classes_;
    flat_engine *engine_ = nullptr;
    flat_submitter *submitter_ = nullptr;
    flat_ticket ticket_ = 0;
    std::vector<void *> held_;
    std::array<char, 8192> payload_ = {};
};

} // namespace

namespace flat::test {

void call_engines() {
    EngineCalls few({{64, 32}, {1024, 16}}), chooses({{64, 32}, {1024, 16}}, true);
    std::vector<flat_class> classes;
    for (std::size_t size = 48; size <= 40 * 48; size += 48) classes.push_back({size, 8});
    EngineCalls many(classes);
    watch(true);
    few.longest_paths();
    many.longest_paths();
    chooses.longest_paths();
    few.at_random(250);
    many.at_random(200);
    chooses.at_random(250);
    watch(false);
}

} // namespace flat::test
