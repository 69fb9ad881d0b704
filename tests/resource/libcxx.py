#!/usr/bin/env python3
"""Builds the tests of the C++ headers with clang 19 and libc++, its standard library, and runs them.

    libcxx.py --source ROOT --work FOLDER

GoogleTest is built from its source, since the packaged one was built for the other library. Exit status 0: every test
passed. 1: not. 77: clang, libc++ or GoogleTest's source is missing.
"""
import argparse
import os
import shutil
import subprocess
import sys

FLAGS = "-stdlib=libc++"
PROBE = "#include <memory_resource>\nint main() { return std::pmr::get_default_resource() == nullptr; }\n"


def missing():
    """What is not installed, or None."""
    for program in ("clang-19", "clang++-19", "ninja"):
        if not shutil.which(program):
            return program
    probe = subprocess.run(["clang++-19", FLAGS, "-std=c++17", "-x", "c++", "-", "-o", os.devnull], input=PROBE,
                           text=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if probe.returncode != 0:
        return "libc++ (Debian: libc++-19-dev, libc++abi-19-dev)"
    return None if os.path.isdir("/usr/src/googletest") else "GoogleTest's source (Debian: googletest)"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", required=True)
    parser.add_argument("--work", required=True)
    arguments = parser.parse_args()
    absent = missing()
    if absent:
        print("%s is not installed: skipped" % absent)
        return 77
    # This tests the other standard library, not clang's optimiser, which the clang preset covers.
    for command in (
        ["cmake", "-S", arguments.source, "-B", arguments.work, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
         "-DCMAKE_C_COMPILER=clang-19", "-DCMAKE_CXX_COMPILER=clang++-19", "-DCMAKE_CXX_FLAGS=" + FLAGS,
         "-DCMAKE_CXX_FLAGS_RELEASE=-O0 -DNDEBUG",
         "-DFLATLINE_PROGRAM=OFF", "-DFLATLINE_EXAMPLES=OFF", "-DFLATLINE_TESTS=ON", "-DFLATLINE_WERROR=ON"],
        ["cmake", "--build", arguments.work, "--target", "resource-tests"],
        ["ctest", "--test-dir", os.path.join(arguments.work, "tests", "resource"), "-L", "core", "--output-on-failure"],
    ):
        print("+ " + " ".join(command), flush=True)
        if subprocess.run(command, stdin=subprocess.DEVNULL).returncode != 0:
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
