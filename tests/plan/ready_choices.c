#include "ready_choices.h"

#include "engine/ready.h"

/* The ready tasks of a worker whose lists are as long as in the state. Nodes are numbered from urgency 0 on. */
typedef struct made_lists {
    ready_tasks tasks;
    list_link links[READY_MOST_TASKS + 1 + READY_LISTS];
    uint64_t lengths[READY_LISTS];
    uint32_t nodes;
} made_lists;

static void make_lists(made_lists *made, const ready_state *state, unsigned limit) {
    made->tasks = (ready_tasks){.start = 0x8000 - (uint64_t)limit,
                                .links = made->links,
                                .heads = READY_MOST_TASKS + 1,
                                .lengths = made->lengths};
    made->nodes = 0;
    for (unsigned list = 0; list < READY_LISTS; list++) {
        made->lengths[list] = 0;
        links_begin(made->links, made->tasks.heads + list);
        for (unsigned i = 0; i < state->length[list]; i++) ready_append(&made->tasks, list, made->nodes++);
    }
    made->tasks.passed_over = state->passed_over;
}

static void keep(ready_state *state, const made_lists *made) {
    state->passed_over = made->tasks.passed_over;
    for (unsigned list = 0; list < READY_LISTS; list++) state->length[list] = (unsigned)made->lengths[list];
}

void ready_state_append(ready_state *state, unsigned limit, unsigned urgency) {
    made_lists made;
    make_lists(&made, state, limit);
    ready_append(&made.tasks, urgency, made.nodes);
    keep(state, &made);
}

unsigned ready_state_choose(ready_state *state, unsigned limit) {
    made_lists made;
    unsigned urgency = 0;
    make_lists(&made, state, limit);
    uint32_t node = ready_choose(&made.tasks);
    while (node >= state->length[urgency]) node -= state->length[urgency++];
    keep(state, &made);
    return urgency;
}
