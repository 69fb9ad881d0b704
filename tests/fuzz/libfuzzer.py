#!/usr/bin/env python3
"""Builds one fuzz target by clang-19 with libFuzzer and the address and undefined-behaviour sanitizers, and runs it.

    libfuzzer.py --source ROOT --target NAME --work FOLDER

A fixed number of inputs (times FLATLINE_TEST_SCALE) from a fixed seed, beginning with the committed corpus: the same
run everywhere. An input that fails is kept in FOLDER. Exit status 0: none failed. 77: clang-19 or its libFuzzer is
missing.
"""
import argparse
import glob
import os
import shutil
import subprocess
import sys

RUNS = {"options": 200000, "operations": 30000, "arena": 100000, "heap": 30000, "smaps": 100000, "plan_toml": 30000,
        "plan_tracking": 50000}
SANITIZERS = "address,undefined"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", required=True)
    parser.add_argument("--target", required=True, choices=sorted(RUNS))
    parser.add_argument("--work", required=True)
    arguments = parser.parse_args()
    if not shutil.which("clang-19") or not shutil.which("clang++-19"):
        print("clang-19 is not installed: skipped")
        return 77
    work, source = os.path.abspath(arguments.work), os.path.abspath(arguments.source)
    os.makedirs(os.path.join(work, "found"), exist_ok=True)
    empty = os.path.join(work, "empty.cpp")
    with open(empty, "w") as file:
        file.write('extern "C" int LLVMFuzzerTestOneInput(const unsigned char *, unsigned long) { return 0; }\n')
    flags = ["-O1", "-g1", "-fno-sanitize-recover=all", "-I", os.path.join(source, "include"), "-I",
             os.path.join(source, "tests"), "-I", os.path.join(source, "src"), "-DFMT_HEADER_ONLY"]
    probe = subprocess.run(["clang++-19", "-fsanitize=fuzzer," + SANITIZERS, empty, "-o", os.path.join(work, "empty")],
                           text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if probe.returncode != 0:
        print("clang-19 has no libFuzzer here (Debian: libclang-rt-19-dev): skipped\n" + probe.stdout)
        return 77
    objects = []
    parts = ["src/core/*.c", "src/os/*.c"] + (["src/plan/*.cpp"] if arguments.target.startswith("plan_") else [])
    library = [path for part in parts for path in sorted(glob.glob(os.path.join(source, part)))
               if os.path.basename(path) != "valgrind.c"]
    for path in library + [os.path.join(source, "tests/core/arena_calls.c"),
                           os.path.join(source, "tests/fuzz", arguments.target + ".cpp")]:
        objects.append(os.path.join(work, os.path.basename(path) + ".o"))
        language = ["clang-19", "-std=c11"] if path.endswith(".c") else ["clang++-19", "-std=c++20"]
        subprocess.run(language + flags + ["-fsanitize=fuzzer-no-link," + SANITIZERS, "-c", path, "-o", objects[-1]],
                       check=True)
    program = os.path.join(work, "fuzz_" + arguments.target)
    subprocess.run(["clang++-19", "-fsanitize=fuzzer," + SANITIZERS] + objects + ["-o", program], check=True)
    runs = max(1, int(RUNS[arguments.target] * float(os.environ.get("FLATLINE_TEST_SCALE", "1"))))
    corpus = os.path.join(source, "tests/fuzz/corpus", arguments.target)
    result = subprocess.run([program, "-seed=1", "-runs=%d" % runs, "-max_len=1024", "-print_final_stats=1",
                             "-artifact_prefix=" + work + "/", os.path.join(work, "found"), corpus], text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    lines = result.stdout.splitlines()
    print("\n".join(lines if result.returncode != 0 else [l for l in lines if "stat::" in l or "DONE" in l]))
    return 0 if result.returncode == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
