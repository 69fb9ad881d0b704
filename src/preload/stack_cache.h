/* The stacks of a thread's calls, at hand by where a call is made: its return address and its stack pointer.
 *
 * Two calls with the same two may come from different callers further out, as calls through a wrapper around malloc do.
 * So an entry also knows where on the stack the next return address stood, and which it was: that is compared at every
 * call. And it has a proof: the same of every return address. While each of them still stands there, it is the same
 * stack, and need not be unwound again. What this takes for the same and is not: a frame whose size is decided at run
 * time (alloca), above which the same return addresses were left by an earlier call; and code at the same address in a
 * library that took the place of an unloaded one.
 *
 * A stack that is unwound often has its outer frames in common with the one before. Where a return address stands where
 * the same one stood then, and all those further out still stand there, the rest is not unwound again.
 *
 * The stack is read without asking whether that memory is still there. So only such memory is read as is mapped for as
 * long as the thread lives: its own stack. On stacks of coroutines and of signals' handlers, and on other processors
 * than x86-64, there are no proofs; nor, before Linux 6.11, within a frame of more than a page in a thread that is not
 * the first of its process. */
#ifndef FLATLINE_PRELOAD_STACK_CACHE_H
#define FLATLINE_PRELOAD_STACK_CACHE_H

#include "interned.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

#define STACK_CACHE_BITS 17        /* 131,072 entries of 32 bytes at most: 4 MiB */
#define STACK_CACHE_FIRST_BITS 9   /* at first: each page of them costs a page fault, and memory in every thread */
#define STACK_CACHE_FEW_BITS 5     /* of a thread that has no more memory for them, or ends */
#define STACK_CACHE_PROOFS 131072u /* words, 1 MiB: of 8,192 stacks of 7 frames. Then from the start again */

/* The key is the upper 44 bits of a hash, the stack's number the lower ones. 0: empty. */
typedef struct stack_entry {
    uint64_t key_and_stack;
    const uintptr_t *outer_slot; /* where the return address of the caller's own function stood; or a word that is 0 */
    uintptr_t outer;             /* that address; 0: nothing is known of it */
    uint64_t proof;              /* where it stands among the words of proofs; 0: none */
} stack_entry;

/* A variable of a thread, zero at first. */
typedef struct stack_cache {
    stack_entry *entries;
    uint64_t mask;  /* of an entry's place in bytes */
    uint64_t taken; /* entries, since there are that many */
    uint64_t *proofs;
    struct last_stack *last; /* that was unwound */
    uint32_t proof_end;
    uintptr_t begin, end; /* of the thread's own stack, as far down as it is known */
    bool asked_for_begin; /* of the kernel */
    stack_entry few[1u << STACK_CACHE_FEW_BITS];
} stack_cache;

/* Where the stack of a call stands, and by which key. */
typedef struct stack_place {
    stack_entry *entry;
    uint64_t key;
} stack_place;

/* Once in a process, before the others: where its first thread's stack is. */
void stack_cache_prepare(void);

/* Memory for the thread's entries; without it there are few, and no proofs. */
void stack_cache_begin(stack_cache *cache);
void stack_cache_end(stack_cache *cache);

/* The entry of a key, which has the upper bits of its hash. */
static inline stack_entry *stack_entry_of(const stack_cache *cache, uint64_t key) {
    return (stack_entry *)(void *)((char *)cache->entries + (key >> (59 - STACK_CACHE_BITS) & cache->mask));
}

/* The multiplication spreads the frames of a recursion, which lie evenly apart, over all entries (Fibonacci hashing):
 * in the upper bits. */
static inline stack_place stack_place_by(const stack_cache *cache, uint64_t where) {
    const uint64_t key = where * 0x9e3779b97f4a7c15u >> INTERNED_BITS << INTERNED_BITS;
    const stack_place place = {stack_entry_of(cache, key), key};
    return place;
}

/* `frame`: the stack pointer behind the return to `caller`, which is that function's CFA. */
static inline stack_place stack_place_of(const stack_cache *cache, const void *caller, uintptr_t frame) {
    return stack_place_by(cache, (uintptr_t)caller ^ (frame << 20 | frame >> 44));
}

/* The number of the stack that stands there, unless it is another place's. */
static inline uint64_t stack_at_hand(const stack_place *place) { return place->entry->key_and_stack ^ place->key; }
static inline bool stack_is_at_hand(const stack_place *place, uint64_t stack) {
    return stack >> INTERNED_BITS == 0 && *place->entry->outer_slot == place->entry->outer;
}

/* The number of a call's stack where it was not there, or, `proved`, where it must be the right one: of the place's
 * other entry, or unwound and put into the cache. 0 iff the table is full. A proof takes one to two ns for each frame,
 * unwinding some 1 to 15 us; no lock, no allocation; errno stays. */
uint32_t stack_find(stack_cache *cache, interned_table *table, const stack_place *place, const void *caller,
                    uintptr_t frame, bool proved);

#ifdef __cplusplus
}
#endif
#endif
