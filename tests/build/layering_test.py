#!/usr/bin/env python3
"""Plants forbidden includes in a scratch tree, which layering.py must name, and allowed ones, which it must not."""
import os
import sys
import tempfile

import layering

# file, its text, whether the include in it is allowed
CASES = [
    ("src/core/a.c", '#include "pool.h"', True),
    ("src/core/a.c", "#include <stdint.h>", True),
    ("src/core/a.c", "#include <flatline/pool.h>", True),
    ("src/core/a.c", "/* #include <stdio.h> */ // #include <stdio.h>", True),
    ("src/core/a.c", "#include <stdio.h>", False),
    ("src/core/a.c", "  #  include <string.h>", False),
    ("src/core/a.c", "#include <stdlib.h> /* only for size_t */", False),
    ("src/core/a.c", '#include "stdio.h"', False),
    ("src/core/a.c", '#include "../os/clock.h"', False),
    ("src/core/a.c", "#include HEADER", False),
    ("src/core/a.c", "#include <flatline/nothing.h>", False),
    ("src/os/a.c", '#include "../core/pool.h"', True),
    ("src/os/a.c", "#include <sys/mman.h>", True),
    ("src/os/a.c", '#include "../bench/bench.hpp"', False),
    ("src/os/a.c", '#include "../../tests/secret.h"', False),
    ("src/malloc/a.c", '#include "../os/clock.h"', True),
    ("src/malloc/a.c", '#include "../bench/bench.hpp"', False),
    ("src/bench/a.cpp", '#include "os/clock.h"', True),
    ("src/bench/a.cpp", '#include "core/pool.h"', True),
    ("src/bench/a.cpp", '#include "../report/page.hpp"', False),
    ("src/bench/a.cpp", '#include "../cli/verb.hpp"', False),
    ("src/bench/a.cpp", '#include "fmt/core.h"', False),
    ("src/cli/a.cpp", '#include "../report/page.hpp"', True),
    ("src/cli/a.cpp", "#include <vector>", True),
    ("src/attic/a.c", '#include "../core/pool.h"', False),
    ("include/flatline/a.h", "#include <stddef.h>", True),
    ("include/flatline/a.h", "#include <flatline/pool.h>", True),
    ("include/flatline/a.h", "#include <stdio.h>", False),
    ("include/flatline/a.h", '#include "../../src/core/pool.h"', False),
    ("include/flatline/a.hpp", "#include <memory_resource>", True),
    ("include/flatline/a.hpp", "#include <pthread.h>", True),
    ("include/flatline/a.hpp", "#include <unistd.h>", False),
    ("include/flatline/a.h", "#include <pthread.h>", False),
]

HOUSE = ["src/core/pool.h", "src/os/clock.h", "src/bench/bench.hpp", "src/report/page.hpp",
         "src/cli/verb.hpp", "include/flatline/pool.h", "tests/secret.h"]


def write(root, name, text):
    path = os.path.join(root, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text + "\n")
    return path


def rooms_judged_wrong():
    """A room that is no folder, and a folder that is no room, must be named, and nothing where there is neither."""
    wrong = 0
    for missing, further, said in (None, None, None), ("plan", None, "src/plan"), (None, "attic", "src/attic"):
        with tempfile.TemporaryDirectory() as root:
            for room in [*layering.FLOOR, *([further] if further else [])]:
                if room != missing:
                    os.makedirs(os.path.join(root, "src", room))
            found = layering.rooms_astray(root)
            if [place.split(":")[0] for place in found] != ([said] if said else []):
                wrong += 1
                print("MISS without %s, with %s: %s" % (missing, further, found))
    return wrong


def main():
    wrong = rooms_judged_wrong()
    for name, text, allowed in CASES:
        with tempfile.TemporaryDirectory() as root:
            for house in HOUSE:
                write(root, house, "")
            write(root, name, text)
            found = layering.violations_below(root)[1]
            if (not found) != allowed:
                wrong += 1
                print("MISS %s: %s: should be %s: %s" % (name, text, "allowed" if allowed else "refused", found))
            elif found and not found[0].startswith(name + ":1: "):
                wrong += 1
                print("MISS %s: the place is named as %s" % (name, found[0]))
    print("%d planted includes, %d judged wrong" % (len(CASES), wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
