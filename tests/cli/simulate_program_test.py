"""What `flatline simulate` prints, writes and returns.

usage: simulate_program_test.py FLATLINE [TEST...]
"""

import copy
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
GATE = ["law", "measured", "expected", "interval"]
CELL = ["workload", "held_out", "policy", "p50", "p99", "p999", "refused", "regret", "curve"]
PAIR = ["workload", "policy", "fallback", "slice", "tasks", "truth", "truth_interval", "measured", "cases", "known",
        "covered", "median_half_width"]
PLACE = ["load", "staleness", "policy", "p50", "p99", "p999", "refused"]
# Of everything a part that a test has the time for.
LITTLE = ["--quick", "--training", "--workload", "exponential", "--policy", "two choices;predictive"]


def members_of(value, path=()):
    """Where the members are that a page shows; of lists only in their first element."""
    if isinstance(value, dict):
        for name, below in value.items():
            if name == "p999_by_seed":  # for those who compare policies with the same seeds
                continue
            yield (*path, name)
            yield from members_of(below, (*path, name))
    elif isinstance(value, list) and value:
        yield from members_of(value[0], (*path, 0))


def without(document, path):
    changed = copy.deepcopy(document)
    place = changed
    for step in path[:-1]:
        place = place[step]
    del place[path[-1]]
    return changed


class Simulate(unittest.TestCase):
    def simulate(self, *arguments, **options):
        return subprocess.run([str(PROGRAM), "simulate", *arguments], capture_output=True, text=True, timeout=200,
                              **options)

    def document(self, *arguments, status):
        result = self.simulate(*arguments, "--json", "-")
        self.assertEqual(result.returncode, status, result.stderr)
        document = json.loads(result.stdout)
        self.assertEqual(document["schema"], "flatline.simulate/1")
        return document

    def report(self, *arguments):
        return subprocess.run([str(PROGRAM), "report", *arguments], capture_output=True, text=True, timeout=200)

    def assert_refused(self, result, *parts, verb="simulate"):
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        self.assertTrue(result.stderr.startswith("flatline %s: " % verb), result.stderr)
        for part in parts:
            self.assertIn(part, result.stderr)

    def test_cells_have_what_the_contract_says_and_regrets_of_their_workload(self):
        document = self.document("--quick", "--workload", "exponential;different cores", status=0)
        self.assertEqual(document["gates"], [])
        self.assertEqual((document["seeds"], document["tasks"]), (4, 200000))
        self.assertRegex(str(document["draw"]), r"^20\d{6}$")
        self.assertNotIn("what_if", document)
        for name in {cell["workload"] for cell in document["cells"]}:
            cells = [cell for cell in document["cells"] if cell["workload"] == name]
            self.assertEqual(len(cells), 16)
            for cell in cells:
                self.assertEqual([member for member in CELL if member not in cell], [])
                self.assertTrue(cell["held_out"])
                self.assertLessEqual(0, cell["p50"])
                self.assertLessEqual(cell["p50"], cell["p99"])
                self.assertLessEqual(cell["p99"], cell["p999"])
                self.assertLessEqual(cell["p999"], cell["max"])
                low, high = cell["p999_interval"]
                self.assertTrue(low <= cell["p999"] <= high)
                self.assertEqual(cell["curve"], sorted(cell["curve"]))
                self.assertEqual([share for share, _ in cell["curve"]][::24], [0.5, 0.9999])
                for share, figure in ((0.5, "p50"), (0.99, "p99"), (0.999, "p999")):
                    self.assertAlmostEqual(dict(cell["curve"])[share] / cell[figure], 1, places=4)
            able = [cell for cell in cells if cell["implementable"]]
            self.assertEqual(len(able), 14)
            least = min(cell["p999"] for cell in able)
            for cell in cells:
                self.assertAlmostEqual(cell["regret"], cell["p999"] / least - 1)

    def test_a_quick_gate_is_too_rough_to_pass(self):
        document = self.document("--gate", "--quick", status=1)
        self.assertEqual(document["cells"], [])
        self.assertEqual(len(document["gates"]), 16)
        for gate in document["gates"]:
            self.assertEqual([member for member in GATE if member not in gate], [])
            low, high = gate["interval"]
            self.assertTrue(low <= gate["measured"] <= high)
            holds = abs(gate["measured"] / gate["expected"] - 1) <= 0.01 and (high - low) / gate["measured"] < 0.005
            self.assertEqual(gate["holds"], holds)

    def test_the_same_seed_gives_the_same_figures(self):
        arguments = ["--quick", "--training", "--workload", "bursts", "--policy", "Prequal;C3"]
        first, again, other = (self.document(*arguments, "--seed", seed, status=0)["cells"] for seed in "112")
        self.assertEqual(first, again)
        self.assertNotEqual(first, other)
        self.assertEqual([cell["policy"] for cell in first], ["C3", "Prequal"])
        self.assertFalse(first[0]["held_out"])

    def test_ablations_are_shown_and_set_no_regret(self):
        cells = self.document("--quick", "--training", "--workload", "slowed core", "--policy", "predictive",
                              "--ablations", status=0)["cells"]
        self.assertEqual(len(cells), 11)
        self.assertEqual([cell["ablation"] for cell in cells], [False] + 10 * [True])
        self.assertEqual(cells[0]["regret"], 0)
        without_service = next(cell for cell in cells if cell["policy"] == "predictive - service")
        self.assertGreater(without_service["regret"], 0.5)

    def test_no_line_is_wider_than_100_columns(self):
        for arguments in (["--gate", "--quick"], ["--quick", "--training", "--workload", "memory hogs, refused"],
                          ["--what-if", "--quick", "--policy", "two choices"], ["--help"]):
            for line in self.simulate(*arguments).stdout.splitlines():
                self.assertLessEqual(len(line), 100, line)

    def test_what_is_not_there_is_refused_with_what_there_is(self):
        self.assert_refused(self.simulate("--policy", "fastest"), "--policy", "two choices", "predictive")
        self.assert_refused(self.simulate("--workload", "nothing"), "--workload", "bounded Pareto")
        self.assert_refused(self.simulate("--what-if", "--policy", "central queue"), "--policy", "two choices")
        self.assert_refused(self.simulate("--switchback", "--policy", "random"), "--policy", "no pair")
        held_out, training = ", exponential, ", ", exponential (training), "
        for arguments, there, absent in (
                ([], [held_out], [training]), (["--training"], [training], [held_out]),
                (["--all"], [held_out, training], []), (["--all", "--training"], [training], [held_out])):
            result = self.simulate(*arguments, "--workload", "nothing")
            self.assert_refused(result, *there)
            for name in absent:
                self.assertNotIn(name, result.stderr)
        self.assert_refused(self.simulate("--seed", "x"), "--seed")

    def test_what_if_has_a_cell_for_each_policy_at_each_place(self):
        document = self.document("--what-if", "--quick", "--policy", "random;shortest queue", status=0)
        self.assertEqual((document["gates"], document["cells"]), ([], []))
        grid = document["what_if"]
        self.assertEqual(grid["workload"], {"service": "exponential", "shards": 16, "dispatchers": 4, "grants": 64})
        self.assertEqual((grid["seed"], grid["tasks"]), (1, 100000))
        places = [(load, age, policy) for load in grid["loads"] for age in grid["staleness"]
                  for policy in ("random", "shortest queue")]
        self.assertEqual([(cell["load"], cell["staleness"], cell["policy"]) for cell in grid["cells"]], places)
        for cell in grid["cells"]:
            self.assertEqual(list(cell), PLACE)
            self.assertTrue(0 < cell["p50"] < cell["p99"] < cell["p999"], cell)
        at = {place: cell["p999"] for place, cell in zip(places, grid["cells"])}
        self.assertGreater(at[0.9, 0, "random"], 2 * at[0.5, 0, "random"])
        self.assertGreater(at[0.7, 32, "shortest queue"], 2 * at[0.7, 0, "shortest queue"])

    def test_a_switchback_has_the_truth_and_the_intervals_of_each_pair(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "s.json")
            result = self.simulate("--switchback", "--quick", "--workload", "exponential", "--policy",
                                   "two choices;shortest queue", "--json", str(file))
            found = json.loads(file.read_text())["switchback"]
        self.assertEqual([(pair["policy"], pair["fallback"]) for pair in found["pairs"]],
                         [("two choices", "two choices"), ("shortest queue", "two choices")])
        for pair in found["pairs"]:
            self.assertEqual([member for member in PAIR if member not in pair], [])
            self.assertLessEqual(pair["covered"], pair["known"])
            low, high = pair["truth_interval"]
            self.assertTrue(low <= pair["truth"] <= high)
            self.assertLess(abs(pair["measured"] - pair["truth"]), pair["median_half_width"])
        self.assertEqual(found["pairs"][0]["truth"], 0)
        self.assertGreater(found["pairs"][1]["truth"], 0.1)
        self.assertEqual((found["cases"], found["known"]), (20, 20))
        self.assertEqual(found["covered"], sum(pair["covered"] for pair in found["pairs"]))
        holds = found["covered"] >= 0.93 * 20 and found["median_half_width"] <= 0.05
        self.assertEqual(result.returncode, 0 if holds else 1, result.stderr)
        self.assertIn("%d of 20 intervals hold the truth" % found["covered"], result.stdout)
        for line in result.stdout.splitlines():
            self.assertLessEqual(len(line), 100, line)

    def test_all_makes_everything_in_one_file_and_one_page(self):
        with tempfile.TemporaryDirectory() as folder:
            json_file, html_file = pathlib.Path(folder, "s.json"), pathlib.Path(folder, "s.html")
            result = self.simulate("--all", *LITTLE, "--json", str(json_file), "--html", str(html_file))
            self.assertEqual(result.returncode, 1, result.stderr)  # a quick gate is too rough
            for words in ("laws hold", "exponential (training)", "Worst regret", "What if", "figures: %s" % json_file,
                          "report: %s" % html_file):
                self.assertIn(words, result.stdout)
            document = json.loads(json_file.read_text())
            self.assertEqual(len(document["gates"]), 16)
            self.assertEqual([cell["policy"] for cell in document["cells"] if not cell["ablation"]],
                             ["two choices", "two choices, memory", "predictive"])
            self.assertFalse(any(cell["ablation"] for cell in document["cells"]), "of a training workload")
            self.assertEqual(len(document["what_if"]["cells"]), 6 * 7 * 3)
            page = html_file.read_text()
            data = re.search(r'<script type="application/json" id="flatline-data">(.*?)</script>', page, re.S)
            self.assertEqual(json.loads(data[1]), document)
            self.assertNotRegex(page.replace(data[1], ""), r"(src|href)=.?(https?:)?//")

    def test_a_recorded_simulation_becomes_the_same_page_and_nothing_else(self):
        with tempfile.TemporaryDirectory() as folder:
            made, page, again = (folder + "/" + name for name in ("made.json", "page.html", "again.html"))
            self.simulate(*LITTLE, "--json", made, "--html", page)
            result = self.report(made, "--html", again)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertEqual(pathlib.Path(again).read_text(), pathlib.Path(page).read_text())
            for arguments in ([], ["--csv", "-"], ["--html", again, "--markdown", "-"]):
                self.assert_refused(self.report(made, *arguments), made, "--html FILE", verb="report")

    def test_a_recorded_simulation_that_is_not_whole_becomes_no_page(self):
        # Not all that is in a document is on its page.
        unseen = {("what_if", "workload", "grants"), ("what_if", "cells", 0, "p99"), ("what_if",), ("switchback",)}
        gate = {"law": "of nothing", "measured": 1.001, "expected": 1, "interval": [1, 1.002], "holds": True}
        document = self.document(*LITTLE, status=0) | {"gates": [gate]}
        document["what_if"] = self.document("--what-if", *LITTLE, status=0)["what_if"]
        document["what_if"]["cells"] = document["what_if"]["cells"][:1]
        pair = {"workload": "bursts", "policy": "predictive", "fallback": "two choices", "truth": 0.1, "cases": 9,
                "covered": 9, "median_half_width": None}
        document["switchback"] = {"cases": 9, "covered": 9, "median_half_width": 0.02, "pairs": [pair]}
        with tempfile.TemporaryDirectory() as folder:
            file, page = pathlib.Path(folder, "s.json"), pathlib.Path(folder, "s.html")

            def refused(text, *parts):
                file.write_text(text)
                self.assert_refused(self.report(str(file), "--html", str(page)), *parts, verb="report")
                self.assertFalse(page.exists())

            whole = json.dumps(document)
            for share in (0, 1, 50, 99):
                refused(whole[:len(whole) * share // 100], "--json FILE")
            refused(whole.replace("flatline.simulate/1", "flatline.simulate/2"), "flatline simulate --json FILE")
            for path in set(members_of(document)) - unseen - {("schema",)}:
                with self.subTest(path=path):
                    refused(json.dumps(without(document, path)), path[-1], "flatline simulate --json FILE")
            file.write_text(whole)
            self.assertEqual(self.report(str(file), "--html", str(page)).returncode, 0)

    def test_a_file_that_cannot_be_written_is_refused_before_the_work(self):
        with tempfile.TemporaryDirectory() as folder:
            for option in ("--json", "--html"):
                self.assert_refused(self.simulate("--all", *LITTLE, option, folder + "/missing/file"), option)
                self.assert_refused(self.simulate("--all", *LITTLE, option, folder), option)
            self.assert_refused(self.simulate("--json", "-", "--html", "-"), "--json", "--html", "standard output")
            good = folder + "/good.json"
            self.assert_refused(self.simulate("--json", good, "--html", folder + "/missing/file"), "--html")
            self.assertEqual(os.listdir(folder), [])

    def test_a_missing_template_is_refused_before_the_work(self):
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(folder + "/bin")
            program = shutil.copy(PROGRAM, folder + "/bin/flatline")
            result = subprocess.run([program, "simulate", "--all", *LITTLE, "--html", folder + "/page.html"],
                                    capture_output=True, text=True, timeout=60)
            self.assert_refused(result, "report.html", "install")
            self.assertEqual(os.listdir(folder), ["bin"])

    def test_the_table_names_the_best_and_the_worst(self):
        result = self.simulate("--quick", "--training", "--workload", "stale reports", "--policy", "random;two choices")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("stale reports (training)", result.stdout)
        self.assertIn("Worst regret", result.stdout)
        self.assertIn("+0.0 %", result.stdout)

    def test_a_record_of_an_engine_is_replayed(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "record")
            lines = ["# flatline-record/1 workers=2 submitters=1 missed=5",
                     "submitted_ns,service_ns,held_ns,type,submitter,worker"]
            lines += ["%d,%d,0,0,0,%d" % (1000 * i, 1500 if i % 10 == 0 else 900, i % 2) for i in range(4000)]
            pathlib.Path(file).write_text("\n".join(lines) + "\n")
            result = self.simulate("--record", file, "--policy", "two choices;predictive;random")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("Recorded: 4000 tasks of 1 submitters at 2 workers", result.stdout)
            self.assertIn(" 5 more tasks", result.stdout)
            self.assertEqual([line for line in result.stdout.splitlines() if len(line) > 100], [])
            self.assertNotIn("Worst regret", result.stdout)
            document = self.document("--record", file, "--policy", "predictive", status=0)
            self.assertEqual([(cell["workload"], cell["policy"]) for cell in document["cells"]], [("recorded", "predictive")])
            self.assert_refused(self.simulate("--record", file, "--training"), "excludes")
            pathlib.Path(file).write_text("\n".join(lines[:50]) + "\n")
            self.assert_refused(self.simulate("--record", file), "--record: " + file, "fewer than 100")
            self.assert_refused(self.simulate("--record", folder), folder)
            self.assert_refused(self.simulate("--record", file + "s"), file + "s")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
