/* What the public functions of a set of shards keep to themselves: where a block stands, frees that stop on their way,
 * and damage. In C because the metadata's declarations are C. */
#ifndef FLATLINE_TESTS_CORE_PERCORE_STATE_H
#define FLATLINE_TESTS_CORE_PERCORE_STATE_H

#include <flatline/percore.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Whether a block of the shard was freed by another thread and not collected. */
bool percore_is_claimed(const flat_pool *shard, const void *block);

/* The steps of a remote free of a live block, one at a time. */
enum { CLAIM, ADD_TO_LEAF, ADD_TO_BRANCH, ADD_TO_TRUNK, STEPS };

/* Does one step; whether another is due. */
bool percore_step(flat_percore *set, void *block, unsigned step);

/* A local and a remote free of a live block, the remote one's claim between the local one's look and its store. Both
 * return FLAT_OK, or this false. */
bool percore_free_twice_at_once(flat_percore *set, void *block);

/* Whether what both sides write, and what the owners of two shards write, lie a pair of cache lines apart, and the
 * words of every class at a multiple of their size. */
bool percore_sides_are_apart(flat_percore *set);

/* The number of kinds of damage that `flat_percore_check` must see. */
size_t percore_damages(void);

/* Does damage of `kind` to a shard of which percore_inspect_test.cpp tells; returns what was done, in words. */
const char *percore_damage(flat_pool *shard, size_t kind);

#ifdef __cplusplus
}
#endif
#endif
