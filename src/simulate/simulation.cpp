#include "simulation.hpp"

#include "arrivals.hpp"
#include "ring.hpp"
#include "timers.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <queue>
#include <stdexcept>

#include <fmt/format.h>

namespace flat::simulate {
namespace {

struct Task {
    std::uint64_t came = 0, service = 0, hold = 0;
    std::uint64_t sojourn = 0; // once it ran
    std::uint32_t type = 0, dispatcher = 0;
    load_of_task load{};
    bool counted = false;
};

/// What a dispatcher sees of a shard, from `time` on.
struct PastReport {
    std::uint64_t time = 0;
    load_report report{};
    load_services services{};
};

struct Held {
    std::uint64_t until;
    Task task;

    bool operator>(const Held &other) const { return until > other.until; }
};

struct Shard {
    load_report report{};
    load_services services{};
    load_keeper keeper{};
    Ring<Task> lane, ready, put_off;
    std::priority_queue<Held, std::vector<Held>, std::greater<>> held;
    Ring<PastReport> shown; // if reports are seen with a delay
    Task running;
    bool runs = false;
    double speed = 1;
    std::uint32_t free_blocks = 0;
    std::uint64_t work_until = 0; // when all that it has will be done, for Reference::least_work
    double slow_changes_at = 0;
    bool slow = false;
};

/// A grant that a worker gave back, and that its submitter has not looked for yet.
struct Returned {
    std::uint64_t at, sent, sojourn, held;
    std::uint32_t type;
};

/// Words of shards that told a dispatcher that they are idle.
struct IdleWord {
    std::uint64_t at;
    std::uint32_t shard, dispatcher;

    bool operator>(const IdleWord &other) const { return at > other.at; }
};

struct Free {
    void operator()(void *memory) const { ::operator delete[](memory, std::align_val_t{LINE_PAIR}); }
};

/// A dispatcher, with what it keeps of shards.
struct Dispatcher {
    dispatcher state{};
    std::unique_ptr<std::byte, Free> memory;

    void begin(const dispatcher_options &options, std::uint64_t *idle) {
        memory.reset(static_cast<std::byte *>(
            ::operator new[](flat_dispatcher_bytes(options.shards), std::align_val_t{LINE_PAIR})));
        flat_dispatcher_init(&state, &options, memory.get(), 0);
        state.idle = idle;
    }
};

/// What a sender has in a switchback: another dispatcher, which decides in the fallback's slices, and how both do.
/// Both learn from everything that is sent, read and comes back.
struct Alternative {
    Dispatcher fallback;
    switchback measured{};
};

struct Sender {
    Dispatcher usual;
    std::unique_ptr<Alternative> alternative; // none: there is no switchback
    std::array<std::uint64_t, SHARD_WORDS> idle{};
    std::vector<std::array<std::uint64_t, SHARD_WORDS>> masks; // by type
    std::vector<std::uint32_t> grants;                         // left, by type and shard
    std::vector<std::uint64_t> left;                           // by type, at all shards: what Reference knows
    std::vector<Ring<Returned>> returned;                      // by shard
    std::uint32_t next_without = 0; // the shard to look at next among those that it has no grant for
    double sojourns = 0;
    std::uint64_t done = 0;
};

class Simulation {
  public:
    Simulation(const Workload &workload, const Chooser &choice, std::uint64_t seed, const Length &length,
               const Switchback *second);

    SimulatedRun run();
    SwitchbackRun measured() const;

  private:
    void make_senders(const Chooser &choice, std::uint64_t seed, const Switchback *second);
    void dispatch(const Arrival &arrival, bool counted);
    std::uint32_t pick(Sender &sender, std::uint32_t type, bool counted);
    std::uint32_t least_work() const;
    dispatcher &deciding(Sender &sender) const;
    void read_reports(Sender &sender, const dispatcher &by);
    void read_services(Sender &sender, std::uint32_t number);
    void take_back(Sender &sender, std::uint32_t number);
    void take_back_anywhere(Sender &sender, std::uint32_t type);
    const PastReport &seen(std::uint32_t number, std::uint64_t as_of);
    void hear_of_idle();
    void pass_timer(std::uint32_t timer);
    void arrive(std::uint32_t number, const Task &task);
    void begin_next(std::uint32_t number);
    bool begin(std::uint32_t number, Task task);
    void end(std::uint32_t number);
    void release(std::uint32_t number, const Task &task, std::uint32_t blocks);
    void take_from_centre();
    void count_blocks(Shard &shard);
    void show(Shard &shard);
    void say_idle(std::uint32_t number);
    double speed_now(Shard &shard, std::uint32_t number);
    std::uint64_t delay_of(std::uint32_t number) const {
        return number % 2 == 1 && workload_.delay_far != 0 ? workload_.delay_far : workload_.delay;
    }
    bool delays() const { return workload_.delay != 0 || workload_.delay_far != 0; }
    bool is_central() const { return reference_ == Reference::central_queue; }

    const Workload &workload_;
    Reference reference_;
    Length length_;
    Arrivals arrivals_;
    Random antagonist_, idle_words_;
    Timers timers_;
    std::vector<Shard> shards_;
    std::vector<Sender> senders_;
    std::priority_queue<IdleWord, std::vector<IdleWord>, std::greater<>> idle_said_;
    Ring<Task> centre_;
    std::vector<std::uint32_t> resting_; // shards with nothing to do, of Reference::central_queue
    std::uint64_t now_ = 0;
    SimulatedRun outcome_;
};

Simulation::Simulation(const Workload &workload, const Chooser &choice, std::uint64_t seed, const Length &length,
                       const Switchback *second)
    : workload_(workload), reference_(choice.reference), length_(length), arrivals_(workload, seed),
      antagonist_(seed ^ 0xa17a60), idle_words_(seed ^ 0x1d1e), timers_(2 * std::size_t{workload.shards}),
      shards_(workload.shards) {
    for (std::uint32_t number = 0; number < workload.shards; number++) {
        Shard &shard = shards_[number];
        shard.speed = workload.speed_of(number);
        shard.free_blocks = workload.blocks;
        load_begin_report(&shard.report, 0);
        if (number < workload.slowed) shard.slow_changes_at = antagonist_.exponential(workload.slowed_mean);
        if (delays()) show(shard);
        if (is_central()) resting_.push_back(number);
    }
    make_senders(choice, seed, second);
    outcome_.offered.resize(workload.types.size());
    outcome_.refused.resize(workload.types.size());
}

void Simulation::make_senders(const Chooser &choice, std::uint64_t seed, const Switchback *second) {
    const std::size_t types = workload_.types.size();
    senders_.resize(workload_.dispatchers);
    for (std::uint32_t number = 0; number < workload_.dispatchers; number++) {
        Sender &sender = senders_[number];
        sender.masks.resize(types);
        for (auto &mask : sender.masks)
            for (std::uint32_t shard = 0; shard < workload_.shards; shard++) shard_add(mask.data(), shard);
        sender.grants.assign(types * workload_.shards, workload_.grants);
        sender.left.assign(types, std::uint64_t{workload_.grants} * workload_.shards);
        sender.returned.resize(workload_.shards);
        dispatcher_options options = choice.options;
        options.shards = workload_.shards;
        options.dispatchers = workload_.dispatchers;
        options.seed = seed * 1021 + number;
        sender.usual.begin(options, sender.idle.data());
        for (std::uint32_t shard = number; shard < workload_.shards; shard += workload_.dispatchers)
            shard_add(sender.idle.data(), shard);
        if (second == nullptr) continue;
        sender.alternative = std::make_unique<Alternative>();
        options = second->fallback;
        options.shards = workload_.shards;
        options.dispatchers = workload_.dispatchers;
        options.seed = seed * 1021 + number + 512;
        sender.alternative->fallback.begin(options, sender.idle.data());
        flat_switchback_init(&sender.alternative->measured, &second->slices);
    }
}

double Simulation::speed_now(Shard &shard, std::uint32_t number) {
    if (number >= workload_.slowed) return shard.speed;
    while (shard.slow_changes_at <= static_cast<double>(now_)) {
        shard.slow = !shard.slow;
        shard.slow_changes_at += antagonist_.exponential(workload_.slowed_mean);
    }
    return shard.slow ? shard.speed / workload_.slowed_by : shard.speed;
}

void Simulation::show(Shard &shard) { shard.shown.push({now_, shard.report, shard.services}); }

/// What was true at `as_of`, which never goes back for one shard.
const PastReport &Simulation::seen(std::uint32_t number, std::uint64_t as_of) {
    Ring<PastReport> &shown = shards_[number].shown;
    while (shown.size() > 1 && shown.at(1).time <= as_of) shown.pop();
    return shown.at(0);
}

/// A worker that has nothing to do looks all the time, and says when it last did.
load_report at_rest(const load_report &shown, std::uint64_t as_of) {
    load_report report = load_read(&shown);
    if (report.usual == 0) report.published = std::max(report.published, as_of);
    return report;
}

dispatcher &Simulation::deciding(Sender &sender) const {
    if (!sender.alternative) return sender.usual.state;
    const switchback_options &slices = sender.alternative->measured.options;
    return switchback_arm_at(&slices, now_) == SWITCHBACK_FALLBACK ? sender.alternative->fallback.state
                                                                   : sender.usual.state;
}

void Simulation::read_reports(Sender &sender, const dispatcher &by) {
    for (std::uint32_t probe = 0; probe < by.probe_count; probe++) {
        const std::uint32_t number = by.probes[probe];
        const std::uint64_t delay = delay_of(number), as_of = now_ > delay ? now_ - delay : 0;
        const load_report &report = delays() ? seen(number, as_of).report : shards_[number].report;
        const load_report copy = at_rest(report, as_of);
        flat_dispatcher_learn(&sender.usual.state, number, &copy, as_of);
        if (sender.alternative) flat_dispatcher_learn(&sender.alternative->fallback.state, number, &copy, as_of);
        take_back(sender, number);
    }
}

/// Of the shard that was picked, or of another one.
void Simulation::read_services(Sender &sender, std::uint32_t picked) {
    const auto learn = [&](dispatcher &state) {
        const std::uint32_t number = flat_dispatcher_next_services(&state, picked);
        if (number == NO_SHARD) return;
        const std::uint64_t delay = delay_of(number), as_of = now_ > delay ? now_ - delay : 0;
        const load_services &services = delays() ? seen(number, as_of).services : shards_[number].services;
        flat_dispatcher_learn_services(&state, number, &services);
    };
    learn(sender.usual.state);
    if (sender.alternative) learn(sender.alternative->fallback.state);
}

/// Grants that came back are found where a submitter looks: at the shards whose reports it reads, and at the one that
/// it sends to. Of those that it has no grant for it looks at one each time, and at all before it refuses a task.
void Simulation::take_back(Sender &sender, std::uint32_t number) {
    Ring<Returned> &returned = sender.returned[number];
    const std::uint64_t delay = delay_of(number);
    while (!returned.empty() && returned.at(0).at + delay <= now_) {
        const Returned back = returned.pop();
        if (sender.grants[std::size_t{back.type} * workload_.shards + number]++ == 0)
            shard_add(sender.masks[back.type].data(), number);
        flat_dispatcher_returned(&sender.usual.state, number, back.type, back.sojourn, back.held, now_);
        if (!sender.alternative) continue;
        flat_dispatcher_returned(&sender.alternative->fallback.state, number, back.type, back.sojourn, back.held, now_);
        if (back.sojourn != 0) // else it gave up
            flat_switchback_count(&sender.alternative->measured, back.sent, back.sojourn, now_);
    }
}

void Simulation::take_back_anywhere(Sender &sender, std::uint32_t type) {
    const auto &mask = sender.masks[type];
    for (std::uint32_t tried = 0; tried < workload_.shards; tried++) {
        const std::uint32_t number = sender.next_without;
        sender.next_without = number + 1 == workload_.shards ? 0 : number + 1;
        if (shard_is_in(mask.data(), number)) continue;
        take_back(sender, number);
        if (shards_in(mask.data(), shard_words(workload_.shards)) != 0) return;
    }
}

std::uint32_t Simulation::least_work() const {
    std::uint32_t best = 0;
    for (std::uint32_t number = 1; number < workload_.shards; number++)
        if (shards_[number].work_until < shards_[best].work_until) best = number;
    return best;
}

std::uint32_t Simulation::pick(Sender &sender, std::uint32_t type, bool counted) {
    const std::uint64_t *mask = sender.masks[type].data();
    if (shards_in(mask, shard_words(workload_.shards)) < workload_.shards) take_back_anywhere(sender, type);
    dispatcher &by = deciding(sender);
    (void)flat_dispatcher_look(&by, mask, type, now_);
    if (counted) outcome_.reports_read += by.probe_count;
    read_reports(sender, by);
    const std::uint32_t number = flat_dispatcher_pick(&by, mask, type, now_);
    if (number == NO_SHARD) return NO_SHARD;
    take_back(sender, number);
    read_services(sender, number);
    return number;
}

void Simulation::hear_of_idle() {
    while (!idle_said_.empty() && idle_said_.top().at <= now_) {
        const IdleWord &word = idle_said_.top();
        shard_add(senders_[word.dispatcher].idle.data(), word.shard);
        idle_said_.pop();
    }
}

void Simulation::say_idle(std::uint32_t number) {
    const std::uint32_t to = workload_.dispatchers > 1 ? idle_words_.below(workload_.dispatchers) : 0;
    if (delays()) {
        idle_said_.push({now_ + delay_of(number), number, to});
    } else {
        shard_add(senders_[to].idle.data(), number);
    }
}

void Simulation::dispatch(const Arrival &arrival, bool counted) {
    Sender &sender = senders_[arrival.dispatcher];
    hear_of_idle();
    if (counted) outcome_.offered[arrival.type]++;
    std::uint32_t number = NO_SHARD;
    if (reference_ == Reference::none) {
        number = pick(sender, arrival.type, counted);
    } else if (sender.left[arrival.type] != 0) {
        number = is_central() ? 0 : least_work();
    }
    if (number == NO_SHARD) {
        if (counted) outcome_.refused[arrival.type]++;
        return;
    }
    const Task task{.came = now_,
                    .service = arrival.service,
                    .hold = arrival.hold,
                    .type = arrival.type,
                    .dispatcher = arrival.dispatcher,
                    .counted = counted};
    sender.left[arrival.type]--;
    if (is_central()) {
        centre_.push(task);
        take_from_centre();
        return;
    }
    if (reference_ == Reference::none) {
        std::uint32_t &grants = sender.grants[std::size_t{arrival.type} * workload_.shards + number];
        if (--grants == 0) shard_remove(sender.masks[arrival.type].data(), number);
        flat_dispatcher_sent(&sender.usual.state, number, arrival.type, now_);
        if (sender.alternative) flat_dispatcher_sent(&sender.alternative->fallback.state, number, arrival.type, now_);
    }
    arrive(number, task);
}

void Simulation::arrive(std::uint32_t number, const Task &task) {
    Shard &shard = shards_[number];
    shard.work_until =
        std::max(shard.work_until, now_) + static_cast<std::uint64_t>(static_cast<double>(task.service) / shard.speed);
    shard.lane.push(task);
    if (!shard.runs) begin_next(number);
}

/// The first task of the centre that a resting shard has the blocks for goes there; the fastest such shard takes it.
void Simulation::take_from_centre() {
    while (!centre_.empty() && !resting_.empty()) {
        const Task &task = centre_.at(0);
        std::size_t best = resting_.size();
        for (std::size_t place = 0; place < resting_.size(); place++) {
            const Shard &shard = shards_[resting_[place]];
            if (workload_.types[task.type].blocks > shard.free_blocks) continue;
            if (best == resting_.size() || shard.speed > shards_[resting_[best]].speed) best = place;
        }
        if (best == resting_.size()) return;
        const std::uint32_t number = resting_[best];
        resting_[best] = resting_.back();
        resting_.pop_back();
        arrive(number, centre_.pop());
    }
}

/// False: it is put off, since too few blocks are free.
bool Simulation::begin(std::uint32_t number, Task task) {
    Shard &shard = shards_[number];
    const std::uint32_t blocks = workload_.types[task.type].blocks;
    load_waits_no_more(&shard.report, &task.load);
    if (blocks > shard.free_blocks) {
        if (workload_.types[task.type].gives_up) {
            if (task.counted) outcome_.refused[task.type]++;
            release(number, task, 0);
            return false;
        }
        shard.put_off.push(task);
        return false;
    }
    shard.free_blocks -= blocks;
    load_begun(&shard.report, &shard.keeper, task.type, now_);
    shard.running = task;
    shard.runs = true;
    const double service = static_cast<double>(task.service) / speed_now(shard, number);
    timers_.set(number, now_ + static_cast<std::uint64_t>(service + 0.5));
    return true;
}

/// Takes in what came, and begins the next task.
void Simulation::begin_next(std::uint32_t number) {
    Shard &shard = shards_[number];
    while (!shard.lane.empty()) {
        Task task = shard.lane.pop();
        task.load = load_came(&shard.report, &shard.keeper, task.type);
        load_waits(&shard.report, &task.load);
        shard.ready.push(task);
    }
    bool begun = false;
    while (!begun && !shard.ready.empty()) begun = begin(number, shard.ready.pop());
    if (!begun) {
        load_found_none(&shard.report, now_);
        if (is_central()) {
            resting_.push_back(number);
        } else {
            say_idle(number);
        }
    }
    load_tell_latency(&shard.report, &shard.keeper);
    if (delays()) show(shard);
}

void Simulation::count_blocks(Shard &shard) {
    if (workload_.blocks != 0) load_counted(&shard.report, &shard.keeper, 0, shard.free_blocks, now_);
}

void Simulation::end(std::uint32_t number) {
    Shard &shard = shards_[number];
    Task task = shard.running;
    shard.runs = false;
    timers_.set(number, Timers::never);
    task.sojourn = now_ - task.came;
    load_ended(&shard.report, &shard.services, &shard.keeper, task.type, now_ - shard.report.published, now_);
    load_sojourned(&shard.keeper, &task.load, task.sojourn);
    Sender &sender = senders_[task.dispatcher];
    if (task.counted) {
        outcome_.sojourns.add(task.sojourn);
        sender.sojourns += static_cast<double>(task.sojourn);
        sender.done++;
    }
    if (task.hold != 0) {
        shard.held.push({now_ + task.hold, task});
        timers_.set(workload_.shards + number, shard.held.top().until);
    } else {
        release(number, task, workload_.types[task.type].blocks);
    }
    count_blocks(shard);
    if (!shard.runs) begin_next(number);
    if (is_central()) take_from_centre();
}

/// The blocks that the task has and its grant are free again.
void Simulation::release(std::uint32_t number, const Task &task, std::uint32_t blocks) {
    Shard &shard = shards_[number];
    Sender &sender = senders_[task.dispatcher];
    load_left(&shard.report);
    shard.free_blocks += blocks;
    sender.left[task.type]++;
    if (reference_ == Reference::none)
        sender.returned[number].push({now_, task.came, task.sojourn, task.hold, task.type});
    while (!shard.put_off.empty() && workload_.types[shard.put_off.at(0).type].blocks <= shard.free_blocks) {
        const Task again = shard.put_off.pop();
        load_waits(&shard.report, &again.load);
        shard.ready.push(again);
        if (shard.put_off.empty() || shard.ready.size() > shard.free_blocks) break;
    }
}

void Simulation::pass_timer(std::uint32_t timer) {
    if (timer < workload_.shards) {
        end(timer);
        return;
    }
    const std::uint32_t number = timer - workload_.shards;
    Shard &shard = shards_[number];
    const Task task = shard.held.top().task;
    shard.held.pop();
    timers_.set(timer, shard.held.empty() ? Timers::never : shard.held.top().until);
    release(number, task, workload_.types[task.type].blocks);
    count_blocks(shard);
    if (!shard.runs && !shard.ready.empty()) {
        begin_next(number);
    } else if (delays()) {
        show(shard);
    }
    if (is_central()) take_from_centre();
}

SimulatedRun Simulation::run() {
    for (std::uint64_t count = 0; count < length_.before + length_.counted; count++) {
        const Arrival arrival = arrivals_.next();
        while (timers_.time() <= arrival.time) {
            now_ = timers_.time();
            pass_timer(timers_.earliest());
        }
        now_ = arrival.time;
        dispatch(arrival, count >= length_.before);
    }
    while (timers_.time() != Timers::never) {
        now_ = timers_.time();
        pass_timer(timers_.earliest());
    }
    for (const Sender &sender : senders_)
        outcome_.mean_of_dispatcher.push_back(sender.done == 0 ? 0
                                                               : sender.sojourns / static_cast<double>(sender.done));
    return std::move(outcome_);
}

/// Each sender has an estimator of its own; those of one engine are added.
SwitchbackRun Simulation::measured() const {
    const auto sum = std::make_unique<switchback>(senders_[0].alternative->measured);
    for (std::size_t number = 1; number < senders_.size(); number++)
        flat_switchback_add(sum.get(), &senders_[number].alternative->measured);
    SwitchbackRun outcome;
    outcome.late = sum->late;
    flat_switchback_estimate(sum.get(), now_, &outcome.estimate);
    return outcome;
}

void require_possible(const Workload &workload) {
    if (workload.shards == 0 || workload.shards > DISPATCH_MOST_SHARDS || workload.dispatchers == 0 ||
        workload.types.empty() || workload.types.size() > FLAT_ENGINE_TASK_TYPES ||
        !(workload.load > 0 || workload.rate_given > 0) || workload.grants == 0)
        throw std::invalid_argument("no such workload can be simulated: " + workload.name);
}

} // namespace

std::uint64_t SimulatedRun::tasks() const { return std::accumulate(offered.begin(), offered.end(), std::uint64_t{0}); }

double SimulatedRun::refused_share() const {
    const auto all = static_cast<double>(tasks());
    return all == 0 ? 0 : static_cast<double>(std::accumulate(refused.begin(), refused.end(), std::uint64_t{0})) / all;
}

SimulatedRun simulate(const Workload &workload, const Chooser &choice, std::uint64_t seed, const Length &length) {
    require_possible(workload);
    return Simulation(workload, choice, seed, length, nullptr).run();
}

SwitchbackRun simulate_switchback(const Workload &workload, const dispatcher_options &policy, const Switchback &second,
                                  std::uint64_t seed, const Length &length) {
    require_possible(workload);
    Chooser choice;
    choice.options = policy;
    Simulation simulation(workload, choice, seed, length, &second);
    SimulatedRun run = simulation.run();
    SwitchbackRun outcome = simulation.measured();
    outcome.run = std::move(run);
    return outcome;
}

std::string_view name_of(dispatch_policy policy) {
    constexpr std::array<std::string_view, DISPATCH_POLICIES> names{
        "random",     "round robin",   "shortest queue", "two choices",    "two choices, memory",
        "idle queue", "bounded queue", "least occupied", "shortest delay", "peak EWMA",
        "C3",         "Prequal",       "stale load",     "predictive"};
    return names.at(policy);
}

std::string_view name_of_part(unsigned place) {
    constexpr std::array<std::string_view, dispatch_parts> names{
        "service", "running", "sends", "exhaustion", "occupancy", "age", "idle", "others", "drain", "spread"};
    return names.at(place);
}

std::string name_of(const Chooser &choice) {
    if (choice.reference == Reference::central_queue) return "central queue";
    if (choice.reference == Reference::least_work) return "least work, known";
    std::string name(name_of(choice.options.policy));
    for (unsigned place = 0; place < dispatch_parts; place++)
        if ((choice.options.left_out >> place & 1) != 0) name += fmt::format(" - {}", name_of_part(place));
    return name;
}

} // namespace flat::simulate
