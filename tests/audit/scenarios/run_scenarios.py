#!/usr/bin/env python3
"""Runs the scenarios under `flatline audit`, and compares what it names as the worst stall with the known answer.

    run_scenarios.py FLATLINE BINARIES SOURCES [--runs N] [--only NAME] [--without-perf]

BINARIES is the folder of audit_scenario_NAME, of libaudit_scenario_NAME_malloc.so for those that bring an allocator, and
of refuse_perf. SOURCES is the folder of NAME.c or NAME.cpp, where a comment stands on the line of the site:

    stalls: OPERATION, CAUSE[; CAUSE]       the report's first stall must be there, with this operation and a cause
    stalls: none                            no stall may have a cause but `preempted` or `own work or the machine`

--without-perf runs all of it under a filter that refuses perf_event_open. A first touch cannot be told then: a scenario
that waits for one counts only if the report names `first touch` in its causes_available.
Exit status 0: each scenario was right in at least 95 % of its runs. 1: one was not. 2: the folders are wrong.
"""
import argparse
import dataclasses
import json
import pathlib
import re
import subprocess
import sys
import tempfile

SCHEMA = "flatline.audit/1"
PREFIX = "audit_scenario_"
MARKER = re.compile(r"stalls: ([^.*]+?)\.?\s*(?:\*/)?\s*$")
UNAVOIDABLE = ("preempted", "own work or the machine")  # what any program can meet on a machine with others
FIRST_TOUCH = "first touch"
NEEDED = 0.95
SECONDS = 60


@dataclasses.dataclass(frozen=True)
class Scenario:
    """A program and its answer: the place, the operation and the causes that are right; no place: no stall at all."""
    name: str
    file: str
    line: int = 0
    operation: str = ""
    causes: tuple = ()


def scenario_of(path):
    """The scenario of a source file, or None if there is no marker in it."""
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match = MARKER.search(line)
        if match and match[1] == "none":
            found.append(Scenario(path.stem, path.name))
        elif match:
            operation, causes = match[1].split(", ")
            found.append(Scenario(path.stem, path.name, number, operation, tuple(causes.split("; "))))
    if len(found) > 1:
        sys.exit("%s has %d markers" % (path, len(found)))
    return found[0] if found else None


def scenarios_in(folder):
    paths = sorted(path for path in folder.iterdir() if path.suffix in (".c", ".cpp"))
    return [scenario for scenario in map(scenario_of, paths) if scenario is not None]


def said(stall):
    """A stall in one line."""
    site = stall.get("site") or {}
    return "%s, %s at %s:%s (%s), %d times, %.3f ms in all" % (
        stall["operation"], stall["cause"], pathlib.PurePath(site.get("file") or "?").name, site.get("line"),
        site.get("function"), stall["count"], stall["total_ns"] / 1e6)


def objection(scenario, report):
    """What is wrong with a report, or None."""
    if report.get("schema") != SCHEMA:
        return "the report's schema is %s" % report.get("schema")
    stalls = report["stalls"]
    if scenario.line == 0:
        wrong = [stall for stall in stalls if stall["cause"] not in UNAVOIDABLE]
        return "there is a stall: " + said(wrong[0]) if wrong else None
    if not stalls:
        return "no stall was found"
    worst = stalls[0]
    site = worst.get("site") or {}
    place = (pathlib.PurePath(site.get("file") or "").name, site.get("line"))
    if place == (scenario.file, scenario.line) and worst["operation"] == scenario.operation and (
            worst["cause"] in scenario.causes):
        return None
    return "the worst is " + said(worst)


def untold(scenario, report):
    """Whether the report says itself that it cannot see what the scenario shows."""
    return scenario.operation == FIRST_TOUCH and FIRST_TOUCH not in json.dumps(report.get("causes_available", []))


def audit(arguments, scenario, scratch):
    """The report of one run. What goes wrong in it is a text."""
    output = scratch / (scenario.name + ".json")
    output.unlink(missing_ok=True)
    command = [arguments.flatline, "audit", "--json", output]
    library = arguments.binaries / ("lib" + PREFIX + scenario.name + "_malloc.so")
    if (arguments.sources / (scenario.name + "_malloc.c")).exists():
        command += ["--under", library]
    command += ["--", arguments.binaries / (PREFIX + scenario.name)]
    if arguments.without_perf:
        command.insert(0, arguments.binaries / "refuse_perf")
    try:
        run = subprocess.run(command, capture_output=True, text=True, errors="replace", cwd=scratch, timeout=SECONDS,
                             check=False)
    except subprocess.TimeoutExpired:
        return "it did not end in %d s" % SECONDS
    if run.returncode != 0 or not output.exists():
        return "exit status %d: %s" % (run.returncode, " | ".join(run.stderr.splitlines()[-3:]))
    try:
        return json.loads(output.read_text(encoding="utf-8"))
    except ValueError as error:
        return "the report is no JSON: %s" % error


def judge(arguments, scenario, scratch):
    """Runs a scenario and says what came of it: whether it was right often enough."""
    right = untold_runs = 0
    for number in range(arguments.runs):
        report = audit(arguments, scenario, scratch)
        wrong = report if isinstance(report, str) else objection(scenario, report)
        if wrong is None:
            right += 1
        elif arguments.without_perf and not isinstance(report, str) and untold(scenario, report):
            untold_runs += 1
        else:
            print("  %s, run %d: %s" % (scenario.name, number + 1, wrong))
    told = arguments.runs - untold_runs
    note = "" if untold_runs == 0 else ", %d cannot be told without perf events" % untold_runs
    print("%-30s %d/%d%s" % (scenario.name, right, told, note), flush=True)
    return right >= NEEDED * told


def arguments_of(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("flatline", type=pathlib.Path)
    parser.add_argument("binaries", type=pathlib.Path)
    parser.add_argument("sources", type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--only", metavar="NAME")
    parser.add_argument("--without-perf", action="store_true")
    arguments = parser.parse_args(words)
    for path in ("flatline", "binaries", "sources"):
        setattr(arguments, path, getattr(arguments, path).resolve())
    if arguments.runs < 1:
        parser.error("--runs takes a number from 1 on")
    return arguments


def main():
    arguments = arguments_of(sys.argv[1:])
    scenarios = [scenario for scenario in scenarios_in(arguments.sources) if arguments.only in (None, scenario.name)]
    if not scenarios:
        print("run_scenarios.py: there is no such scenario in %s" % arguments.sources, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as scratch:
        results = [judge(arguments, scenario, pathlib.Path(scratch)) for scenario in scenarios]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
