#!/usr/bin/env python3
"""Plants in a copy of the pool what has no bound, or more than it had, and requires that `flatline prove --limit` fails
and names the line.

    planted_faults.py --flatline PROGRAM --source ROOT --limits FOLDER --work FOLDER FAULT
"""
import argparse
import os
import re
import shutil
import sys

from limits import build, prove

BUILT = "x86_64-gcc-O2"

#: What `flat_pool_free` begins with, what stands before it, and what the message must say of the planted line.
FAULTS = {
    "loop": ("for (volatile int i = 0; i < 3; i++) { } /* HERE */", "", "a loop without a stated bound"),
    "loop_in_a_split_off_part": (
        "if (__builtin_expect(block == (void *)pool, 0)) waits(pool);",
        "static __attribute__((noinline, cold)) void waits(flat_pool *pool) { while (*(void *volatile *)pool) { } } /* HERE */",
        "a loop without a stated bound"),
    "call": ("helps(block); /* HERE */",
             "static __attribute__((noinline)) void helps(void *block) { __asm__ volatile(\"\" : : \"r\"(block)); }",
             "instructions, the limit is"),
    "call_of_another_file": ("write(1, block, 1); /* HERE */", "long write(int, const void *, size_t);",
                             "calls write, which is not in this file"),
    "lock": ("__atomic_fetch_add((long *)(void *)pool, 0, __ATOMIC_RELAXED); /* HERE */", "", "atomics, the limit is 0"),
    "compare_and_swap_loop": (
        "long seen = *(long *)(void *)pool;\n"
        "    while (!__atomic_compare_exchange_n((long *)(void *)pool, &seen, seen + 1, 0, 5, 5)) { } /* HERE */", "",
        "a loop around a compare-and-swap"),
    "system_call": ("__asm__ volatile(\"syscall\" ::: \"rax\", \"rcx\", \"r11\", \"memory\"); /* HERE */", "", "a system call"),
    "indirect_call": ("((void (*volatile *)(void))(void *)pool)[0](); /* HERE */", "",
                      "calls what a register or memory says"),
}


def plant(source, folder, fault):
    """A copy of what the library is built from, with the fault in it; the line to be named."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    shutil.copy(os.path.join(source, "CMakeLists.txt"), folder)
    for part in ("cmake", "include", "src"):
        shutil.copytree(os.path.join(source, part), os.path.join(folder, part))
    pool = os.path.join(folder, "src", "core", "pool.c")
    inside, before, _ = FAULTS[fault]
    with open(pool) as file:
        text = file.read()
    head = "flat_status flat_pool_free(flat_pool *pool, void *block) {"
    if text.count(head) != 1:
        sys.exit("pool.c no longer begins flat_pool_free by: " + head)
    text = text.replace(head, "%s\n%s\n    %s\n    " % (before, head, inside))
    with open(pool, "w") as file:
        file.write(text)
    return text[:text.index("HERE")].count("\n") + 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option in ("--flatline", "--source", "--limits", "--work"):
        parser.add_argument(option, required=True)
    parser.add_argument("fault", choices=FAULTS)
    arguments = parser.parse_args()
    work = os.path.join(arguments.work, arguments.fault)
    line = plant(arguments.source, os.path.join(work, "source"), arguments.fault)
    library = build(os.path.join(work, "source"), os.path.join(work, "build"), BUILT)
    proving = prove(arguments.flatline, library, "--limit", os.path.join(arguments.limits, BUILT + ".json"))
    said = re.sub(r"\n +", " ", proving.stdout)
    about = [each for each in said.splitlines() if "flat_pool_free:" in each and FAULTS[arguments.fault][2] in each]
    print(said)
    if proving.returncode != 1 or not any("pool.c:%d" % line in each for each in about):
        print("MISSED: exit status %d, and no message about flat_pool_free says `%s` and names pool.c:%d" %
              (proving.returncode, FAULTS[arguments.fault][2], line))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
