#!/usr/bin/env python3
"""Looks at the machine code of a list's nodes (nodes.cpp): flat::allocator makes no virtual call and comes down to the C
call, or to none at all for an arena; a resource adds the one virtual call that std::pmr makes, and nothing behind it.

    direct_calls.py --source ROOT --work FOLDER COMPILER...

A compiler that is not there is named and left out; one at least must be there. Exit status 0: it holds. 1: it does not.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys

# The calls that a function may make: the C function or none, and the standard library's functions that link nodes.
LINKING = {"std::__detail::_List_node_base::_M_hook(std::__detail::_List_node_base*)",
           "std::__detail::_List_node_base::_M_unhook()"}
EXPECTED = {
    "pool_take": {"flat_pool_alloc"}, "pool_give": {"flat_pool_free"},
    "heap_take": {"flat_heap_alloc"}, "heap_give": {"flat_heap_free"},
    "arena_take": set(), "arena_give": set(), "inline_take": set(), "inline_give": set(),
    "shard_take": {"flat_percore_alloc"}, "shard_give": {"flat_percore_free"},
    "local_take": {"flat_percore_alloc"}, "local_give": {"flat_percore_free_as"},
    "pmr_take": {"*"}, "pmr_give": {"*"},
    "flat::pool_resource::do_allocate": {"flat_pool_alloc_or_else"},
    "flat::pool_resource::do_deallocate": {"flat_pool_free_or_else"},
    "heap_resource, flat_heap>::do_allocate": {"flat_heap_alloc"},
    "heap_resource, flat_heap>::do_deallocate": {"flat_heap_free"},
    "percore_resource, flat::detail::shared_shard>::do_allocate": {"flat_percore_alloc"},
    "percore_resource, flat::detail::shared_shard>::do_deallocate": {"flat_percore_free"},
    "arena_resource, flat_arena>::do_allocate": set(),
    "arena_resource, flat_arena>::do_deallocate": set(),
}
# Instructions on the usual path of a call without the C function, compiled by gcc: from the first to the return or to
# the jump into the C function, with no other jump taken. These are the manual's figures.
MOST = {"flat::pool_resource::do_allocate": 5, "flat::pool_resource::do_deallocate": 4,
        "heap_resource, flat_heap>::do_allocate": 13, "heap_resource, flat_heap>::do_deallocate": 11,
        "arena_resource, flat_arena>::do_allocate": 25, "arena_resource, flat_arena>::do_deallocate": 11}
# Calls on exhaustion, after a refused free, or for an alignment above the granule; never on the usual path.
ASIDE = re.compile(r"flat::detail::(refuse|report_refused_free)\(|::(go_on|not_of_the_source|allocate_aligned)\(|"
                   r"^__clang_call_terminate$")


def functions_of(path):
    """{demangled name: names of what it calls or jumps to, "*" for a call through a pointer}, and {the same name: number
    of instructions up to its first return}"""
    listing = subprocess.run(["objdump", "-drwC", "--no-show-raw-insn", path], check=True, text=True,
                             stdout=subprocess.PIPE).stdout
    found, calls, length, returned = {}, None, {}, True
    for line in listing.splitlines():
        start = re.match(r"[0-9a-f]+ <(.*)>:$", line)
        if start:
            name, returned = start.group(1), False
            calls = found.setdefault(name.replace(" [clone .cold]", ""), set())
        elif re.match(r"\s*[0-9a-f]+:\t\S", line) and not returned:
            length[name] = length.get(name, 0) + 1
            returned = re.search(r"\tret|\tjmp .*R_X86_64_PLT32\tflat_", line) is not None
        if start:
            continue
        if re.search(r"\t(call|jmp|notrack jmp) +\*", line):
            calls.add("*")
        elif re.search(r"\t(call|j[a-z]+) ", line):
            target = re.search(r"R_X86_64_(?:PLT32|PC32)\t(.*)-0x[0-9a-f]+$", line)
            if target and not target.group(1).startswith("."):
                calls.add(target.group(1))
    return found, length


def objections(path, by_gcc):
    found, length = functions_of(path)
    for name, expected in EXPECTED.items():
        matching = [calls for function, calls in found.items() if function == name or name + "(" in function]
        if not matching:
            yield "%s: not in the object" % name
        for calls in matching:
            usual = {call for call in calls if not ASIDE.search(call) and call not in LINKING}
            if usual != expected:
                yield "%s calls %s, not %s" % (name, sorted(usual) or "nothing", sorted(expected) or "nothing")
    for name, most in MOST.items():
        for function in (function for function in length if by_gcc and name + "(" in function):
            if length[function] > most:
                yield "%s has %d instructions up to its return, above %d" % (name, length[function], most)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("compilers", nargs="+")
    arguments = parser.parse_args()
    os.makedirs(arguments.work, exist_ok=True)
    looked, wrong = 0, 0
    for compiler in arguments.compilers:
        if not shutil.which(compiler):
            print("%s is not installed: left out" % compiler)
            continue
        path = os.path.join(arguments.work, os.path.basename(compiler) + ".o")
        subprocess.run([compiler, "-std=c++17", "-O2", "-DNDEBUG", "-I", os.path.join(arguments.source, "include"), "-c",
                        os.path.join(arguments.source, "tests/resource/nodes.cpp"), "-o", path], check=True)
        looked += 1
        for objection in objections(path, "clang" not in compiler):
            print("%s: %s" % (compiler, objection))
            wrong += 1
    print("%d functions by %d compilers, %d wrong" % (len(EXPECTED), looked, wrong))
    return 1 if wrong or looked == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
