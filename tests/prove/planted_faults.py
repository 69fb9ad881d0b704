#!/usr/bin/env python3
"""Plants in a copy of the library what has no bound, or more than it had, and requires that `flatline prove --limit` fails
and names the line.

    planted_faults.py --flatline PROGRAM --source ROOT --limits FOLDER --work FOLDER FAULT
"""
import argparse
import collections
import os
import re
import shutil
import sys

from limits import APART, build, prove, unexpected_apart

BUILT = "x86_64-gcc-O2"

#: A fault to plant: `old` occurs once in `file`, a path below src, and is replaced by `new`. The prover must name the line with HERE, and
#: its message about `function` must contain `message`.
Fault = collections.namedtuple("Fault", "file old new function message")


def in_pool_free(first, message, before=""):
    head = "flat_status flat_pool_free(flat_pool *pool, void *block) {"
    return Fault("core/pool.c", head, "%s\n%s\n    %s\n    " % (before, head, first), "flat_pool_free", message)


UNROLLED_MERGE = """#pragma GCC unroll 28
    for (unsigned step = 0; step < STEPS; step++) {
        if (!is_half_free(heap, order, cell)) break;
        size_t size = piece_cells(order);
        list_remove(heap, order, cell ^ size);"""
NEXT_RETURNED = "uint32_t entry = next_returned(class);\n    if (entry == NO_ENTRY) return NO_GRANT_LEFT;"
WAKE_OF_WORKER = "if (UNLIKELY(step_look_asleep(sleeping) != 0)) flat_engine_wake(sleeping, &to->woken);"
FIRST_READY = "uint32_t node = ready->links[ready->heads + urgency].next;"
SMALLEST_PIECE = "size_t cell = heap->heads[at];"

FAULTS = {
    "loop": in_pool_free("for (volatile int i = 0; i < 3; i++) { } /* HERE */", "a loop without a stated bound"),
    "loop_in_a_split_off_part": in_pool_free(
        "if (__builtin_expect(block == (void *)pool, 0)) waits(pool);", "a loop without a stated bound",
        "static __attribute__((noinline, cold)) void waits(flat_pool *pool) { while (*(void *volatile *)pool) { } } /* HERE */"),
    "call": in_pool_free("helps(block); /* HERE */", "instructions, the limit is",
                         "static __attribute__((noinline)) void helps(void *block) { __asm__ volatile(\"\" : : \"r\"(block)); }"),
    "call_of_another_file": in_pool_free("write(1, block, 1); /* HERE */", "calls write, which is not in this file",
                                         "long write(int, const void *, size_t);"),
    "lock": in_pool_free("__atomic_fetch_add((long *)(void *)pool, 0, __ATOMIC_RELAXED); /* HERE */",
                         "atomics, the limit is 0"),
    "compare_and_swap_loop": in_pool_free(
        "long seen = *(long *)(void *)pool;\n"
        "    while (!__atomic_compare_exchange_n((long *)(void *)pool, &seen, seen + 1, 0, 5, 5)) { } /* HERE */",
        "a loop around a compare-and-swap"),
    "system_call": in_pool_free("__asm__ volatile(\"syscall\" ::: \"rax\", \"rcx\", \"r11\", \"memory\"); /* HERE */",
                                "a system call"),
    "indirect_call": in_pool_free("((void (*volatile *)(void))(void *)pool)[0](); /* HERE */",
                                  "calls an address from a register or memory"),
    "claim_repeated": Fault("core/percore.c", "if (UNLIKELY(!step_claim(word))) return FLAT_DOUBLE_FREE;",
                            "while (!step_claim(word)) { } /* HERE */", "flat_percore_free",
                            "a loop around a compare-and-swap"),
    # x86-64 has no instruction that ORs and returns the old value, so compilers emit a loop.
    "count_marked_by_or": Fault("core/hand_over.h", "return __atomic_fetch_add(leaf, one, __ATOMIC_ACQ_REL) == 0;",
                                "return __atomic_fetch_or(leaf, one, __ATOMIC_ACQ_REL) == 0; /* HERE */",
                                "flat_percore_free", "a loop around a compare-and-swap"),
    "merge_not_unrolled": Fault("core/heap.c", UNROLLED_MERGE,
                                UNROLLED_MERGE.replace("unroll 28", "unroll 1")+ " /* HERE */",
                                "flat_heap_free", "a loop without a stated bound"),
    "list_searched": Fault("core/heap.c", SMALLEST_PIECE, SMALLEST_PIECE + "\n    while (heap->links[cell].next != heap->cells) "
                           "cell = heap->links[cell].next; /* HERE */", "flat_heap_alloc", "a loop without a stated bound"),
    "grant_awaited": Fault("engine/lane_grants.h", NEXT_RETURNED,
                           "uint32_t entry;\n    do { entry = next_returned(class); } while (entry == NO_ENTRY); /* HERE */",
                           "flat_engine_grant", "a loop without a stated bound"),
    "task_counted_by_an_atomic_addition": Fault(
        "engine/steps.h", "__atomic_store_n(posted, *posted + 1, __ATOMIC_RELAXED);",
        "__atomic_fetch_add(posted, 1, __ATOMIC_RELAXED); /* HERE */", "flat_engine_post", "atomics, the limit is"),
    "waits_for_the_end_of_a_sleep": Fault("engine/submit_steps.h", WAKE_OF_WORKER,
                                          "while (step_look_asleep(sleeping) != 0) flat_engine_wake(sleeping, &to->woken); /* HERE */",
                                          "flat_engine_submit", "a loop without a stated bound"),
    "wakes_by_itself": Fault("engine/submit_steps.h", WAKE_OF_WORKER,
                             "extern long syscall(long, ...);\n    "
                             "if (step_look_asleep(sleeping) != 0) syscall(202, sleeping, 1, 1); /* HERE */",
                             "flat_engine_submit", "calls syscall, which is not in this file"),
    "inline_payload_copied_by_a_loop": Fault(
        "engine/submit.c", "copy_small(descriptor->room, payload.start, payload.size);",
        "for (size_t i = 0; i < payload.size; i++) ((volatile char *)descriptor->room)[i] = "
        "((const char *)payload.start)[i]; /* HERE */", "flat_engine_submit", "a loop without a stated bound"),
    "ready_list_searched": Fault("engine/ready.h", FIRST_READY, FIRST_READY + "\n    while (ready->links[node].next < node) "
                                 "node = ready->links[node].next; /* HERE */", "flat_engine_choose",
                                 "a loop without a stated bound"),
    "finish_writes": Fault("engine/worker.c", "record->generation++;",
                           "record->generation++;\n    extern long write(int, const void *, unsigned long);\n"
                           "    write(1, record, 0); /* HERE */", "flat_engine_finish",
                           "calls write, which is not in this file"),
    "payload_copied_twice": Fault(
        "engine/submit.c", "size_t last = size - 2 * sizeof(pair);",
        "size_t last = size - 2 * sizeof(pair);\n    for (size_t i = 0; i < last; i++) ((volatile char *)to)[i] = of[i]; /* HERE */",
        "flat_engine_copy", "not only `a loop without a stated bound`"),
    "wakes_again_and_again": Fault("engine/submit.c", "flat_wake_sleepers(part_to_sleep_on(sleeping));",
                                   "do { flat_wake_sleepers(part_to_sleep_on(sleeping)); } "
                                   "while (step_look_asleep(sleeping) == number); /* HERE */",
                                   "flat_engine_wake", "not only `calls syscall, which is not in this file`"),
}


def plant(source, folder, fault):
    """A copy of what the library is built from, with the fault in it; the line to be named."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    shutil.copy(os.path.join(source, "CMakeLists.txt"), folder)
    for part in ("cmake", "include", "src"):
        shutil.copytree(os.path.join(source, part), os.path.join(folder, part))
    path = os.path.join(folder, "src", fault.file)
    with open(path) as file:
        text = file.read()
    if text.count(fault.old) != 1:
        sys.exit("%s no longer has once: %s" % (fault.file, fault.old))
    text = text.replace(fault.old, fault.new)
    with open(path, "w") as file:
        file.write(text)
    return "%s:%d" % (os.path.basename(fault.file), text[:text.index("HERE")].count("\n") + 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option in ("--flatline", "--source", "--limits", "--work"):
        parser.add_argument(option, required=True)
    parser.add_argument("fault", choices=FAULTS)
    arguments = parser.parse_args()
    fault = FAULTS[arguments.fault]
    work = os.path.join(arguments.work, arguments.fault)
    place = plant(arguments.source, os.path.join(work, "source"), fault)
    library = build(os.path.join(work, "source"), os.path.join(work, "build"), BUILT)
    proving = prove(arguments.flatline, library, "--limit", os.path.join(arguments.limits, BUILT + ".json"))
    said = "\n".join([re.sub(r"\n +", " ", proving.stdout), *unexpected_apart(arguments.flatline, library)])
    about = [each for each in said.splitlines() if fault.function + ":" in each and fault.message in each]
    print(said)
    if (proving.returncode != 1 and fault.function not in APART) or not any(place in each for each in about):
        print("MISSED: exit status %d, and no message about %s says `%s` and names %s" %
              (proving.returncode, fault.function, fault.message, place))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
