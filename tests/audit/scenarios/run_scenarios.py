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
import json
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import audited  # noqa: E402

PREFIX = "audit_scenario_"
UNAVOIDABLE = ("preempted", "own work or the machine")  # what any program can meet on a machine with others
FIRST_TOUCH = "first touch"


def scenarios_in(folder):
    """The answer of each scenario, by its name."""
    scenarios = {}
    for path in sorted(path for path in folder.iterdir() if path.suffix in (".c", ".cpp")):
        answers = audited.answers_in(path)
        if len(answers) > 1:
            sys.exit("%s has %d markers" % (path, len(answers)))
        if answers:
            scenarios[path.stem] = answers[0]
    return scenarios


def objection(answer, report):
    """What is wrong with a report, or None."""
    stalls = report["stalls"]
    if answer.line == 0:
        wrong = [stall for stall in stalls if stall["cause"] not in UNAVOIDABLE]
        return "there is a stall: " + audited.said(wrong[0]) if wrong else None
    if not stalls:
        return "no stall was found"
    worst = stalls[0]
    if audited.place_of(worst) == (answer.file, answer.line) and worst["operation"] == answer.operation and (
            worst["cause"] in answer.causes):
        return None
    return "the worst is " + audited.said(worst)


def untold(answer, report):
    """Whether the report says itself that it cannot see what the scenario shows."""
    return answer.operation == FIRST_TOUCH and FIRST_TOUCH not in json.dumps(report.get("causes_available", []))


def audit(arguments, name, scratch):
    """The report of one run, or what went wrong."""
    brings_malloc = (arguments.sources / (name + "_malloc.c")).exists()
    under = arguments.binaries / ("lib" + PREFIX + name + "_malloc.so") if brings_malloc else None
    refusing = arguments.binaries / "refuse_perf" if arguments.without_perf else None
    return audited.audit(arguments.flatline, [arguments.binaries / (PREFIX + name)], scratch, under, refusing)


def judge(arguments, name, answer, scratch):
    """Runs a scenario and says what came of it: whether it was right often enough."""
    right = untold_runs = 0
    for number in range(arguments.runs):
        report = audit(arguments, name, scratch)
        wrong = report if isinstance(report, str) else objection(answer, report)
        if wrong is None:
            right += 1
        elif arguments.without_perf and not isinstance(report, str) and untold(answer, report):
            untold_runs += 1
        else:
            print("  %s, run %d: %s" % (name, number + 1, wrong))
    told = arguments.runs - untold_runs
    note = "" if untold_runs == 0 else ", %d cannot be told without perf events" % untold_runs
    print("%-30s %d/%d%s" % (name, right, told, note), flush=True)
    return right >= audited.NEEDED * told


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
    scenarios = {name: answer for name, answer in scenarios_in(arguments.sources).items()
                 if arguments.only in (None, name)}
    if not scenarios:
        print("run_scenarios.py: there is no such scenario in %s" % arguments.sources, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as scratch:
        results = [judge(arguments, name, answer, pathlib.Path(scratch)) for name, answer in scenarios.items()]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
