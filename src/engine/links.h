/* Circular doubly linked lists of numbered nodes, in one array of links. A list's head is a node too: an empty one's
 * links are itself, so that a node leaves its list without knowing which that is. */
#ifndef FLATLINE_ENGINE_LINKS_H
#define FLATLINE_ENGINE_LINKS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct list_link {
    uint32_t next, previous;
} list_link;

static inline void links_begin(list_link *links, uint32_t head) { links[head] = (list_link){head, head}; }

static inline bool links_are_empty(const list_link *links, uint32_t head) { return links[head].next == head; }

/* Makes `node`, which is in no list, the last one of the list. */
static inline void links_append(list_link *links, uint32_t head, uint32_t node) {
    uint32_t last = links[head].previous;
    links[node] = (list_link){head, last};
    links[last].next = node;
    links[head].previous = node;
}

/* Takes `node` out of its list. Returns the head if the list is empty now, and a node of it otherwise. */
static inline uint32_t links_remove(list_link *links, uint32_t node) {
    list_link around = links[node];
    links[around.previous].next = around.next;
    links[around.next].previous = around.previous;
    return around.next;
}

#endif
