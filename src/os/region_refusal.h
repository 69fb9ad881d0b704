/* The messages that callers of refused functions get. */
#ifndef FLATLINE_OS_REGION_REFUSAL_H
#define FLATLINE_OS_REGION_REFUSAL_H

#include <flatline/region.h>

/* The text for an error of the system. */
const char *flat_error_text(int error);

/* Writes the message for the caller of a refused function, and returns `status`. */
flat_status flat_refuse(const flat_region_options *options, flat_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The process's soft limit of `resource` as text: `text`, or a constant. */
const char *flat_limit_text(int resource, char *text, size_t size);

/* The same as `flat_refuse` for a system call that failed with `error`: forbidden, short of something, or not
 * available. */
flat_status flat_refuse_call(const flat_region_options *options, const char *call, int error);

#endif
