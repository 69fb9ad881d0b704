#!/usr/bin/env python3
"""Compiles every public header first and alone, twice in one file, in every language it must serve.

    headers.py INCLUDE_FOLDER COMPILER...

C headers as C11, C23, C++17 and C++23, C++ headers as C++17, C++20 and C++23. Whoever includes them may be strict: all
warnings are errors that a program of its own kind can avoid. A compiler that is not there is named and left out; at
least one must be there.
"""
import os
import shutil
import subprocess
import sys
import tempfile

LANGUAGES = {".h": [("c", "c11"), ("c", "c2x"), ("c++", "c++17"), ("c++", "c++2b")],
             ".hpp": [("c++", "c++17"), ("c++", "c++20"), ("c++", "c++2b")]}
WARNINGS = """-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wundef -Wcast-align -Wcast-qual
    -Wdouble-promotion -Wformat=2 -Wmissing-declarations -Wredundant-decls -Wnull-dereference -Wunused
    -Wimplicit-fallthrough -Wswitch-enum -Werror""".split()
OF_LANGUAGE = {"c": "-Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition -Wbad-function-cast "
                    "-Wnested-externs -Wc++-compat".split(),
               "c++": "-Wold-style-cast -Wzero-as-null-pointer-constant -Wnon-virtual-dtor -Woverloaded-virtual "
                      "-Wextra-semi".split()}
# By compiler and language. For clang: all warnings except those about older standards and the layout of structures, and
# those that forbid classes with virtual functions in headers, or all use of pointers.
OF_COMPILER = {("gcc", "c++"): "-Wuseless-cast -Wduplicated-cond -Wduplicated-branches -Wlogical-op -Wsuggest-override "
                               "-Wctor-dtor-privacy -Wstrict-null-sentinel".split(),
               ("gcc", "c"): "-Wduplicated-cond -Wduplicated-branches -Wlogical-op".split(),
               ("clang", "c++"): "-Weverything -Wno-c++98-compat -Wno-c++98-compat-pedantic -Wno-c++20-compat "
                                 "-Wno-pre-c++17-compat -Wno-pre-c++20-compat-pedantic -Wno-padded -Wno-weak-vtables "
                                 "-Wno-unsafe-buffer-usage -Wno-c99-extensions".split(),
               ("clang", "c"): "-Weverything -Wno-padded -Wno-unsafe-buffer-usage -Wno-declaration-after-statement "
                               "-Wno-pre-c11-compat -Wno-pre-c23-compat -Wno-c23-compat".split()}


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
                    kind = "clang" if "clang" in os.path.basename(compiler) else "gcc"
                    strict = OF_LANGUAGE[language] + OF_COMPILER[kind, language]
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
