#define _GNU_SOURCE
#include "replaced.h"

#include "objects.h"

bool flat_may_be_replaced = true;

static const char *const names[BASE_OPERATORS] = {
    [NEW] = "_Znwm",
    [NEW_MANY] = "_Znam",
    [NEW_ALIGNED] = "_ZnwmSt11align_val_t",
    [NEW_ALIGNED_MANY] = "_ZnamSt11align_val_t",
    [DELETE] = "_ZdlPv",
    [DELETE_MANY] = "_ZdaPv",
    [DELETE_ALIGNED] = "_ZdlPvSt11align_val_t",
    [DELETE_ALIGNED_MANY] = "_ZdaPvSt11align_val_t",
};

/* NULL: this library's. Threads that look at the same time find the same. */
static flat_any_function *programs_own[BASE_OPERATORS];
static bool looked_through;

static bool note(int base, flat_any_function *found) {
    if (found == NULL || found == flat_base_operators[base].here) return false;
    if (__atomic_load_n(&programs_own[base], __ATOMIC_RELAXED) == NULL)
        __atomic_store_n(&programs_own[base], found, __ATOMIC_RELAXED);
    return true;
}

typedef struct search {
    bool past_program, found_any;
} search;

/* Looks at what comes before this library in the dynamic linker's search; the first definition counts. A C++ library
 * comes before it if this one was opened late, and its operators are no replacement. Those in the program itself are
 * the program's own. */
static int look(struct dl_phdr_info *info, size_t size, void *context) {
    (void)size;
    search *of = context;
    bool is_program = !of->past_program;
    of->past_program = true;
    object here;
    if (!flat_object_read(&here, info)) return 0;
    if (!is_program && flat_object_symbol(&here, "_ZSt15get_new_handlerv", NULL) != NULL) return 0;
    for (int i = 0; i < BASE_OPERATORS; i++) {
        const ElfW(Sym) *symbol = flat_object_symbol(&here, names[i], NULL);
        if (symbol == NULL) continue;
        of->found_any |= note(i, (flat_any_function *)flat_symbol_address(&here, symbol));
    }
    return flat_object_holds(&here, (uintptr_t)&look);
}

/* Runs at the start, or before it, if another constructor calls an operator. */
__attribute__((constructor)) static void look_through(void) {
    if (__atomic_load_n(&looked_through, __ATOMIC_ACQUIRE)) return;
    search of = {false, false};
    for (int i = 0; i < BASE_OPERATORS; i++) of.found_any |= note(i, flat_base_operators[i].linked);
    (void)dl_iterate_phdr(look, &of);
    __atomic_store_n(&looked_through, true, __ATOMIC_RELEASE);
    if (!of.found_any) __atomic_store_n(&flat_may_be_replaced, false, __ATOMIC_RELAXED);
}

flat_any_function *flat_replaced_operator(base_operator base, base_operator below) {
    look_through();
    flat_any_function *own = __atomic_load_n(&programs_own[base], __ATOMIC_RELAXED);
    return own != NULL ? own : __atomic_load_n(&programs_own[below], __ATOMIC_RELAXED);
}
