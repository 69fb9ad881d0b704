#!/usr/bin/env python3
"""What the manual says of the engine: every goal, losses and void ones included.

    results_engine_test.py SCRIPT
"""
import unittest

from results_manual import Manual, rows_of
from results_runs import ENGINE, QUICK, engine

import results_engine  # beside SCRIPT


class Engine(Manual):
    def of(self, name, *runs):
        self.write(QUICK, engine=runs)
        return self.table(name, "docs/engine.md")

    def test_says_so_if_there_is_no_run(self):
        for name in ("engine", "engine ratios", "engine tails", "engine overload", "engine goals"):
            self.assertEqual(self.of(name), "Not measured yet: no run of `flatline bench engine` is recorded.\n")

    def test_stands_beside_the_floor_and_the_best_general_queue(self):
        text = self.of("engine", ENGINE, engine(1.2), engine(1.5))
        self.assertIn("Medians over 3 runs of `flatline bench engine`, all kept", text)
        self.assertEqual(rows_of(text), [
            "| busy 64 B | 120 | 132 | 90.0 |  | 200 | 250 | 600 | **95.0** | 105 | 120 | 1.33 (1.11 to 1.67) | "
            "0.60 (0.50 to 0.75) |",
            "| saturated 64 B, Mtasks/s | 8.33 | 7.58 | 11.1 |  | 5.00 | 4.00 | 1.67 | **10.5** | 9.52 | 8.33 | "
            "0.75 (0.60 to 0.90) | 1.67 (1.33 to 2.00) |",
            "| sleeping 64 B | **24,000** |  |  | 20,000 |  |  |  |  |  |  | 1.20 (1.00 to 1.50) |  |",
            "| overload 256 B | 120 | 132 | 90.0 |  | 200 | 250 | 600 | **95.0** | 105 | 120 | 1.33 (1.11 to 1.67) | "
            "0.60 (0.50 to 0.75) |"])
        self.assertEqual(rows_of(self.of("engine ratios", ENGINE, engine(1.2), engine(1.5))), [
            "| busy 64 B | 1.33 (1.11 to 1.67) | 0.60 (0.50 to 0.75) |",
            "| saturated 64 B, Mtasks/s | 0.75 (0.60 to 0.90) | 1.67 (1.33 to 2.00) |",
            "| sleeping 64 B | 1.20 (1.00 to 1.50) |  |"])
        tails = self.of("engine tails", ENGINE, engine(1.2), engine(1.5))
        self.assertEqual([row.split(" | ")[0] for row in rows_of(tails)],
                         ["| busy 64 B", "| sleeping 64 B", "| overload 256 B"])

    def test_tells_what_an_overload_counted(self):
        line = rows_of(self.of("engine overload", ENGINE, engine(refused_early=16, bytes_grown=8192)))[0]
        self.assertEqual(line, "| overload 256 B, engine | 400 | 99.0 | 50.0 | 16 | 8 | 0.30 | 30.0 | 0.60 | 0 | 0.30 | "
                         "0.03 |")

    def test_tells_every_goal_that_is_missed_and_no_other(self):
        self.assertEqual(self.of("engine goals", ENGINE), "- none\n")
        slower = self.of("engine goals", engine(1.3))
        self.assertIn("- busy 64 B, P50: the engine at 1.44 (1.44 to 1.44) of bare ring; the goal is at most 1.25; its "
                      "two copies are at 0.99 (0.99 to 0.99) of each other\n", slower)
        self.assertIn("- sleeping 64 B, P50: the engine at 1.30 (1.30 to 1.30) of bare futex; the goal is at most 1.10\n",
                      slower)
        self.assertNotIn("saturated", slower)
        self.assertIn("- saturated 64 B, Mtasks/s, P50: the engine at 0.95 (0.95 to 0.95) of the best general queue; "
                      "the goal is at least 1.00; its two copies are at 1.01 (1.01 to 1.01) of each other\n",
                      self.of("engine goals", engine(2.1)))
        self.assertIn("- busy 64 B, P99.9: the engine at 1.57 (1.57 to 1.57) of mutex; the goal is at most 1.05, and the "
                      "interval of the median ends at 1.57; its two copies are at 1.00 (1.00 to 1.00) of each other\n",
                      self.of("engine goals", engine(2.1)))
        for count, part in (({"bytes_grown": 4096}, "grows by 4096 bytes"), ({"above_the_bound": 3}, "3 tasks are above"),
                            ({"refused_early": 16}, "16 tasks are refused before"),
                            ({"done_a_second": 360000}, "0.900 of the capacity is done"),
                            ({"tagged": 100}, "1.00 % of tasks are tagged"),
                            ({"bound_ns": 1000}, "the bound is 3.33 of the P99.9")):
            goals = self.of("engine goals", engine(**count))
            self.assertIn("overload 256 B, engine: ", goals)
            self.assertIn(part, goals)

    def test_a_tail_is_judged_by_the_upper_end_of_the_interval_of_its_median(self):
        for count, end in ((1, 1), (5, 5), (6, 6), (8, 8), (9, 8), (10, 9), (11, 10), (12, 10), (20, 15)):
            self.assertEqual(results_engine.upper_end(list(range(count, 0, -1))), end, count)
        tails = self.of("engine goals", *[engine()] * 5, engine(2.1))
        self.assertIn("- busy 64 B, P99.9: the engine at 0.75 (0.75 to 1.57) of mutex; the goal is at most 1.05, and the "
                      "interval of the median ends at 1.57; its two copies are at 1.00 (1.00 to 1.00) of each other\n", tails)
        self.assertNotIn("P50", tails)

    def test_void_cells_have_no_ratio(self):
        self.assertIn("- busy 64 B: void in every run\n", self.of("engine goals", engine(void=True)))
        self.assertTrue(rows_of(self.of("engine", engine(void=True)))[0].startswith("| busy 64 B (void) | 100 |"))

    def test_other_suites_are_refused(self):
        refused = self.collect(QUICK, engine=(QUICK,))
        self.assertEqual(refused.returncode, 1)
        self.assertIn("--engine: ", refused.stderr)


if __name__ == "__main__":
    unittest.main()
