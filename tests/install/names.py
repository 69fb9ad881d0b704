#!/usr/bin/env python3
"""Holds every library that is installed to names of its own: `flat_` names and those that stand in a standard.

    names.py PREFIX

Looks at each archive and shared library below PREFIX, whatever it is called, but for the peers of the laboratory, which
are other people's. Of an archive every global name counts, hidden or not: a program that has a variable of that name
does not link with it. Exit status 0: all are. 1: some are not, each of which is named.
"""
import os
import re
import subprocess
import sys

OWN = re.compile(r"flat_")
# C, POSIX, GNU (malloc.h), and what the last calls its own functions by. Who defines further ones adds them here.
STANDARD = set("""
    malloc calloc realloc free aligned_alloc free_sized free_aligned_sized memalignment
    posix_memalign reallocarray memalign valloc pvalloc cfree
    malloc_usable_size malloc_trim mallinfo mallinfo2 mallopt malloc_info malloc_stats
    __libc_malloc __libc_calloc __libc_realloc __libc_free __libc_memalign __libc_valloc __libc_pvalloc
    mlockall munlockall
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


def foreign_names(library):
    """The names that `library` defines and should not, sorted, and how many it defines."""
    of = [] if library.endswith(".a") else ["-D"]
    listing = subprocess.run(["nm", "--extern-only", "--defined-only", "--format=posix", *of, library], check=True,
                             text=True, stdout=subprocess.PIPE).stdout
    names = {line.split()[0].split("@")[0] for line in listing.splitlines() if len(line.split()) > 1}
    return sorted(name for name in names if not OWN.match(name) and name not in STANDARD and
                  not OPERATORS.match(name) and not OF_THE_TOOLS.match(name)), len(names)


def main():
    wrong = looked_at = 0
    for library in libraries_below(sys.argv[1]):
        foreign, count = foreign_names(library)
        looked_at += 1
        wrong += len(foreign) + (count == 0)
        for name in foreign:
            print("%s defines %s: call it flat_..., or make it static" % (library, name))
        if count == 0:
            print("%s defines nothing" % library)
    print("%d libraries, %d objections" % (looked_at, wrong))
    return 1 if wrong or looked_at == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
