/* What was asked for and what was obtained: locked memory on the best pages that the system has. */
#include <flatline/region.h>
#include <stdio.h>
#include <string.h>

#define BYTES ((size_t)8 << 20)

/* Which part of its life the program is in. Only the tests read it: they require that the heap is not called while it
 * is STEADY. */
volatile enum { STARTING, STEADY, ENDING } phase;

static int fail(const char *what) {
    (void)fprintf(stderr, "region_facts: %s\n", what);
    return 1;
}

int main(void) {
    char message[FLAT_REGION_MESSAGE_SIZE];
    flat_region_options options = {
        .locked = true,                       /* never paged out */
        .allowed_pages = FLAT_PAGES_EXPLICIT, /* explicit huge pages, else transparent ones, else small ones */
        .message = message,
        .message_size = sizeof message,
    };
    flat_region region;
    flat_status status = flat_region_create(&region, BYTES, 64, &options);
    if (status == FLAT_NOT_PERMITTED) {
        (void)printf("%s\n", message); /* which limit, and what to do; here the program goes on without */
        options.locked = false;
        status = flat_region_create(&region, BYTES, 64, &options);
    }
    if (status != FLAT_OK) return fail(message);

    flat_region_facts facts;
    if (flat_region_report(&region, &facts) != FLAT_OK) return fail("the kernel does not tell");
    (void)printf("%zu bytes: %zu resident, %zu on huge pages, %zu locked, node %d\n", facts.bytes, facts.resident,
                 facts.huge, facts.locked, facts.node);
    if (facts.resident != facts.bytes) return fail("a page is missing");
    if (options.locked && facts.locked != facts.bytes) return fail("a page is not locked");

    phase = STEADY;
    memset(region.start, 1, region.size); /* no page fault: every page is there */
    phase = ENDING;
    flat_region_destroy(&region);
    return 0;
}
