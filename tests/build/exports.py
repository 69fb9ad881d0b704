#!/usr/bin/env python3
"""Holds a shared library to exporting only its own names, and to having a name of its own.

    exports.py LIBRARY PREFIX SONAME
"""
import re
import subprocess
import sys


def main():
    library, prefix, soname = sys.argv[1:]
    listing = subprocess.run(["nm", "-D", "--defined-only", library], check=True, text=True,
                             stdout=subprocess.PIPE).stdout
    names = [line.split()[-1].split("@")[0] for line in listing.splitlines()]
    wrong = ["%s is exported, but does not begin with %s: hide it" % (name, prefix)
             for name in names if not name.startswith(prefix)]
    if not names:
        wrong.append("nothing is exported: mark the public functions FLAT_API")
    dynamic = subprocess.run(["readelf", "-d", library], check=True, text=True, stdout=subprocess.PIPE).stdout
    found = re.search(r"\(SONAME\).*\[(.*)\]", dynamic)
    if found is None or found.group(1) != soname:
        wrong.append("SONAME is %s, expected %s" % (found.group(1) if found else "missing", soname))
    for line in wrong:
        print(line)
    print("%d symbols exported, %d objections" % (len(names), len(wrong)))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
