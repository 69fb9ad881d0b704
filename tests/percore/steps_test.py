#!/usr/bin/env python3
"""Plants differences between the code and the models, and atomic operations in wrong places, which steps.py must name.

    steps_test.py ROOT CC
"""
import os
import re
import shutil
import sys
import tempfile

import steps

MODEL = "tests/percore/hand_over.pml"
CODE = "src/core/hand_over.h"
USE = "src/core/percore.c"
RETURNED = "src/malloc/returned.c"
ENGINE = "src/engine/steps.h"

# What is planted, the file, the pattern, its replacement, and the objection (None: no objection).
CASES = [
    ("nothing", CODE, r"\A", "", None),
    ("an atomic operation in a comment", USE, r"\Z", "/* __atomic_load_n(word, __ATOMIC_RELAXED) */\n", None),
    ("a step renamed in the code", CODE, r"\bstep_take_leaf\b", "step_take_counts",
     "step_take_counts is in hand_over.h"),
    ("a step renamed in the model", MODEL, r"\bstep_take_leaf\b", "step_take_counts", "step_take_counts is in a model"),
    ("a step more in the code", CODE, r"(?=\n#endif\n\Z)",
     "\nALWAYS_INLINE void step_help(size_t *word) { __atomic_store_n(word, 0, __ATOMIC_RELEASE); }\n",
     "step_help is in hand_over.h and in no model"),
    ("a step more in the model", MODEL, r"(?=inline step_take_leaf)", "inline step_help(n) { d_step { n = 0 } }\n",
     "step_help is in a model and not"),
    ("a step that only a planted fault has", MODEL, r"(inline step_take_leaf.*?\n\}\n)", r"#ifdef FAULT_X\n\1#endif\n",
     "step_take_leaf is in hand_over.h and in no model"),
    ("a step of the model in two", MODEL, r"counts = leaf\[number\];", "counts = leaf[number] }\n    d_step {",
     "step_take_leaf is more than one d_step"),
    ("a step of the model that can be interrupted", MODEL, r"(inline step_take_leaf\([^)]*\) \{\s*)d_step \{",
     r"\1if :: {", "step_take_leaf is more than one d_step"),
    ("a step that the model never takes", MODEL, r"step_take_leaf\(at\[0\], taken\[0\]\)", "taken[0] = leaf[at[0]]",
     "step_take_leaf is never taken"),
    ("a step that the code never takes", USE, r"step_take_leaf\(of->leaves \+ of->at\[0\]\)", "of->leaves[of->at[0]]",
     "step_take_leaf is called by no"),
    ("two operations in a step", CODE, r"(ALWAYS_INLINE size_t step_take_leaf\(size_t \*word\) \{ )",
     r"\1(void)__atomic_load_n(word, __ATOMIC_ACQUIRE); ", "step_take_leaf does 2 atomic operations"),
    ("a step without an operation", CODE, r"(step_look_at_top.*?)__atomic_load_n\(word, __ATOMIC_RELAXED\)", r"\1*word",
     "step_look_at_top does 0 atomic operations"),
    ("an operation beside the steps", CODE, r"(?=\n#endif\n\Z)",
     "\nstatic inline void help(size_t *word) { __atomic_store_n(word, 0, __ATOMIC_RELEASE); }\n",
     "__atomic_store_n outside of the steps"),
    ("an operation in another file", USE, r"index = collect\(pool, class, back\);",
     r"__atomic_thread_fence(__ATOMIC_SEQ_CST); \g<0>", "percore.c:"),
    ("an operation where a pool is worked", "src/core/pool_steps.h", r"words\[index\] = WORD_LIVE;",
     "__sync_lock_test_and_set(&words[index], WORD_LIVE);", "__sync_lock_test_and_set outside of the steps"),
    ("another operation where one is allowed", "src/core/pool_inspect.c", r"__atomic_load_n", "__atomic_fetch_add",
     "__atomic_fetch_add outside of the steps"),
    ("atomic types", "src/core/percore.h", r"#include \"pool_state\.h\"", r"\g<0>\n#include <stdatomic.h>",
     "<stdatomic.h> outside of the steps"),
    ("nothing in the malloc", RETURNED, r"\A", "", None),
    ("a step of the malloc renamed", RETURNED, r"\bstep_take\b", "step_exchange", "step_exchange is in returned.c"),
    ("a step that the malloc never takes", RETURNED, r"!step_take_returned\(state_at[^;]*?\)\)\)", "false)",
     "step_take_returned is called by no"),
    ("an operation beside the malloc's steps", RETURNED, r"\Z",
     "\nvoid help(size_t *word) { (void)__atomic_fetch_add(word, 1, __ATOMIC_RELEASE); }\n",
     "__atomic_fetch_add outside of the steps"),
    ("nothing in the engine", ENGINE, r"\A", "", None),
    ("a step of the engine renamed", ENGINE, r"\bstep_publish\b", "step_show", "step_show is in steps.h"),
    ("a step of the engine renamed in one of two models", "tests/engine/model/ending.pml", r"\bstep_publish\b",
     "step_show", "step_show is in a model and not"),
    ("a step that the engine never takes", "src/engine/control.c", r"step_renew_posted\(&of->posted, taken\);",
     "of->posted = taken;", "step_renew_posted is called by no"),
    ("two operations in a step of the engine", ENGINE, r"(step_light_fence.*?)__atomic_signal_fence",
     r"\1__atomic_thread_fence", "step_light_fence does 2 atomic operations"),
    ("an operation beside the engine's steps", "src/engine/worker.c", r"step_count_taken\(&in->taken\);",
     r"\g<0> __atomic_thread_fence(__ATOMIC_SEQ_CST);", "worker.c:"),
    ("another operation in what the engine shows", "src/engine/statistics.h", r"__atomic_load_n", "__atomic_fetch_add",
     "__atomic_fetch_add outside of the steps"),
]


def main():
    source, compiler = sys.argv[1:]
    wrong = 0
    for what, file, pattern, replacement, says in CASES:
        with tempfile.TemporaryDirectory() as root:
            protocol = steps.PROTOCOLS["malloc" if file == RETURNED else "engine" if "/engine/" in file else "percore"]
            for part in ("src/" + protocol.folder, "tests/" + protocol.models):
                shutil.copytree(os.path.join(source, part), os.path.join(root, part))
            path = os.path.join(root, file)
            text = steps.read(path)
            changed, places = re.subn(pattern, replacement, text, flags=re.S)
            if places == 0:
                sys.exit("%s: has no place left in %s: change its pattern along with the code" % (what, file))
            with open(path, "w", encoding="utf-8") as opened:
                opened.write(changed)
            found = steps.compare(protocol, root, compiler)[1]
        if not any(says in objection for objection in found) if says else found:
            wrong += 1
            print("MISS %s: %s" % (what, found))
    print("%d planted differences, %d judged wrong" % (len(CASES), wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
