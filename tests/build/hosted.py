#!/usr/bin/env python3
"""Holds the headers to their marks: FLAT_HOSTED_API stands at exactly those functions that libflatline-core lacks.

    hosted.py HEADERS CORE ALL

HEADERS: the folder of the public headers. CORE: the archive for programs without an operating system. ALL: the archive
with everything. Exit status 0: so it is. 1: the functions that are not marked as they should be are named.
"""
import pathlib
import re
import subprocess
import sys


def functions_in(archive):
    listing = subprocess.run(["nm", "--extern-only", "--defined-only", "--format=posix", archive], check=True, text=True,
                             stdout=subprocess.PIPE).stdout
    return {line.split()[0] for line in listing.splitlines() if line.split()[1:2] == ["T"]}


def declared(headers):
    """Of each function the mark it is declared with, FLAT_API or FLAT_HOSTED_API."""
    found = {}
    for header in sorted(pathlib.Path(headers).glob("*.h")):
        for mark, name in re.findall(r"^(FLAT_\w*API)\b[^;{(]*?\b(flat_\w+)\(", header.read_text(), re.MULTILINE):
            found[name] = mark
    return found


def objections(headers, core, everything):
    marks = declared(headers)
    hosted = functions_in(everything) - functions_in(core)
    for name in sorted(marks):
        if marks[name] != ("FLAT_HOSTED_API" if name in hosted else "FLAT_API"):
            yield "%s is declared %s, and %s in %s" % (name, marks[name], "is not" if name in hosted else "is", core)
    if not any(name in hosted for name in marks):
        yield "no declared function needs an operating system: nothing was looked at"


def main():
    wrong = list(objections(*sys.argv[1:]))
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
