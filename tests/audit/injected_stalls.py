#!/usr/bin/env python3
"""Holds `flatline audit` to stalls that were injected: a hundred of each of six causes, each cause at a site of its own.

    injected_stalls.py FLATLINE BINARIES SOURCES [--without-perf]

BINARIES is the folder of injected_stalls, of libinjected_stalls_malloc.so and of refuse_perf; SOURCES that of
injected_stalls.c, in which the answers stand (see audited.py). Of each cause at least 99 % must be found at their site,
and at least 95 % with their cause; a processor hog is never called a lock or a page fault.

--without-perf runs it under a filter that refuses perf_event_open. Page faults, system calls and locks must be told
then too; the other causes only if the report names them in its causes_available.
Exit status 0: it is so. 1: it is not.
"""
import argparse
import json
import pathlib
import sys
import tempfile

import audited

FOUND = 0.99
STALLS = 100
ALWAYS_TOLD = ("page fault", "system call madvise", "lock")
NEVER_OF_A_HOG = ("page fault", "lock")


def injected(path, over_ns):
    """How many stalls of each cause were injected that are longer than what an audit calls slow."""
    counts = {}
    for stall in json.loads(path.read_text(encoding="utf-8")):
        if stall["end_ns"] - stall["begin_ns"] > over_ns:
            counts[stall["cause"]] = counts.get(stall["cause"], 0) + 1
    return counts


def found_at(answer, report):
    """How many stalls the report has at a site, by their cause."""
    counts = {}
    for stall in report["stalls"]:
        if audited.place_of(stall) == (answer.file, answer.line) and stall["operation"] == answer.operation:
            counts[stall["cause"]] = counts.get(stall["cause"], 0) + stall["count"]
    return counts


def objections(answers, report, counts, must_be_told):
    """What is wrong with a report about injected stalls, of which there were `counts`."""
    for answer in answers:
        cause = answer.causes[0]
        there, by_cause = counts.get(cause, 0), found_at(answer, report)
        found, right = sum(by_cause.values()), by_cause.get(cause, 0)
        print("%-24s injected %d, found %d, right %d  %s" % (cause, there, found, right, by_cause))
        if there < STALLS:
            yield "only %d stalls were injected: %s" % (there, cause)
        if found < FOUND * there:
            yield "%d of %d stalls were found: %s" % (found, there, cause)
        if must_be_told(cause) and right < audited.NEEDED * there:
            yield "%d of %d stalls have the right cause: %s" % (right, there, cause)
        if cause == "preempted":
            yield from ("a hog of the processor is called %s" % wrong for wrong in NEVER_OF_A_HOG if by_cause.get(wrong))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("flatline", type=pathlib.Path)
    parser.add_argument("binaries", type=pathlib.Path)
    parser.add_argument("sources", type=pathlib.Path)
    parser.add_argument("--without-perf", action="store_true")
    arguments = parser.parse_args()
    binaries = arguments.binaries.resolve()
    with tempfile.TemporaryDirectory() as scratch:
        listed = pathlib.Path(scratch) / "injected.json"
        report = audited.audit(arguments.flatline.resolve(), [binaries / "injected_stalls", listed], pathlib.Path(scratch),
                               binaries / "libinjected_stalls_malloc.so",
                               binaries / "refuse_perf" if arguments.without_perf else None)
        if isinstance(report, str):
            print("injected_stalls.py: " + report)
            return 1
        counts = injected(listed, 10000)
    available = json.dumps(report.get("causes_available", []))
    wrong = list(objections(audited.answers_in(arguments.sources / "injected_stalls.c"), report, counts,
                            lambda cause: not arguments.without_perf or cause in ALWAYS_TOLD or cause in available))
    for objection in wrong:
        print("WRONG: " + objection)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
