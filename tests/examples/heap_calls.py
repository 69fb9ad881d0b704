#!/usr/bin/env python3
"""Runs a program with every call of the heap counted, and demands that none comes while it is steady.

    heap_calls.py LIBRARY PROGRAM [ARGUMENT...]        (LIBRARY: libheap_calls.so, which says what steady means)

Exit status 0: the program ended with 0, and it and every process that it forked called the heap not once while steady.
1: not, or nothing was counted; each call is named.
"""
import os
import subprocess
import sys
import tempfile


def objections_to(library, command):
    """What is wrong with a run of the command, line by line, and what was counted."""
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report")
        environment = dict(os.environ, LD_PRELOAD=os.path.abspath(library), HEAP_CALLS=report,
                           HEAP_CALLS_OF=os.path.basename(command[0]))
        process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL)
        status = process.wait()
        lines = open(report).read().splitlines() if os.path.exists(report) else []
    found = [line for line in lines if " broken: " in line]
    counted = [line for line in lines if " calls: " in line]
    if status != 0:
        found.append("ended with %d" % status)
    if not any(line.startswith("%d calls: " % process.pid) for line in counted):
        found.append("nothing was counted: %s is not linked dynamically, or ended without leaving main" % command[0])
    if any(" 0 steady," not in line for line in counted) and not found:
        found.append("called while steady")
    return found, counted


def main():
    if len(sys.argv) < 3:
        print("heap_calls.py: name the library and the program", file=sys.stderr)
        return 2
    found, counted = objections_to(sys.argv[1], sys.argv[2:])
    print("\n".join(counted + found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
