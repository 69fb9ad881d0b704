#include "shard_exchange.hpp"

#include <new>
#include <utility>

namespace flat::server {

using Kind = Message::Kind;

// To the conversation's own shard.
void ShardExchange::reply(Conversation &to, Kind kind, const Offer &offer) {
    host_.send(static_cast<ShardExchange &>(to.exchange()).number_, {.kind = kind,
                                                                     .answer = offer.answer,
                                                                     .from = static_cast<std::uint16_t>(number_),
                                                                     .priority = offer.priority,
                                                                     .by = &to,
                                                                     .job = offer.job,
                                                                     .id = offer.id});
}

void ShardExchange::take(const Message &message) {
    switch (message.kind) {
    case Kind::ask:
        answer_here(*message.by);
        reply(*message.by, Kind::answered);
        break;
    case Kind::find_waiting:
    case Kind::find_only:
        reply(*message.by, Kind::found, find_here(*message.by, message.kind == Kind::find_waiting));
        break;
    case Kind::cancel:
        cancel_here(*message.by);
        reply(*message.by, Kind::settled);
        break;
    case Kind::give_back:
        give_back_here(*message.by, *message.job);
        reply(*message.by, Kind::settled);
        break;
    case Kind::answered:
        message.by->answered(now_);
        host_.went_on(*message.by);
        break;
    case Kind::found: {
        Offer offer{message.answer, message.priority, 0, message.id, message.job};
        if (offer.job != nullptr) offer.size = offer.job->size;
        message.by->found(message.from, offer, now_);
        host_.went_on(*message.by);
        break;
    }
    case Kind::settled:
        message.by->settled(message.from, now_);
        host_.went_on(*message.by);
        break;
    case Kind::end_reading: broker_.end_reading(*message.job); break;
    case Kind::drop: broker_.drop(message.job); break;
    }
    tell_ended_waits();
}

void ShardExchange::run_timers() {
    broker_.run_timers(now_);
    tell_ended_waits();
}

bool ShardExchange::ask(Conversation &by, std::size_t shard) {
    if (shard == number_) {
        answer_here(by);
        return true;
    }
    host_.send(shard, {.kind = Kind::ask, .by = &by});
    return false;
}

std::optional<Offer> ShardExchange::find(Conversation &by, std::size_t shard, bool waits) {
    if (shard == number_) return find_here(by, waits);
    host_.send(shard, {.kind = waits ? Kind::find_waiting : Kind::find_only, .by = &by});
    return std::nullopt;
}

bool ShardExchange::cancel(Conversation &by, std::size_t shard) {
    if (shard == number_) {
        cancel_here(by);
        return true;
    }
    host_.send(shard, {.kind = Kind::cancel, .by = &by});
    return false;
}

bool ShardExchange::give_back(Conversation &by, std::size_t shard, Job *job) {
    if (shard == number_) {
        give_back_here(by, *job);
        return true;
    }
    host_.send(shard, {.kind = Kind::give_back, .by = &by, .job = job});
    return false;
}

void ShardExchange::end_reading(std::size_t shard, Job *job) {
    if (shard == number_) return broker_.end_reading(*job);
    host_.send(shard, {.kind = Kind::end_reading, .job = job});
}

void ShardExchange::drop(std::size_t shard, Job *job) {
    if (shard == number_) return broker_.drop(job);
    host_.send(shard, {.kind = Kind::drop, .job = job});
}

// What this shard does for a conversation at any.

// They are made where there are none. False: there is no memory for them.
bool ShardExchange::has_holdings(Conversation &by) {
    Holdings *&holdings = by.part(number_).holdings;
    if (holdings != nullptr) return true;
    void *block = flat_pool_alloc(holdings_, sizeof(Holdings));
    if (block == nullptr) return false;
    holdings = new (block) Holdings;
    holdings->client = &by;
    return true;
}

void ShardExchange::answer_here(Conversation &by) {
    Question &question = by.question();
    Holdings *&holdings = by.part(number_).holdings;
    if (needs_holdings(question.kind) && !has_holdings(by)) {
        question.answer = Answer::out_of_memory;
        return;
    }
    answer_question(broker_, holdings, question, now_);
    if (question.kind == Question::Kind::statistics) question.clients += shared_.counts;
    if (question.kind == Question::Kind::close) {
        holdings->~Holdings();
        (void)flat_pool_free(holdings_, std::exchange(holdings, nullptr));
    }
}

Offer ShardExchange::offer_of(Job &job) {
    broker_.begin_reading(job);
    return {Answer::reserved, job.priority, job.size, job.id, &job};
}

Offer ShardExchange::find_here(Conversation &by, bool waits) {
    Holdings &holdings = *by.part(number_).holdings;
    const Answer answer = broker_.reserve(holdings, waits, now_);
    if (answer == Answer::reserved) return offer_of(*holdings.given);
    return {.answer = answer};
}

void ShardExchange::cancel_here(Conversation &by) {
    Holdings &holdings = *by.part(number_).holdings;
    if (holdings.is_waiting) broker_.stop_waiting(holdings); // else it has ended, which was told before
}

// Unless its time has run out since it was found, so that another may have it by now.
void ShardExchange::give_back_here(Conversation &by, Job &job) {
    if (job.holder == by.part(number_).holdings) broker_.give_back(job, now_);
    broker_.end_reading(job);
}

void ShardExchange::tell_ended_waits() {
    while (Holdings *holdings = broker_.next_ended_wait()) {
        Conversation &by = *static_cast<Conversation *>(holdings->client);
        const Offer offer = holdings->wait_end == WaitEnd::reserved ? offer_of(*holdings->given)
                                                                    : Offer{.answer = Answer::deadline_soon};
        if (&by.exchange() != this) {
            reply(by, Kind::found, offer);
            continue;
        }
        by.found(number_, offer, now_);
        host_.went_on(by);
    }
}

} // namespace flat::server
