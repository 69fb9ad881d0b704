/* When a dispatcher sent the tasks at a shard that no report contains yet.
 *
 * Up to OWN_SENDS of them are remembered one by one. If there are more, each place stands for several that were sent
 * one after another, and counts until a report contains the last of them: then fewer than the oldest place has count
 * for too long. */
#ifndef FLATLINE_ENGINE_DISPATCH_OWN_SENDS_H
#define FLATLINE_ENGINE_DISPATCH_OWN_SENDS_H

#include "../../core/compiler.h"

#include <flatline/bounded.h>
#include <stdint.h>

#define OWN_SENDS 16 /* an even number */

typedef struct own_sends {
    uint64_t last[OWN_SENDS];  /* when the last of a place was sent; the oldest place comes first */
    uint64_t work[OWN_SENDS];  /* what the tasks of a place take, in ticks */
    uint32_t tasks[OWN_SENDS]; /* of a place: at least 1 */
    uint32_t places;           /* in use */
    uint64_t all_work;         /* of all places */
    uint32_t all;              /* tasks of all places */
    uint32_t each;             /* tasks that a place is to have; at least 1 */
} own_sends;

/* Two places become one, all over. */
static inline void own_sends_join(own_sends *of) {
    for (uint32_t i = 0; i < OWN_SENDS / 2; i++) {
        FLAT_LOOP_AT_MOST(OWN_SENDS / 2);
        of->last[i] = of->last[2 * i + 1];
        of->work[i] = of->work[2 * i] + of->work[2 * i + 1];
        of->tasks[i] = of->tasks[2 * i] + of->tasks[2 * i + 1];
    }
    of->places = OWN_SENDS / 2;
    of->each *= 2;
}

/* A task of so many ticks. `now` is not before the last one. */
static inline void own_sends_add(own_sends *of, uint64_t ticks, uint64_t now) {
    of->all++;
    of->all_work += ticks;
    if (of->places != 0 && of->tasks[of->places - 1] < of->each) {
        of->tasks[of->places - 1]++;
        of->work[of->places - 1] += ticks;
        of->last[of->places - 1] = now;
        return;
    }
    if (of->places == OWN_SENDS) own_sends_join(of);
    of->last[of->places] = now;
    of->tasks[of->places] = 1;
    of->work[of->places] = ticks;
    of->places++;
}

/* A report contains all that was sent until `published`. With few places left, new ones are of one task again. */
static inline void own_sends_forget(own_sends *of, uint64_t published) {
    uint32_t kept = 0;
    of->all = 0;
    of->all_work = 0;
    for (uint32_t i = 0; i < of->places; i++) {
        FLAT_LOOP_AT_MOST(OWN_SENDS);
        if (of->last[i] <= published) continue;
        of->last[kept] = of->last[i];
        of->tasks[kept] = of->tasks[i];
        of->work[kept] = of->work[i];
        of->all += of->tasks[i];
        of->all_work += of->work[i];
        kept++;
    }
    of->places = kept;
    if (kept <= OWN_SENDS / 4) of->each = 1;
}

#endif
