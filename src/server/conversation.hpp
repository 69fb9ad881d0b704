// One client's side of the protocol: bytes that came in, and bytes to be sent. It calls nothing of the system.
#pragma once

#include "broker.hpp"
#include "statistics_text.hpp"

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

namespace flat::server {

/// What all conversations of a shard share. It outlives them.
struct Shared {
    Broker &broker;
    flat_pool *lists; // blocks for the answers of list-tubes and its kin
    const ServerFacts &facts;
    CommandCounts commands{};
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

    explicit Conversation(Shared &shared) : shared_(shared) {}
    Conversation(const Conversation &) = delete;
    Conversation &operator=(const Conversation &) = delete;
    ~Conversation() = default; // after `close`

    /// False: there is no memory for it, and it is not open.
    bool open(Nanoseconds now) { return shared_.broker.open(session_, now); }

    /// Gives back whatever it has, once.
    void close(Nanoseconds now);

    /// Where the next bytes go. Never empty while `reads` holds.
    std::span<char> room();
    bool reads() const { return !is_over_ && !(input_begin_ == 0 && input_end_ == input_.size()); }
    void received(std::size_t bytes, Nanoseconds now);

    struct Pending {
        std::array<std::span<const char>, 2> parts; // to be sent in this order; either may be empty
        bool empty() const { return parts[0].empty() && parts[1].empty(); }
    };
    Pending pending() const;
    void sent(std::size_t bytes, Nanoseconds now);

    /// The broker says that the session's wait has ended.
    void wait_ended(Nanoseconds now);

    /// `quit` came: the connection is to be closed.
    bool is_over() const { return is_over_; }
    bool is_waiting() const { return phase_ == Phase::waiting; }

    Session &session() { return session_; }
    static Conversation &of(Session &session);

  private:
    enum class Phase : std::uint8_t {
        line,      // a command is to come
        long_line, // what is left of one that is too long
        body,      // of the job `job_`
        drained,   // a body that is not kept, of which `left_` bytes are to come, is answered by `answer_`
        waiting    // for a job
    };

    std::string_view input() const { return {input_.data() + input_begin_, input_end_ - input_begin_}; }
    void take(std::size_t bytes) { input_begin_ += bytes; }
    bool can_answer() const;
    void work(Nanoseconds now);
    bool take_line(Nanoseconds now);
    bool skip_line();
    bool take_body(Nanoseconds now);
    bool drain_body();
    void do_command(const Request &request, Nanoseconds now);
    void begin_put(const Request &request);
    void wait_or_say(Answer answer);
    void say(std::string_view text);
    template <class... Values> void format(const char *text, Values... values);
    template <class... Of> void say_statistics(const Of &...of);
    void say_job(const char *word, Job *job);
    template <class Names> void say_list(const Names &names);

    Shared &shared_;
    Session session_;
    Phase phase_ = Phase::line;
    bool is_over_ = false;
    Job *job_ = nullptr; // whose body is coming
    Broker::Put put_{};
    std::string_view answer_;
    std::uint64_t left_ = 0;
    std::uint32_t filled_ = 0; // bytes of the body that have come
    std::span<const char> tail_; // to be sent behind the output
    Job *tail_job_ = nullptr;    // whose body that is
    void *tail_list_ = nullptr;  // the block in which it is
    std::size_t input_begin_ = 0, input_end_ = 0, output_begin_ = 0, output_end_ = 0;
    std::array<char, input_bytes> input_;
    std::array<char, output_bytes> output_;
};

} // namespace flat::server
