/* The part of the plan that the options determine. */
#include "region_plan.h"

#include "region_refusal.h"

#include <unistd.h>

size_t flat_base_page(void) { return (size_t)sysconf(_SC_PAGESIZE); }

flat_status flat_choose_pages(const flat_region_options *options, flat_pages *most, flat_pages *least) {
    unsigned allowed = (unsigned)options->allowed_pages, required = (unsigned)options->required_pages;
    if (allowed > FLAT_PAGES_EXPLICIT || required > FLAT_PAGES_EXPLICIT)
        return flat_refuse(options, FLAT_INVALID_ARGUMENT, "allowed_pages and required_pages must be a flat_pages");
    if (allowed != FLAT_PAGES_DEFAULT && required > allowed)
        return flat_refuse(options, FLAT_INVALID_ARGUMENT,
                           "required_pages is above allowed_pages: allow what you require");
    if (options->lazy && required == FLAT_PAGES_TRANSPARENT)
        return flat_refuse(options, FLAT_INVALID_ARGUMENT,
                           "transparent huge pages come with the first access or not at all: they cannot be required "
                           "of a lazy region");
    *least = required == FLAT_PAGES_DEFAULT ? FLAT_PAGES_SMALL : (flat_pages)required;
    *most = (flat_pages)allowed;
    if (allowed == FLAT_PAGES_DEFAULT && !options->lazy) *most = FLAT_PAGES_TRANSPARENT;
    if (allowed == FLAT_PAGES_DEFAULT && required == FLAT_PAGES_EXPLICIT) *most = FLAT_PAGES_EXPLICIT;
    return FLAT_OK;
}
