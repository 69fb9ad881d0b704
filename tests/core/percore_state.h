/* Access to internals of a set of shards that its public functions do not show: the state of a block, frees executed
 * step by step, and damage. It is in C because the metadata's declarations are C. */
#ifndef FLATLINE_TESTS_CORE_PERCORE_STATE_H
#define FLATLINE_TESTS_CORE_PERCORE_STATE_H

#include <flatline/percore.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Whether another thread freed the block of this shard, and the owner has not collected it yet. */
bool percore_is_claimed(const flat_pool *shard, const void *block);

/* The steps of a remote free of a live block, one at a time. */
enum { CLAIM, ADD_TO_LEAF, ADD_TO_BRANCH, ADD_TO_TRUNK, STEPS };

/* Executes one step. Returns whether another one must follow. */
bool percore_step(flat_percore *set, void *block, unsigned step);

/* Executes a local and a remote free of a live block, with the remote free's claim between the local free's check and
 * its store. Returns whether both returned FLAT_OK. */
bool percore_free_twice_at_once(flat_percore *set, void *block);

/* Whether the data written by owners, by remote frees and by the owners of different shards lie in different pairs of
 * cache lines, and the words of every class are aligned to their size. */
bool percore_sides_are_apart(flat_percore *set);

/* The number of kinds of damage that `flat_percore_check` must see. */
size_t percore_damages(void);

/* Damages a shard that percore_inspect_test.cpp has prepared. Returns a description of the damage. */
const char *percore_damage(flat_pool *shard, size_t kind);

#ifdef __cplusplus
}
#endif
#endif
