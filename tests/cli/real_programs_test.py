"""`flatline bench` with programs and drivers that are not made up.

usage: real_programs_test.py FLATLINE
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from bench_schema import faults

PROGRAM = pathlib.Path(sys.argv[1]).resolve()


class RealPrograms(unittest.TestCase):
    """One of the programs that any Debian has, and a made-up folder of programs nowhere."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.scratch = pathlib.Path(folder.name)

    def start(self, *arguments):
        return subprocess.Popen([str(PROGRAM), "bench", *arguments], cwd=self.scratch, text=True,
                                env={**os.environ, "TMPDIR": str(self.scratch)}, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)

    def run_to_its_end(self, *arguments, timeout=250):
        running = self.start(*arguments)
        output, errors = running.communicate(timeout=timeout)
        if running.returncode == 2 and "so nothing is timed" in errors:
            self.skipTest("this build may not be timed, and says so: " + errors.strip())
        return subprocess.CompletedProcess(running.args, running.returncode, output, errors)

    def files(self):
        return sorted(path.name for path in self.scratch.iterdir())

    def test_are_measured_under_each_allocator_and_leave_nothing(self):
        result = self.run_to_its_end("programs", "--processes", "1", "--programs", "perl", "--backends",
                                     "glibc,glibc-tuned", "--json", "out.json")
        self.assertEqual(result.returncode, 0, result.stderr)
        document = json.loads((self.scratch / "out.json").read_text())
        self.assertEqual(faults(document), [])
        self.assertEqual([program["name"] for program in document["programs"]], ["perl"])
        rows = document["programs"][0]["rows"]
        self.assertEqual([row["backend"] for row in rows], ["glibc", "glibc-tuned"])
        for row in rows:
            self.assertIn("libc.so", row["path"])
            self.assertGreater(row["allocations"], 1000000)
        self.assertIn("GLIBC_TUNABLES", rows[1]["settings"])
        self.assertRegex(result.stdout, r"(?m)^\* glibc")
        self.assertLessEqual(max(map(len, result.stdout.splitlines()[:-1])), 100)
        self.assertEqual(self.files(), ["out.json"])

    def test_go_on_where_they_were_interrupted(self):
        running = self.start("programs", "--processes", "1", "--programs", "perl", "--backends", "glibc", "--json",
                             "out.json")
        left = None
        for _ in range(600):
            left = next(self.scratch.glob("*.unfinished"), None)
            if running.poll() is not None or left and len(left.read_text().splitlines()) > 1:
                break
            time.sleep(0.1)
        time.sleep(0.3)
        running.send_signal(signal.SIGINT)
        output, errors = running.communicate(timeout=60)
        self.assertEqual((running.returncode, output), (2, ""))
        if "so nothing is timed" in errors:
            self.skipTest("this build may not be timed, and says so")
        self.assertIn(f"`flatline bench --resume {left}`", errors.splitlines()[-1])
        self.assertEqual(self.files(), [left.name])
        kept = [json.loads(line) for line in left.read_text().splitlines()[1:]]
        self.assertEqual(len(kept), 1)
        resumed = self.run_to_its_end("--resume", str(left))
        self.assertEqual(resumed.returncode, 0, resumed.stderr)
        self.assertEqual(self.files(), ["out.json"])
        document = json.loads((self.scratch / "out.json").read_text())
        self.assertEqual(faults(document), [])
        self.assertTrue(document["resumed"])
        row = document["programs"][0]["rows"][0]
        self.assertEqual(row["allocations"], kept[0]["allocations"]) # the run under the probe was not repeated
        self.assertEqual(len(row["runs"]), 1)

    def test_are_run_by_themselves_and_under_general_allocators(self):
        for arguments, part in [(["hot"], "runs alone"), (["--backends", "floor"], "general"),
                                (["--programs", "emacs"], "emacs")]:
            result = self.run_to_its_end("programs", *arguments, timeout=60)
            self.assertEqual((result.returncode, result.stdout), (2, ""))
            self.assertIn(part, result.stderr)


class RealDrivers(unittest.TestCase):
    def test_measure_or_refuse_by_the_build_they_come_from(self):
        with tempfile.TemporaryDirectory() as scratch:
            result = subprocess.run(
                [str(PROGRAM), "bench", "hot", "--sizes", "64", "--processes", "1", "--backends",
                 "flatline-pool,floor,glibc", "--json", "out.json"], capture_output=True, text=True, cwd=scratch, timeout=200)
            if result.returncode == 2 and "so nothing is timed" in result.stderr:
                print("this build may not be timed, and says so:", result.stderr.strip())
                return
            self.assertEqual(result.returncode, 0, result.stderr)
            document = json.loads((pathlib.Path(scratch) / "out.json").read_text())
            self.assertEqual(faults(document), [])
            paths = {each["backend"]: each["path"] for each in document["environment"]["allocators"]}
            self.assertIn("libflatline.so", paths["flatline-pool"])
            self.assertIn("libc.so", paths["glibc"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
