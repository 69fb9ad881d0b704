#!/usr/bin/env python3
"""Compares what an audit says that calls took with what the program's own stopwatch said.

    stopwatch.py FLATLINE BINARIES

BINARIES is the folder of stopwatch and of libstopwatch_malloc.so. The program times calls of malloc and free with
clock_gettime, which take as long as they are told to. Its stopwatch sees the audit's own work, which the audit does not
count. A row compares the medians of one line's calls. From the stopwatch's, the median of timing nothing is subtracted.
The goal is a difference of at most 20 ns and 2 %; the first call of each stack, which must be unwound, misses it.

It is run by hand, on a quiet machine; nothing that it prints is a test, since machines differ.
"""
import json
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def audited(flatline, binaries, folder):
    """What the program measured, as (name, line, durations), and the report of the audit."""
    listed, report = folder / "listed", folder / "report.json"
    subprocess.run([flatline, "audit", "--over", "500ns", "--json", report, "--under", binaries / "libstopwatch_malloc.so", "--",
                    binaries / "stopwatch", listed], check=True, capture_output=True)
    rows = [line.split("|") for line in listed.read_text(encoding="utf-8").splitlines()]
    return ([(name, int(line), [int(ns) for ns in durations.split()]) for name, line, durations in rows],
            json.loads(report.read_text(encoding="utf-8")))


def median_at(report, line):
    """That of the stalls at a line of stopwatch.c: of their usual cause, since another task may preempt some."""
    there = [stall for stall in report["stalls"] if (stall.get("site") or {}).get("line") == line
             and pathlib.PurePath(stall["site"]["file"]).name == "stopwatch.c"]
    return max(there, key=lambda stall: stall["count"])["p50_ns"] if there else None


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    flatline, binaries = (pathlib.Path(path).resolve() for path in sys.argv[1:])
    with tempfile.TemporaryDirectory() as scratch:
        (nothing, *rows), report = audited(flatline, binaries, pathlib.Path(scratch))
    empty = statistics.median(nothing[2])
    print("%s, Linux %s; the stopwatch around nothing: %.0f ns\n" % (processor(), platform.release(), empty))
    print("| calls | stopwatch | audit | difference | goal |\n|---|---|---|---|---|")
    for name, line, durations in rows:
        own, told = statistics.median(durations) - empty, median_at(report, line)
        if told is None:
            sys.exit("stopwatch.py: the report has no stall at line %d" % line)
        print("| %s | %.0f ns | %.0f ns | %.0f ns | %.0f ns |" % (name, own, told, own - told, 20 + 0.02 * own))


if __name__ == "__main__":
    main()
