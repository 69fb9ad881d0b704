#!/usr/bin/env python3
"""Compares the atomic operations of a protocol between threads in C with the steps of its models.

    steps.py PROTOCOL ROOT CC        (percore, malloc or engine; the folder that holds src and tests; a C compiler,
                                     which preprocesses)

Each function step_NAME of the protocol's file is one atomic operation, is called by those who take part, and stands in
one of the models as an indivisible step of the same name, which the model takes; no model has another; and the other
files do nothing atomic outside of these functions. Exit status 0: so it is. 1: it is not; each place is named.
"""
import fnmatch
import glob
import os
import re
import subprocess
import sys
from typing import NamedTuple

# A fence for the compiler alone is no operation.
ATOMIC = re.compile(r"\b(?:__atomic_(?!signal_fence\b)\w+|__sync_\w+|_Atomic|atomic_\w+|__c11_atomic_\w+)\b|"
                    r"<stdatomic\.h>")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
IN_C = re.compile(r"^ALWAYS_INLINE\s[^;{}()]*?\b(step_\w+)\s*\([^)]*\)\s*\{", re.M)
IN_MODEL = re.compile(r"\binline\s+(step_\w+)\s*\([^)]*\)\s*\{")
INDIVISIBLE = re.compile(r"\s*d_step\s*\{")

class Protocol(NamedTuple):
    folder: str      # below src
    steps: str       # the file that defines the steps
    callers: str     # files, one of which calls each step
    files: str       # files with no other atomic operations
    models: str      # the folder below tests
    allowed: frozenset  # other atomic operations: (file, operation)
    parted: bool = False  # each model has a part of the protocol, and a step may belong to several


PROTOCOLS = {
    # The inspection of a pool reads words that a free by another thread may be changing. Statistics and checks use it,
    # alloc and free do not. The code that reports a free to AddressSanitizer and valgrind reads such a word first.
    "percore": Protocol("core", "hand_over.h", "percore*.c", "*.[ch]", "percore",
                        frozenset({("pool_inspect.c", "__atomic_load_n"), ("instrument.h", "__atomic_load_n")})),
    "malloc": Protocol("malloc", "returned.c", "returned.c", "returned.c", "malloc", frozenset()),
    # What an engine shows of itself is no part of its protocol: nobody decides anything by it. Its watchdog is told to
    # end by a word of its own, at which it looks again in any case. What workers tell of their load is news: a choice by
    # it may be a worse one, and never a wrong one.
    "engine": Protocol("engine", "steps.h", "*.[ch]", "*.[ch]", "engine/model",
                       frozenset({("statistics.h", "__atomic_store_n"), ("statistics.h", "__atomic_load_n"),
                                  ("histogram.h", "__atomic_store_n"), ("ready.h", "__atomic_store_n"),
                                  ("load.h", "__atomic_store_n"), ("load.h", "__atomic_load_n"),
                                  ("load.h", "__atomic_fetch_or"), ("setup.c", "__atomic_store_n"), ("watchdog.c", "__atomic_load_n")}), parted=True),
}


def read(path):
    with open(path, encoding="utf-8") as opened:
        return opened.read()


def without_comments(text):
    return COMMENT.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def end_of_braces(text, start):
    """Where the braces that were opened just before `start` are closed."""
    depth = 1
    for at in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return at
    return len(text)


def bodies(text, head):
    """(name, where the body starts, where it ends) for each definition that begins as `head` says."""
    return [(found.group(1), found.end(), end_of_braces(text, found.end())) for found in head.finditer(text)]


def steps_in_c(core, protocol):
    """The names, and what is wrong with them and around them."""
    text = without_comments(read(os.path.join(core, protocol.steps)))
    steps, wrong = bodies(text, IN_C), []
    callers = "\n".join(without_comments(read(path))
                        for path in sorted(glob.glob(os.path.join(core, protocol.callers))))
    definitions = 1 if fnmatch.fnmatch(protocol.steps, protocol.callers) else 0
    for name, start, end in steps:
        operations = ATOMIC.findall(text, start, end)
        if len(operations) != 1:
            wrong.append("%s: %s does %d atomic operations: a step is one" % (protocol.steps, name, len(operations)))
        if len(re.findall(r"\b%s\s*\(" % name, callers)) == definitions:
            wrong.append("%s: %s is called by no %s" % (protocol.steps, name, protocol.callers))
    for path in sorted(glob.glob(os.path.join(core, protocol.files))):
        file = os.path.basename(path)
        code = without_comments(read(path))
        inside = [(start, end) for _, start, end in steps] if file == protocol.steps else []
        for found in ATOMIC.finditer(code):
            if any(start <= found.start() < end for start, end in inside) or (file, found.group()) in protocol.allowed:
                continue
            line = code.count("\n", 0, found.start()) + 1
            wrong.append("%s:%d: %s outside of the steps of %s" % (file, line, found.group(), protocol.steps))
    return [name for name, _, _ in steps], wrong


def steps_in_model(path, compiler):
    """The names in the model as it is without a planted fault, and what is wrong with them."""
    result = subprocess.run([compiler, "-E", "-P", "-x", "c", path], text=True, capture_output=True, timeout=60,
                            check=False)
    if result.returncode != 0:
        return [], ["%s: is not preprocessed: %s" % (os.path.basename(path), result.stderr)]
    text, wrong, steps = result.stdout, [], bodies(result.stdout, IN_MODEL)
    for name, start, end in steps:
        step = INDIVISIBLE.match(text, start, end)
        if step is None or text[end_of_braces(text, step.end()) + 1:end].strip():
            wrong.append("%s: %s is more than one d_step" % (os.path.basename(path), name))
        if len(re.findall(r"\b%s\s*\(" % name, text)) < 2:
            wrong.append("%s: %s is never taken" % (os.path.basename(path), name))
    return [name for name, _, _ in steps], wrong


def compare(protocol, root, compiler):
    """The names that both have, and what is wrong."""
    in_c, wrong = steps_in_c(os.path.join(root, "src", protocol.folder), protocol)
    in_models = []
    for path in sorted(glob.glob(os.path.join(root, "tests", protocol.models, "*.pml"))):
        names, objections = steps_in_model(path, compiler)
        in_models += names
        wrong += objections
    wrong += ["%s is in %s and in no model" % (name, protocol.steps) for name in sorted(set(in_c) - set(in_models))]
    wrong += ["%s is in a model and not in %s" % (name, protocol.steps) for name in sorted(set(in_models) - set(in_c))]
    if not protocol.parted:
        wrong += ["%s is in the models twice" % name for name in sorted(set(in_models)) if in_models.count(name) > 1]
    return sorted(set(in_c) & set(in_models)), wrong


def main():
    protocol = PROTOCOLS.get(sys.argv[1]) if len(sys.argv) == 4 else None
    if protocol is None or not os.path.isdir(os.path.join(sys.argv[2], "src", protocol.folder)):
        print("steps.py: give a protocol, %s, the folder that holds src and tests, and a C compiler" %
              " or ".join(PROTOCOLS), file=sys.stderr)
        return 2
    both, wrong = compare(protocol, *sys.argv[2:])
    for objection in wrong:
        print(objection)
    print("%d steps in C and in the models, %d objections" % (len(both), len(wrong)))
    return 1 if wrong or not both else 0


if __name__ == "__main__":
    sys.exit(main())
