#!/usr/bin/env python3
"""Holds the resident memory of small programs, after the malloc was told to give back what it can, to 1.3 times that of
the best of the C library's malloc and its peers, and 4 MiB and 16 KiB a thread; with huge pages as the kernel is set.

    resident.py PROGRAM LIBRARY

PROGRAM is resident.c; the peers are those that are installed. Exit status 0: all are so; 1: one is not.
"""
import math
import os
import subprocess
import sys

# The programs of resident.c, and the number of threads at their end.
PROGRAMS = {"threads_that_stay": 100, "threads_in_turn": 0, "small_blocks": 0, "huge_blocks": 0, "growing_blocks": 0}
POLICIES = ["latency", "balanced", "memory"]
PEERS = ["libjemalloc.so.2", "libmimalloc.so.2.0", "libtcmalloc_minimal.so.4"]
FOLDERS = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib", "/usr/local/lib"]
HUGE_PAGES = "/sys/kernel/mm/transparent_hugepage/enabled"


def resident(program, name, library, policy="balanced"):
    """KiB before and after memory was given back; where the program did not end well, endless ones."""
    done = subprocess.run([program, name], env=dict(os.environ, LD_PRELOAD=library, FLATLINE_POLICY=policy),
                          stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        print("    %s with %s ends with %d" % (name, library or "glibc", done.returncode))
        return math.inf, math.inf
    before, after = done.stdout.split()
    return int(before), int(after)


def main():
    program, library = map(os.path.abspath, sys.argv[1:3])
    peers = [os.path.join(folder, name) for name in PEERS for folder in FOLDERS
             if os.path.exists(os.path.join(folder, name))]
    setting = "no such setting"
    if os.path.exists(HUGE_PAGES):
        with open(HUGE_PAGES, encoding="ascii") as opened:
            setting = opened.read().strip()
    print("transparent huge pages: %s; KiB resident then, and after memory was given back" % setting)
    wrong = 0
    for name, threads in PROGRAMS.items():
        others = {os.path.basename(peer) or "glibc": resident(program, name, peer) for peer in ["", *peers]}
        most = int(1.3 * min(after for _, after in others.values())) + 4096 + 16 * threads
        print("%s: %s" % (name, ", ".join("%s %s %s" % (peer, *kib) for peer, kib in others.items())))
        for policy in POLICIES:
            before, after = resident(program, name, library, policy)
            wrong += after > most
            held = "ok" if after <= most else "MISS"
            print("    %-4s %-10s %7s %7s, at most %d" % (held, policy, before, after, most))
    print("%d programs, %d objections" % (len(PROGRAMS), wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
