#define _GNU_SOURCE
#include "unwind.h"

#include <stdbool.h>
#include <unwind.h>

typedef struct walk {
    uintptr_t innermost, *addresses;
    size_t count;
    bool found;
} walk;

static _Unwind_Reason_Code look(struct _Unwind_Context *frame, void *context) {
    walk *of = context;
    int before_instruction = 0;
    uintptr_t address = _Unwind_GetIPInfo(frame, &before_instruction);
    if (address == of->innermost) of->found = true;
    if (!of->found) return _URC_NO_REASON;
    if (address == 0 || of->count == UNWIND_DEPTH) return _URC_END_OF_STACK;
    /* Where a signal struck is no return address: one more, so that a reader may take one from all of them. */
    of->addresses[of->count++] = address + (before_instruction != 0 ? 1 : 0);
    return _URC_NO_REASON;
}

size_t unwind_from(const void *innermost, uintptr_t addresses[UNWIND_DEPTH]) {
    walk of = {.innermost = (uintptr_t)innermost, .addresses = addresses};
    (void)_Unwind_Backtrace(look, &of);
    if (of.count > 0) return of.count;
    addresses[0] = (uintptr_t)innermost;
    return 1;
}
