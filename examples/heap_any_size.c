/* Requests with fields and bodies of any length, eight of them in the works at once, from one region that can never run
 * out: its size is computed from what the protocol allows, before the first request arrives. */
#include <flatline/heap.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define IN_THE_WORKS 8   /* requests at once */
#define MOST_FIELDS 24   /* of a request */
#define MOST_FIELD 200   /* bytes: name and value */
#define MOST_BODY 6000   /* bytes */
#define CHUNK 700        /* bytes of a body that arrive together at most */
#define REQUESTS 100000u /* in all */

/* Which part of its life the program is in. Only the tests read it: they require that the heap is not called while it
 * is STEADY. */
volatile enum { STARTING, STEADY, ENDING } phase;

typedef struct field {
    struct field *next;
    size_t length;
    char text[]; /* "name: value" */
} field;

typedef struct request {
    field *fields;
    char *body;
    size_t body_length, expected; /* bytes: so far, in all */
} request;

/* Stands for the network: the same numbers in every run. */
static size_t next_number(size_t below) {
    static uint64_t state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(state >> 33) % below;
}

static char letter(size_t at) { return (char)('a' + at % 26); }

static int fail(const char *what, flat_status status) {
    (void)fprintf(stderr, "heap_any_size: %s: %s\n", what, flat_status_string(status));
    return 1;
}

/* A region that never refuses a request of this protocol. */
static flat_status make_heap(flat_heap **heap, size_t *bytes) {
    const flat_heap_demand demand = {
        .live = IN_THE_WORKS * (sizeof(request) + MOST_FIELDS * (sizeof(field) + MOST_FIELD) + MOST_BODY),
        .smallest = sizeof(field),
        .largest = MOST_BODY,
        .reallocates = true, /* a body grows while it arrives */
    };
    flat_status status = flat_heap_bound(&demand, bytes);
    return status == FLAT_OK ? flat_heap_create(heap, *bytes, NULL) : status;
}

/* A request with its fields; NULL iff the heap refused. */
static request *begin(flat_heap *heap) {
    request *made = flat_heap_alloc(heap, sizeof *made);
    if (made == NULL) return NULL;
    *made = (request){.expected = next_number(MOST_BODY + 1)};
    for (size_t left = next_number(MOST_FIELDS + 1); left > 0; left--) {
        size_t length = next_number(MOST_FIELD + 1);
        field *parsed = flat_heap_alloc(heap, sizeof *parsed + length);
        if (parsed == NULL) return NULL;
        *parsed = (field){.next = made->fields, .length = length};
        for (size_t at = 0; at < length; at++) parsed->text[at] = letter(at);
        made->fields = parsed;
    }
    return made;
}

/* More of the body has arrived. */
static flat_status add(flat_heap *heap, request *to) {
    size_t length = 1 + next_number(CHUNK);
    if (length > to->expected - to->body_length) length = to->expected - to->body_length;
    void *body = to->body;
    flat_status status = flat_heap_realloc(heap, &body, to->body_length + length);
    if (status != FLAT_OK) return status; /* the body is where it was, as long as it was */
    to->body = body;
    for (size_t end = to->body_length + length; to->body_length < end; to->body_length++) {
        to->body[to->body_length] = letter(to->body_length);
    }
    return FLAT_OK;
}

/* Gives everything back; false if something is not what arrived, or a free was refused. */
static bool finish(flat_heap *heap, request *done) {
    bool right = true;
    while (done->fields != NULL) {
        field *first = done->fields;
        done->fields = first->next;
        for (size_t at = 0; at < first->length; at++) right = right && first->text[at] == letter(at);
        right = right && flat_heap_free(heap, first) == FLAT_OK;
    }
    for (size_t at = 0; at < done->body_length; at++) right = right && done->body[at] == letter(at);
    right = right && flat_heap_free(heap, done->body) == FLAT_OK;
    return flat_heap_free(heap, done) == FLAT_OK && right;
}

int main(void) {
    flat_heap *heap;
    size_t bytes;
    flat_status status = make_heap(&heap, &bytes);
    if (status != FLAT_OK) return fail("no heap", status);

    phase = STEADY;
    request *works[IN_THE_WORKS] = {0};
    for (size_t begun = 0; begun < REQUESTS;) {
        request **one = &works[next_number(IN_THE_WORKS)];
        if (*one == NULL) {
            *one = begin(heap);
            if (*one == NULL) return fail("begin", FLAT_OUT_OF_MEMORY);
            begun++;
        } else if ((*one)->body_length < (*one)->expected) {
            status = add(heap, *one);
            if (status != FLAT_OK) return fail("add", status);
        } else {
            if (!finish(heap, *one)) return fail("finish", FLAT_CORRUPTED);
            *one = NULL;
        }
    }
    for (size_t i = 0; i < IN_THE_WORKS; i++) {
        if (works[i] != NULL && !finish(heap, works[i])) return fail("finish", FLAT_CORRUPTED);
    }

    phase = ENDING;
    flat_heap_stats stats;
    flat_heap_get_stats(heap, &stats);
    (void)printf("%u requests from a region of %zu bytes; at most %zu were live, %llu requests refused\n", REQUESTS,
                 bytes, stats.high_water, (unsigned long long)stats.refused);
    bool as_it_began = stats.live == 0 && flat_heap_check(heap) == FLAT_OK;
    flat_heap_destroy(heap);
    return as_it_began && stats.refused == 0 ? 0 : 1;
}
