#!/usr/bin/env python3
"""Plants lines that no test runs into a copy of a file of the core, which scripts/coverage must then refuse, and must not
before. One small file with the test that covers it stands for all: the script treats them alike.

    coverage_test.py ROOT WORK
"""
import os
import shutil
import subprocess
import sys

FILE, TEST = "status.c", "status_test"
LINES = 3
PLANTED = "FLAT_API int flat_planted(int n);\nint flat_planted(int n) {\n%s    return n;\n}\n" % (
    "    n = n * 3 + 1;\n" * LINES)
PARTS = ["CMakeLists.txt", "CMakePresets.json", "cmake", "include", "src", "tests", "examples", "scripts", "LICENSE"]


def outcome(work):
    """The exit status of scripts/coverage, and what it printed; a test that did not pass is none of its answers."""
    done = subprocess.run([os.path.join(work, "scripts/coverage"), "--test", TEST, "--file", FILE], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    print("\n".join(done.stdout.splitlines()[-8:]))
    if "[  PASSED  ]" not in done.stdout:
        sys.exit("MISS the test did not run, so nothing was measured")
    return done.returncode, done.stdout


def main():
    root, work = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    for part in PARTS:
        source, to = os.path.join(root, part), os.path.join(work, part)
        (shutil.copytree if os.path.isdir(source) else shutil.copy)(source, to)
    if outcome(work)[0] != 0:
        print("MISS the file as it is: all of it is run")
        return 1
    with open(os.path.join(work, "src/core", FILE), "a") as file:
        file.write(PLANTED)
    status, said = outcome(work)
    if status == 0 or "failed minimum line coverage" not in said:
        print("MISS %d lines that nothing runs" % LINES)
        return 1
    print("ok   %d lines that nothing runs" % LINES)
    return 0


if __name__ == "__main__":
    sys.exit(main())
