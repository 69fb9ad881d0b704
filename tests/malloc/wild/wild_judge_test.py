#!/usr/bin/env python3
"""Holds the judge of wild_test.py to seeing what is wrong, and to nothing else.

    wild_judge_test.py PAGE PROGRAMS
"""
import contextlib
import io
import pathlib
import sys
import tempfile
import time
import unittest

import wild_test
from wild_test import MIB, Page

PAGE, PROGRAMS = (pathlib.Path(each) for each in sys.argv[1:3])
START = "point start resident=%d live=0 peak=0 unclaimed=0 threads=1 purged=0\n" % (2 * MIB)


def is_alive(process):
    try:
        return " Z " not in pathlib.Path("/proc/%d/stat" % process).read_text(encoding="ascii")
    except OSError:
        return False


def point(name, resident, live=0, peak=0, unclaimed=0, threads=1, purged=0):
    return START + "point %s resident=%d live=%d peak=%d unclaimed=%d threads=%d purged=%d\n" % (
        name, resident * MIB, live * MIB, peak * MIB, unclaimed * MIB, threads, purged)


class Judge(unittest.TestCase):
    def objections(self, policy, text, peers=(), page=PAGE):
        with contextlib.redirect_stdout(io.StringIO()):
            return list(wild_test.judge(policy, Page(page), text, dict(peers)))

    def test_what_is_purged_is_held_against_the_best_peer(self):
        peers = {"end": {"glibc": 100 * MIB, "jemalloc": 20 * MIB}}
        self.assertEqual(self.objections("balanced", point("end", 29, purged=1), peers), [])
        self.assertEqual(len(self.objections("balanced", point("end", 31, purged=1), peers)), 1)
        self.assertEqual(self.objections("balanced", point("end", 40, threads=1000, purged=1), peers), [])
        self.assertEqual(self.objections("glibc", point("end", 40, purged=1), peers), [])

    def test_what_is_not_purged_is_held_to_the_page(self):
        self.assertEqual(self.objections("memory", point("end", 10, peak=200)), [])
        self.assertEqual(len(self.objections("memory", point("end", 100, peak=200))), 1)
        self.assertEqual(self.objections("latency", point("end", 200, peak=200)), [])
        self.assertEqual(len(self.objections("latency", point("end", 300, peak=200))), 1)
        self.assertEqual(self.objections("memory", point("end", 215, live=200, peak=200)), [])

    def test_a_page_that_promises_less_is_believed(self):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder) / "page.md"
            text = PAGE.read_text(encoding="utf-8")
            rows = "".join("| `%s` | none | none | none | none | none |\n" % each for each in wild_test.POLICIES)
            page.write_text(text[:text.index("| `latency` | all")] + rows, encoding="utf-8")
            self.assertEqual(len(self.objections("latency", point("end", 10), page=page)), 1)
            self.assertEqual(self.objections("latency", point("end", 2), page=page), [])
            page.write_text(text.replace("256 KiB", "a few"), encoding="utf-8")
            with self.assertRaisesRegex(SystemExit, "cannot be read: a few"):
                Page(page)
            for text, refusal in (("nothing", "how much of the memory in use the tables take"),
                                  ("The tables take 3 % of the memory in use", "no table of what is kept")):
                page.write_text(text, encoding="utf-8")
                with self.assertRaisesRegex(SystemExit, refusal):
                    Page(page)

    def test_mappings_are_counted(self):
        peers = {"end": {"glibc": 100}}
        self.assertEqual(self.objections("balanced", "mappings end count=190\n", peers), [])
        self.assertEqual(len(self.objections("balanced", "mappings end count=200\n", peers)), 1)


def mallocs(programs):
    return wild_test.Mallocs(type("Given", (), {"programs": programs, "library": "/bin/sh", "peers": None}))


# The faults of faulty_malloc.c: the fault, what runs under it, a part of its output, and the limits.
FAULTS = [
    ("dirty", "locked_calloc page", "is not 0", {}),
    ("dirty", "filtered_madvise refuse", "is not 0", {}),
    ("lost", "growing_realloc 2", "changed by realloc", {}),
    ("leak", "threads_in_turn 2000 work", "left memory behind", {}),
    ("leak", "threads_in_turn 2000 last", "left memory behind", {}),
    ("few", "threads_in_turn 17000 work", "is NULL", {}),
    ("few", "threads_at_once 17000 17000", "a thread got NULL", {}),
    ("end", "one_heap 1000000", "NULL after", {}),
    ("hoard", "limit_share as 64 exec 1000", "less than 0.8", {"address_space": 64 * MIB}),
    ("hoard", "limit_share data 256 exec 3145728", "less than 0.8", {"data": 256 * MIB}),
    ("blind", "limit_share as 1024 late 600000000", "more than the limit leaves", {}),
    ("blind", "late_limit", "2 GiB are served|no thread can be made", {}),
    ("blind", "more_than_memory", "is served, and there is not so much memory", {}),
    ("stray", "failing_calls", "mappings behind", {"data": 30 * MIB}),
    ("pinned", "locked_limit 8 now", "mlockall under a limit of 8 MiB", {}),
]


class Programs(unittest.TestCase):
    def test_a_fault_is_seen(self):
        for fault, text, part, limits in FAULTS:
            run = wild_test.run_of(text, before="faulty_malloc.so", environment={"FAULT": fault}, **limits)
            status, said, by_hand = mallocs(PROGRAMS).run(run, "glibc")
            if status == wild_test.SKIPPED:
                print(said)  # so much cannot be locked here
                continue
            self.assertEqual(status, 1, "%s: %s" % (by_hand, said))
            self.assertRegex(said, part)

    def test_a_malloc_whose_children_use_nothing_of_what_threads_left_is_seen(self):
        run = wild_test.run_of("fork_reuse freed 1000 24")
        status, said, _ = mallocs(PROGRAMS).run(run, "glibc")
        self.assertEqual(status, 1)
        self.assertIn("not used in a child", said)

    def test_limits_reach_the_program(self):
        run = wild_test.Run("sh", ["-c", "ulimit -v; ulimit -d; echo $HOW"], address_space=64 * MIB, data=32 * MIB,
                            how="join")
        status, text, by_hand = mallocs("/bin").run(run, "glibc")
        self.assertEqual((status, text.split()), (0, ["65536", "32768", "join"]))
        self.assertTrue(by_hand.startswith("ulimit -v 65536; ulimit -d 32768; env HOW=join "), by_hand)

    def test_what_a_program_leaves_behind_ends_with_it(self):
        run = wild_test.Run("sh", ["-c", "sleep 1000 & echo $!; exit 3"])
        status, text, _ = mallocs("/bin").run(run, "glibc")
        self.assertEqual(status, 3)
        until = time.monotonic() + 30
        while is_alive(int(text)):
            self.assertLess(time.monotonic(), until)
            time.sleep(0.01)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
