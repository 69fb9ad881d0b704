#include "broker.hpp"

#include <algorithm>
#include <new>
#include <stdexcept>

namespace flat::server {
namespace {

constexpr Nanoseconds safety_margin = second; // before a job's time runs out, its holder is told DEADLINE_SOON
constexpr std::uint32_t urgent_below = 1024;  // priority

template <class Thing> Thing *make(flat_pool *pool) {
    void *block = flat_pool_alloc(pool, sizeof(Thing));
    return block == nullptr ? nullptr : new (block) Thing;
}

template <class Thing> void destroy_in(flat_pool *pool, Thing *thing) {
    thing->~Thing();
    (void)flat_pool_free(pool, thing);
}

bool is_deadline_soon(const Holdings &holdings, Nanoseconds now) {
    return !holdings.reserved.empty() && now + safety_margin >= holdings.reserved.begin()->due;
}

// The job of all its tubes that is served next, or null.
Job *best_for(const Holdings &holdings, Nanoseconds now) {
    Job *best = nullptr;
    for (const WatchedTube &each : holdings.watches) {
        if (each.tube->ready.empty() || each.tube->paused_until > now) continue;
        Job *first = &*each.tube->ready.begin();
        if (best == nullptr || ByPriority()(*first, *best)) best = first;
    }
    return best;
}

} // namespace

Broker::~Broker() {
    while (!tubes_.empty()) {
        Tube *tube = &*tubes_.begin();
        tube->ready.clear();
        tube->delayed.clear();
        tube->buried.clear();
        set_timer(tube->timer, never);
        tubes_.erase(*tube);
        destroy_in(memory_.tubes, tube);
    }
}

Tube *Broker::find_tube(std::string_view name) {
    const auto found = tubes_.find(name, ByName());
    return found == tubes_.end() ? nullptr : &*found;
}

// The tube of this name, which is made if there is none; null: there is no memory for it.
Tube *Broker::tube_of(std::string_view name) {
    Tubes::insert_commit_data place;
    const auto [found, is_new] = tubes_.insert_check(name, ByName(), place);
    if (!is_new) return &*found;
    Tube *tube = make<Tube>(memory_.tubes);
    if (tube == nullptr) return nullptr;
    tube->name_size = static_cast<std::uint8_t>(name.copy(tube->name_bytes.data(), tube->name_bytes.size()));
    tube->slot = slot_of(name);
    tubes_.insert_commit(*tube, place);
    counts_.tubes++;
    return tube;
}

// Ends a tube that nobody uses or watches, and that has no job.
void Broker::leave(Tube &tube) {
    if (tube.stays || tube.users != 0 || tube.watchers != 0 || tube.reserved != 0) return;
    if (!tube.ready.empty() || !tube.delayed.empty() || !tube.buried.empty()) return;
    set_timer(tube.timer, never);
    if (tube.unserved_hook.is_linked()) unserved_.erase(unserved_.iterator_to(tube));
    tubes_.erase(tube);
    destroy_in(memory_.tubes, &tube);
    counts_.tubes--;
}

void Broker::set_timer(Timer &timer, Nanoseconds at) {
    if (timer.at == at) return;
    if (timer.at != never) timers_.erase(timer);
    timer.at = at;
    timer.place = timer_places_++;
    if (at != never) timers_.insert(timer);
}

void Broker::set_timer_of(Tube &tube, Nanoseconds now) {
    Nanoseconds at = tube.delayed.empty() ? never : tube.delayed.begin()->due;
    if (tube.paused_until > now) at = std::min(at, tube.paused_until);
    set_timer(tube.timer, at);
}

void Broker::set_timer_of(Holdings &holdings) {
    if (holdings.reserved.empty()) return set_timer(holdings.timer, never);
    const Nanoseconds due = holdings.reserved.begin()->due;
    set_timer(holdings.timer, holdings.is_waiting ? due - std::min(due, safety_margin) : due);
}

void Broker::close(Holdings &holdings, Nanoseconds now) {
    if (holdings.is_waiting) stop_waiting(holdings);
    if (holdings.ended_hook.is_linked()) ended_.erase(ended_.iterator_to(holdings));
    while (!holdings.reserved.empty()) {
        Job &job = *holdings.reserved.begin();
        take_from_queue(job);
        make_ready(job);
    }
    serve_waiting(now);
    while (!holdings.watches.empty()) stop_watching(holdings, holdings.watches.front());
}

Job *Broker::new_job(std::uint32_t size) {
    void *block = flat_pool_alloc(memory_.jobs, sizeof(Job) + size + 2);
    if (block == nullptr) return nullptr;
    Job *job = new (block) Job;
    job->size = size;
    return job;
}

void Broker::drop(Job *job) { destroy_in(memory_.jobs, job); }

void Broker::end_reading(Job &job) {
    job.readers--;
    if (job.is_deleted && job.readers == 0) drop(&job);
}

std::uint64_t Broker::put(Tube &tube, Job *job, const Put &how, Nanoseconds now) {
    std::uint64_t id;
    do id = memory_.arrivals->fetch_add(1, std::memory_order_relaxed) * slots + tube.slot;
    while (!table_.has_room(id));
    job->id = id;
    table_.insert(*job);
    job->tube = &tube;
    job->created = now;
    job->priority = how.priority;
    job->time_to_run = std::max(how.time_to_run, 1u);
    tube.created_jobs++;
    counts_.total_jobs++;
    if (how.delay != 0) {
        delay(*job, how.delay, now);
    } else {
        make_ready(*job);
        serve_waiting(now);
    }
    return id;
}

void Broker::delay(Job &job, std::uint32_t seconds, Nanoseconds now) {
    job.state = JobState::delayed;
    job.delay = seconds;
    job.due = now + seconds * second;
    job.tube->delayed.insert(job);
    counts_.delayed++;
    set_timer_of(*job.tube, now);
}

// Of a job in no queue.
void Broker::make_ready(Job &job) {
    Tube &tube = *job.tube;
    job.state = JobState::ready;
    tube.ready.insert(job);
    counts_.ready++;
    if (job.priority < urgent_below) {
        tube.urgent++;
        counts_.urgent++;
    }
    serve_again(tube);
}

// Its ready jobs are to be given to whoever waits.
void Broker::serve_again(Tube &tube) {
    if (!tube.unserved_hook.is_linked()) unserved_.push_back(tube);
}

// Gives what has become ready to clients that wait for it, each the best that there is for it by then. Whoever made
// several jobs ready calls it once, behind the last.
void Broker::serve_waiting(Nanoseconds now) {
    while (!unserved_.empty()) {
        Tube &tube = unserved_.front();
        unserved_.pop_front();
        while (!tube.ready.empty() && tube.paused_until <= now && !tube.waiting.empty()) {
            Holdings &holdings = *tube.waiting.front().holdings;
            stop_waiting(holdings);
            holdings.given = best_for(holdings, now);
            reserve_for(holdings, *holdings.given, now);
            end_wait(holdings, WaitEnd::reserved);
        }
    }
}

// The timer of its tube may then be too early, which does no harm.
void Broker::take_from_queue(Job &job) {
    Tube &tube = *job.tube;
    switch (job.state) {
    case JobState::unborn: break;
    case JobState::ready:
        tube.ready.erase(job);
        counts_.ready--;
        if (job.priority < urgent_below) {
            tube.urgent--;
            counts_.urgent--;
        }
        break;
    case JobState::delayed:
        tube.delayed.erase(job);
        counts_.delayed--;
        break;
    case JobState::buried:
        tube.buried.erase(job);
        counts_.buried--;
        break;
    case JobState::reserved:
        job.holder->reserved.erase(job);
        tube.reserved--;
        counts_.reserved--;
        set_timer_of(*job.holder);
        job.holder = nullptr;
        break;
    }
}

void Broker::reserve_for(Holdings &holdings, Job &job, Nanoseconds now) {
    take_from_queue(job);
    job.state = JobState::reserved;
    job.holder = &holdings;
    job.due = now + job.time_to_run * second;
    job.reserves++;
    holdings.reserved.insert(job);
    job.tube->reserved++;
    counts_.reserved++;
    set_timer_of(holdings);
}

bool Broker::keep(std::string_view name) {
    Tube *tube = tube_of(name);
    if (tube != nullptr) tube->stays = true;
    return tube != nullptr;
}

Tube *Broker::use(std::string_view name) {
    Tube *tube = tube_of(name);
    if (tube != nullptr) tube->users++;
    return tube;
}

void Broker::stop_using(Tube &tube) {
    tube.users--;
    leave(tube);
}

Answer Broker::watch(Holdings &holdings, WatchedTube &watch, std::string_view name) {
    watch.tube = tube_of(name);
    if (watch.tube == nullptr) return Answer::out_of_memory;
    watch.holdings = &holdings;
    watch.tube->watchers++;
    holdings.watches.push_back(watch);
    return Answer::done;
}

void Broker::stop_watching(Holdings &holdings, WatchedTube &watch) {
    holdings.watches.erase(holdings.watches.iterator_to(watch));
    watch.tube->watchers--;
    leave(*watch.tube);
}

Answer Broker::reserve(Holdings &holdings, bool waits, Nanoseconds now) {
    if (Job *job = best_for(holdings, now)) {
        reserve_for(holdings, *job, now);
        holdings.given = job;
        return Answer::reserved;
    }
    if (is_deadline_soon(holdings, now)) return Answer::deadline_soon;
    if (!waits) return Answer::timed_out;
    holdings.is_waiting = true;
    for (WatchedTube &each : holdings.watches) each.tube->waiting.push_back(each);
    set_timer_of(holdings);
    return Answer::waiting;
}

void Broker::stop_waiting(Holdings &holdings) {
    holdings.is_waiting = false;
    for (WatchedTube &each : holdings.watches) each.tube->waiting.erase(each.tube->waiting.iterator_to(each));
    set_timer_of(holdings);
}

void Broker::give_back(Job &job, Nanoseconds now) {
    take_from_queue(job);
    job.reserves--;
    make_ready(job);
    serve_waiting(now);
}

void Broker::end_wait(Holdings &holdings, WaitEnd how) {
    holdings.wait_end = how;
    ended_.push_back(holdings);
}

Holdings *Broker::next_ended_wait() {
    if (ended_.empty()) return nullptr;
    Holdings *holdings = &ended_.front();
    ended_.pop_front();
    return holdings;
}

Answer Broker::reserve_job(Holdings &holdings, std::uint64_t id, Nanoseconds now) {
    Job *job = find(id);
    if (job == nullptr || job->state == JobState::reserved) return Answer::not_found;
    reserve_for(holdings, *job, now);
    holdings.given = job;
    return Answer::reserved;
}

Job *Broker::reserved_by(const Holdings *holdings, std::uint64_t id) const {
    Job *job = find(id);
    return job != nullptr && job->state == JobState::reserved && job->holder == holdings ? job : nullptr;
}

Answer Broker::delete_job(const Holdings *holdings, std::uint64_t id) {
    Job *job = find(id);
    if (job == nullptr || (job->state == JobState::reserved && job->holder != holdings)) return Answer::not_found;
    Tube &tube = *job->tube;
    take_from_queue(*job);
    table_.erase(*job);
    tube.deletes++;
    if (job->readers != 0) {
        job->is_deleted = true;
    } else {
        drop(job);
    }
    leave(tube);
    return Answer::deleted;
}

Answer Broker::release(Holdings &holdings, std::uint64_t id, std::uint32_t priority, std::uint32_t seconds,
                       Nanoseconds now) {
    Job *job = reserved_by(&holdings, id);
    if (job == nullptr) return Answer::not_found;
    take_from_queue(*job);
    job->priority = priority;
    job->releases++;
    job->delay = seconds;
    if (seconds != 0) {
        delay(*job, seconds, now);
    } else {
        make_ready(*job);
        serve_waiting(now);
    }
    return Answer::released;
}

Answer Broker::bury(Holdings &holdings, std::uint64_t id, std::uint32_t priority) {
    Job *job = reserved_by(&holdings, id);
    if (job == nullptr) return Answer::not_found;
    take_from_queue(*job);
    job->priority = priority;
    job->buries++;
    job->state = JobState::buried;
    job->due = burials_++;
    job->tube->buried.insert(*job);
    counts_.buried++;
    return Answer::buried;
}

Answer Broker::touch(Holdings &holdings, std::uint64_t id, Nanoseconds now) {
    Job *job = reserved_by(&holdings, id);
    if (job == nullptr) return Answer::not_found;
    holdings.reserved.erase(*job);
    job->due = now + job->time_to_run * second;
    holdings.reserved.insert(*job);
    set_timer_of(holdings);
    return Answer::touched;
}

// Of a job that is buried or delayed.
void Broker::kick_out(Job &job) {
    take_from_queue(job);
    job.kicks++;
    make_ready(job);
}

Answer Broker::kick_job(std::uint64_t id, Nanoseconds now) {
    Job *job = find(id);
    if (job == nullptr || (job->state != JobState::buried && job->state != JobState::delayed)) return Answer::not_found;
    kick_out(*job);
    serve_waiting(now);
    return Answer::kicked;
}

std::uint64_t Broker::kick(Tube &tube, std::uint64_t most, Nanoseconds now) {
    JobQueue<ByDue> &from = tube.buried.empty() ? tube.delayed : tube.buried;
    std::uint64_t kicked = 0;
    for (; kicked < most && !from.empty(); kicked++) { // each is served before the next is ready, as by beanstalkd
        kick_out(*from.begin());
        serve_waiting(now);
    }
    return kicked;
}

Answer Broker::pause(std::string_view name, std::uint32_t seconds, Nanoseconds now) {
    Tube *tube = find_tube(name);
    if (tube == nullptr) return Answer::not_found;
    tube->paused_until = now + seconds * second;
    tube->pause = seconds;
    tube->pauses++;
    set_timer_of(*tube, now);
    serve_again(*tube);
    serve_waiting(now);
    return Answer::paused;
}

Job *Broker::first(Tube &tube, Peek of) {
    const auto first_of = [](auto &queue) { return queue.empty() ? nullptr : &*queue.begin(); };
    return of == Peek::ready     ? first_of(tube.ready)
           : of == Peek::delayed ? first_of(tube.delayed)
                                 : first_of(tube.buried);
}

// What became due of jobs comes before what clients are told of deadlines: a job that is ready then is theirs.
void Broker::run_timers(Nanoseconds now) {
    while (next_timer() <= now) {
        Timer &timer = *timers_.begin();
        if (timer.kind == Timer::Kind::holdings) {
            Holdings &of = *boost::intrusive::get_parent_from_member(&timer, &Holdings::timer);
            end_reservations(of, now);
            set_timer_of(of);
            if (timer.at > now) continue;
            set_timer(timer, never);
            near_.push_back(of);
        } else {
            Tube &tube = *boost::intrusive::get_parent_from_member(&timer, &Tube::timer);
            while (!tube.delayed.empty() && tube.delayed.begin()->due <= now) {
                Job &job = *tube.delayed.begin();
                take_from_queue(job);
                make_ready(job);
            }
            serve_again(tube); // its pause may be over
            set_timer_of(tube, now);
        }
    }
    serve_waiting(now);
    while (!near_.empty()) {
        Holdings &of = near_.front();
        near_.pop_front();
        if (of.is_waiting) {
            stop_waiting(of);
            end_wait(of, WaitEnd::deadline_soon);
        }
        set_timer_of(of);
    }
}

// Of jobs whose time has run out.
void Broker::end_reservations(Holdings &of, Nanoseconds now) {
    while (!of.reserved.empty() && of.reserved.begin()->due <= now) {
        Job &job = *of.reserved.begin();
        job.timeouts++;
        counts_.timeouts++;
        take_from_queue(job);
        make_ready(job);
    }
}

} // namespace flat::server
