/* An engine is made, its threads are started, and all of it is ended. */
#include "construction.h"

#include "../core/instrument.h"
#include "../os/backing.h"
#include "../os/page_guard.h"

#include <errno.h>
#include <limits.h>
#include <unistd.h>

static void be_worker(void *worker) { flat_engine_attend(worker); }

/* The same under a watchdog, whose signal has a stack of its own: a task may have used up its own. */
static void be_watched_worker(void *worker) {
    char stack[CAPTURE_STACK_BYTES];
    flat_capture_begin(stack);
    flat_engine_attend(worker);
    flat_capture_end();
}

static void be_watchdog(void *engine) { flat_engine_watch(engine); }

static char *stack_number(const construction *of, uint32_t number) {
    return (char *)of->stacks + number * (stack_bytes(of->options) + ENGINE_PAGE) + ENGINE_PAGE;
}

static flat_status thread_refusal(const construction *of, int error, const worker_plan *plan, uint32_t number) {
    if (error == EINVAL && plan->pinned)
        return REFUSE(of->options, FLAT_NOT_PERMITTED, "worker %u cannot run on processor %u", number, plan->processor);
    if (error == EINVAL)
        return REFUSE(of->options, FLAT_INVALID_ARGUMENT,
                      "a stack of %zu bytes does not hold the program's thread-local variables: raise stack_size",
                      asked_stack_bytes(of->options));
    return REFUSE(of->options, FLAT_OUT_OF_MEMORY, "the system starts no more threads (%s), at thread %u",
                  flat_error_text(error), number);
}

static void end_workers(flat_engine *engine, uint32_t started) {
    flat_engine_end(engine);
    for (uint32_t i = 0; i < started; i++) flat_thread_join(&engine->workers[i].thread);
}

/* After the workers: a task that still runs is reported. */
static void end_watchdog(flat_engine *engine) {
    if (engine->watchdog_ns == 0) return;
    __atomic_store_n(&engine->watchdog_ends, 1, __ATOMIC_SEQ_CST);
    flat_wake_sleepers(&engine->watchdog_ends);
    flat_thread_join(&engine->watchdog);
}

static flat_status start_watchdog(const construction *of) {
    flat_engine *engine = of->engine;
    if (engine->watchdog_ns == 0) return FLAT_OK;
    uint32_t number = stacks_in(of->options) - 1;
    if (!flat_capture_prepare())
        return REFUSE(of->options, FLAT_NOT_PERMITTED, "the system refuses a handler for the watchdog's signal");
    int error = flat_thread_begin(&engine->watchdog, be_watchdog, engine, stack_number(of, number),
                                  stack_bytes(of->options), -1);
    const worker_plan not_pinned = {.pinned = false};
    return error == 0 ? FLAT_OK : thread_refusal(of, error, &not_pinned, number);
}

static flat_status start_workers(const construction *of) {
    flat_engine *engine = of->engine;
    engine->runs_workers = !of->options->caller_runs_workers;
    if (!engine->runs_workers) return FLAT_OK;
    for (uint32_t i = 0; i < of->workers; i++) {
        worker_plan plan;
        flat_status status = flat_engine_plan(of, i, &plan);
        int processor = plan.pinned && plan.processor <= INT_MAX ? (int)plan.processor : -1;
        int error = plan.pinned && processor < 0 ? EINVAL : 0;
        if (error == 0) {
            error =
                flat_thread_begin(&engine->workers[i].thread, engine->watchdog_ns != 0 ? be_watched_worker : be_worker,
                                  &engine->workers[i], stack_number(of, i), stack_bytes(of->options), processor);
        }
        if (error != 0) status = thread_refusal(of, error, &plan, i);
        if (status == FLAT_OK) continue;
        end_workers(engine, i);
        return status;
    }
    return FLAT_OK;
}

/* Memory checkers take the blocks for plain memory again. */
static void end_pools(const flat_engine *engine) {
    for (uint32_t i = 0; i < engine->worker_count; i++) {
        const flat_pool *pool = engine->workers[i].pool;
        instrument_end(pool, (void *)pool->start, pool->length);
    }
}

/* Makes an engine in memory that was measured. With `own` the memory is the engine's: it gets guards, and shows its
 * statistics. */
static flat_status make(flat_engine **engine, construction *of, flat_memory metadata, flat_memory blocks,
                        backing *own) {
    *of = begin_construction(of->options);
    of->metadata.start = (uintptr_t)metadata.start;
    of->blocks.start = (uintptr_t)blocks.start;
    flat_status status = flat_engine_walk(of);
    if (status != FLAT_OK) return status;
    of->engine->backing = own;
    if (own != NULL) {
        for (uint32_t i = 0; i < stacks_in(of->options); i++) flat_guard_page(stack_number(of, i) - ENGINE_PAGE);
        for (uint32_t i = 1; i < of->workers; i++) {
            flat_guard_page((char *)of->engine->workers[i].pool->start - ENGINE_PAGE);
        }
        bool locked = of->options->region != NULL && of->options->region->locked;
        of->engine->shown =
            flat_show_pages((void *)of->statistics, (size_t)of->parts.statistics, STATISTICS_NAME, locked);
    }
    status = start_watchdog(of);
    if (status == FLAT_OK) {
        status = start_workers(of);
        if (status != FLAT_OK) end_watchdog(of->engine);
    }
    if (status == FLAT_OK) {
        *engine = of->engine;
        return FLAT_OK;
    }
    end_pools(of->engine);
    if (of->engine->shown >= 0) (void)close(of->engine->shown); /* nothing is to be written */
    return status;
}

flat_status flat_engine_init(flat_engine **engine, const flat_engine_options *options, flat_memory metadata,
                             flat_memory blocks) {
    construction of;
    flat_footprint need;
    if (engine == NULL) return FLAT_INVALID_ARGUMENT;
    *engine = NULL;
    flat_status status = flat_engine_size(&of, options, &need);
    if (status != FLAT_OK) return status;
    status = judge_memories(metadata, blocks, &need);
    if (status != FLAT_OK)
        return REFUSE(options, status, "the engine needs %zu and %zu bytes, at multiples of %zu and apart",
                      need.metadata_bytes, need.block_bytes, need.metadata_alignment);
    return make(engine, &of, metadata, blocks, NULL);
}

flat_status flat_engine_create(flat_engine **engine, const flat_engine_options *options) {
    construction of;
    flat_footprint need;
    flat_memory metadata, blocks;
    backing *own;
    if (engine == NULL) return FLAT_INVALID_ARGUMENT;
    *engine = NULL;
    flat_status status = flat_engine_size(&of, options, &need);
    if (status != FLAT_OK) return status;
    flat_region_options region = options->region != NULL ? *options->region : (flat_region_options){.lazy = false};
    if (region.message == NULL) {
        region.message = options->message;
        region.message_size = options->message_size;
    }
    status = flat_backing_create(&own, &need, &region, &metadata, &blocks);
    if (status != FLAT_OK) return status;
    status = make(engine, &of, metadata, blocks, own);
    if (status != FLAT_OK) flat_backing_destroy(own);
    return status;
}

void flat_engine_destroy(flat_engine *engine) {
    if (engine == NULL) return;
    end_workers(engine, engine->runs_workers ? engine->worker_count : 0);
    end_watchdog(engine);
    for (uint32_t i = 0; i < engine->worker_count; i++) flat_engine_empty(&engine->workers[i]);
    end_pools(engine);
    if (engine->shown >= 0) (void)close(engine->shown);                 /* no data is left to be written */
    if (engine->backing != NULL) flat_backing_destroy(engine->backing); /* the engine itself is in it */
}
