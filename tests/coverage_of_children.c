/* Linked into the tests of a build with --coverage, which counts lines in a process until it leaves by exit(). A child
 * that leaves by _exit() or by abort() keeps its counts by these: the linker has both calls come here (--wrap). */
#include <stdlib.h>
#include <unistd.h>

void __gcov_dump(void);
_Noreturn void __real__exit(int status);
_Noreturn void __real_abort(void);
_Noreturn void __wrap__exit(int status);
_Noreturn void __wrap_abort(void);

void __wrap__exit(int status) {
    __gcov_dump();
    __real__exit(status);
}

void __wrap_abort(void) {
    __gcov_dump();
    __real_abort();
}
