// The connections of one thread, and their broker.
#pragma once

#include "shard_exchange.hpp"
#include "socket.hpp"

#include <flatline/engine.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace flat::server {

/// At the start of a block; its parts follow.
struct Connection {
    boost::intrusive::list_member_hook<> hook;
    Timer wait{Timer::Kind::wait}; // of the client, for a job
    Timer turn{Timer::Kind::turn}; // of the server, for the client to go on
    std::uint64_t progress = 0;    // when that began
    FileDescriptor descriptor;
    Conversation talk;
    std::uint32_t interests = 0; // what epoll was last told
    bool has_ended = false;

    Connection(FileDescriptor &&of, Shared &shared, std::span<Conversation::Part> parts)
        : descriptor(std::move(of)), talk(shared, parts) {}

    static std::size_t bytes_for(std::size_t shards) {
        return sizeof(Connection) + shards * sizeof(Conversation::Part);
    }
    static Connection &of(Conversation &talk) {
        return *boost::intrusive::get_parent_from_member(&talk, &Connection::talk);
    }
};

using Connections =
    boost::intrusive::list<Connection,
                           boost::intrusive::member_hook<Connection, decltype(Connection::hook), &Connection::hook>>;

class ServerShard final : public ShardHost {
  public:
    /// `all` has every shard, this one at `number`, before `run` is called; `engine` a worker for each, which the
    /// caller runs, and `messages_for` its connections inline grants in each lane; `connections` blocks for
    /// Connection::bytes_for the number of shards. Throws std::system_error iff the system refuses it a descriptor,
    /// std::runtime_error iff there is no memory for the tube `default`. A client that takes longer than
    /// `client_timeout` to send one command or one body, or to take its answers, is disconnected; `never`: none is.
    ServerShard(std::size_t number, std::span<ServerShard *const> all, flat_engine *engine, const ShardMemory &memory,
                flat_pool *connections, const ServerFacts &facts, Nanoseconds client_timeout, FileDescriptor listening);
    ServerShard(const ServerShard &) = delete;
    ServerShard &operator=(const ServerShard &) = delete;
    ~ServerShard();

    /// Serves until `stop` is called. Throws std::system_error iff the system refuses what it needs for that.
    void run();

    /// Both may be called by any thread, and by a signal's handler. `drain`: from now on puts are answered DRAINING.
    void stop();
    void drain();

    void send(std::size_t to, const Message &message) override;
    void went_on(Conversation &talk) override { settle(Connection::of(talk)); }
    void set_timer(Conversation &talk, Nanoseconds at) override;

  private:
    static void deliver(flat_worker *here, void *payload, std::size_t size);

    void accept_all();
    bool accept_one();
    void refuse_until(Nanoseconds at);
    void serve(Connection &connection, std::uint32_t events);
    void settle(Connection &connection);
    void end(Connection &connection);
    void free_ended();
    void set(Timer &timer, Nanoseconds at);
    void run_timers();
    void listen(bool on);
    void wake();
    Nanoseconds next_timer() const;
    int wait_ms() const;

    const std::size_t number_;
    const std::span<ServerShard *const> all_;
    flat_engine *const engine_;
    flat_pool *const memory_; // of connections
    ShardExchange exchange_;
    flat_submitter *lanes_ = nullptr;
    FileDescriptor listening_, epoll_, woken_;
    Connections connections_, ended_;
    Timers timers_; // of connections
    const Nanoseconds client_timeout_;
    std::uint64_t timer_places_ = 0;
    const Nanoseconds started_;
    bool is_listening_ = true;          // false: no memory or descriptor is left for a connection
    Nanoseconds listens_again_ = never; // unless a connection ends before
    std::atomic<bool> sleeps_{false}, stops_{false}, drains_{false};
};

} // namespace flat::server
