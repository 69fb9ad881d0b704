#!/usr/bin/env python3
"""Holds every library that is installed to names of its own: `flat_` names and those that stand in a standard; and no
two archives to the same one, or a program could not link with both.

    names.py PREFIX

Looks at each archive and shared library below PREFIX, whatever it is called, but for the peers of the laboratory, which
are other people's. Of an archive every global name counts, hidden or not: a program that has a variable of that name
does not link with it. An archive may be a whole part of another, as libflatline-core.a is of libflatline.a. Exit status
0: all is so. 1: it is not, and each name is told.
"""
import itertools
import os
import re
import subprocess
import sys

OWN = re.compile(r"flat_")
# Names of C, POSIX and GNU (malloc.h), and the GNU library's aliases for its own functions. Add further ones here.
STANDARD = set("""
    malloc calloc realloc free aligned_alloc free_sized free_aligned_sized memalignment
    posix_memalign reallocarray memalign valloc pvalloc cfree
    malloc_usable_size malloc_trim mallinfo mallinfo2 mallopt malloc_info malloc_stats
    __libc_malloc __libc_calloc __libc_realloc __libc_free __libc_memalign __libc_valloc __libc_pvalloc
    mlockall munlockall
""".split())
# What stands in POSIX, C11, GNU and the ABI of C++, and is defined by libraries that are preloaded alone: nothing links
# with them.
PRELOADED = re.compile(r"libflatline-(audit|guard)\.so$")
REPLACED = set("""
    sigaction __sigaction signal ssignal bsd_signal sysv_signal __sysv_signal sigset sighold sigignore siginterrupt
    sigprocmask pthread_sigmask sigblock sigsetmask sigsuspend __sigsuspend sigpause __sigpause setcontext swapcontext
    pthread_create thrd_create pthread_cond_wait pthread_cond_timedwait pthread_cond_clockwait
    sem_wait sem_timedwait sem_clockwait sleep usleep nanosleep clock_nanosleep
    poll ppoll __ppoll_chk select pselect epoll_wait epoll_pwait epoll_pwait2
    dlopen dlmopen longjmp _longjmp siglongjmp __longjmp_chk
    __cxa_throw __cxa_rethrow __cxa_begin_catch __cxa_allocate_exception __cxa_free_exception
    _ZSt17rethrow_exceptionNSt15__exception_ptr13exception_ptrE
""".split())
OPERATORS = re.compile(r"_Z(n[wa][jm]|d[la]Pv)")  # new, new[], delete, delete[], in all their forms
OF_THE_TOOLS = re.compile(r"DW\.ref\.__|_(_bss_start|edata|end|init|fini)$")
PEERS = os.path.join("libexec", "flatline", "peers")


def libraries_below(prefix):
    for parent, folders, files in os.walk(prefix):
        if os.path.relpath(parent, prefix) == PEERS:
            folders.clear()
            continue
        for file in sorted(files):
            path = os.path.join(parent, file)
            if not os.path.islink(path) and re.search(r"\.(a|so(\.[0-9.]+)?)$", file):
                yield path


def names_in(library):
    of = [] if library.endswith(".a") else ["-D"]
    listing = subprocess.run(["nm", "--extern-only", "--defined-only", "--format=posix", *of, library], check=True,
                             text=True, stdout=subprocess.PIPE).stdout
    return {line.split()[0].split("@")[0] for line in listing.splitlines() if len(line.split()) > 1}


def is_foreign(name):
    return not (OWN.match(name) or name in STANDARD or OPERATORS.match(name) or OF_THE_TOOLS.match(name))


def objections_to(names):
    """What is wrong with libraries, of each of which the names are given that it defines."""
    for library, its_own in names.items():
        replaced = REPLACED if PRELOADED.search(library) else set()
        for name in sorted(filter(is_foreign, its_own - replaced)):
            yield "%s defines %s: call it flat_..., or make it static" % (library, name)
        if not its_own:
            yield "%s defines nothing" % library
    archives = [(library, its_own) for library, its_own in names.items() if library.endswith(".a")]
    for (one, of_one), (other, of_other) in itertools.combinations(archives, 2):
        for name in sorted(of_one & of_other if not (of_one <= of_other or of_other <= of_one) else ()):
            yield "%s and %s define %s: no program links with both" % (one, other, name)


def main():
    names = {library: names_in(library) for library in libraries_below(sys.argv[1])}
    objections = list(objections_to(names))
    print("".join(each + "\n" for each in objections) + "%d libraries, %d objections" % (len(names), len(objections)))
    return 1 if objections or not names else 0


if __name__ == "__main__":
    sys.exit(main())
