#!/usr/bin/env python3
"""Holds scripts/readme-table to telling every cell of medians, losses and void ones included.

    readme_table_test.py SCRIPT
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

SCRIPT = os.path.abspath(sys.argv.pop())

BACKENDS = [("flatline-pool", "subject"), ("flatline-pool-again", "again"), ("floor", "control"), ("list", "unchecked"),
            ("glibc", "general"), ("jemalloc", "general"), ("boost-pool", "fixed-pool")]


def cells(suite, size, p50s, unit="ns", calls=32, operation="pair", order="", void=False):
    return [{"suite": suite, "size": size, "backend": name, "p50": p50, "unit": unit, "calls_per_sample": calls,
             "operation": operation, "order": order, "void": void} for (name, _), p50 in zip(BACKENDS, p50s)]


BENCH = {
    "schema": "flatline.bench/1", "rounds": 4,
    "environment": {"processor": "a processor", "logical_cpus": 2, "kernel": "a kernel", "compiler": "a compiler"},
    "backends": [{"name": name, "kind": kind} for name, kind in BACKENDS],
    "cells": cells("hot", 64, [5, 5.1, 2, 3, 6, 8, 4]) + cells("hot", 64, [30, 30, 20, 25, 31, 32, 33], calls=1)
    + cells("fifo", 1024, [6, 6, 2, 3, 5, 9, 7]) + cells("mixed", 0, [50, 60, 2, 3, 70, 80, 90], void=True)
    + cells("order", 64, [2, 2, 1, 1, 4, 5, 3], calls=200000, operation="free", order="lifo")
    + cells("throughput", 16, [300, 301, 700, 600, 200, 150, 290], unit="Mops/s", calls=100000),
}


def run(bench, readme):
    with tempfile.TemporaryDirectory() as folder:
        json_file, readme_file = os.path.join(folder, "bench.json"), os.path.join(folder, "README.md")
        with open(json_file, "w") as file:
            json.dump(bench, file)
        with open(readme_file, "w") as file:
            file.write(readme)
        done = subprocess.run([sys.executable, SCRIPT, json_file, readme_file], text=True, capture_output=True)
        with open(readme_file) as file:
            return done, file.read()


class ReadmeTable(unittest.TestCase):
    def setUp(self):
        self.done, self.text = run(BENCH, "before\n<!-- table -->\nyesterday\n<!-- /table -->\nafter\n")
        self.rows = [line for line in self.text.splitlines() if line.startswith("| ")][1:]  # without the head

    def test_keeps_what_stands_around_the_table(self):
        self.assertEqual(self.done.returncode, 0, self.done.stderr)
        self.assertTrue(self.text.startswith("before\n<!-- table -->\n"))
        self.assertTrue(self.text.endswith("<!-- /table -->\nafter\n"))
        self.assertNotIn("yesterday", self.text)

    def test_has_a_row_for_each_cell_of_medians(self):
        self.assertEqual(self.rows, [
            "| hot 64 B | 5.00 | 2.00 | 3.00 | 6.00 | 8.00 | **4.00** | 0.83 |",
            "| fifo 1 KiB | 6.00 | 2.00 | 3.00 | **5.00** | 9.00 | 7.00 | 1.20 |",
            "| mixed 7 sizes | 50.0 | 2.00 | 3.00 | 70.0 | 80.0 | 90.0 | void |",
            "| order, lifo free | **2.00** | 1.00 | 1.00 | 4.00 | 5.00 | 3.00 | 0.50 |",
            "| throughput 16 B, Mops/s | **300** | 700 | 600 | 200 | 150 | 290 | 1.50 |",
        ])

    def test_refuses_what_it_cannot_use_and_loses_nothing(self):
        for bench, readme in ((BENCH, "no marks\n"), ({**BENCH, "schema": "other/1"}, self.text)):
            done, after = run(bench, readme)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("readme-table: needs", done.stderr)
            self.assertEqual(after, readme)


if __name__ == "__main__":
    unittest.main()
