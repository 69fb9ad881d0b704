#!/usr/bin/env python3
"""Searches a model through and through by spin: every order in which the steps of its threads can come.

    spin_search.py --compiler CC [--waits] [--expect FINDING] [--plain] [--depth N] MODEL [-DNAME=VALUE ...]

Exit status 0: the search was exhaustive and found nothing wrong, or with --expect, it found just that. A finding is the
name of a broken promise (PROMISE in the models), `a_thread_waits`, or `search_cut_short`, where the search left out
something. Without --waits that a thread waits is found where it blocks; with it also where it goes round, since a model
whose threads all end after so many steps of their own has no cycle. With --plain the search is compiled without being
optimised, which takes less time in all where its steps are long and its states are few. Nothing is approximated: each
state is kept as it is, not as a hash.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

DEPTH = 100000  # steps of all threads; the deepest model has about 300
MEGABYTES = 2048
SECONDS = 300

CUT_SHORT = ("max search depth too small", "Search not completed", "out of memory", "MEMLIM bound")
PROMISE = re.compile(r"assertion violated .*\|\|\s*(\w+)\) \(at depth")
WAITS = re.compile(r"pan:\d+: (?:invalid end state|non-progress cycle)")


def finding(output):
    """What the search found; None: it saw all there is, and all is well."""
    broken = PROMISE.search(output)
    if broken:
        return broken.group(1)
    if WAITS.search(output):
        return "a_thread_waits"
    if any(words in output for words in CUT_SHORT):
        return "search_cut_short"
    if re.search(r"^pan:\d+: ", output, re.M):
        return "an_error_of_the_model"
    # Spin prints this only for a search that stores complete states.
    return None if "Full statespace search for:" in output and "errors: 0" in output else "search_cut_short"


def states_in(output):
    stored = re.search(r"^\s*([0-9.e+]+) states, stored", output, re.M)
    return int(float(stored.group(1))) if stored else 0


def run(command, folder):
    result = subprocess.run(command, cwd=folder, text=True, errors="replace", timeout=SECONDS, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT)
    return result.returncode, result.stdout


def search(defines, options):
    """What the search printed."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(options.model, folder)
        status, said = run(["spin", "-a", *defines, os.path.basename(options.model)], folder)
        if status != 0 or not os.path.exists(os.path.join(folder, "pan.c")):
            sys.exit("spin does not take the model:\n" + said)
        # Warnings in code that spin generated do not matter. A search that is to find an error ends within a second
        # and is not worth optimising; others are as fast with -O1 as with more, which takes twice as long to compile.
        optimised = not options.expect and not options.plain
        status, said = run([options.compiler, "-O1" if optimised else "-O0", "-w", "-DMEMLIM=%d" % MEGABYTES,
                            "-DNP" if options.waits else "-DSAFETY", "-o", "pan", "pan.c"], folder)
        if status != 0:
            sys.exit("the search does not compile:\n" + said)
        return run(["./pan", "-m%d" % options.depth, "-n"] + (["-l"] if options.waits else []), folder)[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--waits", action="store_true")
    parser.add_argument("--expect", metavar="FINDING")
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--depth", type=int, default=DEPTH)
    parser.add_argument("model")
    options, defines = parser.parse_known_args()
    unknown = [define for define in defines if not define.startswith("-D")]
    if unknown:
        parser.error("no such option: " + " ".join(unknown))
    if shutil.which("spin") is None:
        sys.exit("spin is not there, and nothing can be said without it; run: scripts/bootstrap test")
    output = search(defines, options)
    found = finding(output)
    print("%d states: %s" % (states_in(output), found or "nothing wrong in any order of the steps"))
    if found == options.expect:
        return 0
    print("expected: %s\n\n%s" % (options.expect or "nothing wrong", output))
    return 1


if __name__ == "__main__":
    sys.exit(main())
