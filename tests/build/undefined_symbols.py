#!/usr/bin/env python3
"""Holds an archive to needing nothing but what every freestanding compiler may call.

    undefined_symbols.py ARCHIVE [TARGET]

TARGET (x86_64, aarch64, i686; default x86_64) selects which helpers of libgcc the target forces on the code.
Exit status 0: nothing else is undefined. 1: the symbols and the members that need them are named.
"""
import subprocess
import sys

ALLOWED = {"memset", "memcpy", "memmove", "memcmp"}
# A 32-bit processor has no instructions for the division of 64-bit numbers (set-up) and for their lowest set bit
# (aligned alloc). Alloc and free need neither.
FORCED = {
    "x86_64": set(),
    "aarch64": set(),
    "i686": {"__divdi3", "__udivdi3", "__umoddi3", "__udivmoddi4", "__ctzdi2", "_GLOBAL_OFFSET_TABLE_"},
}


def symbols(archive):
    """{symbol: members that need it} and the set of those that the archive itself defines."""
    listing = subprocess.run(["nm", "-A", archive], check=True, text=True, stdout=subprocess.PIPE).stdout
    needed, defined = {}, set()
    for line in listing.splitlines():
        place, rest = line.rsplit(":", 1)
        fields = rest.split()
        kind, name = fields[-2], fields[-1]
        if kind in ("U", "w", "v"):
            needed.setdefault(name, set()).add(place.split(":")[-1])
        elif kind.isupper():
            defined.add(name)
    return needed, defined


def main():
    if len(sys.argv) not in (2, 3) or (len(sys.argv) == 3 and sys.argv[2] not in FORCED):
        print("undefined_symbols.py: give an archive and one of " + ", ".join(FORCED), file=sys.stderr)
        return 2
    target = sys.argv[2] if len(sys.argv) == 3 else "x86_64"
    try:
        needed, defined = symbols(sys.argv[1])
    except (OSError, subprocess.CalledProcessError) as error:
        print("undefined_symbols.py: cannot read %s: %s" % (sys.argv[1], error), file=sys.stderr)
        return 2
    if not defined:
        print("%s defines nothing: is it the right archive?" % sys.argv[1])
        return 1
    foreign = {name: members for name, members in needed.items() if name not in defined | ALLOWED | FORCED[target]}
    for name in sorted(foreign):
        print("%s is needed by %s; the core may need only %s" % (name, ", ".join(sorted(foreign[name])),
                                                                 ", ".join(sorted(ALLOWED | FORCED[target]))))
    print("%d symbols needed, %d of them foreign" % (len(needed), len(foreign)))
    return 1 if foreign else 0


if __name__ == "__main__":
    sys.exit(main())
