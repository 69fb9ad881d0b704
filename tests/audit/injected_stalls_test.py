"""The script that holds the audit to injected stalls sees each kind of miss, and accepts what is good enough.

usage: injected_stalls_test.py          (needs no build: the audit is a made-up one, which answers as it is told)
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parent / "injected_stalls.py"
AUDIT = """#!%s
import pathlib, shutil, sys
here = pathlib.Path(__file__).parent
shutil.copy(here / "report", sys.argv[sys.argv.index("--json") + 1])
shutil.copy(here / "list", sys.argv[-1])
""" % sys.executable
CAUSES = ("page fault", "system call madvise", "lock", "preempted", "blocked", "own work or the machine")


class InjectedStalls(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = pathlib.Path(scratch.name)
        for name, text in (("flatline", AUDIT), ("refuse_perf", '#!/bin/sh\nexec "$@"\n')):
            (self.root / name).write_text(text)
            (self.root / name).chmod(0o755)
        (self.root / "injected_stalls.c").write_text("".join("// stalls: malloc, %s\n" % cause for cause in CAUSES))

    def judge(self, *options, took_ns=20000, available=CAUSES, **changed):
        """`changed`: by the cause, with _ for each space, what the report has at its site instead of 100 with it."""
        stalls = []
        for line, cause in enumerate(CAUSES, 1):
            for told, count in changed.get(cause.replace(" ", "_"), {cause: 100}).items():
                stalls.append({"operation": "malloc", "cause": told, "count": count, "total_ns": 1,
                               "site": {"file": "/somewhere/injected_stalls.c", "line": line, "function": "call"}})
        report = {"schema": "flatline.audit/1", "causes_available": available, "stalls": stalls}
        (self.root / "report").write_text(json.dumps(report))
        listed = [{"cause": cause, "begin_ns": 5, "end_ns": 5 + took_ns} for cause in CAUSES for _ in range(100)]
        (self.root / "list").write_text(json.dumps(listed))
        return subprocess.run([sys.executable, "-B", SCRIPT, self.root / "flatline", self.root, self.root, *options],
                              capture_output=True, text=True, timeout=100, check=False)

    def assert_wrong(self, words, *options, **arguments):
        result = self.judge(*options, **arguments)
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertIn("WRONG: " + words, result.stdout)

    def test_all_found_with_their_cause(self):
        result = self.judge()
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)

    def test_99_found_and_95_right_are_enough(self):
        result = self.judge(lock={"lock": 95, "blocked": 4}, preempted={"preempted": 95, "own work or the machine": 5})
        self.assertEqual(result.returncode, 0, result.stdout)

    def test_98_found_or_94_right_are_not(self):
        self.assert_wrong("98 of 100 stalls were found: lock", lock={"lock": 98})
        self.assert_wrong("94 of 100 stalls have the right cause: lock", lock={"lock": 94, "blocked": 6})
        self.assert_wrong("0 of 100 stalls were found: blocked", blocked={})

    def test_a_hog_that_is_called_a_lock_or_a_fault_once(self):
        for cause in ("lock", "page fault"):
            self.assert_wrong("a hog of the processor is called " + cause, preempted={"preempted": 99, cause: 1})

    def test_stalls_that_were_too_short_to_count(self):
        self.assert_wrong("only 0 stalls were injected", took_ns=9000)

    def test_without_perf_only_what_can_be_told_must_be(self):
        untold = {"preempted": {"own work or the machine": 100}, "blocked": {"own work or the machine": 100}}
        self.assertEqual(self.judge("--without-perf", available=CAUSES[:3], **untold).returncode, 0)
        self.assert_wrong("0 of 100 stalls have the right cause: preempted", available=CAUSES[:3], **untold)
        self.assert_wrong("0 of 100 stalls have the right cause: preempted", "--without-perf", **untold)
        self.assert_wrong("0 of 100 stalls have the right cause: page fault", "--without-perf", available=[],
                          page_fault={"own work or the machine": 100})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
