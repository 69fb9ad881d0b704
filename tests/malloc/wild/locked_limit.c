/* mlockall(MCL_CURRENT | MCL_FUTURE), with MCL_ONFAULT for `fault`. Arguments: the limit of locked memory in MiB, or 0
 * for none; `now` or `fault`. The call succeeds, little becomes resident, and at least 0.8 of what the limit leaves can
 * be allocated, or half if the limit is less than 64 MiB. */
#define _GNU_SOURCE
#include "wild.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum { NOBODY = 65534 };

static void lock_all(size_t limit, int how) {
    const struct rlimit most = {limit, limit};
    if (limit > 0 && setrlimit(RLIMIT_MEMLOCK, &most) != 0) finish(NOT_HERE, "RLIMIT_MEMLOCK cannot be set so high");
    if (limit > 0 && getuid() == 0 && setuid(NOBODY) != 0) finish(NOT_HERE, "setuid fails");
    if (mlockall(MCL_CURRENT | MCL_FUTURE | how) == 0) return;
    int error = errno;
    if (limit == 0) finish(NOT_HERE, "mlockall without a limit takes a privilege");
    finish(WRONG, "mlockall under a limit of %zu MiB: %s", limit / MIB, strerror(error));
}

int main(int count, char **arguments) {
    size_t limit = number(count, arguments, 1) * MIB;
    free(filled(10));
    tell(&(point){.name = "start", .threads = 1});
    lock_all(limit, count > 2 && strcmp(arguments[2], "fault") == 0 ? MCL_ONFAULT : 0);
    tell(&(point){.name = "locked", .threads = 1, .purged = true});
    size_t left = limit > 0 ? limit - figure("/proc/self/status", "VmLck") * 1024 : 64 * MIB, had = 0;
    while (had < left && malloc(1000) != NULL) had += 1000;
    say("%zu of %zu MiB were served", had / MIB, left / MIB);
    double share = limit == 0 || limit >= 64 * MIB ? 0.8 : 0.5;
    if ((double)had < share * (double)left) finish(WRONG, "less than %.1f of what the limit leaves", share);
    return RIGHT;
}
