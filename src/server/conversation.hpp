// One client's side of the protocol: bytes that came in, bytes to be sent, and what is asked of shards in between. It
// calls nothing of the system.
#pragma once

#include "question.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace flat::server {

class Conversation;

/// What a shard has found for a client that reserves. Of a job it has the client's own reservation, and a reader.
struct Offer {
    Answer answer = Answer::timed_out; // reserved, waiting, deadline_soon or timed_out
    std::uint32_t priority = 0, size = 0;
    std::uint64_t id = 0;
    Job *job = nullptr;
};

/// Passes what a conversation asks to the shards. Its own shard answers at once; of another the answer comes as a call
/// of the conversation's, later, on the conversation's own thread.
class Exchange {
  public:
    /// `by.question()`. False: `answered` will be called.
    virtual bool ask(Conversation &by, std::size_t shard) = 0;

    /// The best job of the tubes that it watches there. nullopt: `found` will be called. Where the answer is `waiting`,
    /// `found` will be called once more, unless `cancel` comes first.
    virtual std::optional<Offer> find(Conversation &by, std::size_t shard, bool waits) = 0;

    /// Ends the wait at a shard, if it has not ended. False: `settled` will be called, behind what the wait has found.
    virtual bool cancel(Conversation &by, std::size_t shard) = 0;

    /// Of a job that was found. False: `settled` will be called.
    virtual bool give_back(Conversation &by, std::size_t shard, Job *job) = 0;

    /// Not answered.
    virtual void end_reading(std::size_t shard, Job *job) = 0;
    virtual void drop(std::size_t shard, Job *job) = 0;

    /// Tells the time at which `timed_out` is to be called; `never`: not.
    virtual void set_timer(Conversation &by, Nanoseconds at) = 0;

  protected:
    ~Exchange() = default;
};

/// What all conversations of a shard share. It outlives them.
struct Shared {
    Exchange &exchange;
    flat_pool *watches; // blocks for sizeof(WatchedTube)
    flat_pool *lists;   // blocks for the answers of list-tubes and its kin
    const ServerFacts &facts;
    ClientCounts counts{};
    bool is_draining = false;
};

/// The caller asks for `room`, reads into it and says how much by `received`; and sends what `pending` shows, as far as
/// it can, and says how much by `sent`. It does so for as long as there is something pending, and reads only while
/// `reads` says so.
///
/// A job's body is read into the block in which it stays, except for what came along with its command, which is at most
/// `input_bytes`; and is sent from there.
class Conversation {
  public:
    static constexpr std::size_t input_bytes = 4096, output_bytes = 4096;

    /// What it has at one shard. The holdings are made and used by that shard.
    struct Part {
        Holdings *holdings = nullptr;
        std::uint32_t watches = 0;
        std::uint32_t unsettled = 0;    // waits that were cancelled and jobs that were given back
        bool may_have_reserved = false; // jobs, so that a reserve asks it whether a deadline is near
        enum class State : std::uint8_t { idle, asked, waiting, answered } state = State::idle;
        Offer offer; // of `answered`
    };

    /// `parts` has one for each shard.
    Conversation(Shared &shared, std::span<Part> parts);
    Conversation(const Conversation &) = delete;
    Conversation &operator=(const Conversation &) = delete;
    ~Conversation();

    /// Begins by using and watching `default`.
    void open(Nanoseconds now);

    std::span<char> room();
    bool reads() const { return !is_over_ && !(input_begin_ == 0 && input_end_ == input_.size()); }
    void received(std::size_t bytes, Nanoseconds now);

    struct Pending {
        std::array<std::span<const char>, 2> parts; // to be sent in this order; either may be empty
        bool empty() const { return parts[0].empty() && parts[1].empty(); }
    };
    Pending pending() const;
    void sent(std::size_t bytes, Nanoseconds now);

    /// By the exchange.
    Exchange &exchange() const { return shared_.exchange; }
    Question &question() { return question_; }
    Part &part(std::size_t shard) { return parts_[shard]; }
    std::size_t parts() const { return parts_.size(); }
    void answered(Nanoseconds now);
    void found(std::size_t shard, const Offer &offer, Nanoseconds now);
    void settled(std::size_t shard, Nanoseconds now);
    void timed_out(Nanoseconds now);

    /// Whether it is the client's turn to go on: the rest of a command or of a body is to come, or an answer to be
    /// taken.
    bool waits_for_client() const;
    /// Of commands that came, bodies that came as a whole, and answers that were taken.
    std::uint64_t progress() const { return progress_; }

    /// `quit` came, or nothing could be had for it: the connection is to be closed.
    bool is_over() const { return is_over_; }

    /// The connection is closed. From then on there is nothing to be read or sent; once `has_ended` holds it may be
    /// destroyed.
    void hang_up(Nanoseconds now);
    bool has_ended() const { return phase_ == Phase::ended; }

  private:
    enum class Phase : std::uint8_t {
        line,      // a command is to come
        long_line, // what is left of one that is too long
        body,      // of the job `job_`
        drained,   // a body that is not kept, of which `left_` bytes are to come, is answered by `answer_`
        asking,    // a shard
        reserving,
        ended
    };

    std::string_view input() const { return {input_.data() + input_begin_, input_end_ - input_begin_}; }
    void take(std::size_t bytes) { input_begin_ += bytes; }
    bool can_answer() const;
    void work();
    bool take_line();
    bool skip_line();
    bool take_body();
    bool drain_body();
    std::size_t shard_of(std::uint64_t slot) const { return slot % slots % parts_.size(); }

    void do_command(const ClientCommand &command);
    void begin(Question::Kind kind);
    void ask(std::size_t shard);
    void ask_of_job(Question::Kind kind, std::uint64_t id);
    void ask_of_used(Question::Kind kind);
    void ask_of_name(Question::Kind kind, std::string_view name);
    void ask_of_all(Question::Kind kind, std::span<char> text);
    void begin_put(const ClientCommand &command);
    void begin_watch(std::string_view name);
    void begin_ignore(std::string_view name);
    void begin_list();
    void begin_use(std::string_view name);

    void complete();
    void finish();
    void finish_use();
    void finish_watch();
    void finish_new_job();
    void finish_text();
    void finish_list();
    void say_found(const char *word);
    void go_on_ending();

    void begin_reserve(std::uint32_t timeout);
    void note(Part &part, std::size_t shard, const Offer &offer);
    void decide();
    void end_reserve(Answer answer);
    void stop_waits(Answer answer);
    void say_end();

    void say(std::string_view text);
    template <class... Values> void format(const char *text, Values... values);
    void say_job(const char *word, std::size_t shard, std::uint64_t id, std::uint32_t size, Job *job);
    WatchedTube *watch_of(std::string_view name);

    Shared &shared_;
    std::span<Part> parts_;
    Phase phase_ = Phase::asking;
    Verb verb_ = Verb::unknown; // of the command that is under way; `unknown`: it is opened
    bool is_over_ = false, has_hung_up_ = false, is_producer_ = false, is_worker_ = false;

    Nanoseconds now_ = 0; // of the last call
    std::uint64_t progress_ = 0;
    Question question_{};
    std::size_t asked_ = 0; // the shard
    Tube *used_ = nullptr;
    Watches<&WatchedTube::client_hook> watches_;

    Job *job_ = nullptr;       // whose body is coming
    std::uint32_t filled_ = 0; // bytes of the body that have come
    std::uint64_t left_ = 0;
    std::string_view answer_;

    bool waits_ = false;           // for a job
    Answer end_ = Answer::waiting; // of the reserve; waiting: there is none yet
    std::size_t winner_ = 0;       // the shard whose offer is taken

    std::span<const char> tail_; // to be sent behind the output
    Job *tail_job_ = nullptr;    // whose body that is, of the shard `tail_shard_`
    std::size_t tail_shard_ = 0;
    char *list_ = nullptr; // the block of a list that is made or sent

    std::size_t input_begin_ = 0, input_end_ = 0, output_begin_ = 0, output_end_ = 0;
    std::array<char, longest_tube_name> name_; // of the tube that a question is about
    std::array<char, input_bytes> input_;
    std::array<char, output_bytes> output_;
};

} // namespace flat::server
