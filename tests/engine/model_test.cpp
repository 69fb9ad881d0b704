// An engine of two workers beside a plain reference: what is accepted, what runs, in which order, and how it ends. One
// thread does everything, so every difference can be repeated.
#include "core/environment.hpp"
#include "core/mapping.hpp"
#include "core/random_source.hpp"
#include "core/shrink.hpp"
#include "engine/engine_model.hpp"
#include "engine/test_engine.hpp"

#include <flatline/engine.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace {

using test::engine_model;
using test::model_classes;
using test::model_inline;
using test::model_outside;
using test::model_workers;
using test::task_plan;

constexpr std::array<std::array<std::size_t, model_classes>, 2> grants = {{{3, 2, 4}, {2, 1, 3}}};
constexpr std::array<std::size_t, model_classes> class_sizes = {64, 256, 16};

// `a` and `b` choose the arguments from what there is, so that a list of operations can be cut anywhere.
struct operation {
    enum kind : std::uint8_t {
        submit,
        grant,
        post,
        post_wrongly,
        release,
        cancel,
        poll,
        step,
        drain,
        stop,
        resume,
        renew,
        kinds
    } what;
    std::uint64_t a, b;
};

test::engine_options small_engine() {
    test::engine_options options;
    options.limits = {{grants[0][0], grants[1][0], 0}, {grants[0][1], grants[1][1], 0}};
    options.value.inline_limits = {grants[0][2], grants[1][2], 0};
    options.value.starvation_limit = test::model_starvation_limit;
    return options;
}

class engine_run {
  public:
    engine_run() {
        for (flat_submitter *&lane : lanes_) lane = engine_.lane();
        current = this;
    }
    engine_run(const engine_run &) = delete;
    engine_run &operator=(const engine_run &) = delete;
    ~engine_run() { current = nullptr; }

    // "" or how the engine differs from the reference.
    std::string apply(const operation &op) {
        const std::size_t lane = op.a % model_outside, worker = op.a / 2 % model_workers;
        test::random_source random(op.b);
        switch (op.what) {
        case operation::submit: return submit(lane, op.a % 5 == 0 ? FLAT_ANY_WORKER : worker, plan(random, true));
        case operation::grant: return grant(lane, worker, random.below(model_classes - 1), random.below(9));
        case operation::post: return post(op.a / 4, plan(random, false));
        case operation::post_wrongly: return post_wrongly(lane, op.a / 2);
        case operation::release: return release(op.a);
        case operation::cancel: return cancel(op.a);
        case operation::poll: return poll(lane, random.below(6));
        case operation::step: return step(worker);
        case operation::drain: return op.a % 8 == 0 ? drain() : step(worker);
        case operation::stop: return op.a % 16 == 0 ? stop() : step(worker);
        case operation::resume:
            flat_engine_resume(engine_);
            model_.resume();
            return "";
        default: return op.a % 4 == 0 ? renew(lane) : "";
        }
    }

    // Everything comes to its end, and every grant is there.
    std::string drain_all() {
        std::string wrong = stop();
        for (std::size_t lane = 0; lane < model_outside && wrong.empty(); lane++) {
            while (!held_.empty() && wrong.empty()) wrong = release(0);
            for (std::size_t worker = 0; worker < model_workers && wrong.empty(); worker++)
                wrong = count_grants(lane, worker);
        }
        return wrong;
    }

  private:
    struct held_block {
        std::size_t lane, worker, of_class, size;
        void *block;
    };
    struct sent {
        std::size_t lane;
        std::uint32_t id;
        flat_ticket ticket;
    };
    static inline engine_run *current;

    task_plan plan(test::random_source &random, bool may_nest) {
        task_plan made{};
        made.id = static_cast<std::uint32_t>(plans_.size());
        plans_.push_back({});
        made.of_class = random.below(3) != 0 ? model_inline : random.below(2);
        made.size = class_sizes[made.of_class] - random.below(9);
        made.urgency = static_cast<unsigned>(random.below(FLAT_ENGINE_URGENCIES));
        made.completion = may_nest && random.one_in(2);
        made.always_run = random.one_in(3);
        made.timed = random.one_in(6);
        made.expires = may_nest && !made.timed && random.one_in(12);
        for (std::size_t i = random.one_in(4) ? 1 + random.below(2) : 0; i > 0; i--)
            made.deferrals.push_back(random.one_in(4));
        if (may_nest && random.one_in(4)) {
            for (std::size_t i = 1 + random.below(3); i > 0; i--) {
                made.nested.push_back(plan(random, false));
            }
            made.nested_worker = random.below(model_workers);
        }
        plans_[made.id] = made;
        return made;
    }

    // What the engine is given for a plan. Its context is the plan's number.
    flat_task task_of(const task_plan &of, flat_ticket *ticket) {
        flat_task task = test::task_of(run_plan, of.urgency);
        task.completion = of.completion;
        task.always_run = of.always_run;
        task.ticket = ticket;
        task.context = test::at(of.id);
        if (of.of_class != model_inline) task.size_class = static_cast<unsigned>(of.of_class) + 1;
        if (of.timed) task.start_ns = engine_.now() + test::engine_hour;
        if (of.expires) task.deadline_ns = engine_.now() + 20000;
        return task;
    }

    static void fill(unsigned char *bytes, const task_plan &of) {
        for (std::size_t i = 0; i < of.size; i++) bytes[i] = static_cast<unsigned char>(of.id * 31 + i);
        std::memcpy(bytes, &of.id, sizeof of.id);
    }

    static void run_plan(flat_worker *here, void *payload, std::size_t size) {
        std::uint32_t id = 0;
        std::memcpy(&id, payload, sizeof id);
        if (id >= current->plans_.size()) {
            current->events_.push_back("a payload is another");
            return;
        }
        current->run(here, static_cast<const unsigned char *>(payload), size, current->plans_[id]);
    }

    void run(flat_worker *here, const unsigned char *payload, std::size_t size, const task_plan &of) {
        std::array<unsigned char, 256> expected;
        fill(expected.data(), of);
        if (size != of.size || std::memcmp(payload, expected.data(), size) != 0)
            events_.push_back("a payload is damaged");
        const flat_outcome outcome = flat_engine_outcome(here);
        events_.push_back("run " + std::to_string(of.id) + ' ' + test::words_of(outcome));
        if (outcome != FLAT_TASK_DONE) return;
        const std::size_t runs = runs_[of.id]++;
        if (runs == 0) {
            for (const task_plan &inner : of.nested) submit_nested(here, of.nested_worker, inner);
        }
        if (runs >= of.deferrals.size()) return;
        if (flat_engine_defer(here, of.deferrals[runs] ? test::engine_hour : 0) != FLAT_OK)
            events_.push_back("not deferred");
    }

    void submit_nested(flat_worker *here, std::size_t worker, const task_plan &of) {
        std::array<unsigned char, 256> bytes;
        fill(bytes.data(), of);
        const flat_task task = task_of(of, nullptr);
        const flat_status status =
            flat_engine_submit(flat_engine_submitter(here), worker, &task, bytes.data(), of.size);
        events_.push_back("nested " + std::to_string(of.id) + ' ' + flat_status_string(status));
    }

    static std::string differs(const std::string &what, flat_status got, flat_status expected) {
        if (got == expected) return "";
        return what + ": \"" + flat_status_string(got) + "\", expected \"" + flat_status_string(expected) + '"';
    }

    // Once a deadline is to have passed, it has.
    void let_expire(const flat_task &task) const {
        while (task.deadline_ns != 0 && engine_.now() <= task.deadline_ns + 1000) continue;
    }

    std::string submit(std::size_t lane, std::size_t worker, const task_plan &of) {
        std::array<unsigned char, 256> bytes;
        fill(bytes.data(), of);
        flat_ticket ticket = 0;
        const flat_task task = task_of(of, &ticket);
        const flat_status status = flat_engine_submit(lanes_[lane], worker, &task, bytes.data(), of.size);
        if (of.expires && status == FLAT_DEADLINE_PAST) return "";
        let_expire(task);
        flat_status expected = FLAT_OK;
        const std::size_t chosen = worker == FLAT_ANY_WORKER && status == FLAT_OK ? worker_of(ticket) : worker;
        if (chosen != FLAT_ANY_WORKER) {
            expected = model_.can_submit(lane, chosen, of.of_class);
        } else {
            // It is refused iff every worker would refuse it.
            for (std::size_t each = 0; each < model_workers; each++) {
                expected = model_.can_submit(lane, each, of.of_class);
                if (expected == FLAT_OK) break;
            }
        }
        if (status == FLAT_OK && expected == FLAT_OK) {
            model_.take_grant(lane, chosen, of.of_class);
            model_.post(lane, chosen, of);
            sent_.push_back({lane, of.id, ticket});
        }
        return differs("submit " + std::to_string(of.id), status, expected);
    }

    // As in engine.h: a ticket names the worker.
    static std::size_t worker_of(flat_ticket ticket) { return static_cast<std::size_t>(ticket >> 48) - 1; }

    std::string grant(std::size_t lane, std::size_t worker, std::size_t of_class, std::size_t less) {
        const std::size_t size = class_sizes[of_class] - less;
        void *const block = flat_engine_grant(lanes_[lane], worker, size);
        if ((block != nullptr) != (model_.left(lane, worker, of_class) != 0)) return "a grant is given or refused";
        if (block == nullptr) return "";
        const auto same = [&](const held_block &each) { return each.block == block; };
        if (std::any_of(held_.begin(), held_.end(), same)) return "a grant is given twice";
        std::memset(block, 0xee, size);
        model_.take_grant(lane, worker, of_class);
        held_.push_back({lane, worker, of_class, size, block});
        return "";
    }

    std::string post(std::uint64_t which, task_plan of) {
        if (held_.empty()) return "";
        const std::size_t at = which % held_.size();
        const held_block posted = held_[at];
        of.of_class = posted.of_class; // the size is the one that the grant was for
        plans_[of.id].size = of.size = posted.size;
        fill(static_cast<unsigned char *>(posted.block), of);
        flat_ticket ticket = 0;
        const flat_task task = task_of(of, &ticket);
        const flat_status status = flat_engine_post(lanes_[posted.lane], posted.block, &task);
        if (status == FLAT_OK) {
            model_.post(posted.lane, posted.worker, of);
            sent_.push_back({posted.lane, of.id, ticket});
            once_posted_.push_back(posted);
            held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(at));
        }
        return differs("post " + std::to_string(of.id), status, model_.is_draining() ? FLAT_DRAINING : FLAT_OK);
    }

    // A block that was posted before, perhaps by another lane, and is not held now.
    std::string post_wrongly(std::size_t lane, std::uint64_t which) {
        if (once_posted_.empty()) return "";
        const held_block &chosen = once_posted_[which % once_posted_.size()];
        const auto is_held = [&](const held_block &each) { return each.block == chosen.block && each.lane == lane; };
        if (std::any_of(held_.begin(), held_.end(), is_held)) return "";
        const flat_task task = test::task_of(test::do_nothing_at_all);
        const std::string wrong = differs("post of another's block",
                                          flat_engine_post(lanes_[lane], chosen.block, &task), FLAT_FOREIGN_POINTER);
        return wrong + differs("release of another's block", flat_engine_release(lanes_[lane], chosen.block),
                               FLAT_FOREIGN_POINTER);
    }

    std::string release(std::uint64_t which) {
        if (held_.empty()) return "";
        const std::size_t at = which % held_.size();
        const held_block of = held_[at];
        held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(at));
        model_.give_grant(of.lane, of.worker, of.of_class);
        return differs("release", flat_engine_release(lanes_[of.lane], of.block), FLAT_OK);
    }

    // A ticket names a worker and a grant, above its lowest 32 bits: of each at most one cancellation is on its way.
    std::string cancel(std::uint64_t which) {
        if (sent_.empty()) return "";
        const std::size_t recent = std::min<std::size_t>(sent_.size(), 24);
        const sent &chosen = sent_[sent_.size() - 1 - which % recent];
        flat_status expected = FLAT_OK;
        bool is_new = true;
        if (!model_.holds_grant(chosen.id)) {
            expected = FLAT_STALE_TICKET;
        } else {
            for (const sent &other : sent_) {
                if (other.lane != chosen.lane || other.ticket >> 32 != chosen.ticket >> 32) continue;
                if (!model_.is_cancel_on_its_way(other.id)) continue;
                is_new = false;
                if (other.id != chosen.id) expected = FLAT_RING_FULL;
            }
        }
        if (expected == FLAT_OK && is_new) model_.cancel(chosen.id);
        return differs("cancel " + std::to_string(chosen.id), flat_engine_cancel(lanes_[chosen.lane], chosen.ticket),
                       expected);
    }

    std::string poll(std::size_t lane, std::size_t capacity) {
        std::array<flat_completion, 8> met{};
        const std::size_t count = flat_engine_poll(lanes_[lane], met.data(), capacity);
        const engine_model::outcomes expected = model_.poll(lane, capacity);
        if (count != expected.size())
            return "polls " + std::to_string(count) + ", expected " + std::to_string(expected.size());
        for (std::size_t i = 0; i < count; i++) {
            const std::string wrong = compare(met[i], expected[i]);
            if (!wrong.empty()) return wrong;
        }
        return "";
    }

    static std::uint32_t id_of(const flat_completion &of) {
        return static_cast<std::uint32_t>(test::address_of(of.context));
    }

    std::string compare(const flat_completion &met, const std::pair<std::uint32_t, flat_outcome> &expected) const {
        const std::string name = "completion of " + std::to_string(expected.first) + ": ";
        if (id_of(met) != expected.first) return name + "it is that of " + std::to_string(id_of(met));
        if (met.outcome != expected.second)
            return name + test::words_of(met.outcome) + ", not " + test::words_of(expected.second);
        const task_plan &of = plans_[expected.first];
        if (met.size != of.size) return name + "its size is another";
        if ((met.payload == nullptr) != (of.of_class == model_inline)) return name + "its payload is another";
        const auto same = [&](const sent &each) { return each.id == expected.first && each.ticket == met.ticket; };
        return std::any_of(sent_.begin(), sent_.end(), same) ? "" : name + "its ticket is another";
    }

    std::string step(std::size_t worker) {
        std::vector<std::string> expected;
        events_.clear();
        const bool worked = flat_engine_step(engine_, worker), should = model_.step(worker, expected);
        if (worked != should) return should ? "a step finds no task" : "a step finds a task";
        return events_ == expected ? ""
                                   : "a step does " + testing::PrintToString(events_) + ", expected " +
                                         testing::PrintToString(expected);
    }

    std::string drain() {
        model_.drain();
        return differs("drain", flat_engine_drain(engine_, 0), model_.is_idle() ? FLAT_OK : FLAT_TIMED_OUT);
    }

    // Everything is cancelled, in an order that nobody promises; then the engine is open again.
    std::string stop() {
        const flat_status first = flat_engine_stop(engine_, 0), expected = model_.is_idle() ? FLAT_OK : FLAT_TIMED_OUT;
        if (first != expected) return differs("stop", first, expected);
        events_.clear();
        (void)engine_.run();
        std::vector<std::string> events = model_.cancel_all();
        std::sort(events.begin(), events.end());
        std::sort(events_.begin(), events_.end());
        if (events != events_)
            return "a stop does " + testing::PrintToString(events_) + ", expected " + testing::PrintToString(events);
        for (std::size_t lane = 0; lane < model_outside; lane++) {
            const std::string wrong = poll_in_any_order(lane);
            if (!wrong.empty()) return wrong;
        }
        const std::string wrong = differs("stop of nothing", flat_engine_stop(engine_, 0), FLAT_OK);
        flat_engine_resume(engine_);
        model_.resume();
        return wrong;
    }

    std::string poll_in_any_order(std::size_t lane) {
        std::vector<std::pair<std::uint32_t, flat_outcome>> met, expected;
        for (const flat_completion &each : test::poll_all(lanes_[lane])) met.emplace_back(id_of(each), each.outcome);
        for (const auto &each : model_.poll(lane, SIZE_MAX)) expected.push_back(each);
        std::sort(met.begin(), met.end());
        std::sort(expected.begin(), expected.end());
        return met == expected ? "" : "other completions after a stop";
    }

    // Gives the lanes back and takes them again: all grants are there.
    std::string renew(std::size_t lane) {
        if (model_.has_in_flight(lane) || model_.is_draining()) return "";
        flat_engine_unregister(lanes_[lane]);
        std::erase_if(held_, [&](const held_block &each) {
            if (each.lane == lane) model_.give_grant(lane, each.worker, each.of_class);
            return each.lane == lane;
        });
        (void)model_.poll(lane, SIZE_MAX);
        return differs("register", flat_engine_register(engine_, &lanes_[lane]), FLAT_OK);
    }

    std::string count_grants(std::size_t lane, std::size_t worker) {
        for (std::size_t of_class = 0; of_class < model_classes; of_class++) {
            std::size_t accepted = 0;
            flat_task task = test::task_of(test::do_nothing_at_all);
            if (of_class != model_inline) task.size_class = static_cast<unsigned>(of_class) + 1;
            while (flat_engine_submit(lanes_[lane], worker, &task, nullptr, 0) == FLAT_OK) accepted++;
            if (accepted != grants[0][of_class]) return "grants are lost";
            (void)engine_.run();
        }
        return "";
    }

    const test::test_engine engine_{small_engine()};
    engine_model model_{grants};
    std::array<flat_submitter *, model_outside> lanes_{};
    std::vector<task_plan> plans_;
    std::map<std::uint32_t, std::size_t> runs_;
    std::vector<held_block> held_, once_posted_;
    std::vector<sent> sent_;
    std::vector<std::string> events_;
};

// "" or what went wrong; `steps` is then the number of operations that it took.
std::string run_all(const std::vector<operation> &operations, std::size_t &steps) {
    engine_run run;
    for (steps = 0; steps < operations.size();) {
        const std::string wrong = run.apply(operations[steps++]);
        if (!wrong.empty()) return wrong;
    }
    return run.drain_all();
}

std::string told(const std::vector<operation> &operations) {
    std::string text;
    for (const operation &op : operations) {
        text += "\n  {" + std::to_string(op.what) + ", " + std::to_string(op.a) + ", " + std::to_string(op.b) + "}";
    }
    return text;
}

std::vector<operation> random_operations(test::random_source &random) {
    // Each list has other habits, so that queues are short in some and full in others.
    std::array<std::uint64_t, operation::kinds> weights{};
    for (std::uint64_t &weight : weights) weight = 1 + random.below(8);
    weights[operation::submit] *= 3;
    weights[operation::step] *= 3;
    std::vector<operation::kind> kinds;
    for (std::size_t i = 0; i < weights.size(); i++)
        kinds.insert(kinds.end(), weights[i], static_cast<operation::kind>(i));
    std::vector<operation> operations;
    for (std::size_t i = 20 + random.below(600); i > 0; i--) {
        operations.push_back({kinds[random.below(kinds.size())], random.next(), random.next()});
    }
    return operations;
}

} // namespace

TEST(engine_model, does_what_a_plain_reference_does) {
    test::random_source random(test::seed());
    for (std::size_t round = 0; round < test::scaled(150); round++) {
        const std::vector<operation> operations = random_operations(random);
        std::size_t steps = 0;
        const std::string wrong = run_all(operations, steps);
        if (wrong.empty()) continue;
        const auto fails = [&](const std::vector<operation> &shorter) -> std::optional<std::size_t> {
            std::size_t taken = 0;
            if (run_all(shorter, taken).empty()) return std::nullopt;
            return taken;
        };
        FAIL() << wrong << "; seed " << test::seed()
               << ", the shortest list of operations:" << told(test::shrink(operations, fails));
    }
}
