#ifndef TESTS_LOSE_PROCESSOR_H
#define TESTS_LOSE_PROCESSOR_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Ties the calling thread to its processor and returns when a child process there has kept it from running for `ns`,
 * as the scheduler counts it (the second figure of /proc/thread-self/schedstat). What a hypervisor takes meanwhile does
 * not count. False: it could not be arranged, or the kernel does not count within a second of processor time. */
bool lose_processor(uint64_t ns);

#ifdef __cplusplus
}
#endif
#endif
