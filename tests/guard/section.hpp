// How the programs of these tests enter and leave a section: by Flatline's header, or by the calls of clang's
// RealtimeSanitizer, which runs the same programs for comparison.
#pragma once

#ifdef GUARDED_BY_RTSAN
extern "C" void __rtsan_realtime_enter();
extern "C" void __rtsan_realtime_exit();
#define ENTER() __rtsan_realtime_enter()
#define LEAVE() __rtsan_realtime_exit()
#else
#include <flatline/guard.h>
#define ENTER() flat_guard_enter()
#define LEAVE() flat_guard_leave()
#endif

#define NOINLINE __attribute__((noinline))
#define EXPORTED __attribute__((noinline, visibility("default")))
