/* Other functions of the C and C++ libraries that a section may not call. What they do themselves is not reported. */
#define _GNU_SOURCE
#include "named_sections.h"
#include "state.h"
#include "violations.h"

#include "../preload/next_definition.h"

#include <pthread.h>
#include <stdlib.h>
#include <threads.h>

#define EXPORT __attribute__((visibility("default")))
#define CALLER __builtin_return_address(0)

/* Whether it was reported, and the thread has to be watched again. */
static bool tell(guard_kind kind, const void *caller) {
    if (!guard_watches()) return false;
    guard_tell(kind, 0, caller);
    return true;
}

NEXT_DEFINITION(int, pthread_create, (pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))
EXPORT int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes, void *(*start)(void *),
                          void *restrict argument) {
    const bool told = tell(GUARD_THREAD, CALLER);
    find_pthread_create();
    const int status = next_pthread_create(thread, attributes, start, argument);
    if (told) guard_resume();
    return status;
}

NEXT_DEFINITION(int, thrd_create, (thrd_t *, thrd_start_t, void *))
EXPORT int thrd_create(thrd_t *thread, thrd_start_t start, void *argument) {
    const bool told = tell(GUARD_THREAD, CALLER);
    find_thrd_create();
    const int status = next_thrd_create(thread, start, argument);
    if (told) guard_resume();
    return status;
}

/* A library that is bound to itself first does not call this library's malloc, nor does one beside a C library of its
 * own. */
static void require_shallow(Lmid_t space, const char *file, int mode) {
    if (guard_shared == NULL) return;
    const char *name = file != NULL ? file : "the program";
    if ((mode & RTLD_DEEPBIND) != 0) guard_refuse(GUARD_DEEP_BINDING, name);
    if (space != LM_ID_BASE) guard_refuse(GUARD_OTHER_NAMESPACE, name);
}

/* The C library searches for a file without a slash in the folders of the caller's RUNPATH as well: those of the
 * program and of LD_LIBRARY_PATH remain, with this library as the caller. */
NEXT_DEFINITION(void *, dlopen, (const char *, int))
EXPORT void *dlopen(const char *file, int mode) {
    const bool told = tell(GUARD_DLOPEN, CALLER);
    require_shallow(LM_ID_BASE, file, mode);
    find_dlopen();
    void *library = next_dlopen(file, mode);
    named_sections_look();
    if (told) guard_resume();
    return library;
}

NEXT_DEFINITION(void *, dlmopen, (Lmid_t, const char *, int))
EXPORT void *dlmopen(Lmid_t space, const char *file, int mode) {
    const bool told = tell(GUARD_DLOPEN, CALLER);
    require_shallow(space, file, mode);
    find_dlmopen();
    void *library = next_dlmopen(space, file, mode);
    named_sections_look();
    if (told) guard_resume();
    return library;
}

/* From the throw to its handler the thread is not watched: the unwinder's work and that of destructors belong to the
 * exception. */
static void begin_throw(const void *caller) {
    if (tell(GUARD_EXCEPTION, caller)) guard_mine.is_throwing = true;
}

NEXT_DEFINITION(void, __cxa_throw, (void *, void *, void (*)(void *)))
EXPORT _Noreturn void __cxa_throw(void *object, void *type, void (*destroy)(void *));
EXPORT _Noreturn void __cxa_throw(void *object, void *type, void (*destroy)(void *)) {
    begin_throw(CALLER);
    find___cxa_throw();
    next___cxa_throw(object, type, destroy);
    abort();
}

NEXT_DEFINITION(void, __cxa_rethrow, (void))
EXPORT _Noreturn void __cxa_rethrow(void);
EXPORT _Noreturn void __cxa_rethrow(void) {
    begin_throw(CALLER);
    find___cxa_rethrow();
    next___cxa_rethrow();
    abort();
}

/* std::rethrow_exception, as it is called by std::future. */
NEXT_DEFINITION(void, _ZSt17rethrow_exceptionNSt15__exception_ptr13exception_ptrE, (void *))
EXPORT _Noreturn void _ZSt17rethrow_exceptionNSt15__exception_ptr13exception_ptrE(void *exception);
EXPORT _Noreturn void _ZSt17rethrow_exceptionNSt15__exception_ptr13exception_ptrE(void *exception) {
    begin_throw(CALLER);
    find__ZSt17rethrow_exceptionNSt15__exception_ptr13exception_ptrE();
    next__ZSt17rethrow_exceptionNSt15__exception_ptr13exception_ptrE(exception);
    abort();
}

NEXT_DEFINITION(void *, __cxa_begin_catch, (void *))
EXPORT void *__cxa_begin_catch(void *exception);
EXPORT void *__cxa_begin_catch(void *exception) {
    find___cxa_begin_catch();
    void *object = next___cxa_begin_catch(exception);
    if (guard_mine.is_throwing) {
        guard_mine.is_throwing = false;
        guard_resume();
    }
    return object;
}

/* The memory of an exception belongs to its throw. */
NEXT_DEFINITION(void *, __cxa_allocate_exception, (size_t))
EXPORT void *__cxa_allocate_exception(size_t size);
EXPORT void *__cxa_allocate_exception(size_t size) {
    const bool watched = guard_watches();
    system_calls_unwatch();
    find___cxa_allocate_exception();
    void *object = next___cxa_allocate_exception(size);
    if (watched) guard_resume();
    return object;
}

NEXT_DEFINITION(void, __cxa_free_exception, (void *))
EXPORT void __cxa_free_exception(void *object);
EXPORT void __cxa_free_exception(void *object) {
    const bool watched = guard_watches();
    system_calls_unwatch();
    find___cxa_free_exception();
    next___cxa_free_exception(object);
    if (watched) guard_resume();
}
