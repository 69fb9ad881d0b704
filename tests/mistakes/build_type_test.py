"""A build without a type: what CMake makes of `--config Release`, and what Flatline's own build does instead.

usage: build_type_test.py SOURCE CC CXX
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SOURCE, CC, CXX = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2], sys.argv[3]
BARE = """cmake_minimum_required(VERSION 3.25)
project(bare LANGUAGES C)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_C_FLAGS_RELEASE "-O3 -DNDEBUG")
add_executable(bare bare.c)
"""


class BuildType(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = pathlib.Path(scratch.name)

    def configure(self, source, *options):
        result = subprocess.run(["cmake", "-S", str(source), "-B", str(self.root / "build"), "-G", "Unix Makefiles",
                                 "-DCMAKE_C_COMPILER=" + CC, "-DCMAKE_CXX_COMPILER=" + CXX, *options],
                                capture_output=True, text=True, check=True)
        return result.stdout

    def commands(self):
        return [entry["command"] for entry in json.loads((self.root / "build/compile_commands.json").read_text())]

    def test_the_mistake_config_release_optimises_nothing(self):
        (self.root / "CMakeLists.txt").write_text(BARE)
        (self.root / "bare.c").write_text("int main(void) { return 0; }\n")
        self.configure(self.root)
        built = subprocess.run(["cmake", "--build", str(self.root / "build"), "--config", "Release", "--verbose"],
                               capture_output=True, text=True, check=True)
        self.assertIn("bare.c", built.stdout)
        self.assertNotIn("-O", built.stdout)
        self.assertEqual(built.stderr, "", "nobody is told")

    def test_flatline_without_a_type_is_a_release_build_and_says_so(self):
        said = self.configure(SOURCE, "-DFLATLINE_PROGRAM=OFF", "-DFLATLINE_EXAMPLES=OFF")
        self.assertIn("No build type given: building Release", said)
        self.assertGreater(len(self.commands()), 10)
        for command in self.commands():
            self.assertIn(" -O2 -DNDEBUG ", command)

    def test_flatline_with_a_type_keeps_it(self):
        said = self.configure(SOURCE, "-DFLATLINE_PROGRAM=OFF", "-DFLATLINE_EXAMPLES=OFF", "-DCMAKE_BUILD_TYPE=Debug")
        self.assertNotIn("No build type given", said)
        for command in self.commands():
            self.assertNotIn("-O2", command)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
