#!/usr/bin/env python3
"""Holds scripts/results to telling every cell, losses and void ones included, and to seeing a table that was changed.

    results_test.py SCRIPT
"""
import copy
import json
import os
import unittest

from results_manual import MACHINE, PAGES, Manual, rows_of
from results_runs import (ANYSIZE, CONTAINERS, DISPATCH, ENGINE, FULL, MALLOC, OTHERS, PERCORE, PROGRAMS, QUICK,
                          SIMULATION, anysize, changed, containers, percore, with_four_threads, with_policies, written)


class Front(Manual):
    def shown(self, *quick, **others):
        (self.root / "README.md").write_text("<!-- results front -->\n<!-- /results -->\n")
        self.write(*quick, **others)
        return self.table("front", "README.md").splitlines()

    def test_shows_what_is_won_and_the_greatest_losses(self):
        lines = self.shown(QUICK)
        self.assertEqual(lines[-1], "- the pool: fifo 1 KiB, **1.20** of glibc")
        for line in ("| hot 64 B | 0.83 of glibc | 0.86 of snmalloc |", "| mixed 7 sizes | void | void |"):
            self.assertIn(line, lines)
        lines = self.shown(changed(pool={"hot": 1.3, "throughput": 0.5}), full=with_policies(FULL, malloc=1.5),
                           percore=(with_policies(PERCORE),))
        self.assertIn("| hot 64 B | **1.08** of glibc | 0.86 of snmalloc |", lines)
        self.assertEqual(lines[-2:], ["- the pool: throughput 16 B, **1.33** of glibc",
                                      "- the malloc: threads 64 B, producer-consumer, **2.00** of jemalloc"])

    def test_mixes_no_machines(self):
        elsewhere = copy.deepcopy(MALLOC)
        elsewhere["environment"]["processor"] = "another"
        (self.root / "README.md").write_text("<!-- results front -->\n<!-- /results -->\n")
        self.assertEqual(self.collect(QUICK, malloc=(elsewhere,)).returncode, 0)
        refused = self.run_script("write")
        self.assertEqual(refused.returncode, 1)
        self.assertIn("would mix a processor, 2 processors and another, 2 processors", refused.stderr)

    def test_tells_that_nothing_is_lost(self):
        self.assertEqual(self.shown(changed(pool={"fifo": 0.5}))[-1], "- none")


class Tables(Manual):
    def test_keep_what_stands_around_them(self):
        self.write(QUICK)
        self.assertIn("-->\nbefore\n<!-- results medians -->\nMedians over 1 runs", self.page("README.md"))
        self.assertTrue(self.page("README.md").endswith("<!-- /results -->\nafter\n"))
        self.assertIn("-->\nbetween\n<!--", self.page("docs/pool.md"))

    def test_have_a_row_for_each_cell(self):
        self.write(QUICK)
        self.assertEqual(rows_of(self.page("README.md")), [
            "| hot 64 B | 5.00 | 2.00 | 3.00 | 6.00 | 8.00 | **4.00** | 0.83 |",
            "| fifo 1 KiB | 6.00 | 2.00 | 3.00 | **5.00** | 9.00 | 7.00 | 1.20 |",
            "| mixed 7 sizes | 50.0 | 2.00 | 3.00 | 70.0 | 80.0 | 90.0 | void |",
            "| order, lifo free | **2.00** | 1.00 | 1.00 | 4.00 | 5.00 | 3.00 | 0.50 |",
            "| throughput 16 B, Mops/s | **300** | 700 | 600 | 200 | 150 | 290 | 1.50 |",
        ])
        self.assertEqual(rows_of(self.table("tails")), [
            "| hot 64 B, alloc | **90.0** | 60.0 | 75.0 | 93.0 | 96.0 | 99.0 |"])
        self.assertEqual(rows_of(self.table("memory")), ["| memory 256 B, resident | **260** | 0.00 |"])
        self.assertEqual(len(rows_of(self.table("lifetime"))), 1)
        self.assertTrue(rows_of(self.table("lifetime"))[0].startswith("| startup 64 B, total (void) | "))
        self.assertIn("| pool | 5.00 | 6.00 | 9.00 | +0.013 |", rows_of(self.table("drift")))
        self.assertEqual(rows_of(self.table("programs")), [
            "| **glibc** | 2.50 | 2.40 to 2.60 | 2.00 | 0.50 | 2.0 | 2.0 | 2,048 |  | 26 % |"])
        self.assertIn("tbb failed: it failed", self.table("programs"))
        self.assertIn("| `--quick` | a processor, 2 processors | 1 | 4 | 100 | 0.5 | 20 |", rows_of(self.table("machine")))
        self.assertIn("| `--full` | a processor, 2 processors | 1 | 4 | 100 (a resumed run: since then) | 0.5 | 20 |",
                      rows_of(self.table("machine")))
        self.assertIn("| T jemalloc | 1.2 |", rows_of(self.table("allocators")))

    def test_take_a_program_from_the_last_run_that_has_it(self):
        again = copy.deepcopy(PROGRAMS)
        again["programs"][0]["rows"][0]["wall_s"]["median"] = 3.25
        other = copy.deepcopy(PROGRAMS)
        other["programs"][0].update(name="lua", title="Lua")
        self.write(QUICK, programs=[PROGRAMS, other, again])
        perl, lua = self.table("programs").split("### Lua")
        self.assertIn("| **glibc** | 3.25 |", perl)
        self.assertIn("| **glibc** | 2.50 |", lua)
        self.assertIn("| `programs` | a processor, 2 processors | 3 | 4 | 100 | 0.5 | 20 |", rows_of(self.table("machine")))

    def test_tell_the_median_ratio_its_range_and_every_loss(self):
        slower = changed(pool={"hot": 1.2, "throughput": 0.5}, void={"fifo": True})
        fastest = changed(pool={"hot": 0.6}, void={"fifo": True})
        self.write(slower, QUICK, fastest)
        self.assertIn("| hot 64 B | 5.00 | 2.00 | 3.00 | 6.00 | 8.00 | **4.00** | 0.83 |", self.page("README.md"))
        ratios, losses = self.page("docs/pool.md").split("between")
        self.assertEqual(rows_of(ratios), [
            "| hot 64 B | 3 | 0.83 | 0.50 to 1.00 | 0.83 | glibc | 1.67 |",
            "| fifo 1 KiB | 1 | 1.20 | 1.20 to 1.20 | 1.20 | glibc | 2.00 |",
            "| mixed 7 sizes | 0 | void |  |  |  |  |",
            "| order, lifo free | 3 | 0.50 | 0.50 to 0.50 |  | glibc | 2.00 |",
            "| throughput 16 B, Mops/s | 3 | 1.50 | 0.75 to 1.50 |  | glibc | 0.50 |",
        ])
        self.assertEqual([line for line in losses.splitlines() if line.startswith("- ")],
                         ["- fifo 1 KiB: 1.20 of glibc; the goal is at most 1.00",
                          "- mixed 7 sizes: void in every run"])

    def test_tell_every_tail_that_is_lost_by_more_than_a_step_of_the_clock(self):
        self.write(QUICK)
        self.assertIn("lost tails -->\n- none\n", self.page("README.md"))
        late = copy.deepcopy(QUICK)
        for cell in late["cells"]:
            if cell["backend"] == "flatline-pool" and cell["calls_per_sample"] == 1:
                cell["p999"] = 104  # glibc has 93
        self.write(late)
        self.assertIn("lost tails -->\n- hot 64 B, alloc: 104, 93.0 of glibc\n<", self.page("README.md"))

    def test_tell_a_goal_that_is_missed_where_the_cell_is_won(self):
        self.write(changed(pool={"order": 1.5, "throughput": 0.7}))
        losses = self.page("docs/pool.md").split("between")[1]
        self.assertIn("- order, lifo free: 0.75 of glibc; the goal is at most 0.70\n", losses)
        self.assertIn("- throughput 16 B, Mops/s: 1.05 of glibc; the goal is at least 1.10\n", losses)

    def test_tell_a_goal_of_the_tail_that_is_missed(self):
        for factor, told in ((1.4, []), (1.5, ["- mixed 7 sizes, P99.9: 1.07; the goal is at most 1.05"])):
            self.write(changed(pool_tail={"mixed": factor}, void={"mixed": False}))
            losses = self.page("docs/pool.md").split("between")[1]
            self.assertEqual([line for line in losses.splitlines() if "P99.9" in line], told)


class Containers(Manual):
    def of(self, name, *runs):
        self.write(QUICK, containers=runs or (CONTAINERS,))
        return self.table("containers " + name, "docs/choosing.md")

    def test_have_a_row_for_each_workload_and_the_best_malloc_by_its_name(self):
        rows = rows_of(self.of("medians"))
        self.assertEqual([row.split(" | ")[0] for row in rows],
                         ["| list", "| map-int", "| trades", "| trades, 32 rounds", "| vector (void)"])
        self.assertEqual(rows[0], "| list | 100 | 110 | 150 | 180 | 105 | **100** | 120 | 160 | 101 | 120 | 300 | "
                                  "240 | 200 jemalloc |")
        self.assertTrue(rows[1].startswith("| map-int |  | 110 |"), rows[1])
        self.assertNotIn("**", rows[4])
        self.assertIn("Medians over 1 run of `flatline bench containers`, all kept, 4 processes per cell and "
                      "backend and 30,000 single rounds from each run", self.page("docs/choosing.md"))
        fast = containers(jemalloc=0.4)
        self.assertTrue(rows_of(self.of("medians", CONTAINERS, fast, fast))[0].endswith("| **80.0 jemalloc** |"))

    def test_tell_the_jitter_of_single_rounds_the_memory_and_the_choice(self):
        jitter = rows_of(self.of("jitter"))
        self.assertEqual(jitter[0], "| list | 10.0 | 40.0 | 30.0 | 50.0 | **20.0** | 41.0 | 42.0 | 43.0 | 44.0 | "
                                    "60.0 | 80.0 | 90.0 | 90.0 glibc |")
        self.assertEqual(len(jitter), 4)
        self.assertEqual(rows_of(self.of("memory"))[0],
                         "| list | 500 | 0 | 16,000 | 16,000 | 16,000 | 16,000 | 16,000 | 16,000 |")
        self.assertEqual(rows_of(self.of("choice"))[0],
                         "| list | inline_arena, 105 | allocator, arena, 100 | allocator, pool, 120 | "
                         "inline_arena, 20.0 | std::pmr monotonic, 120 | jemalloc, 200 |")

    def test_tell_ratios_with_their_range_and_without_void_cells(self):
        rows = rows_of(self.of("ratios", CONTAINERS, containers(arena_resource=1.2), containers(arena_resource=1.5)))
        self.assertTrue(rows[0].startswith("| list | 1.10 (0.92 to 1.38) | "), rows[0])
        self.assertTrue(rows[0].endswith(" | 0.50 (0.50 to 0.50) | 0.75 (0.75 to 0.75) | 0.90 (0.90 to 0.90) | "
                                         "1.05 (1.05 to 1.05) |"), rows[0])
        self.assertEqual(rows[4], "| vector (void) |  |  |  |  |  |  |")
        self.assertTrue(rows_of(self.of("allocators"))[0].startswith("| list | 0.91 (0.91 to 0.91) | 0.80"))

    def test_tell_every_goal_that_is_missed(self):
        self.assertEqual(self.of("goals"), "- vector: void in every run\n")
        for factors, told in (
                ({"arena_resource": 1.13}, "list, P50: arena_resource at 1.04 (1.04 to 1.04) of std::pmr monotonic; the "
                                           "goal is at most 1.00"),
                ({"std_monotonic": 0.7}, "map-int, P99.9: arena_resource at 1.04"),
                ({"pool_resource": 1.7}, "map-int, P50: pool_resource at 0.85 (0.85 to 0.85) of std::pmr pool; the goal "
                                         "is at most 0.80"),
                ({"pool_resource": 1.4}, "list, P50: pool_resource at 1.05 (1.05 to 1.05) of best malloc"),
                ({"inline_arena": 1.2}, "trades, 32 rounds, P50: inline_arena at 1.26 (1.26 to 1.26) of floor; the "
                                        "goal is at most 1.15"),
                ({"allocator_heap": 1.2}, "trades, P50: allocator, heap at 1.07 (1.07 to 1.07) of heap_resource")):
            self.assertIn("- " + told, self.of("goals", containers(**factors)))
        within = self.of("goals", containers(arena_resource=1.11))  # 1.02 of the rival
        self.assertNotIn("list, P50", within)
        steady = copy.deepcopy(CONTAINERS)
        for cell in steady["cells"]:
            if cell["backend"] == "glibc":
                cell["p999"] = cell["p50"] + 5
        self.assertIn("- trades, P99.9 − P50: inline_arena has 20.0 ns, glibc 5.00; the goal is the lowest of all\n",
                      self.of("goals", steady))

    def test_are_collected_alone_and_the_others_stay(self):
        self.write(QUICK)
        before = self.page("README.md")
        other = self.root / "other.json"
        other.write_text(written(containers(jemalloc=0.4)))
        self.assertEqual(self.run_script("collect", "--containers", str(other)).returncode, 0)
        self.assertEqual(self.run_script("write").returncode, 0)
        self.assertIn("80.0 jemalloc", self.page("docs/choosing.md"))
        self.assertEqual(self.page("README.md"), before)


# Writes the JSON file beside it for the requested kind of run, and logs each call. It fails for the kind that FAULT
# names.
PROGRAM = """#!/usr/bin/env python3
import os, pathlib, sys
assert sys.argv[1] in ("bench", "simulate") and sys.argv[-2] == "--json"
here, kind = pathlib.Path(__file__).parent, sys.argv[2].strip("-")
with open(here / "calls", "a") as calls:
    print(kind, file=calls)
if os.environ.get("FAULT") == kind:
    sys.exit(2)
pathlib.Path(sys.argv[-1]).write_text((here / (kind + ".json")).read_text())
"""


class Measure(Manual):
    def setUp(self):
        super().setUp()
        self.folder = self.root / "build/bin"
        self.folder.mkdir(parents=True)
        for name, text in {"flatline": PROGRAM, "quick.json": written(QUICK), "full.json": written(FULL),
                           "containers.json": written(CONTAINERS), "anysize.json": written(ANYSIZE),
                           "threads.json": written(PERCORE), "hot.json": written(MALLOC),
                           "order.json": written(OTHERS), "engine.json": written(ENGINE),
                           "programs.json": written(PROGRAMS), "dispatch.json": json.dumps(DISPATCH),
                           "all.json": json.dumps(SIMULATION)}.items():
            (self.folder / name).write_text(text)
        (self.folder / "flatline").chmod(0o755)

    def measure(self, fault=""):
        os.environ["FAULT"] = fault
        self.addCleanup(os.environ.pop, "FAULT", None)
        return self.run_script("measure", str(self.root / "build"), str(self.root / "runs"))

    def calls(self):
        return (self.folder / "calls").read_text().split()

    def test_runs_all_and_writes_the_tables(self):
        done = self.measure()
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(self.calls(), 10 * ["quick"] + 10 * ["containers"] + 10 * ["anysize"] + 10 * ["threads"]
                         + 10 * ["hot"] + ["order"] + 10 * ["engine"] + ["full", "programs", "dispatch", "all"])
        self.assertIn("Medians over 10 runs", self.page("README.md"))
        self.assertEqual(self.run_script("check").returncode, 0)

    def test_measures_what_is_missing_when_it_is_begun_again(self):
        interrupted = self.measure("full")
        self.assertEqual(interrupted.returncode, 1)
        self.assertIn("start again", interrupted.stderr)
        self.assertEqual(self.page("README.md"), PAGES["README.md"])
        self.assertEqual(self.measure().returncode, 0)
        self.assertEqual(self.calls(), 10 * ["quick"] + 10 * ["containers"] + 10 * ["anysize"] + 10 * ["threads"]
                         + 10 * ["hot"] + ["order"] + 10 * ["engine"]
                         + ["full", "full", "programs", "dispatch", "all"])


class Heap(Manual):
    def of(self, name, *runs):
        self.write(QUICK, anysize=runs or (ANYSIZE,))
        return self.table(name, "docs/heap.md")

    def test_stands_beside_o1heap_with_the_least_and_the_greatest_run(self):
        text = self.of("heap", ANYSIZE, anysize(1.2), anysize(1.5))
        self.assertIn("Medians over 3 runs of `flatline bench anysize`, all kept", text)
        self.assertEqual(rows_of(text), [
            "| uniform, blocks of 32 calls, P50 | 48.0 | 6.00 | 60.0 | 0.80 (0.67 to 1.00) |",
            "| uniform, single alloc, P50 | 48.0 | 6.00 | 60.0 | 0.80 (0.67 to 1.00) |",
            "| uniform, phases of 500,000 calls, P50 | 48.0 | 6.00 | 60.0 | 0.80 (0.67 to 1.00) |",
            "| uniform, blocks of 32 calls, P99.9 | 144 | 18.0 | 180 | 0.80 (0.67 to 1.00) |",
            "| uniform, single alloc, P99.9 | 144 | 18.0 | 180 | 0.80 (0.67 to 1.00) |",
            "| uniform, blocks of 32 calls, over 1 µs, of a million | 512 | 1.00 | 1000 | 0.51 (0.30 to 1.00) |",
            "| uniform, single alloc, over 1 µs, of a million | 512 | 1.00 | 1000 | 0.51 (0.30 to 1.00) |"])

    def test_tells_every_goal_that_is_missed_and_no_other(self):
        self.assertEqual(self.of("heap goals"), "- none\n")
        self.assertEqual(self.of("heap goals", anysize(1.1)),
                         "- uniform, single alloc, P50: the heap at 0.73 (0.73 to 0.73) of o1heap; the goal is at most "
                         "0.70\n")
        self.assertEqual(len(self.of("heap goals", anysize(1.6)).splitlines()), 6)

    def test_of_other_suites_or_without_o1heap_is_refused(self):
        for run in (QUICK, anysize(alone=True)):
            refused = self.collect(QUICK, anysize=(run,))
            self.assertEqual(refused.returncode, 1)
            self.assertIn("--anysize: ", refused.stderr)


class PerCore(Manual):
    def of(self, name, *runs):
        self.write(QUICK, percore=runs or (PERCORE,))
        return self.table(name, "docs/percore.md")

    def test_stands_beside_the_best_malloc_with_the_least_and_the_greatest_run(self):
        text = self.of("percore", PERCORE, percore(pair=2, remote=0.5), percore(pair=4))
        self.assertIn("medians over 3 runs of `flatline bench threads pipeline`, all kept", text)
        self.assertEqual(rows_of(text), [
            "| threads, independent, Mops/s | 111 | 111 | 200 | 50.0 | 100 | 1.11 (1.11 to 1.11) of jemalloc |",
            "| threads, producer-consumer, Mops/s |  | 55.6 | 200 | 50.0 | 100 | 0.56 (0.28 to 1.11) of jemalloc |",
            "| threads, larson, Mops/s |  | 55.6 | 200 | 50.0 | 100 | 0.56 (0.28 to 1.11) of jemalloc |",
            "| pipeline, Mops/s |  | 55.6 | 200 | 50.0 | 100 | 0.56 (0.28 to 1.11) of jemalloc |",
            *[row % together for together in ("", ", blocks of 64") for row in (
                "| threads, independent, local free%s | 29.0 | 29.0 | 26.0 | 33.0 | 30.0 | 0.97 (0.97 to 0.97) of jemalloc |",
                "| pipeline, local free%s |  | 29.0 | 26.0 | 33.0 | 30.0 | 0.97 (0.97 to 0.97) of jemalloc |",
                "| threads, larson, remote free%s |  | 40.0 | 26.0 | 60.0 | 45.0 | 0.89 (0.44 to 0.89) of jemalloc |",
                "| pipeline, remote free%s |  | 40.0 | 26.0 | 60.0 | 45.0 | 0.89 (0.44 to 0.89) of jemalloc |")]])
        self.assertEqual(len(rows_of(self.of("percore tails"))), 8)  # rates have no tails

    def test_tells_every_goal_that_is_missed_and_no_other(self):
        self.assertEqual(self.of("percore goals"), "- none\n")
        self.assertEqual(self.of("percore goals", percore(pair=1.15)),
                         "- threads, producer-consumer: 0.97 (0.97 to 0.97) of jemalloc; the goal is at least 1.00\n")
        self.assertEqual(self.of("percore goals", percore(own=1.1)),
                         "- threads, independent, Mops/s: 0.91 (0.91 to 0.91) of the pool; the goal is within 5 %\n"
                         "- threads, independent, local free: 1.10 (1.10 to 1.10) of the pool; the goal is within 5 %\n"
                         "- threads, independent, local free, blocks of 64: 1.10 (1.10 to 1.10) of the pool; the goal is "
                         "within 5 %\n")
        self.assertEqual(self.of("percore goals", percore(remote=1.5)),
                         "- threads, larson, remote free: P99.9 is 102 ns above the floor's, jemalloc's 57.0; the goal is "
                         "the lowest of all\n"
                         "- pipeline, remote free: P99.9 is 102 ns above the floor's, jemalloc's 57.0; the goal is the "
                         "lowest of all\n"
                         "- threads, larson, remote free, blocks of 64: P50 60.0 ns, a local free's 29.0; the goal is at "
                         "most 1.5 times that\n"
                         "- pipeline, remote free, blocks of 64: P50 60.0 ns, a local free's 29.0; the goal is at most 1.5 "
                         "times that\n")
        self.assertEqual(len(self.of("percore goals", percore(tail=1.2)).splitlines()), 2)

    def test_keeps_numbers_of_threads_apart_and_its_goals_are_of_two(self):
        run = with_four_threads(PERCORE, flatline_percore=3)
        text = self.of("percore", run)
        self.assertIn("two threads where no number is named, on ", text)
        self.assertIn("| threads, larson, Mops/s |  | 111 | 200 | 50.0 | 100 | 1.11 (1.11 to 1.11) of jemalloc |",
                      rows_of(text))
        self.assertIn("| threads, larson, 4 threads, Mops/s |  | 37.0 | 200 | 50.0 | 100 | 0.37 (0.37 to 0.37) of jemalloc |",
                      rows_of(text))
        self.assertEqual(self.table("percore goals", "docs/percore.md"), "- none\n")
        self.assertIn("two threads, on ", self.of("percore"))

    def test_tells_void_cells_and_counts_them_as_missed(self):
        self.assertIn("| threads, larson, Mops/s |  | 111 | 200 | 50.0 | 100 | void |", self.of("percore", percore(void=True)))
        self.assertIn("- threads, larson: void of the best; the goal is at least 0.95\n",
                      self.of("percore goals", percore(void=True)))

    def test_of_other_suites_is_refused(self):
        refused = self.collect(QUICK, percore=(QUICK,))
        self.assertEqual(refused.returncode, 1)
        self.assertIn("--percore: name what", refused.stderr)


class Machines(Manual):
    def test_are_named_by_every_table(self):
        self.write(QUICK, engine=(ENGINE,))
        for page in PAGES:
            text = (self.root / page).read_text()
            tables = [part.split("<!-- /results -->")[0] for part in text.split("<!-- results ")[1:]]
            self.assertTrue(tables)
            for table in tables:
                self.assertIn(MACHINE, table)

    def test_are_not_mixed_in_a_table_but_named_by_each_row_of_runs(self):
        elsewhere = copy.deepcopy(QUICK)
        elsewhere["environment"]["processor"] = "another"
        self.assertEqual(self.collect(QUICK, elsewhere).returncode, 0)
        refused = self.run_script("write")
        self.assertEqual(refused.returncode, 1)
        self.assertIn("would mix a processor, 2 processors and another, 2 processors", refused.stderr)
        (self.root / "README.md").write_text("<!-- results machine -->\n<!-- /results -->\n")
        for page in PAGES:
            if page != "README.md":
                (self.root / page).write_text("")
        self.assertEqual(self.run_script("write").returncode, 0)
        self.assertIn("| `--quick` | a processor, 2 processors and another, 2 processors | 2 |", self.page("README.md"))


class Check(Manual):
    def test_passes_what_was_written_and_sees_a_digit_that_was_changed(self):
        self.write(QUICK)
        self.assertEqual(self.run_script("check").returncode, 0)
        for page, old, new in (("README.md", "| 5.00 |", "| 4.00 |"), ("docs/pool.md", "fifo", "FIFO"),
                               ("docs/results.md", "1.2", "1.3"), ("docs/choosing.md", "jemalloc", "glibc")):
            text = (self.root / page).read_text()
            (self.root / page).write_text(text.replace(old, new, 1))
            done = self.run_script("check")
            self.assertEqual(done.returncode, 1)
            self.assertIn(page + " does not match docs/results.json", done.stderr)
            (self.root / page).write_text(text)

    def test_sees_that_the_results_were_changed(self):
        self.write(QUICK)
        kept = self.root / "docs/results.json"
        kept.write_text(kept.read_text().replace("[5,", "[5.5,", 1))
        self.assertEqual(self.run_script("check").returncode, 1)


class Refusals(Manual):
    def assert_refused(self, done, message):
        self.assertEqual(done.returncode, 1)
        self.assertIn(message, done.stderr)
        self.assertTrue(done.stderr.startswith("results: "), done.stderr)

    def test_lose_nothing(self):
        for page, text, message in (
                ("README.md", "<!-- results medians -->\nno end\n", "README.md: the mark <!-- results medians"),
                ("docs/pool.md", "<!-- results nothing -->\n<!-- /results -->\n", "there is no table nothing")):
            self.write(QUICK)
            (self.root / page).write_text(text)
            self.assert_refused(self.run_script("write"), message)
            self.assertEqual((self.root / page).read_text(), text)
            (self.root / page).write_text(PAGES[page])

    def test_collect_only_what_belongs_together(self):
        self.assert_refused(self.collect(QUICK, {**QUICK, "schema": "other/1"}),
                            "quick-1.json is not a flatline.bench/1 file")
        self.assert_refused(self.collect(QUICK, {**QUICK, "cells": QUICK["cells"][:7]}), "do not have the same cells")
        self.assert_refused(self.collect(QUICK, programs=[PROGRAMS, QUICK]), "programs-1.json has no programs")
        self.assert_refused(self.collect(QUICK, containers=[QUICK]), "name what `flatline bench containers` wrote")
        self.assert_refused(self.run_script("check"), "results.json cannot be read")
        quick = self.root / "quick.json"
        quick.write_text(written(QUICK))
        self.assertEqual(self.run_script("collect", "--quick", str(quick)).returncode, 0)
        self.assert_refused(self.run_script("check"), "no runs of containers, anysize, percore, full, programs")
        quick.write_text(json.dumps(QUICK))
        self.assert_refused(self.run_script("collect", "--quick", str(quick)), "quick.json has no ratios")
        (self.root / "docs/results.json").write_text("{}")
        self.assert_refused(self.run_script("write"), "is not a flatline.results/1 file")


if __name__ == "__main__":
    unittest.main()
