#!/usr/bin/env python3
"""What the manual says of policies of dispatch: each of them in each workload, and every goal that is missed.

    results_dispatch_test.py SCRIPT
"""
import json
import unittest

from results_manual import MACHINE, Manual, rows_of
from results_runs import DISPATCH, QUICK, SIMULATION, dispatch, simulation

SIMULATED = ("dispatch gates", "dispatch standing", "dispatch held out", "dispatch regret", "dispatch ratios",
             "dispatch ablations", "dispatch training", "dispatch training ratios", "dispatch switchback",
             "dispatch goals")
LIVE = ("dispatch live", "dispatch pairs", "dispatch choices", "dispatch live goals")


class Dispatch(Manual):
    def setUp(self):
        super().setUp()
        (self.root / "docs/dispatch.md").write_text(
            "".join("<!-- results %s -->\n<!-- /results -->\n" % name for name in SIMULATED + LIVE))
        self.write(QUICK)

    def add(self, kind, run):
        file = self.root / "run.json"
        file.write_text(json.dumps(run))
        return self.run_script("collect", "--" + kind, str(file))

    def of(self, name, run):
        kind = "simulation" if name in SIMULATED else "dispatch"
        self.assertEqual(self.add(kind, run).returncode, 0)
        done = self.run_script("write")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return self.table(name, "docs/dispatch.md")

    def test_says_so_if_there_is_no_run(self):
        for name in SIMULATED:
            self.assertEqual(self.table(name, "docs/dispatch.md"),
                             "Not simulated yet: no run of `flatline simulate --all` is recorded.\n")
        for name in LIVE:
            self.assertEqual(self.table(name, "docs/dispatch.md"),
                             "Not measured yet: no run of `flatline bench dispatch` is recorded.\n")

    def test_tells_each_law(self):
        text = self.of("dispatch gates", SIMULATION)
        self.assertTrue(text.startswith("1 of 1 laws hold, with seed 1.\n"))
        self.assertEqual(rows_of(text), ["| a law | 2 | 2.002 | +0.10 % | 0.20 % |"])

    def test_tells_where_the_predictive_policy_stands(self):
        best = self.of("dispatch standing", SIMULATION)
        self.assertEqual(best, "The predictive policy has the lowest P99.9 of all that can be built in 3 of the 3 workloads "
                         "that are held out, and nowhere refuses as much as 0.005 % of the tasks more than another one. Of "
                         "the others shortest queue is the best in its worst case, and is 14.3 % behind there "
                         "(exponential).\n")
        behind = self.of("dispatch standing", simulation({("stale reports", "predictive"): 1.2},
                                                         {("exponential", "predictive"): 0.01}))
        self.assertIn("in 2 of the 3 workloads that are held out. It is behind in stale reports (5.0 %, shortest queue). It "
                      "refuses more tasks than another one in exponential (1.0 %). Of", behind)
        everywhere = self.of("dispatch standing", simulation(
            {(workload, "predictive"): 1.14288 for workload in ("exponential", "different cores", "stale reports")}))
        self.assertIn("It is behind in exponential (less than 0.1 %, shortest queue), different cores (less than 0.1 %, "
                      "shortest queue) and stale reports (less than 0.1 %, shortest queue), and", everywhere)

    def test_tells_each_workload_with_what_is_refused(self):
        text = self.of("dispatch held out", simulation(refused={("stale reports", "Prequal"): 0.0123}))
        self.assertTrue(text.startswith("Parameters of drawing 7. P99.9 in mean service times: means over 4 seeds, of "
                                        "1,000,000 tasks each.\n"))
        self.assertEqual(rows_of(text), [
            "| exponential | 7.00 | 10.00 | 12.00 | 8.00 | 8.00, shortest queue |",
            "| different cores | 7.00 | 10.00 | 12.00 | 8.00 | 8.00, shortest queue |",
            "| stale reports | 7.00 | 10.00 | 12.00, 1.23 % refused | 8.00 | 8.00, shortest queue |"])
        training = self.of("dispatch training", SIMULATION)
        self.assertTrue(training.startswith("P99.9 in"))
        self.assertEqual(rows_of(training)[0], "| exponential | 14.00 | 20.00 | 24.00 | 16.00 | 16.00, shortest queue |")

    def test_tells_the_worst_case_of_each_policy_that_can_be_built(self):
        rows = rows_of(self.of("dispatch regret", simulation({("stale reports", "predictive"): 1.5},
                                                             {("exponential", "random"): 0.5})))
        self.assertEqual(rows, [
            "| shortest queue | 14.3 % | exponential | 0.00 % |", "| C3 | 28.6 % | exponential | 0.00 % |",
            "| predictive | 31.2 % | stale reports | 0.00 % |", "| two choices | 42.9 % | exponential | 0.00 % |",
            "| Prequal | 71.4 % | exponential | 0.00 % |", "| random | 186 % | exponential | 50.00 % |"])

    def test_ratios_are_of_the_same_seeds(self):
        run = simulation()
        self.assertEqual(rows_of(self.of("dispatch ratios", run))[0],
                         "| exponential | 0.700 (0.700 to 0.700) | 0.583 (0.583 to 0.583) | 0.875 (0.875 to 0.875) |")
        self.assertEqual(len(rows_of(self.of("dispatch training ratios", run))), 3)
        ours = next(cell for cell in run["cells"] if cell["policy"] == "predictive")
        ours["p999_by_seed"] = [7, 7, 7.7, 7.7]
        # The logarithms have a mean of -0.3140 and a deviation of 0.0553; t is 3.182 with 3 degrees of freedom.
        self.assertEqual(rows_of(self.of("dispatch ratios", run))[0].split(" | ")[1], "0.731 (0.669 to 0.798)")

    def test_tells_what_each_part_earns(self):
        rows = rows_of(self.of("dispatch ablations", simulation(refused={("exponential", "predictive - sends"): 0.25})))
        self.assertEqual(rows[:2], ["| exponential | +100, 25.00 % refused |", "| different cores | +100 |"])

    def test_tells_what_switchbacks_held(self):
        text = self.of("dispatch switchback", SIMULATION)
        self.assertTrue(text.startswith("Of 1,000 intervals 940 hold the truth, with a median half-width of 4.3 %.\n"))
        self.assertEqual(rows_of(text), ["| exponential, predictive | 512 | 300,000 | 25.0 % | 25.9 % | 89 of 100 | 4.3 % |"])

    def test_tells_every_goal_that_is_missed_and_no_other(self):
        self.assertEqual(self.of("dispatch goals", SIMULATION), "- none\n")
        for run, part in ((simulation(error=0.02), "- a law: 2.04, where the law has 2\n"),
                          (simulation({("exponential", "predictive"): 1.5}),
                           "- shortest queue has the lowest worst regret; the goal is that the default has it\n"
                           "- exponential: 31.2 % behind shortest queue, 1.312 (1.312 to 1.312) of its P99.9; the goal is "
                           "at most 5 %\n"),
                          (simulation({("stale reports", "two choices"): 0.85}),
                           "- stale reports: 0.824 (0.824 to 0.824) of the P99.9 of two choices; the goal is at most 0.80, "
                           "or half of their refusals\n"),
                          (simulation({("different cores", "Prequal"): 0.5}),
                           "- different cores: 1.167 (1.167 to 1.167) of the P99.9 of Prequal; the goal is at most 1.00\n"),
                          (simulation(covered=929), "- 929 of 1000 intervals of a switchback hold the truth; the goal is at "
                           "least 930\n")):
            self.assertIn(part, self.of("dispatch goals", run))
        unsure = simulation()
        ours = next(cell for cell in unsure["cells"] if cell["policy"] == "predictive")
        ours["p999_by_seed"] = [7, 7, 9, 9]
        self.assertEqual(self.of("dispatch goals", unsure),
                         "- exponential: not decided by 4 seeds: 0.987 (0.784 to 1.244) of the P99.9 of shortest queue; "
                         "the goal is at most 5 % behind\n")
        halved = simulation({("stale reports", "two choices"): 0.85},
                            {("stale reports", "two choices"): 0.02, ("stale reports", "predictive"): 0.01})
        self.assertEqual(self.of("dispatch goals", halved), "- none\n")
        wide = simulation()
        wide["switchback"]["median_half_width"] = 0.051
        self.assertEqual(self.of("dispatch goals", wide),
                         "- the median half-width of a switchback is 5.1 %; the goal is at most 5 %\n")

    def test_tells_live_runs_beside_the_simulated_ones(self):
        text = self.of("dispatch live", DISPATCH)
        self.assertIn("Of 4 pairs of policies 3 are apart both live and simulated, and 3 of these are in the same order. Of "
                      "3 that were named beforehand 3 are as named in both. 8 runs of 4,000 tasks", text)
        self.assertIn(MACHINE, (self.root / "docs/dispatch.md").read_text())
        self.assertEqual(rows_of(text), ["| slowed worker, two choices | 20.5 (20.0 to 21.0) | 20.0 (20.0 to 20.0) |",
                                         "| slowed worker, predictive | 11.5 (11.0 to 12.0) | 11.0 (11.0 to 11.0) |"])
        self.assertEqual(rows_of(self.of("dispatch pairs", DISPATCH))[:2], [
            "| slowed worker: predictive, two choices * | 1.80 (1.62 to 1.98) | 2.00 (1.90 to 2.10) | yes | yes |",
            "| slowed worker: C3, two choices | 1.00 (0.90 to 1.10) | 2.00 (1.90 to 2.10) | no |  |"])
        self.assertIn("among 64 workers", self.of("dispatch choices", DISPATCH))
        self.assertEqual(rows_of(self.of("dispatch choices", DISPATCH)),
                         ["| the clock alone | 20 | 30 |", "| predictive | 2,775 | 5,997 |"])

    def test_tells_every_live_goal_that_is_missed(self):
        self.assertEqual(self.of("dispatch live goals", DISPATCH), "- none\n")
        other_order = self.of("dispatch live goals", dispatch(live=0.5))  # one of the three is not as named
        self.assertEqual(other_order, "- slowed worker: predictive and two choices are in another order live, 0.50 (0.45 to "
                         "0.55), than simulated, 2.00 (1.90 to 2.10)\n- 2 pairs that were named beforehand are apart; the "
                         "goal is at least 3\n")

    def test_other_files_are_refused(self):
        for kind, run in (("simulation", DISPATCH), ("dispatch", SIMULATION), ("simulation", SIMULATION | {"gates": []})):
            refused = self.add(kind, run)
            self.assertEqual(refused.returncode, 1)
            self.assertIn("--%s: name what" % kind, refused.stderr)


if __name__ == "__main__":
    unittest.main()
