"""A scratch tree laid out as an installed Flatline, with made-up drivers, for tests of the program. Their first arguments
are FLATLINE FAKE_DRIVER REPORT_TEMPLATE.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

PROGRAM, FAKE, TEMPLATE = (pathlib.Path(path).resolve() for path in sys.argv[1:4])
OWN_DRIVERS = ["pool", "floor", "list", "boost-pool", "foonathan-pool"]
CONTAINER_DRIVERS = ["containers-floor", "containers-pool-resource", "containers-allocator-pool"]
CONTAINER_BACKENDS = ["floor", "pool-resource", "pool-resource-again", "allocator-pool"]
OWN_BACKENDS = ["flatline-pool", "flatline-pool-again", "floor", "list", "boost-pool", "foonathan-pool"]


class Tree:
    """bin/, libexec/ and share/ in a directory of their own."""

    def __init__(self, directory, drivers=OWN_DRIVERS + CONTAINER_DRIVERS):
        self.root = pathlib.Path(directory)
        self.libexec = self.root / "libexec/flatline"
        for part in ("bin", "libexec/flatline", "share/flatline"):
            (self.root / part).mkdir(parents=True)
        shutil.copy(PROGRAM, self.root / "bin/flatline")
        shutil.copy(TEMPLATE, self.root / "share/flatline/report.html")
        for driver in drivers:
            shutil.copy(FAKE, self.libexec / f"bench-{driver}")

    def break_driver(self, driver, fault):
        (self.libexec / f"bench-{driver}.fault").write_text(fault + "\n")

    def command(self, *arguments):
        return [str(self.root / "bin/flatline"), *arguments]

    def run(self, *arguments, **options):
        return subprocess.run(self.command(*arguments), capture_output=True, text=True, cwd=self.root, timeout=200,
                              **options)

    def bench(self, *arguments):
        return self.run("bench", "hot", "--sizes", "64", "--processes", "1", "--backends", ",".join(OWN_BACKENDS),
                        *arguments)


def temporary_files_in(folder):
    """Has all programs make their temporary files in this folder, until the returned function is called. What a run could
    not write it keeps in such a file, which must go with the test's own."""
    changed = unittest.mock.patch.dict(os.environ, TMPDIR=folder)
    changed.start()
    return changed.stop


class TreeTest(unittest.TestCase):
    """Each test has a tree of its own."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.addCleanup(temporary_files_in(scratch.name))
        self.tree = Tree(pathlib.Path(scratch.name) / "tree")

    def assert_refused(self, result, *parts):
        """Status 2, nothing on standard output, and one line that says these things on standard error."""
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertEqual(result.stdout, "")
        lines = [line for line in result.stderr.splitlines() if not line.startswith("round ")]
        self.assertEqual(len(lines), 1, result.stderr)
        for part in parts:
            self.assertIn(part, lines[0])

    def assert_fits_a_screen(self, text):
        self.assertLessEqual(len(text.splitlines()), 40)
        self.assertLessEqual(max(map(len, text.splitlines())), 100)
