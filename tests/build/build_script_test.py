#!/usr/bin/env python3
"""What scripts/build hands to CMake, what it prints, and how it ends, with a CMake that only notes its arguments."""
import os
import pathlib
import pty
import shutil
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parent.parent.parent / "scripts/build"
CMAKE = """#!/bin/sh
echo "$NINJA_STATUS|$*" >> "$CALLS"
case $1 in
--preset) echo "$CONFIGURED"; exit "${CONFIGURE_STATUS:-0}" ;;
*) echo "what the compiler says"; exit "${BUILD_STATUS:-0}" ;;
esac
"""


class Build(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name in ("scripts", "bin"):
            (self.root / name).mkdir()
        shutil.copy(SCRIPT, self.root / "scripts/build")
        (self.root / "bin/cmake").write_text(CMAKE)
        (self.root / "bin/cmake").chmod(0o755)

    def environment(self, said):
        return {**os.environ, "PATH": "%s:%s" % (self.root / "bin", os.environ["PATH"]),
                "CALLS": str(self.root / "calls"), "NINJA_STATUS": "", **said}

    def build(self, *arguments, **said):
        return subprocess.run([str(self.root / "scripts/build"), *arguments], env=self.environment(said), text=True,
                              capture_output=True)

    def calls(self):
        return (self.root / "calls").read_text().splitlines()

    def test_configures_with_the_options_and_builds_the_targets(self):
        done = self.build("out", "-DA=ON", "-DB=1 2", "--target", "one", "two", CONFIGURED="-- Configuring done")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(self.calls(), ["|--preset release -B out -DA=ON -DB=1 2",
                                        "|--build out --target one two -- --quiet"])
        self.assertEqual(done.stdout, "building in out: this takes some minutes the first time\nwhat the compiler says\n")

    def test_prints_what_cmake_says_if_it_cannot_configure_and_builds_nothing(self):
        done = self.build("out", CONFIGURED="CMake Error: no compiler", CONFIGURE_STATUS="1")
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stderr, "CMake Error: no compiler\n"
                         "scripts/build: CMake could not configure out: see its message above\n")
        self.assertEqual(len(self.calls()), 1)

    def test_prints_warnings_of_cmake(self):
        done = self.build("out", CONFIGURED="CMake Deprecation Warning at CMakeLists.txt:1: old")
        self.assertEqual((done.returncode, done.stderr), (0, "CMake Deprecation Warning at CMakeLists.txt:1: old\n"))

    def test_fails_if_the_build_does(self):
        self.assertNotEqual(self.build("out", BUILD_STATUS="3").returncode, 0)

    def test_counts_up_in_one_line_on_a_terminal(self):
        ours, its = pty.openpty()
        try:
            subprocess.run([str(self.root / "scripts/build"), "out"], env=self.environment({}), stdout=its, check=True)
            self.assertEqual(os.read(ours, 4096).decode().split(), ["what", "the", "compiler", "says"])
        finally:
            os.close(ours)
            os.close(its)
        self.assertEqual(self.calls()[1], "building [%f/%t] |--build out")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
