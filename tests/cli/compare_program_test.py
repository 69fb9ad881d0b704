"""What `flatline compare` and `flatline report` make of results, with made-up drivers.

usage: compare_program_test.py FLATLINE FAKE_DRIVER REPORT_TEMPLATE
"""

import json
import sys
import unittest

from program_tree import OWN_BACKENDS, TreeTest


class Compare(TreeTest):
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


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
