#!/usr/bin/env python3
"""Archives that undefined_symbols.py must refuse, and ones that it must not.

    undefined_symbols_test.py COMPILER
"""
import os
import subprocess
import sys
import tempfile

CHECK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "undefined_symbols.py")

# sources of the archive, the symbol that must be reported (None: none)
CASES = [
    (["int add(int a, int b); int add(int a, int b) { return a + b; }"], None),
    (["extern int there(void); int here(void); int here(void) { return there(); }",
      "int there(void); int there(void) { return 1; }"], None),
    (["void *memset(void *, int, unsigned long); void wipe(char *p, unsigned long n); "
      "void wipe(char *p, unsigned long n) { memset(p, 0, n); }"], None),
    (["#include <stdio.h>\nvoid say(int n); void say(int n) { printf(\"%d of\\n\", n); }"], "printf"),
    (["extern int of_somebody; int get(void); int get(void) { return of_somebody; }"], "of_somebody"),
    (["__attribute__((weak)) void maybe(void); void go(void); void go(void) { if (maybe) maybe(); }"], "maybe"),
    (["static _Thread_local int mine; int next(void); int next(void) { return ++mine; }"], "__tls_get_addr"),
    (["int here(void); int here(void) { return 1; }",
      "void abort(void); void stop(void); void stop(void) { abort(); }"], "abort"),
    ([""], "defines nothing"),
]


def main():
    compiler, wrong = sys.argv[1], 0
    for number, (sources, named) in enumerate(CASES):
        with tempfile.TemporaryDirectory() as folder:
            objects = []
            for i, text in enumerate(sources):
                source = os.path.join(folder, "member%d.c" % i)
                with open(source, "w") as file:
                    file.write(text + "\n")
                objects.append(source[:-2] + ".o")
                subprocess.run([compiler, "-O2", "-fPIC", "-c", source, "-o", objects[-1]], check=True)
            archive = os.path.join(folder, "libcase.a")
            subprocess.run(["ar", "rc", archive] + objects, check=True)
            result = subprocess.run([sys.executable, CHECK, archive], text=True, stdout=subprocess.PIPE)
            seen = result.returncode == 0 if named is None else result.returncode == 1 and named in result.stdout
            print("%s case %d: %s" % ("ok  " if seen else "MISS", number, named or "nothing to object to"))
            if not seen:
                wrong += 1
                print(result.stdout)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
