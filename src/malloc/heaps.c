#define _GNU_SOURCE
#include "heaps.h"

#include "cache.h"
#include "extents.h"
#include "left.h"
#include "policy.h"
#include "rings.h"
#include "trim.h"

/* Number 1 is the first shared heap. Its memory is mapped from the start, so it serves if there is none later. */
static struct {
    pthread_mutex_t lock; /* of all but the last one */
    bool open, has_key;
    pthread_key_t key; /* its destructor runs when a thread that owns a heap ends */
    uint32_t count;
    thread_heap *left; /* last in, first out */
    thread_heap *shared[SHARED_HEAPS];
    uint32_t unsettled; /* in a child of fork(): heaps with numbers up to this may not be settled yet */
} heaps = {.lock = PTHREAD_MUTEX_INITIALIZER};

static __thread uint32_t calls_without_a_heap __attribute__((tls_model("initial-exec")));
static __thread bool has_left __attribute__((tls_model("initial-exec")));

static void lock_list(void) { (void)pthread_mutex_lock(&heaps.lock); }
static void unlock_list(void) { (void)pthread_mutex_unlock(&heaps.lock); }
uint32_t flat_heap_count(void) { return __atomic_load_n(&heaps.count, __ATOMIC_ACQUIRE); }

static void set_use(thread_heap *heap, heap_use use) { __atomic_store_n(&heap->use, use, __ATOMIC_SEQ_CST); }

/* A heap that a thread leaves is for the next thread. Its blocks stay valid, and others continue to return blocks to
 * it. */
static void leave_behind(thread_heap *heap) {
    flat_heap_lock(heap);
    set_use(heap, HEAP_LEFT);
    flat_settle_heap(heap); /* with what others sent meanwhile: later senders see that the heap was left */
    flat_count_left(heap, heap->free_pages.dirty);
    flat_heap_unlock(heap);
    while (flat_too_much_is_left() && flat_clean_step(heap) != 0) continue;
    flat_heap_lock(heap);
    flat_keep_to_what_may_be_left(heap);
    flat_heap_unlock(heap);
    lock_list();
    heap->next_left = heaps.left;
    heaps.left = heap;
    unlock_list();
}

/* Runs when the thread ends. Destructors that run later and still allocate use a shared heap: in the last round nobody
 * would take back a heap of their own. */
static void leave(void *heap) {
    has_left = true;
    flat_forget_my_heap();
    leave_behind(heap);
}

/* fork() copies memory as it is at that moment. With all locks held the memory is consistent, and the child can
 * continue with it. These handlers are registered first, so that other libraries' handlers run while no lock is held:
 * before ours before the fork, and after ours after it. */
static void before_fork(void) {
    lock_list();
    for (uint32_t number = 1; number <= heaps.count; number++) flat_heap_lock(heap_number(number));
    (void)pthread_mutex_lock(&flat_extents.lock);
}

static void after_fork(void) {
    (void)pthread_mutex_unlock(&flat_extents.lock);
    for (uint32_t number = heaps.count; number >= 1; number--) (void)pthread_mutex_unlock(&heap_number(number)->lock);
    unlock_list();
}

/* Only the thread that forked is left. The other threads' heaps count as left behind, except for their caches. A cache
 * changes without a lock while fork() copies one page after the other. So a block may be cached on one page and held on
 * the next, or be in a second heap's cache, and of none is it known that nobody has it. */
static void after_fork_in_child(void) {
    heaps.left = NULL;
    flat_forget_what_was_left();
    for (uint32_t number = 1; number <= heaps.count; number++) {
        thread_heap *heap = heap_number(number);
        if (!has_begun(heap) || heap == flat_my_heap || use_of(heap) == HEAP_SHARED) continue;
        if (use_of(heap) == HEAP_OWNED) flat_lose_what_is_at_hand(heap);
        set_use(heap, HEAP_LEFT);
        heap->left_dirty = 0;
        flat_count_left(heap, heap->free_pages.dirty);
        heap->next_left = heaps.left;
        heaps.left = heap;
    }
    heaps.unsettled = heaps.count;
    flat_extents_after_fork();
    after_fork();
}

void flat_settle_after_fork(void) {
    uint32_t number = __atomic_load_n(&heaps.unsettled, __ATOMIC_RELAXED);
    if (number == 0) return;
    if (!__atomic_compare_exchange_n(&heaps.unsettled, &number, number - 1, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        return; /* another thread does it */
    thread_heap *heap = heap_number(number);
    if (!has_begun(heap) || !flat_try_heap_without_owner(heap)) return;
    flat_settle_heap(heap);
    if (use_of(heap) == HEAP_LEFT) flat_give_left_chunks(heap);
    flat_left_heap_leave(heap);
}

/* Runs at the first call, or before all other constructors, whichever comes first. It may allocate. If the system has
 * no memory for the handlers, a child of a process with several threads may find the malloc in an inconsistent state.
 */
__attribute__((constructor(101))) static void register_fork_handlers(void) {
    static bool registered;
    if (__atomic_load_n(&registered, __ATOMIC_RELAXED)) return;
    if (__atomic_exchange_n(&registered, true, __ATOMIC_RELAXED)) return;
    (void)pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

static bool map_heap(uint32_t number) {
    return flat_map(heap_number(number), (sizeof(thread_heap) + PAGE - 1) & ~(PAGE - 1)) == MAP_MADE;
}

static thread_heap *new_heap(heap_use use) {
    uint32_t number = heaps.count + 1;
    if (number >= flat_space.heap_limit || !map_heap(number)) return NULL;
    thread_heap *heap = heap_number(number);
    flat_begin_heap(heap, use);
    __atomic_store_n(&heaps.count, number, __ATOMIC_RELEASE);
    return heap;
}

static bool open_heaps(void) {
    if (heaps.open) return true;
    if (!flat_space_open()) return false;
    if (flat_extents.free_pages.in.units == NULL) flat_extents_init();
    if (!map_heap(1)) return false;
    heaps.has_key = pthread_key_create(&heaps.key, leave) == 0;
    __atomic_store_n(&heaps.count, 1, __ATOMIC_RELEASE);
    return heaps.open = true;
}

bool flat_heaps_are_open(void) {
    if (flat_heap_count() != 0) return true;
    lock_list();
    bool open = open_heaps();
    unlock_list();
    return open;
}

/* The first thread gets a heap at once, and its end need not be seen. */
static thread_heap *heap_of_its_own(void) {
    thread_heap *heap = heaps.left;
    if (heap != NULL) {
        heaps.left = heap->next_left;
        return heap;
    }
    bool first = heaps.count == 1;
    return first || (heaps.has_key && calls_without_a_heap % SHARING_CALLS == 0) ? new_heap(HEAP_OWNED) : NULL;
}

static thread_heap *first_shared_heap(void) {
    thread_heap *heap = heap_number(1);
    if (!has_begun(heap)) flat_begin_heap(heap, HEAP_SHARED);
    return heap;
}

/* Chosen by the address of the thread's own variables, which differs from thread to thread. */
static thread_heap *shared_heap(void) {
    uint32_t number = (uint32_t)((uintptr_t)&has_left >> PAGE_SHIFT) * 0x9E3779B1u >> 30;
    static_assert(SHARED_HEAPS == 4, "as many as two bits number");
    thread_heap **heap = &heaps.shared[number];
    if (*heap == NULL) *heap = number == 0 ? first_shared_heap() : new_heap(HEAP_SHARED);
    return *heap != NULL ? *heap : first_shared_heap();
}

/* False: the end of the thread could not be seen, so it must not own a heap. */
static bool take_over(thread_heap *heap) {
    flat_heap_lock(heap);
    set_use(heap, HEAP_OWNED);
    flat_count_left(heap, 0);
    flat_heap_unlock(heap);
    flat_my_heap = heap;
    flat_my_stacks = &heap->stacks;
    /* This may allocate; the thread can by now. */
    if (!heaps.has_key || pthread_setspecific(heaps.key, heap) == 0) return true;
    has_left = true;
    flat_forget_my_heap();
    leave_behind(heap);
    return false;
}

/* A thread that only frees gets a heap like one that allocates: its cache takes the freed blocks, and returns many at a
 * time to their owners. */
bool flat_has_heap_to_free_to(void) {
    if (flat_my_heap != NULL) return true;
    if (has_left || !flat_heaps_are_open()) return false;
    lock_list();
    calls_without_a_heap++;
    thread_heap *own = heap_of_its_own();
    unlock_list();
    return own != NULL && take_over(own);
}

/* NULL iff there is no memory at all. */
static thread_heap *find_heap(void) {
    thread_heap *own = NULL, *shared = NULL;
    lock_list();
    if (open_heaps()) {
        calls_without_a_heap++;
        own = has_left ? NULL : heap_of_its_own();
        if (own == NULL) shared = shared_heap();
    }
    unlock_list();
    register_fork_handlers();
    if (own == NULL) return shared;
    if (take_over(own)) return own;
    lock_list();
    shared = shared_heap();
    unlock_list();
    return shared;
}

thread_heap *flat_heap_enter(void) {
    thread_heap *heap = flat_my_heap != NULL ? flat_my_heap : find_heap();
    if (heap != NULL) flat_heap_lock(heap);
    return heap;
}

/* Settles what is on its way to a heap and in its cache; not the cache of a heap that another thread owns. */
static void settle_heap(thread_heap *heap) {
    flat_heap_lock(heap);
    if (heap == flat_my_heap || use_of(heap) != HEAP_OWNED) flat_settle_heap(heap);
    flat_heap_unlock(heap);
    for (uint32_t left = RINGS * RING_BLOCKS, taken = 1; left != 0 && taken != 0; left -= least(left, taken)) {
        flat_heap_lock(heap);
        taken = flat_take_from_rings(heap, TAKEN_FROM_RINGS);
        flat_heap_unlock(heap);
    }
}

/* Returns all that can be had from a settled heap to the OS. */
static void clean_heap(thread_heap *heap) {
    flat_heap_lock(heap);
    if (use_of(heap) != HEAP_OWNED) flat_settle_heap(heap); /* what others have returned to it */
    uint32_t left = heap->free_pages.dirty;                 /* its owner may free ever more meanwhile */
    flat_heap_unlock(heap);
    for (uint32_t cleaned = 1; left != 0 && cleaned != 0; left -= least(left, cleaned)) cleaned = flat_clean_step(heap);
    flat_heap_lock(heap);
    heap->chunks_most = heap->chunk_count;
    heap->credit = (uint64_t)heap->chunk_count * CHUNK_PAGES * PAGE_CREDIT * CREDIT_OF_GROWTH;
    flat_heap_unlock(heap);
}

static void for_each_heap(void (*act)(thread_heap *heap)) {
    for (uint32_t number = 1; number <= flat_heap_count(); number++) {
        if (has_begun(heap_number(number))) act(heap_number(number));
    }
}

void flat_reclaim(void) {
    for_each_heap(settle_heap);
    for_each_heap(clean_heap);
    flat_extents_clean_all();
}

static void trim_chunk(uint32_t chunk) {
    uint32_t number = heap_of_chunk(chunk), end = (chunk + 1) * CHUNK_PAGES;
    if (number == 0) return;
    thread_heap *heap = heap_number(number);
    for (uint32_t page = chunk * CHUNK_PAGES; page < end;) {
        flat_heap_lock(heap);
        page = heap_of_chunk(chunk) == number ? flat_trim_pages(heap, chunk, page) : end;
        flat_heap_unlock(heap);
    }
}

void flat_trim_heaps(void) {
    flat_reclaim();
    uint32_t chunks = (uint32_t)(usable_granules() * GRANULE >> CHUNK_SHIFT);
    for (uint32_t chunk = 0; chunk < chunks; chunk++) trim_chunk(chunk);
    flat_reclaim();
}
