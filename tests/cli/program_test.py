"""What `flatline` prints, writes and returns, with made-up drivers in a scratch tree laid out as an installed one.

usage: program_test.py FLATLINE FAKE_DRIVER REPORT_TEMPLATE
"""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from bench_schema import SUITES, faults

PROGRAM, FAKE, TEMPLATE = (pathlib.Path(path).resolve() for path in sys.argv[1:4])
OWN_DRIVERS = ["pool", "floor", "list", "boost-pool", "foonathan-pool"]
CONTAINER_DRIVERS = ["containers-floor", "containers-pool-resource", "containers-allocator-pool"]
CONTAINER_BACKENDS = ["floor", "pool-resource", "pool-resource-again", "allocator-pool"]
OWN_BACKENDS = ["flatline-pool", "flatline-pool-again", "floor", "list", "boost-pool", "foonathan-pool"]


class Tree:
    """bin/, libexec/ and share/ in a directory of their own."""

    def __init__(self, directory, drivers=OWN_DRIVERS + CONTAINER_DRIVERS):
        self.root = pathlib.Path(directory)
        self.libexec = self.root / "libexec/flatline"
        for part in ("bin", "libexec/flatline", "share/flatline"):
            (self.root / part).mkdir(parents=True)
        shutil.copy(PROGRAM, self.root / "bin/flatline")
        shutil.copy(TEMPLATE, self.root / "share/flatline/report.html")
        for driver in drivers:
            shutil.copy(FAKE, self.libexec / f"bench-{driver}")

    def break_driver(self, driver, fault):
        (self.libexec / f"bench-{driver}.fault").write_text(fault + "\n")

    def command(self, *arguments):
        return [str(self.root / "bin/flatline"), *arguments]

    def run(self, *arguments, **options):
        return subprocess.run(self.command(*arguments), capture_output=True, text=True, cwd=self.root, timeout=200,
                              **options)

    def bench(self, *arguments):
        return self.run("bench", "hot", "--sizes", "64", "--processes", "1", "--backends", ",".join(OWN_BACKENDS),
                        *arguments)


class Program(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.tree = Tree(pathlib.Path(scratch.name) / "tree")

    def assert_refused(self, result, *parts):
        """Status 2, nothing on standard output, and one line that says these things on standard error."""
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertEqual(result.stdout, "")
        lines = [line for line in result.stderr.splitlines() if not line.startswith("round ")]
        self.assertEqual(len(lines), 1, result.stderr)
        for part in parts:
            self.assertIn(part, lines[0])

    def assert_fits_a_screen(self, text):
        self.assertLessEqual(len(text.splitlines()), 40)
        self.assertLessEqual(max(map(len, text.splitlines())), 100)

    def test_help_fits_a_screen(self):
        for arguments in (["--help"], ["bench", "--help"], ["compare", "--help"], ["env", "--help"], ["peers", "--help"],
                          ["plan", "--help"], ["report", "--help"], ["run", "--help"], ["top", "--help"]):
            result = self.tree.run(*arguments)
            self.assertEqual(result.returncode, 0)
            self.assertEqual(result.stderr, "")
            self.assertIn("flatline", result.stdout)
            self.assert_fits_a_screen(result.stdout)

    def test_version(self):
        result = self.tree.run("--version")
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stdout, r"^flatline \d+\.\d+\.\d+\n$")

    def test_misuse_says_in_one_line_what_to_do(self):
        for arguments, parts in [
            ([], ["flatline --help"]),
            (["bnech"], ["bnech", "flatline --help"]),
            (["bench", "--nope"], ["--nope", "flatline bench --help"]),
            (["bench", "hott"], ["hott", "hot", "throughput"]),
            (["bench", "--backends", "nomalloc"], ["nomalloc", "jemalloc"]),
            (["bench", "--processes", "0"], ["--processes"]),
            (["bench", "--processes", "many"], ["--processes"]),
            (["bench", "mixed", "--sizes", "64"], ["--list"]),
            (["bench", "pipeline", "--threads", "3"], ["number of threads", "--list"]),
            (["bench", "threads", "--threads", "66"], ["--threads", "64"]),
            (["bench", "threads", "--threads", "4,1"], ["--threads", "64"]),
            (["bench", "--pin", "100000"], ["100000", "may not use processor"]),
            (["bench", "--json", "/nowhere/out.json"], ["--json", "/nowhere/out.json", "name a file"]),
            (["bench", "--html", str(self.tree.root)], ["--html", "name a file"]),
            (["bench", "--json", "-", "--html", "-"], ["--json", "--html"]),
        ]:
            with self.subTest(arguments=arguments):
                self.assert_refused(self.tree.run(*arguments), *parts)

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

    def put_peer(self, name, record):
        """A library that the build has made, and a driver that says it served."""
        peers = self.tree.libexec / "peers"
        peers.mkdir(exist_ok=True)
        library = peers / f"lib{name}.so"
        shutil.copy(FAKE, library)
        (peers / f"{name}.json").write_text(record)
        for driver in ("bench-malloc", "bench-containers-malloc"):
            shutil.copy(FAKE, self.tree.libexec / driver)
        self.tree.break_driver("malloc", f"library {library}")
        return library

    def peers(self):
        result = self.tree.run("peers", "--json", "-")
        document = json.loads(result.stdout)
        self.assertEqual(document["schema"], "flatline.peers/1")
        return result.returncode, document

    def test_peers_are_asked_what_they_are(self):
        built = self.put_peer("snmalloc", '{"version": "0.7.6", "source": "crate s 0.7", "compiler": "cc", "flags": "-O3"}')
        status, document = self.peers()
        found = {peer["name"]: peer for peer in document["peers"]}
        self.assertEqual(found["snmalloc"]["path"], str(built))
        self.assertEqual(found["snmalloc"]["flags"], "-O3")
        self.assertEqual(found["list"]["source"], "")
        self.assertNotIn("flatline-pool-again", found)
        # The driver always reports that snmalloc served the calls, so all other backends are refused.
        self.assertEqual(status, 1)
        self.assertIn("glibc", {each["name"] for each in document["failed"]})
        text = self.tree.run("peers")
        self.assertEqual(text.returncode, 1)
        self.assertRegex(text.stdout, rf"snmalloc +\S+ +general +{built}\n  crate s 0\.7, cc, -O3\n")
        self.assertRegex(text.stdout, r"glibc +failed: the wrong library served")

    def test_peers_that_are_missing_say_why(self):
        (self.tree.libexec / "peers").mkdir()
        (self.tree.libexec / "peers/snmalloc.json").write_text('{"missing": "cargo is not installed"}')
        status, document = self.peers()
        self.assertEqual(status, 0)
        missing = {each["name"]: each["how"] for each in document["missing"]}
        self.assertEqual(missing["snmalloc"], "cargo is not installed")
        self.assertIn("scripts/bootstrap bench", missing["rpmalloc"])
        self.assertRegex(self.tree.run("peers").stdout, r"snmalloc +missing: cargo is not installed")

    def test_peers_that_cannot_be_looked_at(self):
        self.put_peer("snmalloc", "{")
        self.assert_refused(self.tree.run("peers"), "snmalloc.json", "build Flatline again")
        shutil.rmtree(self.tree.libexec)
        self.assert_refused(self.tree.run("peers"), "no driver", "install")
        self.assert_refused(self.tree.run("peers", "--json", "/nowhere/out.json"), "/nowhere/out.json")

    def test_env_says_what_holds_and_what_mends_the_rest(self):
        written = self.tree.run("env", "--json", "env.json")
        self.assertEqual(written.returncode, 0, written.stderr)
        document = json.loads((self.tree.root / "env.json").read_text())
        self.assertEqual(document["schema"], "flatline.env/1")
        for condition in document["conditions"]:
            mark = {True: "✓", False: "✗", None: "?"}[condition["holds"]]
            self.assertRegex(written.stdout, rf"(?m)^{re.escape(mark)} {re.escape(condition['name'])} ")
            self.assertEqual(condition["holds"] is not True, condition["fix"] in written.stdout)
        self.assertLessEqual(max(map(len, written.stdout.splitlines())), 100)
        only = self.tree.run("env", "--json", "-")
        self.assertEqual(json.loads(only.stdout), document)
        self.assert_refused(self.tree.run("env", "--pin", "100000"), "100000", "may not use processor")

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

    def bench_document(self):
        result = self.tree.run("bench", "hot", "--sizes", "64", "--backends", ",".join(OWN_BACKENDS), "--json",
                               "old.json")
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads((self.tree.root / "old.json").read_text())

    def write_slower(self, document, factor, name="new.json"):
        """The same run, but that the pool took longer by this factor."""
        for cell in document["cells"]:
            if cell["backend"].startswith("flatline-pool"):
                for figures in ("process_p50", "process_p999"):
                    cell[figures] = [figure * factor for figure in cell[figures]]
        (self.tree.root / name).write_text(json.dumps(document))

    def test_compare_fails_where_a_cell_became_worse_and_only_there(self):
        self.write_slower(self.bench_document(), 1.1)
        same = self.tree.run("compare", "old.json", "old.json")
        self.assertEqual(same.returncode, 0, same.stderr)
        self.assertIn("0 of 3 cells are worse", same.stdout)
        worse = self.tree.run("compare", "old.json", "new.json", "--json", "change.json")
        self.assertEqual(worse.returncode, 1, worse.stderr)
        self.assertIn("3 of 3 cells are worse by more than 5 %", worse.stdout)
        self.assertIn("hot 64 B, single alloc calls", worse.stdout)
        change = json.loads((self.tree.root / "change.json").read_text())
        self.assertEqual(change["schema"], "flatline.compare/1")
        self.assertEqual([cell["change"] for cell in change["cells"]], ["worse"] * 3)
        self.assertEqual(self.tree.run("compare", "old.json", "new.json", "--fail-over", "20").returncode, 0)
        self.assertEqual(self.tree.run("compare", "new.json", "old.json").returncode, 0)
        # The difference between two runs of one build is noise. If they are equal, every change counts.
        self.assertEqual(self.tree.run("compare", "old.json", "new.json", "--noise", "old.json", "new.json").returncode, 0)
        self.assertEqual(self.tree.run("compare", "old.json", "new.json", "--noise", "old.json", "old.json").returncode, 1)

    def test_compare_judges_the_malloc_by_the_pools_copy_and_takes_it_for_no_control(self):
        document = self.bench_document()

        def written(name, factor, without=""):
            """The run with the malloc in the place of the list."""
            changed = json.loads(json.dumps(document).replace('"list"', '"flatline-malloc"'))
            for backend in changed["backends"]:
                if backend["name"] == "flatline-malloc":
                    backend["kind"] = "drop-in"
            changed["cells"] = [cell for cell in changed["cells"] if cell["backend"] != without]
            for cell in changed["cells"]:
                if cell["backend"] == "flatline-malloc":
                    for figures in ("process_p50", "process_p999"):
                        cell[figures] = [figure * factor for figure in cell[figures]]
            (self.tree.root / name).write_text(json.dumps(changed))

        written("old.json", 1)
        written("new.json", 1.2)
        worse = self.tree.run("compare", "old.json", "new.json", "--backend", "flatline-malloc")
        self.assertEqual(worse.returncode, 1, worse.stderr)
        self.assertIn("3 of 3 cells are worse", worse.stdout)
        pool = self.tree.run("compare", "old.json", "new.json")
        self.assertEqual(pool.returncode, 0, pool.stderr)
        self.assertIn(f"Times are relative to {len(OWN_BACKENDS) - 3} allocators that did not change.", pool.stdout)
        written("alone.json", 1, without="flatline-pool-again")
        self.assert_refused(self.tree.run("compare", "alone.json", "alone.json", "--backend", "flatline-malloc"),
                            "hot 64 B", "no figures of an A/A copy")

    def test_compare_takes_a_slower_machine_for_no_slower_pool(self):
        document = self.bench_document()
        for cell in document["cells"]:
            for figures in ("process_p50", "process_p999"):
                cell[figures] = [figure * 2 for figure in cell[figures]]
        for allocator in document["environment"]["allocators"]:
            allocator["path"] = "/another/build" + allocator["path"]
        (self.tree.root / "new.json").write_text(json.dumps(document))
        slower_machine = self.tree.run("compare", "old.json", "new.json")
        self.assertEqual(slower_machine.returncode, 0, slower_machine.stdout)
        self.assertIn(f"Times are relative to {len(OWN_BACKENDS) - 2} allocators that did not change.", slower_machine.stdout)
        for key in ("version", "source", "flags"): # these are other allocators, so none is left to compare with
            changed = json.loads(json.dumps(document))
            for allocator in changed["environment"]["allocators"]:
                allocator[key] = "another"
            (self.tree.root / "new.json").write_text(json.dumps(changed))
            alone = self.tree.run("compare", "old.json", "new.json")
            self.assertEqual(alone.returncode, 1, alone.stdout)
            self.assertIn("relative to 0 allocators", alone.stdout)

    def test_compare_refuses_what_cannot_be_compared(self):
        document = self.bench_document()
        (self.tree.root / "text.json").write_text("{}")
        self.assert_refused(self.tree.run("compare", "old.json", "text.json"), "text.json", "not flatline.bench/1")
        self.assert_refused(self.tree.run("compare", "old.json", "absent.json"), "absent.json", "cannot be read")
        self.assert_refused(self.tree.run("compare", "old.json", "old.json", "--noise", "old.json"), "--noise")
        self.assert_refused(self.tree.run("compare", "old.json", "old.json", "--noise", "old.json", "text.json"),
                            "text.json")
        self.assert_refused(self.tree.run("compare", "old.json"), "flatline compare --help")
        self.assert_refused(self.tree.run("compare", "old.json", "old.json", "--fail-over", "-1"), "--fail-over")
        self.assert_refused(self.tree.run("compare", "old.json", "old.json", "--backend", "x"), "no cell of x")
        for cell in document["cells"]:
            cell["ranked"] = False # unranked cells cannot become worse
        self.write_slower(document, 2)
        self.assert_refused(self.tree.run("compare", "new.json", "new.json"), "no cell of flatline-pool")
        for cell in document["cells"]:
            cell["size"], cell["ranked"] = 128, True
        self.write_slower(document, 1)
        self.assert_refused(self.tree.run("compare", "old.json", "new.json"), "no cell of flatline-pool")

    def test_bench_writes_every_form_of_its_result(self):
        result = self.tree.bench("--csv", "out.csv", "--markdown", "out.md", "--hgrm", "curves")
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = (self.tree.root / "out.csv").read_text().splitlines()
        self.assertTrue(lines[0].startswith("suite,backend,size,"), lines[0])
        self.assertEqual(len(lines), 1 + 3 * len(OWN_BACKENDS))
        self.assertIn("| hot 64 B |", (self.tree.root / "out.md").read_text())
        self.assertTrue((self.tree.root / "curves/hot-64-32-pair-flatline-pool.hgrm").is_file())
        self.assertIn("curves:", result.stdout)

    def test_report_makes_again_what_bench_made(self):
        bench = self.tree.bench("--json", "out.json", "--html", "out.html")
        self.assertEqual(bench.returncode, 0, bench.stderr)
        made = self.tree.run("report", "out.json", "--html", "again.html", "--markdown", "table.md")
        self.assertEqual((made.returncode, made.stdout, made.stderr), (0, "", ""))
        self.assertEqual((self.tree.root / "again.html").read_text(), (self.tree.root / "out.html").read_text())
        table = (self.tree.root / "table.md").read_text()
        rows = [line for line in table.splitlines() if line.startswith("| hot 64 B |")]
        self.assertEqual(len(rows), 1, table)
        document = json.loads((self.tree.root / "out.json").read_text())
        for cell in document["cells"]:
            if cell["calls_per_sample"] == 32 and cell["backend"] != "flatline-pool-again":
                self.assertIn(f"{cell['p50']:.2f}", rows[0])
        self.assertEqual(self.tree.run("report", "out.json").stdout, table)
        self.assertEqual(self.tree.run("report", "out.json", "--markdown", "-").stdout, table)

    def test_report_refuses_what_is_no_result(self):
        for name, text in [("empty.json", ""), ("other.json", '{"schema": "flatline.env/1"}'), ("list.json", "[]"),
                           ("half.json", '{"schema": "flatline.bench/1", "cells": [')]:
            (self.tree.root / name).write_text(text)
            self.assert_refused(self.tree.run("report", name), "not flatline.bench/1", "flatline bench --json")
        (self.tree.root / "bare.json").write_text('{"schema": "flatline.bench/1"}')
        self.assert_refused(self.tree.run("report", "bare.json"), "lacks", "cells")
        self.assert_refused(self.tree.run("report", "absent.json"), "absent.json", "cannot be read")
        self.assert_refused(self.tree.run("report", "."), "cannot be read")
        self.assert_refused(self.tree.run("report"), "flatline report --help")
        self.assert_refused(self.tree.run("report", "bare.json", "--html", "/nowhere/x"), "--html", "/nowhere/x")
        self.assert_refused(self.tree.run("report", "bare.json", "--html", "-", "--markdown", "-"), "name a file")

    def test_list_shows_what_there_is(self):
        result = self.tree.run("bench", "--list")
        self.assertEqual(result.returncode, 0)
        self.assertIn("mixed 7 sizes, single calls", result.stdout)
        self.assertIn("bench-pool", result.stdout)
        self.assertFalse((self.tree.libexec / "calls").exists())

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
