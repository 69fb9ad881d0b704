/* The stack of another thread of the process: a signal makes that thread write its return addresses down.
 *
 * The signal is SIGURG. Programs seldom use it, no debugger stops at it, and where nobody handles it, it does nothing.
 * A real-time signal would end the process if its handler were ever replaced, and programs number those as they like.
 */
#ifndef FLATLINE_OS_STACK_CAPTURE_H
#define FLATLINE_OS_STACK_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CAPTURE_DEPTH 64

/* Of the stack that a thread takes the signal on: the largest frame of a signal that processors have today is 11 KiB,
 * and what finds the addresses takes about 4. */
#define CAPTURE_STACK_BYTES 32768

/* Installs the handler, once in a process, and loads what it needs, so that it neither allocates nor locks. The handler
 * that was there before gets every signal that is not from here. False: the system refuses. */
bool flat_capture_prepare(void);

/* By a thread: it answers from now on, on these CAPTURE_STACK_BYTES bytes, until `flat_capture_end`. */
void flat_capture_begin(void *stack);
void flat_capture_end(void);

/* Writes the return addresses of a thread to `addresses`, the innermost first, which is where it was interrupted.
 * Returns their number; 0: the thread did not answer within `within_ns`: it has ended, blocks the signal, or is in a
 * system call that cannot be interrupted. One thread is asked at a time: a second caller waits for the first. */
size_t flat_capture_stack(uint32_t thread, uint64_t within_ns, void *addresses[CAPTURE_DEPTH]);

#endif
