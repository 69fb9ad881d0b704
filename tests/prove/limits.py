#!/usr/bin/env python3
"""Builds the library by one compiler, holds `flatline prove` to the limits of what was proved of it before, and compares
its counts with those of the second implementation.

    limits.py --flatline PROGRAM --source ROOT --limits FOLDER --work FOLDER [--write] MACHINE-COMPILER-LEVEL...

With --write, today's figures become the limits.
"""
import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys

import by_objdump

FIGURES = ("instructions", "loads", "stores", "accesses", "branches", "atomics", "stack_bytes")

#: Functions of the library whose cost is stated apart, and the one reason why each has no bound of its own.
APART = {"flat_engine_copy": "a loop without a stated bound",  # once for each 32 bytes of a payload
         "flat_engine_wake": "calls syscall, which is not in this file",
         # it chooses a worker, and counts otherwise what `flat_engine_submit_any` is proved for
         "flat_engine_submit_or_refuse": None,
         "flat_engine_post_accounted": None}  # by a submitter that chooses workers: it has a bound of its own

COMPILERS = {
    "x86_64-gcc": ["-DCMAKE_C_COMPILER=gcc", "-DCMAKE_CXX_COMPILER=g++"],
    "x86_64-clang": ["-DCMAKE_C_COMPILER=clang-19", "-DCMAKE_CXX_COMPILER=clang++-19"],
    "aarch64-gcc": ["-DCMAKE_TOOLCHAIN_FILE=cmake/toolchain-aarch64.cmake"],
}

MACHINES = {"x86_64": by_objdump.X86, "aarch64": by_objdump.AArch64}


def build(source, folder, built):
    """The shared library of ROOT, built in a folder that is kept for the next time."""
    compiler, level = built.rsplit("-", 1)
    for command in (["cmake", "-G", "Ninja", "-S", source, "-B", folder, "-DCMAKE_BUILD_TYPE=Release", "-DFLATLINE_PROGRAM=OFF",
                     "-DFLATLINE_PEERS=OFF", "-DFLATLINE_EXAMPLES=OFF", "-DCMAKE_C_FLAGS_RELEASE=-%s -DNDEBUG" % level,
                     *COMPILERS[compiler]],
                    ["cmake", "--build", folder, "--target", "flatline"]):
        made = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if made.returncode != 0:
            sys.exit("%s\n%s" % (" ".join(command), made.stdout))
    return os.path.join(folder, "lib", "libflatline.so")


def prove(flatline, library, *arguments):
    return subprocess.run([flatline, "prove", library, *arguments], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def proved(flatline, library):
    """The name and the figures of each function."""
    proving = subprocess.run([flatline, "prove", library, "--json", "-"], text=True, stdout=subprocess.PIPE, check=True)
    return [{key: function[key] for key in ("name",) + FIGURES} for function in json.loads(proving.stdout)["functions"]]


def stated(source):
    """What the library's source states with FLAT_BOUNDED, by function: lists of values by key."""
    text = "".join(path.read_text() for folder in ("core", "engine")
                   for path in sorted(pathlib.Path(source, "src", folder).glob("*.c")))
    statements = {}
    for name, rest in re.findall(r'^FLAT_BOUNDED\("(\w+)(.*)"\);', text, re.M):
        statement = statements[name] = collections.defaultdict(list)
        for key, value in (each.split("=") for each in rest.split()):
            statement[key].append(value)
    return statements


def disagreements(functions, library, machine, source):
    """Where the second implementation counts otherwise."""
    program = by_objdump.Program(library, machine)
    statements = stated(source)
    if sorted(statements) != sorted(function["name"] for function in functions):
        yield "other functions are proved than the source marks: " + ", ".join(statements)
    for function in functions:
        statement = statements.get(function["name"], {})
        hands_over = sum(int(places) for places in statement.get("hands-over", []))
        counted = by_objdump.bound_of(program, function["name"], statement.get("apart", []), hands_over)
        for figure in FIGURES:
            if counted[figure] != function[figure]:
                yield "%s: %d %s are proved, and %d by objdump" % (function["name"], function[figure], figure, counted[figure])


def unexpected_apart(flatline, library):
    """Where a function that is stated apart does more than is said of it."""
    names = [name for name, reason in APART.items() if reason is not None]
    proving = prove(flatline, library, *names, "--json", "-")
    for function in json.loads(proving.stdout)["functions"]:
        # Compilers may unroll a loop, and then have two for one line. Before Armv8.1 an exchange of a word is a loop.
        found = sorted({"%s: %s" % (place_of(each), each["text"]) for each in function["refusals"]
                        if "an outlined atomic" not in each["text"]})
        if len(found) != 1 or not found[0].endswith(": " + APART[function["name"]]):
            yield "%s: not only `%s`: %s" % (function["name"], APART[function["name"]], "; ".join(found))


def place_of(refusal):
    """The line, or where the file has none, the place in the machine code."""
    return "%s:%d" % (os.path.basename(refusal["file"]), refusal["line"]) if "line" in refusal else refusal["place"]


def write(functions, path):
    """A line for each function, so that a change of one is a change of one."""
    lines = ",\n  ".join(json.dumps(function) for function in functions)
    with open(path, "w") as out:
        out.write('{"schema": "flatline.prove/1", "functions": [\n  %s\n]}\n' % lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option in ("--flatline", "--source", "--limits", "--work"):
        parser.add_argument(option, required=True)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("built", nargs="+", metavar="MACHINE-COMPILER-LEVEL")
    arguments = parser.parse_args()
    status = 0
    for built in arguments.built:
        library = build(arguments.source, os.path.join(arguments.work, built), built)
        limits = os.path.join(arguments.limits, built + ".json")
        functions = proved(arguments.flatline, library)
        if arguments.write:
            write(functions, limits)
        proving = prove(arguments.flatline, library, "--limit", limits)
        print(proving.stdout)
        status = max(status, proving.returncode)
        for each in (*disagreements(functions, library, MACHINES[built.split("-")[0]], arguments.source),
                     *unexpected_apart(arguments.flatline, library)):
            print(each)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
