#!/usr/bin/env python3
"""Builds src/core without an operating system, links it with a program that has its own start, and runs that.

    freestanding.py --source ROOT --work FOLDER [--emulator WORD...] --compiler CC [--flags=-m32]

Also holds the archive to its short list of undefined symbols. Exit status
0: built and ran well. 1: not. 77: the compiler cannot build for this target, or this machine cannot run it; said why.
"""
import argparse
import glob
import os
import shutil
import subprocess
import sys

import undefined_symbols

# gcc's <limits.h> includes that of the system's library, if there is one, unless this macro is defined.
ALONE = ["-ffreestanding", "-D_LIBC_LIMITS_H_"]
STRICT = ALONE + ["-std=c11", "-O2", "-fno-stack-protector", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion",
          "-Wshadow", "-Werror"]


def run(command):
    return subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--emulator", nargs="*", default=[])
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--flags", default="", help="for every compilation")
    arguments = parser.parse_args()
    compiler = [arguments.compiler] + arguments.flags.split()
    if not shutil.which(arguments.compiler):
        print("%s is not installed: skipped" % arguments.compiler)
        return 77
    os.makedirs(arguments.work, exist_ok=True)
    empty, objects = os.path.join(arguments.work, "empty.c"), []
    with open(empty, "w") as file:
        file.write("#include <stdint.h>\n#include <stddef.h>\n#include <stdbool.h>\n#include <limits.h>\n")
    target = run(compiler + ALONE + ["-c", empty, "-o", empty + ".o"])
    if target.returncode != 0:
        print("%s cannot compile the smallest file: skipped\n%s" % (" ".join(compiler), target.stdout))
        return 77
    here = os.path.dirname(os.path.abspath(__file__))
    core = sorted(glob.glob(os.path.join(arguments.source, "src/core/*.c")))
    for source in core + [os.path.join(arguments.source, "examples/bare_metal_start.c"),
                          os.path.join(here, "freestanding.c")]:
        objects.append(os.path.join(arguments.work, os.path.basename(source)[:-2] + ".o"))
        result = run(compiler + STRICT + ["-I", os.path.join(arguments.source, "include"), "-c", source, "-o",
                                          objects[-1]])
        if result.returncode != 0:
            print(result.stdout)
            return 1
    archive, program = os.path.join(arguments.work, "libcore.a"), os.path.join(arguments.work, "program")
    if os.path.exists(archive):
        os.remove(archive)
    subprocess.run(["ar", "rc", archive] + objects[:-2], check=True)
    machine = run(compiler + ["-dumpmachine"]).stdout.split("-")[0]
    if "-m32" in compiler:
        machine = "i686"
    if run([sys.executable, undefined_symbols.__file__, archive, machine]).returncode != 0:
        print(run([sys.executable, undefined_symbols.__file__, archive, machine]).stdout)
        return 1
    result = run(compiler + ["-nostdlib", "-nostartfiles", "-static", "-no-pie", *objects[-2:], archive, "-o", program])
    if result.returncode != 0:
        print(result.stdout)
        return 1
    try:
        result = run(arguments.emulator + [program])
    except OSError as error:
        print("built for %s; this machine cannot run it (%s): skipped" % (machine, error))
        return 77
    print("%s: exit status %d%s" % (machine, result.returncode, "\n" + result.stdout if result.stdout else ""))
    return 0 if result.returncode == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
