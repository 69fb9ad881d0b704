// What the shard of a client asks the shard of a tube or of a job, and what passes between them.
#pragma once

#include "broker.hpp"
#include "statistics_text.hpp"

#include <cstdint>
#include <span>
#include <string_view>

namespace flat::server {

/// Of one client at a time, which waits for the answer. Both are in the client's memory: the shard that is asked reads
/// the first part and fills in the second one.
struct Question {
    enum class Kind : std::uint8_t {
        use,
        stop_using,
        watch,
        stop_watching,
        new_job,
        put,
        delete_job,
        release,
        bury,
        touch,
        kick,
        kick_job,
        reserve_job,
        pause,
        peek,
        peek_first,
        statistics,
        statistics_of_job,
        statistics_of_tube,
        tubes,
        close // the holdings, which is then no more
    };

    Kind kind;
    Peek peek = Peek::ready;
    std::uint32_t priority = 0, delay = 0, time_to_run = 0, size = 0;
    std::uint64_t number = 0; // a job's, or of jobs to kick
    Tube *tube = nullptr;
    WatchedTube *watch = nullptr;
    std::string_view name; // of a tube

    Answer answer = Answer::done;
    Job *job = nullptr; // of `put`, and what others found
    std::uint64_t id = 0, count = 0;
    std::uint32_t found_size = 0;
    BrokerCounts counts;  // to which the shard adds its own
    ClientCounts clients; // the same
    std::span<char> text; // what is filled is cut off
};

/// Does what is asked. `holdings` are the client's at this shard; they may be null where the client has none.
void answer_question(Broker &broker, Holdings *holdings, Question &question, Nanoseconds now);

/// Whether a question needs holdings at the shard that is asked.
bool needs_holdings(Question::Kind kind);

} // namespace flat::server
