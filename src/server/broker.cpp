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

bool has_ready(const Session &session) {
    return std::ranges::any_of(session.watches, [](const Watch &each) { return !each.tube->ready.empty(); });
}

bool is_deadline_soon(const Session &session, Nanoseconds now) {
    return !session.reserved.empty() && now + safety_margin >= session.reserved.begin()->due;
}

// The job of all its tubes that is served next, or null.
Job *best_for(const Session &session, Nanoseconds now) {
    Job *best = nullptr;
    for (const Watch &each : session.watches) {
        if (each.tube->ready.empty() || each.tube->paused_until > now) continue;
        Job *first = &*each.tube->ready.begin();
        if (best == nullptr || ByPriority()(*first, *best)) best = first;
    }
    return best;
}

auto watch_of(Session &session, std::string_view tube) {
    return std::ranges::find_if(session.watches, [tube](const Watch &each) { return each.tube->name() == tube; });
}

} // namespace

Broker::Broker(const BrokerMemory &memory) : memory_(memory), table_(memory.table), default_(tube_of("default")) {
    if (default_ == nullptr) throw std::runtime_error("there is no block for the tube `default`");
}

Broker::~Broker() {
    while (!tubes_.empty()) {
        Tube *tube = &*tubes_.begin();
        set_timer(tube->timer, never);
        for (auto clear : {+[](Tube &of) { of.ready.clear(); }, +[](Tube &of) { of.delayed.clear(); },
                           +[](Tube &of) { of.buried.clear(); }}) {
            clear(*tube);
        }
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

// Ends a tube that nobody uses or watches, and that has no job. `default` stays.
void Broker::leave(Tube &tube) {
    if (&tube == default_ || tube.users != 0 || tube.watchers != 0 || tube.reserved != 0) return;
    if (!tube.ready.empty() || !tube.delayed.empty() || !tube.buried.empty()) return;
    set_timer(tube.timer, never);
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

void Broker::set_timer_of(Session &session) {
    Nanoseconds at = session.is_waiting ? session.waits_until : never;
    if (!session.reserved.empty()) {
        const Nanoseconds due = session.reserved.begin()->due;
        at = std::min(at, session.is_waiting ? due - std::min(due, safety_margin) : due);
    }
    set_timer(session.timer, at);
}

bool Broker::open(Session &session, Nanoseconds now) {
    session.used = default_;
    default_->users++;
    counts_.sessions++;
    counts_.total_sessions++;
    if (watch(session, default_->name(), now) == Answer::watching) return true;
    close(session, now);
    return false;
}

void Broker::close(Session &session, Nanoseconds now) {
    if (session.is_waiting) stop_waiting(session);
    if (session.ended_hook.is_linked()) ended_.erase(ended_.iterator_to(session));
    while (!session.reserved.empty()) {
        Job &job = *session.reserved.begin();
        take_from_queue(job);
        make_ready(job, now);
    }
    set_timer(session.timer, never);
    while (!session.watches.empty()) {
        Watch *each = &session.watches.front();
        session.watches.pop_front();
        each->tube->watchers--;
        leave(*each->tube);
        destroy_in(memory_.watches, each);
    }
    session.used->users--;
    leave(*session.used);
    session.used = nullptr;
    counts_.sessions--;
    counts_.producers -= session.is_producer;
    counts_.workers -= session.is_worker;
}

void Broker::count_worker(Session &session) {
    if (!session.is_worker) counts_.workers++;
    session.is_worker = true;
}

Job *Broker::new_job(Session &session, std::uint32_t size) {
    if (!session.is_producer) counts_.producers++;
    session.is_producer = true;
    void *block = flat_pool_alloc(memory_.jobs, sizeof(Job) + size + 2);
    if (block == nullptr) return nullptr;
    Job *job = new (block) Job;
    job->size = size;
    return job;
}

void Broker::drop(Job *job) { destroy_in(memory_.jobs, job); }

void Broker::destroy(Job *job) {
    if (job->readers != 0) {
        job->is_deleted = true;
    } else {
        drop(job);
    }
}

void Broker::end_reading(Job &job) {
    job.readers--;
    if (job.is_deleted && job.readers == 0) drop(&job);
}

Answer Broker::put(Session &session, Job *job, const Put &how, Nanoseconds now) {
    if (is_draining_) {
        drop(job);
        return Answer::draining;
    }
    do job->id = memory_.arrivals->fetch_add(1, std::memory_order_relaxed) * slots + session.used->slot;
    while (!table_.has_room(job->id));
    table_.insert(*job);
    session.last_put = job->id;
    job->tube = session.used;
    job->created = now;
    job->priority = how.priority;
    job->time_to_run = std::max(how.time_to_run, 1u);
    job->tube->created_jobs++;
    counts_.total_jobs++;
    if (how.delay != 0) {
        delay(*job, how.delay, now);
    } else {
        make_ready(*job, now);
    }
    return Answer::inserted;
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
void Broker::make_ready(Job &job, Nanoseconds now) {
    Tube &tube = *job.tube;
    job.state = JobState::ready;
    tube.ready.insert(job);
    counts_.ready++;
    if (job.priority < urgent_below) {
        tube.urgent++;
        counts_.urgent++;
    }
    serve_waiting(tube, now);
}

// Gives jobs of a tube to sessions that wait for one. None of them waits for another tube that has some.
void Broker::serve_waiting(Tube &tube, Nanoseconds now) {
    while (!tube.ready.empty() && tube.paused_until <= now && !tube.waiting.empty()) {
        Session &session = *tube.waiting.front().session;
        stop_waiting(session);
        Job &job = *tube.ready.begin();
        reserve_for(session, job, now);
        session.given = &job;
        end_wait(session, WaitEnd::reserved);
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

void Broker::reserve_for(Session &session, Job &job, Nanoseconds now) {
    take_from_queue(job);
    job.state = JobState::reserved;
    job.holder = &session;
    job.due = now + job.time_to_run * second;
    job.reserves++;
    session.reserved.insert(job);
    job.tube->reserved++;
    counts_.reserved++;
    set_timer_of(session);
}

Answer Broker::use(Session &session, std::string_view name, Nanoseconds) {
    Tube *tube = tube_of(name);
    if (tube == nullptr) return Answer::out_of_memory;
    tube->users++;
    session.used->users--;
    leave(*session.used);
    session.used = tube;
    return Answer::using_tube;
}

Answer Broker::watch(Session &session, std::string_view name, Nanoseconds) {
    if (watch_of(session, name) != session.watches.end()) return Answer::watching;
    Watch *made = make<Watch>(memory_.watches);
    if (made == nullptr) return Answer::out_of_memory;
    made->tube = tube_of(name);
    if (made->tube == nullptr) {
        destroy_in(memory_.watches, made);
        return Answer::out_of_memory;
    }
    made->session = &session;
    made->tube->watchers++;
    session.watches.push_back(*made);
    return Answer::watching;
}

Answer Broker::ignore(Session &session, std::string_view name, Nanoseconds) {
    const auto found = watch_of(session, name);
    if (found == session.watches.end()) return Answer::watching;
    if (session.watches.size() == 1) return Answer::not_ignored;
    Watch *watch = &*found;
    session.watches.erase(found);
    watch->tube->watchers--;
    leave(*watch->tube);
    destroy_in(memory_.watches, watch);
    return Answer::watching;
}

Answer Broker::reserve(Session &session, std::uint32_t timeout, Nanoseconds now) {
    count_worker(session);
    if (is_deadline_soon(session, now) && !has_ready(session)) return Answer::deadline_soon;
    if (Job *job = best_for(session, now)) {
        reserve_for(session, *job, now);
        session.given = job;
        return Answer::reserved;
    }
    if (is_deadline_soon(session, now)) return Answer::deadline_soon;
    if (timeout == 0) return Answer::timed_out;
    session.is_waiting = true;
    session.waits_until = timeout == no_timeout ? never : now + timeout * second;
    for (Watch &each : session.watches) each.tube->waiting.push_back(each);
    counts_.waiting++;
    set_timer_of(session);
    return Answer::waiting;
}

void Broker::stop_waiting(Session &session) {
    session.is_waiting = false;
    for (Watch &each : session.watches) each.tube->waiting.erase(each.tube->waiting.iterator_to(each));
    counts_.waiting--;
    set_timer_of(session);
}

void Broker::end_wait(Session &session, WaitEnd how) {
    session.wait_end = how;
    ended_.push_back(session);
}

Session *Broker::next_ended_wait() {
    if (ended_.empty()) return nullptr;
    Session *session = &ended_.front();
    ended_.pop_front();
    return session;
}

Answer Broker::reserve_job(Session &session, std::uint64_t id, Nanoseconds now) {
    Job *job = find(id);
    if (job == nullptr || job->state == JobState::reserved) return Answer::not_found;
    count_worker(session);
    reserve_for(session, *job, now);
    session.given = job;
    return Answer::reserved;
}

Job *Broker::reserved_by(const Session &session, std::uint64_t id) const {
    Job *job = find(id);
    return job != nullptr && job->holder == &session ? job : nullptr;
}

Answer Broker::delete_job(Session &session, std::uint64_t id, Nanoseconds) {
    Job *job = find(id);
    if (job == nullptr || (job->state == JobState::reserved && job->holder != &session)) return Answer::not_found;
    Tube &tube = *job->tube;
    take_from_queue(*job);
    table_.erase(*job);
    tube.deletes++;
    destroy(job);
    leave(tube);
    return Answer::deleted;
}

Answer Broker::release(Session &session, std::uint64_t id, std::uint32_t priority, std::uint32_t seconds,
                       Nanoseconds now) {
    Job *job = reserved_by(session, id);
    if (job == nullptr) return Answer::not_found;
    take_from_queue(*job);
    job->priority = priority;
    job->releases++;
    job->delay = seconds;
    if (seconds != 0) {
        delay(*job, seconds, now);
    } else {
        make_ready(*job, now);
    }
    return Answer::released;
}

Answer Broker::bury(Session &session, std::uint64_t id, std::uint32_t priority, Nanoseconds) {
    Job *job = reserved_by(session, id);
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

Answer Broker::touch(Session &session, std::uint64_t id, Nanoseconds now) {
    Job *job = reserved_by(session, id);
    if (job == nullptr) return Answer::not_found;
    session.reserved.erase(*job);
    job->due = now + job->time_to_run * second;
    session.reserved.insert(*job);
    set_timer_of(session);
    return Answer::touched;
}

Answer Broker::kick_job(std::uint64_t id, Nanoseconds now) {
    Job *job = find(id);
    if (job == nullptr || (job->state != JobState::buried && job->state != JobState::delayed)) return Answer::not_found;
    take_from_queue(*job);
    job->kicks++;
    make_ready(*job, now);
    return Answer::kicked;
}

std::uint64_t Broker::kick(Session &session, std::uint64_t most, Nanoseconds now) {
    Tube &tube = *session.used;
    JobQueue<ByDue> &from = tube.buried.empty() ? tube.delayed : tube.buried;
    std::uint64_t kicked = 0;
    for (; kicked < most && !from.empty(); kicked++) (void)kick_job(from.begin()->id, now);
    return kicked;
}

Answer Broker::pause(std::string_view name, std::uint32_t seconds, Nanoseconds now) {
    Tube *tube = find_tube(name);
    if (tube == nullptr) return Answer::not_found;
    tube->paused_until = now + seconds * second;
    tube->pause = seconds;
    tube->pauses++;
    set_timer_of(*tube, now);
    serve_waiting(*tube, now);
    return Answer::paused;
}

Job *Broker::first(const Session &session, Peek of) const {
    const auto first_of = [](auto &queue) { return queue.empty() ? nullptr : &*queue.begin(); };
    Tube &tube = *session.used;
    return of == Peek::ready ? first_of(tube.ready) : of == Peek::delayed ? first_of(tube.delayed) : first_of(tube.buried);
}

void Broker::run_timer_of(Session &session, Nanoseconds now) {
    while (!session.reserved.empty() && session.reserved.begin()->due <= now) {
        Job &job = *session.reserved.begin();
        job.timeouts++;
        counts_.timeouts++;
        take_from_queue(job);
        make_ready(job, now);
    }
    if (session.is_waiting && (session.waits_until <= now || is_deadline_soon(session, now))) {
        const WaitEnd how = is_deadline_soon(session, now) ? WaitEnd::deadline_soon : WaitEnd::timed_out;
        stop_waiting(session);
        end_wait(session, how);
    }
    set_timer_of(session);
}

void Broker::run_timers(Nanoseconds now) {
    while (next_timer() <= now) {
        Timer &timer = *timers_.begin();
        if (timer.kind == Timer::Kind::session) {
            run_timer_of(*boost::intrusive::get_parent_from_member(&timer, &Session::timer), now);
            continue;
        }
        Tube &tube = *boost::intrusive::get_parent_from_member(&timer, &Tube::timer);
        while (!tube.delayed.empty() && tube.delayed.begin()->due <= now) {
            Job &job = *tube.delayed.begin();
            take_from_queue(job);
            make_ready(job, now);
        }
        serve_waiting(tube, now);
        set_timer_of(tube, now);
    }
}

} // namespace flat::server
