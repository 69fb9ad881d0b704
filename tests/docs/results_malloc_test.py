#!/usr/bin/env python3
"""What the manual says of the malloc and its policies.

    results_malloc_test.py SCRIPT
"""
import unittest

from results_manual import Manual, rows_of
from results_runs import (FULL, INTERVAL, MALLOC, OTHER_SUITES, PERCORE, PROGRAMS, PROGRAM_ROW, QUICK, bench, malloc,
                          with_four_threads, with_policies)


class Malloc(Manual):
    def of(self, name, *runs, programs=(PROGRAMS,)):
        self.write(QUICK, malloc=runs or (MALLOC,), programs=programs)
        return self.table(name, "docs/malloc.md")

    def test_stands_beside_the_best_other_with_the_least_and_the_greatest_run(self):
        text = self.of("malloc", MALLOC, malloc(1.2), malloc(1.5))
        self.assertIn("Medians over 3 runs of `flatline bench hot fifo churn mixed anysize`, all kept, 4 processes", text)
        ratios = " | ".join(["1.03 (0.86 to 1.29) of snmalloc"] * 3)
        self.assertEqual(rows_of(text), [
            "| hot 64 B | 7.20 | 7.20 | 7.20 | 3.00 | 9.00 | 7.00 | %s |" % ratios,
            "| anysize, pareto | 7.20 | 7.20 | 7.20 | 3.00 | 9.00 | 7.00 | %s |" % ratios])
        self.assertEqual(rows_of(self.table("malloc tails", "docs/malloc.md")), [
            "| hot 64 B | 21.6 | 21.6 | 21.6 | 9.00 | 27.0 | 21.0 | %s |" % ratios])
        self.assertEqual(rows_of(self.table("malloc stalls", "docs/malloc.md")),
                         ["| hot 64 B, alloc | 6 | 6 | 6 | 26 | 26 |"])

    def test_tells_every_goal_that_is_missed_and_no_other(self):
        self.assertEqual(self.of("malloc goals"), "- none\n")
        for run, told in ((malloc(1.3), "hot 64 B, P50: 1.11 (1.11 to 1.11) of snmalloc; the goal is at most 1.10"),
                          (malloc(1.3), "anysize, pareto, P50: 1.11"),
                          (malloc(tail=1.2), "hot 64 B, P99.9: 1.03 (1.03 to 1.03) of snmalloc; the goal is at most 1.00"),
                          (malloc(stalls=31), "hot 64 B, alloc, over 1 µs: 27 of a million above the floor with `latency`, "
                                              "26 with glibc, which has fewer in 1 runs of 1; the goal is that no other "
                                              "malloc has fewer\n")):
            self.assertIn("- " + told, self.of("malloc goals", run))

    def test_has_one_best_other_for_all_runs(self):
        self.assertIn("| 0.86 (0.86 to 0.86) of snmalloc |", self.of("malloc", MALLOC, MALLOC, malloc(luck=0.1)))
        self.assertIn("| 6.67 (0.67 to 6.67) of glibc |", self.of("malloc", MALLOC, malloc(luck=0.1), malloc(luck=0.1)))

    def test_tells_of_more_stalls_than_another_only_where_nine_runs_of_ten_have_them(self):
        self.assertEqual(self.of("malloc goals", *[malloc(stalls=31)] * 8, MALLOC, MALLOC), "- none\n")
        self.assertIn("which has fewer in 9 runs of 10", self.of("malloc goals", *[malloc(stalls=31)] * 9, MALLOC))

    def test_tells_the_goals_of_the_programs_that_are_missed(self):
        def programs(user, peak, wall=1.0):
            rows = [PROGRAM_ROW] + [dict(PROGRAM_ROW, backend="flatline-malloc" + policy, frontier=False,
                                         wall_s={"median": 2.5 * wall, "low": 2.4 * wall, "high": 2.6 * wall},
                                         user_s=INTERVAL | {"median": 2 * user},
                                         peak_rss_kib={"median": 2048 * peak, "low": 2047 * peak, "high": 2049 * peak})
                                    for policy in ("", "-memory", "-latency")]
            rows[0] = dict(rows[0], peak_rss_kib={"median": 2048, "low": 2047, "high": 2049})
            names = ["p%d" % i for i in range(8)]
            return bench([], [dict(PROGRAMS["programs"][0], name=name, rows=rows) for name in names])

        self.assertIn("- `flatline-malloc`: not measured yet\n", self.of("malloc program goals"))
        self.assertEqual(self.of("malloc programs"), "- not measured yet\n")
        self.assertEqual(rows_of(self.of("malloc programs", programs=[programs(0.9, 1.5, wall=1.2)])), [
            "| **flatline-malloc** | 1.20 | 0.90 | 1.50 |", "| **flatline-malloc-latency** | 1.20 | 0.90 | 1.50 |",
            "| **flatline-malloc-memory** | 1.20 | 0.90 | 1.50 |", "| glibc | 1.00 | 1.00 | 1.00 |"])
        self.assertEqual(self.of("malloc program goals", programs=[programs(1, 1)]), "- none\n")
        self.assertEqual(self.of("malloc program goals", programs=[programs(1.05, 1.15, wall=1.2)]),
                         "- `flatline-malloc`, user time: 1.050 of glibc in the geometric mean of all programs; the goal is "
                         "at most 1.03\n"
                         "- `flatline-malloc`, peak memory: 1.150 of glibc in the geometric mean of all programs; the "
                         "goal is at most 1.10\n"
                         + "".join("- `flatline-malloc` with p%d: glibc faster and smaller; the goal is that none is\n" % i
                                   for i in range(8))
                         + "- `flatline-malloc` is on the frontier in 0 programs; the goal is 6\n"
                         "- `flatline-malloc-memory`, peak memory: 1.150 of glibc in the geometric mean of all programs; "
                         "the goal is at most 1.00\n"
                         "- `flatline-malloc-latency`, user time: 1.050 of glibc in the geometric mean of all programs; the "
                         "goal is at most 1.02\n")
        self.assertIn("- `flatline-malloc` with p7: glibc faster and smaller; the goal is that none is\n",
                      self.of("malloc program goals", programs=[programs(1, 1.01, wall=1.2)]))
        self.assertEqual(self.of("malloc program goals", programs=[programs(1, 1.0001, wall=1.01)]).splitlines()[0],
                         "- `flatline-malloc` with p0: glibc faster and smaller; by medians, not beyond the least and the "
                         "greatest process")

    def test_of_other_suites_or_without_a_policy_is_refused(self):
        for run in (FULL, malloc(alone=True)):
            refused = self.collect(QUICK, malloc=(run,))
            self.assertEqual(refused.returncode, 1)
            self.assertIn("--malloc: ", refused.stderr)


class Policies(Manual):
    """The malloc in every suite."""

    def of(self, name, *runs, full=FULL, percore=PERCORE, others=()):
        self.write(QUICK, malloc=runs or (MALLOC,), malloc_others=others, full=full, percore=(percore,))
        return self.table(name)

    def test_stand_in_every_suite_that_was_measured(self):
        self.assertEqual(rows_of(self.of("malloc suites")), [
            "| hot 64 B | 6.00 | 6.00 | 6.00 | 7.00 | snmalloc | 0.86 | 0.86 | 0.86 |",
            "| anysize, pareto | 6.00 | 6.00 | 6.00 | 7.00 | snmalloc | 0.86 | 0.86 | 0.86 |"])
        full, percore = with_policies(FULL, latency=1.5), with_policies(PERCORE, memory=2)
        rows = rows_of(self.of("malloc suites", MALLOC, malloc(1.5), full=full, percore=percore))
        for row in ("| hot 64 B | 7.50 | 7.50 | 7.50 | 7.00 | snmalloc | 1.07 (0.86 to 1.29) |",
                    "| threads 64 B, larson, Mops/s | 50.0 | 50.0 | 25.0 | 100 | jemalloc | 0.50 | 0.50 | 0.25 |",
                    "| order, lifo free | 4.00 | 6.00 | 4.00 | 4.00 | glibc | 1.00 | 1.50 | 1.00 |",
                    "| throughput 16 B, Mops/s | 200 | 133 | 200 | 200 | glibc | 1.00 | 0.67 | 1.00 |",
                    "| drift 64 B, P50 | 6.00 | 9.00 | 6.00 | 6.00 | glibc | 1.00 | 1.50 | 1.00 |"):
            self.assertTrue(any(each.startswith(row) for each in rows), "%s\n%s" % (row, "\n".join(rows)))
        self.assertFalse(any("hot 64 B, alloc" in row for row in rows))  # of single calls the tail counts

    def test_come_from_runs_of_their_own_before_the_full_one(self):
        without = dict(FULL, cells=[cell for cell in FULL["cells"] if cell["suite"] in OTHER_SUITES])
        others = [with_policies(without, latency=factor) for factor in (1.5, 2.5)]
        rows = rows_of(self.of("malloc suites", full=with_policies(FULL, latency=3), others=others))
        for row in ("| drift 64 B, P50 | 6.00 | 12.0 | 6.00 | 6.00 | glibc | 1.00 (1.00 to 1.00) | 2.00 (1.50 to 2.50) |",
                    "| fifo 1 KiB | 5.00 | 15.0 | 5.00 | 5.00 | glibc | 1.00 | 3.00 | 1.00 |"):
            self.assertTrue(any(each.startswith(row) for each in rows), "%s\n%s" % (row, "\n".join(rows)))
        self.assertIn("| the malloc in others | a processor, 2 processors | 2 |", self.table("machine"))
        for run, said in ((with_policies(FULL), "wrote, and no other"), (without, "a run must have")):
            refused = self.collect(QUICK, malloc_others=(run,))
            self.assertEqual(refused.returncode, 1)
            self.assertRegex(refused.stderr, "--malloc-others: .*" + said)

    def test_hide_no_loss_and_tell_the_worst_of_each_suite(self):
        self.assertEqual(self.of("malloc losses"), "- none\n")
        self.assertEqual(self.table("malloc worst"), "- none\n")
        full = with_policies(FULL, latency=1.5, memory=1.2)
        losses = self.of("malloc losses", full=full)
        self.assertIn("- fifo 1 KiB: `latency` 1.50, `memory` 1.20 of glibc\n", losses)
        self.assertIn("- throughput 16 B, Mops/s: `latency` 0.67, `memory` 0.83 of glibc\n", losses)
        self.assertIn("- startup 64 B, total: void in every run\n", losses)
        self.assertNotIn("- hot", losses)
        worst = self.table("malloc worst").splitlines()
        self.assertEqual(len(worst), 4)  # void suites have no line, and hot and anysize are won
        for line in ("- fifo 1 KiB: `latency` 1.50 of glibc", "- order, lifo free: `latency` 1.50 of glibc",
                     "- throughput 16 B, Mops/s: `latency` 0.67 of glibc"):
            self.assertIn(line, worst)

    def test_lose_a_tail_by_more_than_a_step_of_the_clock(self):
        self.assertEqual(self.of("malloc lost tails", malloc(tail=1.5)), "- none\n")  # 27 and 21 ns, by steps of 10
        self.assertEqual(self.of("malloc lost tails", malloc(tail=3)),
                         "- hot 64 B, alloc, P99.9: `balanced` 2.57, `latency` 2.57, `memory` 2.57 of snmalloc\n")

    def test_keep_numbers_of_threads_apart(self):
        percore = with_four_threads(with_policies(PERCORE), flatline_malloc=4)
        losses = self.of("malloc losses", percore=percore)
        self.assertIn("- threads 64 B, larson, Mops/s: `balanced` 0.50, `latency` 0.50, `memory` 0.50 of jemalloc\n", losses)
        self.assertIn("- threads 64 B, larson, 4 threads, Mops/s: `balanced` 0.12, `latency` 0.50, `memory` 0.50 of "
                      "jemalloc\n", losses)

    def test_tables_of_threads_are_from_the_runs_of_those(self):
        four = with_four_threads(PERCORE)
        for cell in four["cells"]:
            cell["peak_bytes"] *= cell.get("threads", 1)
        self.assertEqual(rows_of(self.of("threads memory", percore=four))[2::2], [
            "| threads 64 B, larson |  | 1,024 | 1,024 | **512** | 1,024 |",
            "| threads 64 B, independent, 4 threads | 4,096 | 4,096 | 4,096 | **2,048** | 4,096 |",
            "| threads 64 B, larson, 4 threads |  | 4,096 | 4,096 | **2,048** | 4,096 |"])
        self.assertIn("| threads 64 B, larson, remote free, blocks of 64 |  | **40.0** | 26.0 | 60.0 | 45.0 |",
                      self.table("threads"))
        self.assertNotIn("larson, remote free |", self.table("threads"))  # of single calls the tail counts
        self.assertIn("| threads 64 B, larson, remote free |  | **120** | 78.0 | 180 | 135 |", self.table("threads tails"))
        self.assertIn("| pipeline 64 B, local free, blocks of 64 |", self.table("pipeline"))


if __name__ == "__main__":
    unittest.main()
