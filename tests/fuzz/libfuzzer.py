#!/usr/bin/env python3
"""Builds one fuzz target by clang-19 with libFuzzer and the address and undefined-behaviour sanitizers, and runs it.

    libfuzzer.py --source ROOT --library FOLDER
    libfuzzer.py --source ROOT --library FOLDER --target NAME --work FOLDER

The first compiles what the targets link, once for all, on all processors; the second takes it from there.

A fixed number of inputs (times FLATLINE_TEST_SCALE) from a fixed seed, beginning with the committed corpus: the same
run everywhere. An input that fails is kept in the folder of --work. Exit status 0: none failed. 77: clang-19 or its
libFuzzer is missing.
"""
import argparse
import concurrent.futures
import glob
import os
import shutil
import subprocess
import sys

RUNS = {"options": 200000, "operations": 30000, "arena": 100000, "heap": 30000, "smaps": 100000, "plan_toml": 30000,
        "plan_tracking": 50000, "prove_file": 60000, "simulate_recording": 30000, "engine_page": 3000,
        "symbols_module": 8000, "audit_recording": 3000, "server_commands": 30000}
LONGEST = {"symbols_module": 8192}  # bytes of an input; of all others 1024
SANITIZERS = "address,undefined"
# Sources that every target links, and those that the targets of `flatline plan` and `flatline prove` link in addition.
EVERY = ["src/core/*.c", "src/os/*.c", "src/engine/*.c", "src/engine/dispatch/*.c", "tests/core/arena_calls.c"]
OTHERS = {"plan": ["src/plan/*.cpp"], "prove": ["src/prove/*.cpp", "src/symbols/*.cpp"],
          "server": ["src/server/%s.cpp" % each for each in ("broker", "command", "conversation", "question", "shard_exchange",
                                                             "statistics_text")],
          "simulate": ["src/simulate/*.cpp"], "symbols": ["src/symbols/*.cpp"],
          "audit": ["src/audit/[!aw]*.cpp", "src/audit/analysis.cpp", "src/symbols/*.cpp", "src/plan/*.cpp",
                    "src/cli/audit_document.cpp", "src/cli/chosen_part.cpp", "src/cli/plan_recording.cpp",
                    "src/cli/replay_work.cpp"],
          "engine": ["src/cli/engine_page.cpp", "src/cli/top_text.cpp", "src/simulate/*.cpp"]}
LIBRARIES = {"plan": ["-lfmt"], "engine": ["-lfmt"], "server": ["-lfmt"], "simulate": ["-lfmt"], "prove": ["-lfmt", "-lseccomp", "-lcapstone", "-lZydis", "-lZycore", "-liberty", "-ldw", "-lelf", "-lmd"],
             "audit": ["-lfmt", "-liberty", "-ldw", "-lelf", "-lseccomp", "-lunistring", "-lz", "-lzstd"],
             "symbols": ["-lfmt", "-lseccomp", "-liberty", "-ldw", "-lelf"]}


def missing(work):
    """What is not installed, or None."""
    if not shutil.which("clang-19") or not shutil.which("clang++-19"):
        return "clang-19 is not installed"
    empty = os.path.join(work, "empty.cpp")
    with open(empty, "w") as file:
        file.write('extern "C" int LLVMFuzzerTestOneInput(const unsigned char *, unsigned long) { return 0; }\n')
    probe = subprocess.run(["clang++-19", "-fsanitize=fuzzer," + SANITIZERS, empty, "-o", os.path.join(work, "empty")],
                           text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if probe.returncode != 0:
        return "clang-19 has no libFuzzer here (Debian: libclang-rt-19-dev):\n" + probe.stdout
    return None


def object_of(path, source, folder):
    """Where the object of a file is, in the folder. Files of one name in several parts have an object each."""
    return os.path.join(folder, os.path.relpath(path, source).replace(os.sep, "-") + ".o")


def compiled(path, source, folder):
    """The object of a file, in the folder."""
    made = object_of(path, source, folder)
    language = ["clang-19", "-std=c11"] if path.endswith(".c") else ["clang++-19", "-std=c++20"]
    subprocess.run(language + ["-O1", "-g1", "-fno-sanitize-recover=all", "-I", os.path.join(source, "include"), "-I",
                               os.path.join(source, "tests"), "-I", os.path.join(source, "src"),
                               "-fsanitize=fuzzer-no-link," + SANITIZERS, "-c", path, "-o", made], check=True)
    return made


def linked(source, patterns):
    """The files of the library that match."""
    return [path for pattern in patterns for path in sorted(glob.glob(os.path.join(source, pattern)))
            if os.path.basename(path) != "valgrind.c"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", required=True)
    parser.add_argument("--library", required=True)
    parser.add_argument("--target", choices=sorted(RUNS))
    parser.add_argument("--work")
    arguments = parser.parse_args()
    source, library = os.path.abspath(arguments.source), os.path.abspath(arguments.library)
    work = os.path.abspath(arguments.work or library)
    os.makedirs(os.path.join(work, "found"), exist_ok=True)
    absent = missing(work)
    if absent:
        print("skipped: " + absent)
        return 77
    if not arguments.target:
        paths = sorted(set(linked(source, EVERY + sum(OTHERS.values(), []))))
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(lambda path: compiled(path, source, library), paths))
        return 0
    verb = arguments.target.split("_")[0]
    parts = linked(source, EVERY + OTHERS.get(verb, []))
    objects = [object_of(path, source, library) for path in parts]
    objects.append(compiled(os.path.join(source, "tests/fuzz", arguments.target + ".cpp"), source, work))
    program = os.path.join(work, "fuzz_" + arguments.target)
    subprocess.run(["clang++-19", "-fsanitize=fuzzer," + SANITIZERS] + objects + LIBRARIES.get(verb, []) + ["-o", program],
                   check=True)
    runs = max(1, int(RUNS[arguments.target] * float(os.environ.get("FLATLINE_TEST_SCALE", "1"))))
    corpus = os.path.join(source, "tests/fuzz/corpus", arguments.target)
    longest = LONGEST.get(arguments.target, 1024)
    result = subprocess.run([program, "-seed=1", "-runs=%d" % runs, "-max_len=%d" % longest, "-print_final_stats=1",
                             "-artifact_prefix=" + work + "/", os.path.join(work, "found"), corpus], text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    lines = result.stdout.splitlines()
    print("\n".join(lines if result.returncode != 0 else [l for l in lines if "stat::" in l or "DONE" in l]))
    return 0 if result.returncode == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
