#define _GNU_SOURCE
#include "unwind.h"

#include <unwind.h>

typedef struct walk {
    uintptr_t innermost, *addresses, *slots;
    size_t count;
    bool found;
    bool (*is_known)(void *context, size_t count);
    void *context;
} walk;

/* For the unwinder, a frame's CFA is that of the function which it called: the stack pointer behind the return. */
static uintptr_t slot_of(struct _Unwind_Context *frame, bool was_interrupted) {
#if defined(__x86_64__)
    return was_interrupted ? 0 : _Unwind_GetCFA(frame) - sizeof(uintptr_t);
#else
    (void)frame;
    (void)was_interrupted;
    return 0;
#endif
}

static _Unwind_Reason_Code look(struct _Unwind_Context *frame, void *context) {
    walk *of = context;
    int before_instruction = 0;
    uintptr_t address = _Unwind_GetIPInfo(frame, &before_instruction);
    if (address == of->innermost) of->found = true;
    if (!of->found) return _URC_NO_REASON;
    if (address == 0 || of->count == UNWIND_DEPTH) return _URC_END_OF_STACK;
    if (of->slots != NULL) of->slots[of->count] = slot_of(frame, before_instruction != 0);
    /* Where a signal struck is no return address: one more, so that a reader may take one from all of them. */
    of->addresses[of->count++] = address + (before_instruction != 0 ? 1 : 0);
    return of->is_known != NULL && of->is_known(of->context, of->count) ? _URC_END_OF_STACK : _URC_NO_REASON;
}

size_t unwind_until(const void *innermost, uintptr_t addresses[UNWIND_DEPTH], uintptr_t slots[UNWIND_DEPTH],
                    bool (*is_known)(void *context, size_t count), void *context) {
    walk of = {.innermost = (uintptr_t)innermost,
               .addresses = addresses,
               .slots = slots,
               .is_known = is_known,
               .context = context};
    (void)_Unwind_Backtrace(look, &of);
    if (of.count > 0) return of.count;
    addresses[0] = (uintptr_t)innermost;
    if (slots != NULL) slots[0] = 0;
    return 1;
}

size_t unwind_from(const void *innermost, uintptr_t addresses[UNWIND_DEPTH], uintptr_t slots[UNWIND_DEPTH]) {
    return unwind_until(innermost, addresses, slots, NULL, NULL);
}
