// The connections of one thread, and their broker.
#pragma once

#include "conversation.hpp"
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
    Timer timer{Timer::Kind::holdings}; // of a wait
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

/// Where a shard takes its memory from; all of it outlives the shard, which takes no other once it runs.
struct ShardMemory {
    BrokerMemory broker;
    flat_pool *connections; // blocks for Connection::bytes_for(shards)
    flat_pool *holdings;    // blocks for sizeof(Holdings)
    flat_pool *watches;     // blocks for sizeof(WatchedTube)
    flat_pool *lists;       // blocks for answers of list-tubes
};

class ServerShard final : public Exchange {
  public:
    /// How many messages from one shard to another can be under way, if each has so many connections: of its own
    /// clients a question and, before that, the end of a reading; to the other's clients an answer and what a wait has
    /// found.
    static constexpr std::size_t messages_for(std::size_t connections) { return 4 * connections; }

    /// `all` has every shard, this one at `number`, before `run` is called; `engine` a worker for each, which the
    /// caller runs, and `messages_for` its connections inline grants in each lane. Throws std::system_error iff the
    /// system refuses it a descriptor, std::runtime_error iff there is no memory for the tube `default`.
    ServerShard(std::size_t number, std::span<ServerShard *const> all, flat_engine *engine, const ShardMemory &memory,
                const ServerFacts &facts, FileDescriptor listening);
    ServerShard(const ServerShard &) = delete;
    ServerShard &operator=(const ServerShard &) = delete;
    ~ServerShard();

    /// Serves until `stop` is called. Throws std::system_error iff the system refuses what it needs for that.
    void run();

    /// Both may be called by any thread, and by a signal's handler. `drain`: from now on puts are answered DRAINING.
    void stop();
    void drain();

    bool ask(Conversation &by, std::size_t shard) override;
    std::optional<Offer> find(Conversation &by, std::size_t shard, bool waits) override;
    bool cancel(Conversation &by, std::size_t shard) override;
    bool give_back(Conversation &by, std::size_t shard, Job *job) override;
    void end_reading(std::size_t shard, Job *job) override;
    void drop(std::size_t shard, Job *job) override;
    void set_timer(Conversation &by, Nanoseconds at) override;

  private:
    struct Message;
    void send(std::size_t to, const Message &message);
    static void deliver(flat_worker *here, void *payload, std::size_t size);
    void take(const Message &message);

    // Of conversations at any shard, with this one.
    void answer(Conversation &by);
    Offer find_here(Conversation &by, bool waits);
    void cancel_here(Conversation &by);
    Holdings *holdings_of(Conversation &by);
    void tell_ended_waits();
    Offer offer_of(Job &job);

    void accept_all();
    bool accept_one();
    void serve(Connection &connection, std::uint32_t events);
    void settle(Connection &connection);
    void end(Connection &connection);
    void free_ended();
    void run_connection_timers();
    void listen(bool on);
    void wake();
    void step_engine();
    int wait_ms() const;

    const std::size_t number_;
    const std::span<ServerShard *const> all_;
    flat_engine *const engine_;
    flat_submitter *lanes_ = nullptr;
    ShardMemory memory_;
    Broker broker_;
    Shared shared_;
    FileDescriptor listening_, epoll_, woken_;
    Connections connections_, ended_;
    Timers timers_;
    std::uint64_t timer_places_ = 0;
    const Nanoseconds started_;
    Nanoseconds now_ = 0;
    bool is_listening_ = true; // false: no memory or descriptor is left for a connection
    std::atomic<bool> sleeps_{false}, stops_{false}, drains_{false};
};

} // namespace flat::server
