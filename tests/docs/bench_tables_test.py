#!/usr/bin/env python3
"""Holds scripts/bench-tables to telling every cell of medians, losses and void ones included.

    bench_tables_test.py SCRIPT
"""
import copy
import json
import os
import subprocess
import sys
import tempfile
import unittest

SCRIPT = os.path.abspath(sys.argv.pop())

BACKENDS = [("flatline-pool", "subject"), ("flatline-pool-again", "again"), ("floor", "control"), ("list", "unchecked"),
            ("glibc", "general"), ("jemalloc", "general"), ("boost-pool", "fixed-pool")]
PAGE = "before\n<!-- table -->\nyesterday\n<!-- /table -->\nafter\n"


def cells(suite, size, p50s, unit="ns", calls=32, operation="pair", order="", void=False, samples=100000):
    return [{"suite": suite, "size": size, "backend": name, "p50": p50, "p999": 3 * p50, "unit": unit,
             "calls_per_sample": calls, "operation": operation, "order": order, "void": void, "samples": samples}
            for (name, _), p50 in zip(BACKENDS, p50s)]


BENCH = {
    "schema": "flatline.bench/1", "rounds": 4,
    "environment": {"processor": "a processor", "logical_cpus": 2, "kernel": "a kernel", "compiler": "a compiler"},
    "backends": [{"name": name, "kind": kind} for name, kind in BACKENDS],
    "cells": cells("hot", 64, [5, 5.1, 2, 3, 6, 8, 4]) + cells("hot", 64, [30, 30, 20, 25, 31, 32, 33], calls=1)
    + cells("fifo", 1024, [6, 6, 2, 3, 5, 9, 7]) + cells("mixed", 0, [50, 60, 2, 3, 70, 80, 90], void=True)
    + cells("order", 64, [2, 2, 1, 1, 4, 5, 3], calls=200000, operation="free", order="lifo", samples=40)
    + cells("throughput", 16, [300, 301, 700, 600, 200, 150, 290], unit="Mops/s", calls=100000),
}


def changed(**changes):
    """BENCH with other figures: pool(suite) -> factor on the pool's, void(suite) -> whether the cell is void."""
    bench = copy.deepcopy(BENCH)
    for cell in bench["cells"]:
        cell["void"] = changes.get("void", {}).get(cell["suite"], cell["void"])
        if cell["backend"] == "flatline-pool":
            cell["p50"] *= changes.get("pool", {}).get(cell["suite"], 1)
    return bench


def run(benches, readme=PAGE, pool=PAGE):
    with tempfile.TemporaryDirectory() as folder:
        names = [os.path.join(folder, "%d.json" % i) for i in range(len(benches))] + [
            os.path.join(folder, "README.md"), os.path.join(folder, "pool.md")]
        for name, text in zip(names, [json.dumps(bench) for bench in benches] + [readme, pool]):
            with open(name, "w") as file:
                file.write(text)
        done = subprocess.run([sys.executable, SCRIPT, *names[:-2], "--readme", names[-2], "--pool", names[-1]],
                              text=True, capture_output=True)
        texts = []
        for name in names[-2:]:
            with open(name) as file:
                texts.append(file.read())
        return done, *texts


def rows_of(text):
    return [line for line in text.splitlines() if line.startswith("| ")][1:]  # without the head


class OneRun(unittest.TestCase):
    def setUp(self):
        self.done, self.readme, self.pool = run([BENCH])

    def test_keeps_what_stands_around_the_tables(self):
        self.assertEqual(self.done.returncode, 0, self.done.stderr)
        for text in (self.readme, self.pool):
            self.assertTrue(text.startswith("before\n<!-- table -->\n"))
            self.assertTrue(text.endswith("<!-- /table -->\nafter\n"))
            self.assertNotIn("yesterday", text)

    def test_has_a_row_of_medians_for_each_cell(self):
        self.assertEqual(rows_of(self.readme), [
            "| hot 64 B | 5.00 | 2.00 | 3.00 | 6.00 | 8.00 | **4.00** | 0.83 |",
            "| fifo 1 KiB | 6.00 | 2.00 | 3.00 | **5.00** | 9.00 | 7.00 | 1.20 |",
            "| mixed 7 sizes | **50.0** | 2.00 | 3.00 | 70.0 | 80.0 | 90.0 | void |",
            "| order, lifo free | **2.00** | 1.00 | 1.00 | 4.00 | 5.00 | 3.00 | 0.50 |",
            "| throughput 16 B, Mops/s | **300** | 700 | 600 | 200 | 150 | 290 | 1.50 |",
        ])


class ManyRuns(unittest.TestCase):
    def test_tells_the_median_ratio_and_its_range(self):
        slower = changed(pool={"hot": 1.2, "throughput": 0.5}, void={"fifo": True})
        fastest = changed(pool={"hot": 0.6}, void={"fifo": True})
        done, readme, pool = run([slower, BENCH, fastest])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("| hot 64 B | 5.00 | 2.00 | 3.00 | 6.00 | 8.00 | **4.00** | 0.83 |", readme)
        self.assertIn("| fifo 1 KiB | 6.00 | 2.00 | 3.00 | **5.00** | 9.00 | 7.00 | 1.20 |", readme)
        self.assertIn("3 runs of", pool)
        self.assertEqual(rows_of(pool), [
            "| hot 64 B | 3 | 0.83 | 0.50 to 1.00 | 0.83 | glibc | 1.67 |",
            "| fifo 1 KiB | 1 | 1.20 | 1.20 to 1.20 | 1.20 | glibc | 2.00 |",
            "| mixed 7 sizes | 0 | void | | | | |",
            "| order, lifo free | 3 | 0.50 | 0.50 to 0.50 |  | glibc | 2.00 |",
            "| throughput 16 B, Mops/s | 3 | 1.50 | 0.75 to 1.50 |  | glibc | 0.50 |",
        ])


class Refusals(unittest.TestCase):
    def test_lose_nothing(self):
        fewer = {**BENCH, "cells": BENCH["cells"][:7]}
        for benches, readme, pool, message in (
                ([BENCH], "no marks\n", PAGE, "README.md needs the marks"),
                ([BENCH], PAGE, "no marks\n", "pool.md needs the marks"),
                ([BENCH, {**BENCH, "schema": "other/1"}], PAGE, PAGE, "1.json is not a flatline.bench/1 file"),
                ([BENCH, fewer], PAGE, PAGE, "the runs do not have the same cells")):
            done, readme_after, pool_after = run(benches, readme, pool)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(message, done.stderr)
            self.assertEqual((readme_after, pool_after), (readme, pool))


if __name__ == "__main__":
    unittest.main()
