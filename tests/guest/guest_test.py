#!/usr/bin/env python3
"""Holds scripts/guest to saying what became of its commands: each of these runs must end as it is said here.

    guest_test.py BUILD
"""
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

# Arguments, exit status, and texts that the output must contain in this order.
RUNS = [
    ([], 2, ["no command was given"]),
    (["--seconds", "600", "true", "exit 3", "kill -SEGV $$", "uname -r", "ctest --test-dir BUILD -L no-such "
      "--no-tests=error"], 1,
     [r"^6\.1\.", r"status 0 in .*: true$", r"status 3 in", r"status 139 in", r"status 0 in .*: uname -r$",
      r"status [1-9]\d* in .*no-such", r"Linux 6\.1\.\S+, 5 commands, 3 failed"]),
    (["--seconds", "5", "sleep 600", "exit 3"], 1,
     [r"stopped after 5 s in .*: sleep 600$", r"status 3 in", r"2 commands, 2 failed"]),
    (["--kernel", "6.2", "true"], 2, [r"the kernel is 6\.1\.\S+, not 6\.2: "]),
    (["--set", "/proc/sys/vm/no_such=1", "true"], 2, ["could not be set up: writing 1 to /proc/sys/vm/no_such"]),
    (["--append", "transparent_hugepage=never", "--set", "/proc/sys/vm/overcommit_memory=2", "--env", "WORD=said",
      "echo $WORD", "cat /proc/sys/vm/overcommit_memory /sys/kernel/mm/transparent_hugepage/enabled",
      "echo b >/proc/sysrq-trigger; sleep 5", "true"], 2,
     [r"^said$", r"^2$", r"\[never\]", r"status 0 in .*: echo", r"not ended .*sysrq", r"not ended .*: true$",
      "the machine stopped before its end"]),
]


def objection(build, arguments, status, expected):
    """What is wrong with a run, or None."""
    command = [str(ROOT / "scripts/guest"), *(word.replace("BUILD", build) for word in arguments)]
    # Without this variable Python keeps what it prints to a pipe back, as on a machine that sets none.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                          env=environment)
    if done.returncode != status:
        return "it ends with %d, and not %d: %s" % (done.returncode, status, done.stdout)
    at = 0
    for pattern in expected:
        found = re.compile(pattern, re.M).search(done.stdout, at)
        if not found:
            return "it does not say %s: %s" % (pattern, done.stdout)
        at = found.end()
    return None


def main():
    wrong = 0
    for arguments, status, expected in RUNS:
        said = objection(sys.argv[1], arguments, status, expected)
        if said:
            print("guest_test: guest %s: %s" % (" ".join(arguments), said))
            wrong += 1
    print("guest_test: %d runs, %d objections" % (len(RUNS), wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
