/* Variables of a thread in a library that is loaded with the program: read without a call, and without memory that is
 * allocated at the first use. */
#ifndef FLATLINE_PRELOAD_THREAD_LOCAL_H
#define FLATLINE_PRELOAD_THREAD_LOCAL_H

#define LOCAL_TO_THREAD __thread __attribute__((tls_model("initial-exec")))

#endif
