/* Page faults and context switches of this process since it began. */
#ifndef FLATLINE_OS_FAULTS_H
#define FLATLINE_OS_FAULTS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct flat_faults {
    uint64_t minor, major;           /* page faults served from memory, and from a device */
    uint64_t voluntary, involuntary; /* context switches */
} flat_faults;

flat_faults flat_faults_now(void);

#ifdef __cplusplus
}
#endif
#endif
