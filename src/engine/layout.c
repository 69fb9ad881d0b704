/* The layout of an engine: one walk over all its parts, which either measures them or makes them. */
#include "construction.h"

#include "../os/clock.h"

#include <stdio.h>
#include <unistd.h>

#define DEFAULT_SPIN_NS 50000u
#define WASHOUT_OF 4      /* a slice has so many times its wash-out */
#define SLICES_TO_CLOSE 4 /* until what was sent in a row has come back, but for a few */
#define SHORTEST_BITS 12  /* of ticks of a sojourn: about a microsecond */
#define MOST_ROW_BITS 16
#define WHEEL_UNIT_NS                                                                                                  \
    1000u /* at most: tasks with a start are ready up to this much late, and a lower unit costs steps */

static uintptr_t cut(cut_memory *memory, uint64_t bytes, uint64_t alignment) {
    memory->used = round_up(memory->used, alignment);
    uintptr_t at = memory->start + (uintptr_t)memory->used;
    memory->used += bytes;
    return at;
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
    uintptr_t record = cut(&of->metadata, of->options->recorded_tasks * sizeof(recorded_task), LINE_PAIR);
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
                            .record = (recorded_task *)record,
                            .record_length = options->recorded_tasks,
                            .follows_runs = options->recorded_tasks != 0,
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
                                     .submitter = &of->engine->submitters[i],
                                     .idle = &of->engine->submitters[i].choice->idle[number / 64]};
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
    uintptr_t sent = cut(&of->metadata, at_least_one(grants) * sizeof(sent_task), CACHE_LINE);
    if (of->engine == NULL) return;
    flat_worker *worker = &of->engine->workers[number];
    lane *made = &of->engine->submitters[submitter].lanes[number];
    inbox *there = &worker->inboxes[submitter];
    *made = (lane){.descriptors = (task_descriptor *)descriptors,
                   .length = length,
                   .class_count = classes,
                   .classes = (lane_class *)own,
                   .grants = (lane_grant *)known,
                   .sent = (sent_task *)sent,
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

_Static_assert(FLAT_DISPATCH_RANDOM == DISPATCH_RANDOM + 1 && FLAT_DISPATCH_PREDICTIVE == DISPATCH_PREDICTIVE + 1,
               "the public numbers are the dispatcher's, after the default");

static dispatch_policy policy_of(const flat_engine_options *options) {
    flat_dispatch_policy asked = options->dispatch;
    return (dispatch_policy)((asked != FLAT_DISPATCH_DEFAULT ? asked : FLAT_DISPATCH_PREDICTIVE) - 1);
}

static bool has_switchback(const flat_engine_options *options) { return options->switchback_slice_ns != 0; }

static void place_engine(construction *of) {
    uintptr_t engine = cut(&of->metadata, sizeof(flat_engine), LINE_PAIR);
    uintptr_t workers = cut(&of->metadata, of->workers * sizeof(flat_worker), LINE_PAIR);
    uintptr_t submitters = cut(&of->metadata, submitters_in(of) * sizeof(flat_submitter), LINE_PAIR);
    uintptr_t lanes = cut(&of->metadata, (uint64_t)submitters_in(of) * of->workers * sizeof(lane), LINE_PAIR);
    size_t views = flat_dispatcher_bytes(of->workers);
    size_t usual = round_up(sizeof(worker_choice) + views, LINE_PAIR);
    size_t choice = usual + (has_switchback(of->options) ? round_up(sizeof(fallback_choice) + views, LINE_PAIR) : 0);
    uintptr_t choices = cut(&of->metadata, (uint64_t)submitters_in(of) * choice, LINE_PAIR);
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
        .policy = policy_of(options),
        .dispatch_seed = options->dispatch_seed,
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
        worker_choice *own = (worker_choice *)(choices + i * choice);
        *own = (worker_choice){.views = own + 1};
        if (has_switchback(options)) own->fallback = (fallback_choice *)((uintptr_t)own + usual);
        made->submitters[i] = (flat_submitter){.engine = made,
                                               .choice = own,
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

/* Of all submitters: slices of at least the time that was asked for. */
static switchback_options slices_of(const construction *of) {
    const flat_engine_options *options = of->options;
    unsigned one_in = options->switchback_one_in != 0 ? options->switchback_one_in : DEFAULT_ONE_IN;
    uint64_t asked = ticks_of_ns(&of->engine->rate, options->switchback_slice_ns);
    switchback_options slices = {.seed = options->dispatch_seed,
                                 .begin = of->engine->rate.origin,
                                 .share_bits = (uint32_t)__builtin_ctz(one_in),
                                 .most_bits = MOST_ROW_BITS,
                                 .shortest_bits = SHORTEST_BITS};
    while (UINT64_C(1) << slices.slice_bits < asked) slices.slice_bits++;
    slices.washout = (UINT64_C(1) << slices.slice_bits) / WASHOUT_OF;
    slices.closing = (UINT64_C(1) << slices.slice_bits) * SLICES_TO_CLOSE;
    return slices;
}

/* Whole pages, which can be another process's to read. */
static void place_statistics(construction *of) {
    uint64_t workers_at = round_up(sizeof(engine_statistics), LINE_PAIR);
    uint64_t submitters_at = workers_at + of->workers * sizeof(worker_statistics);
    uint64_t each = submitter_statistics_bytes(of->workers);
    uint64_t end = submitters_at + submitters_in(of) * each;
    uint64_t switchback_bytes = round_up(sizeof(switchback), LINE_PAIR);
    uint64_t switchbacks_at = has_switchback(of->options) ? round_up(end, LINE_PAIR) : 0;
    if (switchbacks_at != 0) end = switchbacks_at + submitters_in(of) * switchback_bytes;
    uint64_t bytes = round_up(end, ENGINE_PAGE);
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
                                      .switchbacks_at = switchbacks_at,
                                      .switchback_bytes = switchback_bytes,
                                      .policy = of->engine->policy,
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
    switchback_options slices = slices_of(of);
    for (uint32_t i = 0; i < submitters_in(of); i++) {
        flat_submitter *submitter = &of->engine->submitters[i];
        submitter->statistics = (submitter_statistics *)(of->statistics + (uintptr_t)(submitters_at + i * each));
        uint64_t *accepted = (uint64_t *)(submitter->statistics + 1);
        for (uint32_t w = 0; w < of->workers; w++) submitter->lanes[w].accepted = &accepted[w];
        if (switchbacks_at == 0) continue;
        submitter->choice->measured =
            (switchback *)(of->statistics + (uintptr_t)(switchbacks_at + i * switchback_bytes));
        flat_switchback_init(submitter->choice->measured, &slices);
    }
    statistics->magic = STATISTICS_MAGIC;
}

static flat_status judge_size(const construction *of) {
    if (of->metadata.used <= MOST_BYTES && of->blocks.used <= MOST_BYTES) return FLAT_OK;
    return REFUSE(of->options, FLAT_INVALID_ARGUMENT, "the engine would exceed PTRDIFF_MAX / 2 bytes");
}

flat_status flat_engine_walk(construction *of) {
    worker_plan plan;
    place_engine(of);
    for (uint32_t i = 0; i < of->workers; i++) {
        flat_status status = flat_engine_plan(of, i, &plan);
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
        (void)flat_engine_plan(of, i, &plan); /* it was possible before */
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

flat_status flat_engine_size(construction *of, const flat_engine_options *options, flat_footprint *footprint) {
    if (options == NULL) return FLAT_INVALID_ARGUMENT;
    if (options->message != NULL && options->message_size != 0) options->message[0] = '\0';
    flat_status status = flat_engine_judge_options(options);
    if (status != FLAT_OK) return status;
    *of = begin_construction(options);
    status = flat_engine_walk(of);
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
    return flat_engine_size(&of, options, footprint);
}

flat_status flat_engine_measure(const flat_engine_options *options, flat_footprint *footprint, engine_parts *parts) {
    construction of;
    flat_status status = flat_engine_size(&of, options, footprint);
    if (status != FLAT_OK) return status;
    add_up(&of);
    *parts = of.parts;
    return FLAT_OK;
}
