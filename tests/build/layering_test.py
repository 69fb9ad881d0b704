#!/usr/bin/env python3
"""Plants forbidden includes in a scratch tree, which layering.py must name, and allowed ones, which it must not."""
import os
import sys
import tempfile

import layering

# file, text, whether the include in it is allowed
CASES = [
    ("src/core/a.c", '#include "pool_state.h"', True),
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
    ("src/os/a.c", '#include "../core/pool_state.h"', True),
    ("src/os/a.c", "#include <sys/mman.h>", True),
    ("src/os/a.c", '#include "../bench/bench.hpp"', False),
    ("src/os/a.c", '#include "../../tests/secret.h"', False),
    ("src/malloc/a.c", '#include "../os/clock.h"', True),
    ("src/malloc/a.c", '#include "../bench/bench.hpp"', False),
    ("src/malloc/spans.c", '#include "space.h"', True),
    ("src/malloc/spans.c", '#include "spans.h"', True),
    ("src/malloc/space.c", '#include "spans.h"', False),
    ("src/malloc/runs.h", '#include "space.h"', False),
    ("src/malloc/large.c", '#include "spans.h"', False),
    ("src/malloc/a.c", '#include "space.h"', False),
    ("src/os/region.c", '#include "region_file.h"', True),
    ("src/os/region_map.c", '#include "region_file.h"', False),
    ("src/engine/engine.h", '#include "links.h"', True),
    ("src/engine/links.h", '#include "engine.h"', False),
    ("src/engine/a.c", '#include "engine.h"', False),
    ("src/symbols/site.cpp", '#include "source_frames.hpp"', True),
    ("src/symbols/source_frames.cpp", '#include "site.hpp"', False),
    ("src/symbols/site.cpp", '#include "core/pool_state.h"', False),
    ("src/bench/a.cpp", '#include "os/clock.h"', True),
    ("src/bench/a.cpp", '#include "core/pool_state.h"', True),
    ("src/bench/a.cpp", '#include "../report/page.hpp"', False),
    ("src/bench/a.cpp", '#include "../cli/verb.hpp"', False),
    ("src/bench/a.cpp", '#include "fmt/core.h"', False),
    ("src/cli/a.cpp", '#include "../report/page.hpp"', True),
    ("src/cli/a.cpp", "#include <vector>", True),
    ("src/attic/a.c", '#include "../core/pool_state.h"', False),
    ("include/flatline/a.h", "#include <stddef.h>", True),
    ("include/flatline/a.h", "#include <flatline/pool.h>", True),
    ("include/flatline/a.h", "#include <stdio.h>", False),
    ("include/flatline/a.h", '#include "../../src/core/pool_state.h"', False),
    ("include/flatline/a.hpp", "#include <memory_resource>", True),
    ("include/flatline/a.hpp", "#include <pthread.h>", True),
    ("include/flatline/a.hpp", "#include <unistd.h>", False),
    ("include/flatline/a.h", "#include <pthread.h>", False),
]

HOUSE = ["src/core/pool_state.h", "src/symbols/source_frames.hpp", "src/symbols/site.hpp", "src/os/clock.h", "src/os/region_file.h", "src/malloc/space.h",
         "src/malloc/spans.h", "src/engine/engine.h", "src/engine/links.h", "src/bench/bench.hpp", "src/report/page.hpp",
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


# files and their includes, and the cycle that must be reported, if there is one
CIRCLES = [
    ({"src/prove/graph.hpp": "", "src/prove/graph.cpp": '#include "graph.hpp"',
      "src/prove/a.cpp": '#include "graph.hpp"'}, None),
    ({"src/prove/graph.hpp": "", "src/prove/graph.cpp": '#include "values.hpp"',
      "src/prove/values.hpp": '#include "graph.hpp"'}, "src/prove: graph includes values includes graph is a circle"),
    ({"src/bench/a.hpp": "", "src/bench/a.cpp": '#include "deep/b.hpp"', "src/bench/deep/b.hpp": "",
      "src/bench/deep/b.cpp": '#include "c.hpp"', "src/bench/deep/c.hpp": '#include "bench/a.hpp"'},
     "src/bench: a includes deep/b includes deep/c includes a is a circle"),
    ({"src/core/a.h": "", "src/core/a.c": '// #include "b.h"', "src/core/b.h": '#include "a.h"'}, None),
]


def circles_judged_wrong():
    wrong = 0
    for files, circle in CIRCLES:
        with tempfile.TemporaryDirectory() as root:
            for name, text in files.items():
                write(root, name, text)
            found = layering.circles_below(root)
        if [each.split(": move")[0] for each in found] != ([circle] if circle else []):
            wrong += 1
            print("MISS %s: %s" % (circle, found))
    return wrong


def levels_judged_wrong():
    """A file that has a level and is not there must be named, and no other."""
    with tempfile.TemporaryDirectory() as root:
        for room, name in sorted(layering.LEVEL)[1:]:
            write(root, os.path.join("src", room, name + ".c"), "")
        found = layering.levels_astray(root)
    missing = os.path.join("src", *min(layering.LEVEL)) + ":"
    if len(found) == 1 and found[0].startswith(missing):
        return 0
    print("MISS without %s: %s" % (missing, found))
    return 1


def main():
    wrong = rooms_judged_wrong() + levels_judged_wrong() + circles_judged_wrong()
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
