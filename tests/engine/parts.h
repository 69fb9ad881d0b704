/* The parts of the engine that are in headers, behind plain functions: their headers are C, and the tests are C++. The
 * planted faults compile this file anew, and nothing else of a test. */
#ifndef FLATLINE_TESTS_ENGINE_PARTS_H
#define FLATLINE_TESTS_ENGINE_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PART_NOBODY UINT32_MAX

/* links.h. Each `..._make` aborts if there is no memory. */
typedef struct part_links part_links;
part_links *part_links_make(uint32_t nodes);
void part_links_end(part_links *of);
void part_links_begin(part_links *of, uint32_t head);
bool part_links_are_empty(const part_links *of, uint32_t head);
void part_links_append(part_links *of, uint32_t head, uint32_t node);
uint32_t part_links_remove(part_links *of, uint32_t node);
uint32_t part_links_next(const part_links *of, uint32_t node);
uint32_t part_links_previous(const part_links *of, uint32_t node);

/* wheel.h */
extern const unsigned part_wheel_levels, part_wheel_slot_bits;
typedef struct part_wheel part_wheel;
part_wheel *part_wheel_make(uint32_t nodes, uint64_t now);
void part_wheel_end(part_wheel *of);
void part_wheel_add(part_wheel *of, uint32_t node, uint64_t due);
void part_wheel_remove(part_wheel *of, uint32_t node);
uint32_t part_wheel_step(part_wheel *of, uint64_t until, bool *moved);
uint32_t part_wheel_take_any(part_wheel *of);
uint64_t part_wheel_now(const part_wheel *of);
uint64_t part_wheel_next(const part_wheel *of); /* not of an empty one */
uint32_t part_wheel_length(const part_wheel *of);
bool part_wheel_is_emptying(const part_wheel *of); /* a slot that was begun has nodes left */

/* ready.h */
typedef struct part_ready part_ready;
part_ready *part_ready_make(uint32_t nodes, unsigned limit);
void part_ready_end(part_ready *of);
void part_ready_copy(part_ready *to, const part_ready *from); /* of as many nodes */
void part_ready_append(part_ready *of, unsigned urgency, uint32_t node);
void part_ready_remove(part_ready *of, unsigned urgency, uint32_t node);
uint32_t part_ready_choose(part_ready *of);
uint64_t part_ready_length(const part_ready *of, unsigned urgency);
uint32_t part_ready_waiting(const part_ready *of); /* a bit for each urgency */
uint64_t part_ready_counters(const part_ready *of);

/* histogram.h */
extern const uint32_t part_histogram_buckets, part_histogram_steps, part_histogram_most_bits;
uint32_t part_histogram_bucket(uint64_t value);
uint64_t part_histogram_upper_end(uint32_t bucket);
void part_histogram_add(uint64_t *counts, uint64_t value); /* of each bucket */

/* ticks.h, with a rate of `ns_per_tick` and `ticks_per_ns` in units of 2^-32 */
extern const uint64_t part_most_ns;
typedef struct part_rate {
    uint64_t origin, ns_per_tick, ticks_per_ns;
} part_rate;
uint64_t part_read_ticks(void);
uint64_t part_ns_of_ticks(part_rate rate, uint64_t ticks);
uint64_t part_ticks_of_ns(part_rate rate, uint64_t ns);
uint64_t part_time_of_ticks(part_rate rate, uint64_t ticks);
uint64_t part_ticks_at_time(part_rate rate, uint64_t ns);

/* descriptor.h: where the members of a descriptor are, in bytes from its start. */
typedef struct part_descriptor_layout {
    size_t size, alignment, lap_at, room_at, room_size;
} part_descriptor_layout;
part_descriptor_layout part_descriptor_layout_of(void);
/* Of a task with a deadline or a start or both, where they are. */
size_t part_deadline_at(bool has_deadline, bool has_start);
size_t part_start_at(bool has_deadline, bool has_start);
bool part_flags_are_apart(void);

#ifdef __cplusplus
}
#endif
#endif
