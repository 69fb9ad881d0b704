#include "shard.hpp"

#include <cerrno>
#include <climits>
#include <cstring>
#include <new>
#include <stdexcept>
#include <system_error>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

namespace flat::server {
namespace {

constexpr int events_at_once = 64;
constexpr Nanoseconds millisecond = 1'000'000;
constexpr std::uint32_t reading = EPOLLIN | EPOLLRDHUP, writing = EPOLLOUT;

[[noreturn]] void fail(const char *what) { throw std::system_error(errno, std::generic_category(), what); }

Nanoseconds clock_now() {
    timespec time{};
    (void)clock_gettime(CLOCK_MONOTONIC, &time); // cannot fail for this clock
    return static_cast<Nanoseconds>(time.tv_sec) * second + static_cast<Nanoseconds>(time.tv_nsec);
}

void control(const FileDescriptor &epoll, int operation, int descriptor, std::uint32_t events, void *by) {
    epoll_event event{};
    event.events = events;
    event.data.ptr = by;
    if (epoll_ctl(epoll.number(), operation, descriptor, &event) != 0) fail("epoll_ctl");
}

} // namespace

// What one shard sends to another: a payload that travels in the task's descriptor.
struct ServerShard::Message {
    enum class Kind : std::uint8_t {
        ask,
        find_waiting,
        find_only,
        cancel,
        give_back,
        // answers to these
        answered,
        found,
        settled,
        // to `to`
        end_reading,
        drop
    };

    Kind kind;
    Answer answer = Answer::done;
    std::uint16_t from = 0; // the shard that answers
    std::uint32_t priority = 0;
    union {
        Conversation *by;
        ServerShard *to;
    };
    Job *job = nullptr;
    std::uint64_t id = 0;
};

ServerShard::ServerShard(std::size_t number, std::span<ServerShard *const> all, flat_engine *engine,
                         const ShardMemory &memory, const ServerFacts &facts, FileDescriptor listening)
    : number_(number), all_(all), engine_(engine), memory_(memory), broker_(memory.broker),
      shared_{*this, memory.watches, memory.lists, facts}, listening_(std::move(listening)),
      epoll_(epoll_create1(EPOLL_CLOEXEC)), woken_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), started_(clock_now()) {
    static_assert(sizeof(Message) <= FLAT_ENGINE_INLINE_BYTES);
    if (epoll_.number() < 0) fail("epoll_create1");
    if (woken_.number() < 0) fail("eventfd");
    control(epoll_, EPOLL_CTL_ADD, listening_.number(), EPOLLIN, &listening_);
    control(epoll_, EPOLL_CTL_ADD, woken_.number(), EPOLLIN, &woken_);
    const bool has_default = slot_of("default") % all.size() == number;
    if (has_default && !broker_.keep("default")) throw std::runtime_error("there is no block for the tube `default`");
}

ServerShard::~ServerShard() = default;

void ServerShard::wake() {
    const std::uint64_t one = 1;
    const int before = errno;                                         // of what a signal interrupts
    if (write(woken_.number(), &one, sizeof one) < 0) errno = before; // it is full, so that the shard will wake
}

void ServerShard::stop() {
    stops_.store(true, std::memory_order_relaxed);
    wake();
}

void ServerShard::drain() {
    drains_.store(true, std::memory_order_relaxed);
    wake();
}

// Messages. A lane has an inline grant for each that can be under way: see `messages_for`.

void ServerShard::send(std::size_t to, const Message &message) {
    flat_task task{};
    task.run = deliver;
    if (flat_engine_submit(lanes_, to, &task, &message, sizeof message) != FLAT_OK) std::abort();
    std::atomic_thread_fence(std::memory_order_seq_cst); // it sleeps only after a look for messages behind such a fence
    if (all_[to]->sleeps_.load(std::memory_order_relaxed)) all_[to]->wake();
}

void ServerShard::deliver(flat_worker *here, void *payload, std::size_t) {
    Message message;
    std::memcpy(&message, payload, sizeof message);
    ServerShard *home =
        message.kind >= Message::Kind::end_reading ? message.to : static_cast<ServerShard *>(&message.by->exchange());
    home->all_[flat_engine_worker(here)]->take(message);
}

void ServerShard::take(const Message &message) {
    using Kind = Message::Kind;
    const auto reply = [&](Kind kind, const Offer &offer = {}) {
        Message back{.kind = kind,
                     .answer = offer.answer,
                     .from = static_cast<std::uint16_t>(number_),
                     .priority = offer.priority,
                     .by = message.by,
                     .job = offer.job,
                     .id = offer.id};
        send(static_cast<ServerShard &>(message.by->exchange()).number_, back);
    };
    switch (message.kind) {
    case Kind::ask:
        answer(*message.by);
        reply(Kind::answered);
        break;
    case Kind::find_waiting:
    case Kind::find_only: reply(Kind::found, find_here(*message.by, message.kind == Kind::find_waiting)); break;
    case Kind::cancel:
        cancel_here(*message.by);
        reply(Kind::settled);
        break;
    case Kind::give_back:
        broker_.end_reading(*message.job);
        broker_.give_back(*message.job, now_);
        reply(Kind::settled);
        break;
    case Kind::answered:
        message.by->answered(now_);
        settle(Connection::of(*message.by));
        break;
    case Kind::found: {
        Offer offer{message.answer, message.priority, 0, message.id, message.job};
        if (offer.job != nullptr) offer.size = offer.job->size;
        message.by->found(message.from, offer, now_);
        settle(Connection::of(*message.by));
        break;
    }
    case Kind::settled:
        message.by->settled(message.from, now_);
        settle(Connection::of(*message.by));
        break;
    case Kind::end_reading: broker_.end_reading(*message.job); break;
    case Kind::drop: broker_.drop(message.job); break;
    }
    tell_ended_waits();
}

bool ServerShard::ask(Conversation &by, std::size_t shard) {
    if (shard == number_) {
        answer(by);
        return true;
    }
    send(shard, {.kind = Message::Kind::ask, .by = &by});
    return false;
}

std::optional<Offer> ServerShard::find(Conversation &by, std::size_t shard, bool waits) {
    if (shard == number_) return find_here(by, waits);
    send(shard, {.kind = waits ? Message::Kind::find_waiting : Message::Kind::find_only, .by = &by});
    return std::nullopt;
}

bool ServerShard::cancel(Conversation &by, std::size_t shard) {
    if (shard == number_) {
        cancel_here(by);
        return true;
    }
    send(shard, {.kind = Message::Kind::cancel, .by = &by});
    return false;
}

bool ServerShard::give_back(Conversation &by, std::size_t shard, Job *job) {
    if (shard == number_) {
        broker_.end_reading(*job);
        broker_.give_back(*job, now_);
        return true;
    }
    send(shard, {.kind = Message::Kind::give_back, .by = &by, .job = job});
    return false;
}

void ServerShard::end_reading(std::size_t shard, Job *job) {
    if (shard == number_) return broker_.end_reading(*job);
    send(shard, {.kind = Message::Kind::end_reading, .to = this, .job = job});
}

void ServerShard::drop(std::size_t shard, Job *job) {
    if (shard == number_) return broker_.drop(job);
    send(shard, {.kind = Message::Kind::drop, .to = this, .job = job});
}

void ServerShard::set_timer(Conversation &by, Nanoseconds at) {
    Timer &timer = Connection::of(by).timer;
    if (timer.at != never) timers_.erase(timer);
    timer.at = at;
    timer.place = timer_places_++;
    if (at != never) timers_.insert(timer);
}

// What this shard does for a conversation at any.

// Null: there is no memory for one.
Holdings *ServerShard::holdings_of(Conversation &by) {
    Holdings *&holdings = by.part(number_).holdings;
    if (holdings != nullptr) return holdings;
    void *block = flat_pool_alloc(memory_.holdings, sizeof(Holdings));
    if (block == nullptr) return nullptr;
    holdings = new (block) Holdings;
    holdings->client = &by;
    return holdings;
}

void ServerShard::answer(Conversation &by) {
    Question &question = by.question();
    Holdings *&holdings = by.part(number_).holdings;
    if (needs_holdings(question.kind) && holdings_of(by) == nullptr) {
        question.answer = Answer::out_of_memory;
        return;
    }
    answer_question(broker_, holdings, question, now_);
    if (question.kind == Question::Kind::statistics) question.clients += shared_.counts;
    if (question.kind == Question::Kind::close) {
        holdings->~Holdings();
        (void)flat_pool_free(memory_.holdings, std::exchange(holdings, nullptr));
    }
}

Offer ServerShard::offer_of(Job &job) {
    broker_.begin_reading(job);
    return {Answer::reserved, job.priority, job.size, job.id, &job};
}

Offer ServerShard::find_here(Conversation &by, bool waits) {
    Holdings &holdings = *by.part(number_).holdings;
    const Answer answer = broker_.reserve(holdings, waits, now_);
    if (answer == Answer::reserved) return offer_of(*holdings.given);
    return {.answer = answer};
}

void ServerShard::cancel_here(Conversation &by) {
    Holdings &holdings = *by.part(number_).holdings;
    tell_ended_waits(); // so that what it has found comes before
    if (holdings.is_waiting) broker_.stop_waiting(holdings);
}

void ServerShard::tell_ended_waits() {
    while (Holdings *holdings = broker_.next_ended_wait()) {
        Conversation &by = *static_cast<Conversation *>(holdings->client);
        ServerShard &home = static_cast<ServerShard &>(by.exchange());
        const Offer offer = holdings->wait_end == WaitEnd::reserved ? offer_of(*holdings->given)
                                                                    : Offer{.answer = Answer::deadline_soon};
        if (&home == this) {
            by.found(number_, offer, now_);
            settle(Connection::of(by));
        } else {
            send(home.number_, {.kind = Message::Kind::found,
                                .answer = offer.answer,
                                .from = static_cast<std::uint16_t>(number_),
                                .priority = offer.priority,
                                .by = &by,
                                .job = offer.job,
                                .id = offer.id});
        }
    }
}

// The loop.

// Rounded up, so that what is due is due when it wakes.
int ServerShard::wait_ms() const {
    const Nanoseconds next = std::min(broker_.next_timer(), timers_.empty() ? never : timers_.begin()->at);
    if (next == never) return -1;
    const Nanoseconds wait = next > now_ ? (next - now_ + millisecond - 1) / millisecond : 0;
    return static_cast<int>(std::min<Nanoseconds>(wait, INT_MAX));
}

void ServerShard::step_engine() {
    while (flat_engine_step(engine_, number_)) continue;
}

void ServerShard::run() {
    if (flat_engine_register(engine_, &lanes_) != FLAT_OK) throw std::runtime_error("the engine has no lane left");
    while (!stops_.load(std::memory_order_relaxed)) {
        std::array<epoll_event, events_at_once> events;
        sleeps_.store(true, std::memory_order_relaxed);
        std::atomic_thread_fence(std::memory_order_seq_cst);
        const bool was_asked = flat_engine_step(engine_, number_);
        const int count = epoll_wait(epoll_.number(), events.data(), events_at_once, was_asked ? 0 : wait_ms());
        sleeps_.store(false, std::memory_order_relaxed);
        if (count < 0 && errno != EINTR) fail("epoll_wait");
        now_ = clock_now() - started_;
        shared_.is_draining = drains_.load(std::memory_order_relaxed);
        step_engine();
        for (int i = 0; i < count; i++) {
            const epoll_event &event = events[static_cast<std::size_t>(i)];
            if (event.data.ptr == &listening_) {
                accept_all();
            } else if (event.data.ptr == &woken_) {
                std::uint64_t times = 0;
                if (read(woken_.number(), &times, sizeof times) < 0 && errno != EAGAIN) fail("eventfd");
            } else {
                serve(*static_cast<Connection *>(event.data.ptr), event.events);
            }
            tell_ended_waits();
        }
        broker_.run_timers(now_);
        run_connection_timers();
        tell_ended_waits();
        free_ended();
    }
    flat_engine_unregister(lanes_);
}

void ServerShard::run_connection_timers() {
    while (!timers_.empty() && timers_.begin()->at <= now_) {
        Connection &connection = *boost::intrusive::get_parent_from_member(&*timers_.begin(), &Connection::timer);
        set_timer(connection.talk, never);
        connection.talk.timed_out(now_);
        settle(connection);
    }
}

// Connections.

void ServerShard::listen(bool on) {
    if (is_listening_ == on) return;
    control(epoll_, EPOLL_CTL_MOD, listening_.number(), on ? std::uint32_t{EPOLLIN} : 0, &listening_);
    is_listening_ = on;
}

void ServerShard::accept_all() {
    while (accept_one()) continue;
}

// False: there is none, or none can be taken, and they wait until a connection has ended.
bool ServerShard::accept_one() {
    void *block = flat_pool_alloc(memory_.connections, Connection::bytes_for(all_.size()));
    std::optional<FileDescriptor> came;
    try {
        if (block != nullptr) came = accept_from(listening_);
        if (block == nullptr) listen(false);
    } catch (const std::system_error &) {
        listen(connections_.empty());
    }
    if (!came) {
        (void)flat_pool_free(memory_.connections, block);
        return false;
    }
    auto *parts = reinterpret_cast<Conversation::Part *>(static_cast<Connection *>(block) + 1);
    for (std::size_t i = 0; i < all_.size(); i++) new (parts + i) Conversation::Part;
    Connection *made = new (block) Connection(std::move(*came), shared_, {parts, all_.size()});
    connections_.push_back(*made);
    made->interests = reading;
    control(epoll_, EPOLL_CTL_ADD, made->descriptor.number(), made->interests, made);
    made->talk.open(now_);
    settle(*made);
    return true;
}

void ServerShard::serve(Connection &connection, std::uint32_t events) {
    if (connection.has_ended) return;
    if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0 && connection.talk.reads()) {
        const Moved came = receive(connection.descriptor, connection.talk.room());
        if (came.is_over) return end(connection);
        if (came.bytes != 0) connection.talk.received(came.bytes, now_);
    } else if ((events & (EPOLLHUP | EPOLLERR)) != 0) {
        return end(connection);
    }
    settle(connection);
}

// Sends what there is to send, and waits for what it needs.
void ServerShard::settle(Connection &connection) {
    Conversation &talk = connection.talk;
    if (connection.has_ended) {
        if (talk.has_ended() && !connection.hook.is_linked()) ended_.push_back(connection);
        return;
    }
    for (;;) {
        const Conversation::Pending pending = talk.pending();
        if (pending.empty()) break;
        const Moved gone = server::send(connection.descriptor, pending.parts);
        if (gone.is_over) return end(connection);
        if (gone.bytes == 0) break;
        talk.sent(gone.bytes, now_);
    }
    const bool has_pending = !talk.pending().empty();
    if (talk.is_over() && !has_pending) return end(connection);
    const std::uint32_t wanted = (talk.reads() ? reading : 0) | (has_pending ? writing : 0);
    if (wanted == connection.interests) return;
    control(epoll_, EPOLL_CTL_MOD, connection.descriptor.number(), wanted, &connection);
    connection.interests = wanted;
}

// Its block stays until all events that may name it are seen, and whatever it has at shards is given back.
void ServerShard::end(Connection &connection) {
    connection.has_ended = true;
    connection.descriptor = FileDescriptor();
    set_timer(connection.talk, never);
    connections_.erase(connections_.iterator_to(connection));
    connection.talk.hang_up(now_);
    settle(connection);
}

void ServerShard::free_ended() {
    while (!ended_.empty()) {
        Connection *connection = &ended_.front();
        ended_.pop_front();
        connection->~Connection();
        (void)flat_pool_free(memory_.connections, connection);
        listen(true);
    }
}

} // namespace flat::server
