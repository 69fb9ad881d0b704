/* The layout and construction of an engine: one walk over all its parts, which either measures them or makes them. */
#include "setup.h"

#include "engine.h"

#include "../core/instrument.h"
#include "../core/memory.h"
#include "../core/pool_layout.h"
#include "../os/backing.h"
#include "../os/clock.h"
#include "../os/page_guard.h"
#include "../os/region_refusal.h"
#include "../os/stack_capture.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#define DEFAULT_INLINE_GRANTS 64
#define DEFAULT_SPIN_NS 50000u
#define DEFAULT_STACK_BYTES 262144u
#define LEAST_STACK_BYTES 65536u
#define MOST_STARVATION 32767
#define WHEEL_UNIT_NS                                                                                                  \
    1000u /* at most: tasks with a start are ready up to this much late, and a lower unit costs steps */

#define REFUSE(options, status, ...)                                                                                   \
    flat_refuse(&(flat_region_options){.message = (options)->message, .message_size = (options)->message_size},        \
                (status), __VA_ARGS__)

/* A memory that is cut up from its start on. While nothing is made, `start` is 0. */
typedef struct cut_memory {
    uintptr_t start;
    uint64_t used;
} cut_memory;

static uintptr_t cut(cut_memory *memory, uint64_t bytes, uint64_t alignment) {
    memory->used = round_up(memory->used, alignment);
    uintptr_t at = memory->start + (uintptr_t)memory->used;
    memory->used += bytes;
    return at;
}

/* The walk. */
typedef struct construction {
    const flat_engine_options *options;
    uint32_t workers, lanes;
    cut_memory metadata, blocks;
    flat_engine *engine; /* NULL: measure only */
    uintptr_t statistics, stacks;
    engine_parts parts;
} construction;

static uint32_t submitters_in(const construction *of) { return of->lanes + of->workers; }

static size_t asked_stack_bytes(const flat_engine_options *options) {
    return options->stack_size != 0 ? options->stack_size : DEFAULT_STACK_BYTES;
}

/* With what a watchdog's signal takes of it. */
static size_t stack_bytes(const flat_engine_options *options) {
    return asked_stack_bytes(options) + (options->watchdog_ns != 0 ? CAPTURE_STACK_BYTES : 0);
}

/* FLAT_OK iff all members that are not of one worker are in their ranges. */
static flat_status judge_options(const flat_engine_options *options) {
    if (options->worker_count == 0 || options->worker_count > FLAT_ENGINE_MAX_WORKERS)
        return REFUSE(options, FLAT_INVALID_ARGUMENT, "%zu workers: 1 to %d are possible", options->worker_count,
                      FLAT_ENGINE_MAX_WORKERS);
    if (options->lane_count > FLAT_ENGINE_MAX_LANES)
        return REFUSE(options, FLAT_INVALID_ARGUMENT, "%zu lanes: 1 to %d are possible, and 0 for %d",
                      options->lane_count, FLAT_ENGINE_MAX_LANES, DEFAULT_LANES);
    if ((unsigned)options->waiting > FLAT_WAITING_SLEEP)
        return REFUSE(options, FLAT_INVALID_ARGUMENT, "waiting is no flat_waiting");
    if (options->starvation_limit > MOST_STARVATION)
        return REFUSE(options, FLAT_INVALID_ARGUMENT, "starvation_limit %u: 1 to %d are possible, and 0 for %d",
                      options->starvation_limit, MOST_STARVATION, DEFAULT_STARVATION);
    size_t stack = asked_stack_bytes(options);
    if (stack < LEAST_STACK_BYTES || stack % ENGINE_PAGE != 0 || stack > MOST_BYTES / FLAT_ENGINE_MAX_WORKERS)
        return REFUSE(options, FLAT_INVALID_ARGUMENT,
                      "a stack of %zu bytes: give a multiple of %d, at least %u, or 0 for %u", stack, ENGINE_PAGE,
                      LEAST_STACK_BYTES, DEFAULT_STACK_BYTES);
    if (options->spin_ns > FLAT_ENGINE_MAX_DELAY_NS || options->watchdog_ns > FLAT_ENGINE_MAX_DELAY_NS)
        return REFUSE(options, FLAT_INVALID_ARGUMENT, "spin_ns or watchdog_ns is above FLAT_ENGINE_MAX_DELAY_NS");
    return FLAT_OK;
}

/* The grants of a class in each lane: `asked`, or by default a share of `granted` blocks among `lanes`. */
static bool choose_grants(size_t asked, uint64_t granted, uint32_t lanes, uint16_t *grants) {
    uint64_t count = asked == FLAT_NO_GRANTS ? 0 : asked != 0 ? asked : granted / lanes;
    if (count > FLAT_ENGINE_MAX_GRANTS || (asked == 0 && count == 0)) return false;
    *grants = (uint16_t)count;
    return true;
}

static flat_status plan_class(const construction *of, uint32_t worker, uint32_t class, const flat_class_limits *limits,
                              worker_plan *plan) {
    bool is_inline = class == plan->pool.class_count;
    uint32_t lanes = submitters_in(of);
    uint64_t blocks = is_inline ? UINT64_MAX : plan->pool.classes[class].block_count;
    uint64_t granted = is_inline ? (uint64_t)DEFAULT_INLINE_GRANTS * lanes : blocks / 2;
    plan->service_ns[class] = limits->service_ns;
    if (!choose_grants(limits->grants, granted, lanes, &plan->grants[0][class]) ||
        !choose_grants(limits->worker_grants, granted, lanes, &plan->grants[1][class]))
        return REFUSE(
            of->options, FLAT_INVALID_ARGUMENT,
            "worker %u, class %u: half of %llu blocks among %u lanes leaves no grant for one, or more than %d: "
            "give the class more blocks, or say how many grants each lane gets",
            worker, class, (unsigned long long)blocks, lanes, FLAT_ENGINE_MAX_GRANTS);
    uint64_t all = (uint64_t)plan->grants[0][class] * of->lanes + (uint64_t)plan->grants[1][class] * of->workers;
    if (all > blocks)
        return REFUSE(of->options, FLAT_INVALID_ARGUMENT, "worker %u, class %u: %llu grants of %llu blocks", worker,
                      class, (unsigned long long)all, (unsigned long long)blocks);
    plan->grant_count[0] += plan->grants[0][class];
    plan->grant_count[1] += plan->grants[1][class];
    return FLAT_OK;
}

static const flat_class_limits no_limits = {0};

static flat_status plan_worker(const construction *of, uint32_t worker, worker_plan *plan) {
    const flat_engine_options *options = of->options;
    const flat_worker_options *own = options->workers != NULL ? &options->workers[worker] : NULL;
    bool has_classes = own != NULL && own->classes != NULL;
    const flat_class_limits *limits = own != NULL && own->class_limits != NULL ? own->class_limits
                                      : has_classes                            ? NULL
                                                                               : options->class_limits;
    plan->pool = has_classes ? (flat_pool_options){own->classes, own->class_count}
                             : (flat_pool_options){options->classes, options->class_count};
    plan->grant_count[0] = plan->grant_count[1] = 0;
    plan->pinned = own != NULL && own->pinned;
    plan->processor = own != NULL ? own->processor : 0;
    if (!flat_pool_lay_out(&plan->layout, plan->pool.classes, plan->pool.class_count))
        return REFUSE(options, FLAT_INVALID_ARGUMENT,
                      "worker %u: its classes are no pool: sizes must ascend, and sizes and counts be in their ranges",
                      worker);
    for (uint32_t class = 0; class <= plan->pool.class_count; class ++) {
        const flat_class_limits *of_class = class == plan->pool.class_count ? &options->inline_limits
                                            : limits != NULL                ? &limits[class]
                                                                            : &no_limits;
        flat_status status = plan_class(of, worker, class, of_class, plan);
        if (status != FLAT_OK) return status;
    }
    if (plan->grant_count[0] == 0 || plan->grant_count[0] > FLAT_ENGINE_MAX_GRANTS ||
        plan->grant_count[1] > FLAT_ENGINE_MAX_GRANTS)
        return REFUSE(options, FLAT_INVALID_ARGUMENT, "worker %u: a lane has %u grants: 1 to %d are possible", worker,
                      plan->grant_count[0], FLAT_ENGINE_MAX_GRANTS);
    plan->record_count = plan->grant_count[0] * of->lanes + plan->grant_count[1] * of->workers;
    return FLAT_OK;
}

static uint32_t at_least_one(uint32_t count) { return count != 0 ? count : 1; }

/* The part of a worker that its own thread writes. */
static void place_worker(construction *of, uint32_t number, const worker_plan *plan) {
    uint32_t submitters = submitters_in(of), classes = (uint32_t)plan->pool.class_count;
    uint32_t nodes = plan->record_count + FLAT_ENGINE_URGENCIES + WHEEL_HEADS;
    uintptr_t pool = cut(&of->metadata, plan->layout.metadata_bytes, LINE_PAIR) + (uintptr_t)plan->layout.pool_at;
    uintptr_t links = cut(&of->metadata, nodes * sizeof(list_link), LINE_PAIR);
    uintptr_t records = cut(&of->metadata, (uint64_t)plan->record_count * sizeof(task_record), LINE_PAIR);
    uintptr_t awaited = cut(&of->metadata, submitters * sizeof(awaited_lap), LINE_PAIR);
    uintptr_t inboxes = cut(&of->metadata, submitters * sizeof(inbox), LINE_PAIR);
    uintptr_t returns = cut(&of->metadata, (uint64_t)submitters * (classes + 1) * sizeof(return_ring), LINE_PAIR);
    uintptr_t blocks = cut(&of->blocks, plan->layout.block_bytes, ENGINE_PAGE);
    of->blocks.used = round_up(of->blocks.used, ENGINE_PAGE);
    if (number + 1 < of->workers) (void)cut(&of->blocks, ENGINE_PAGE, ENGINE_PAGE); /* the guard */
    if (of->engine == NULL) return;
    flat_worker *worker = &of->engine->workers[number];
    const flat_engine_options *options = of->options;
    *worker = (flat_worker){.engine = of->engine,
                            .pool = (flat_pool *)pool,
                            .awaited = (awaited_lap *)awaited,
                            .inboxes = (inbox *)inboxes,
                            .records = (task_record *)records,
                            .links = (list_link *)links,
                            .submitter = &of->engine->submitters[of->lanes + number],
                            .number = number,
                            .inbox_count = submitters};
    flat_pool_make(worker->pool, &plan->pool, &plan->layout, (char *)blocks);
    unsigned limit = options->starvation_limit != 0 ? options->starvation_limit : DEFAULT_STARVATION;
    worker->ready =
        (ready_tasks){.start = 0x8000 - (uint64_t)limit, .links = worker->links, .heads = plan->record_count};
    worker->wheel = (timing_wheel){.now = units_of_ticks(of->engine, of->engine->rate.origin),
                                   .links = worker->links,
                                   .due = &worker->records[0].due,
                                   .due_stride = sizeof(task_record) / sizeof(uint64_t),
                                   .heads = plan->record_count + FLAT_ENGINE_URGENCIES,
                                   .emptying = WHEEL_NOBODY};
    for (uint32_t i = plan->record_count; i < nodes; i++) links_begin(worker->links, i);
    uint32_t first_record = 0;
    for (uint32_t i = 0; i < submitters; i++) {
        bool inside = i >= of->lanes;
        worker->inboxes[i] = (inbox){.lap = 1,
                                     .length = at_least_one(2 * plan->grant_count[inside]),
                                     .first_record = first_record,
                                     .returns = (return_ring *)returns + (size_t)i * (classes + 1),
                                     .completion_parity = ENTRY_PARITY,
                                     .grant_count = plan->grant_count[inside],
                                     .submitter = &of->engine->submitters[i]};
        first_record += plan->grant_count[inside];
    }
}

/* The blocks of a class that are the grants of a lane, taken from the worker's pool: neighbours, since the pool is new.
 */
static void take_blocks(flat_worker *worker, const lane_class *class, task_record *records, uint32_t inbox_number) {
    for (uint32_t i = 0; i < class->count; i++) {
        task_record *record = &records[class->first + i];
        void *block = class->size != 0 ? flat_pool_alloc(worker->pool, class->size) : NULL;
        *record = (task_record){.block = block, .inbox = inbox_number};
    }
}

/* A lane of submitter `submitter` to worker `number`: the rings, and the submitter's own part. */
static void place_lane(construction *of, uint32_t number, uint32_t submitter, const worker_plan *plan) {
    bool inside = submitter >= of->lanes;
    uint32_t grants = plan->grant_count[inside], classes = (uint32_t)plan->pool.class_count, returned = 0;
    uint32_t length = at_least_one(2 * grants);
    uintptr_t descriptors = cut(&of->metadata, (uint64_t)length * sizeof(task_descriptor), LINE_PAIR);
    uintptr_t completions = cut(&of->metadata, at_least_one(grants) * sizeof(uint64_t), LINE_PAIR);
    uintptr_t places[FLAT_POOL_MAX_CLASSES + 1];
    for (uint32_t class = 0; class <= classes; class ++) {
        /* Those of one class end in lines of their own: another class may be in the hands of the other side. */
        places[class] = cut(&of->metadata, plan->grants[inside][class] * sizeof(uint32_t), CACHE_LINE);
    }
    uintptr_t own = cut(&of->metadata, (classes + 1) * sizeof(lane_class), LINE_PAIR);
    uintptr_t known = cut(&of->metadata, at_least_one(grants) * sizeof(lane_grant), CACHE_LINE);
    if (of->engine == NULL) return;
    flat_worker *worker = &of->engine->workers[number];
    lane *made = &of->engine->submitters[submitter].lanes[number];
    inbox *there = &worker->inboxes[submitter];
    *made = (lane){.descriptors = (task_descriptor *)descriptors,
                   .length = length,
                   .class_count = classes,
                   .classes = (lane_class *)own,
                   .grants = (lane_grant *)known,
                   .pool = worker->pool,
                   .worker = worker,
                   .worker_number = number,
                   .completions = (uint64_t *)completions,
                   .grant_count = grants};
    there->descriptors = made->descriptors;
    worker->awaited[submitter] = (awaited_lap){.lap = &made->descriptors[0].lap, .expected = there->lap};
    there->completions = made->completions;
    for (uint32_t i = 0; i < length; i++) made->descriptors[i].lap = 0;
    for (uint32_t i = 0; i < at_least_one(grants); i++) made->completions[i] = 0;
    for (uint32_t class = 0; class <= classes; class ++) {
        uint32_t *ring = (uint32_t *)places[class];
        uint16_t count = plan->grants[inside][class];
        lane_class *into = &made->classes[class];
        *into = (lane_class){.returned = ring, .first = (uint16_t)returned, .count = count};
        if (class < classes) {
            const pool_class *from = class_number(worker->pool, class);
            into->size = from->size;
            into->inverse = from->inverse;
            into->twos = from->twos;
            into->start = from->start + (size_t)from->fresh * from->size;
        }
        for (uint32_t i = 0; i < count; i++) ring[i] = 0;
        there->returns[class] = (return_ring){.places = ring, .length = count, .parity = ENTRY_PARITY};
        take_blocks(worker, into, &worker->records[there->first_record], submitter);
        returned += count;
    }
    flat_engine_clear_lane(made, submitter);
}

static void place_engine(construction *of) {
    uintptr_t engine = cut(&of->metadata, sizeof(flat_engine), LINE_PAIR);
    uintptr_t workers = cut(&of->metadata, of->workers * sizeof(flat_worker), LINE_PAIR);
    uintptr_t submitters = cut(&of->metadata, submitters_in(of) * sizeof(flat_submitter), LINE_PAIR);
    uintptr_t lanes = cut(&of->metadata, (uint64_t)submitters_in(of) * of->workers * sizeof(lane), LINE_PAIR);
    if (of->metadata.start == 0) return;
    const flat_engine_options *options = of->options;
    flat_clock clock = flat_clock_calibrate();
    of->engine = (flat_engine *)engine;
    *of->engine = (flat_engine){
        .state = ENGINE_OPEN,
        .fenced = !flat_can_fence_all(),
        .yields = of->workers > flat_usable_processors(),
        .worker_count = of->workers,
        .submitter_count = submitters_in(of),
        .lane_count = of->lanes,
        .workers = (flat_worker *)workers,
        .submitters = (flat_submitter *)submitters,
        .blocks = of->blocks.start,
        .rate = {.origin = read_ticks(),
                 .ns_per_tick = (uint64_t)(4294967296.0 / clock.ticks_per_ns),
                 .ticks_per_ns = (uint64_t)(4294967296.0 * clock.ticks_per_ns)},
        .waiting = options->waiting,
        .watchdog_ns = options->watchdog_ns,
        .overrun = options->overrun,
        .overrun_context = options->overrun_context,
        .shown = -1,
    };
    flat_engine *made = of->engine;
    made->spin_ticks = ticks_of_ns(&made->rate, options->spin_ns != 0 ? options->spin_ns : DEFAULT_SPIN_NS);
    made->watchdog_ticks = ticks_of_ns(&made->rate, options->watchdog_ns);
    made->most_delay = ticks_of_ns(&made->rate, FLAT_ENGINE_MAX_DELAY_NS);
    while (ticks_of_ns(&made->rate, WHEEL_UNIT_NS) >> made->unit_shift > 1) made->unit_shift++;
    for (uint32_t i = 0; i < submitters_in(of); i++) {
        bool inside = i >= of->lanes;
        made->submitters[i] = (flat_submitter){.engine = made,
                                               .lanes = (lane *)lanes + (size_t)i * of->workers,
                                               .of_worker = inside ? &made->workers[i - of->lanes] : NULL,
                                               .worker_count = of->workers,
                                               .refused_from = inside ? ENGINE_STOPPED : ENGINE_DRAINING,
                                               .number = i};
    }
}

/* Which worker's blocks are on each page; a guard counts as the worker's before it. */
static void place_map(construction *of) {
    size_t pages = (size_t)(of->blocks.used / ENGINE_PAGE);
    uintptr_t map = cut(&of->metadata, pages, LINE_PAIR);
    if (of->engine == NULL) return;
    uint8_t *worker_of_page = (uint8_t *)map;
    of->engine->worker_of_page = worker_of_page;
    of->engine->block_bytes = (size_t)of->blocks.used;
    for (uint32_t i = 0; i < of->workers; i++) {
        size_t first = (of->engine->workers[i].pool->start - of->blocks.start) / ENGINE_PAGE;
        for (size_t page = first; page < pages; page++) worker_of_page[page] = (uint8_t)i;
    }
}

static void show_class(class_statistics *to, const flat_worker *worker, uint32_t class, const worker_plan *plan,
                       const construction *of) {
    const pool_class *shown = class < plan->pool.class_count ? class_number(worker->pool, class) : NULL;
    to->granted = (uint64_t)plan->grants[0][class] * of->lanes + (uint64_t)plan->grants[1][class] * of->workers;
    to->service_ticks = ticks_of_ns(&of->engine->rate, plan->service_ns[class]);
    if (shown == NULL) return;
    to->block_size = shown->size;
    to->block_count = shown->count;
    to->free = shown->count - to->granted;
}

static void name_types(engine_statistics *statistics, const char *const *names) {
    if (names == NULL) return;
    for (uint32_t type = 0; type < FLAT_ENGINE_TASK_TYPES; type++) {
        if (names[type] != NULL) (void)snprintf(statistics->types[type], FLAT_ENGINE_TYPE_NAME, "%s", names[type]);
    }
}

/* Whole pages, which can be another process's to read. */
static void place_statistics(construction *of) {
    uint64_t workers_at = round_up(sizeof(engine_statistics), LINE_PAIR);
    uint64_t submitters_at = workers_at + of->workers * sizeof(worker_statistics);
    uint64_t each = submitter_statistics_bytes(of->workers);
    uint64_t bytes = round_up(submitters_at + submitters_in(of) * each, ENGINE_PAGE);
    of->statistics = cut(&of->metadata, bytes, ENGINE_PAGE);
    of->parts.statistics = bytes;
    if (of->engine == NULL) return;
    engine_statistics *statistics = (engine_statistics *)of->statistics;
    for (uint64_t i = 0; i < bytes / sizeof(uint64_t); i++) ((uint64_t *)of->statistics)[i] = 0;
    *statistics = (engine_statistics){.bytes = bytes,
                                      .worker_count = of->workers,
                                      .lane_count = of->lanes,
                                      .workers_at = workers_at,
                                      .submitters_at = submitters_at,
                                      .worker_bytes = sizeof(worker_statistics),
                                      .submitter_bytes = each,
                                      .process = (uint64_t)getpid(),
                                      .rated_ticks = (uint64_t)RATE_WINDOWS << (of->engine->unit_shift + RATING_SHIFT),
                                      .watchdog_ticks = of->engine->watchdog_ticks,
                                      .rate = of->engine->rate};
    name_types(statistics, of->options->type_names);
    of->engine->statistics = statistics;
    for (uint32_t i = 0; i < of->workers; i++) {
        flat_worker *worker = &of->engine->workers[i];
        worker->statistics = (worker_statistics *)(of->statistics + (uintptr_t)workers_at) + i;
        worker->statistics->class_count = worker->pool->class_count;
        worker->statistics->rated = of->engine->rate.origin;
        worker->ready.lengths = worker->statistics->queued;
    }
    for (uint32_t i = 0; i < submitters_in(of); i++) {
        flat_submitter *submitter = &of->engine->submitters[i];
        submitter->statistics = (submitter_statistics *)(of->statistics + (uintptr_t)(submitters_at + i * each));
        uint64_t *accepted = (uint64_t *)(submitter->statistics + 1);
        for (uint32_t w = 0; w < of->workers; w++) submitter->lanes[w].accepted = &accepted[w];
    }
    statistics->magic = STATISTICS_MAGIC;
}

static uint32_t stacks_in(const flat_engine_options *options) {
    if (options->caller_runs_workers) return options->watchdog_ns != 0 ? 1 : 0;
    return (uint32_t)options->worker_count + (options->watchdog_ns != 0 ? 1 : 0);
}

static flat_status judge_size(const construction *of) {
    if (of->metadata.used <= MOST_BYTES && of->blocks.used <= MOST_BYTES) return FLAT_OK;
    return REFUSE(of->options, FLAT_INVALID_ARGUMENT, "the engine would exceed PTRDIFF_MAX / 2 bytes");
}

/* Walks over all parts. */
static flat_status walk(construction *of) {
    worker_plan plan;
    place_engine(of);
    for (uint32_t i = 0; i < of->workers; i++) {
        flat_status status = plan_worker(of, i, &plan);
        if (status != FLAT_OK) return status;
        uint64_t begun = of->metadata.used;
        place_worker(of, i, &plan);
        of->parts.workers += of->metadata.used - begun;
        of->parts.pools += plan.layout.block_bytes;
        begun = of->metadata.used;
        for (uint32_t s = 0; s < submitters_in(of); s++) place_lane(of, i, s, &plan);
        of->parts.lanes += of->metadata.used - begun;
        status = judge_size(of);
        if (status != FLAT_OK) return status;
    }
    place_map(of);
    place_statistics(of);
    for (uint32_t i = 0; i < of->workers && of->engine != NULL; i++) {
        (void)plan_worker(of, i, &plan); /* it was possible before */
        flat_worker *worker = &of->engine->workers[i];
        for (uint32_t class = 0; class <= plan.pool.class_count; class ++) {
            show_class(&worker->statistics->classes[class], worker, class, &plan, of);
        }
    }
    of->parts.stacks = (uint64_t)stacks_in(of->options) * stack_bytes(of->options);
    of->parts.stack_guards = (uint64_t)stacks_in(of->options) * ENGINE_PAGE;
    of->stacks = cut(&of->metadata, of->parts.stacks + of->parts.stack_guards, ENGINE_PAGE);
    return judge_size(of);
}

/* The parts that are what the others leave. */
static void add_up(construction *of) {
    engine_parts *parts = &of->parts;
    parts->others =
        of->metadata.used - parts->workers - parts->lanes - parts->statistics - parts->stacks - parts->stack_guards;
    parts->block_guards = (uint64_t)(of->workers - 1) * ENGINE_PAGE;
    parts->block_padding = of->blocks.used - parts->pools - parts->block_guards;
}

static construction begin_construction(const flat_engine_options *options) {
    return (construction){.options = options,
                          .workers = (uint32_t)options->worker_count,
                          .lanes = options->lane_count != 0 ? (uint32_t)options->lane_count : DEFAULT_LANES};
}

/* Measures into `*of`, which keeps the sizes. */
static flat_status measure(construction *of, const flat_engine_options *options, flat_footprint *footprint) {
    if (options == NULL) return FLAT_INVALID_ARGUMENT;
    if (options->message != NULL && options->message_size != 0) options->message[0] = '\0';
    flat_status status = judge_options(options);
    if (status != FLAT_OK) return status;
    *of = begin_construction(options);
    status = walk(of);
    if (status != FLAT_OK) return status;
    *footprint = (flat_footprint){.metadata_bytes = (size_t)of->metadata.used,
                                  .metadata_alignment = ENGINE_PAGE,
                                  .block_bytes = (size_t)of->blocks.used,
                                  .block_alignment = ENGINE_PAGE};
    return FLAT_OK;
}

flat_status flat_engine_footprint(const flat_engine_options *options, flat_footprint *footprint) {
    construction of;
    if (footprint == NULL) return FLAT_INVALID_ARGUMENT;
    return measure(&of, options, footprint);
}

flat_status flat_engine_measure(const flat_engine_options *options, flat_footprint *footprint, engine_parts *parts) {
    construction of;
    flat_status status = measure(&of, options, footprint);
    if (status != FLAT_OK) return status;
    add_up(&of);
    *parts = of.parts;
    return FLAT_OK;
}

void flat_engine_plan_worker(const flat_engine_options *options, uint32_t number, worker_plan *plan) {
    construction of = begin_construction(options);
    (void)plan_worker(&of, number, plan); /* it is possible */
}

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
        flat_status status = plan_worker(of, i, &plan);
        int processor = plan.pinned && plan.processor <= INT_MAX ? (int)plan.processor : -1;
        int error = plan.pinned && processor < 0 ? EINVAL : 0;
        if (error == 0) {
            error = flat_thread_begin(&engine->workers[i].thread,
                                      engine->watchdog_ns != 0 ? be_watched_worker : be_worker, &engine->workers[i],
                                      stack_number(of, i), stack_bytes(of->options), processor);
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
    flat_status status = walk(of);
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
    flat_status status = measure(&of, options, &need);
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
    flat_status status = measure(&of, options, &need);
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
