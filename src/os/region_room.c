/* The size of a file, and the room for it in its file system. */
#define _GNU_SOURCE
#include "region_room.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

/* Bytes that one call reserves: signals wait for it. */
#define PORTION ((uint64_t)64 << 20)

/* For a size above RLIMIT_FSIZE the kernel would fail and also end the program by SIGXFSZ. So the limit is checked
 * here. */
int flat_set_file_size(int file, uint64_t size) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && size > limit.rlim_cur) return EFBIG;
    return ftruncate(file, (off_t)size) == 0 ? 0 : errno;
}

/* Many kernels undo a reservation when a signal arrives, and a timer could make them start again for ever. So the
 * thread's signals are blocked meanwhile. */
static int reserve_portion(int file, uint64_t offset, uint64_t size) {
    sigset_t all, before;
    (void)sigfillset(&all); /* cannot fail; nor can the two changes of the mask */
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = fallocate(file, 0, (off_t)offset, (off_t)size) == 0 ? 0 : errno;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

int flat_reserve_room(int file, uint64_t offset, uint64_t size) {
    int error = 0;
    for (uint64_t done = 0; error == 0 && done < size; done += PORTION)
        error = reserve_portion(file, offset + done, size - done < PORTION ? size - done : PORTION);
    return error;
}
