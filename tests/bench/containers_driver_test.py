"""What the drivers of the suite containers promise, with real backends and with one that goes wrong on purpose. No time
is judged, but for a stall of a known length.

usage: containers_driver_test.py DIRECTORY_OF_DRIVERS FAULTY_DRIVER COUNTING_NEW_LIBRARY
"""

import pathlib
import re
import sys
import unittest

from driver_run import Run

DRIVERS, FAULTY, COUNTING = (pathlib.Path(path).resolve() for path in sys.argv[1:4])
STALL_NS = 5_000_000
SAMPLES, WARM_UP = 40, 64

# Allocator calls of each workload in a round. None: the number depends on the lengths of the texts.
WORKLOADS = {
    "vector": 11, "vector-reserve": 1, "strings-short": 1, "strings-long": 101, "concatenation": None, "map-int": 500,
    "map-string": 1000, "unordered-map": None, "list": 500, "deque": None, "sensors": None, "messages": None,
    "trades": 1, "new-delete": 1000,
}
WITHOUT_ARRAYS = {"map-int", "map-string", "unordered-map", "sensors"}
OURS = ["arena-resource", "pool-resource", "heap-resource", "inline-arena", "allocator-arena", "allocator-pool",
        "allocator-heap", "allocator-inline"]
MALLOCS = ["malloc", "glibc-tuned"]
OTHERS = ["std-monotonic", "std-pool"]


def driver(name):
    return DRIVERS / f"bench-containers-{name}"


def work(name, calls=1, samples=SAMPLES):
    return ("containers", 0, calls, name, samples, 0)


class Containers(unittest.TestCase):
    def run_well(self, *arguments, **options):
        run = Run(*arguments, **options)
        self.assertEqual(run.status, 0, (arguments, run.complaint))
        return run

    def figure(self, run, name):
        return run.series[name].values[0]

    def test_every_backend_does_all_the_work_without_the_heap_unless_it_is_the_heap(self):
        for name, requests in WORKLOADS.items():
            for backend in OURS + OTHERS + MALLOCS:
                run = self.run_well(driver(backend), work(name))
                self.assertEqual(run.series["round"].line["calls"], 1)
                self.assertEqual(len(run.series["round"].values), SAMPLES)
                calls = self.figure(run, "heap calls")
                if backend not in MALLOCS:
                    self.assertEqual(calls, 0, (backend, name))
                else:
                    self.assertGreater(calls, 0, (backend, name))
                    self.assertIn(requests, (None, calls), (backend, name))
                if backend in OURS:
                    self.assertEqual(run.line["page_faults"], 0, (backend, name))

    def test_the_floor_does_what_arrays_can_do(self):
        for name in WORKLOADS:
            run = Run(driver("floor"), work(name))
            if name in WITHOUT_ARRAYS:
                self.assertEqual(run.status, 2, name)
                self.assertIn(f"does not support workload {name}", run.complaint)
            else:
                self.assertEqual(run.status, 0, run.complaint)
                self.assertEqual(self.figure(run, "heap calls"), 0)
                self.assertNotIn("held", run.series)

    def test_the_counted_heap_calls_are_those_of_operator_new(self):
        for name in WORKLOADS:
            run = self.run_well(driver("malloc"), work(name), preload=COUNTING)
            made, ended = map(int, re.search(r"new: (\d+), delete: (\d+)", run.complaint).groups())
            self.assertEqual(made, (SAMPLES + WARM_UP) * self.figure(run, "heap calls"), name)
            self.assertEqual(ended, made, name)

    def test_the_bytes_that_are_held_are_those_of_the_work(self):
        for name in WORKLOADS:
            held = {backend: self.figure(self.run_well(driver(backend), work(name)), "held")
                    for backend in OURS + OTHERS + MALLOCS}
            self.assertEqual(held["malloc"], held["glibc-tuned"])
            for arena in ("inline-arena", "allocator-arena", "allocator-inline"):
                self.assertEqual(held[arena], held["arena-resource"], name)
            # Both place blocks contiguously. The standard one aligns each block only as requested.
            self.assertLessEqual(held["std-monotonic"], held["arena-resource"], name)
            self.assertGreater(held["std-monotonic"], 0.8 * held["arena-resource"], name)
            for kind in ("pool", "heap"):
                self.assertEqual(held[f"{kind}-resource"], held[f"allocator-{kind}"], name)
                self.assertGreaterEqual(held[f"{kind}-resource"], held["malloc"], name)
        self.assertEqual(self.figure(self.run_well(driver("malloc"), work("trades")), "held"), 2400)
        self.assertEqual(self.figure(self.run_well(driver("pool-resource"), work("list")), "held"), 500 * 32)

    def test_a_block_is_of_32_rounds(self):
        run = self.run_well(driver("pool-resource"), work("trades", calls=32))
        self.assertEqual(run.series["round"].line["calls"], 32)
        self.assertEqual(run.line["operations"], 32 * SAMPLES)
        self.assertEqual(self.run_well(driver("pool-resource"), work("trades")).line["operations"], SAMPLES)

    def test_every_backend_is_given_the_same_work_by_one_seed_and_other_work_by_another(self):
        def needs(seed):
            return [self.figure(self.run_well(driver(backend), work("messages"), seed=seed), "held")
                    for backend in ("malloc", "glibc-tuned")]

        self.assertEqual(*needs(5))
        self.assertNotEqual(needs(5), needs(7))

    def test_a_backend_that_goes_on_in_the_heap_ends_the_run(self):
        self.run_well(FAULTY, work("list"))
        for request in (100, 500 * (WARM_UP + SAMPLES // 2)):  # during warm-up, and during timing
            run = Run(FAULTY, work("list"), fault=f"heap {request}")
            self.assertEqual(run.status, 3)
            self.assertIn("called the heap after its preparation", run.complaint)

    def test_a_backend_that_has_nothing_left_ends_the_run(self):
        for name in WORKLOADS:
            run = Run(FAULTY, work(name), fault=f"null {WARM_UP + SAMPLES // 2}")
            self.assertEqual(run.status, 3, name)
            self.assertIn("ran out of memory in the workload", run.complaint)

    def test_what_was_written_twice_is_read_wrong_and_ends_the_run(self):
        for name, request in (("strings-long", 50), ("list", 600), ("map-int", 700), ("vector", 5)):
            run = Run(FAULTY, work(name), fault=f"same {request}")
            self.assertNotEqual(run.status, 0, name)
            if run.status == 3:  # a node that is its own neighbour may crash the container instead
                self.assertIn("read other data than it had written", run.complaint)
        run = Run(FAULTY, work("strings-long"), fault="same 50")
        self.assertEqual(run.status, 3)
        self.assertIn("read other data than it had written", run.complaint)

    def test_a_stall_is_in_the_round_that_it_befell(self):
        run = self.run_well(FAULTY, work("list"), fault=f"stall {500 * (WARM_UP + 7) + 3}")
        self.assertGreaterEqual(run.series["round"].ns()[7], STALL_NS)

    def test_misuse_is_said(self):
        for which, arguments, part in ((driver("malloc"), work("maps"), "does not support workload maps"),
                                       (driver("malloc"), work("list", samples=0), "at least one sample"),
                                       (driver("malloc"), ("hot", 64, 32, "-", 5, 0), "unknown suite hot"),
                                       (DRIVERS / "bench-malloc", work("list"), "unknown suite containers")):
            run = Run(which, arguments)
            self.assertEqual(run.status, 2)
            self.assertIn(part, run.complaint)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
