#include "interned.h"

#include <stdbool.h>
#include <string.h>

#define PROBES 64u
#define SHORT_TEXT 32u /* words */

/* The 64-bit finalizer of MurmurHash3, by Austin Appleby, for one word after another. */
static uint64_t hash_of(const uint64_t *words, size_t count) {
    uint64_t hash = count;
    for (size_t i = 0; i < count; i++) {
        hash ^= words[i];
        hash = (hash ^ hash >> 33) * 0xff51afd7ed558ccdu;
        hash = (hash ^ hash >> 33) * 0xc4ceb9fe1a85ec53u;
        hash ^= hash >> 33;
    }
    return hash;
}

static bool holds(const interned_table *table, uint64_t slot, uint64_t tag, const uint64_t *words, size_t count) {
    if (slot >> 32 != tag) return false;
    size_t there = 0;
    const uint64_t *entry = interned_get(table, (uint32_t)slot, &there);
    return entry != NULL && there == count && memcmp(entry, words, count * sizeof *words) == 0;
}

/* The number of a new entry, which no slot has yet; 0: no room. */
static uint32_t append(interned_table *table, const uint64_t *words, size_t count) {
    if (__atomic_load_n(&table->used, __ATOMIC_RELAXED) + count + 2 > INTERNED_WORDS) return 0;
    uint32_t entry = __atomic_fetch_add(&table->used, (uint32_t)count + 1, __ATOMIC_RELAXED) + 1;
    if (entry + count + 1 > INTERNED_WORDS) return 0;
    memcpy(&table->words[entry + 1], words, count * sizeof *words);
    table->words[entry] = count;
    return entry;
}

static uint32_t refuse(interned_table *table) {
    (void)__atomic_fetch_add(&table->refused, 1, __ATOMIC_RELAXED);
    return 0;
}

uint32_t interned_put(interned_table *table, const uint64_t *words, size_t count) {
    if (count > INTERNED_LONGEST) count = INTERNED_LONGEST;
    uint64_t hash = hash_of(words, count), tag = hash >> 32;
    uint32_t entry = 0;
    for (uint32_t i = 0; i < PROBES; i++) {
        uint64_t *place = &table->slots[(hash + i) % INTERNED_SLOTS], slot = __atomic_load_n(place, __ATOMIC_ACQUIRE);
        while (slot == 0) {
            if (entry == 0) entry = append(table, words, count);
            if (entry == 0) return refuse(table);
            if (__atomic_compare_exchange_n(place, &slot, tag << 32 | entry, false, __ATOMIC_RELEASE, __ATOMIC_ACQUIRE))
                return entry;
        }
        if (holds(table, slot, tag, words, count)) return (uint32_t)slot;
    }
    return refuse(table);
}

static uint32_t put_padded(interned_table *table, const char *text, size_t length, uint64_t *room) {
    size_t count = (length + sizeof *room - 1) / sizeof *room;
    if (count > 0) room[count - 1] = 0;
    memcpy(room, text, length);
    return interned_put(table, room, count);
}

static __attribute__((noinline)) uint32_t put_long_text(interned_table *table, const char *text, size_t length) {
    uint64_t room[INTERNED_LONGEST];
    return put_padded(table, text, length < sizeof room ? length : sizeof room, room);
}

static __attribute__((noinline)) uint32_t put_short_text(interned_table *table, const char *text, size_t length) {
    uint64_t room[SHORT_TEXT];
    return put_padded(table, text, length, room);
}

/* Most texts are short, and the stack of a thread may be small. */
uint32_t interned_put_text(interned_table *table, const char *text) {
    const size_t length = strlen(text);
    return length <= SHORT_TEXT * sizeof(uint64_t) ? put_short_text(table, text, length)
                                                   : put_long_text(table, text, length);
}

const uint64_t *interned_get(const interned_table *table, uint32_t entry, size_t *count) {
    if (entry == 0 || entry >= INTERNED_WORDS) return NULL;
    *count = table->words[entry];
    return *count <= INTERNED_LONGEST && *count < INTERNED_WORDS - entry ? &table->words[entry + 1] : NULL;
}
