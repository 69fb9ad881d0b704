/* Page faults of the calling thread, told one by one: a software event of perf whose signal strikes at the instruction
 * that faults (Linux 5.13). A fault inside of a system call is not told: the call is. */
#ifndef FLATLINE_GUARD_FAULTS_H
#define FLATLINE_GUARD_FAULTS_H

#include "state.h"

/* Once in a process. False: the signal's handler cannot be installed. */
bool faults_prepare(void);

/* By each thread, once: some 20 us. If the system refuses, the session says with which error, and faults are counted
 * by section alone. The event costs no
 * descriptor, unless the user's allowance of locked memory is used up. */
void faults_begin(guard_thread *mine);
void faults_end(guard_thread *mine);

/* In a child process, which has not inherited the event. */
void faults_forget(guard_thread *mine);

#endif
