"""What the drivers of the suite engine promise, with real queues and with one that goes wrong on purpose. No time is
judged, but for a stall of a known length.

usage: engine_driver_test.py DIRECTORY_OF_DRIVERS FAULTY_DRIVER
"""

import os
import pathlib
import sys
import unittest

from driver_run import Run

DRIVERS, FAULTY = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
STALL_NS = 20_000_000
SAMPLES = 200
WARM_UP = SAMPLES // 4
SIZES = (16, 64, 256, 1024, 4096)
OURS = ["flatline", "flatline-grant"]
BUSY = OURS + ["remote-free", "ring", "mutex"]
ASLEEP = OURS + ["futex", "mutex"]
# Those of other people are measured if they were there when Flatline was built.
PEERS_BUSY = ["concurrentqueue", "readerwriterqueue", "boost-spsc", "tbb"]
PEERS_ASLEEP = ["concurrentqueue", "readerwriterqueue", "tbb"]
LOST = "a task was lost, ran twice, or got a payload that was not submitted"


def driver(name):
    return DRIVERS / f"bench-engine-{name}"


def built(names):
    return [name for name in names if driver(name).exists()]


def work(order, size=64, samples=SAMPLES, load=0):
    return ("engine", size, 0 if order in ("saturated", "closed") else 1, order, samples, load)


@unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "needs two processors")
class Engine(unittest.TestCase):
    def run_well(self, *arguments, **options):
        run = Run(*arguments, **options)
        self.assertEqual(run.status, 0, (arguments, options, run.complaint))
        return run

    def count(self, run, name):
        self.assertEqual(run.series[name].line["unit"], "count")
        return run.series[name].values[0]

    def refused(self, order, fault, message, **options):
        run = Run(FAULTY, work(order, **options), fault=fault)
        self.assertEqual(run.status, 3, (order, fault, run.complaint))
        self.assertIn(message, run.complaint)

    def test_every_queue_carries_single_tasks_of_every_size(self):
        for name in BUSY + built(PEERS_BUSY):
            for size in SIZES:
                for order, series in (("busy", "run"), ("busy-answer", "answer")):
                    run = self.run_well(driver(name), work(order, size))
                    self.assertEqual(run.series[series].line["calls"], 1)
                    self.assertEqual(len(run.series[series].values), SAMPLES)
                    self.assertGreater(min(run.series[series].values), 0)
                    self.assertEqual(run.line["operations"], SAMPLES)

    def test_a_queue_that_can_sleep_carries_them_asleep(self):
        for name in ASLEEP + built(PEERS_ASLEEP):
            for order, series in (("sleeping", "run"), ("sleeping-answer", "answer")):
                run = self.run_well(driver(name), work(order, samples=50))
                self.assertEqual(len(run.series[series].values), 50)
                if name != "tbb":  # oneTBB decides for itself when it sleeps
                    self.assertGreaterEqual(run.line["context_switches"], 40, (name, order))

    def test_a_queue_that_cannot_do_it_says_so(self):
        for name, order in (("ring", "sleeping"), ("remote-free", "sleeping"), ("futex", "busy")):
            run = Run(driver(name), work(order))
            self.assertEqual(run.status, 3)
            self.assertIn("cannot prepare", run.complaint)

    def test_every_queue_carries_batches_of_every_size(self):
        for name in BUSY + built(PEERS_BUSY):
            for size in SIZES:
                run = self.run_well(driver(name), work("saturated", size, samples=1))
                self.assertEqual(run.series["task"].line["calls"], 100_000)
                self.assertEqual(run.line["operations"], 100_000)

    def test_every_queue_carries_tasks_that_arrive_on_a_schedule(self):
        for name in BUSY + built(PEERS_BUSY):
            run = self.run_well(driver(name), work("closed", 256, samples=3, load=1000))
            self.assertEqual(run.series["request"].line["calls"], 1000)
            run = self.run_well(driver(name), work("poisson-50", 256, samples=2000, load=100_000))
            self.assertEqual(len(run.series["sojourn"].values), 2000)
            self.assertLessEqual(self.count(run, "tagged"), 2000)

    def test_an_overload_counts_what_was_refused_and_what_was_done(self):
        for name in ("flatline", "flatline-grant", "ring"):
            run = self.run_well(driver(name), work("overload", 256, samples=5000, load=1_000_000_000))
            offered, refused = self.count(run, "offered"), self.count(run, "refused")
            self.assertGreater(offered, refused)
            self.assertGreater(refused, 0)
            self.assertEqual(self.count(run, "refused early"), 0)
            self.assertEqual(self.count(run, "bytes grown"), 0)
            self.assertEqual(self.count(run, "bound ns"), 1_000_000_000)
            self.assertEqual(self.count(run, "above the bound"), 0)
            self.assertGreater(self.count(run, "longest ns"), 0)
            self.assertLessEqual(len(run.series["sojourn"].values), 5000)
            self.assertGreater(len(run.series["sojourn"].values), 0)

    def test_tasks_above_the_bound_are_counted(self):
        run = self.run_well(FAULTY, work("overload", 256, samples=5000, load=1))
        self.assertGreater(self.count(run, "above the bound") + self.count(run, "above the bound, tagged"), 1000)

    def test_a_refusal_before_the_capacity_is_reached_is_counted(self):
        self.assertEqual(self.count(self.run_well(FAULTY, work("overload", 256)), "refused early"), 0)
        run = self.run_well(FAULTY, work("overload", 256), fault="early")
        self.assertGreater(self.count(run, "refused early"), 0)

    def test_the_counters_of_the_processors_are_compared(self):
        run = self.run_well(driver("ring"), work("busy"))
        self.assertLess(self.count(run, "counters apart") / run.line["ticks_per_ns"], 100_000)

    def test_a_queue_that_loses_a_task_ends_the_run(self):
        for order in ("busy", "saturated"):
            self.refused(order, "drop 12", "a task was accepted and did not run", samples=20)
        self.refused("busy-answer", "drop 12", "a task that did not run was completed")

    def test_a_queue_that_runs_a_task_twice_ends_the_run(self):
        for order in ("saturated", "closed"):
            self.refused(order, "twice 99", "ran twice", samples=1, load=100)
        self.refused("busy-answer", "twice 7", "ran twice")

    def test_a_queue_that_damages_a_payload_ends_the_run(self):
        for order in ("busy", "busy-answer", "saturated", "closed"):
            for size in SIZES:
                self.refused(order, "damage 12", LOST, size=size, samples=20, load=100)

    def test_a_queue_that_carries_an_old_payload_ends_the_run(self):
        for order in ("busy", "saturated"):
            self.refused(order, "stale 12", LOST, samples=20)

    def test_a_queue_that_refuses_a_single_task_ends_the_run(self):
        self.refused("busy", "refuse 12", "a single task was refused")

    def test_a_completion_before_the_task_ends_the_run(self):
        self.refused("busy-answer", "answer 12", "a task that did not run was completed")

    def test_a_stall_is_in_the_sample_that_it_befell(self):
        run = self.run_well(FAULTY, work("busy"), fault=f"stall {WARM_UP + 7}")
        self.assertGreaterEqual(run.series["run"].ns()[7], STALL_NS)

    def test_a_stall_delays_those_that_were_due_meanwhile(self):
        warm_up = 20_000
        run = self.run_well(FAULTY, work("poisson-50", 256, samples=5000, load=10_000),
                            fault=f"stall {warm_up + 100}")
        self.assertGreaterEqual(sum(ns >= STALL_NS / 2 for ns in run.series["sojourn"].ns()), 30)
        self.assertGreaterEqual(self.count(run, "tagged by gaps"), 30, "the queue's own stall is not the machine's")

    def test_misuse_is_said(self):
        for arguments, status, part in ((work("busy", 48), 2, "no queue is compiled for this size"),
                                        (work("busy", samples=0), 2, "at least one sample"),
                                        (work("poisson-50", 256), 2, "the load must not be 0"),
                                        (("hot", 64, 32, "-", 5, 0), 2, "unknown suite hot")):
            run = Run(driver("ring"), arguments)
            self.assertEqual(run.status, status)
            self.assertIn(part, run.complaint)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
