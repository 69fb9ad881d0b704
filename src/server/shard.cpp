#include "shard.hpp"

#include <algorithm>
#include <array>
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
// After which a connection that the system refused is tried again.
constexpr Nanoseconds refused_for = 100 * millisecond;
constexpr std::uint32_t reading = EPOLLIN | EPOLLRDHUP, writing = EPOLLOUT;

[[noreturn]] void fail(const char *what) { throw std::system_error(errno, std::generic_category(), what); }

Nanoseconds clock_now() {
    timespec time{};
    (void)clock_gettime(CLOCK_MONOTONIC, &time); // cannot fail for this clock
    return static_cast<Nanoseconds>(time.tv_sec) * second + static_cast<Nanoseconds>(time.tv_nsec);
}

bool can_control(const FileDescriptor &epoll, int operation, int descriptor, std::uint32_t events, void *by) {
    epoll_event event{};
    event.events = events;
    event.data.ptr = by;
    return epoll_ctl(epoll.number(), operation, descriptor, &event) == 0;
}

void control(const FileDescriptor &epoll, int operation, int descriptor, std::uint32_t events, void *by) {
    if (!can_control(epoll, operation, descriptor, events, by)) fail("epoll_ctl");
}

// Whose thread this is. A message that has come finds it by that, since a payload has no room to name it.
thread_local ServerShard *of_this_thread = nullptr;

} // namespace

ServerShard::ServerShard(std::size_t number, std::span<ServerShard *const> all, flat_engine *engine,
                         const ShardMemory &memory, flat_pool *connections, const ServerFacts &facts,
                         Nanoseconds client_timeout, FileDescriptor listening)
    : number_(number), all_(all), engine_(engine), memory_(connections), exchange_(number, *this, memory, facts),
      listening_(std::move(listening)), epoll_(epoll_create1(EPOLL_CLOEXEC)),
      woken_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), client_timeout_(client_timeout), started_(clock_now()) {
    static_assert(sizeof(Message) <= FLAT_ENGINE_INLINE_BYTES);
    if (epoll_.number() < 0) fail("epoll_create1");
    if (woken_.number() < 0) fail("eventfd");
    control(epoll_, EPOLL_CTL_ADD, listening_.number(), EPOLLIN, &listening_);
    control(epoll_, EPOLL_CTL_ADD, woken_.number(), EPOLLIN, &woken_);
    const bool has_default = slot_of("default") % all.size() == number;
    if (has_default && !exchange_.broker().keep("default"))
        throw std::runtime_error("there is no block for the tube `default`");
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

// A lane has an inline grant for each message that can be under way: see `ShardExchange::messages_for`.
void ServerShard::send(std::size_t to, const Message &message) {
    flat_task task{};
    task.run = deliver;
    if (flat_engine_submit(lanes_, to, &task, &message, sizeof message) != FLAT_OK) std::abort();
    std::atomic_thread_fence(std::memory_order_seq_cst); // it sleeps only after a look for messages behind such a fence
    if (all_[to]->sleeps_.load(std::memory_order_relaxed)) all_[to]->wake();
}

void ServerShard::deliver(flat_worker *, void *payload, std::size_t) {
    Message message;
    std::memcpy(&message, payload, sizeof message);
    of_this_thread->exchange_.take(message);
}

void ServerShard::set_timer(Conversation &talk, Nanoseconds at) { set(Connection::of(talk).wait, at); }

void ServerShard::set(Timer &timer, Nanoseconds at) {
    if (timer.at == at) return;
    if (timer.at != never) timers_.erase(timer);
    timer.at = at;
    timer.place = timer_places_++;
    if (at != never) timers_.insert(timer);
}

// The loop.

Nanoseconds ServerShard::next_timer() const {
    const Nanoseconds of_connections = timers_.empty() ? never : timers_.begin()->at;
    return std::min({exchange_.broker().next_timer(), of_connections, listens_again_});
}

// Rounded up, so that what is due is due when it wakes.
int ServerShard::wait_ms() const {
    const Nanoseconds next = next_timer(), now = exchange_.now();
    if (next == never) return -1;
    const Nanoseconds wait = next > now ? (next - now + millisecond - 1) / millisecond : 0;
    return static_cast<int>(std::min<Nanoseconds>(wait, INT_MAX));
}

void ServerShard::run() {
    if (flat_engine_register(engine_, &lanes_) != FLAT_OK) throw std::runtime_error("the engine has no lane left");
    of_this_thread = this;
    while (!stops_.load(std::memory_order_relaxed)) {
        std::array<epoll_event, events_at_once> events;
        sleeps_.store(true, std::memory_order_relaxed);
        std::atomic_thread_fence(std::memory_order_seq_cst);
        const bool was_asked = flat_engine_step(engine_, number_);
        const int count = epoll_wait(epoll_.number(), events.data(), events_at_once, was_asked ? 0 : wait_ms());
        sleeps_.store(false, std::memory_order_relaxed);
        if (count < 0 && errno != EINTR) fail("epoll_wait");
        exchange_.set_time(clock_now() - started_);
        exchange_.shared().is_draining = drains_.load(std::memory_order_relaxed);
        while (flat_engine_step(engine_, number_)) continue;
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
            exchange_.tell_ended_waits();
        }
        exchange_.run_timers();
        run_timers();
        free_ended();
    }
    flat_engine_unregister(lanes_);
}

// Of connections.
void ServerShard::run_timers() {
    const Nanoseconds now = exchange_.now();
    while (!timers_.empty() && timers_.begin()->at <= now) {
        Timer &timer = *timers_.begin();
        set(timer, never);
        if (timer.kind == Timer::Kind::turn) {
            end(*boost::intrusive::get_parent_from_member(&timer, &Connection::turn));
        } else {
            Connection &connection = *boost::intrusive::get_parent_from_member(&timer, &Connection::wait);
            connection.talk.timed_out(now);
            settle(connection);
        }
        exchange_.tell_ended_waits();
    }
    if (listens_again_ <= now) listen(true);
}

// Connections.

void ServerShard::listen(bool on) {
    listens_again_ = never;
    if (is_listening_ == on) return;
    control(epoll_, EPOLL_CTL_MOD, listening_.number(), on ? std::uint32_t{EPOLLIN} : 0, &listening_);
    is_listening_ = on;
}

// Whoever connects waits so long, or until a connection has ended.
void ServerShard::refuse_until(Nanoseconds at) {
    listen(false);
    listens_again_ = at;
}

void ServerShard::accept_all() {
    while (accept_one()) continue;
}

// False: there is none, or none can be taken now.
bool ServerShard::accept_one() {
    void *block = flat_pool_alloc(memory_, Connection::bytes_for(all_.size()));
    if (block == nullptr) {
        refuse_until(never);
        return false;
    }
    Accepted came = accept_from(listening_);
    const bool is_refused =
        came.is_refused ||
        (came.connection && !can_control(epoll_, EPOLL_CTL_ADD, came.connection->number(), reading, block));
    if (is_refused) refuse_until(exchange_.now() + refused_for);
    if (is_refused || !came.connection) {
        (void)flat_pool_free(memory_, block);
        return false;
    }
    auto *parts = reinterpret_cast<Conversation::Part *>(static_cast<Connection *>(block) + 1);
    for (std::size_t i = 0; i < all_.size(); i++) new (parts + i) Conversation::Part;
    Connection *made = new (block) Connection(std::move(*came.connection), exchange_.shared(), {parts, all_.size()});
    connections_.push_back(*made);
    made->interests = reading;
    made->talk.open(exchange_.now());
    settle(*made);
    return true;
}

void ServerShard::serve(Connection &connection, std::uint32_t events) {
    if (connection.has_ended) return;
    if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0 && connection.talk.reads()) {
        const Moved came = receive(connection.descriptor, connection.talk.room());
        if (came.is_over) return end(connection);
        if (came.bytes != 0) connection.talk.received(came.bytes, exchange_.now());
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
        talk.sent(gone.bytes, exchange_.now());
    }
    if (!talk.waits_for_client() || client_timeout_ == never) {
        set(connection.turn, never);
    } else if (connection.turn.at == never || connection.progress != talk.progress()) {
        set(connection.turn, exchange_.now() + client_timeout_);
        connection.progress = talk.progress();
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
    set(connection.wait, never);
    set(connection.turn, never);
    connections_.erase(connections_.iterator_to(connection));
    connection.talk.hang_up(exchange_.now());
    settle(connection);
}

void ServerShard::free_ended() {
    while (!ended_.empty()) {
        Connection *connection = &ended_.front();
        ended_.pop_front();
        connection->~Connection();
        (void)flat_pool_free(memory_, connection);
        listen(true);
    }
}

} // namespace flat::server
