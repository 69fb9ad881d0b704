/* One call of the allocator in 24 bytes, as the preloaded library writes it and the recording keeps it.
 *
 * A call whose figures do not fit, or about which more is known, is preceded by details: records of the same size, of
 * the same thread, between the record of the thread's call before and its own. */
#ifndef FLATLINE_AUDIT_RECORD_H
#define FLATLINE_AUDIT_RECORD_H

#include <stdint.h>

/* X(name, text, what it does): the calls, by the names of the functions. */
#define AUDIT_CALLS(X)                                                                                                 \
    X(MALLOC, "malloc", TAKES)                                                                                         \
    X(CALLOC, "calloc", TAKES)                                                                                         \
    X(REALLOC, "realloc", TAKES)                                                                                       \
    X(ALIGNED_ALLOC, "aligned_alloc", TAKES)                                                                           \
    X(MEMALIGN, "memalign", TAKES)                                                                                     \
    X(POSIX_MEMALIGN, "posix_memalign", TAKES)                                                                         \
    X(VALLOC, "valloc", TAKES)                                                                                         \
    X(PVALLOC, "pvalloc", TAKES)                                                                                       \
    X(NEW, "operator new", TAKES)                                                                                      \
    X(NEW_ARRAY, "operator new[]", TAKES)                                                                              \
    X(FREE, "free", GIVES)                                                                                             \
    X(DELETE, "operator delete", GIVES)                                                                                \
    X(DELETE_ARRAY, "operator delete[]", GIVES)                                                                        \
    X(MALLOC_TRIM, "malloc_trim", TRIMS)

#define AUDIT_NAME(name, text, what) AUDIT_##name,
enum audit_operation {
    AUDIT_NONE = 0,
    AUDIT_CALLS(AUDIT_NAME) AUDIT_CALLS_END,
    /* Details. The pair behind each is what its two values are. */
    AUDIT_DURATION = 32, /* ticks, nothing: a call of 2^32 ticks or more */
    AUDIT_SIZE,          /* bytes, nothing: 2^31 or more */
    AUDIT_OLD_BLOCK,     /* address, nothing: of realloc, if it was given one */
    AUDIT_ALIGNMENT,     /* bytes, nothing: what was asked for */
    AUDIT_SYSTEM_CALL,   /* number, ticks in it; the record's time is its beginning. ticks UINT64_MAX: not known */
    AUDIT_FAULTS,        /* minor, major page faults of the thread since it was last asked, at most 10 us before */
    AUDIT_SWITCHES,      /* voluntary, involuntary context switches of the thread since then */
    AUDIT_PHASE,         /* number of the phase's name among the interned texts, nothing; belongs to no call */
};
#undef AUDIT_NAME

/* Word 0: operation in 8 bits, above it when the call began, in ticks since the session did (2^56: 270 days).
 * Word 1: duration in ticks in 32 bits, stack in 20, upper 12 bits of the size.
 * Word 2: lower 19 bits of the size, above them the block's address without its last three bits.
 * A detail: word 0 as above, and its two values. */
typedef struct audit_record {
    uint64_t words[3];
} audit_record;

#define AUDIT_OPERATION_BITS 8
#define AUDIT_DURATION_MAX UINT32_MAX
#define AUDIT_STACK_BITS 20
#define AUDIT_SIZE_LOW_BITS 19
#define AUDIT_SIZE_MAX ((UINT64_C(1) << 31) - 1)

static inline audit_record audit_record_of_call(uint64_t operation, uint64_t begin, uint64_t duration, uint64_t stack,
                                                uint64_t size, uint64_t block) {
    const uint64_t ticks = duration < AUDIT_DURATION_MAX ? duration : AUDIT_DURATION_MAX;
    const uint64_t bytes = size < AUDIT_SIZE_MAX ? size : AUDIT_SIZE_MAX;
    const audit_record record = {
        {begin << AUDIT_OPERATION_BITS | operation,
         bytes >> AUDIT_SIZE_LOW_BITS << (32 + AUDIT_STACK_BITS) | stack << 32 | ticks,
         block >> 3 << AUDIT_SIZE_LOW_BITS | (bytes & ((UINT64_C(1) << AUDIT_SIZE_LOW_BITS) - 1))}};
    return record;
}

static inline audit_record audit_record_of_detail(uint64_t operation, uint64_t time, uint64_t first, uint64_t second) {
    const audit_record record = {{time << AUDIT_OPERATION_BITS | operation, first, second}};
    return record;
}

static inline uint32_t audit_operation_of(const audit_record *record) {
    return (uint32_t)(record->words[0] & ((1u << AUDIT_OPERATION_BITS) - 1));
}
static inline uint64_t audit_time_of(const audit_record *record) { return record->words[0] >> AUDIT_OPERATION_BITS; }
static inline uint32_t audit_duration_of(const audit_record *record) { return (uint32_t)record->words[1]; }
static inline uint32_t audit_stack_of(const audit_record *record) {
    return (uint32_t)(record->words[1] >> 32) & ((1u << AUDIT_STACK_BITS) - 1);
}
static inline uint64_t audit_size_of(const audit_record *record) {
    return record->words[1] >> (32 + AUDIT_STACK_BITS) << AUDIT_SIZE_LOW_BITS |
           (record->words[2] & ((UINT64_C(1) << AUDIT_SIZE_LOW_BITS) - 1));
}
static inline uint64_t audit_block_of(const audit_record *record) {
    return record->words[2] >> AUDIT_SIZE_LOW_BITS << 3;
}

#endif
