// One shard's broker, and what passes between it and the conversations of all shards. It calls nothing of the system.
#pragma once

#include "conversation.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace flat::server {

/// What one shard sends to another. It may be copied byte by byte.
struct Message {
    enum class Kind : std::uint8_t {
        // by a conversation, to a shard that is asked
        ask,
        find_waiting,
        find_only,
        cancel,
        give_back,
        // to the conversation's own shard
        answered,
        found,
        settled,
        // to the shard of a job; not answered
        end_reading,
        drop
    };

    Kind kind;
    Answer answer = Answer::done;
    std::uint16_t from = 0; // the shard that answers
    std::uint32_t priority = 0;
    Conversation *by = nullptr;
    Job *job = nullptr;
    std::uint64_t id = 0;
};

/// What a shard's exchange needs of whoever runs it.
class ShardHost {
  public:
    /// The exchange of another shard is to `take` the message, on that shard's thread, behind all that were sent from
    /// here to there before.
    virtual void send(std::size_t to, const Message &message) = 0;

    /// A conversation of this shard has gone on: it may have something to be sent, or may have ended.
    virtual void went_on(Conversation &conversation) = 0;

    /// `timed_out` of a conversation of this shard is to be called at this time; `never`: not.
    virtual void set_timer(Conversation &conversation, Nanoseconds at) = 0;

  protected:
    ~ShardHost() = default;
};

/// Where a shard takes its memory from; all of it outlives the shard, which takes no other.
struct ShardMemory {
    BrokerMemory broker;
    flat_pool *holdings; // blocks for sizeof(Holdings), of which each client of any shard needs one
    flat_pool *watches;  // blocks for sizeof(WatchedTube)
    flat_pool *lists;    // blocks for answers of list-tubes
};

class ShardExchange final : public Exchange {
  public:
    /// How many messages from one shard to another can be under way, if each has so many conversations: of its own a
    /// question and, before that, the end of a reading; to the other's an answer and what a wait has found.
    static constexpr std::size_t messages_for(std::size_t conversations) { return 4 * conversations; }

    ShardExchange(std::size_t number, ShardHost &host, const ShardMemory &memory, const ServerFacts &facts)
        : number_(number), host_(host), broker_(memory.broker), holdings_(memory.holdings),
          shared_{*this, memory.watches, memory.lists, facts} {}
    ShardExchange(const ShardExchange &) = delete;
    ShardExchange &operator=(const ShardExchange &) = delete;

    Broker &broker() { return broker_; }
    const Broker &broker() const { return broker_; }

    /// Of this shard's conversations.
    Shared &shared() { return shared_; }

    /// The time of what follows, which never goes back.
    void set_time(Nanoseconds now) { now_ = now; }
    Nanoseconds now() const { return now_; }

    void take(const Message &message);

    /// Does what is due.
    void run_timers();

    /// Is to be called once a conversation was told something, before anything else: of clients that waited here it
    /// tells those that have got a job by that.
    void tell_ended_waits();

    bool ask(Conversation &by, std::size_t shard) override;
    std::optional<Offer> find(Conversation &by, std::size_t shard, bool waits) override;
    bool cancel(Conversation &by, std::size_t shard) override;
    bool give_back(Conversation &by, std::size_t shard, Job *job) override;
    void end_reading(std::size_t shard, Job *job) override;
    void drop(std::size_t shard, Job *job) override;
    void set_timer(Conversation &by, Nanoseconds at) override { host_.set_timer(by, at); }

  private:
    void reply(Conversation &to, Message::Kind kind, const Offer &offer = {});
    void answer_here(Conversation &by);
    Offer find_here(Conversation &by, bool waits);
    void cancel_here(Conversation &by);
    void give_back_here(Conversation &by, Job &job);
    bool has_holdings(Conversation &by);
    Offer offer_of(Job &job);

    const std::size_t number_;
    ShardHost &host_;
    Broker broker_;
    flat_pool *const holdings_;
    Shared shared_;
    Nanoseconds now_ = 0;
};

} // namespace flat::server
