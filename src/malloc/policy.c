#include "policy.h"

#include "runs.h"
#include "say.h"
#include "settings.h"

#include <stdio.h>
#include <string.h>

#define MIB ((size_t)1 << 20)
#define KIB ((size_t)1 << 10)

static const policy policies[] = {
    {.name = "balanced",
     .kept_pages = 256 * KIB / PAGE,
     .left_pages = 4 * MIB / PAGE,
     .kept_huge_pages = 64 * MIB / PAGE,
     .kept_shift = 6,
     .keeps_empty_spans = true,
     .settles = true,
     .at_once = {.young_spans = 4, .pages = 2, .large_pages = 16, .young_chunks = 1},
     .kept_at_hand = {32 * KIB, 8}},
    {.name = "latency",
     .kept_pages = UINT32_MAX,
     .left_pages = UINT32_MAX,
     .kept_huge_pages = UINT32_MAX,
     .keeps_empty_spans = true,
     .at_once = {.pages = 64, .large_pages = 64, .chunk_pages = 32},
     .kept_at_hand = {64 * KIB, 8}},
    {.name = "memory",
     .kept_pages = 256 * KIB / PAGE,
     .left_pages = 256 * KIB / PAGE,
     .kept_huge_pages = 4 * MIB / PAGE,
     .kept_shift = 6,
     .prefers_full_spans = true,
     .settles = true,
     .at_once = {.young_chunks = UINT32_MAX},
     .kept_at_hand = {4 * KIB, 2}},
};

policy flat_policy;

void flat_policy_init(void) {
    const char *asked = flat_setting("FLATLINE_POLICY");
    flat_policy = policies[0];
    if (asked == NULL || *asked == 0) return;
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
        if (strcmp(asked, policies[i].name) != 0) continue;
        flat_policy = policies[i];
        return;
    }
    char line[160];
    int length = snprintf(line, sizeof line,
                          "flatline-malloc: FLATLINE_POLICY=%.40s is none of latency, balanced and memory: balanced "
                          "serves\n",
                          asked);
    flat_say(line, (size_t)length);
}

uint32_t flat_pages_above(uint32_t dirty, uint32_t used, uint32_t kept) {
    if (kept == UINT32_MAX) return 0;
    return difference(dirty, kept + (used >> flat_policy.kept_shift));
}
