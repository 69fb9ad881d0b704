/* libflatline-audit.so: preloaded before an allocator, it times every call of malloc's family and of operator new and
 * delete, and writes one record of it.
 *
 * Only calls from outside are recorded. A call that an allocator or the C++ run time makes while it serves another one
 * belongs to that one. On the usual path that is two readings of the clock, a look into the thread's cache of stacks,
 * and four stores. A slow call's stack is proved to be the same that is in the cache, or unwound. */
#define _GNU_SOURCE
#include "waits.h"
#include "writer.h"

#include "../preload/bound_past.h"
#include "../preload/clock_ticks.h"
#include "../preload/next.h"
#include "../preload/signals.h"
#include "../preload/stacks.h"
#include "../preload/system_calls.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#define ALWAYS_INLINE static inline __attribute__((always_inline))
#define NOINLINE __attribute__((noinline, cold))
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/* Who calls: the return address tells where, and the frame's address from how deep. */
#define CALLER __builtin_return_address(0)
#define FRAME __builtin_dwarf_cfa()

#define FLATLINE_MALLOC "/libflatline-malloc.so"
#define ASKED_TICKS_SHIFT 15 /* getrusage is not asked again within 2^15 ticks, some 10 us */

typedef struct timing {
    bool recorded; /* false: part of another call, or this process is not under an audit */
    uint64_t begin;
    volatile uint64_t within; /* of a call that is only attributed: see session.h */
} timing;

static NOINLINE uint64_t find_stack(audit_writer *mine, const stack_place *place, const void *caller, uintptr_t frame,
                                    bool proved) {
    return stack_find(&mine->stacks, &audit_shared->names, place, caller, frame, proved);
}

ALWAYS_INLINE void attribute_call(audit_writer *mine, timing *t, uint32_t operation, const void *caller,
                                  uintptr_t frame) {
    const stack_place place = stack_place_of(&mine->stacks, caller, frame);
    uint64_t stack = stack_at_hand(&place);
    if (UNLIKELY(!stack_is_at_hand(&place, stack))) stack = find_stack(mine, &place, caller, frame, false);
    t->within = audit_within(operation, stack);
    system_calls_selector = mine->watches;
}

ALWAYS_INLINE void begin_call(timing *t, uint32_t operation, const void *caller, uintptr_t frame) {
    audit_writer *mine = &audit_mine;
    t->recorded = false;
    if (UNLIKELY(mine->inside)) return;
    mine->inside = true;
    if (UNLIKELY(!audit_is_attached(mine)) && !audit_attach(mine)) {
        mine->inside = false;
        return;
    }
    t->recorded = true;
    if (mine->attributes) {
        attribute_call(mine, t, operation, caller, frame);
        return;
    }
    if (UNLIKELY(mine->counts)) {
        const uint64_t now = ticks_now();
        if ((now - mine->asked) >> ASKED_TICKS_SHIFT != 0) audit_ask(mine, now);
    }
    system_calls_selector = mine->watches;
    t->begin = ticks_now();
}

/* Before the record of a call that is slow or larger than its record. */
static NOINLINE void tell_rare(audit_writer *mine, uint64_t begin, uint64_t duration, uint64_t size) {
    const uint64_t time = begin - mine->begin;
    if (duration >= mine->over && mine->counts) audit_tell_asked(mine, begin + duration);
    if (duration >= AUDIT_DURATION_MAX) audit_put_detail(mine, AUDIT_DURATION, time, duration, 0);
    if (size >= AUDIT_SIZE_MAX) audit_put_detail(mine, AUDIT_SIZE, time, size, 0);
}

/* Of a call in which a system call was told: from there on. */
static NOINLINE void record_attributed(audit_writer *mine, uint32_t operation, uint64_t size, const void *block,
                                       const void *caller) {
    const uint64_t duration = ticks_now() - mine->told;
    tell_rare(mine, mine->told, duration, size);
    const audit_record record = audit_record_of_call(operation, mine->told - mine->begin, duration,
                                                     stack_of(&audit_shared->names, caller), size, (uintptr_t)block);
    if (!audit_put(mine, &record)) mine->slot->dropped++;
    mine->told = 0;
}

/* In a child process that was forked in a signal's handler, in the middle of the call: its parent records it. */
static NOINLINE void forget_call(audit_writer *mine) {
    mine->told = 0;
    mine->inside = false;
}

/* A detail of every such call, as the block that realloc was given; none if the operation is AUDIT_NONE. */
typedef struct call_detail {
    uint32_t operation;
    uint64_t value;
} call_detail;

ALWAYS_INLINE void end_call(timing *t, uint32_t operation, uint64_t size, const void *block, const void *caller,
                            uintptr_t frame, call_detail detail) {
    if (UNLIKELY(!t->recorded)) return;
    audit_writer *mine = &audit_mine;
    if (mine->attributes) {
        system_calls_selector = 0;
        t->within = 0;
        if (UNLIKELY(!audit_is_attached(mine))) {
            forget_call(mine);
            return;
        }
        mine->slot->calls++;
        if (UNLIKELY(mine->told != 0)) record_attributed(mine, operation, size, block, caller);
        mine->inside = false;
        return;
    }
    const uint64_t duration = ticks_now() - t->begin;
    system_calls_selector = 0;
    if (UNLIKELY(!audit_is_attached(mine))) {
        forget_call(mine);
        return;
    }
    mine->slot->calls++;
    const stack_place place = stack_place_of(&mine->stacks, caller, frame);
    uint64_t stack = stack_at_hand(&place);
    if (UNLIKELY(!stack_is_at_hand(&place, stack) || duration >= mine->over || size >= AUDIT_SIZE_MAX)) {
        tell_rare(mine, t->begin, duration, size);
        stack = find_stack(mine, &place, caller, frame, duration >= mine->over);
    }
    if (detail.operation != AUDIT_NONE)
        audit_put_detail(mine, detail.operation, t->begin - mine->begin, detail.value, 0);
    const audit_record record =
        audit_record_of_call(operation, t->begin - mine->begin, duration, stack, size, (uintptr_t)block);
    if (!audit_put(mine, &record)) mine->slot->dropped++;
    mine->inside = false;
}

#define BEGIN(operation)                                                                                               \
    timing t;                                                                                                          \
    begin_call(&t, operation, CALLER, (uintptr_t)FRAME)
#define END_WITH(operation, size, block, ...)                                                                          \
    end_call(&t, operation, size, block, CALLER, (uintptr_t)FRAME, (call_detail){__VA_ARGS__})
#define END(operation, size, block) END_WITH(operation, size, block, AUDIT_NONE, 0)
#define OLD_BLOCK(block) (block) != NULL ? AUDIT_OLD_BLOCK : AUDIT_NONE, (uintptr_t)(block)

EXPORT void *malloc(size_t size) {
    if (!next_is_ready()) return first_memory_take(size);
    BEGIN(AUDIT_MALLOC);
    void *block = next.malloc(size);
    END(AUDIT_MALLOC, size, block);
    return block;
}

EXPORT void *calloc(size_t count, size_t size) {
    size_t bytes;
    const bool wraps = __builtin_mul_overflow(count, size, &bytes);
    if (!next_is_ready()) return wraps ? NULL : first_memory_take(bytes);
    BEGIN(AUDIT_CALLOC);
    void *block = next.calloc(count, size);
    END(AUDIT_CALLOC, wraps ? SIZE_MAX : bytes, block);
    return block;
}

EXPORT void *realloc(void *block, size_t size) {
    void *moved;
    if (UNLIKELY(first_memory_resizes(block, size, &moved))) return moved;
    BEGIN(AUDIT_REALLOC);
    moved = next.realloc(block, size);
    END_WITH(AUDIT_REALLOC, size, moved, OLD_BLOCK(block));
    return moved;
}

EXPORT void *reallocarray(void *block, size_t count, size_t size) {
    size_t bytes;
    const bool wraps = __builtin_mul_overflow(count, size, &bytes);
    void *moved;
    if (UNLIKELY(first_memory_resizes_array(block, count, size, &moved))) return moved;
    BEGIN(AUDIT_REALLOC);
    moved = next.reallocarray(block, count, size);
    END_WITH(AUDIT_REALLOC, wraps ? SIZE_MAX : bytes, moved, OLD_BLOCK(block));
    return moved;
}

/* What a thread does not have the C library frees when it ends, behind its destructors. A thread that has called
 * nothing before would attach by that, and nothing would take its memory back. */
static bool has_nothing_to_free(const void *block) {
    return UNLIKELY(block == NULL) && !audit_is_attached(&audit_mine);
}

EXPORT void free(void *block) {
    if (first_memory_owns(block) || !next_is_ready() || has_nothing_to_free(block)) return;
    BEGIN(AUDIT_FREE);
    next.free(block);
    END(AUDIT_FREE, 0, block);
}

EXPORT int posix_memalign(void **block, size_t alignment, size_t size) {
    if (!next_is_ready()) return ENOMEM;
    BEGIN(AUDIT_POSIX_MEMALIGN);
    const int status = next.posix_memalign(block, alignment, size);
    END_WITH(AUDIT_POSIX_MEMALIGN, size, status == 0 ? *block : NULL, AUDIT_ALIGNMENT, alignment);
    return status;
}

#define ALIGNED(name, operation)                                                                                       \
    EXPORT void *name(size_t alignment, size_t size) {                                                                 \
        if (!next_is_ready()) return NULL;                                                                             \
        BEGIN(operation);                                                                                              \
        void *block = next.name(alignment, size);                                                                      \
        END_WITH(operation, size, block, AUDIT_ALIGNMENT, alignment);                                                  \
        return block;                                                                                                  \
    }
EXPORT void *memalign(size_t alignment, size_t size);
EXPORT void *aligned_alloc(size_t alignment, size_t size);
ALIGNED(memalign, AUDIT_MEMALIGN)
ALIGNED(aligned_alloc, AUDIT_ALIGNED_ALLOC)

/* Functions that some C libraries lack, as those of other allocators may: then their definition here is not found by
 * anything that would call it. */
#define PAGE_ALIGNED(name, operation)                                                                                  \
    EXPORT void *name(size_t size) {                                                                                   \
        if (!next_is_ready() || next.name == NULL) return NULL;                                                        \
        BEGIN(operation);                                                                                              \
        void *block = next.name(size);                                                                                 \
        END(operation, size, block);                                                                                   \
        return block;                                                                                                  \
    }
EXPORT void *valloc(size_t size);
EXPORT void *pvalloc(size_t size);
PAGE_ALIGNED(valloc, AUDIT_VALLOC)
PAGE_ALIGNED(pvalloc, AUDIT_PVALLOC)

EXPORT int malloc_trim(size_t pad);
EXPORT int malloc_trim(size_t pad) {
    if (!next_is_ready() || next.malloc_trim == NULL) return 0;
    BEGIN(AUDIT_MALLOC_TRIM);
    const int released = next.malloc_trim(pad);
    END(AUDIT_MALLOC_TRIM, pad, NULL);
    return released;
}

/* operator new may throw, and its handler do anything: then the call ends without a block. */
typedef struct open_call {
    timing t;
    bool ended;
    uint32_t operation;
    uint64_t size;
    const void *caller;
    uintptr_t frame;
} open_call;

static void end_thrown(open_call *call) {
    if (!call->ended)
        end_call(&call->t, call->operation, call->size, NULL, call->caller, call->frame, (call_detail){AUDIT_NONE, 0});
}

/* The C++ library may have been loaded late. Where none is found at all, malloc serves, as for a program that uses the
 * operators without one. */
#define NEW(mangled, member, kind, parameters, arguments, otherwise)                                                   \
    EXPORT void *mangled parameters;                                                                                   \
    EXPORT void *mangled parameters {                                                                                  \
        if (!next_is_ready()) return first_memory_take(size);                                                          \
        if (UNLIKELY(next.member == NULL)) next_look_up_operators(CALLER);                                             \
        __attribute__((cleanup(end_thrown))) open_call call = {                                                        \
            .operation = (kind), .size = size, .caller = CALLER, .frame = (uintptr_t)FRAME};                           \
        begin_call(&call.t, kind, CALLER, (uintptr_t)FRAME);                                                           \
        void *block = next.member != NULL ? next.member arguments : (otherwise);                                       \
        call.ended = true;                                                                                             \
        end_call(&call.t, kind, size, block, CALLER, (uintptr_t)FRAME, (call_detail){ALIGNED_TO});                     \
        return block;                                                                                                  \
    }

#define ALIGNED_TO AUDIT_NONE, 0
NEW(_Znwm, new_one, AUDIT_NEW, (size_t size), (size), next.malloc(size))
NEW(_Znam, new_array, AUDIT_NEW_ARRAY, (size_t size), (size), next.malloc(size))
NEW(_ZnwmRKSt9nothrow_t, new_nothrow, AUDIT_NEW, (size_t size, const void *tag), (size, tag), next.malloc(size))
NEW(_ZnamRKSt9nothrow_t, new_array_nothrow, AUDIT_NEW_ARRAY, (size_t size, const void *tag), (size, tag),
    next.malloc(size))
#undef ALIGNED_TO
#define ALIGNED_TO AUDIT_ALIGNMENT, to
NEW(_ZnwmSt11align_val_t, new_aligned, AUDIT_NEW, (size_t size, size_t to), (size, to), next.memalign(to, size))
NEW(_ZnamSt11align_val_t, new_array_aligned, AUDIT_NEW_ARRAY, (size_t size, size_t to), (size, to),
    next.memalign(to, size))
NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, new_aligned_nothrow, AUDIT_NEW, (size_t size, size_t to, const void *tag),
    (size, to, tag), next.memalign(to, size))
NEW(_ZnamSt11align_val_tRKSt9nothrow_t, new_array_aligned_nothrow, AUDIT_NEW_ARRAY,
    (size_t size, size_t to, const void *tag), (size, to, tag), next.memalign(to, size))

#define DELETE(mangled, member, operation, parameters, arguments)                                                      \
    EXPORT void mangled parameters;                                                                                    \
    EXPORT void mangled parameters {                                                                                   \
        if (first_memory_owns(block) || !next_is_ready()) return;                                                      \
        if (UNLIKELY(next.member == NULL)) next_look_up_operators(CALLER);                                             \
        BEGIN(operation);                                                                                              \
        if (next.member != NULL)                                                                                       \
            next.member arguments;                                                                                     \
        else                                                                                                           \
            next.free(block);                                                                                          \
        END(operation, 0, block);                                                                                      \
    }

DELETE(_ZdlPv, delete_one, AUDIT_DELETE, (void *block), (block))
DELETE(_ZdaPv, delete_array, AUDIT_DELETE_ARRAY, (void *block), (block))
DELETE(_ZdlPvm, delete_sized, AUDIT_DELETE, (void *block, size_t size), (block, size))
DELETE(_ZdaPvm, delete_array_sized, AUDIT_DELETE_ARRAY, (void *block, size_t size), (block, size))
DELETE(_ZdlPvRKSt9nothrow_t, delete_nothrow, AUDIT_DELETE, (void *block, const void *tag), (block, tag))
DELETE(_ZdaPvRKSt9nothrow_t, delete_array_nothrow, AUDIT_DELETE_ARRAY, (void *block, const void *tag), (block, tag))
DELETE(_ZdlPvSt11align_val_t, delete_aligned, AUDIT_DELETE, (void *block, size_t to), (block, to))
DELETE(_ZdaPvSt11align_val_t, delete_array_aligned, AUDIT_DELETE_ARRAY, (void *block, size_t to), (block, to))
DELETE(_ZdlPvmSt11align_val_t, delete_aligned_sized, AUDIT_DELETE, (void *block, size_t size, size_t to),
       (block, size, to))
DELETE(_ZdaPvmSt11align_val_t, delete_array_aligned_sized, AUDIT_DELETE_ARRAY, (void *block, size_t size, size_t to),
       (block, size, to))
DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t, delete_aligned_nothrow, AUDIT_DELETE,
       (void *block, size_t to, const void *tag), (block, to, tag))
DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t, delete_array_aligned_nothrow, AUDIT_DELETE_ARRAY,
       (void *block, size_t to, const void *tag), (block, to, tag))

/* What <flatline/audit.h> calls: the phase of the program that begins here, for the whole process. */
EXPORT void flat_audit_phase(const char *name);
EXPORT void flat_audit_phase(const char *name) {
    audit_writer *mine = &audit_mine;
    if (mine->inside) return;
    mine->inside = true;
    if (audit_is_attached(mine) || audit_attach(mine))
        audit_put_detail(mine, AUDIT_PHASE, ticks_now() - mine->begin, interned_put_text(&audit_shared->names, name),
                         0);
    mine->inside = false;
}

#define FUNCTION(name) {#name, (uintptr_t)&name}

/* An allocator under the audit may look up the C library's functions at any time, and would find these, which call it:
 * then callers that are bound past the audit stay so. Flatline's own does not. */
static bool may_reach_past(const object *libc) {
    const char *name = "";
    struct dl_find_object found;
    if (_dl_find_object((void *)(uintptr_t)next.malloc, &found) == 0) name = found.dlfo_link_map->l_name;
    const size_t length = strlen(name), own = strlen(FLATLINE_MALLOC);
    return flat_c_library_has(libc, "malloc", (uintptr_t)next.malloc) ||
           (length >= own && strcmp(name + length - own, FLATLINE_MALLOC) == 0);
}

static void reach_past(void) {
    static const c_library_function functions[] = {
        FUNCTION(malloc), FUNCTION(calloc),         FUNCTION(realloc),    FUNCTION(reallocarray),
        FUNCTION(free),   FUNCTION(posix_memalign), FUNCTION(memalign),   FUNCTION(aligned_alloc),
        FUNCTION(valloc), FUNCTION(pvalloc),        FUNCTION(malloc_trim)};
    object libc;
    if (!flat_c_library_find(&libc, (uintptr_t)&malloc)) return;
    if (may_reach_past(&libc)) (void)flat_c_library_change(&libc, functions, sizeof functions / sizeof *functions);
    signals_reach_past(&libc);
    waits_reach_past(&libc);
}

/* A program that allocates nothing is under the audit all the same. */
__attribute__((constructor)) static void begin_audit(void) {
    audit_writer *mine = &audit_mine;
    if (mine->inside || !next_is_ready()) return;
    mine->inside = true;
    if (audit_is_attached(mine) || audit_attach(mine)) reach_past();
    mine->inside = false;
}
