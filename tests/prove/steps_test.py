#!/usr/bin/env python3
"""What `flatline prove` says of the library's functions, beside what a call of each really executes when it is made step
by step, at random and along the longest paths: never more, and for the pool at least 85 % of it.

    steps_test.py FLATLINE CALLS LIBRARY [EXECUTED [--write]]

FLATLINE: the program. CALLS: stepped_calls, linked to LIBRARY's name; LIBRARY is what it shall run and what is proved.
EXECUTED: what was executed at most when that was last written, which the calls must still reach.
"""
import json
import os
import re
import subprocess
import sys
import unittest

from limits import APART

FLATLINE, CALLS, LIBRARY = sys.argv[1:4]
EXECUTED = sys.argv[4] if len(sys.argv) > 4 else None
WRITE = sys.argv[5:] == ["--write"]

LEAST_OF_THE_POOL = 0.85
LEAST_OF_BEFORE = 0.95  # what a submitter that chooses workers accounts for depends on times
EXACT = {"exact_line": 4, "exact_loop": 8, "exact_call": 8, "exact_call_outside": 4, "exact_recursion": 16}
SKIP = 77


def judge(proved, stepped, before):
    """What is wrong: with the instructions proved by function, (calls, most instructions in one) by function, and the most
    instructions of before."""
    faults = []
    for name, bound in proved.items():
        calls, most = stepped.get(name, (0, 0))
        if calls == 0:
            faults.append("%s was never called" % name)
        elif most > bound:
            faults.append("%s executed %d instructions, and %d were proved" % (name, most, bound))
        elif most < LEAST_OF_BEFORE * before.get(name, 0):
            faults.append("%s executed %d instructions at most, and %d before: calls that walk its longest path are missing"
                          % (name, most, before[name]))
        elif name.startswith("flat_pool_") and most < LEAST_OF_THE_POOL * bound:
            faults.append("%s executed %d instructions at most, under 85 %% of the %d proved" % (name, most, bound))
    return faults


def executed_before():
    if EXECUTED is None:
        return {}
    with open(EXECUTED) as file:
        return json.load(file)


def prove():
    proving = subprocess.run([FLATLINE, "prove", LIBRARY, "--json", "-"], text=True, stdout=subprocess.PIPE, check=True)
    return {each["name"]: each["instructions"] for each in json.loads(proving.stdout)["functions"]}


def places():
    """The offset of each function in the library, by name."""
    listed = subprocess.run(["nm", LIBRARY], text=True, stdout=subprocess.PIPE, check=True)
    return {name: int(address, 16) for address, name in re.findall(r"^(\w+) [tT] (\w+)$", listed.stdout, re.M)}


def step(names):
    """What stepped_calls says, and the file that it ran."""
    found = places()
    of = ["%s=%d" % (name, found[name]) for name in names] + ["apart=%d" % found[name] for name in APART]
    sections = subprocess.run(["readelf", "--sections", "--wide", LIBRARY], text=True, stdout=subprocess.PIPE, check=True)
    address, size = re.search(r" \.text +PROGBITS +(\w+) +\w+ +(\w+)", sections.stdout).groups()
    ran = subprocess.run([CALLS, "0x" + address, "0x" + size, *of], text=True, stdout=subprocess.PIPE,
                         env={**os.environ, "LD_LIBRARY_PATH": os.path.dirname(LIBRARY)})
    if ran.returncode == SKIP:
        sys.exit(SKIP)
    if ran.returncode != 0:
        sys.exit("stepped_calls: exit status %d" % ran.returncode)
    *lines, path = ran.stdout.splitlines()
    return {name: (int(calls), int(most)) for name, calls, most in map(str.split, lines)}, path


class Steps(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.proved = prove()
        cls.stepped, cls.path = step(cls.proved)
        if WRITE:
            with open(EXECUTED, "w") as out:
                json.dump({name: cls.stepped[name][1] for name in cls.proved}, out, indent=1)
                out.write("\n")
        cls.before = executed_before()
        print("\n%-26s%8s%10s%9s" % ("instructions", "proved", "executed", "in calls"))
        for name, bound in cls.proved.items():
            calls, most = cls.stepped[name]
            print("%-26s%8d%10d%9d%8.1f %%" % (name, bound, most, calls, 100 * most / bound))

    def test_no_call_executes_more_than_was_proved_and_the_pool_comes_near(self):
        self.assertEqual(judge(self.proved, self.stepped, self.before), [])

    def test_the_file_that_ran_is_the_one_that_was_proved(self):
        self.assertTrue(os.path.samefile(self.path, LIBRARY), self.path)

    def test_steps_are_counted_exactly(self):
        self.assertEqual({name: self.stepped[name][1] for name in EXACT}, EXACT)
        self.assertEqual(self.stepped["exact_recursion"][0], 2)  # its recursive calls do not count

    def test_a_proof_that_is_short_by_one_is_seen(self):
        for name, (_, most) in self.stepped.items():
            if name in self.proved:
                self.assertIn("%s executed %d instructions, and %d were proved" % (name, most, most - 1),
                              judge({**self.proved, name: most - 1}, self.stepped, {}))

    def test_longest_paths_that_are_not_walked_are_seen(self):
        bound = self.proved["flat_pool_free"]
        few = int(0.84 * bound)
        self.assertIn("flat_pool_free executed %d instructions at most, under 85 %% of the %d proved" % (few, bound),
                      judge(self.proved, {**self.stepped, "flat_pool_free": (1, few)}, {}))
        most = self.stepped["flat_heap_free"][1]
        self.assertIn("flat_heap_free executed %d instructions at most, and %d before: calls that walk its longest path are "
                      "missing" % (most, 2 * most), judge(self.proved, self.stepped, {"flat_heap_free": 2 * most}))

    def test_a_function_that_is_never_called_is_seen(self):
        self.assertIn("flat_heap_owns was never called", judge(self.proved, {**self.stepped, "flat_heap_owns": (0, 0)}, {}))
        self.assertIn("flat_pool_new was never called", judge({**self.proved, "flat_pool_new": 3}, self.stepped, {}))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
