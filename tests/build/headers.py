#!/usr/bin/env python3
"""Compiles every public header first and alone, twice in one file, in every language it must serve.

    headers.py INCLUDE_FOLDER COMPILER...

C headers as C11, C++17 and C++23, C++ headers as C++17 and C++23; all warnings are errors. A compiler that is not
there is named and left out; at least one must be there.
"""
import os
import shutil
import subprocess
import sys
import tempfile

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Wundef", "-Werror"]
LANGUAGES = {".h": [("c", "c11"), ("c++", "c++17"), ("c++", "c++2b")], ".hpp": [("c++", "c++17"), ("c++", "c++2b")]}


def complaints(folder, compilers):
    """(number of compilations, what the compilers said)"""
    done, said = 0, []
    headers = sorted(os.path.join(parent, file)[len(folder):].lstrip("/")
                     for parent, _, files in os.walk(folder) for file in files if file.endswith((".h", ".hpp")))
    with tempfile.TemporaryDirectory() as scratch:
        source = os.path.join(scratch, "alone.c")
        for header in headers:
            with open(source, "w") as file:
                file.write("#include <%s>\n#include <%s>\nextern int not_empty;\n" % (header, header))
            for language, standard in LANGUAGES[os.path.splitext(header)[1]]:
                for compiler in compilers:
                    strict = ["-Wstrict-prototypes", "-Wmissing-prototypes"] if language == "c" else []
                    command = [compiler, "-fsyntax-only", "-x", language, "-std=" + standard, "-I", folder]
                    result = subprocess.run(command + WARNINGS + strict + [source], text=True, stdout=subprocess.PIPE,
                                            stderr=subprocess.STDOUT)
                    done += 1
                    if result.returncode != 0:
                        said.append("%s as %s by %s:\n%s" % (header, standard, compiler, result.stdout))
    return done, said


def main():
    folder, compilers = os.path.abspath(sys.argv[1]), []
    for compiler in sys.argv[2:]:
        if shutil.which(compiler):
            compilers.append(compiler)
        else:
            print("%s is not installed: left out" % compiler)
    done, said = complaints(folder, compilers)
    for text in said:
        print(text)
    print("%d compilations, %d failed" % (done, len(said)))
    return 1 if said or done == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
