#include "any_worker_parts.h"

#include "../../src/engine/load.h"

told_load part_told_load(const flat_engine *engine, size_t worker) {
    const flat_worker *of = &engine->workers[worker];
    told_load told = {.tells = of->tells_load,
                      .published = of->report.published,
                      .work = of->report.work,
                      .waiting = of->report.waiting,
                      .in_flight = of->report.in_flight,
                      .usual = of->report.usual,
                      .ended = of->report.ended,
                      .exhaustion = of->report.exhaustion};
    for (unsigned i = 0; i < FLAT_ENGINE_TASK_TYPES; i++)
        told.service_of_type[i] = ticks_of_short(of->services.mean_of_type[i]);
    return told;
}

bool part_has_told(const flat_engine *engine, size_t worker) {
    return load_read(&engine->workers[worker].report).published != 0;
}

uint32_t part_own_tasks(const flat_submitter *of, size_t worker) { return of->choice->chooser.views[worker].own; }
uint32_t part_held(const flat_submitter *of, unsigned type) { return of->choice->chooser.held[type]; }
uint32_t part_response(const flat_submitter *of, size_t worker) { return of->choice->chooser.views[worker].response; }

bool part_said_idle(const flat_submitter *of, size_t worker) { return shard_is_in(of->choice->idle, (uint32_t)worker); }

void part_take_back(flat_submitter *of) { (void)flat_engine_collect(of); }

uint64_t part_ticks_of_ns(const flat_engine *engine, uint64_t ns) { return ticks_of_ns(&engine->rate, ns); }
uint32_t part_held_code(uint64_t ticks) { return held_code(ticks); }
uint64_t part_ticks_of_held(uint32_t code) { return ticks_of_held(code); }
