/* Stacks and names, each kept once, in memory that several processes share: a hash table without locks.
 *
 * An entry is a count and that many words; its number is where it stands in `words`, so whoever has a number reads the
 * entry without a search. Entries are never changed or removed. A writer that is killed in the middle leaves an entry
 * that nothing refers to. */
#ifndef FLATLINE_PRELOAD_INTERNED_H
#define FLATLINE_PRELOAD_INTERNED_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define INTERNED_BITS 20 /* of an entry's number */
#define INTERNED_WORDS (1u << INTERNED_BITS)
#define INTERNED_SLOTS (1u << 20) /* twice as many as entries of one word have room */
#define INTERNED_LONGEST 600u     /* words of one entry: a path of PATH_MAX bytes */

typedef struct interned_table {
    uint32_t used;                  /* words that are taken; 0 and 1 both mean none, since no entry has the number 0 */
    uint32_t refused;               /* entries for which there was no room */
    uint32_t shortened;             /* stacks that are not there in whole (stack_tree.h) */
    uint32_t slots[INTERNED_SLOTS]; /* the hash's upper bits above the entry's number; 0: empty */
    uint64_t words[INTERNED_WORDS];
} interned_table;

/* Returns the number of the entry with these words, an old one or a new one. 0 iff the table is full there: no room for
 * the words, or the 64 slots in which it could stand are taken. At most 64 slots are read. By any thread or process at
 * a time; it neither waits nor allocates. */
uint32_t interned_put(interned_table *table, const uint64_t *words, size_t count);

/* The same, but a new entry is made only if it leaves as many words as `spare` for others; what it does not make for
 * that reason is not counted as refused. */
uint32_t interned_put_sparing(interned_table *table, const uint64_t *words, size_t count, uint32_t spare);

/* The same for a text, which is cut off behind 8 * INTERNED_LONGEST bytes. */
uint32_t interned_put_text(interned_table *table, const char *text);

/* The entry's words, and their number in `count`; NULL iff it is no number of an entry, as where it was not read from
 * this table. */
const uint64_t *interned_get(const interned_table *table, uint32_t entry, size_t *count);

#ifdef __cplusplus
}
#endif
#endif
