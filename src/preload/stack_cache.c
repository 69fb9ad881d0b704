#define _GNU_SOURCE
#include "stack_cache.h"

#include "stacks.h"
#include "unwind.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SMALLEST_GUARD 4096u /* of x86-64 */
#define ENTRY_BYTES (sizeof(stack_entry) << STACK_CACHE_BITS)
#define PROOF_BYTES (STACK_CACHE_PROOFS * sizeof(uint64_t))
#define ROOM_BYTES (ENTRY_BYTES + PROOF_BYTES + sizeof(struct last_stack))

typedef struct found_stack {
    uintptr_t addresses[UNWIND_DEPTH], slots[UNWIND_DEPTH];
    size_t count;
} found_stack;

/* `stacks`: the number of the stack from each frame outwards. */
struct last_stack {
    found_stack found;
    uint32_t stacks[UNWIND_DEPTH];
};

/* Where the first thread's stack can be. The kernel maps nothing else within its limit. */
static uintptr_t first_stack_begin, first_stack_end;

void stack_cache_prepare(void) {
    const int before = errno;
    const uintptr_t most = (uintptr_t)128 << 20, end = getauxval(AT_RANDOM); /* the kernel puts it above all frames */
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) == 0 && end > most) {
        first_stack_end = end & ~(sizeof(uintptr_t) - 1);
        first_stack_begin = first_stack_end - (limit.rlim_cur < most ? limit.rlim_cur : most);
    }
    errno = before;
}

static void have_entries(stack_cache *cache, unsigned bits) {
    cache->mask = ((1u << bits) - 1) * sizeof(stack_entry);
    cache->taken = 0;
}

static void take_few(stack_cache *cache) {
    cache->entries = cache->few;
    have_entries(cache, STACK_CACHE_FEW_BITS);
    cache->proofs = NULL;
    cache->last = NULL;
}

void stack_cache_begin(stack_cache *cache) {
    take_few(cache);
    char *room = mmap(NULL, ROOM_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) return;
    cache->entries = (stack_entry *)(void *)room;
    have_entries(cache, STACK_CACHE_FIRST_BITS);
    cache->proofs = (uint64_t *)(void *)(room + ENTRY_BYTES);
    cache->proof_end = 0;
    cache->last = (struct last_stack *)(void *)(room + ENTRY_BYTES + PROOF_BYTES);
    /* The C library puts the variables of every thread but the first at the upper end of its stack. */
    const bool is_first = syscall(SYS_gettid) == getpid();
    cache->begin = is_first ? first_stack_begin : (uintptr_t)cache;
    cache->end = is_first ? first_stack_end : (uintptr_t)cache;
    cache->asked_for_begin = is_first;
}

void stack_cache_end(stack_cache *cache) {
    if (cache->entries == cache->few || cache->entries == NULL) return;
    (void)munmap(cache->entries, ROOM_BYTES); /* its arguments are mmap's */
    take_few(cache);
}

static bool is_between(uintptr_t address, uintptr_t begin, uintptr_t end) { return address - begin < end - begin; }

/* Of linux/fs.h since Linux 6.11. */
struct procmap_query {
    uint64_t size, flags, address, begin, end, others[4];
    uint32_t devices[2], lengths[2];
    uint64_t texts[2];
};
#define PROCMAP_QUERY _IOWR('f', 17, struct procmap_query)

/* Where the mapping begins that ends with the thread's variables. Some 5 us. */
static void ask_for_begin(stack_cache *cache) {
    cache->asked_for_begin = true;
    struct procmap_query query = {.size = sizeof query, .address = cache->end - 1};
    const int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (maps < 0) return;
    if (ioctl(maps, PROCMAP_QUERY, &query) == 0 && query.begin < cache->begin) cache->begin = query.begin;
    (void)close(maps); /* it was only read */
}

/* A step of less than a page from what is known of the thread's stack cannot lead over the page that guards its end. */
static void learn_own_stack(stack_cache *cache, const found_stack *found) {
    for (size_t i = found->count; i-- > 0;)
        if (is_between(found->slots[i], cache->begin - SMALLEST_GUARD, cache->begin)) cache->begin = found->slots[i];
    if (found->slots[0] < cache->begin && !cache->asked_for_begin) ask_for_begin(cache);
}

/* Whether the return address stands in memory that stays as long as the thread does. */
static bool stands(const stack_cache *cache, const found_stack *found, size_t i) {
    return i < found->count && is_between(found->slots[i], cache->begin, cache->end) &&
           *(const uintptr_t *)found->slots[i] == found->addresses[i];
}

static bool can_be_proved(const stack_cache *cache, const found_stack *found, uintptr_t frame) {
    if (cache->proofs == NULL || found->slots[0] != frame - sizeof(uintptr_t)) return false;
    for (size_t i = 0; i < found->count; i++)
        if (!stands(cache, found, i)) return false;
    return true;
}

/* A proof: a head, then of each frame where its return address is, and that address. No word of an overwritten proof
 * is taken for a head, since no address of a program has the uppermost bit. */
#define HEAD (UINT64_C(1) << 63)

static uint64_t head_of(uint64_t key, size_t count) { return HEAD | key | count; }

static uint64_t put_proof(stack_cache *cache, uint64_t key, const found_stack *found) {
    const uint32_t words = 1 + 2 * (uint32_t)found->count;
    uint32_t at = cache->proof_end;
    if (at == 0 || at + words > STACK_CACHE_PROOFS) at = 1;
    uint64_t *word = &cache->proofs[at];
    *word++ = head_of(key, found->count);
    for (size_t i = 0; i < found->count; i++) {
        *word++ = found->slots[i];
        *word++ = found->addresses[i];
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

/* The place's entry, whichever of the two it is; NULL: it has none. */
static stack_entry *entry_of(const stack_cache *cache, const stack_place *place) {
    if (stack_in(place->entry, place->key) >> INTERNED_BITS == 0) return place->entry;
    stack_entry *other = beside(cache, place);
    return stack_in(other, place->key) >> INTERNED_BITS == 0 ? other : NULL;
}

/* Where the stacks stand of other callers than that which the place's entry knows. */
static stack_place place_of_other(const stack_cache *cache, const stack_place *place, uintptr_t outer) {
    return stack_place_by(cache, place->key ^ (outer << 20 | outer >> 44));
}

static bool is_at_its_place(const stack_cache *cache, const stack_entry *entry) {
    return entry->key_and_stack != 0 && stack_entry_of(cache, entry->key_and_stack) == entry;
}

/* An entry for a new stack: the place's own, or else the first. What has its place there as well moves to the one
 * beside. So two places of a pair keep their entries, and what was there before the cache grew does not stay. */
static stack_entry *make_room(stack_cache *cache, const stack_place *place) {
    stack_entry *own = entry_of(cache, place);
    if (own != NULL) return own;
    cache->taken++;
    if (is_at_its_place(cache, place->entry)) *beside(cache, place) = *place->entry;
    return place->entry;
}

static void fill(stack_cache *cache, const stack_place *place, const found_stack *found, uintptr_t frame,
                 bool outer_is_known, uint32_t stack) {
    static const uintptr_t nothing;
    const bool provable = can_be_proved(cache, found, frame);
    *make_room(cache, place) = (stack_entry){
        .key_and_stack = place->key | stack,
        .outer_slot = outer_is_known ? (const uintptr_t *)found->slots[1] : &nothing,
        .outer = outer_is_known ? found->addresses[1] : 0,
        .proof = provable ? put_proof(cache, place->key, found) : 0,
    };
}

/* A place whose caller's function has its return address now here, now there, has one entry, which does not know it:
 * else such calls, as of a function with alloca, would be taken for those of more and more callers. */
static void put(stack_cache *cache, const stack_place *place, const found_stack *found, uintptr_t frame,
                uint32_t stack) {
    const stack_entry *there = entry_of(cache, place);
    const bool known = cache->proofs != NULL && stands(cache, found, 1);
    if (there == NULL) {
        fill(cache, place, found, frame, known, stack);
    } else if (!known || (uintptr_t)there->outer_slot != found->slots[1]) {
        fill(cache, place, found, frame, false, stack);
    } else if (there->outer == found->addresses[1]) {
        fill(cache, place, found, frame, true, stack);
    } else {
        const stack_place other = place_of_other(cache, place, found->addresses[1]);
        fill(cache, &other, found, frame, true, stack);
    }
}

/* Four times as many entries once half of them are taken. A stack whose place is another one then is unwound once more.
 */
static void grow(stack_cache *cache) {
    const uint64_t entries = cache->mask / sizeof(stack_entry) + 1;
    if (cache->proofs == NULL || cache->taken <= entries / 2 || entries == 1u << STACK_CACHE_BITS) return;
    have_entries(cache, (unsigned)__builtin_ctzll(entries) + 2);
}

/* How a stack that is being unwound meets the last one. */
typedef struct meeting {
    const stack_cache *cache;
    const found_stack *found;
    size_t at; /* the frame of the last one that stood where the newest found one does, or the next further out */
    size_t stands_from; /* all frames of the last one from this on still stand */
    bool met;           /* the newest found frame is the last one's at `at` */
} meeting;

static meeting begin_meeting(const stack_cache *cache, const found_stack *found) {
    meeting of = {.cache = cache, .found = found};
    if (cache->last == NULL) return of;
    of.stands_from = cache->last->found.count;
    while (of.stands_from > 0 && stands(cache, &cache->last->found, of.stands_from - 1)) of.stands_from--;
    return of;
}

/* Only the innermost UNWIND_DEPTH frames of the last one are known, which may not have been all. */
static bool has_enough(const found_stack *last, size_t at, size_t count) {
    return last->count < UNWIND_DEPTH || count + last->count - at - 1 >= UNWIND_DEPTH;
}

static bool meets_last(void *context, size_t count) {
    meeting *of = context;
    if (of->cache->last == NULL) return false;
    const found_stack *last = &of->cache->last->found;
    const uintptr_t slot = of->found->slots[count - 1], address = of->found->addresses[count - 1];
    while (of->at < last->count && last->slots[of->at] < slot) of->at++;
    of->met = slot != 0 && of->at < last->count && last->slots[of->at] == slot && last->addresses[of->at] == address &&
              of->at + 1 >= of->stands_from && has_enough(last, of->at, count);
    return of->met;
}

/* Adds the frames further out. */
static void take_rest(found_stack *found, const meeting *of) {
    const found_stack *last = &of->cache->last->found;
    size_t rest = last->count - of->at - 1;
    if (rest > UNWIND_DEPTH - found->count) rest = UNWIND_DEPTH - found->count;
    memcpy(found->addresses + found->count, last->addresses + of->at + 1, rest * sizeof *last->addresses);
    memcpy(found->slots + found->count, last->slots + of->at + 1, rest * sizeof *last->slots);
    found->count += rest;
}

/* Puts a stack of which `new` frames are not the last one's, and makes it the last one. */
static uint32_t put_found(stack_cache *cache, interned_table *table, const found_stack *found, size_t new,
                          const meeting *of) {
    uint64_t frames[UNWIND_DEPTH];
    uint32_t stacks[UNWIND_DEPTH];
    struct last_stack *last = cache->last;
    const bool has_all = of->met && found->count - new == last->found.count - of->at;
    if (!has_all) new = found->count;
    for (size_t i = 0; i < new; i++) frames[i] = frame_of(table, found->addresses[i]);
    const uint32_t stack = stack_put_on(table, has_all ? last->stacks[of->at] : 0, frames, new, stacks);
    if (stack != 0) {
        if (last == NULL) return stack;
        memmove(last->stacks + new, last->stacks + of->at, (found->count - new) * sizeof *stacks);
        memcpy(last->stacks, stacks, new * sizeof *stacks);
        last->found = *found;
        return stack;
    }
    for (size_t i = new; i < found->count; i++) frames[i] = frame_of(table, found->addresses[i]);
    return stack_put(table, frames, found->count);
}

static uint32_t unwind(stack_cache *cache, interned_table *table, const stack_place *place, const void *caller,
                       uintptr_t frame) {
    const int before = errno;
    found_stack found;
    meeting of = begin_meeting(cache, &found);
    found.count = unwind_until(caller, found.addresses, found.slots, meets_last, &of);
    const size_t new = of.met ? found.count - 1 : found.count;
    if (of.met) take_rest(&found, &of);
    if (cache->proofs != NULL) learn_own_stack(cache, &found);
    const uint32_t stack = put_found(cache, table, &found, new, &of);
    put(cache, place, &found, frame, stack);
    grow(cache);
    errno = before;
    return stack;
}

uint32_t stack_find(stack_cache *cache, interned_table *table, const stack_place *place, const void *caller,
                    uintptr_t frame, bool proved) {
    stack_place at = *place;
    const stack_entry *entry = entry_of(cache, &at);
    if (entry != NULL && *entry->outer_slot != entry->outer) {
        at = place_of_other(cache, place, *entry->outer_slot);
        entry = entry_of(cache, &at);
    }
    if (entry != NULL && *entry->outer_slot == entry->outer && (!proved || is_proved(cache, entry, at.key)))
        return (uint32_t)stack_in(entry, at.key);
    return unwind(cache, table, place, caller, frame);
}
