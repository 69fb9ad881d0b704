/* Threads on memory of the caller's, sleeping until a word changes, and fences on other threads. */
#ifndef FLATLINE_OS_THREAD_H
#define FLATLINE_OS_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hosted_thread {
    uintptr_t handle; /* pthread_t */
    void (*run)(void *argument);
    void *argument;
} hosted_thread;

/* Starts a thread that calls `run(argument)`, on `stack_size` bytes of stack from `stack` on, with every signal
 * blocked; on `processor` and nowhere else unless that is negative. `thread` and the stack must stay until
 * `flat_thread_join`. Returns 0, or the error of the system: EAGAIN (no more threads), EINVAL (the stack is too small
 * for the program's thread-local variables, or there is no such processor). */
int flat_thread_begin(hosted_thread *thread, void (*run)(void *), void *argument, void *stack, size_t stack_size,
                      int processor);

/* Waits until the thread has ended. */
void flat_thread_join(hosted_thread *thread);

/* Which thread it is, among all that ever ran in the process, in THREAD_IDENTITY_BITS bits: the system's number, of
 * which Linux gives no greater one (PID_MAX_LIMIT of linux/threads.h), and above it when the thread began, by the
 * system's clock in steps of 10 ms since the machine's start, so that a number that is used again is told apart; 0
 * there: unknown. */
typedef uint64_t thread_identity;
#define THREAD_NUMBER_BITS 22
#define THREAD_START_BITS 40 /* 348 years */
#define THREAD_IDENTITY_BITS (THREAD_NUMBER_BITS + THREAD_START_BITS)

static inline uint32_t number_of_thread(thread_identity thread) {
    return (uint32_t)thread & ((1u << THREAD_NUMBER_BITS) - 1);
}

/* Of the calling thread: four system calls. */
thread_identity flat_thread_self(void);

/* The number of this thread alone: one system call. */
uint32_t flat_thread_number(void);

/* Whether that thread of this process has ended. If the system does not say so, it has not. */
bool flat_thread_has_ended(thread_identity thread);

/* Lets other threads run on this processor. */
void flat_thread_yield(void);

/* The number of processors that the calling thread may run on. */
size_t flat_usable_processors(void);

#define SLEEP_FOR_EVER UINT64_MAX

/* Sleeps while the word is `value`, until `flat_wake_sleepers`, for `within_ns` at most. It may return at any time. */
void flat_sleep_while(const uint32_t *word, uint32_t value, uint64_t within_ns);

/* Wakes all threads that sleep because of the word: one system call. */
void flat_wake_sleepers(const uint32_t *word);

/* Whether `flat_fence_all` works in this process; it is prepared by this. */
bool flat_can_fence_all(void);

/* Returns when every running thread of the process has had a full memory fence. False: the system refuses by now, as a
 * filter that was set later does, and only this thread has had one. */
bool flat_fence_all(void);

#ifdef __cplusplus
}
#endif
#endif
