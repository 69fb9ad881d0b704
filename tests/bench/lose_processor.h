#ifndef TESTS_LOSE_PROCESSOR_H
#define TESTS_LOSE_PROCESSOR_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Pins the calling thread to its processor and returns when a child process there has kept it from running for `ns`, by
 * the scheduler's count (the second figure of /proc/thread-self/schedstat). Time that a hypervisor takes does not
 * count. Returns false if this fails, or if the kernel does not count it within a second of processor time. */
bool lose_processor(uint64_t ns);

#ifdef __cplusplus
}
#endif
#endif
