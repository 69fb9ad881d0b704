#include "conversation.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include <fmt/format.h>

namespace flat::server {
namespace {

using Kind = Question::Kind;

constexpr std::string_view end_of_line = "\r\n", default_tube = "default";
// Room for the answer to any command, except for what is sent from a block of its own.
constexpr std::size_t head_bytes = 32, longest_answer = longest_statistics + head_bytes + 8;
constexpr std::string_view list_head = "---\n", list_item = "- ";

constexpr std::string_view text_of(Answer answer) {
    switch (answer) {
    case Answer::done:
    case Answer::waiting:
    case Answer::inserted:
    case Answer::reserved:
    case Answer::found: break; // more is said than a word
    case Answer::buried: return "BURIED\r\n";
    case Answer::out_of_memory: return "OUT_OF_MEMORY\r\n";
    case Answer::draining: return "DRAINING\r\n";
    case Answer::deadline_soon: return "DEADLINE_SOON\r\n";
    case Answer::timed_out: return "TIMED_OUT\r\n";
    case Answer::deleted: return "DELETED\r\n";
    case Answer::released: return "RELEASED\r\n";
    case Answer::touched: return "TOUCHED\r\n";
    case Answer::kicked: return "KICKED\r\n";
    case Answer::paused: return "PAUSED\r\n";
    case Answer::not_found: return "NOT_FOUND\r\n";
    }
    return "INTERNAL_ERROR\r\n";
}

} // namespace

Conversation::Conversation(Shared &shared, std::span<Part> parts) : shared_(shared), parts_(parts) {
    shared_.counts.clients++;
    shared_.counts.all_clients++;
}

Conversation::~Conversation() {
    shared_.counts.clients--;
    shared_.counts.producers -= is_producer_;
    shared_.counts.workers -= is_worker_;
}

void Conversation::open(Nanoseconds now) {
    now_ = now;
    begin_use(default_tube);
}

// Input and output.

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
    now_ = now;
    if (phase_ == Phase::body && input().empty()) {
        filled_ += static_cast<std::uint32_t>(bytes);
    } else {
        input_end_ += bytes;
    }
    work();
}

Conversation::Pending Conversation::pending() const {
    return {{std::span(output_).subspan(output_begin_, output_end_ - output_begin_), tail_}};
}

bool Conversation::waits_for_client() const {
    if (is_over_ || !pending().empty()) return !pending().empty();
    switch (phase_) {
    case Phase::line: return !input().empty();
    case Phase::long_line:
    case Phase::body:
    case Phase::drained: return true;
    case Phase::asking:
    case Phase::reserving:
    case Phase::ended: break;
    }
    return false;
}

void Conversation::sent(std::size_t bytes, Nanoseconds now) {
    now_ = now;
    const std::size_t of_output = std::min(bytes, output_end_ - output_begin_);
    output_begin_ += of_output;
    if (output_begin_ == output_end_) output_begin_ = output_end_ = 0;
    tail_ = tail_.subspan(bytes - of_output);
    if (pending().empty()) progress_++;
    if (tail_.empty()) {
        if (tail_job_ != nullptr) shared_.exchange.end_reading(tail_shard_, std::exchange(tail_job_, nullptr));
        if (list_ != nullptr && phase_ != Phase::asking)
            (void)flat_pool_free(shared_.lists, std::exchange(list_, nullptr));
    }
    work();
}

bool Conversation::can_answer() const { return tail_.empty() && output_.size() - output_end_ >= longest_answer; }

// Does what the input asks for, until it is used up or an answer has no room.
void Conversation::work() {
    for (bool goes_on = true; goes_on && !is_over_ && !has_hung_up_ && can_answer();) {
        switch (phase_) {
        case Phase::line: goes_on = take_line(); break;
        case Phase::long_line: goes_on = skip_line(); break;
        case Phase::body: goes_on = take_body(); break;
        case Phase::drained: goes_on = drain_body(); break;
        case Phase::asking:
        case Phase::reserving:
        case Phase::ended: goes_on = false; break;
        }
    }
}

bool Conversation::take_line() {
    const std::string_view start = input().substr(0, longest_line);
    const std::size_t size = start.find(end_of_line);
    if (size == start.npos) {
        if (start.size() < longest_line) return false;
        say("BAD_FORMAT\r\n");
        phase_ = Phase::long_line;
        return true;
    }
    const ClientCommand command = parse_command(start.substr(0, size), shared_.facts.largest_body);
    take(size + end_of_line.size()); // it stays where it is until the next input
    progress_++;
    do_command(command);
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

bool Conversation::take_body() {
    const std::span<char> body = job_->body();
    const std::size_t more = input().copy(body.data() + filled_, body.size() - filled_);
    take(more);
    filled_ += static_cast<std::uint32_t>(more);
    if (filled_ < body.size()) return false;
    progress_++;
    Job *job = std::exchange(job_, nullptr);
    const bool is_whole = std::string_view(body.data(), body.size()).ends_with(end_of_line);
    if (!is_whole || shared_.is_draining) {
        shared_.exchange.drop(shard_of(used_->slot), job);
        say(is_whole ? text_of(Answer::draining) : "EXPECTED_CRLF\r\n");
        phase_ = Phase::line;
        return true;
    }
    question_.job = job;
    ask_of_used(Kind::put);
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

// Questions.

void Conversation::begin(Kind kind) {
    question_.kind = kind;
    phase_ = Phase::asking;
}

void Conversation::ask(std::size_t shard) {
    asked_ = shard;
    if (shared_.exchange.ask(*this, shard)) complete();
}

void Conversation::ask_of_job(Kind kind, std::uint64_t id) {
    question_.number = id;
    begin(kind);
    ask(shard_of(id));
}

void Conversation::ask_of_used(Kind kind) {
    question_.tube = used_;
    begin(kind);
    ask(shard_of(used_->slot));
}

void Conversation::ask_of_name(Kind kind, std::string_view name) {
    question_.name = {name_.data(), name.copy(name_.data(), name_.size())};
    begin(kind);
    ask(shard_of(slot_of(name)));
}

// One shard after the other.
void Conversation::ask_of_all(Kind kind, std::span<char> text) {
    question_.counts = {};
    question_.clients = {};
    question_.text = text;
    begin(kind);
    ask(0);
}

void Conversation::begin_use(std::string_view name) { ask_of_name(Kind::use, name); }

void Conversation::begin_put(const ClientCommand &command) {
    left_ = std::uint64_t{command.size} + end_of_line.size();
    if (command.size > shared_.facts.largest_body) {
        answer_ = "JOB_TOO_BIG\r\n";
        phase_ = Phase::drained;
        return;
    }
    if (!is_producer_) shared_.counts.producers++;
    is_producer_ = true;
    question_.priority = command.priority;
    question_.delay = command.delay;
    question_.time_to_run = command.time_to_run;
    question_.size = command.size;
    ask_of_used(Kind::new_job);
}

WatchedTube *Conversation::watch_of(std::string_view name) {
    const auto found =
        std::ranges::find_if(watches_, [name](const WatchedTube &each) { return each.tube->name() == name; });
    return found == watches_.end() ? nullptr : &*found;
}

void Conversation::begin_watch(std::string_view name) {
    if (watch_of(name) != nullptr) return format("WATCHING {}\r\n", watches_.size());
    void *block = flat_pool_alloc(shared_.watches, sizeof(WatchedTube));
    if (block == nullptr) return say(text_of(Answer::out_of_memory));
    question_.watch = new (block) WatchedTube;
    ask_of_name(Kind::watch, name);
}

void Conversation::begin_ignore(std::string_view name) {
    WatchedTube *watch = watch_of(name);
    if (watch == nullptr) return format("WATCHING {}\r\n", watches_.size());
    if (watches_.size() == 1) return say("NOT_IGNORED\r\n");
    question_.watch = watch;
    begin(Kind::stop_watching);
    ask(shard_of(watch->tube->slot));
}

void Conversation::begin_list() {
    list_ = static_cast<char *>(flat_pool_alloc(shared_.lists, shared_.facts.longest_list));
    if (list_ == nullptr) return say(text_of(Answer::out_of_memory));
    const std::size_t head = list_head.copy(list_, list_head.size());
    ask_of_all(Kind::tubes, std::span(list_, shared_.facts.longest_list).subspan(head));
}

void Conversation::do_command(const ClientCommand &command) {
    shared_.counts.commands[static_cast<std::size_t>(command.verb)]++;
    verb_ = command.verb;
    question_.priority = command.priority;
    question_.delay = command.delay;
    const std::span<char> text = std::span(output_).subspan(output_end_ + head_bytes, longest_statistics);
    switch (command.verb) {
    case Verb::unknown: return say("UNKNOWN_COMMAND\r\n");
    case Verb::bad_format: return say("BAD_FORMAT\r\n");
    case Verb::put: return begin_put(command);
    case Verb::use: return begin_use(command.tube);
    case Verb::reserve: return begin_reserve(no_timeout);
    case Verb::reserve_with_timeout: return begin_reserve(command.timeout);
    case Verb::reserve_job: return ask_of_job(Kind::reserve_job, command.job);
    case Verb::delete_job: return ask_of_job(Kind::delete_job, command.job);
    case Verb::release: return ask_of_job(Kind::release, command.job);
    case Verb::bury: return ask_of_job(Kind::bury, command.job);
    case Verb::touch: return ask_of_job(Kind::touch, command.job);
    case Verb::watch: return begin_watch(command.tube);
    case Verb::ignore: return begin_ignore(command.tube);
    case Verb::peek: return ask_of_job(Kind::peek, command.job);
    case Verb::peek_ready: question_.peek = Peek::ready; return ask_of_used(Kind::peek_first);
    case Verb::peek_delayed: question_.peek = Peek::delayed; return ask_of_used(Kind::peek_first);
    case Verb::peek_buried: question_.peek = Peek::buried; return ask_of_used(Kind::peek_first);
    case Verb::kick: question_.number = command.count; return ask_of_used(Kind::kick);
    case Verb::kick_job: return ask_of_job(Kind::kick_job, command.job);
    case Verb::stats: return ask_of_all(Kind::statistics, text);
    case Verb::stats_job: question_.text = text; return ask_of_job(Kind::statistics_of_job, command.job);
    case Verb::stats_tube: question_.text = text; return ask_of_name(Kind::statistics_of_tube, command.tube);
    case Verb::list_tubes: return begin_list();
    case Verb::list_tube_used: return format("USING {}\r\n", used_->name());
    case Verb::list_tubes_watched:
        list_ = static_cast<char *>(flat_pool_alloc(shared_.lists, shared_.facts.longest_list));
        if (list_ == nullptr) return say(text_of(Answer::out_of_memory));
        return finish_list();
    case Verb::pause_tube: return ask_of_name(Kind::pause, command.tube);
    case Verb::quit: is_over_ = true; return;
    }
}

// Answers.

void Conversation::answered(Nanoseconds now) {
    now_ = now;
    complete();
    work();
}

void Conversation::complete() {
    if (asked_ + 1 < parts_.size() && (question_.kind == Kind::statistics || question_.kind == Kind::tubes)) {
        return ask(asked_ + 1);
    }
    phase_ = Phase::line;
    finish();
    if (has_hung_up_ && phase_ != Phase::asking && phase_ != Phase::ended) go_on_ending();
}

void Conversation::finish() {
    switch (question_.kind) {
    case Kind::use: return finish_use();
    case Kind::stop_using:
        if (has_hung_up_) return;
        if (verb_ == Verb::use) format("USING {}\r\n", used_->name());
        return;
    case Kind::watch: return finish_watch();
    case Kind::stop_watching: {
        WatchedTube *watch = question_.watch;
        watches_.erase(watches_.iterator_to(*watch));
        parts_[asked_].watches--;
        (void)flat_pool_free(shared_.watches, watch);
        return format("WATCHING {}\r\n", watches_.size());
    }
    case Kind::new_job: return finish_new_job();
    case Kind::put: return format("INSERTED {}\r\n", question_.id);
    case Kind::kick: return format("KICKED {}\r\n", question_.count);
    case Kind::reserve_job:
        if (question_.answer == Answer::reserved) {
            if (!is_worker_) shared_.counts.workers++;
            is_worker_ = true;
            parts_[asked_].may_have_reserved = true;
        }
        return say_found("RESERVED");
    case Kind::peek:
    case Kind::peek_first: return say_found("FOUND");
    case Kind::statistics:
        question_.text = question_.text.subspan(statistics_of(question_.counts, question_.clients, shared_.is_draining,
                                                              shared_.facts, now_, question_.text));
        question_.answer = Answer::found;
        return finish_text();
    case Kind::statistics_of_job:
    case Kind::statistics_of_tube: return finish_text();
    case Kind::tubes: return finish_list();
    case Kind::delete_job:
    case Kind::release:
    case Kind::bury:
    case Kind::touch:
    case Kind::kick_job:
    case Kind::pause: return say(text_of(question_.answer));
    case Kind::close: return;
    }
}

void Conversation::finish_use() {
    if (question_.answer == Answer::out_of_memory) {
        if (used_ == nullptr) is_over_ = true;
        return say(text_of(question_.answer));
    }
    Tube *before = std::exchange(used_, question_.tube);
    if (has_hung_up_ && before == nullptr) return;
    if (before == nullptr) return begin_watch(default_tube);
    question_.tube = before;
    begin(Kind::stop_using);
    ask(shard_of(before->slot));
}

void Conversation::finish_watch() {
    WatchedTube *watch = question_.watch;
    const bool is_first = watches_.empty();
    if (question_.answer == Answer::out_of_memory) {
        (void)flat_pool_free(shared_.watches, watch);
        is_over_ = is_first;
        return say(text_of(question_.answer));
    }
    watches_.push_back(*watch);
    parts_[asked_].watches++;
    if (!is_first) format("WATCHING {}\r\n", watches_.size());
}

void Conversation::finish_new_job() {
    if (question_.answer == Answer::out_of_memory) {
        say(text_of(question_.answer));
        answer_ = {};
        phase_ = Phase::drained;
        return;
    }
    job_ = question_.job;
    filled_ = 0;
    phase_ = Phase::body;
}

void Conversation::say_found(const char *word) {
    if (question_.answer == Answer::not_found || question_.answer == Answer::out_of_memory)
        return say(text_of(question_.answer));
    say_job(word, asked_, question_.id, question_.found_size, question_.job);
}

// The text stands where the answer's head leaves room for it.
void Conversation::finish_text() {
    if (question_.answer == Answer::not_found) return say(text_of(question_.answer));
    const char *text = output_.data() + output_end_ + head_bytes;
    const std::size_t size = static_cast<std::size_t>(question_.text.data() - text);
    format("OK {}\r\n", size);
    std::memmove(output_.data() + output_end_, text, size);
    output_end_ += size;
    say(end_of_line);
}

void Conversation::finish_list() {
    char *end = question_.text.data();
    if (verb_ == Verb::list_tubes_watched) {
        end = fmt::format_to(list_, "{}", list_head);
        for (const WatchedTube &each : watches_) end = fmt::format_to(end, "{}{}\n", list_item, each.tube->name());
    }
    format("OK {}\r\n", end - list_);
    end = fmt::format_to(end, "{}", end_of_line);
    tail_ = {list_, end};
}

// Reserving: every shard where it watches a tube is asked for its best job, which that shard then holds for it; and
// every one where it may have a job reserved, whether its time is nearly over. The best of what was offered is taken,
// and what others hold is given back before it is told: so whoever asks next finds it.

void Conversation::begin_reserve(std::uint32_t timeout) {
    if (!is_worker_) shared_.counts.workers++;
    is_worker_ = true;
    phase_ = Phase::reserving;
    end_ = Answer::waiting;
    for (std::size_t i = 0; i < parts_.size(); i++) {
        Part &part = parts_[i];
        if (part.watches == 0 && !part.may_have_reserved) continue;
        part.state = Part::State::asked;
        if (const std::optional<Offer> offer = shared_.exchange.find(*this, i, timeout != 0)) note(part, i, *offer);
    }
    if (timeout != 0 && timeout != no_timeout) shared_.exchange.set_timer(*this, now_ + timeout * second);
    decide();
}

void Conversation::note(Part &part, std::size_t shard, const Offer &offer) {
    if (end_ == Answer::waiting) {
        part.offer = offer;
        part.state = offer.answer == Answer::waiting ? Part::State::waiting : Part::State::answered;
        return;
    }
    // It comes too late.
    if (std::exchange(part.state, Part::State::idle) == Part::State::asked) part.unsettled--;
    const bool is_settled = offer.answer == Answer::reserved  ? shared_.exchange.give_back(*this, shard, offer.job)
                            : offer.answer == Answer::waiting ? shared_.exchange.cancel(*this, shard)
                                                              : true;
    if (!is_settled) part.unsettled++;
}

void Conversation::found(std::size_t shard, const Offer &offer, Nanoseconds now) {
    now_ = now;
    note(parts_[shard], shard, offer);
    decide();
    work();
}

void Conversation::settled(std::size_t shard, Nanoseconds now) {
    now_ = now;
    parts_[shard].unsettled--;
    decide();
    work();
}

void Conversation::timed_out(Nanoseconds now) {
    now_ = now;
    if (phase_ != Phase::reserving || end_ != Answer::waiting) return;
    stop_waits(Answer::timed_out);
    decide();
    work();
}

// Looks whether the reserve can end.
void Conversation::decide() {
    if (phase_ != Phase::reserving) return;
    if (end_ == Answer::waiting) {
        Answer end = has_hung_up_ ? Answer::timed_out : Answer::waiting;
        bool any_waits = false, all_answered = true; // as it looks where nothing is waited for any more
        for (std::size_t i = 0; i < parts_.size() && !has_hung_up_; i++) {
            const Part &part = parts_[i];
            any_waits = any_waits || part.state == Part::State::waiting;
            all_answered = all_answered && part.state != Part::State::asked;
            if (part.state != Part::State::answered) continue;
            const Offer &offer = part.offer, &best = parts_[winner_].offer;
            if (offer.answer == Answer::reserved) {
                const bool is_better = end != Answer::reserved || std::pair(offer.priority, offer.id / slots) <
                                                                      std::pair(best.priority, best.id / slots);
                if (is_better) winner_ = i;
                end = Answer::reserved;
            } else if (offer.answer == Answer::deadline_soon && end != Answer::reserved) {
                end = Answer::deadline_soon;
            }
        }
        if (!all_answered) return;
        if (end == Answer::waiting && any_waits) {
            if (!waits_) shared_.counts.waiting++;
            waits_ = true;
            return;
        }
        stop_waits(end == Answer::waiting ? Answer::timed_out : end);
    }
    if (std::ranges::all_of(parts_, [](const Part &part) { return part.unsettled == 0; })) say_end();
}

void Conversation::stop_waits(Answer end) {
    end_ = end;
    shared_.counts.waiting -= waits_;
    waits_ = false;
    shared_.exchange.set_timer(*this, never);
    for (std::size_t i = 0; i < parts_.size(); i++) {
        Part &part = parts_[i];
        const Part::State state = part.state;
        bool is_settled = state != Part::State::asked; // that answer is still to come
        if (is_settled) part.state = Part::State::idle;
        if (state == Part::State::waiting) {
            is_settled = shared_.exchange.cancel(*this, i);
        } else if (state == Part::State::answered && part.offer.answer == Answer::reserved &&
                   (end != Answer::reserved || i != winner_)) {
            is_settled = shared_.exchange.give_back(*this, i, part.offer.job);
        }
        if (!is_settled) part.unsettled++;
    }
}

void Conversation::say_end() {
    phase_ = Phase::line;
    const Offer &offer = parts_[winner_].offer;
    if (has_hung_up_) {
        if (end_ == Answer::reserved) shared_.exchange.end_reading(winner_, offer.job);
        return go_on_ending();
    }
    if (end_ != Answer::reserved) return say(text_of(end_));
    parts_[winner_].may_have_reserved = true;
    say_job("RESERVED", winner_, offer.id, offer.size, offer.job);
}

// Ending.

void Conversation::hang_up(Nanoseconds now) {
    now_ = now;
    has_hung_up_ = true;
    if (phase_ == Phase::reserving) {
        decide();
    } else if (phase_ != Phase::asking) {
        go_on_ending();
    }
}

// Gives back one thing after the other.
void Conversation::go_on_ending() {
    if (job_ != nullptr) shared_.exchange.drop(shard_of(used_->slot), std::exchange(job_, nullptr));
    if (tail_job_ != nullptr) shared_.exchange.end_reading(tail_shard_, std::exchange(tail_job_, nullptr));
    if (list_ != nullptr) (void)flat_pool_free(shared_.lists, std::exchange(list_, nullptr));
    tail_ = {};
    if (used_ != nullptr) {
        question_.tube = std::exchange(used_, nullptr);
        begin(Kind::stop_using);
        return ask(shard_of(question_.tube->slot));
    }
    for (std::size_t i = 0; i < parts_.size(); i++) {
        if (parts_[i].holdings == nullptr) continue;
        begin(Kind::close);
        return ask(i);
    }
    while (!watches_.empty()) {
        WatchedTube *watch = &watches_.front();
        watches_.pop_front();
        (void)flat_pool_free(shared_.watches, watch);
    }
    phase_ = Phase::ended;
}

void Conversation::say(std::string_view text) {
    output_end_ += text.copy(output_.data() + output_end_, output_.size() - output_end_);
}

template <class... Values> void Conversation::format(const char *text, Values... values) {
    const auto done =
        fmt::format_to_n(output_.data() + output_end_, output_.size() - output_end_, fmt::runtime(text), values...);
    output_end_ = static_cast<std::size_t>(done.out - output_.data());
}

void Conversation::say_job(const char *word, std::size_t shard, std::uint64_t id, std::uint32_t size, Job *job) {
    format("{} {} {}\r\n", word, id, size);
    tail_shard_ = shard;
    tail_job_ = job;
    tail_ = job->body();
}

} // namespace flat::server
