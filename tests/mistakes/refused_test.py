"""Each mistake, made with real drivers, is refused by `flatline bench` in one line and without a figure.

usage: refused_test.py FLATLINE DRIVERS NO_MALLOC
       DRIVERS: the folder of mistaken-unoptimised, -small-buffer, -refusing-buffer, -small-classes and of bench-malloc,
       bench-containers-malloc, bench-list
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM, DRIVERS, NO_MALLOC = (pathlib.Path(path).resolve() for path in sys.argv[1:4])


class Refused(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = pathlib.Path(scratch.name)
        self.libexec = self.root / "libexec/flatline"
        self.libexec.mkdir(parents=True)
        (self.root / "bin").mkdir()
        shutil.copy(PROGRAM, self.root / "bin/flatline")

    def bench(self, backend, driver, name):
        shutil.copy(DRIVERS / driver, self.libexec / name)
        return subprocess.run([str(self.root / "bin/flatline"), "bench", "hot", "--sizes", "64", "--processes", "1",
                               "--backends", backend, "--json", "out.json"],
                              capture_output=True, text=True, cwd=self.root, timeout=200, check=False)

    def assert_refused(self, result, *parts):
        said = [line for line in result.stderr.splitlines() if not line.startswith("round ")]
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertEqual(len(said), 1, said)
        for part in parts:
            self.assertIn(part, said[0])
        if (self.root / "out.json").exists():
            self.assertIn('"cells":[]', (self.root / "out.json").read_text())

    def test_a_build_without_optimisation(self):
        self.assert_refused(self.bench("list", "mistaken-unoptimised", "bench-list"), "built without optimisation",
                            "-DCMAKE_BUILD_TYPE=Release")

    def test_a_preload_that_did_not_take(self):
        # A backend with both kinds of suites is chosen only if both of its drivers exist.
        shutil.copy(DRIVERS / "bench-containers-malloc", self.libexec)
        peers = self.libexec / "peers"
        peers.mkdir()
        shutil.copy(NO_MALLOC, peers / "librpmalloc.so")
        (peers / "rpmalloc.json").write_text('{"version": "1", "source": "s", "compiler": "c", "flags": "f"}\n')
        self.assert_refused(self.bench("rpmalloc", "bench-malloc", "bench-malloc"), "the preload did not work",
                            "librpmalloc.so", "libc.so")

    def test_a_buffer_that_is_too_small_and_a_resource_that_goes_on_in_the_heap(self):
        self.assert_refused(self.bench("list", "mistaken-small-buffer", "bench-list"), "from the heap")

    def test_the_same_buffer_in_a_resource_that_refuses(self):
        self.assert_refused(self.bench("list", "mistaken-refusing-buffer", "bench-list"), "returned NULL")

    def test_a_size_that_the_subject_refuses(self):
        self.assert_refused(self.bench("list", "mistaken-small-classes", "bench-list"), "returned NULL")

    def test_what_is_no_mistake(self):
        result = self.bench("list", "bench-list", "bench-list")
        self.assertEqual(result.returncode, 0, result.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
