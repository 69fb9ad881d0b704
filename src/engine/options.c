/* What an engine's options ask for: whether it is possible, and what each worker will have. */
#include "construction.h"

#define DEFAULT_INLINE_GRANTS 64
#define LEAST_STACK_BYTES 65536u
#define MOST_STARVATION 32767
#define MOST_ONE_IN 65536
#define LEAST_SLICE_NS UINT64_C(1000000)
#define MOST_SLICE_NS UINT64_C(100000000000)

flat_status flat_engine_judge_options(const flat_engine_options *options) {
    if (options->worker_count == 0 || options->worker_count > FLAT_ENGINE_MAX_WORKERS)
        return REFUSE(options, FLAT_INVALID_ARGUMENT, "%zu workers: 1 to %d are possible", options->worker_count,
                      FLAT_ENGINE_MAX_WORKERS);
    if (options->lane_count > FLAT_ENGINE_MAX_LANES)
        return REFUSE(options, FLAT_INVALID_ARGUMENT, "%zu lanes: 1 to %d are possible, and 0 for %d",
                      options->lane_count, FLAT_ENGINE_MAX_LANES, DEFAULT_LANES);
    if ((unsigned)options->waiting > FLAT_WAITING_SLEEP)
        return REFUSE(options, FLAT_INVALID_ARGUMENT, "waiting is no flat_waiting");
    unsigned one_in = options->switchback_one_in;
    if (one_in > MOST_ONE_IN || one_in == 1 || (one_in & (one_in - 1)) != 0)
        return REFUSE(options, FLAT_INVALID_ARGUMENT,
                      "switchback_one_in %u: give a power of two from 2 to %d, or 0 for %d", one_in, MOST_ONE_IN,
                      DEFAULT_ONE_IN);
    uint64_t slice = options->switchback_slice_ns;
    if (slice != 0 && (slice < LEAST_SLICE_NS || slice > MOST_SLICE_NS))
        return REFUSE(options, FLAT_INVALID_ARGUMENT, "switchback_slice_ns %llu: give %llu to %llu, or 0 for none",
                      (unsigned long long)slice, (unsigned long long)LEAST_SLICE_NS, (unsigned long long)MOST_SLICE_NS);
    if ((unsigned)options->dispatch > FLAT_DISPATCH_PREDICTIVE)
        return REFUSE(options, FLAT_INVALID_ARGUMENT, "dispatch is no flat_dispatch_policy");
    if (options->starvation_limit > MOST_STARVATION)
        return REFUSE(options, FLAT_INVALID_ARGUMENT, "starvation_limit %u: 1 to %d are possible, and 0 for %d",
                      options->starvation_limit, MOST_STARVATION, DEFAULT_STARVATION);
    size_t stack = asked_stack_bytes(options);
    if (stack < LEAST_STACK_BYTES || stack % ENGINE_PAGE != 0 || stack > MOST_BYTES / FLAT_ENGINE_MAX_WORKERS)
        return REFUSE(options, FLAT_INVALID_ARGUMENT,
                      "a stack of %zu bytes: give a multiple of %d, at least %u, or 0 for %u", stack, ENGINE_PAGE,
                      LEAST_STACK_BYTES, DEFAULT_STACK_BYTES);
    if (options->recorded_tasks > MOST_BYTES / sizeof(recorded_task) / FLAT_ENGINE_MAX_WORKERS)
        return REFUSE(options, FLAT_INVALID_ARGUMENT, "a record of %zu tasks of each worker: give fewer",
                      options->recorded_tasks);
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

flat_status flat_engine_plan(const construction *of, uint32_t worker, worker_plan *plan) {
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

void flat_engine_plan_worker(const flat_engine_options *options, uint32_t number, worker_plan *plan) {
    construction of = begin_construction(options);
    (void)flat_engine_plan(&of, number, plan); /* it is possible */
}
