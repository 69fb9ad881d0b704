#!/usr/bin/env python3
"""Under Valgrind pool and heap tell memcheck which blocks are live: misuse of a block is seen, right use is not.

    valgrind.py --source ROOT --compiler CC --work FOLDER

Builds the library's sources with FLATLINE_VALGRIND and one program, and runs each of its scenes under memcheck. Exit
status 0: all seen. 1: some not. 77: valgrind or its headers are not installed.
"""
import argparse
import glob
import os
import shutil
import subprocess
import sys

# scene, what memcheck must say ("" where it must find nothing)
SCENES = [
    ("right_use", ""),
    ("use_after_free", "Invalid read of size 1"),
    ("write_after_free", "Invalid write of size 1"),
    ("uninitialised_read", "uninitialised value"),
    ("stale_content", "uninitialised value"),
    ("overflow_by_one", "Invalid write of size 1"),
    ("never_handed_out", "Invalid read of size 1"),
    ("after_reset", "Invalid read of size 1"),
    ("usable_size", ""),
    ("after_destroy", ""),
    ("heap_right_use", ""),
    ("heap_realloc", ""),
    ("heap_overflow_after_shrinking", "Invalid write of size 1"),
    ("heap_read_of_what_was_given_back", "Invalid read of size 1"),
    ("heap_overflow_after_growing", "Invalid write of size 1"),
    ("heap_uninitialised_after_growing", "uninitialised value"),
    ("heap_uninitialised_after_moving", "uninitialised value"),
    ("heap_use_after_free", "Invalid read of size 1"),
    ("heap_use_after_moving", "Invalid read of size 1"),
    ("heap_overflow_by_one", "Invalid write of size 1"),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", required=True)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--work", required=True)
    arguments = parser.parse_args()
    if not shutil.which("valgrind") or not os.path.exists("/usr/include/valgrind/memcheck.h"):
        print("valgrind or valgrind/memcheck.h is not installed: skipped")
        return 77
    os.makedirs(arguments.work, exist_ok=True)
    program = os.path.join(arguments.work, "scenes")
    sources = [path for part in ("src/core/*.c", "src/os/*.c")
               for path in glob.glob(os.path.join(arguments.source, part))]
    here = os.path.dirname(os.path.abspath(__file__))
    subprocess.run([arguments.compiler, "-std=c11", "-O1", "-g", "-DFLATLINE_VALGRIND", "-Wall", "-Wextra", "-Werror",
                    "-I", os.path.join(arguments.source, "include"), os.path.join(here, "valgrind_scenes.c"),
                    "-o", program] + sources, check=True)
    wrong = 0
    for scene, said in SCENES:
        result = subprocess.run(["valgrind", "--error-exitcode=99", "--quiet", program, scene], text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        seen = result.returncode == 0 if not said else result.returncode == 99 and said in result.stdout
        print("%s %s" % ("ok  " if seen else "MISS", scene))
        if not seen:
            wrong += 1
            print("exit status %d, expected %s\n%s" % (result.returncode, said or "no complaint", result.stdout))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
