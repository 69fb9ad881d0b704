#!/usr/bin/env python3
"""Holds scripts/calibrate to its exit status, with a program in the place of `flatline` that knows how slow a pool is.

    calibrate_test.py SCRIPT
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = os.path.abspath(sys.argv.pop())

# The pool's driver tells how slow it is. FAULT selects an error of this program.
PROGRAM = """#!/usr/bin/env python3
import json, os, pathlib, sys
def refuse(message):
    print(message, file=sys.stderr)
    sys.exit(2)
fault = os.environ.get("FAULT")
file = pathlib.Path(sys.argv[sys.argv.index("--json") + 1])
if sys.argv[1] == "bench":
    if fault == "no bench":
        refuse("flatline bench: nothing may be timed here")
    slowness = float((pathlib.Path(__file__).parent.parent / "libexec/flatline/bench-pool").read_text())
    slower = slowness > 1 and fault != "blind verdict" or fault == "verdict alarms"
    file.write_text(json.dumps({"slowness": slowness, "verdicts": [
        {"rival": "list", "calls_per_sample": 32, "ratio": 9, "outcome": "slower"},
        {"rival": "boost-pool", "calls_per_sample": 1, "ratio": 1, "outcome": "no difference"},
        {"rival": "boost-pool", "calls_per_sample": 32, "ratio": slowness,
         "outcome": "slower" if slower else "no difference"}]}))
    sys.exit(0)
if fault == "no compare":
    refuse("flatline compare: the runs have no cell in common")
old, new = (json.loads(pathlib.Path(name).read_text())["slowness"] for name in sys.argv[2:4])
print(json.dumps({"cells": [{"ratio": new / old}]}))
sys.exit((new > old and fault != "blind compare" or fault == "compare alarms") and "--fail-over" in sys.argv)
"""


class Calibrate(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = pathlib.Path(folder.name) / "build"
        for name, text in {"bin/flatline": PROGRAM, "libexec/flatline/bench-floor": "",
                           "libexec/flatline/bench-list": "", "libexec/flatline/bench-pool": "1",
                           "tests/calibration/slowed-pool-9": "1.052", "tests/calibration/slowed-pool-18": "1.104",
                           "tests/calibration/slowed-pool-27": "1.15"}.items():
            (self.build / name).parent.mkdir(parents=True, exist_ok=True)
            (self.build / name).write_text(text)
        (self.build / "bin/flatline").chmod(0o755)

    def run_script(self, fault=""):
        return subprocess.run([sys.executable, SCRIPT, str(self.build), "--repeats", "2", "--processes", "4"],
                              text=True, capture_output=True, env={**os.environ, "FAULT": fault})

    def test_takes_the_nearest_doses_and_passes_where_all_is_called_as_planted(self):
        done = self.run_script()
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("same  0, 0\n  5 %   2, 2 (measured: 5.2 %)\n  10 %  2, 2 (measured: 10.4 %)", done.stdout)

    def test_fails_where_one_alarms_or_is_blind(self):
        for fault, line in {"verdict alarms": "same  0, 2", "compare alarms": "same  2, 0",
                            "blind verdict": "5 %   2, 0", "blind compare": "10 %  0, 2"}.items():
            with self.subTest(fault):
                done = self.run_script(fault)
                self.assertEqual((done.returncode, done.stderr), (1, ""))
                self.assertIn(line, done.stdout)

    def test_says_why_it_could_not_be_run(self):
        def assert_refused(message, fault=""):
            done = self.run_script(fault)
            self.assertEqual(done.returncode, 2)
            self.assertIn(message, done.stderr)
            self.assertTrue(done.stderr.startswith("calibrate: "), done.stderr)

        assert_refused("nothing may be timed here", "no bench")
        assert_refused("no cell in common", "no compare")
        (self.build / "tests/calibration/slowed-pool-18").write_text("1.2")
        assert_refused("no dose slows the pool by 10 % here: add one")
        for dose in (self.build / "tests/calibration").iterdir():
            dose.unlink()
        assert_refused("has no slowed pools: `make calibrate` builds them")


if __name__ == "__main__":
    unittest.main()
