#!/usr/bin/env python3
"""faults_have_places.py names faults whose pattern or file is gone, and no others."""
import os
import tempfile
import unittest

from faults_have_places import objections

CODE = "int twice(int a) {\n    return 2 * a;\n}\nint once;\nint again;\n"


class Places(unittest.TestCase):
    def objected(self, exact=False, **faults):
        with tempfile.TemporaryDirectory() as root:
            os.makedirs(os.path.join(root, "src"))
            os.makedirs(os.path.join(root, "include"))
            for path in ("src/a.c", "include/b.h"):
                with open(os.path.join(root, path), "w", encoding="utf-8") as opened:
                    opened.write(CODE)
            return list(objections(faults, root, "src", exact))

    def test_a_pattern(self):
        self.assertEqual(self.objected(one=("a.c", r"twice.*?;", "x"), two=("include/b.h", r"\Aint", "x", ["a test"])), [])
        self.assertEqual(self.objected(one=("a.c", r"thrice", "x")), ["one: it has no place in src/a.c"])
        self.assertEqual(self.objected(one=("include/b.h", r"thrice", "x")), ["one: it has no place in include/b.h"])

    def test_text_that_occurs_once(self):
        self.assertEqual(self.objected(exact=True, one=("a.c", "int once;", "x", "function")), [])
        self.assertEqual(len(self.objected(exact=True, one=("a.c", "int", "x"), two=("a.c", "thrice", "x"))), 2)

    def test_a_file(self):
        self.assertEqual(self.objected(one=("c.c", r"int", "x"), two=("b.h", r"int", "x")),
                         ["one: there is no src/c.c", "two: there is no src/b.h"])


if __name__ == "__main__":
    unittest.main()
