/* Buffers grow by realloc in turn, shrink again and grow once more, as text vectors do. They keep their content.
 * Argument: how many. */
#include "wild.h"

#include <stdlib.h>

enum { MOST = 8 };

static volatile char *buffer[MOST];
static size_t had[MOST];

static char mark_of(size_t which, size_t at) { return (char)(1 + which * 31 + at / PAGE); }

static void resize(size_t which, size_t size) {
    char *moved = realloc((void *)buffer[which], size);
    if (moved == NULL) finish(WRONG, "realloc to %zu bytes is NULL", size);
    buffer[which] = moved;
    size_t keeps = size < had[which] ? size : had[which];
    for (size_t at = 0; at < keeps; at += PAGE) {
        if (moved[at] != mark_of(which, at)) finish(WRONG, "byte %zu of buffer %zu changed by realloc", at, which);
    }
    for (size_t at = (keeps + PAGE - 1) / PAGE * PAGE; at < size; at += PAGE) moved[at] = mark_of(which, at);
    had[which] = size;
}

int main(int count, char **arguments) {
    size_t buffers = number(count, arguments, 1);
    if (buffers > MOST) finish(CANNOT_RUN, "at most %d buffers", MOST);
    for (int round = 0; round < 3; round++) {
        /* First they double; then they grow by a half and odd steps that end within a page. */
        for (size_t size = 200000; size <= 48 * MIB;
             size = round == 0 ? 2 * size : size + size / 2 + 777 * (size_t)round) {
            for (size_t which = 0; which < buffers; which++) resize(which, size);
        }
        for (size_t which = 0; which < buffers; which++) resize(which, 5 * MIB / (which + 1));
        free((void *)buffer[0]);
        buffer[0] = NULL;
        had[0] = 0;
    }
    for (size_t which = 0; which < buffers; which++) free((void *)buffer[which]);
    return RIGHT;
}
