#!/usr/bin/env python3
"""Plans and replays what an audit has recorded of a program whose allocations are known: phased.c.

    recorded_plan_test.py FLATLINE PROGRAM
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

FLATLINE = PROGRAM = None


class RecordedPlan(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.recording = pathlib.Path(cls.folder.name, "recording")
        result = subprocess.run([FLATLINE, "audit", "--over", "1ns", "--out", cls.recording, "--", PROGRAM],
                                capture_output=True, text=True, timeout=60, check=False)
        assert result.returncode == 0, result.stderr

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def run_verb(self, verb, *options, status=0):
        result = subprocess.run([FLATLINE, verb, *options], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(result.returncode, status, result.stderr + result.stdout)
        return result

    def plan(self, *options):
        return json.loads(self.run_verb("plan", self.recording, *options, "--json", "-").stdout)

    def classes(self, document):
        return [(each["block_size"], each["block_count"]) for each in document["pool"]["classes"]]

    def test_plans_one_phase_exactly(self):
        document = self.plan("--phase", "steady")
        recording = document["recording"]
        # A resize needs its new block before the old one is given back.
        self.assertEqual(recording["allocations"], 101 * 4)
        self.assertEqual(recording["peak_blocks"], 4)
        self.assertEqual(recording["resizes"], 101)
        self.assertEqual(sum(count for _, count in self.classes(document)), 4)
        self.assertTrue(document["demand"]["holds"])
        self.assertTrue(recording["replayed"]["holds"])
        self.assertEqual(recording["replayed"]["refused"], 0)
        self.assertTrue(recording["replayed"]["a_byte_less_is_refused"])
        self.assertEqual(len(recording["replayed"]["one_block_less"]), len(document["pool"]["classes"]))

    def test_tells_phases_and_threads(self):
        recording = self.plan()["recording"]
        self.assertEqual([part["name"] for part in recording["phases"]], ["start", "steady", "messages"])
        self.assertEqual([part["allocations"] for part in recording["phases"]][:2], [20, 404])
        self.assertEqual(len(recording["threads"]), 2)
        main, receiver = recording["threads"]
        self.assertEqual((receiver["allocations"], receiver["peak_blocks"]), (7, 1))
        self.assertEqual(receiver["classes"], [{"block_size": 704, "block_count": 1}])
        self.assertGreaterEqual(main["freed_by_others"], 30)
        self.assertEqual(receiver["freed_by_others"], 0)
        self.assertTrue(recording["whole"])
        self.assertEqual(recording["dropped_calls"], 0)

    def test_plans_one_thread(self):
        whole = self.plan()["recording"]
        number = whole["threads"][1]["name"].rsplit("(", 1)[1].rstrip(")")
        document = self.plan("--thread", number)
        self.assertEqual(self.classes(document), [(704, 1)])
        self.assertEqual(document["arena"]["bytes"], 7 * 704)

    def test_adds_a_margin_and_stays_exact_without_it(self):
        exact, larger = self.plan("--phase", "messages"), self.plan("--phase", "messages", "--margin", "50")
        self.assertIn((208, 30), self.classes(exact))
        self.assertIn((208, 45), self.classes(larger))
        self.assertTrue(larger["recording"]["replayed"]["holds"])

    def test_says_in_words_that_it_was_tried(self):
        text = " ".join(self.run_verb("plan", self.recording, "--phase", "steady").stdout.split())
        self.assertIn("Replayed On exactly this footprint: 404 allocations, none refused. A byte less is refused.", text)
        self.assertIn("101 calls of realloc resize a block", text)

    def test_writes_a_header_and_a_declaration_for_the_phase(self):
        header, toml = (pathlib.Path(self.folder.name, name) for name in ("plan.h", "plan.toml"))
        self.run_verb("plan", self.recording, "--phase", "steady", "--header", header, "--toml", toml)
        self.assertIn("PLAN_CLASS_COUNT", header.read_text())
        again = json.loads(self.run_verb("plan", toml, "--json", "-").stdout)
        self.assertEqual(self.classes(again), self.classes(self.plan("--phase", "steady")))

    def test_refuses_what_the_recording_does_not_have(self):
        for part in (["--phase", "no"], ["--thread", "no"], ["--phase", "ending"]):  # both verbs choose alike
            told = [self.run_verb(verb, self.recording, *more, *part, status=2).stderr.split(": ", 1)[1]
                    for verb, more in (("plan", []), ("replay", ["--backend", "glibc"]))]
            self.assertEqual(*told)
        for options, said in ((["--phase", "no"], "it has start, steady, messages, ending"),
                              (["--thread", "no"], "is no thread of the recorded program"),
                              (["--phase", "ending"], "nothing was allocated"),
                              (["--distribution", "48:9"], "has the sizes already"),
                              (["--class", "48:9"], "whole declaration")):
            with self.subTest(options=options):
                self.assertIn(said, self.run_verb("plan", self.recording, *options, status=2).stderr)
        self.assertIn("choose from a recording", self.run_verb("plan", "--class", "48:9", "--phase", "x", status=2).stderr)

    def test_replays_every_slow_call_on_other_allocators(self):
        for backend, by_one_thread in (("glibc", False), ("flatline-pool", True), ("flatline-percore", False),
                                       ("flatline-heap", True)):
            with self.subTest(backend=backend):
                document = json.loads(self.run_verb("replay", self.recording, "--backend", backend, "--runs", "1",
                                                    "--json", "-").stdout)
                self.assertEqual(document["schema"], "flatline.replay/1")
                self.assertEqual(document["by_one_thread"], by_one_thread)
                whole = self.plan()["recording"]["allocations"]
                self.assertEqual(document["copies"][0]["allocations"]["count"], whole)
                # By the recording's limit of 1 ns every call was slow; none takes less in a replay.
                self.assertGreater(len(document["stalls"]), whole)
                self.assertFalse(any(stall["gone"] for stall in document["stalls"]))
                self.assertTrue(any(stall["file"].endswith("phased.c") for stall in document["stalls"]))

    def test_replays_one_phase(self):
        document = json.loads(self.run_verb("replay", self.recording, "--backend", "flatline-pool", "--phase", "steady",
                                            "--runs", "1", "--json", "-").stdout)
        self.assertEqual(document["operations"], 2 * 404)

    def test_says_what_cannot_replay(self):
        for backend, why in (("no-such-thing", "is no allocator"), ("boost-pool", "no sizes but those that it was made for"),
                             ("std-pool", "containers alone"), ("floor", "a control"), ("engine", "a queue of tasks")):
            with self.subTest(backend=backend):
                said = self.run_verb("replay", self.recording, "--backend", backend, status=2).stderr
                self.assertIn(why, said)
                self.assertIn(": choose one of flatline-pool, ", said)

    def test_replays_what_one_thread_allocated(self):
        name = self.plan()["recording"]["threads"][1]["name"]
        for thread in (name, name.rsplit("(", 1)[1].rstrip(")")):
            document = json.loads(self.run_verb("replay", self.recording, "--backend", "glibc", "--thread", thread,
                                                "--runs", "1", "--json", "-").stdout)
            self.assertEqual(document["copies"][0]["allocations"]["count"], 7)
            self.assertEqual((document["phase"], document["thread"]), (None, thread))
            self.assertGreater(document["stalls_left_out"], 100)

    def test_leaves_the_recording_as_it_is(self):
        before = self.recording.read_bytes()
        for verb, *options in (["plan", "--json"], ["plan", "--toml"], ["plan", "--header"],
                               ["replay", "--backend", "glibc", "--json"]):
            self.assertIn("overwrite", self.run_verb(verb, self.recording, *options, self.recording, status=2).stderr)
        self.assertEqual(self.recording.read_bytes(), before)


if __name__ == "__main__":
    FLATLINE, PROGRAM = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1])
