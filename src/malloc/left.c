#include "left.h"

#include "misuse.h"
#include "pages.h"
#include "policy.h"

static uint32_t left_dirty; /* pages, the sum of all heaps; changes without a lock */

void flat_heap_lock(thread_heap *heap) { (void)pthread_mutex_lock(&heap->lock); }

void flat_heap_unlock(thread_heap *heap) {
    const void *freed_twice = heap->freed_twice;
    heap->freed_twice = NULL;
    (void)pthread_mutex_unlock(&heap->lock);
    if (UNLIKELY(freed_twice != NULL)) flat_misuse("free", freed_twice, FLAT_DOUBLE_FREE, NULL);
}

void flat_count_left(thread_heap *heap, uint32_t dirty) {
    (void)__atomic_fetch_add(&left_dirty, dirty - heap->left_dirty, __ATOMIC_RELAXED);
    heap->left_dirty = dirty;
}

bool flat_too_much_is_left(void) { return __atomic_load_n(&left_dirty, __ATOMIC_RELAXED) > flat_policy.left_pages; }

static bool keeps_all_that_is_left(void) { return flat_policy.left_pages == UINT32_MAX; }

void flat_give_left_chunks(thread_heap *heap) {
    flat_give_whole_chunks(heap, keeps_all_that_is_left() ? UNIT_DIRTY : UNIT_CLEAN);
    flat_count_left(heap, heap->free_pages.dirty);
}

void flat_keep_to_what_may_be_left(thread_heap *heap) {
    if (use_of(heap) != HEAP_LEFT) return;
    do flat_count_left(heap, heap->free_pages.dirty);
    while (flat_too_much_is_left() && flat_pages_clean(heap, CLEANED_PAGES) != 0);
    if (keeps_all_that_is_left()) flat_give_left_chunks(heap); /* otherwise what is kept is for the next thread */
}

uint32_t flat_clean_step(thread_heap *heap) {
    flat_heap_lock(heap);
    uint32_t cleaned = flat_pages_clean(heap, CLEANED_PAGES);
    if (use_of(heap) == HEAP_LEFT) flat_count_left(heap, heap->free_pages.dirty);
    flat_heap_unlock(heap);
    return cleaned;
}

bool flat_try_heap_without_owner(thread_heap *heap) {
    if (use_of(heap) == HEAP_OWNED || pthread_mutex_trylock(&heap->lock) != 0) return false;
    if (use_of(heap) != HEAP_OWNED) return true;
    (void)pthread_mutex_unlock(&heap->lock);
    return false;
}

void flat_left_heap_leave(thread_heap *heap) {
    flat_keep_to_what_may_be_left(heap);
    flat_heap_unlock(heap);
}

void flat_forget_what_was_left(void) { left_dirty = 0; }
