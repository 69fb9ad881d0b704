#!/usr/bin/env python3
"""readme_test.py PROJECT: a stranger reads all of the README, and finds what to type on its first screen."""
import pathlib
import sys
import unittest

PROJECT = pathlib.Path(sys.argv.pop())
WORDS = 900
FIRST_SCREEN = 40  # lines


class Readme(unittest.TestCase):
    def setUp(self):
        self.text = (PROJECT / "README.md").read_text(encoding="utf-8")

    def test_has_at_most_900_words(self):
        self.assertLessEqual(len(self.text.split()), WORDS)

    def test_says_on_its_first_screen_what_it_is_on_what_it_runs_and_what_to_type(self):
        first = "\n".join(self.text.splitlines()[:FIRST_SCREEN])
        for said in ("make bench", "make test", "allocators for C and C++", "Linux", "gcc", "flat_pool_alloc"):
            self.assertIn(said, first)


if __name__ == "__main__":
    unittest.main()
