#define _GNU_SOURCE
#include "stack_cache.h"

#include "stacks.h"
#include "unwind.h"

#include <errno.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SMALLEST_GUARD 4096u /* of x86-64 */
#define ENTRY_BYTES ((sizeof(stack_entry)) << STACK_CACHE_BITS)
#define PROOF_BYTES (STACK_CACHE_PROOFS * sizeof(uint64_t))

/* Where the first thread's stack can be. The kernel maps nothing else within its limit. */
static uintptr_t first_stack_begin, first_stack_end;

void stack_cache_prepare(void) {
    const int before = errno;
    const uintptr_t most = (uintptr_t)128 << 20, end = getauxval(AT_RANDOM); /* the kernel puts it above all frames */
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) == 0 && end > most) {
        first_stack_end = end;
        first_stack_begin = end - (limit.rlim_cur < most ? limit.rlim_cur : most);
    }
    errno = before;
}

static void take_few(stack_cache *cache) {
    cache->entries = cache->few;
    cache->shift = 64 - STACK_CACHE_FEW_BITS;
    cache->proofs = NULL;
}

void stack_cache_begin(stack_cache *cache) {
    take_few(cache);
    char *room = mmap(NULL, ENTRY_BYTES + PROOF_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED) return;
    cache->entries = (stack_entry *)(void *)room;
    cache->shift = 64 - STACK_CACHE_BITS;
    cache->proofs = (uint64_t *)(void *)(room + ENTRY_BYTES);
    cache->proof_end = 0;
    /* The C library puts the variables of every thread but the first at the upper end of its stack. */
    cache->own_begin = cache->own_end = syscall(SYS_gettid) == getpid() ? 0 : (uintptr_t)cache;
}

void stack_cache_end(stack_cache *cache) {
    if (cache->entries == cache->few || cache->entries == NULL) return;
    (void)munmap(cache->entries, ENTRY_BYTES + PROOF_BYTES); /* its arguments are mmap's */
    take_few(cache);
}

static bool is_between(uintptr_t address, uintptr_t begin, uintptr_t end) { return address - begin < end - begin; }

/* Whether memory that the stack has now is there for as long as the thread lives. */
static bool stays(const stack_cache *cache, uintptr_t slot) {
    return is_between(slot, first_stack_begin, first_stack_end) || is_between(slot, cache->own_begin, cache->own_end);
}

/* A step of less than a page from what is known of the thread's stack cannot lead over the page that guards its end. */
static void learn_own_stack(stack_cache *cache, const uintptr_t *slots, size_t count) {
    while (count-- > 0)
        if (is_between(slots[count], cache->own_begin - SMALLEST_GUARD, cache->own_begin))
            cache->own_begin = slots[count];
}

static bool can_be_proved(stack_cache *cache, const uintptr_t *addresses, const uintptr_t *slots, size_t count,
                          uintptr_t frame) {
    if (cache->proofs == NULL || slots[0] != frame - sizeof(uintptr_t)) return false;
    learn_own_stack(cache, slots, count);
    for (size_t i = 0; i < count; i++)
        if (!stays(cache, slots[i]) || *(const uintptr_t *)slots[i] != addresses[i]) return false;
    return true;
}

/* A proof: a head, then of each frame where its return address is, and that address. No word of an overwritten proof
 * is taken for a head, since no address of a program has the uppermost bit. */
#define HEAD (UINT64_C(1) << 63)

static uint64_t head_of(uint64_t key, size_t count) { return HEAD | key | count; }

static uint64_t put_proof(stack_cache *cache, uint64_t key, const uintptr_t *addresses, const uintptr_t *slots,
                          size_t count) {
    const uint32_t words = 1 + 2 * (uint32_t)count;
    uint32_t at = cache->proof_end;
    if (at == 0 || at + words > STACK_CACHE_PROOFS) at = 1;
    uint64_t *word = &cache->proofs[at];
    *word++ = head_of(key, count);
    for (size_t i = 0; i < count; i++) {
        *word++ = slots[i];
        *word++ = addresses[i];
    }
    cache->proof_end = at + words;
    return at;
}

static bool is_proved(const stack_cache *cache, const stack_entry *entry, uint64_t key) {
    if (entry->proof == 0 || cache->proofs == NULL) return false;
    const uint64_t *word = &cache->proofs[entry->proof];
    const size_t count = *word & ((1u << INTERNED_BITS) - 1);
    if (*word++ != head_of(key, count)) return false;
    for (size_t i = 0; i < count; i++)
        if (*(const uintptr_t *)word[2 * i] != word[2 * i + 1]) return false;
    return true;
}

static uint64_t stack_in(const stack_entry *entry, uint64_t key) { return entry->key_and_stack ^ key; }

/* The place's other entry, in the same cache line. */
static stack_entry *beside(const stack_cache *cache, const stack_place *place) {
    return &cache->entries[(size_t)(place->entry - cache->entries) ^ 1];
}

/* The entry for a new stack. What another place has there moves to the entry beside it. */
static stack_entry *make_room(const stack_cache *cache, const stack_place *place) {
    stack_entry *other = beside(cache, place);
    if (stack_is_at_hand(stack_in(other, place->key))) return other;
    if (place->entry->key_and_stack == 0 || stack_is_at_hand(stack_in(place->entry, place->key))) return place->entry;
    *other = *place->entry;
    return place->entry;
}

static uint32_t unwind(stack_cache *cache, interned_table *table, const stack_place *place, const void *caller,
                       uintptr_t frame) {
    const int before = errno;
    uintptr_t addresses[UNWIND_DEPTH], slots[UNWIND_DEPTH];
    const size_t count = unwind_from(caller, addresses, slots);
    stack_entry *entry = make_room(cache, place);
    entry->proof = 0;
    if (can_be_proved(cache, addresses, slots, count, frame))
        entry->proof = put_proof(cache, place->key, addresses, slots, count);
    const uint32_t stack = stack_of_addresses(table, addresses, count);
    entry->key_and_stack = place->key | stack;
    errno = before;
    return stack;
}

uint32_t stack_find(stack_cache *cache, interned_table *table, const stack_place *place, const void *caller,
                    uintptr_t frame, bool proved) {
    const stack_entry *entries[2] = {place->entry, beside(cache, place)};
    for (int i = 0; i < 2; i++) {
        const uint64_t stack = stack_in(entries[i], place->key);
        if (stack_is_at_hand(stack) && (!proved || is_proved(cache, entries[i], place->key))) return (uint32_t)stack;
    }
    return unwind(cache, table, place, caller, frame);
}
