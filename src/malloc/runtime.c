#define _GNU_SOURCE
#include "exceptions.h"
#include "objects.h"

typedef enum nearness { NONE, LOADED, NEEDED, CALLERS_OWN } nearness;

typedef struct search {
    const char *name;
    uintptr_t caller;
    object callers; /* the caller's program or library; if `dynamic` is NULL: not found */
    nearness best;
    flat_any_function *found;
} search;

static int find_caller(struct dl_phdr_info *info, size_t size, void *context) {
    (void)size;
    search *of = context;
    object here;
    if (!flat_object_read(&here, info) || !flat_object_holds(&here, of->caller)) return 0;
    of->callers = here;
    return 1;
}

static nearness nearness_of(const object *here, const search *of) {
    if (of->callers.dynamic == here->dynamic) return CALLERS_OWN;
    return of->callers.dynamic != NULL && flat_object_needs(&of->callers, flat_object_name(here)) ? NEEDED : LOADED;
}

/* Identified by std::get_new_handler: any other object with an operator new is a malloc, not a C++ runtime. */
static int find_function(struct dl_phdr_info *info, size_t size, void *context) {
    (void)size;
    search *of = context;
    object here;
    if (!flat_object_read(&here, info) || flat_object_holds(&here, (uintptr_t)&find_function)) return 0;
    if (flat_object_symbol(&here, "_ZSt15get_new_handlerv", NULL) == NULL) return 0;
    const ElfW(Sym) *symbol = flat_object_symbol(&here, of->name, NULL);
    if (symbol == NULL || nearness_of(&here, of) <= of->best) return 0;
    of->best = nearness_of(&here, of);
    of->found = (flat_any_function *)flat_symbol_address(&here, symbol);
    return 0;
}

flat_any_function *flat_runtime_function(const char *name, const void *caller) {
    search of = {.name = name, .caller = (uintptr_t)caller};
    (void)dl_iterate_phdr(find_caller, &of);
    (void)dl_iterate_phdr(find_function, &of);
    return of.found;
}
