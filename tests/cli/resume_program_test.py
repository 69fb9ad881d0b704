"""What an interrupted `flatline bench` leaves, and how it goes on, with made-up drivers.

usage: resume_program_test.py FLATLINE FAKE_DRIVER REPORT_TEMPLATE
"""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

from bench_schema import faults
from program_tree import TreeTest


class Resume(TreeTest):
    def interrupt(self, *arguments, after):
        """Interrupts a run once so many processes have been started; returns what is left to go on with."""
        running = subprocess.Popen(self.tree.command("bench", *arguments), cwd=self.tree.root, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        calls = self.tree.libexec / "calls"
        self.wait_for(lambda: calls.exists() and len(calls.read_text().splitlines()) >= after)
        running.send_signal(signal.SIGINT)
        output, errors = running.communicate(timeout=60)
        self.assertEqual(running.returncode, 2)
        self.assertEqual(output, "")
        self.assertEqual(self.drivers_alive(), [])
        said = re.search(r"interrupted; .*`flatline bench --resume (\S+)`", errors.splitlines()[-1])
        self.assertTrue(said, errors)
        return said.group(1)

    def wait_for(self, condition):
        for _ in range(600):
            if condition():
                return
            time.sleep(0.1)
        self.fail("waited for a minute")

    def drivers_alive(self):
        alive = []
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if os.readlink(process / "exe").startswith(str(self.tree.libexec)):
                    alive.append(process.name)
            except OSError:
                pass
        return alive

    def test_interrupt_leaves_no_child_and_no_result(self):
        self.tree.break_driver("pool", "slow")
        left = self.interrupt("hot", "--json", "out.json", after=1)
        self.assertFalse((self.tree.root / "out.json").exists())
        self.assertTrue(pathlib.Path(left).exists())

    def test_interrupted_run_goes_on_where_it_was_and_ends_as_if_it_had_not_been(self):
        arguments = ["hot", "--sizes", "64,256", "--backends", "flatline-pool,floor,list", "--seed", "7", "--json"]
        whole = self.tree.run("bench", *arguments, "whole.json")
        self.assertEqual(whole.returncode, 0, whole.stderr)
        calls = (self.tree.libexec / "calls").read_text().splitlines()
        (self.tree.libexec / "calls").unlink()
        self.tree.break_driver("list", "slow") # leaves time to interrupt it
        before = 1 + next(i for i, call in enumerate(calls) if call.startswith("bench-list"))
        left = self.interrupt(*arguments, "out.json", after=before)
        self.assertTrue(left.startswith(str(self.tree.root)), left)
        (self.tree.libexec / "bench-list.fault").unlink()
        resumed = self.tree.run("bench", "--resume", left)
        self.assertEqual(resumed.returncode, 0, resumed.stderr)
        self.assertIn("out.json", resumed.stdout)
        self.assertFalse(pathlib.Path(left).exists())
        made = (self.tree.libexec / "calls").read_text().splitlines()
        self.assertEqual(made[:before - 1] + made[before:], calls) # only the interrupted process runs again
        first, second = (json.loads((self.tree.root / name).read_text()) for name in ("whole.json", "out.json"))
        self.assertEqual((first["resumed"], second["resumed"]), (False, True))
        self.assertEqual(first["cells"], second["cells"])
        self.assertEqual(faults(second), [])

    def test_resume_refuses_what_it_cannot_go_on_with(self):
        self.tree.break_driver("pool", "slow")
        left = self.interrupt("hot", "--sizes", "64", "--json", "out.json", after=1)
        self.assert_refused(self.tree.run("bench", "--resume", "absent"), "absent", "cannot be read")
        (self.tree.root / "other").write_text("{}\n")
        self.assert_refused(self.tree.run("bench", "--resume", "other"), "no interrupted run wrote that file")
        shutil.copy(left, self.tree.root / "damaged")
        with open(self.tree.root / "damaged", "a") as file:
            file.write("nonsense\n")
        self.assert_refused(self.tree.run("bench", "--resume", "damaged"), "line", "is damaged", "start a new run")
        (self.tree.libexec / "bench-floor").touch()
        self.assert_refused(self.tree.run("bench", "--resume", left), "has changed since", "start a new run")

    def test_nothing_is_left_of_a_run_that_is_over(self):
        self.tree.break_driver("pool", "unoptimised")
        self.assertEqual(self.tree.bench("--json", "out.json").returncode, 2)
        self.tree.break_driver("pool", "null")
        self.assertEqual(self.tree.bench("--json", "out.json").returncode, 2)
        self.assertEqual(list(self.tree.root.glob("*.unfinished")), [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
