// Runs a campaign's turns: each is one process, in an order that was decided beforehand.
#pragma once

#include "forecast.hpp"
#include "journal_entries.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

namespace flat::bench {

/// The result of `run`, and how long it took.
template <typename Run> auto timed(Run run) {
    const auto began = std::chrono::steady_clock::now();
    auto entry = run();
    return Timed<decltype(entry)>{std::move(entry),
                                  std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count()};
}

/// Goes through the turns in order. A turn is left out if its measurement has failed before, taken from `kept` while
/// there are entries left, else run. `between_rounds` may be empty. `steps` is an object with
///
///     bool has_failed(turn);                     whether to leave the turn out
///     std::size_t kind_of(turn);                 for the forecast
///     void begin(done, turn, seconds_left);      called before a process runs
///     Timed<What> run(turn);                     runs the turn, returns its result
///     void take(turn, const What &);             takes the result of a turn that was run or kept
template <typename Turn, typename What, typename Steps>
void go_through(const std::vector<Turn> &turns, const std::vector<Timed<What>> &kept, Forecast forecast,
                const std::function<void()> &between_rounds, Steps steps) {
    for (const Turn &turn : turns) forecast.expect(steps.kind_of(turn));
    std::size_t replayed = 0;
    for (std::size_t done = 0; done < turns.size(); ++done) {
        const Turn &turn = turns[done];
        if (steps.has_failed(turn)) {
            forecast.skip(steps.kind_of(turn));
            continue;
        }
        const bool is_kept = replayed < kept.size();
        if (!is_kept) {
            if (done > 0 && turn.round != turns[done - 1].round && between_rounds) between_rounds();
            steps.begin(done, turn, forecast.seconds_left());
        }
        const Timed<What> timed = is_kept ? kept[replayed++] : steps.run(turn);
        steps.take(turn, timed.entry);
        forecast.add(steps.kind_of(turn), timed.seconds);
    }
}

} // namespace flat::bench
