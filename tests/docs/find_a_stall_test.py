#!/usr/bin/env python3
"""find_a_stall_test.py FLATLINE FOLDER PROJECT: docs/find-a-stall.md shows what an audit prints.

FOLDER has the recordings that examples/find_a_stall.sh has just made. Figures differ from run to run, so what must be the
same is where the first stall of a block is and why, and the topics and columns around it.
"""
import importlib.machinery
import importlib.util
import pathlib
import re
import sys
import unittest

PROJECT = pathlib.Path(sys.argv.pop()).resolve()
FOLDER = pathlib.Path(sys.argv.pop())
FLATLINE = sys.argv.pop()


def load(path):
    """A script without a suffix, as a module."""
    loader = importlib.machinery.SourceFileLoader("find_a_stall", str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("find_a_stall", loader))
    loader.exec_module(module)
    return module


script = load(PROJECT / "scripts/find-a-stall")
PAGE = (PROJECT / "docs/find-a-stall.md").read_text(encoding="utf-8")
STALL = re.compile(r"^ +[\d,]+(?: +[\d.]+ \w+){4}   (.*)\n +at  (.*)$", re.MULTILINE)


def stalls_of(text):
    """What stalls, why, and where: the cause and the line below it."""
    return [match.groups() for match in STALL.finditer(text)]


def topics_of(text):
    """The words at the beginning of lines, and the heads of columns."""
    return set(re.findall(r"^[A-Z][a-z]+(?: [a-z]+)?(?=  | \w+ \w+,)", text, re.MULTILINE)) | set(
        re.findall(r"^ +count .*$|^ +calls .*$", text, re.MULTILINE))


def objections(page):
    """What a page shows otherwise than the recordings."""
    found = []
    for recording, parts, block in script.BLOCK.findall(page):
        report = script.report_of(FLATLINE, FOLDER / (recording + ".audit"))
        if "first touch is not told" in report:
            continue
        if not topics_of(block) <= topics_of(report):
            found.append("%s: %s" % (recording, topics_of(block) - topics_of(report)))
        if "stalls" in parts.split() and not ("No stall" in block or stalls_of(block)):
            found.append("%s: a block of stalls shows none" % recording)
        if "No stall" in block and "first touch: " in report:  # another cause may be another program's doing
            found.append("%s: there are stalls" % recording)
        if stalls_of(block)[:1] and stalls_of(block)[0] not in stalls_of(report):
            found.append("%s: %s is not among %s" % (recording, stalls_of(block)[0], stalls_of(report)))
    return found


class FindAStall(unittest.TestCase):
    def test_shows_what_an_audit_prints(self):
        self.assertEqual({recording for recording, _, _ in script.BLOCK.findall(PAGE)}, {"growing", "early", "looper"})
        self.assertEqual(objections(PAGE), [])

    def test_notices_another_line_cause_or_topic(self):
        if "first touch is not told" in script.report_of(FLATLINE, FOLDER / "early.audit"):
            self.skipTest("this machine cannot tell first touch")
        line = re.search(r"looper\.cpp:\d+", PAGE)[0]
        for right, wrong in ((line, "looper.cpp:1"), ("first touch: page fault", "first touch: lock"),
                             ("Told apart", "Told nothing"), ("     count ", "     calls ")):
            self.assertIn(right, PAGE)
            self.assertNotEqual(objections(PAGE.replace(right, wrong)), [], wrong)
        calm = script.BLOCK.sub(lambda block: block[0].replace("audit looper", "audit growing"), PAGE)
        self.assertIn("growing: there are stalls", objections(calm))


if __name__ == "__main__":
    unittest.main()
