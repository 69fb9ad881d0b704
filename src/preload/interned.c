#define _GNU_SOURCE
#include "interned.h"

#include <stdbool.h>
#include <string.h>

#define PROBES 64u

/* What an entry is to hold: bytes, of which the last word's missing ones are 0. Threads with small stacks put texts
 * too, so these are not copied before they are in the table. */
typedef struct content {
    const char *bytes;
    size_t length, count; /* in bytes; in words */
} content;

static uint64_t word_of(const content *of, size_t i) {
    uint64_t word = 0;
    const size_t rest = of->length - i * sizeof word;
    if (rest >= sizeof word)
        memcpy(&word, of->bytes + i * sizeof word, sizeof word);
    else
        memcpy(&word, of->bytes + i * sizeof word, rest);
    return word;
}

/* The 64-bit finalizer of MurmurHash3, by Austin Appleby, for one word after another. */
static uint64_t hash_of(const content *of) {
    uint64_t hash = of->count;
    for (size_t i = 0; i < of->count; i++) {
        hash ^= word_of(of, i);
        hash = (hash ^ hash >> 33) * 0xff51afd7ed558ccdu;
        hash = (hash ^ hash >> 33) * 0xc4ceb9fe1a85ec53u;
        hash ^= hash >> 33;
    }
    return hash;
}

static uint32_t entry_in(uint32_t slot) { return slot & (INTERNED_WORDS - 1); }

static bool holds(const interned_table *table, uint32_t slot, uint32_t tag, const content *of) {
    if (slot >> INTERNED_BITS != tag) return false;
    size_t there = 0;
    const uint64_t *entry = interned_get(table, entry_in(slot), &there);
    if (entry == NULL || there != of->count) return false;
    for (size_t i = 0; i < there; i++)
        if (entry[i] != word_of(of, i)) return false;
    return true;
}

/* The number of a new entry, which no slot has yet; 0: no room. */
static uint32_t append(interned_table *table, const content *of, uint32_t spare) {
    const size_t count = of->count;
    if (__atomic_load_n(&table->used, __ATOMIC_RELAXED) + count + 2 + spare > INTERNED_WORDS) return 0;
    uint32_t entry = __atomic_fetch_add(&table->used, (uint32_t)count + 1, __ATOMIC_RELAXED) + 1;
    if (entry + count + 1 > INTERNED_WORDS) return 0;
    for (size_t i = 0; i < count; i++) table->words[entry + 1 + i] = word_of(of, i);
    table->words[entry] = count;
    return entry;
}

static uint32_t refuse(interned_table *table) {
    (void)__atomic_fetch_add(&table->refused, 1, __ATOMIC_RELAXED);
    return 0;
}

static uint32_t put(interned_table *table, const content *of, uint32_t spare) {
    const uint64_t hash = hash_of(of);
    const uint32_t tag = (uint32_t)(hash >> 32) >> INTERNED_BITS;
    uint32_t entry = 0;
    for (uint32_t i = 0; i < PROBES; i++) {
        uint32_t *place = &table->slots[(hash + i) % INTERNED_SLOTS], slot = __atomic_load_n(place, __ATOMIC_ACQUIRE);
        while (slot == 0) {
            if (entry == 0) entry = append(table, of, spare);
            if (entry == 0) return spare == 0 ? refuse(table) : 0;
            if (__atomic_compare_exchange_n(place, &slot, tag << INTERNED_BITS | entry, false, __ATOMIC_RELEASE,
                                            __ATOMIC_ACQUIRE))
                return entry;
        }
        if (holds(table, slot, tag, of)) return entry_in(slot);
    }
    return refuse(table);
}

uint32_t interned_put_sparing(interned_table *table, const uint64_t *words, size_t count, uint32_t spare) {
    if (count > INTERNED_LONGEST) count = INTERNED_LONGEST;
    const content of = {(const char *)words, count * sizeof *words, count};
    return put(table, &of, spare);
}

uint32_t interned_put(interned_table *table, const uint64_t *words, size_t count) {
    return interned_put_sparing(table, words, count, 0);
}

uint32_t interned_put_text(interned_table *table, const char *text) {
    const size_t word = sizeof *table->words, length = strnlen(text, INTERNED_LONGEST * word);
    const content of = {text, length, (length + word - 1) / word};
    return put(table, &of, 0);
}

const uint64_t *interned_get(const interned_table *table, uint32_t entry, size_t *count) {
    if (entry == 0 || entry >= INTERNED_WORDS) return NULL;
    *count = table->words[entry];
    return *count <= INTERNED_LONGEST && *count < INTERNED_WORDS - entry ? &table->words[entry + 1] : NULL;
}
