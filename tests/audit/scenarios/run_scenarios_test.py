"""The script that holds the audit to the scenarios sees each kind of wrong answer, and accepts the right one.

usage: run_scenarios_test.py          (needs no build: the audit is a made-up one, which answers as it is told)
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

RUNNER = pathlib.Path(__file__).resolve().parent / "run_scenarios.py"
AUDIT = """#!%s
import pathlib, sys
words = sys.argv[1:]
output = pathlib.Path(words[words.index("--json") + 1])
answers = pathlib.Path(__file__).parent / "answers"
answer = sorted(answers.iterdir())[0]
output.write_text(answer.read_text())
if len(list(answers.iterdir())) > 1:
    answer.unlink()
(pathlib.Path(__file__).parent / "command").write_text(" ".join(words))
""" % sys.executable
SOURCE = "int main(void) {\n    free(block); // stalls: free, system call madvise; blocked\n}\n"
RIGHT = {"operation": "free", "count": 3, "total_ns": 9000, "cause": "system call madvise",
         "site": {"function": "main", "file": "/somewhere/frees.c", "line": 2}}


class RunScenarios(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = pathlib.Path(scratch.name)
        for folder in ("answers", "sources"):
            (self.root / folder).mkdir()
        self.flatline = self.root / "flatline"
        self.flatline.write_text(AUDIT)
        self.flatline.chmod(0o755)
        (self.root / "sources/frees.c").write_text(SOURCE)

    def answer(self, *reports, **members):
        for number, stalls in enumerate(reports):
            report = {"schema": "flatline.audit/1", "causes_available": [], "stalls": stalls, **members}
            (self.root / "answers" / ("%03d" % number)).write_text(json.dumps(report))

    def run_scenarios(self, *options):
        return subprocess.run([sys.executable, "-B", RUNNER, self.flatline, self.root, self.root / "sources", *options],
                              capture_output=True, text=True, timeout=100, check=False)

    def assert_wrong(self, words, **members):
        self.answer([dict(RIGHT, **members)])
        result = self.run_scenarios()
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertIn(words, result.stdout)
        self.assertIn("0/1", result.stdout)

    def test_the_right_answer(self):
        for cause in ("system call madvise", "blocked"):
            self.answer([dict(RIGHT, cause=cause), dict(RIGHT, operation="malloc")])
            result = self.run_scenarios()
            self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
            self.assertRegex(result.stdout, r"frees +1/1\n")

    def test_another_cause_operation_line_or_file(self):
        self.assert_wrong("page fault", cause="page fault")
        self.assert_wrong("malloc", operation="malloc")
        self.assert_wrong("frees.c:3", site=dict(RIGHT["site"], line=3))
        self.assert_wrong("other.c:2", site=dict(RIGHT["site"], file="/somewhere/other.c"))
        self.assert_wrong("?:None", site=None)

    def test_a_right_answer_in_second_place_and_none_at_all(self):
        self.answer([dict(RIGHT, operation="malloc"), RIGHT])
        self.assertEqual(self.run_scenarios().returncode, 1)
        self.answer([])
        self.assertIn("no stall was found", self.run_scenarios().stdout)

    def test_another_schema_and_no_report(self):
        self.answer([RIGHT], schema="flatline.audit/2")
        self.assertIn("schema", self.run_scenarios().stdout)
        self.flatline.write_text("#!/bin/sh\necho no such verb >&2\nexit 2\n")
        result = self.run_scenarios()
        self.assertEqual(result.returncode, 1)
        self.assertIn("exit status 2: no such verb", result.stdout)

    def test_19_of_20_are_enough_and_18_are_not(self):
        wrong = [dict(RIGHT, cause="lock")]
        for few, status in ((1, 0), (2, 1)):
            self.answer(*[wrong] * few, *[[RIGHT]] * (20 - few))
            result = self.run_scenarios("--runs", "20")
            self.assertEqual(result.returncode, status, result.stdout)
            self.assertIn("%d/20" % (20 - few), result.stdout)

    def test_the_control_has_no_stall_that_could_be_avoided(self):
        (self.root / "sources/frees.c").write_text("/* The control. stalls: none */\n")
        self.answer([dict(RIGHT, cause="preempted"), dict(RIGHT, cause="own work or the machine")])
        self.assertEqual(self.run_scenarios().returncode, 0)
        self.answer([dict(RIGHT, cause="preempted"), dict(RIGHT, cause="page fault")])
        self.assertEqual(self.run_scenarios().returncode, 1)

    def test_a_first_touch_that_cannot_be_told_is_named(self):
        (self.root / "sources/frees.c").write_text("malloc(1); // stalls: first touch, page fault\n")
        (self.root / "refuse_perf").write_text('#!/bin/sh\nexec "$@"\n')
        (self.root / "refuse_perf").chmod(0o755)
        self.answer([], causes_available=["page fault"])
        self.assertEqual(self.run_scenarios().returncode, 1)
        result = self.run_scenarios("--without-perf")
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn("cannot be told", result.stdout)
        self.answer([], causes_available=["page fault", "first touch"])
        self.assertEqual(self.run_scenarios("--without-perf").returncode, 1)

    def test_an_allocator_of_the_scenario_is_put_under_the_audit(self):
        self.answer([RIGHT])
        (self.root / "sources/frees_malloc.c").write_text("/* An allocator. */\n")
        self.assertEqual(self.run_scenarios().returncode, 0)
        command = (self.root / "command").read_text()
        self.assertRegex(command, r"^audit --json \S+/audit.json --under \S+/libaudit_scenario_frees_malloc.so "
                                  r"-- \S+/audit_scenario_frees$")

    def test_two_markers_and_an_unknown_name(self):
        self.answer([RIGHT])
        self.assertEqual(self.run_scenarios("--only", "allocates").returncode, 2)
        (self.root / "sources/frees.c").write_text(SOURCE + SOURCE)
        self.assertIn("2 markers", self.run_scenarios().stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
