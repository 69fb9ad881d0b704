"""What the suites of the drivers promise, with real backends and with one that goes wrong on purpose. No time is
judged: where ticks are looked at, it is for what must hold between them.

usage: driver_test.py DIRECTORY_OF_DRIVERS FAULTY_DRIVER COUNTING_NEW_LIBRARY COUNTING_PROCESSOR_LIBRARY CODE_PAGES_LIBRARY
"""

import os
import pathlib
import re
import subprocess
import sys
import time
import unittest

from driver_run import Run

DRIVERS, FAULTY, COUNTING, PROCESSOR, CODE_PAGES = (pathlib.Path(path).resolve() for path in sys.argv[1:6])
STALL_NS = 5_000_000


def counts_run_delay():
    """Whether the kernel says how long a thread waited for a processor."""
    try:
        with open("/proc/thread-self/schedstat") as opened:
            return int(opened.read().split()[2]) > 0
    except OSError:
        return False


LESS_RUN_DELAY = {"alloc less run delay": 2000, "local free less run delay": 2000} if counts_run_delay() else {}

# Each suite with small arguments: SUITE SIZE CALLS ORDER SAMPLES LOAD.
SMALL = {
    "hot": ("hot", 64, 32, "-", 50, 0), "hot, single": ("hot", 64, 1, "-", 2000, 0),
    "fifo": ("fifo", 64, 32, "-", 100, 0), "churn": ("churn", 64, 1, "-", 9000, 0),
    "mixed": ("mixed", 0, 32, "-", 50, 0), "order": ("order", 64, 0, "random", 2, 0),
    "throughput": ("throughput", 64, 0, "-", 2, 0), "drift": ("drift", 64, 0, "-", 3, 20000),
    "startup": ("startup", 64, 0, "cold", 1, 20000), "startup, prefaulted": ("startup", 64, 0, "prefaulted", 1, 20000),
    "memory": ("memory", 256, 0, "-", 1, 20000),
    "uniform": ("anysize", 0, 32, "uniform", 200, 0), "uniform, single": ("anysize", 0, 1, "uniform", 200, 0),
    "pareto": ("anysize", 0, 0, "pareto", 2, 10000), "new-delete": ("new-delete", 4, 0, "-", 2, 10000),
    "independent": ("threads", 64, 0, "independent", 2, 2),
    "independent, single": ("threads", 64, 1, "independent", 2000, 2),
    "larson": ("threads", 64, 0, "larson", 2, 2), "larson, single": ("threads", 64, 1, "larson", 2000, 2),
    "producer-consumer": ("threads", 64, 1, "producer-consumer", 2000, 2),
    "independent, together": ("threads", 64, 64, "independent", 40, 2),
    "larson, together": ("threads", 64, 64, "larson", 40, 2),
    "producer-consumer, together": ("threads", 64, 64, "producer-consumer", 40, 2),
    "larson, eight threads": ("threads", 64, 0, "larson", 2, 8),
    "many-to-one": ("threads", 64, 0, "many-to-one", 2, 4),
    "many-to-one, single": ("threads", 64, 1, "many-to-one", 2000, 4),
    "pipeline": ("pipeline", 0, 0, "-", 2, 2), "pipeline, single": ("pipeline", 0, 1, "-", 2000, 2),
    "pipeline, together": ("pipeline", 0, 64, "-", 40, 2),
    "closed": ("arrivals", 0, 0, "closed", 3, 500), "poisson": ("arrivals", 0, 1, "poisson-50", 2000, 1000000),
    "fixed": ("arrivals", 0, 1, "fixed", 2000, 1000000),
    "end": ("stalls", 64, 1, "end", 2000, 2), "marked": ("stalls", 64, 32, "marked", 50, 0),
}
OF_RINGS = {"producer-consumer", "producer-consumer, together", "many-to-one", "many-to-one, single", "pipeline",
            "pipeline, single", "pipeline, together"}
INDEPENDENT = {"independent", "independent, single", "independent, together"}
OF_SEVERAL_THREADS = {"larson", "larson, single", "larson, together", "larson, eight threads", "end", *INDEPENDENT,
                      *OF_RINGS}
OF_ANY_SIZE = {"uniform", "uniform, single", "pareto"}
OF_REMOTE_FREES = OF_SEVERAL_THREADS - INDEPENDENT | {"marked"}


def driver(name):
    return DRIVERS / f"bench-{name}"


class Suites(unittest.TestCase):
    def run_well(self, *arguments, **options):
        run = Run(*arguments, **options)
        self.assertEqual(run.status, 0, run.complaint)
        return run

    def frees(self, run):
        found = re.search(r"frees: (\d+) local, (\d+) remote", run.complaint)
        self.assertIsNotNone(found, run.complaint)
        return int(found[1]), int(found[2])

    def confine(self):
        """To one processor, as far as a driver is not told which to use."""
        available = os.sched_getaffinity(0)
        self.addCleanup(os.sched_setaffinity, 0, available)
        os.sched_setaffinity(0, {min(available)})

    def works(self, without=()):
        for name, work in SMALL.items():
            if name in OF_SEVERAL_THREADS and os.cpu_count() < 2 or name in without:
                continue
            yield name, work

    def test_every_suite_is_run_by_every_kind_of_backend(self):
        for backend, cannot in (("pool", OF_REMOTE_FREES), ("list", OF_REMOTE_FREES | OF_ANY_SIZE), ("floor", ()),
                                ("malloc", ()), ("glibc-tuned", ()), ("percore", {"end", "marked"})):
            for name, work in self.works(without=cannot):
                run = self.run_well(driver(backend), work)
                self.assertEqual(run.line["driver"], backend)
                for series in run.series.values():
                    self.assertIn(series.line["unit"], ("ticks", "delay", "bytes", "peak bytes"))
                    self.assertGreater(series.line["calls"], 0)
            for name in cannot:
                run = Run(driver(backend), SMALL[name])
                self.assertEqual(run.status, 2, name)
                self.assertRegex(run.complaint, "cannot free a block of another thread|serves only the sizes that it was|"
                                                "needs each of its threads to register")

    def test_an_alloc_that_returns_null_is_an_error_in_every_suite(self):
        for name, work in self.works():
            run = Run(FAULTY, work, fault="null 1500")
            self.assertEqual(run.status, 3, name)
            self.assertIn("returned NULL", run.complaint)

    def test_a_block_that_is_handed_out_twice_is_seen_where_blocks_live_together(self):
        # In the other suites the previous block may already be free when it is handed out again, which is correct.
        for name, work in self.works(without={"hot", "hot, single", "new-delete", "end", "marked"} | OF_RINGS):
            run = Run(FAULTY, work, fault="same 1500")
            self.assertEqual(run.status, 3, name)
            self.assertIn("did not keep what was written to it", run.complaint)

    def test_blocks_that_overlap_anywhere_are_seen_where_they_are_written_whole(self):
        run = Run(FAULTY, SMALL["memory"], fault="overlap 1500")
        self.assertEqual(run.status, 3)
        self.assertIn("did not keep what was written to it", run.complaint)

    def test_misuse_is_said(self):
        for work, part in (
            (("cold", 64, 32, "-", 5, 0), "unknown suite cold"),
            (("hot", 64, 32, "-", 0, 0), "at least one sample"),
            (("memory", 64, 0, "-", 1, 0), "the load must not be 0"),
            (("memory", 64, 0, "-", 2, 10), "one sample in a process"),
            (("drift", 64, 0, "-", 2, 11), "even number of calls"),
            (("threads", 64, 0, "larson", 2, 1), "two or more threads"),
            (("threads", 64, 0, "many-to-one", 2, 1), "two or more threads"),
            (("threads", 64, 0, "independent", 2, 65), "at most 64"),
            (("threads", 64, 0, "producer-consumer", 2, 3), "even number"),
            (("pipeline", 0, 0, "-", 2, 3), "even number"),
            (("pipeline", 0, 32, "-", 20, 2), "64 calls together"),
            (("threads", 64, 64, "many-to-one", 20, 4), "batches or single calls"),
            (("stalls", 64, 1, "end", 2000, 3), "single calls of two threads"),
            (("stalls", 64, 0, "end", 2000, 2), "single calls of two threads"),
            (("stalls", 64, 1, "ends", 2000, 2), "unknown order ends"),
            (("stalls", 64, 32, "locked", 20, 0), "single calls"),
        ):
            run = Run(driver("floor"), work)
            self.assertEqual(run.status, 2, work)
            self.assertIn(part, run.complaint)

    def test_drift_tells_the_percentiles_of_each_window_and_a_stall_in_its_own(self):
        calls, windows, live = 20000, 5, 200000
        work = ("drift", 64, 0, "-", windows, calls)
        run = self.run_well(FAULTY, work, fault=f"stall {live + 2 * calls // 2 + 5}")  # an alloc in the third window
        self.assertEqual({name: len(series.values) for name, series in run.series.items()},
                         {"P50": windows, "P99": windows, "max": windows})
        for p50, p99, longest in zip(*(run.series[name].values for name in ("P50", "P99", "max"))):
            self.assertLessEqual(p50, p99)
            self.assertLessEqual(p99, longest)
        self.assertGreaterEqual(run.series["max"].ns()[2], STALL_NS)
        self.assertFalse(run.series["max"].line["ranked"])
        # The P99 of 20 calls is the longest one: a reading far above those that are counted by ticks is not lost.
        run = self.run_well(FAULTY, ("drift", 64, 0, "-", windows, 20), fault=f"stall {live + 25}")
        self.assertEqual(run.series["P99"].values, run.series["max"].values)
        self.assertGreaterEqual(run.series["P99"].ns()[2], STALL_NS)

    def test_startup_faults_pages_in_when_cold_and_not_when_prefaulted(self):
        blocks = 100000
        cold, warm = (self.run_well(driver("pool"), ("startup", 64, 0, order, 1, blocks))
                      for order in ("cold", "prefaulted"))
        self.assertGreater(cold.line["page_faults"], 0)
        self.assertLess(warm.line["page_faults"], 8)
        for run in (cold, warm):
            total, create, fill = (run.series[name].values[0] for name in ("total", "create", "fill"))
            self.assertEqual(total, create + fill)
            self.assertEqual(run.series["total"].line["calls"], blocks)
        # A malloc that fills its memory a second time has no page faults, except for pages that it returned meanwhile.
        cold, warm = (self.run_well(driver("malloc"), ("startup", 64, 0, order, 1, blocks))
                      for order in ("cold", "prefaulted"))
        self.assertGreater(cold.line["page_faults"], blocks * 64 // 4096)
        self.assertGreater(warm.line["page_faults_setup"], blocks * 64 // 4096)

    def test_memory_tells_what_is_resident_and_what_the_pool_keeps_beside(self):
        size, blocks = 256, 50000
        work = ("memory", size, 0, "-", 1, blocks)
        pool = self.run_well(driver("pool"), work).series
        self.assertGreaterEqual(pool["resident"].each()[0], size)
        self.assertLess(pool["resident"].each()[0], size * 1.25)
        self.assertGreaterEqual(pool["quarter"].each()[0], size)
        self.assertGreaterEqual(pool["metadata"].values[0], 4 * blocks)
        self.assertLess(pool["metadata"].values[0], 4 * blocks + 8192)
        self.assertNotIn("metadata", self.run_well(driver("malloc"), work).series)
        honest, wasteful = (self.run_well(FAULTY, work, fault=fault).series["resident"].each()[0]
                            for fault in (None, "wasteful"))
        self.assertLess(honest, size * 1.25)
        self.assertGreaterEqual(wasteful, size * 2)

    def test_anysize_asks_for_what_it_says_and_shows_the_rounding_of_the_pool(self):
        for order, load, least, most in (("uniform", 0, 1900, 2500), ("pareto", 5000, 90, 160)):
            calls = 32 if order == "uniform" else 0
            pool, honest, wasteful = (
                self.run_well(which, ("anysize", 0, calls, order, 20, load), fault=fault).series
                for which, fault in ((driver("pool"), None), (FAULTY, None), (FAULTY, "wasteful")))
            self.assertGreater(pool["asked"].each()[0], least)
            self.assertLess(pool["asked"].each()[0], most)
            self.assertGreater(pool["resident"].each()[0], pool["asked"].each()[0])
            self.assertGreater(wasteful["resident"].each()[0], 1.5 * honest["resident"].each()[0])
            self.assertEqual(pool["asked"].values, honest["asked"].values)  # all backends do the same work
            self.assertFalse(pool["asked"].line["ranked"])

    def test_each_process_runs_code_from_pages_of_its_own_or_says_that_it_does_not(self):
        def pages(*arguments, **options):
            run = self.run_well(*arguments, preload=CODE_PAGES, **options)
            found = re.search(r"code: (\d+) KiB own, (\d+) KiB shared", run.complaint)
            return run.line["own_code"], int(found[1]), int(found[2])

        for name, work in (("pool", "hot"), ("malloc", "hot"), ("malloc", "new-delete")):
            said, own, shared = pages(driver(name), SMALL[work])
            self.assertTrue(said)
            self.assertGreater(own, 1000)  # includes the C library's code
            self.assertEqual(shared, 0)
            said, own, shared = pages(driver(name), SMALL[work], fault="sealed")
            self.assertFalse(said)
            self.assertEqual(own, 0)
            self.assertGreater(shared, 1000)

    def test_new_delete_leaves_out_no_call_and_goes_through_the_operators_of_the_process(self):
        samples, ints = 3, 20000
        work = ("new-delete", 4, 0, "-", samples, ints)
        run = self.run_well(driver("malloc"), work, preload=COUNTING)
        found = re.search(r"new: (\d+), delete: (\d+)", run.complaint)
        self.assertEqual((int(found[1]), int(found[2])), ((samples + 2) * ints,) * 2)
        self.assertEqual(run.series["pair"].line["calls"], ints)
        # The pool has its own operators, so the process's operators are not called.
        self.assertIn("new: 0, delete: 0", self.run_well(driver("pool"), work, preload=COUNTING).complaint)
        local, remote = self.frees(self.run_well(FAULTY, work))
        self.assertEqual((local, remote), ((samples + 2) * ints, 0))

    def test_what_the_processor_counts_is_told_and_nothing_is_estimated(self):
        names = ["instructions", "branch_misses", "cache_misses", "tlb_misses"]
        for work, operations in ((("hot", 64, 32, "-", 50, 0), 32 * 50), (("churn", 64, 1, "-", 900, 0), 2 * 900),
                                 (("order", 64, 0, "lifo", 2, 0), 2 * 2 * 200000),
                                 (("throughput", 64, 0, "-", 2, 0), 2 * 100000),
                                 (("anysize", 0, 0, "pareto", 2, 10000), 2 * 10000),
                                 (("memory", 256, 0, "-", 1, 20000), 0)):
            line = self.run_well(driver("pool"), work, preload=PROCESSOR).line
            # 12345: counting started and stopped once; the last two events have no counter, or only part of the time
            self.assertEqual(line["counters"], dict(zip(names, [12345, 24, None, None])))
            self.assertEqual(line["operations"], operations)

    def test_threads_share_processors_where_there_are_fewer_of_them(self):
        one = min(os.sched_getaffinity(0))
        for order in ("independent", "producer-consumer", "larson", "many-to-one"):
            for calls, samples in ((0, 2), (1, 2000)):
                for load in (8, min(2 * os.cpu_count() + 2, 64)):
                    for backend in (driver("percore"), driver("malloc")):
                        run = self.run_well(backend, ("threads", 64, calls, order, samples, load), processor=one)
                        self.assertTrue(run.line["pinned"])
        # The floor's blocks are in the threads' own memory and are read until the last thread has finished.
        for _ in range(20):
            self.run_well(driver("floor"), ("threads", 64, 0, "larson", 1, 16), processor=one)
        # If all threads share one processor, waiting threads yield to the others.
        self.confine()
        run = self.run_well(driver("malloc"), ("threads", 64, 0, "larson", 2, 4))
        self.assertEqual(run.series["pair"].line["calls"], 4 * 100 * 1000)

    @unittest.skipIf(os.cpu_count() > 32, "more than 64 threads cannot be asked for")
    def test_threads_are_dealt_out_to_the_processors_in_turn(self):
        count, available = 2 * len(os.sched_getaffinity(0)), sorted(os.sched_getaffinity(0))
        work = ("threads", 64, 0, "independent", 1000000, 1, available[-1], count)
        driver_process = subprocess.Popen([str(word) for word in (driver("floor"), *work)], stdout=subprocess.DEVNULL)
        self.addCleanup(driver_process.wait)
        self.addCleanup(driver_process.kill)
        tasks, seen, until = pathlib.Path(f"/proc/{driver_process.pid}/task"), [], time.monotonic() + 60
        while seen != sorted(map(str, available * 2)) and time.monotonic() < until:
            seen = sorted(re.search(r"Cpus_allowed_list:\s+(\S+)", (task / "status").read_text())[1]
                          for task in tasks.iterdir())
        self.assertEqual(seen, sorted(map(str, available * 2)))

    def test_one_thread_frees_what_many_allocate(self):
        for threads in (2, 3, 8):
            run = self.run_well(FAULTY, ("threads", 64, 1, "many-to-one", 4000, threads))
            legs = -(-4000 // threads // 1000) + 100
            self.assertEqual(self.frees(run), (0, legs * (threads - 1) * 1000))
            self.assertEqual(set(run.series), {"alloc", "remote free", "peak"})
            counts = {name: len(run.series[name].values) for name in ("alloc", "remote free")}
            self.assertEqual(set(counts.values()), {(legs - 100) * (threads - 1) * 1000})
            batches = self.run_well(FAULTY, ("threads", 64, 0, "many-to-one", 2, threads)).series["pair"]
            self.assertEqual(batches.line["calls"], 100 * 1000 * (threads - 1))

    def test_threads_tell_what_was_resident_at_most_without_what_the_driver_has(self):
        samples, pairs = 2, (2 + 1) * 100 * 1000  # per thread; the faulty backend never reuses a block
        for order, at_once in (("independent", 2), ("many-to-one", 1)):
            work = ("threads", 64, 0, order, samples, 2)
            # Peak covers stacks and little else. The driver itself has over 4 MiB of samples here and 2 MiB of code.
            floor = self.run_well(driver("floor"), ("threads", 64, 1, order, 200000, 2))
            self.assertLess(floor.series["peak"].values[0], 1 << 20)
            self.assertGreater(floor.line["resident_kib"], 6 << 10)
            honest, wasteful = (self.run_well(FAULTY, work, fault=fault).series["peak"].values[0]
                                for fault in (None, "wasteful"))
            for peak, block in ((honest, 16 + 64), (wasteful, 16 + 2 * 64)):
                blocks = at_once * pairs + (2000 if order == "independent" else 0)
                self.assertGreaterEqual(peak, blocks * block)
                self.assertLess(peak, blocks * block + (2 << 20))

    @unittest.skipIf(os.cpu_count() < 2, "needs two processors")
    def test_stalls_wants_a_processor_for_each_thread(self):
        self.confine()
        run = Run(driver("floor"), SMALL["end"])
        self.assertEqual(run.status, 3)
        self.assertIn("too few processors", run.complaint)

    @unittest.skipIf(os.cpu_count() < 2, "needs two processors")
    def test_threads_free_where_the_order_says(self):
        samples = 4000
        runs = {order: self.run_well(FAULTY, ("threads", 64, 1, order, samples, 2),
                                     processor=min(os.sched_getaffinity(0)))
                for order in ("independent", "producer-consumer", "larson")}
        self.assertEqual(self.frees(runs["independent"])[1], 0)
        self.assertEqual(self.frees(runs["producer-consumer"])[0], 0)
        self.assertEqual(set(runs["independent"].series), {"alloc", "local free", "peak"})
        self.assertEqual(set(runs["producer-consumer"].series), {"alloc", "remote free", "peak"})
        self.assertEqual(set(runs["larson"].series), {"alloc", "local free", "remote free", "peak"})
        counts = {name: len(series.values) for name, series in runs["larson"].series.items()}
        self.assertEqual(counts["alloc"], samples)
        self.assertEqual(counts["local free"] + counts["remote free"], samples)
        self.assertTrue(all(run.line["pinned"] for run in runs.values()))

    @unittest.skipIf(os.cpu_count() < 2, "needs two processors")
    def test_calls_that_threads_make_together_are_of_one_kind(self):
        legs, threads, of_leg = 4, 2, 1000 // 64
        kinds = {("threads", "independent"): {"alloc": 2, "local free": 2},
                 ("threads", "larson"): {"alloc": 2, "remote free": 2},
                 ("threads", "producer-consumer"): {"alloc": 1, "remote free": 1},
                 ("pipeline", "-"): {"alloc": 3, "local free": 2, "remote free": 1}}
        for (suite, order), expected in kinds.items():
            work = (suite, 64 if suite == "threads" else 0, 64, order, legs * threads * of_leg, threads)
            run = self.run_well(FAULTY, work)
            samples = {name: len(each.values) for name, each in run.series.items() if name != "peak"}
            self.assertEqual(samples, {name: parts * legs * of_leg for name, parts in expected.items()}, order)
            self.assertEqual({each.line["calls"] for name, each in run.series.items() if name != "peak"}, {64})

    def charged(self, latencies, stalled, step):
        """Whether each request that was due while the stalled one was served waited until that was over."""
        end = latencies[stalled]
        delayed = range(stalled, min(len(latencies), stalled + int(end / step)))
        return len(delayed) > 100 and all(latencies[i] >= end - (i - stalled) * step - 1 for i in delayed)

    def test_arrivals_charge_a_stall_to_every_request_that_was_due_meanwhile(self):
        requests, rate, live, warm, blocks = 20000, 200000, 100000, 100000, 4
        stalled = 5000
        fault = f"stall {live + blocks * (warm + stalled) + 1}"
        run = self.run_well(FAULTY, ("arrivals", 0, 1, "fixed", requests, rate), fault=fault)
        step = 1e9 / rate
        sojourn, service = run.series["sojourn"].ns(), run.series["service"].ns()
        self.assertEqual(len(sojourn), requests)
        self.assertGreaterEqual(sojourn[stalled], STALL_NS)
        self.assertTrue(self.charged(sojourn, stalled, step))
        # The planted fault: timed from their own start, the requests behind the stall do not show it.
        self.assertGreaterEqual(service[stalled], STALL_NS)
        self.assertFalse(self.charged(service, stalled, step))
        self.assertFalse(run.series["service"].line["ranked"])
        self.assertEqual(run.series["sojourn"].line["unit"], "delay")
        self.assertTrue(all(a >= b for a, b in zip(sojourn, service)))

    @unittest.skipIf(os.cpu_count() < 2, "needs two processors")
    def test_stalls_charge_a_stall_to_every_pair_that_was_due_meanwhile(self):
        blocks, warm, stalled, step = 1 << 20, 100000, 500, 10000.0
        run = self.run_well(FAULTY, ("stalls", 64, 1, "quiet", 4000, 2), fault=f"stall {blocks + warm + stalled + 1}")
        self.assertEqual({name: len(series.values) for name, series in run.series.items()},
                         {"alloc": 2000, "local free": 2000, "delay": 2000, "peak": 1, **LESS_RUN_DELAY})
        self.assertEqual(self.frees(run), (warm + 2000, blocks))
        self.assertGreaterEqual(run.series["alloc"].ns()[stalled], STALL_NS)
        self.assertTrue(self.charged(run.series["delay"].ns(), stalled, step))
        self.assertFalse(self.charged(run.series["alloc"].ns(), stalled, step))  # the planted fault: only one shows it
        self.assertEqual(run.series["delay"].line["unit"], "delay")
        if LESS_RUN_DELAY:  # the stall is the program's, not the machine's
            self.assertGreaterEqual(run.series["alloc less run delay"].ns()[stalled], 0.9 * STALL_NS)

    @unittest.skipIf(os.cpu_count() < 2 or not LESS_RUN_DELAY, "needs two processors, and a kernel that counts")
    def test_stalls_tell_what_a_call_waited_for_a_processor_from_what_it_waited_otherwise(self):
        blocks, warm, preempted = 1 << 20, 100000, 500
        run = self.run_well(FAULTY, ("stalls", 64, 1, "quiet", 4000, 2), fault=f"preempt {blocks + warm + preempted + 1}")
        whole, own = run.series["alloc"].ns(), run.series["alloc less run delay"].ns()
        self.assertGreaterEqual(whole[preempted], STALL_NS)
        self.assertGreaterEqual(whole[preempted] - own[preempted], 0.9 * STALL_NS)
        self.assertTrue(all(a >= b for a, b in zip(whole, own)))

    @unittest.skipIf(os.cpu_count() < 2, "needs two processors")
    def test_what_stalls_wait_for_does_happen(self):
        for order in ("trim", "huge"):
            run = self.run_well(driver("malloc"), ("stalls", 64, 1, order, 10000, 2))
            self.assertLess(run.line["resident_kib"], 600 << 10)  # 1 GiB was freed
        quiet, end = (self.run_well(FAULTY, ("stalls", 64, 1, order, 10000, 2)) for order in ("quiet", "end"))
        self.assertEqual(quiet.series.keys(), end.series.keys())
        run = Run(driver("malloc"), ("stalls", 1024, 1, "locked", 2000, 0))
        self.assertTrue(run.status == 0 or "cannot lock memory" in run.complaint, run.complaint)
        for order, remote in (("marked", 1), ("unmarked", 0)):
            self.assertEqual(self.frees(self.run_well(FAULTY, ("stalls", 64, 32, order, 50, 0)))[1], remote)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
