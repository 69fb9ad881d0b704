"""What `flatline guard` finds in programs whose violations are marked, and how it treats programs that it cannot guard.

usage: guard_test.py FLATLINE PROGRAMS [TEST...]
(PROGRAMS: the folder with the programs and libraries that tests/guard/CMakeLists.txt builds)
"""

import collections
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import unittest

FLATLINE, PROGRAMS = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
SOURCES = pathlib.Path(__file__).resolve().parent
MARK = re.compile(r"// guard: (.*)")
WAITS = ("lock wait", "system call")  # a thread may wake without reason, and wait again


def marks_of(*names):
    """The (file, line, kind) of all marks in these sources."""
    found = []
    for name in names:
        for number, line in enumerate((SOURCES / name).read_text(encoding="utf-8").splitlines(), 1):
            mark = MARK.search(line)
            found += [(name, number, kind) for kind in mark.group(1).split(", ")] if mark else []
    return found


def guard(*arguments, **options):
    return subprocess.run([str(FLATLINE), "guard", *(str(each) for each in arguments)], capture_output=True, text=True,
                          timeout=60, **options)


class Guard(unittest.TestCase):
    maxDiff = None

    def found_in(self, *arguments, status=0, **options):
        """The document that a run leaves, of which nothing else is printed on standard output."""
        result = guard("--json", self.json, *arguments, **options)
        self.assertEqual(result.returncode, status, result.stderr)
        self.text, self.output = result.stderr, result.stdout
        return json.loads(pathlib.Path(self.json).read_text(encoding="utf-8"))

    def setUp(self):
        self.json = str(PROGRAMS / ("%s.json" % self._testMethodName))

    def tearDown(self):
        pathlib.Path(self.json).unlink(missing_ok=True)

    def assert_refused(self, result, *parts, before=""):
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        self.assertEqual(result.stdout, before)
        for part in ("flatline guard: ", *parts):
            self.assertIn(part, result.stderr)

    def assert_as_marked(self, document, *sources):
        def site(violation):
            return (os.path.basename(violation["site"]["file"]), violation["site"]["line"], violation["kind"])

        found, marked = (collections.Counter(each) for each in (map(site, document["violations"]), marks_of(*sources)))
        self.assertEqual((found - marked, marked - found), ({}, {}), "found without a mark, marked and not found")
        for each in document["violations"]:
            if each["kind"] not in WAITS:
                self.assertEqual(each["count"], 1, each)

    def test_each_violation_is_found_once_at_its_line_and_nothing_else(self):
        document = self.found_in("--warm-up", "1", "--", PROGRAMS / "violations", PROGRAMS / "liblate.so")
        self.assertEqual(self.output, "done\n")
        self.assert_as_marked(document, "violations.cpp", "late.cpp")
        self.assertEqual(document["schema"], "flatline.guard/1")
        self.assertEqual(document["kinds_unavailable"], [])
        self.assertEqual(document["warnings"], [])

    def test_a_violation_has_its_section_thread_and_stack(self):
        document = self.found_in("--warm-up", "1", "--", PROGRAMS / "violations", PROGRAMS / "liblate.so")
        sections = {each["section"].split("::")[-1].split("(")[0]: each for each in document["violations"]}
        nested, own = sections["in_a_nested_call"], sections["in_a_thread_of_its_own"]
        functions = [frame["function"].split("::")[-1] for frame in nested["stack"]]
        self.assertEqual(functions[:4], ["third()", "second()", "in_a_nested_call()", "main"])
        self.assertNotEqual(nested["thread"], own["thread"])
        self.assertEqual(sections["by_getpid"]["system_call"], "getpid")
        for each in document["violations"]:
            self.assertNotIn("flat_guard", json.dumps(each["stack"]))
        self.assertRegex(self.text, r"(?m)^  > .*third\(\) .*violations.cpp:\d+$")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
