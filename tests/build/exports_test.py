#!/usr/bin/env python3
"""Libraries that exports.py must refuse, and one that it must not.

    exports_test.py COMPILER
"""
import os
import subprocess
import sys
import tempfile

CHECK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "exports.py")

# source, flags, expected message (None: none)
CASES = [
    ("int flat_one(void) { return 1; }", ["-Wl,-soname,libcase.so.0"], None),
    ("int flat_one(void) { return 1; } int helper(void) { return 2; }", ["-Wl,-soname,libcase.so.0"],
     "helper is exported"),
    ("int flat_one(void) { return 1; }", [], "SONAME is missing"),
    ("int flat_one(void) { return 1; }", ["-Wl,-soname,libcase.so.1"], "SONAME is libcase.so.1"),
    ("static int one(void) { return 1; } __attribute__((visibility(\"hidden\"))) int two(void) { return one(); }",
     ["-Wl,-soname,libcase.so.0"], "nothing is exported"),
]


def main():
    compiler, wrong = sys.argv[1], 0
    for text, flags, said in CASES:
        with tempfile.TemporaryDirectory() as folder:
            source, library = os.path.join(folder, "case.c"), os.path.join(folder, "libcase.so")
            with open(source, "w") as file:
                file.write(text + "\n")
            subprocess.run([compiler, "-shared", "-fPIC", source, "-o", library] + flags, check=True)
            result = subprocess.run([sys.executable, CHECK, library, "flat_", "libcase.so.0"], text=True,
                                    stdout=subprocess.PIPE)
            seen = result.returncode == 0 if said is None else result.returncode == 1 and said in result.stdout
            print("%s %s" % ("ok  " if seen else "MISS", said or "nothing to object to"))
            wrong += not seen
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
