// Declarations of engines at random, for the tests of what is planned, written and read.
#ifndef FLATLINE_TESTS_PLAN_ENGINE_DECLARATIONS_HPP
#define FLATLINE_TESTS_PLAN_ENGINE_DECLARATIONS_HPP

#include "core/random_source.hpp"
#include "sanitizers.hpp"

#include "plan/engine_plan.hpp"

namespace test {

inline flat_class_limits random_limits(random_source &random) {
    const auto grants = [&]() -> std::size_t {
        return random.one_in(4) ? FLAT_NO_GRANTS : random.one_in(3) ? 0 : random.magnitude(40);
    };
    return {grants(), grants(), random.one_in(4) ? 0 : 1000 * random.magnitude(1000000)};
}

inline flat::plan::Urgencies random_urgencies(random_source &random) {
    return random.one_in(2) ? flat::plan::every_urgency
                            : static_cast<flat::plan::Urgencies>(1 + random.below(flat::plan::every_urgency));
}

// All larger than an inline payload.
inline flat::plan::EngineClasses random_engine_classes(random_source &random) {
    flat::plan::EngineClasses all;
    std::size_t size = FLAT_ENGINE_INLINE_BYTES + 1;
    for (std::size_t left = 1 + random.below(random.one_in(8) ? FLAT_POOL_MAX_CLASSES : 5); left > 0; --left) {
        all.classes.push_back({size + random.below(16), random.magnitude(2000)});
        all.limits.push_back(random_limits(random));
        all.urgencies.push_back(random_urgencies(random));
        size += 32 + random.magnitude(1000);
    }
    return all;
}

// Most of them are possible, and none is pinned.
inline flat::plan::EngineDeclaration random_engine(random_source &random) {
    flat::plan::EngineDeclaration engine;
    engine.worker_count = 1 + random.below(4);
    engine.lane_count = random.below(6);
    engine.classes = random_engine_classes(random);
    engine.inline_limits = random_limits(random);
    engine.inline_urgencies = random_urgencies(random);
    if (random.one_in(3)) engine.workers.resize(engine.worker_count);
    for (flat::plan::DeclaredWorker &each : engine.workers) {
        if (random.one_in(2)) each.own = random_engine_classes(random);
    }
    engine.waiting = static_cast<flat_waiting>(random.below(3));
    engine.spin_ns = random.one_in(2) ? 0 : random.magnitude(1000000);
    engine.watchdog_ns = random.one_in(2) ? 0 : 1000000000 * random.magnitude(1000); // no task takes so long
    engine.stack_size = random.one_in(2) ? 0 : 65536 + 4096 * random.below(64);
    if (thread_sanitizer)
        engine.stack_size = (std::size_t{2} << 20) + 4096 * random.below(64); // it takes that much itself
    engine.starvation_limit = static_cast<unsigned>(random.one_in(2) ? 0 : random.magnitude(32767));
    engine.caller_runs_workers = !random.one_in(8);
    if (random.one_in(2)) engine.overhead_ns = random.magnitude(100000);
    return engine;
}

} // namespace test

#endif
