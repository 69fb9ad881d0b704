// A dispatcher with random views, for tests of its policies.
#ifndef FLATLINE_TESTS_ENGINE_DISPATCH_DISPATCHED_HPP
#define FLATLINE_TESTS_ENGINE_DISPATCH_DISPATCHED_HPP

#include "core/random_source.hpp"

#include "engine/dispatch/dispatcher.h"

#include <array>
#include <cstddef>
#include <memory>
#include <new>
#include <set>
#include <vector>

namespace test {

using shard_words_of_a_set = std::array<std::uint64_t, SHARD_WORDS>;

inline dispatcher_options options_of(dispatch_policy policy, std::uint32_t shards, std::uint64_t seed) {
    dispatcher_options options{};
    options.policy = policy;
    options.shards = shards;
    options.seed = seed;
    return options;
}

// `usual` 0: nothing runs.
inline load_report report_of(std::uint64_t published, std::uint32_t waiting, std::uint32_t usual, std::uint32_t service,
                             std::uint32_t exhaustion = NEVER) {
    load_report report{};
    report.published = published;
    report.waiting = waiting;
    report.in_flight = waiting + (usual != 0 ? 1 : 0);
    report.usual = usual;
    report.service = service;
    report.exhaustion = exhaustion;
    return report;
}

class dispatched {
  public:
    explicit dispatched(const dispatcher_options &options, std::uint64_t now = 0)
        : memory_(static_cast<std::byte *>(
              ::operator new[](flat_dispatcher_bytes(options.shards), std::align_val_t{LINE_PAIR}))) {
        flat_dispatcher_init(&state, &options, memory_.get(), now);
        state.idle = idle.data();
        for (std::uint32_t shard = 0; shard < options.shards; shard++) shard_add(mask.data(), shard);
    }

    // One look, with the reports that it asks for, and a pick.
    template <typename Report> std::uint32_t pick(Report report, std::uint64_t now, std::uint32_t type = 0) {
        flat_dispatcher_look(&state, mask.data(), type, now);
        for (std::uint32_t i = 0; i < state.probe_count; i++) {
            const load_report read = report(state.probes[i]);
            flat_dispatcher_learn(&state, state.probes[i], &read, now);
        }
        return flat_dispatcher_pick(&state, mask.data(), type, now);
    }

    // The shards of the mask.
    std::vector<std::uint32_t> allowed() const {
        std::vector<std::uint32_t> shards;
        for (std::uint32_t shard = 0; shard < state.options.shards; shard++)
            if (shard_is_in(mask.data(), shard)) shards.push_back(shard);
        return shards;
    }

    dispatcher state{};
    shard_words_of_a_set mask{}, idle{};

  private:
    struct free_memory {
        void operator()(std::byte *memory) const { ::operator delete[](memory, std::align_val_t{LINE_PAIR}); }
    };

    std::unique_ptr<std::byte, free_memory> memory_;
};

inline load_report random_report(random_source &random, std::uint64_t now) {
    load_report report{};
    report.published = now - random.below(50'000);
    report.waiting = static_cast<std::uint32_t>(random.below(5));
    report.in_flight = report.waiting + static_cast<std::uint32_t>(random.below(8));
    report.usual = random.one_in(3) ? 0 : 1 + static_cast<std::uint32_t>(random.below(20'000));
    report.service = 1 + static_cast<std::uint32_t>(random.below(20'000));
    report.work = std::uint64_t{report.waiting} * report.service;
    report.arrivals = static_cast<std::uint32_t>(random.below(1'000'000));
    report.latency = static_cast<std::uint32_t>(random.below(100'000));
    report.exhaustion = random.one_in(2) ? NEVER : static_cast<std::uint32_t>(random.below(100'000));
    for (std::uint16_t &rest : report.shape) rest = static_cast<std::uint16_t>(random.below(300));
    return report;
}

} // namespace test

#endif
