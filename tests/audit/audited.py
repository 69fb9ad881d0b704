"""What the scripts share that hold `flatline audit` to known answers: the answers, which stand in comments of the audited
programs on the line of the site, and the run of an audit.

    stalls: OPERATION, CAUSE[; CAUSE]
    stalls: none
"""
import dataclasses
import json
import pathlib
import re
import subprocess

SCHEMA = "flatline.audit/1"
MARKER = re.compile(r"stalls: ([^.*]+?)\.?\s*(?:\*/)?\s*$")
NEEDED = 0.95  # of the runs or stalls must be right
SECONDS = 60


@dataclasses.dataclass(frozen=True)
class Answer:
    """The place of stalls, the operation and the causes that are right; without a line: there are none."""
    file: str
    line: int = 0
    operation: str = ""
    causes: tuple = ()


def answers_in(path):
    """Those of a source file, in the order of their lines."""
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match = MARKER.search(line)
        if match and match[1] == "none":
            found.append(Answer(path.name))
        elif match:
            operation, causes = match[1].split(", ")
            found.append(Answer(path.name, number, operation, tuple(causes.split("; "))))
    return found


def place_of(stall):
    """The file's name and the line of a stall's site."""
    site = stall.get("site") or {}
    return pathlib.PurePath(site.get("file") or "").name, site.get("line")


def said(stall):
    """A stall in one line."""
    file, line = place_of(stall)
    return "%s, %s at %s:%s (%s), %d times, %.3f ms in all" % (
        stall["operation"], stall["cause"], file or "?", line, (stall.get("site") or {}).get("function"), stall["count"],
        stall["total_ns"] / 1e6)


def audit(flatline, command, folder, under=None, filter_program=None):
    """The report of one audit of a command, whose files go into `folder`. What goes wrong is returned as a text."""
    output = folder / "audit.json"
    output.unlink(missing_ok=True)
    words = [filter_program] if filter_program else []
    words += [flatline, "audit", "--json", output, *(["--under", under] if under else []), "--", *command]
    try:
        run = subprocess.run(words, capture_output=True, text=True, errors="replace", cwd=folder, timeout=SECONDS,
                             check=False)
    except subprocess.TimeoutExpired:
        return "it did not end in %d s" % SECONDS
    if run.returncode != 0 or not output.exists():
        return "exit status %d: %s" % (run.returncode, " | ".join(run.stderr.splitlines()[-3:]))
    try:
        report = json.loads(output.read_text(encoding="utf-8"))
    except ValueError as error:
        return "the report is no JSON: %s" % error
    return report if report.get("schema") == SCHEMA else "the report's schema is %s" % report.get("schema")
