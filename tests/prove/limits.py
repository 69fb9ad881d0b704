#!/usr/bin/env python3
"""Builds the library by one compiler and holds `flatline prove` to the limits of what was proved of it before.

    limits.py --flatline PROGRAM --source ROOT --limits FOLDER --work FOLDER [--write] MACHINE-COMPILER-LEVEL...

With --write, today's figures become the limits.
"""
import argparse
import json
import os
import subprocess
import sys

FIGURES = ("instructions", "loads", "stores", "accesses", "branches", "atomics", "stack_bytes")

COMPILERS = {
    "x86_64-gcc": ["-DCMAKE_C_COMPILER=gcc", "-DCMAKE_CXX_COMPILER=g++"],
    "x86_64-clang": ["-DCMAKE_C_COMPILER=clang-19", "-DCMAKE_CXX_COMPILER=clang++-19"],
    "aarch64-gcc": ["-DCMAKE_TOOLCHAIN_FILE=cmake/toolchain-aarch64.cmake"],
}


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


def write(flatline, library, path):
    """A line for each function, so that a change of one is a change of one."""
    proving = subprocess.run([flatline, "prove", library, "--json", "-"], text=True, stdout=subprocess.PIPE, check=True)
    functions = [{key: function[key] for key in ("name",) + FIGURES} for function in json.loads(proving.stdout)["functions"]]
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
        if arguments.write:
            write(arguments.flatline, library, limits)
        proving = prove(arguments.flatline, library, "--limit", limits)
        print(proving.stdout)
        status = max(status, proving.returncode)
    return status


if __name__ == "__main__":
    sys.exit(main())
