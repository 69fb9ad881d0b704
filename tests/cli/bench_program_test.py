"""What `flatline bench` prints, writes and refuses, with made-up drivers.

usage: bench_program_test.py FLATLINE FAKE_DRIVER REPORT_TEMPLATE
"""

import json
import os
import shutil
import sys
import unittest

from bench_schema import SUITES, faults
from program_tree import CONTAINER_BACKENDS, FAKE, OWN_BACKENDS, TreeTest


class Bench(TreeTest):
    def test_figures_and_page_are_written(self):
        result = self.tree.bench("--json", "out.json", "--html", "out.html")
        self.assertEqual(result.returncode, 0, result.stderr)
        document = json.loads((self.tree.root / "out.json").read_text())
        self.assertEqual(faults(document), [])
        self.assertEqual([backend["name"] for backend in document["backends"]], OWN_BACKENDS)
        self.assertEqual(len(document["cells"]), 3 * len(OWN_BACKENDS))
        page = (self.tree.root / "out.html").read_text()
        self.assertNotIn("__FLATLINE_DATA__", page)
        self.assertIn("flatline.bench/1", page)
        lines = result.stdout.splitlines()
        self.assertEqual(lines[-2], f"figures: {self.tree.root}/out.json")
        self.assertEqual(lines[-1], f"report: {self.tree.root}/out.html")

    def test_table_is_at_most_a_hundred_columns_wide(self):
        result = self.tree.run("bench", "--processes", "1", "--backends", ",".join(OWN_BACKENDS))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotIn("\x1b", result.stdout)
        too_wide = [line for line in result.stdout.splitlines() if len(line) > 100 and str(self.tree.root) not in line]
        self.assertEqual([line for line in too_wide if not line.startswith("timed on")], [])
        for name in ("hot 64 B", "fifo 1 KiB", "churn", "mixed", "order random free", "throughput 4 KiB"):
            self.assertIn(name, result.stdout)

    def test_full_runs_every_suite_of_the_drivers(self):
        backends = ",".join(OWN_BACKENDS + CONTAINER_BACKENDS[1:])
        result = self.tree.run("bench", "--full", "--processes", "1", "--backends", backends, "--json", "out.json")
        self.assertEqual(result.returncode, 0, result.stderr)
        document = json.loads((self.tree.root / "out.json").read_text())
        self.assertEqual(document["mode"], "full")
        self.assertEqual({cell["suite"] for cell in document["cells"]}, SUITES - {"engine"})
        self.assertEqual(faults(document), [])

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "needs two processors")
    def test_policies_of_dispatch_are_compared_by_name(self):
        result = self.tree.run("bench", "dispatch", "--quick", "--processes", "2", "--json", "out.json")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual([line for line in result.stdout.splitlines() if len(line) > 100], [])
        document = json.loads((self.tree.root / "out.json").read_text())
        self.assertEqual(document["schema"], "flatline.dispatch/1")
        self.assertEqual((document["runs"], document["pairs"], document["named"]), (2, 20, 6))
        for scenario in document["scenarios"]:
            for policy in scenario["policies"]:
                self.assertEqual(len(policy["live_p99_ms"]), 2)
                self.assertGreater(min(policy["live_p99_ms"] + policy["simulated_p99_ms"]), 0)
        self.assertEqual({choice["policy"] for choice in document["choices"]},
                         {"nothing", "random", "two choices", "Prequal", "predictive"})

    def test_dispatch_refuses_what_it_has_no_use_for(self):
        for arguments, what in ((("engine",), "runs alone"), (("--html", "out.html"), "only --json"),
                                (("--processes", "1"), "needs 2 runs"), (("--json", "no/where"), "no/where")):
            result = self.tree.run("bench", "dispatch", "--quick", *arguments)
            self.assertEqual((result.returncode, result.stdout), (2, ""), arguments)
            self.assertIn(what, result.stderr)

    def engine(self, *arguments, **options):
        for driver in ("flatline", "ring", "futex", "mutex"):
            shutil.copy(FAKE, self.tree.libexec / f"bench-engine-{driver}")
        return self.tree.run("bench", "engine", *arguments, **options)

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "needs two processors")
    def test_tasks_are_timed_only_by_name_and_written_in_every_form(self):
        result = self.engine("--processes", "1", "--json", "out.json", "--html", "out.html", "--csv", "out.csv",
                             "--markdown", "out.md", "--hgrm", "curves")
        self.assertEqual(result.returncode, 0, result.stderr)
        document = json.loads((self.tree.root / "out.json").read_text())
        self.assertEqual(faults(document), [])
        self.assertEqual({cell["suite"] for cell in document["cells"]}, {"engine"})
        self.assertEqual({backend["name"] for backend in document["backends"]},
                         {"engine", "engine-again", "ring", "futex", "mutex-queue"})
        self.assertIn("apt-get install libtbb-dev", {each["how"].split(",")[0] for each in document["missing"]})
        self.assertNotIn("glibc", {each["name"] for each in document["missing"]})
        self.assertEqual({cell["backend"] for cell in document["cells"] if cell["order"] == "overload-minute"},
                         {"engine"})
        self.assertEqual([line for line in result.stdout.splitlines()
                          if len(line) > 100 and str(self.tree.root) not in line], [])
        self.assertIn("saturated 64 B", result.stdout)
        self.assertIn("| engine, saturated task, Mtasks/s |", (self.tree.root / "out.md").read_text())

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "needs two processors")
    def test_a_quick_run_of_tasks_leaves_out_the_overload(self):
        result = self.engine("--quick", "--processes", "1", "--backends", "engine,ring", "--json", "out.json")
        self.assertEqual(result.returncode, 0, result.stderr)
        cells = json.loads((self.tree.root / "out.json").read_text())["cells"]
        self.assertEqual({cell["size"] for cell in cells if cell["order"] == "busy"}, {64, 1024})
        self.assertFalse([cell for cell in cells if cell["order"].startswith("overload")])

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "needs two processors")
    def test_the_bound_of_the_plan_is_what_an_overload_is_held_to(self):
        self.engine("--processes", "1", "--backends", "engine", "--json", "out.json")
        calls = [line.split() for line in (self.tree.libexec / "calls").read_text().splitlines()]
        loads = {int(words[8]) for words in calls if words[4].startswith("overload")}
        self.assertEqual(len(loads), 1)
        self.assertGreater(loads.pop(), 20_000)  # eight tasks that may each take 3 us

    def test_tasks_need_two_processors(self):
        allowed = os.sched_getaffinity(0)
        result = self.engine(preexec_fn=lambda: os.sched_setaffinity(0, {min(allowed)}))
        self.assert_refused(result, "needs two processors, one for the submitter and one for the worker")

    def containers(self, *arguments):
        return self.tree.run("bench", "containers", "--processes", "4", "--backends", ",".join(CONTAINER_BACKENDS),
                             *arguments)

    def test_containers_are_timed_by_the_round_and_written_in_every_form(self):
        result = self.containers("--json", "out.json", "--html", "out.html", "--csv", "out.csv", "--markdown", "out.md",
                                 "--hgrm", "curves")
        self.assertEqual(result.returncode, 0, result.stderr)
        document = json.loads((self.tree.root / "out.json").read_text())
        self.assertEqual(faults(document), [])
        self.assertEqual({(cell["heap_calls"] is None, cell["held_bytes"] is None) for cell in document["cells"]},
                         {(False, False)})
        lists = [cell["backend"] for cell in document["cells"] if cell["order"] == "list"]
        self.assertEqual(lists, CONTAINER_BACKENDS)
        self.assertNotIn("floor", [cell["backend"] for cell in document["cells"] if cell["order"] == "map-int"])
        self.assertEqual({(verdict["subject"], verdict["rival"]) for verdict in document["verdicts"]},
                         {("allocator-pool", "pool-resource")})
        self.assertEqual({line.split(",")[0] for line in (self.tree.root / "out.csv").read_text().splitlines()},
                         {"suite", "containers"})
        self.assertIn("| trades, 32 rounds |", (self.tree.root / "out.md").read_text())
        self.assertTrue((self.tree.root / "curves/containers-0-map-int-1-round-pool-resource.hgrm").is_file())
        for part in ("containers trades, blocks of 32 rounds", "heap calls", "allocator, pool / pool_resource",
                     "P99.9 - P50: ns, of single rounds."):
            self.assertIn(part, result.stdout)
        too_wide = [line for line in result.stdout.splitlines() if len(line) > 100 and str(self.tree.root) not in line]
        self.assertEqual(too_wide, [])
        self.assertNotIn("containers", "".join((self.tree.libexec / "calls").read_text().split("bench-containers-")[0]))

    def test_containers_are_compared_by_the_resource_that_is_named(self):
        for name, factor in (("old.json", 1), ("new.json", 1.2)):
            self.assertEqual(self.containers("--seed", "1", "--json", name).returncode, 0)
            document = json.loads((self.tree.root / name).read_text())
            for cell in document["cells"]:
                if cell["backend"].startswith("pool-resource"):
                    cell["process_p50"] = [factor * figure for figure in cell["process_p50"]]
            (self.tree.root / name).write_text(json.dumps(document))
        self.assert_refused(self.tree.run("compare", "old.json", "new.json"), "no cell of flatline-pool")
        same = self.tree.run("compare", "old.json", "old.json", "--backend", "pool-resource")
        self.assertEqual(same.returncode, 0, same.stderr)
        worse = self.tree.run("compare", "old.json", "new.json", "--backend", "pool-resource")
        self.assertEqual(worse.returncode, 1, worse.stderr)
        self.assertIn("containers trades, 32 rounds", worse.stdout)
        self.assertIn("19 of 19 cells are worse", worse.stdout)
        # A copy's difference from its original counts for pool_resource, whatever its place among the backends.
        for cell in document["cells"]:
            if cell["backend"] == "pool-resource-again":
                cell["process_p50"] = [1.3 * figure for figure in cell["process_p50"]]
        (self.tree.root / "new.json").write_text(json.dumps(document))
        self.assertEqual(self.tree.run("compare", "old.json", "new.json", "--backend", "pool-resource").returncode, 0)

    def test_as_many_threads_run_as_are_asked_for(self):
        result = self.tree.run("bench", "threads", "--threads", "6", "--processes", "1", "--backends", "floor", "--json",
                               "out.json")
        self.assertEqual(result.returncode, 0, result.stderr)
        calls = [line.split()[1:9] for line in (self.tree.libexec / "calls").read_text().splitlines()]
        self.assertEqual({(call[0], call[7]) for call in calls}, {("threads", "6")})
        document = json.loads((self.tree.root / "out.json").read_text())
        self.assertEqual({cell["threads"] for cell in document["cells"]}, {6})

    def test_cells_of_several_threads_are_told_apart_with_their_memory_in_every_form(self):
        result = self.tree.run("bench", "threads", "pipeline", "--processes", "4", "--backends",
                               "flatline-pool,flatline-pool-again,floor,list", "--json", "out.json", "--html", "out.html",
                               "--csv", "out.csv", "--markdown", "out.md", "--hgrm", "curves")
        self.assertEqual(result.returncode, 0, result.stderr)
        document = json.loads((self.tree.root / "out.json").read_text())
        self.assertEqual(faults(document), [])
        ran = {(cell["suite"], cell["order"], cell["threads"]) for cell in document["cells"]}
        orders = ("independent", "producer-consumer", "larson")
        self.assertEqual(ran, {("threads", order, count) for order in orders for count in (2, 4, 8)}
                         | {("threads", "many-to-one", 4), ("threads", "many-to-one", 8), ("pipeline", "", 2)})
        self.assertEqual({verdict["threads"] for verdict in document["verdicts"]}, {2, 4, 8})
        for part in ("threads many-to-one, 64 B, 8 threads, single alloc calls", "peak KiB",
                     "threads independent, 64 B, 4 threads, single free calls"):
            self.assertIn(part, result.stdout)
        too_wide = [line for line in result.stdout.splitlines() if len(line) > 100 and str(self.tree.root) not in line]
        self.assertEqual(too_wide, [])
        lines = (self.tree.root / "out.csv").read_text().splitlines()
        self.assertEqual(len(lines), 1 + len(document["cells"]))
        self.assertIn("peak_bytes", lines[0])
        self.assertIn("| threads, larson alloc, 8 threads, Mops/s |", (self.tree.root / "out.md").read_text())
        for count in (2, 4, 8):
            name = f"threads-64-larson-{count}-threads-1-free-floor.hgrm"
            self.assertTrue((self.tree.root / "curves" / name).is_file())

    def test_a_suite_that_is_named_has_every_policy_of_the_malloc_and_a_quick_run_one(self):
        for driver in ("bench-malloc", "bench-containers-malloc"):
            shutil.copy(FAKE, self.tree.libexec / driver)
        library = self.tree.root / "lib/libflatline-malloc.so"
        library.parent.mkdir(exist_ok=True)
        shutil.copy(FAKE, library)
        self.tree.break_driver("malloc", f"library {library}")
        policies = {"flatline-malloc", "flatline-malloc-latency", "flatline-malloc-memory"}
        for arguments, expected in ((["throughput"], policies), (["--quick"], {"flatline-malloc"})):
            self.tree.run("bench", *arguments, "--sizes", "64", "--processes", "1", "--json", "out.json")
            document = json.loads((self.tree.root / "out.json").read_text())
            self.assertEqual(faults(document), [])
            self.assertEqual({cell["backend"] for cell in document["cells"]} & policies, expected)
            self.assertEqual({backend["kind"] for backend in document["backends"] if backend["name"] in policies},
                             {"drop-in"})

    def test_dash_leaves_standard_output_to_the_figures(self):
        result = self.tree.bench("--json", "-")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(faults(json.loads(result.stdout)), [])

    def test_dash_leaves_standard_output_to_the_page(self):
        result = self.tree.bench("--html", "-")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertTrue(result.stdout.lower().startswith("<!doctype html"))
        self.assertTrue(result.stdout.rstrip().endswith("</html>"))

    def test_missing_backends_are_named_with_the_way_to_get_them(self):
        (self.tree.libexec / "bench-boost-pool").unlink()
        result = self.tree.bench("--json", "out.json")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"missing: Boost\.Pool \(apt-get install libboost")
        document = json.loads((self.tree.root / "out.json").read_text())
        self.assertEqual([missing["name"] for missing in document["missing"]], ["boost-pool"])

    def test_failed_allocation_is_an_error_and_not_a_fast_success(self):
        self.tree.break_driver("list", "null")
        result = self.tree.bench("--json", "out.json")
        self.assertEqual(result.returncode, 2)
        self.assertIn("returned NULL", result.stderr.splitlines()[-1])
        self.assertRegex(result.stdout, r"list \(unchecked\) +failed")
        self.assertIn("failed: list in hot 64 B", result.stdout)
        document = json.loads((self.tree.root / "out.json").read_text())
        self.assertEqual(faults(document), [])
        self.assertEqual({error["backend"] for error in document["errors"]}, {"list"})
        self.assertNotIn("list", {cell["backend"] for cell in document["cells"]})

    def test_nothing_is_timed_that_was_built_for_something_else(self):
        for fault, part in [("unoptimised", "Release"), ("assertions", "Release"), ("sanitizer", "Release"),
                            ("timer", "invariant")]:
            with self.subTest(fault=fault):
                self.tree.break_driver("pool", fault)
                self.assert_refused(self.tree.bench("--json", "out.json"), part)
                self.assertFalse((self.tree.root / "out.json").exists())

    def test_no_drivers_at_all(self):
        shutil.rmtree(self.tree.libexec)
        self.assert_refused(self.tree.bench(), "no driver", "--list")

    def test_no_page_template(self):
        (self.tree.root / "share/flatline/report.html").unlink()
        self.assert_refused(self.tree.bench("--html", "out.html"), "report.html", "install")

    def test_isolated_run_begins_only_on_a_machine_that_isolates(self):
        document = json.loads(self.tree.run("env", "--json", "-").stdout)
        isolating = ["own processor", "no interrupts", "fixed frequency", "locked memory"]
        lacking = [each for each in document["conditions"] if each["name"] in isolating and each["holds"] is not True]
        result = self.tree.bench("--isolated")
        if not lacking:
            self.assertEqual(result.returncode, 0, result.stderr)
            return
        self.assert_refused(result, "--isolated", "flatline env", *[each["fix"] for each in lacking])
        self.assertFalse((self.tree.libexec / "calls").exists()) # nothing was timed

    def test_bench_writes_every_form_of_its_result(self):
        result = self.tree.bench("--csv", "out.csv", "--markdown", "out.md", "--hgrm", "curves")
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = (self.tree.root / "out.csv").read_text().splitlines()
        self.assertTrue(lines[0].startswith("suite,backend,size,"), lines[0])
        self.assertEqual(len(lines), 1 + 3 * len(OWN_BACKENDS))
        self.assertIn("| hot 64 B |", (self.tree.root / "out.md").read_text())
        self.assertTrue((self.tree.root / "curves/hot-64-32-pair-flatline-pool.hgrm").is_file())
        self.assertIn("curves:", result.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
