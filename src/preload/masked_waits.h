/* Waits for files with a signal mask of their own, which is also that of the handlers which run meanwhile: here it
 * never has a kept signal. For the functions of the C library of these names. */
#ifndef FLATLINE_PRELOAD_MASKED_WAITS_H
#define FLATLINE_PRELOAD_MASKED_WAITS_H

#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <time.h>

/* X(result, name, parameters, arguments, arguments with the mask changed): by the names of the C library. */
#define MASKED_WAITS(X)                                                                                                \
    X(int, ppoll, (struct pollfd * files, nfds_t count, const struct timespec *timeout, const sigset_t *mask),         \
      (files, count, timeout, mask), (files, count, timeout, signals_never_kept(mask, &room)))                         \
    X(int, __ppoll_chk,                                                                                                \
      (struct pollfd * files, nfds_t count, const struct timespec *timeout, const sigset_t *mask,                      \
       size_t room_of_files),                                                                                          \
      (files, count, timeout, mask, room_of_files),                                                                    \
      (files, count, timeout, signals_never_kept(mask, &room), room_of_files))                                         \
    X(int, pselect,                                                                                                    \
      (int count, fd_set *to_read, fd_set *to_write, fd_set *others, const struct timespec *timeout,                   \
       const sigset_t *mask),                                                                                          \
      (count, to_read, to_write, others, timeout, mask),                                                               \
      (count, to_read, to_write, others, timeout, signals_never_kept(mask, &room)))                                    \
    X(int, epoll_pwait, (int set, struct epoll_event *events, int most, int timeout, const sigset_t *mask),            \
      (set, events, most, timeout, mask), (set, events, most, timeout, signals_never_kept(mask, &room)))               \
    X(int, epoll_pwait2,                                                                                               \
      (int set, struct epoll_event *events, int most, const struct timespec *timeout, const sigset_t *mask),           \
      (set, events, most, timeout, mask), (set, events, most, timeout, signals_never_kept(mask, &room)))

#define DECLARE_MASKED_WAIT(result, name, parameters, arguments, changed) result masked_##name parameters;
MASKED_WAITS(DECLARE_MASKED_WAIT)
#undef DECLARE_MASKED_WAIT

/* Looks the C library's functions up now instead of at their first calls. */
void masked_waits_look_up(void);

#endif
