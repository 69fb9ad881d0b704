/* Pages of a mapping that become something else: a guard, or pages that another process can see. */
#ifndef FLATLINE_OS_PAGE_GUARD_H
#define FLATLINE_OS_PAGE_GUARD_H

#include <stdbool.h>
#include <stddef.h>

/* Makes the page at `page` one whose access ends the program. False: it stays as it is, as on explicit huge pages. */
bool flat_guard_page(void *page);

/* Replaces whole pages of private memory, with their content, by those of a file without a path, which another process
 * of the same user can map through /proc; `name` tells it from others. Returns the descriptor, which the caller closes;
 * -1: the pages stay as they are. */
int flat_show_pages(void *start, size_t size, const char *name, bool locked);

#endif
