#!/usr/bin/env python3
"""Headers that hosted.py must refuse, and one that it must not.

    hosted_test.py COMPILER
"""
import os
import subprocess
import sys
import tempfile

import hosted

CORE, SYSTEM = "int flat_one(int n) { return n; }", "int flat_map(int n) { return n; }"

# declarations, expected message (None: none)
CASES = [
    ("FLAT_API int flat_one(int n);\nFLAT_HOSTED_API FLAT_NODISCARD const char *\nflat_map(int n);", None),
    ("FLAT_API int flat_one(int n);\nFLAT_API int flat_map(int n);", "flat_map is declared FLAT_API"),
    ("FLAT_HOSTED_API int flat_one(int n);\nFLAT_HOSTED_API int flat_map(int n);", "flat_one is declared FLAT_HOSTED_API"),
    ("FLAT_API int flat_one(int n);", "nothing was looked at"),
]


def archive(compiler, folder, name, *texts):
    objects = []
    for number, text in enumerate(texts):
        objects.append(os.path.join(folder, "%s%d.o" % (name, number)))
        subprocess.run([compiler, "-x", "c", "-", "-c", "-o", objects[-1]], input=text, text=True, check=True)
    made = os.path.join(folder, name + ".a")
    subprocess.run(["ar", "rc", made] + objects, check=True)
    return made


def main():
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        core = archive(sys.argv[1], folder, "core", CORE)
        everything = archive(sys.argv[1], folder, "all", CORE, SYSTEM)
        for text, said in CASES:
            with open(os.path.join(folder, "case.h"), "w", encoding="ascii") as file:
                file.write(text + "\n")
            found = list(hosted.objections(folder, core, everything))
            seen = not found if said is None else any(said in line for line in found)
            print("%s %s" % ("ok  " if seen else "MISS", said or "nothing to object to"))
            wrong += not seen
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
