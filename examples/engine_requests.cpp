// Requests that a worker answers. One keeps it busy until the deadline of another one is past: that one is never begun,
// and its caller learns so. A third is no longer wanted, and is cancelled.
// Answers are left in the blocks of the tasks, and strings come from the worker's own pool.
#include <flatline/engine.hpp>
#include <flatline/resource.hpp>

#include <atomic>
#include <cstdio>
#include <memory_resource>
#include <string>
#include <string_view>

/* Which part of its life the program is in. Only the tests read it: they require that the heap is not called while it
 * is STEADY. */
enum Phase { STARTING, STEADY, ENDING };
volatile Phase phase;

namespace {

constexpr std::uint64_t millisecond = 1'000'000, minute = 60'000 * millisecond;

struct Answer {
    std::size_t pairs;
    std::size_t longest; // bytes of the longest value
};

// Parses "key=value&key=value...", with strings from the worker's pool.
Answer parse(std::string_view request, flat::worker &here) {
    flat::pool_resource memory(here.pool());
    std::pmr::string value(&memory);
    Answer answer{0, 0};
    while (!request.empty()) {
        const std::string_view pair = request.substr(0, request.find('&'));
        value = pair.substr(pair.find('=') + 1);
        answer.pairs++;
        answer.longest = value.size() > answer.longest ? value.size() : answer.longest;
        request.remove_prefix(pair.size() < request.size() ? pair.size() + 1 : pair.size());
    }
    return answer;
}

bool serve(flat::engine &engine, flat::submitter &lanes) {
    const char *request = "name=Ada Lovelace, London&subject=analytical engines&year=1843";
    flat::completion<Answer> usual, late, unwanted;
    flat::completion<> busy;

    // The first request is run until the deadline of the second is past.
    std::atomic<std::uint64_t> until{UINT64_MAX};
    const auto work_long = [&until](flat::worker &here) {
        while (here.now() <= until) continue;
    };
    if (lanes.submit(0, busy, work_long) != FLAT_OK) return false;

    const auto work = [request](flat::worker &here) { return parse(request, here); };
    flat::task_options soon;
    soon.deadline_ns = engine.now() + 100 * millisecond;
    const flat_status accepted = lanes.submit(0, late, work, soon);
    const bool others = lanes.submit(0, unwanted, work) == FLAT_OK && unwanted.cancel() == FLAT_OK &&
                        lanes.submit(0, usual, work) == FLAT_OK;
    until = soon.deadline_ns; // from here on `work_long` can end
    if (!others) return false;

    if (lanes.wait(usual, engine.now() + minute) != FLAT_OK) return false; // takes the other completions as well
    const Answer *answer = usual.result();                                 // in the task's block, until `usual` ends
    if (answer == nullptr || answer->pairs != 3 || answer->longest != 20) return false;
    const bool is_late = accepted == FLAT_DEADLINE_PAST || late.outcome() == FLAT_TASK_EXPIRED;
    return busy.outcome() == FLAT_TASK_DONE && is_late && unwanted.outcome() == FLAT_TASK_CANCELLED;
}

} // namespace

int main() {
    const flat_class classes[] = {{64, 32}, {256, 32}};
    flat::engine_options options;
    options.classes = classes;
    options.lane_count = 1;
    flat::engine engine;
    if (engine.start(options) != FLAT_OK) return 1;
    flat::submitter lanes;
    if (lanes.attach(engine) != FLAT_OK) return 1;
    std::pmr::set_default_resource(flat::refusing_resource());

    phase = STEADY;
    int served = 0;
    for (int round = 0; round < 10; round++) served += serve(engine, lanes);
    flat::task_options past;
    past.deadline_ns = 1;
    const flat_status refused = lanes.submit(0, [] {}, past); // at once
    phase = ENDING;

    std::printf("%d of 10 rounds: one answered, one expired, one cancelled; a past deadline: %s\n", served,
                flat_status_string(refused));
    return served == 10 && refused == FLAT_DEADLINE_PAST ? 0 : 1;
}
