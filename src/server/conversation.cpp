#include "conversation.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace flat::server {
namespace {

constexpr std::string_view end_of_line = "\r\n";
// Room for the answer to any command, except for what is sent from a block of its own.
constexpr std::size_t longest_answer = longest_statistics + 64;
constexpr std::string_view list_head = "---\n", list_item = "- ";

constexpr std::string_view text_of(Answer answer) {
    switch (answer) {
    case Answer::inserted: return "INSERTED";
    case Answer::buried: return "BURIED\r\n";
    case Answer::out_of_memory: return "OUT_OF_MEMORY\r\n";
    case Answer::draining: return "DRAINING\r\n";
    case Answer::using_tube: return "USING";
    case Answer::watching: return "WATCHING";
    case Answer::not_ignored: return "NOT_IGNORED\r\n";
    case Answer::reserved: return "RESERVED";
    case Answer::waiting: return "";
    case Answer::deadline_soon: return "DEADLINE_SOON\r\n";
    case Answer::timed_out: return "TIMED_OUT\r\n";
    case Answer::deleted: return "DELETED\r\n";
    case Answer::released: return "RELEASED\r\n";
    case Answer::touched: return "TOUCHED\r\n";
    case Answer::kicked: return "KICKED";
    case Answer::found: return "FOUND";
    case Answer::paused: return "PAUSED\r\n";
    case Answer::not_found: return "NOT_FOUND\r\n";
    }
    return "INTERNAL_ERROR\r\n";
}

constexpr Answer answer_of(WaitEnd end) {
    return end == WaitEnd::reserved ? Answer::reserved
                                    : end == WaitEnd::deadline_soon ? Answer::deadline_soon : Answer::timed_out;
}

} // namespace

Conversation &Conversation::of(Session &session) {
    return *boost::intrusive::get_parent_from_member(&session, &Conversation::session_);
}

void Conversation::close(Nanoseconds now) {
    shared_.broker.close(session_, now);
    if (job_ != nullptr) shared_.broker.drop(job_);
    if (tail_job_ != nullptr) shared_.broker.end_reading(*tail_job_);
    if (tail_list_ != nullptr) (void)flat_pool_free(shared_.lists, tail_list_);
    job_ = tail_job_ = nullptr;
    tail_list_ = nullptr;
}

std::span<char> Conversation::room() {
    if (phase_ == Phase::body && input().empty()) return job_->body().subspan(filled_);
    if (input().empty()) input_begin_ = input_end_ = 0;
    if (input_begin_ != 0 && input_end_ == input_.size()) {
        std::memmove(input_.data(), input_.data() + input_begin_, input().size());
        input_end_ -= input_begin_;
        input_begin_ = 0;
    }
    return std::span(input_).subspan(input_end_);
}

void Conversation::received(std::size_t bytes, Nanoseconds now) {
    if (phase_ == Phase::body && input().empty()) {
        filled_ += static_cast<std::uint32_t>(bytes);
    } else {
        input_end_ += bytes;
    }
    work(now);
}

Conversation::Pending Conversation::pending() const {
    return {{std::span(output_).subspan(output_begin_, output_end_ - output_begin_), tail_}};
}

void Conversation::sent(std::size_t bytes, Nanoseconds now) {
    const std::size_t of_output = std::min(bytes, output_end_ - output_begin_);
    output_begin_ += of_output;
    if (output_begin_ == output_end_) output_begin_ = output_end_ = 0;
    tail_ = tail_.subspan(bytes - of_output);
    if (!tail_.empty() || bytes == of_output) {
        if (can_answer()) work(now);
        return;
    }
    if (tail_job_ != nullptr) shared_.broker.end_reading(*tail_job_);
    if (tail_list_ != nullptr) (void)flat_pool_free(shared_.lists, tail_list_);
    tail_job_ = nullptr;
    tail_list_ = nullptr;
    work(now);
}

void Conversation::wait_ended(Nanoseconds now) {
    phase_ = Phase::line;
    wait_or_say(answer_of(session_.wait_end));
    work(now);
}

bool Conversation::can_answer() const { return tail_.empty() && output_.size() - output_end_ >= longest_answer; }

// Does what the input asks for, until it is used up or an answer has no room.
void Conversation::work(Nanoseconds now) {
    for (bool goes_on = true; goes_on && !is_over_ && can_answer();) {
        switch (phase_) {
        case Phase::line: goes_on = take_line(now); break;
        case Phase::long_line: goes_on = skip_line(); break;
        case Phase::body: goes_on = take_body(now); break;
        case Phase::drained: goes_on = drain_body(); break;
        case Phase::waiting: goes_on = false; break;
        }
    }
}

bool Conversation::take_line(Nanoseconds now) {
    const std::string_view start = input().substr(0, longest_line);
    const std::size_t size = start.find(end_of_line);
    if (size == start.npos) {
        if (start.size() < longest_line) return false;
        say("BAD_FORMAT\r\n");
        phase_ = Phase::long_line;
        return true;
    }
    const Request request = parse_request(start.substr(0, size), shared_.facts.largest_body);
    do_command(request, now); // the line stays where it is until the next input
    take(size + end_of_line.size());
    return true;
}

bool Conversation::skip_line() {
    const std::size_t size = input().find(end_of_line);
    if (size == std::string_view::npos) {
        const bool may_end = input().ends_with('\r');
        take(input().size() - (may_end ? 1 : 0));
        return false;
    }
    take(size + end_of_line.size());
    phase_ = Phase::line;
    return true;
}

bool Conversation::take_body(Nanoseconds now) {
    const std::span<char> body = job_->body();
    const std::size_t more = input().copy(body.data() + filled_, body.size() - filled_);
    take(more);
    filled_ += static_cast<std::uint32_t>(more);
    if (filled_ < body.size()) return false;
    Job *job = std::exchange(job_, nullptr);
    phase_ = Phase::line;
    if (!std::string_view(body.data(), body.size()).ends_with(end_of_line)) {
        shared_.broker.drop(job);
        say("EXPECTED_CRLF\r\n");
        return true;
    }
    const Answer answer = shared_.broker.put(session_, job, put_, now);
    if (answer == Answer::inserted) {
        format("INSERTED {}\r\n", session_.last_put);
    } else {
        say(text_of(answer));
    }
    return true;
}

bool Conversation::drain_body() {
    const std::size_t more = static_cast<std::size_t>(std::min<std::uint64_t>(left_, input().size()));
    take(more);
    left_ -= more;
    if (left_ != 0) return false;
    phase_ = Phase::line;
    say(answer_);
    return true;
}

void Conversation::begin_put(const Request &request) {
    left_ = std::uint64_t{request.size} + end_of_line.size();
    answer_ = {};
    if (request.size > shared_.facts.largest_body) {
        answer_ = "JOB_TOO_BIG\r\n";
        phase_ = Phase::drained;
        return;
    }
    job_ = shared_.broker.new_job(session_, request.size);
    if (job_ == nullptr) {
        say(text_of(Answer::out_of_memory));
        phase_ = Phase::drained;
        return;
    }
    put_ = {request.priority, request.delay, request.time_to_run};
    filled_ = 0;
    phase_ = Phase::body;
}

void Conversation::do_command(const Request &request, Nanoseconds now) {
    Broker &broker = shared_.broker;
    shared_.commands[static_cast<std::size_t>(request.verb)]++;
    switch (request.verb) {
    case Verb::unknown: return say("UNKNOWN_COMMAND\r\n");
    case Verb::bad_format: return say("BAD_FORMAT\r\n");
    case Verb::put: return begin_put(request);
    case Verb::use:
        if (broker.use(session_, request.tube, now) != Answer::using_tube) return say(text_of(Answer::out_of_memory));
        return format("USING {}\r\n", session_.used->name());
    case Verb::reserve: return wait_or_say(broker.reserve(session_, no_timeout, now));
    case Verb::reserve_with_timeout: return wait_or_say(broker.reserve(session_, request.timeout, now));
    case Verb::reserve_job: return wait_or_say(broker.reserve_job(session_, request.job, now));
    case Verb::delete_job: return say(text_of(broker.delete_job(session_, request.job, now)));
    case Verb::release:
        return say(text_of(broker.release(session_, request.job, request.priority, request.delay, now)));
    case Verb::bury: return say(text_of(broker.bury(session_, request.job, request.priority, now)));
    case Verb::touch: return say(text_of(broker.touch(session_, request.job, now)));
    case Verb::watch:
    case Verb::ignore: {
        const Answer answer = request.verb == Verb::watch ? broker.watch(session_, request.tube, now)
                                                          : broker.ignore(session_, request.tube, now);
        if (answer != Answer::watching) return say(text_of(answer));
        return format("WATCHING {}\r\n", session_.watches.size());
    }
    case Verb::peek: return say_job("FOUND", broker.find(request.job));
    case Verb::peek_ready: return say_job("FOUND", broker.first(session_, Peek::ready));
    case Verb::peek_delayed: return say_job("FOUND", broker.first(session_, Peek::delayed));
    case Verb::peek_buried: return say_job("FOUND", broker.first(session_, Peek::buried));
    case Verb::kick: return format("KICKED {}\r\n", broker.kick(session_, request.count, now));
    case Verb::kick_job: {
        const Answer answer = broker.kick_job(request.job, now);
        return say(answer == Answer::kicked ? "KICKED\r\n" : text_of(answer));
    }
    case Verb::stats: return say_statistics(broker, shared_.commands, shared_.facts, now);
    case Verb::stats_job: {
        const Job *job = broker.find(request.job);
        if (job == nullptr) return say(text_of(Answer::not_found));
        return say_statistics(*job, now);
    }
    case Verb::stats_tube: {
        const Tube *tube = broker.find_tube(request.tube);
        if (tube == nullptr) return say(text_of(Answer::not_found));
        return say_statistics(*tube, now);
    }
    case Verb::list_tubes: return say_list(broker.tubes());
    case Verb::list_tube_used: return format("USING {}\r\n", session_.used->name());
    case Verb::list_tubes_watched: return say_list(session_.watches);
    case Verb::pause_tube: return say(text_of(broker.pause(request.tube, request.delay, now)));
    case Verb::quit: is_over_ = true; return;
    }
}

void Conversation::wait_or_say(Answer answer) {
    if (answer == Answer::waiting) {
        phase_ = Phase::waiting;
    } else if (answer == Answer::reserved) {
        say_job("RESERVED", session_.given);
    } else {
        say(text_of(answer));
    }
}

void Conversation::say(std::string_view text) {
    output_end_ += text.copy(output_.data() + output_end_, output_.size() - output_end_);
}

template <class... Values> void Conversation::format(const char *text, Values... values) {
    const auto done = fmt::format_to_n(output_.data() + output_end_, output_.size() - output_end_, fmt::runtime(text), values...);
    output_end_ = static_cast<std::size_t>(done.out - output_.data());
}

template <class... Of> void Conversation::say_statistics(const Of &...of) {
    std::array<char, longest_statistics> text;
    const std::size_t size = statistics_of(of..., text);
    format("OK {}\r\n", size);
    say({text.data(), size});
    say(end_of_line);
}

void Conversation::say_job(const char *word, Job *job) {
    if (job == nullptr) return say(text_of(Answer::not_found));
    format("{} {} {}\r\n", word, job->id, job->size);
    shared_.broker.begin_reading(*job);
    tail_job_ = job;
    tail_ = job->body();
}

template <class Names> void Conversation::say_list(const Names &names) {
    const auto name_of = [](const auto &each) {
        if constexpr (std::is_same_v<std::decay_t<decltype(each)>, Watch>) {
            return each.tube->name();
        } else {
            return each.name();
        }
    };
    std::size_t size = list_head.size();
    for (const auto &each : names) size += list_item.size() + name_of(each).size() + 1;
    char *list = static_cast<char *>(flat_pool_alloc(shared_.lists, size + end_of_line.size()));
    if (list == nullptr) return say(text_of(Answer::out_of_memory));
    char *end = fmt::format_to(list, "{}", list_head);
    for (const auto &each : names) end = fmt::format_to(end, "{}{}\n", list_item, name_of(each));
    end = fmt::format_to(end, "{}", end_of_line);
    format("OK {}\r\n", size);
    tail_list_ = list;
    tail_ = {list, end};
}

} // namespace flat::server
