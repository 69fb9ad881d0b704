"""What every planted_faults.py does: plant a fault in a copy of a source, run a test with it, and say what came of it.

The fault `none` is the control: the copy as it is, with which every test must pass. So it must with a change whose name
begins so: one that makes no fault, as where the code does something else on another machine.
"""
import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile

CONTROL = "none"
TEST_SECONDS = 60
SHOWN = ("Failure", "shortest", "-> ")  # what of a test's output says how it saw a fault


def arguments_of(description, faults, paths, lists=(), repeated=()):
    """The command line: which fault of `faults`, and the options that are a path, several words, or given several times.
    With --list it prints the names of the faults, as a list of CMake's, and ends."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--fault", choices=sorted(faults), metavar="NAME")
    for option in paths:
        parser.add_argument("--" + option)
    for option in lists:
        parser.add_argument("--" + option, nargs="+", default=[])
    for option in repeated:
        parser.add_argument("--" + option, action="append", default=[])
    arguments = parser.parse_args()
    if arguments.list:
        print(";".join(faults), end="")
        sys.exit(0)
    if arguments.fault is None:
        parser.error("say which --fault to plant")
    return arguments


def plant(fault, copy, pattern, replacement, name):
    """Puts the fault into the file `copy`, which the project calls `name`. That it has no place left there is an error,
    never a pass."""
    with open(copy, encoding="utf-8") as opened:
        text = opened.read()
    changed, places = re.subn(pattern, replacement, text, flags=re.S)
    if places == 0:
        sys.exit("the fault %s has no place left in %s: change its pattern along with the code" % (fault, name))
    with open(copy, "w", encoding="utf-8") as opened:
        opened.write(changed)


def passes(program, *options, scale="1", seconds=TEST_SECONDS):
    """Whether the tests of a program pass. A fault may crash it: what it then leaves is removed with its folder."""
    with tempfile.TemporaryDirectory(prefix="planted-") as folder:
        environment = dict(os.environ, FLATLINE_TEST_SEED="1", FLATLINE_TEST_SCALE=scale, TEST_TMPDIR=folder, TMPDIR=folder)
        try:
            result = subprocess.run([program, "--gtest_brief=1", "--gtest_fail_fast=1", *options], env=environment,
                                    text=True, errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                    timeout=seconds)
        except subprocess.TimeoutExpired:
            print("  (did not end in %d s)" % seconds)
            return False
    lines = result.stdout.splitlines()
    if result.returncode < 0:
        print("  (ended by %s)" % signal.Signals(-result.returncode).name)
    for line in [l for l in lines if any(words in l for words in SHOWN)][:3] or lines[-1:]:
        print("  " + line[:200])
    return result.returncode == 0


def verdict(fault, outcomes):
    """The exit status, of (test, whether it passed) for each test that must see the fault: 0 iff all did."""
    wrong = 0
    for test, passed in outcomes:
        right = passed == fault.startswith(CONTROL)
        print("%s %s %s" % ("ok  " if right else "MISS", test, "passes" if passed else "fails"))
        wrong += not right
    return 1 if wrong else 0
