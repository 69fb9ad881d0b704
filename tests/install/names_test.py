#!/usr/bin/env python3
"""Trees with libraries that names.py must refuse, and ones that it must not.

    names_test.py COMPILER
"""
import os
import subprocess
import sys
import tempfile

CHECK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "names.py")
HIDDEN = '__attribute__((visibility("hidden"))) '

# A second archive in the same tree.
OTHER = "lib/libother.a"

# what is built, its source, expected message (None: none), source of the other archive, if there is one
CASES = [
    ("lib/libcase.a", "int flat_one; int flat_two;", "libcase.a and", "int flat_two; int flat_three;"),
    ("lib/libcase.a", "int flat_one; " + HIDDEN + "int flat_two;", "define flat_two", "int flat_two; int flat_three;"),
    ("lib/libcase.a", "int flat_one; int flat_two;", None, "int flat_two;"),
    ("lib/libcase.a", "int flat_one; static int flat_two;", None, "int flat_two; int flat_three;"),
    ("lib/libcase.a", "int flat_one(void) { return 1; }", None),
    ("lib/libcase.a", "int flat_one; int space;", "defines space"),
    ("lib/libcase.a", "int flat_one; " + HIDDEN + "int heaps;", "defines heaps"),
    ("lib/libcase.a", "int flat_one; __attribute__((weak)) int policy(void) { return 1; }", "defines policy"),
    ("lib/libcase.a", "int flat_one; static int space; int flat_two(void) { return space; }", None),
    ("lib/libcase.a", "int flatline_version;", "defines flatline_version"),
    ("lib/libcase.a", "static int one;", "defines nothing"),
    ("lib/libcase.a", "void *malloc(unsigned long n) { return (void *)n; } int _Znwm; int _ZdlPvm;", None),
    ("lib/libcase.a", "int _ZN4flat3oneEv;", "defines _ZN4flat3oneEv"),
    ("lib/deep/libcase.so.0.1.0", "int flat_one(void) { return 1; } " + HIDDEN + "int two(void) { return 2; }", None),
    ("lib/deep/libcase.so.0.1.0", "int flat_one; int two(void) { return 2; }", "defines two"),
    ("libexec/flatline/libcase.so", "int one;", "defines one"),
    ("lib/libcase.so", "int sigaction(void) { return 1; }", "defines sigaction"),
    ("lib/libflatline-audit.so", "int sigaction(void) { return 1; }", None),
    ("lib/libflatline-audit.so", "int sigactions(void) { return 1; }", "defines sigactions"),
    ("libexec/flatline/peers/libcase.so", "int one;", "0 libraries"),
    ("lib/nothing.txt", "int one;", "0 libraries"),
]


def build(compiler, path, source):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if path.endswith(".a"):
        subprocess.run([compiler, "-w", "-fno-builtin", "-xc", "-c", "-", "-o", path + ".o"], input=source, text=True,
                       check=True)
        subprocess.run(["ar", "rc", path, path + ".o"], check=True)
    else:
        subprocess.run([compiler, "-w", "-shared", "-fPIC", "-xc", "-", "-o", path], input=source, text=True, check=True)


def main():
    wrong = 0
    for library, source, said, *other in CASES:
        with tempfile.TemporaryDirectory() as prefix:
            build(sys.argv[1], os.path.join(prefix, library), source)
            for its_source in other:
                build(sys.argv[1], os.path.join(prefix, OTHER), its_source)
            result = subprocess.run([sys.executable, CHECK, prefix], text=True, stdout=subprocess.PIPE)
        seen = result.returncode == 0 if said is None else result.returncode == 1 and said in result.stdout
        print("%s %s: %s" % ("ok  " if seen else "MISS", library, said or "nothing to object to"))
        wrong += not seen
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
