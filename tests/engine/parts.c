#include "parts.h"

#include "../../src/engine/descriptor.h"
#include "../../src/engine/histogram.h"
#include "../../src/engine/links.h"
#include "../../src/engine/ready.h"
#include "../../src/engine/ticks.h"
#include "../../src/engine/wheel.h"

#include <stdlib.h>
#include <string.h>

static void *make_zeroed(size_t count, size_t size) {
    void *made = calloc(count, size);
    if (made == NULL) abort();
    return made;
}

struct part_links {
    list_link *links;
};

part_links *part_links_make(uint32_t nodes) {
    part_links *made = make_zeroed(1, sizeof *made);
    made->links = make_zeroed(nodes, sizeof *made->links);
    return made;
}

void part_links_end(part_links *of) {
    free(of->links);
    free(of);
}

void part_links_begin(part_links *of, uint32_t head) { links_begin(of->links, head); }
bool part_links_are_empty(const part_links *of, uint32_t head) { return links_are_empty(of->links, head); }
void part_links_append(part_links *of, uint32_t head, uint32_t node) { links_append(of->links, head, node); }
uint32_t part_links_remove(part_links *of, uint32_t node) { return links_remove(of->links, node); }
uint32_t part_links_next(const part_links *of, uint32_t node) { return of->links[node].next; }
uint32_t part_links_previous(const part_links *of, uint32_t node) { return of->links[node].previous; }

/* The times of the nodes are not neighbours, as in the engine. */
#define DUE_STRIDE 3

const unsigned part_wheel_levels = WHEEL_LEVELS, part_wheel_slot_bits = WHEEL_SLOT_BITS;

struct part_wheel {
    timing_wheel wheel;
    list_link *links;
    uint64_t *due;
};

part_wheel *part_wheel_make(uint32_t nodes, uint64_t now) {
    part_wheel *made = make_zeroed(1, sizeof *made);
    made->links = make_zeroed((size_t)nodes + WHEEL_HEADS, sizeof *made->links);
    made->due = make_zeroed((size_t)nodes * DUE_STRIDE, sizeof *made->due);
    made->wheel = (timing_wheel){.now = now,
                                 .links = made->links,
                                 .due = made->due,
                                 .due_stride = DUE_STRIDE,
                                 .heads = nodes,
                                 .emptying = WHEEL_NOBODY};
    for (uint32_t i = 0; i < WHEEL_HEADS; i++) links_begin(made->links, nodes + i);
    return made;
}

void part_wheel_end(part_wheel *of) {
    free(of->links);
    free(of->due);
    free(of);
}

void part_wheel_add(part_wheel *of, uint32_t node, uint64_t due) {
    of->due[(size_t)node * DUE_STRIDE] = due;
    wheel_add(&of->wheel, node);
}

void part_wheel_remove(part_wheel *of, uint32_t node) { wheel_remove(&of->wheel, node); }
uint32_t part_wheel_step(part_wheel *of, uint64_t until, bool *moved) { return wheel_step(&of->wheel, until, moved); }
uint32_t part_wheel_take_any(part_wheel *of) { return wheel_take_any(&of->wheel); }
uint64_t part_wheel_now(const part_wheel *of) { return of->wheel.now; }
uint64_t part_wheel_next(const part_wheel *of) { return wheel_next(&of->wheel); }
uint32_t part_wheel_length(const part_wheel *of) { return of->wheel.length; }
bool part_wheel_is_emptying(const part_wheel *of) { return of->wheel.emptying != WHEEL_NOBODY; }

struct part_ready {
    ready_tasks ready;
    uint64_t lengths[FLAT_ENGINE_URGENCIES];
    uint32_t nodes;
    list_link *links;
};

part_ready *part_ready_make(uint32_t nodes, unsigned limit) {
    part_ready *made = make_zeroed(1, sizeof *made);
    made->nodes = nodes;
    made->links = make_zeroed((size_t)nodes + FLAT_ENGINE_URGENCIES, sizeof *made->links);
    made->ready = (ready_tasks){
        .start = 0x8000 - (uint64_t)limit, .links = made->links, .heads = nodes, .lengths = made->lengths};
    for (uint32_t i = 0; i < FLAT_ENGINE_URGENCIES; i++) links_begin(made->links, nodes + i);
    return made;
}

void part_ready_end(part_ready *of) {
    free(of->links);
    free(of);
}

void part_ready_copy(part_ready *to, const part_ready *from) {
    list_link *links = to->links;
    memcpy(links, from->links, ((size_t)from->nodes + FLAT_ENGINE_URGENCIES) * sizeof *links);
    *to = *from;
    to->links = to->ready.links = links;
    to->ready.lengths = to->lengths;
}

void part_ready_append(part_ready *of, unsigned urgency, uint32_t node) { ready_append(&of->ready, urgency, node); }
void part_ready_remove(part_ready *of, unsigned urgency, uint32_t node) { ready_remove(&of->ready, urgency, node); }
uint32_t part_ready_choose(part_ready *of) { return ready_choose(&of->ready); }
uint64_t part_ready_length(const part_ready *of, unsigned urgency) { return of->lengths[urgency]; }
uint32_t part_ready_waiting(const part_ready *of) { return of->ready.waiting; }
uint64_t part_ready_counters(const part_ready *of) { return of->ready.passed_over; }

const uint32_t part_histogram_buckets = HISTOGRAM_BUCKETS, part_histogram_steps = HISTOGRAM_STEPS,
               part_histogram_most_bits = HISTOGRAM_MOST_BITS;

uint32_t part_histogram_bucket(uint64_t value) { return histogram_bucket(value); }
uint64_t part_histogram_upper_end(uint32_t bucket) { return histogram_upper_end(bucket); }
void part_histogram_add(uint64_t *counts, uint64_t value) {
    duration_histogram one;
    memcpy(one.counts, counts, sizeof one.counts);
    histogram_add(&one, value);
    memcpy(counts, one.counts, sizeof one.counts);
}

const uint64_t part_most_ns = MOST_NS;

static tick_rate rate_of(part_rate rate) {
    return (tick_rate){.origin = rate.origin, .ns_per_tick = rate.ns_per_tick, .ticks_per_ns = rate.ticks_per_ns};
}

uint64_t part_read_ticks(void) { return read_ticks(); }
uint64_t part_ns_of_ticks(part_rate rate, uint64_t ticks) {
    tick_rate of = rate_of(rate);
    return ns_of_ticks(&of, ticks);
}
uint64_t part_ticks_of_ns(part_rate rate, uint64_t ns) {
    tick_rate of = rate_of(rate);
    return ticks_of_ns(&of, ns);
}
uint64_t part_time_of_ticks(part_rate rate, uint64_t ticks) {
    tick_rate of = rate_of(rate);
    return time_of_ticks(&of, ticks);
}
uint64_t part_ticks_at_time(part_rate rate, uint64_t ns) {
    tick_rate of = rate_of(rate);
    return ticks_at_time(&of, ns);
}

part_descriptor_layout part_descriptor_layout_of(void) {
    return (part_descriptor_layout){.size = sizeof(task_descriptor),
                                    .alignment = _Alignof(task_descriptor),
                                    .lap_at = offsetof(task_descriptor, lap),
                                    .room_at = offsetof(task_descriptor, room),
                                    .room_size = sizeof((task_descriptor *)0)->room};
}

static uint8_t flags_of(bool has_deadline, bool has_start) {
    return (uint8_t)((has_deadline ? HAS_DEADLINE : 0) | (has_start ? HAS_START : 0));
}

size_t part_deadline_at(bool has_deadline, bool has_start) {
    task_descriptor task = {.flags = flags_of(has_deadline, has_start)};
    return (size_t)((char *)deadline_of(&task) - (char *)&task);
}

size_t part_start_at(bool has_deadline, bool has_start) {
    task_descriptor task = {.flags = flags_of(has_deadline, has_start)};
    return (size_t)((char *)start_of(&task) - (char *)&task);
}

bool part_flags_are_apart(void) {
    unsigned all[] = {URGENCY_MASK, WANTS_COMPLETION, ALWAYS_RUN, HAS_DEADLINE,
                      HAS_START,    IS_CANCELLATION,  IS_DEFERRED};
    unsigned seen = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if ((seen & all[i]) != 0 || all[i] > UINT8_MAX) return false;
        seen |= all[i];
    }
    return URGENCY_MASK + 1 == FLAT_ENGINE_URGENCIES;
}
