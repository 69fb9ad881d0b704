#!/usr/bin/env python3
"""Configures, builds and tests src/core and src/os for aarch64 in a build folder of its own.

    aarch64.py --source ROOT --work FOLDER

Exit status 0: every test passed under qemu. 1: not. 77: the cross compiler, qemu or GoogleTest's source is missing.
"""
import argparse
import os
import shutil
import subprocess
import sys


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", required=True)
    parser.add_argument("--work", required=True)
    arguments = parser.parse_args()
    for program in ("aarch64-linux-gnu-gcc", "aarch64-linux-gnu-g++", "qemu-aarch64", "ninja"):
        if not shutil.which(program):
            print("%s is not installed: skipped" % program)
            return 77
    if not os.path.isdir("/usr/src/googletest"):
        print("GoogleTest's source (Debian: googletest) is not installed: skipped")
        return 77
    # The tests run at a tenth of their length, because qemu is about ten times slower. The tests (C++) are built with
    # little optimisation, the library (C) as released. The long searches run in the release build only.
    environment = dict(os.environ, FLATLINE_TEST_SCALE=os.environ.get("FLATLINE_TEST_SCALE", "0.1"))
    for command in (
        ["cmake", "-S", arguments.source, "-B", arguments.work, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
         "-DCMAKE_TOOLCHAIN_FILE=" + os.path.join(os.path.abspath(arguments.source), "cmake/toolchain-aarch64.cmake"),
         "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG", "-DFLATLINE_PROGRAM=OFF", "-DFLATLINE_EXAMPLES=OFF",
         "-DFLATLINE_TESTS=ON", "-DFLATLINE_WERROR=ON"],
        ["cmake", "--build", arguments.work, "--target", "core-tests"],
        ["ctest", "--test-dir", arguments.work, "-L", "core", "-LE", "long", "--output-on-failure"],
    ):
        print("+ " + " ".join(command), flush=True)
        if subprocess.run(command, env=environment, stdin=subprocess.DEVNULL).returncode != 0:
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
