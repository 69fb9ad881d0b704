#!/usr/bin/env python3
"""guard_a_callback_test.py FLATLINE PROGRAMS PROJECT: docs/guard-a-callback.md shows what `flatline guard` and RTSan find.

PROGRAMS is the folder of tests/guard's programs. The table of the page must be the one that tests/guard/rtsan_table.py
makes now. Where clang 19 or its RTSan is missing, as before `scripts/bootstrap test`, that is skipped; flatline guard's
own column and the cases are held to the sources and to a run all the same.
"""
import pathlib
import re
import shutil
import sys
import unittest

PROJECT = pathlib.Path(sys.argv.pop()).resolve()
PROGRAMS = pathlib.Path(sys.argv.pop()).resolve()
FLATLINE = pathlib.Path(sys.argv.pop()).resolve()
CLANG = "clang++-19"
LLVM = pathlib.Path("/usr/lib/llvm-19")
RUNTIME = LLVM / "lib/clang/19/lib/linux/libclang_rt.rtsan-x86_64.a"

sys.path.insert(0, str(PROJECT / "tests/guard"))
import rtsan_table  # noqa: E402

PAGE = (PROJECT / "docs/guard-a-callback.md").read_text(encoding="utf-8")
TABLE = re.compile(r"^\| case \| violation \|.*\n(?:\|.*\n)+", re.MULTILINE)


def table_of(page):
    return TABLE.search(page)[0].splitlines()


def differences(page, made):
    """The lines that are in one of them alone."""
    shown = table_of(page)
    if shown == made:
        return []
    return sorted(set(shown) ^ set(made)) or ["the lines are in another order"]


def cells(line):
    return [cell.strip() for cell in line.strip("|").split("|")]


class GuardACallback(unittest.TestCase):
    def test_shows_the_table_as_it_is_made_now(self):
        if shutil.which(CLANG) is None or not RUNTIME.exists() or not rtsan_table.SYMBOLIZER.exists():
            self.skipTest("%s, %s or %s is missing: scripts/bootstrap test installs them" %
                          (CLANG, RUNTIME, rtsan_table.SYMBOLIZER))
        self.assertEqual(differences(PAGE, rtsan_table.table(FLATLINE, PROGRAMS, CLANG, RUNTIME)), [])

    def test_shows_each_violation_and_what_the_guard_finds(self):
        found = rtsan_table.found_by_guard(FLATLINE, PROGRAMS)
        made = [[case.replace("_", " "), kind, "found" if (name, line, kind) in found else "-"]
                for case, name, line, kind in rtsan_table.marks()]
        self.assertEqual([cells(line)[:3] for line in table_of(PAGE)[2:-2]], made)

    def test_counts_what_the_rows_show(self):
        rows = [cells(line) for line in table_of(PAGE)[2:-2]]
        found = [sum(row[column] == "found" for row in rows) for column in (2, 3)]
        self.assertEqual(cells(table_of(PAGE)[-1]), ["**all**", *(str(count) for count in (len(rows), *found))])

    def test_notices_another_cell_order_or_sum(self):
        made = table_of(PAGE)
        changed = (("| by malloc | malloc | found | found |", "| by malloc | malloc | found | - |"),
                   ("| by dlopen | dlopen | found | found |\n", ""), ("| false alarm |", "| - |"),
                   (made[3] + "\n" + made[4], made[4] + "\n" + made[3]), ("| **all** | ", "| **all** | 1"))
        for right, wrong in changed:
            self.assertIn(right, PAGE)
            self.assertNotEqual(differences(PAGE.replace(right, wrong), made), [], wrong)


if __name__ == "__main__":
    unittest.main()
