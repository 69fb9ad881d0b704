/* What the caller of a refused function is told. */
#ifndef FLATLINE_OS_REGION_REFUSAL_H
#define FLATLINE_OS_REGION_REFUSAL_H

#include <flatline/region.h>

/* What an error of the system means, in words. */
const char *flat_error_text(int error);

/* Writes the line that the caller of a refused function gets, and returns `status`. */
flat_status flat_refuse(const flat_region_options *options, flat_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The soft limit that the process has of `resource`, in words: `text`, or a constant. */
const char *flat_limit_text(int resource, char *text, size_t size);

/* The same for a call of the system that failed with `error`: forbidden, short of something, or not to be had. */
flat_status flat_refuse_call(const flat_region_options *options, const char *call, int error);

#endif
