/* The version of Flatline: at compile time from the header, at run time from the loaded library. */
#ifndef FLATLINE_VERSION_H
#define FLATLINE_VERSION_H

#include <flatline/status.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FLAT_VERSION_MAJOR 0
#define FLAT_VERSION_MINOR 1
#define FLAT_VERSION_PATCH 0
#define FLAT_VERSION_STRING "0.1.0"

/** "MAJOR.MINOR.PATCH" of the library that is loaded. A program that is linked to the shared library can compare it
 * with FLAT_VERSION_STRING. O(1); any thread. */
FLAT_API const char *flat_version(void);

#ifdef __cplusplus
}
#endif
#endif
