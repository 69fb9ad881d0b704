#include "shard.hpp"

#include <cerrno>
#include <climits>
#include <new>
#include <system_error>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

namespace flat::server {
namespace {

constexpr int events_at_once = 64;
constexpr std::uint32_t reading = EPOLLIN | EPOLLRDHUP;
constexpr Nanoseconds millisecond = 1'000'000;

[[noreturn]] void fail(const char *what) { throw std::system_error(errno, std::generic_category(), what); }

Nanoseconds clock_now() {
    timespec time{};
    (void)clock_gettime(CLOCK_MONOTONIC, &time); // cannot fail for this clock
    return static_cast<Nanoseconds>(time.tv_sec) * second + static_cast<Nanoseconds>(time.tv_nsec);
}

void control(const Descriptor &epoll, int operation, int descriptor, std::uint32_t events, void *by) {
    epoll_event event{};
    event.events = events;
    event.data.ptr = by;
    if (epoll_ctl(epoll.number(), operation, descriptor, &event) != 0) fail("epoll_ctl");
}

} // namespace

Shard::Shard(const ShardMemory &memory, const ServerFacts &facts, Descriptor listening)
    : memory_(memory), broker_(memory.broker), shared_{broker_, memory.lists, facts}, listening_(std::move(listening)),
      epoll_(epoll_create1(EPOLL_CLOEXEC)), woken_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), started_(clock_now()) {
    if (epoll_.number() < 0) fail("epoll_create1");
    if (woken_.number() < 0) fail("eventfd");
    control(epoll_, EPOLL_CTL_ADD, listening_.number(), EPOLLIN, &listening_);
    control(epoll_, EPOLL_CTL_ADD, woken_.number(), EPOLLIN, &woken_);
}

Shard::~Shard() {
    while (!connections_.empty()) end(connections_.front());
    free_ended();
}

void Shard::wake() {
    const std::uint64_t one = 1;
    const int before = errno; // of what a signal interrupts
    if (write(woken_.number(), &one, sizeof one) < 0) errno = before; // it is full, so that the shard will wake
}

void Shard::stop() {
    stops_.store(true, std::memory_order_relaxed);
    wake();
}

void Shard::drain() {
    drains_.store(true, std::memory_order_relaxed);
    wake();
}

// Rounded up, so that what is due is due when it wakes.
int Shard::wait_ms() const {
    const Nanoseconds next = broker_.next_timer();
    if (next == never) return -1;
    const Nanoseconds wait = next > now_ ? (next - now_ + millisecond - 1) / millisecond : 0;
    return static_cast<int>(std::min<Nanoseconds>(wait, INT_MAX));
}

void Shard::run() {
    while (!stops_.load(std::memory_order_relaxed)) {
        std::array<epoll_event, events_at_once> events;
        const int count = epoll_wait(epoll_.number(), events.data(), events_at_once, wait_ms());
        if (count < 0 && errno != EINTR) fail("epoll_wait");
        now_ = clock_now() - started_;
        if (drains_.load(std::memory_order_relaxed)) broker_.drain();
        for (int i = 0; i < count; i++) {
            void *of = events[static_cast<std::size_t>(i)].data.ptr;
            if (of == &listening_) {
                accept_all();
            } else if (of == &woken_) {
                std::uint64_t times = 0;
                if (read(woken_.number(), &times, sizeof times) < 0 && errno != EAGAIN) fail("eventfd");
            } else {
                serve(*static_cast<Connection *>(of), events[static_cast<std::size_t>(i)].events);
            }
            serve_ended_waits();
        }
        broker_.run_timers(now_);
        serve_ended_waits();
        free_ended();
    }
}

void Shard::listen(bool on) {
    if (is_listening_ == on) return;
    control(epoll_, EPOLL_CTL_MOD, listening_.number(), on ? EPOLLIN : 0, &listening_);
    is_listening_ = on;
}

void Shard::accept_all() {
    while (accept_one()) continue;
}

// False: there is none, or none can be taken, and they wait until a connection has ended.
bool Shard::accept_one() {
    void *block = flat_pool_alloc(memory_.connections, sizeof(Connection));
    std::optional<Descriptor> came;
    try {
        if (block != nullptr) came = accept_from(listening_);
        if (block == nullptr) listen(false);
    } catch (const std::system_error &) {
        listen(connections_.empty() && is_listening_);
    }
    if (!came) {
        (void)flat_pool_free(memory_.connections, block);
        return false;
    }
    Connection *made = new (block) Connection(std::move(*came), shared_);
    connections_.push_back(*made);
    if (!made->talk.open(now_)) {
        made->has_ended = true;
        connections_.erase(connections_.iterator_to(*made));
        ended_.push_back(*made);
        return true;
    }
    made->interests = reading;
    control(epoll_, EPOLL_CTL_ADD, made->descriptor.number(), made->interests, made);
    return true;
}

void Shard::serve(Connection &connection, std::uint32_t events) {
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
void Shard::settle(Connection &connection) {
    Conversation &talk = connection.talk;
    for (;;) {
        const Conversation::Pending pending = talk.pending();
        if (pending.empty()) break;
        const Moved gone = send(connection.descriptor, pending.parts);
        if (gone.is_over) return end(connection);
        if (gone.bytes == 0) break;
        talk.sent(gone.bytes, now_);
    }
    const bool has_pending = !talk.pending().empty();
    if (talk.is_over() && !has_pending) return end(connection);
    const std::uint32_t wanted = (talk.reads() ? reading : 0) | (has_pending ? std::uint32_t{EPOLLOUT} : 0);
    if (wanted == connection.interests) return;
    control(epoll_, EPOLL_CTL_MOD, connection.descriptor.number(), wanted, &connection);
    connection.interests = wanted;
}

// Its block stays until all events that may name it are seen.
void Shard::end(Connection &connection) {
    connection.has_ended = true;
    connection.talk.close(now_);
    connection.descriptor = Descriptor();
    connections_.erase(connections_.iterator_to(connection));
    ended_.push_back(connection);
}

void Shard::free_ended() {
    while (!ended_.empty()) {
        Connection *connection = &ended_.front();
        ended_.pop_front();
        connection->~Connection();
        (void)flat_pool_free(memory_.connections, connection);
        listen(true);
    }
}

void Shard::serve_ended_waits() {
    while (Session *session = broker_.next_ended_wait()) {
        Conversation &talk = Conversation::of(*session);
        talk.wait_ended(now_);
        settle(*boost::intrusive::get_parent_from_member(&talk, &Connection::talk));
    }
}

} // namespace flat::server
