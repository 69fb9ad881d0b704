/* A request handler: what a request needs is allocated piece by piece as it is read, and given back at once when it has
 * been answered. A request that needs more than the arena has is refused; the next one is served as if nothing had
 * been.
 */
#include <flatline/arena.h>
#include <stdio.h>
#include <string.h>

#define ARENA_BYTES 8192
#define REQUESTS 100000

/* Which part of its life the program is in. Only the tests read it: they require that the heap is not called while it
 * is STEADY. */
volatile enum { STARTING, STEADY, ENDING } phase;

struct field {
    const char *name, *value;
    struct field *next;
};

/* A text that grows where it lies, for as long as it is the newest block. */
struct text {
    char *start;
    size_t length;
};

static bool append(flat_arena *arena, struct text *text, const char *more) {
    const size_t old_length = text->length, length = old_length + strlen(more);
    if (!flat_arena_resize(arena, text->start, old_length, length)) return false;
    memcpy(text->start + old_length, more, length - old_length);
    text->length = length;
    return true;
}

/* The characters of `query` up to `delimiter` or its end, as a string of its own; moves `*query` behind them. */
static const char *take(flat_arena *arena, const char **query, char delimiter) {
    const char *end = strchr(*query, delimiter);
    const size_t length = end != NULL ? (size_t)(end - *query) : strlen(*query);
    char *copy = flat_arena_aligned_alloc(arena, 1, length + 1); /* characters need no alignment, and leave no gap */
    if (copy == NULL) return NULL;
    memcpy(copy, *query, length);
    copy[length] = '\0';
    *query += end != NULL ? length + 1 : length;
    return copy;
}

/* The fields of "name=value&name=value", the last one first. False iff they do not fit. */
static bool parse(flat_arena *arena, const char *query, struct field **fields) {
    *fields = NULL;
    while (*query != '\0') {
        struct field *field = flat_arena_alloc(arena, sizeof *field);
        if (field == NULL) return false;
        field->name = take(arena, &query, '=');
        field->value = take(arena, &query, '&');
        if (field->name == NULL || field->value == NULL) return false;
        field->next = *fields;
        *fields = field;
    }
    return true;
}

/* "value of name" for each field, in a text that lies in the arena. False iff that does not fit. */
static bool answer(flat_arena *arena, const char *query, struct text *text) {
    struct field *fields;
    if (!parse(arena, query, &fields)) return false;
    *text = (struct text){.start = flat_arena_alloc(arena, 0)};
    if (text->start == NULL) return false;
    for (const struct field *field = fields; field != NULL; field = field->next) {
        if (!append(arena, text, field->value) || !append(arena, text, " of ") || !append(arena, text, field->name) ||
            !append(arena, text, "\n")) {
            return false;
        }
    }
    return true;
}

/* Whether `query` was answered as it should be. */
static bool handle(flat_arena *arena, const char *query, const char *expected) {
    const flat_arena_mark mark = flat_arena_get_mark(arena);
    struct text text;
    bool answered = answer(arena, query, &text);
    if (answered) answered = text.length == strlen(expected) && memcmp(text.start, expected, text.length) == 0;
    return flat_arena_rewind(arena, mark) == FLAT_OK && answered; /* everything of this request is given back */
}

int main(void) {
    flat_arena arena;
    flat_arena_stats stats;
    static char endless[40 * 1024];
    for (size_t i = 0; i + 4 < sizeof endless; i += 4) memcpy(endless + i, "a=b&", 4);
    if (flat_arena_create(&arena, ARENA_BYTES, NULL) != FLAT_OK) return 1; /* all memory is there now, or never */

    phase = STEADY;
    int answered = 0;
    for (int i = 0; i < REQUESTS; i++) {
        char query[64], expected[64];
        (void)snprintf(query, sizeof query, "user=%d&page=%d", i, i % 7);
        (void)snprintf(expected, sizeof expected, "%d of page\n%d of user\n", i % 7, i);
        answered += handle(&arena, query, expected);
    }
    const bool refused = !handle(&arena, endless, "");
    const bool served_again = handle(&arena, "a=b", "b of a\n");
    flat_arena_get_stats(&arena, &stats);
    phase = ENDING;

    (void)printf("%d requests answered, %llu allocations refused\n", answered, (unsigned long long)stats.refused);
    (void)printf("%zu bytes at most in use, %zu needed\n", stats.high_water, stats.needed);
    const bool as_told = answered == REQUESTS && refused && served_again && stats.used == 0 && stats.refused == 1 &&
                         stats.needed > stats.bytes;
    flat_arena_destroy(&arena);
    return as_told ? 0 : 1;
}
