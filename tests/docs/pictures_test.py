#!/usr/bin/env python3
"""pictures_test.py BUILD PROJECT: the README shows what `flatline bench` prints and writes, in pictures that load quickly,
and scripts/pictures makes such pictures."""
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

PROJECT = pathlib.Path(sys.argv.pop()).resolve()
BUILD = pathlib.Path(sys.argv.pop()).resolve()
PICTURES = ("terminal.png", "report.png")
MOST_BYTES = 300_000  # of all pictures together
NEEDED = ("aha", "chromium", "pngquant", "script")


def size_of(picture):
    """Width and height in pixels, of a PNG file."""
    head = picture.read_bytes()[:24]
    assert head.startswith(b"\x89PNG\r\n\x1a\n"), picture
    return struct.unpack(">II", head[16:])


class Pictures(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def make(self, *arguments):
        return subprocess.run([PROJECT / "scripts/pictures", self.folder, self.folder / "made", *arguments],
                              capture_output=True, text=True)

    def assert_shows_something(self, picture, width):
        self.assertEqual(size_of(picture)[0], width)
        self.assertGreater(picture.stat().st_size, 5000)

    def test_the_readme_shows_them_and_they_are_small(self):
        text = (PROJECT / "README.md").read_text(encoding="utf-8")
        for name, width in zip(PICTURES, (820, 1200)):
            self.assertIn("](docs/pictures/%s)" % name, text)
            self.assert_shows_something(PROJECT / "docs/pictures" / name, width)
        self.assertEqual({each.name for each in (PROJECT / "docs/pictures").iterdir()}, set(PICTURES))
        self.assertLess(sum(each.stat().st_size for each in (PROJECT / "docs/pictures").iterdir()), MOST_BYTES)

    def test_are_made_of_a_run(self):
        missing = [each for each in NEEDED if shutil.which(each) is None]
        self.assertEqual(missing, [], "run scripts/bootstrap test")
        (self.folder / "bin").mkdir()
        # A script, not a link: the program must find its parts beside its real path.
        (self.folder / "bin/flatline").write_text('#!/bin/sh\nexec "%s/bin/flatline" "$@"\n' % BUILD)
        (self.folder / "bin/flatline").chmod(0o755)
        (self.folder / "made").mkdir()
        done = self.make("hot", "--sizes", "64", "--processes", "1", "--backends", "flatline-pool,glibc,floor")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for name, width in zip(PICTURES, (820, 1200)):
            self.assert_shows_something(self.folder / "made" / name, width)
        # The height of the picture depends on the number of lines that the program prints.
        height = size_of(self.folder / "made/terminal.png")[1]
        self.assertEqual((height - 24) % 17, 0)
        self.assertGreater(height, 24 + 10 * 17)

        done = self.make("nothing")
        self.assertEqual(done.returncode, 2)
        self.assertIn("pictures: flatline bench failed: see its message above", done.stderr)
        self.assertIn("nothing", done.stderr)

    def test_say_what_to_give_them(self):
        done = subprocess.run([PROJECT / "scripts/pictures"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("pictures BUILD FOLDER", done.stderr)


if __name__ == "__main__":
    unittest.main()
