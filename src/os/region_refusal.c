/* The messages that callers of refused functions get. */
#define _GNU_SOURCE
#include "region_refusal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

flat_status flat_refuse(const flat_region_options *options, flat_status status, const char *format, ...) {
    if (options == NULL || options->message == NULL || options->message_size == 0) return status;
    va_list values;
    va_start(values, format);
    (void)vsnprintf(options->message, options->message_size, format, values);
    va_end(values);
    return status;
}

const char *flat_error_text(int error) {
    const char *text = strerrordesc_np(error);
    return text != NULL ? text : "unknown error";
}

const char *flat_limit_text(int resource, char *text, size_t size) {
    struct rlimit limit;
    if (getrlimit((__rlimit_resource_t)resource, &limit) != 0) return "unknown";
    if (limit.rlim_cur == RLIM_INFINITY) return "unlimited";
    (void)snprintf(text, size, "%llu bytes", (unsigned long long)limit.rlim_cur);
    return text;
}

/* Refuses a file that is too large for the process's limit, or for its file system. */
static flat_status refuse_size(const flat_region_options *options, const char *call) {
    char text[32];
    const char *limit = flat_limit_text(RLIMIT_FSIZE, text, sizeof text);
    if (limit != text)
        return flat_refuse(options, FLAT_OUT_OF_MEMORY, "%s was refused: %s", call, flat_error_text(EFBIG));
    return flat_refuse(options, FLAT_NOT_PERMITTED,
                       "%s exceeds RLIMIT_FSIZE (%s for each file, which shared memory is): raise it (ulimit -f)", call,
                       limit);
}

flat_status flat_refuse_call(const flat_region_options *options, const char *call, int error) {
    flat_status status;
    switch (error) {
    case EFBIG: return refuse_size(options, call);
    case ENOSPC:
        return flat_refuse(options, FLAT_OUT_OF_MEMORY,
                           "%s found no room in the file system: free some of it, or enlarge it (memory with a name "
                           "lies in /dev/shm)",
                           call);
    case EPERM:
    case EACCES:
    case EROFS:
    case EDQUOT: status = FLAT_NOT_PERMITTED; break;
    case ENOMEM:
    case EAGAIN:
    case EMFILE:
    case ENFILE: status = FLAT_OUT_OF_MEMORY; break;
    default: status = FLAT_UNAVAILABLE;
    }
    return flat_refuse(options, status, "%s was refused: %s", call, flat_error_text(error));
}
