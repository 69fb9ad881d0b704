// The connections of one thread, and their broker.
#pragma once

#include "conversation.hpp"
#include "socket.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace flat::server {

struct Connection {
    boost::intrusive::list_member_hook<> hook;
    Descriptor descriptor;
    Conversation talk;
    std::uint32_t interests = 0; // what epoll was last told
    bool has_ended = false;

    Connection(Descriptor &&of, Shared &shared) : descriptor(std::move(of)), talk(shared) {}
};

using Connections =
    boost::intrusive::list<Connection, boost::intrusive::member_hook<Connection, decltype(Connection::hook), &Connection::hook>>;

/// Where a shard takes its memory from; all of it outlives the shard, which takes no other once it runs.
struct ShardMemory {
    BrokerMemory broker;
    flat_pool *connections; // blocks for sizeof(Connection)
    flat_pool *lists;       // blocks for answers of list-tubes
};

class Shard {
  public:
    /// Throws std::system_error iff the system refuses it a descriptor.
    Shard(const ShardMemory &memory, const ServerFacts &facts, Descriptor listening);
    Shard(const Shard &) = delete;
    Shard &operator=(const Shard &) = delete;
    ~Shard();

    /// Serves until `stop` is called. Throws std::system_error iff the system refuses what it needs for that.
    void run();

    /// Both may be called by any thread, and by a signal's handler. `drain`: from now on puts are answered DRAINING.
    void stop();
    void drain();

    std::uint16_t port() const { return port_of(listening_); }

  private:
    void accept_all();
    bool accept_one();
    void serve(Connection &connection, std::uint32_t events);
    void settle(Connection &connection);
    void end(Connection &connection);
    void free_ended();
    void serve_ended_waits();
    void listen(bool on);
    void wake();
    int wait_ms() const;

    ShardMemory memory_;
    Broker broker_;
    Shared shared_;
    Descriptor listening_, epoll_, woken_;
    Connections connections_, ended_;
    Nanoseconds started_, now_ = 0;
    bool is_listening_ = true; // false: no memory or descriptor is left for a connection
    std::atomic<bool> stops_{false}, drains_{false};
};

} // namespace flat::server
