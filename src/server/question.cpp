#include "question.hpp"

#include <algorithm>

namespace flat::server {
namespace {

void give_out(Broker &broker, Job *job, Answer answer, Question &to) {
    to.answer = job == nullptr ? Answer::not_found : answer;
    to.job = job;
    if (job == nullptr) return;
    broker.begin_reading(*job);
    to.id = job->id;
    to.found_size = job->size;
}

void append(std::span<char> &to, std::string_view text) { to = to.subspan(text.copy(to.data(), to.size())); }

} // namespace

bool needs_holdings(Question::Kind kind) {
    return kind == Question::Kind::watch || kind == Question::Kind::reserve_job;
}

void answer_question(Broker &broker, Holdings *holdings, Question &of, Nanoseconds now) {
    using Kind = Question::Kind;
    switch (of.kind) {
    case Kind::use:
        of.tube = broker.use(of.name);
        of.answer = of.tube == nullptr ? Answer::out_of_memory : Answer::done;
        return;
    case Kind::stop_using: return broker.stop_using(*of.tube);
    case Kind::watch: of.answer = broker.watch(*holdings, *of.watch, of.name); return;
    case Kind::stop_watching: return broker.stop_watching(*holdings, *of.watch);
    case Kind::new_job:
        of.job = broker.new_job(of.size);
        of.answer = of.job == nullptr ? Answer::out_of_memory : Answer::done;
        return;
    case Kind::put:
        of.id = broker.put(*of.tube, of.job, {of.priority, of.delay, of.time_to_run}, now);
        of.answer = Answer::inserted;
        return;
    case Kind::delete_job: of.answer = broker.delete_job(holdings, of.number); return;
    case Kind::release:
        of.answer =
            holdings == nullptr ? Answer::not_found : broker.release(*holdings, of.number, of.priority, of.delay, now);
        return;
    case Kind::bury:
        of.answer = holdings == nullptr ? Answer::not_found : broker.bury(*holdings, of.number, of.priority);
        return;
    case Kind::touch:
        of.answer = holdings == nullptr ? Answer::not_found : broker.touch(*holdings, of.number, now);
        return;
    case Kind::kick: of.count = broker.kick(*of.tube, of.number, now); return;
    case Kind::kick_job: of.answer = broker.kick_job(of.number, now); return;
    case Kind::reserve_job: {
        const Answer answer = broker.reserve_job(*holdings, of.number, now);
        return give_out(broker, answer == Answer::reserved ? holdings->given : nullptr, answer, of);
    }
    case Kind::pause: of.answer = broker.pause(of.name, of.delay, now); return;
    case Kind::peek: return give_out(broker, broker.find(of.number), Answer::found, of);
    case Kind::peek_first: return give_out(broker, Broker::first(*of.tube, of.peek), Answer::found, of);
    case Kind::statistics: of.counts += broker.counts(); return;
    case Kind::statistics_of_job: {
        const Job *job = broker.find(of.number);
        of.answer = job == nullptr ? Answer::not_found : Answer::found;
        if (job != nullptr) of.text = of.text.subspan(statistics_of(*job, now, of.text));
        return;
    }
    case Kind::statistics_of_tube: {
        const Tube *tube = broker.find_tube(of.name);
        of.answer = tube == nullptr ? Answer::not_found : Answer::found;
        if (tube != nullptr) of.text = of.text.subspan(statistics_of(*tube, now, of.text));
        return;
    }
    case Kind::close: return broker.close(*holdings, now);
    case Kind::tubes:
        for (const Tube &each : broker.tubes()) {
            append(of.text, "- ");
            append(of.text, each.name());
            append(of.text, "\n");
        }
        return;
    }
}

} // namespace flat::server
