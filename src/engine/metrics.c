/* An engine in the text format of Prometheus. The families come one after another, and of each every worker. */
#include "snapshot.h"

#include <stdarg.h>
#include <stdio.h>

#define METRIC "flatline_engine_"
#define NS_PER_S UINT64_C(1000000000)

/* What was written, and what would have been. */
typedef struct metrics_text {
    char *buffer;
    size_t capacity, length;
} metrics_text;

__attribute__((format(printf, 2, 3))) static void add(metrics_text *to, const char *format, ...) {
    va_list arguments;
    bool fits = to->length < to->capacity;
    va_start(arguments, format);
    int added =
        vsnprintf(fits ? to->buffer + to->length : NULL, fits ? to->capacity - to->length : 0, format, arguments);
    va_end(arguments);
    if (added > 0) to->length += (size_t)added;
}

static void add_family(metrics_text *to, const char *name, const char *type, const char *help) {
    add(to, "# HELP " METRIC "%s %s\n# TYPE " METRIC "%s %s\n", name, help, name, type);
}

/* A label's value, in which a backslash, a quote and the end of a line are escaped. */
static void add_escaped(metrics_text *to, const char *value) {
    for (; *value != '\0'; value++) {
        if (*value == '\n') {
            add(to, "\\n");
        } else if (*value == '\\' || *value == '"') {
            add(to, "\\%c", *value);
        } else {
            add(to, "%c", *value);
        }
    }
}

static void add_seconds(metrics_text *to, uint64_t ns) {
    add(to, "%llu.%09llu\n", (unsigned long long)(ns / NS_PER_S), (unsigned long long)(ns % NS_PER_S));
}

/* A family of one number for each worker. */
typedef struct worker_family {
    const char *name, *type, *help;
    size_t at;         /* of the word in worker_statistics */
    const char *label; /* besides the worker; NULL: none, and one word */
    const char *values[FLAT_ENGINE_URGENCIES];
} worker_family;

#define OF_WORKER(member) offsetof(worker_statistics, member)

static const worker_family worker_families[] = {
    {"tasks_ended_total",
     "counter",
     "Tasks that ended, by how.",
     OF_WORKER(outcomes),
     "outcome",
     {"done", "expired", "cancelled"}},
    {"runs_total",
     "counter",
     "Runs of tasks, also of those that defer themselves or dispose.",
     OF_WORKER(begun),
     NULL,
     {0}},
    {"deferred_total", "counter", "Runs after which the task waited again.", OF_WORKER(deferred), NULL, {0}},
    {"sleeps_total", "counter", "Times that the worker slept.", OF_WORKER(slept), NULL, {0}},
    {"overruns_total", "counter", "Tasks that the watchdog reported.", OF_WORKER(overruns), NULL, {0}},
    {"queued_tasks",
     "gauge",
     "Tasks that wait at the worker, by urgency.",
     OF_WORKER(queued),
     "urgency",
     {"0", "1", "2", "3"}},
    {"timed_tasks", "gauge", "Tasks that wait for their start.", OF_WORKER(timed), NULL, {0}},
    {"asleep", "gauge", "1 if the worker sleeps.", OF_WORKER(asleep), NULL, {0}},
};

static uint64_t word_at(const flat_engine *engine, uint32_t worker, size_t at, uint32_t index) {
    const char *statistics = (const char *)engine->workers[worker].statistics;
    return seen((const uint64_t *)(const void *)(statistics + at) + index);
}

static void add_worker_family(metrics_text *to, const flat_engine *engine, const worker_family *family) {
    add_family(to, family->name, family->type, family->help);
    for (uint32_t worker = 0; worker < engine->worker_count; worker++) {
        if (family->label == NULL) {
            add(to, METRIC "%s{worker=\"%u\"} %llu\n", family->name, worker,
                (unsigned long long)word_at(engine, worker, family->at, 0));
            continue;
        }
        for (uint32_t i = 0; i < FLAT_ENGINE_URGENCIES && family->values[i] != NULL; i++) {
            add(to, METRIC "%s{worker=\"%u\",%s=\"%s\"} %llu\n", family->name, worker, family->label, family->values[i],
                (unsigned long long)word_at(engine, worker, family->at, i));
        }
    }
}

/* A family of one number for each class of each worker. */
typedef struct class_family {
    const char *name, *type, *help;
    size_t at; /* of the word in class_statistics */
    bool is_of_blocks, is_duration;
} class_family;

#define OF_CLASS(member) offsetof(class_statistics, member)

static const class_family class_families[] = {
    {"blocks", "gauge", "Blocks of the worker's pool.", OF_CLASS(block_count), true, false},
    {"free_blocks", "gauge", "Blocks that are no grants and were free at the last count.", OF_CLASS(free), true, false},
    {"grants", "gauge", "Grants of all lanes to the worker.", OF_CLASS(granted), false, false},
    {"grants_in_flight", "gauge", "Grants whose tasks the worker has taken in and that are not done.",
     OF_CLASS(in_flight), false, false},
    {"class_tasks_total", "counter", "Tasks that ended, by class.", OF_CLASS(done), false, false},
    {"over_service_total", "counter", "Runs that took longer than the stated limit of their class.",
     OF_CLASS(over_service), false, false},
    {"longest_service_seconds", "gauge", "The longest run of a task.", OF_CLASS(longest_service), false, true},
    {"longest_sojourn_seconds", "gauge", "The longest time from submit to end.", OF_CLASS(longest_sojourn), false,
     true},
};

static void add_class_number(metrics_text *to, const flat_engine *engine, const class_family *family, uint32_t worker,
                             const class_statistics *class) {
    uint64_t number = seen((const uint64_t *)(const void *)((const char *)class + family->at));
    add(to, METRIC "%s{worker=\"%u\",block_size=\"", family->name, worker);
    if (class->block_size == 0) {
        add(to, "inline\"} ");
    } else {
        add(to, "%llu\"} ", (unsigned long long)class->block_size);
    }
    if (family->is_duration) {
        add_seconds(to, ns_of_ticks(&engine->rate, number));
    } else {
        add(to, "%llu\n", (unsigned long long)number);
    }
}

static void add_class_family(metrics_text *to, const flat_engine *engine, const class_family *family) {
    add_family(to, family->name, family->type, family->help);
    for (uint32_t worker = 0; worker < engine->worker_count; worker++) {
        const worker_statistics *statistics = engine->workers[worker].statistics;
        uint64_t count = statistics->class_count + (family->is_of_blocks ? 0 : 1);
        for (uint64_t i = 0; i < count; i++) {
            add_class_number(to, engine, family, worker, &statistics->classes[i]);
        }
    }
}

/* Nanoseconds: from one to the next 2 to 2.5 times as much, so that a quantile can be told to about that. */
static const uint64_t limits_ns[] = {100,        200,        500,        1000,       2000,      5000,      10000,
                                     20000,      50000,      100000,     200000,     500000,    1000000,   2000000,
                                     5000000,    10000000,   20000000,   50000000,   100000000, 200000000, 500000000,
                                     1000000000, 2000000000, 5000000000, 10000000000};
#define LIMITS (sizeof limits_ns / sizeof *limits_ns)

typedef struct duration_family {
    const char *name, *help;
    flat_duration duration;
} duration_family;

static const duration_family duration_families[] = {
    {"waiting_seconds", "From submit to begin of tasks that were done.", FLAT_DURATION_WAITING},
    {"service_seconds", "From begin to end of tasks that were done.", FLAT_DURATION_SERVICE},
    {"sojourn_seconds", "From submit to end of tasks that were done.", FLAT_DURATION_SOJOURN},
};

static void add_limit(metrics_text *to, const char *name, uint32_t worker, uint64_t ns, uint64_t count) {
    add(to, METRIC "%s_bucket{worker=\"%u\",le=\"%llu.%07llu\"} %llu\n", name, worker,
        (unsigned long long)(ns / NS_PER_S), (unsigned long long)(ns % NS_PER_S / 100), (unsigned long long)count);
}

/* One walk over the buckets, each of which is read once: what is written agrees with itself. The sum takes the middle
 * of each bucket. */
static void add_histogram(metrics_text *to, const flat_engine *engine, uint32_t worker, const duration_family *family) {
    const duration_histogram *of = flat_durations_of(engine->workers[worker].statistics, family->duration);
    uint64_t count = 0, sum = 0, lower = 0;
    size_t limit = 0;
    for (uint32_t bucket = 0; bucket < HISTOGRAM_BUCKETS; bucket++) {
        uint64_t upper = histogram_upper_end(bucket), added = seen(&of->counts[bucket]);
        while (limit < LIMITS && ns_of_ticks(&engine->rate, upper) >= limits_ns[limit]) {
            add_limit(to, family->name, worker, limits_ns[limit++], count);
        }
        count += added;
        sum += added * ns_of_ticks(&engine->rate, lower + (upper - lower) / 2);
        lower = upper + 1;
    }
    for (; limit < LIMITS; limit++) add_limit(to, family->name, worker, limits_ns[limit], count);
    add(to, METRIC "%s_bucket{worker=\"%u\",le=\"+Inf\"} %llu\n", family->name, worker, (unsigned long long)count);
    add(to, METRIC "%s_sum{worker=\"%u\"} ", family->name, worker);
    add_seconds(to, sum);
    add(to, METRIC "%s_count{worker=\"%u\"} %llu\n", family->name, worker, (unsigned long long)count);
}

static void add_duration_family(metrics_text *to, const flat_engine *engine, const duration_family *family) {
    add_family(to, family->name, "histogram", family->help);
    for (uint32_t worker = 0; worker < engine->worker_count; worker++) add_histogram(to, engine, worker, family);
}

/* What is computed of each worker. */
static void add_computed(metrics_text *to, const flat_engine *engine) {
    flat_worker_snapshot snapshot;
    add_family(to, "tasks_accepted_total", "counter", "Tasks that were accepted for the worker.");
    for (uint32_t i = 0; i < engine->worker_count; i++) {
        add(to, METRIC "tasks_accepted_total{worker=\"%u\"} %llu\n", i,
            (unsigned long long)flat_engine_accepted(engine, i));
    }
    add_family(to, "untaken_tasks", "gauge", "Tasks in the lanes, which the worker has not taken in yet.");
    for (uint32_t i = 0; i < engine->worker_count; i++) {
        if (flat_engine_snapshot(engine, i, &snapshot) != FLAT_OK) return;
        add(to, METRIC "untaken_tasks{worker=\"%u\"} %llu\n", i, (unsigned long long)snapshot.untaken);
    }
    add_family(to, "running_task_seconds", "gauge", "How long the running task has been running; 0: none runs.");
    for (uint32_t i = 0; i < engine->worker_count; i++) {
        if (flat_engine_snapshot(engine, i, &snapshot) != FLAT_OK) return;
        add(to, METRIC "running_task_seconds{worker=\"%u\"} ", i);
        add_seconds(to, snapshot.running_ns);
    }
}

static void add_estimates(metrics_text *to, const flat_engine *engine) {
    add_family(to, "service_estimate_seconds", "gauge", "Moving average of a type's service time.");
    for (uint32_t worker = 0; worker < engine->worker_count; worker++) {
        for (uint32_t type = 0; type < FLAT_ENGINE_TASK_TYPES; type++) {
            uint64_t estimate = seen(&engine->workers[worker].statistics->service_estimate[type]);
            if (estimate == 0) continue;
            add(to, METRIC "service_estimate_seconds{worker=\"%u\",type=\"", worker);
            if (engine->statistics->types[type][0] == '\0') {
                add(to, "%u", type);
            } else {
                add_escaped(to, engine->statistics->types[type]);
            }
            add(to, "\"} ");
            add_seconds(to, ns_of_ticks(&engine->rate, estimate) / 16);
        }
    }
}

static const char *const refusal_names[FLAT_REFUSALS] = {"no_grant", "ring_full", "deadline_past", "draining",
                                                         "invalid"};

static void add_refusals(metrics_text *to, const flat_engine *engine) {
    add_family(to, "refused_total", "counter", "Submits that were refused, by reason.");
    for (uint32_t reason = 0; reason < FLAT_REFUSALS; reason++) {
        uint64_t refused = 0;
        for (uint32_t i = 0; i < engine->submitter_count; i++) {
            refused += seen(&engine->submitters[i].statistics->refused[reason]);
        }
        add(to, METRIC "refused_total{reason=\"%s\"} %llu\n", refusal_names[reason], (unsigned long long)refused);
    }
}

size_t flat_engine_metrics(const flat_engine *engine, char *buffer, size_t capacity) {
    if (engine == NULL) return 0;
    metrics_text text = {.buffer = buffer, .capacity = buffer != NULL ? capacity : 0};
    if (text.capacity != 0) buffer[0] = '\0';
    add_computed(&text, engine);
    for (size_t i = 0; i < sizeof worker_families / sizeof *worker_families; i++) {
        add_worker_family(&text, engine, &worker_families[i]);
    }
    for (size_t i = 0; i < sizeof class_families / sizeof *class_families; i++) {
        add_class_family(&text, engine, &class_families[i]);
    }
    for (size_t i = 0; i < sizeof duration_families / sizeof *duration_families; i++) {
        add_duration_family(&text, engine, &duration_families[i]);
    }
    add_estimates(&text, engine);
    add_refusals(&text, engine);
    return text.length;
}
