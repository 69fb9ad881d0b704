#!/usr/bin/env python3
"""Plants lines that no test runs into a copy of the core, which scripts/coverage must then refuse.

    coverage_test.py ROOT WORK
"""
import os
import shutil
import subprocess
import sys

LINES = 60  # of about 400 in all: more than the 3 % that may be missed
PLANTED = "FLAT_API int flat_planted(int n);\nint flat_planted(int n) {\n%s    return n;\n}\n" % (
    "    n = n * 3 + 1;\n" * LINES)
PARTS = ["CMakeLists.txt", "CMakePresets.json", "cmake", "include", "src", "tests", "examples", "scripts", "LICENSE"]


def main():
    root, work = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    for part in PARTS:
        source, to = os.path.join(root, part), os.path.join(work, part)
        (shutil.copytree if os.path.isdir(source) else shutil.copy)(source, to)
    with open(os.path.join(work, "src/core/status.c"), "a") as file:
        file.write(PLANTED)
    done = subprocess.run([os.path.join(work, "scripts/coverage")], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, env=dict(os.environ, FLATLINE_TEST_SCALE="0.01"))
    print("\n".join(done.stdout.splitlines()[-12:]))
    if "100% tests passed" not in done.stdout:
        print("MISS the tests did not run, so nothing was measured")
        return 1
    if done.returncode == 0 or "failed minimum line coverage" not in done.stdout:
        print("MISS %d lines that nothing runs" % LINES)
        return 1
    print("ok   %d lines that nothing runs" % LINES)
    return 0


if __name__ == "__main__":
    sys.exit(main())
