#!/usr/bin/env python3
"""Every member of the zoo gets exactly its verdict and its counts, and a second implementation agrees.

    zoo_test.py FLATLINE ZOO MACHINE COMPILER WORK

FLATLINE: the program. ZOO: the folder of the sources. MACHINE: x86_64 or aarch64; COMPILER: gcc for it.
"""
import json
import os
import subprocess
import sys
import unittest

import by_objdump

FLATLINE, ZOO, MACHINE, COMPILER, WORK = sys.argv[1:6]
LIBRARY = os.path.join(WORK, "libzoo-%s.so" % MACHINE)

#: (instructions, loads, stores, accesses, branches, atomics, stack_bytes), or a text that the refusal must contain.
X86_64 = {
    "straight_line": (6, 2, 1, 3, 0, 0, 0),
    "read_modify_write": (10, 9, 5, 14, 0, 0, 0),
    "vectors": (12, 7, 4, 11, 0, 0, 0),
    "strings_once": (5, 5, 2, 7, 0, 0, 0),
    "diamond": (7, 3, 0, 3, 1, 0, 0),
    "loop_unbounded": "a loop without a stated bound",
    "loop_verified": (22, 5, 0, 5, 4, 0, 0),
    "loop_downwards": (19, 1, 0, 1, 4, 0, 0),
    "loop_assumed": (17, 5, 0, 5, 4, 0, 0),
    "loop_understated": "runs 4 times, more than the 3 that are stated",
    "loop_half_marked": "contains another one without a stated bound",
    "loop_with_two_ways_in": "a loop with 2 ways into it without a stated bound",
    "recursion": "calls itself: recursion calls recursion",
    "mutual_recursion": "calls itself: mutual_recursion calls other_recursion calls mutual_recursion",
    "recursion_by_jump": "a loop without a stated bound",
    "calls_helper": (15, 8, 5, 13, 1, 0, 24),
    "tail_call": (6, 4, 1, 5, 0, 0, 8),
    "jump_table": "jumps to an address from a register or memory",
    "function_pointer": "calls an address from a register or memory",
    "hands_over": (3, 1, 0, 1, 1, 0, 0),
    "plt_call": "calls getpid, which is not in this file",
    "plt_tail_call": "calls getpid, which is not in this file",
    "got_call": "calls getpid, which is not in this file",
    "interposed": "calls straight_line through the procedure linkage table",
    "copies": (4, 1, 1, 2, 0, 0, 16),
    "system_call": "a system call",
    "repeats": "repeats a number of times that a register holds",
    "locked_add": (3, 3, 2, 5, 0, 2, 0),
    "compare_and_swap_loop": "a loop around a compare-and-swap",
    "compare_and_swap_once": (4, 3, 1, 4, 0, 1, 0),
    "traps": (3, 1, 0, 1, 1, 0, 0),
    "aborts": (3, 1, 0, 1, 1, 0, 16),
    "calls_what_dies": (3, 1, 0, 1, 1, 0, 24),
    "never_returns": "no path through it returns",
    "overlaps": "jumps into the middle of another instruction",
    "skips_a_prefix": "jumps into the middle of another instruction",
    "undecodable": "an instruction that cannot be decoded",
    "returns_elsewhere": "returns with another stack pointer",
    "overwrites_its_return": "overwrites its return address",
    "grows_by_a_register": "the stack grows by a computed amount",
    "depth_by_path": "the stack's depth depends on the path",
    "has_a_frame": (7, 2, 3, 5, 0, 0, 48),
    "leaves_by_lea": (6, 2, 1, 3, 0, 0, 136),
    "uses_the_red_zone": (3, 2, 1, 3, 0, 0, 72),
    "fenced": (4, 1, 0, 1, 0, 0, 0),
    "interrupts": "a system call",
    "asks_the_processor": "an instruction for the operating system",
    "picked": "is chosen among several when the program starts",
    "calls_the_picked": "calls picked",
    "versioned": (2, 1, 0, 1, 0, 0, 0),
    "versioned@ZOO_1": (1, 1, 0, 1, 0, 0, 0),
    "versioned@@ZOO_2": (2, 1, 0, 1, 0, 0, 0),
    "falls_off": "a path leaves the code of the file",
    "inlined_memcpy": (5, 3, 2, 5, 0, 0, 0),
    "split_off": None,
    "stops_if_null": None,
}

AARCH64 = {
    "straight_line": (6, 1, 1, 2, 0, 0, 0),
    "vectors": (12, 12, 4, 16, 0, 0, 0),
    "pairs": (9, 7, 4, 11, 0, 0, 0),
    "diamond": (6, 2, 0, 2, 1, 0, 0),
    "all_branches": (6, 0, 0, 0, 4, 0, 0),
    "loop_unbounded": "a loop without a stated bound",
    "loop_verified": (22, 4, 0, 4, 4, 0, 0),
    "loop_downwards": (15, 0, 0, 0, 4, 0, 0),
    "loop_assumed": (13, 4, 0, 4, 4, 0, 0),
    "loop_understated": "runs 4 times, more than the 3 that are stated",
    "loop_half_marked": "contains another one without a stated bound",
    "loop_with_two_ways_in": "a loop with 2 ways into it without a stated bound",
    "recursion": "calls itself: recursion calls recursion",
    "mutual_recursion": "calls itself: mutual_recursion calls other_recursion calls mutual_recursion",
    "recursion_by_jump": "a loop without a stated bound",
    "calls_helper": (15, 4, 4, 8, 1, 0, 48),
    "tail_call": (6, 2, 1, 3, 0, 0, 16),
    "jump_table": "jumps to an address from a register or memory",
    "function_pointer": "calls an address from a register or memory",
    "hands_over": (3, 1, 0, 1, 1, 0, 0),
    "plt_call": "calls getpid, which is not in this file",
    "plt_tail_call": "calls getpid, which is not in this file",
    "interposed": "calls straight_line through the procedure linkage table",
    "copies": (4, 2, 2, 4, 0, 0, 16),
    "system_call": "a system call",
    "atomics": (12, 12, 11, 23, 0, 10, 0),
    "compare_and_swap_loop": "a loop around a compare-and-swap",
    "load_exclusive_loop": "a loop around a load-exclusive and a store-exclusive",
    "store_exclusive_once": (4, 1, 1, 2, 0, 2, 0),
    "traps": (2, 0, 0, 0, 1, 0, 0),
    "is_undefined": (2, 0, 0, 0, 1, 0, 0),
    "aborts": (2, 0, 0, 0, 1, 0, 16),
    "calls_what_dies": (4, 2, 2, 4, 1, 0, 32),
    "never_returns": "no path through it returns",
    "undecodable": "an instruction that cannot be decoded",
    "returns_elsewhere": "returns through a register other than the link register",
    "loses_its_return": "returns to an address that may not be its caller's",
    "overwrites_its_return": "returns to an address that may not be its caller's",
    "grows_by_a_register": "the stack grows by a computed amount",
    "depth_by_path": "the stack's depth depends on the path",
    "has_a_frame": (8, 2, 4, 6, 0, 0, 4160),
    "fenced": (5, 0, 0, 0, 0, 0, 0),
    "authenticates": (10, 3, 3, 6, 0, 0, 32),
    "returns_authenticated": (2, 0, 0, 0, 0, 0, 0),
    "waits": "an instruction that waits for an event",
    "picked": "is chosen among several when the program starts",
    "calls_the_picked": "calls picked",
    "versioned": (2, 0, 0, 0, 0, 0, 0),
    "versioned@ZOO_1": (1, 0, 0, 0, 0, 0, 0),
    "versioned@@ZOO_2": (2, 0, 0, 0, 0, 0, 0),
    "falls_off": "a path leaves the code of the file",
    "inlined_memcpy": (3, 2, 2, 4, 0, 0, 0),
    "split_off": None,
    "stops_if_null": None,
    "outlined_atomic": "an outlined atomic, which may loop",
}

ZOOS = {"x86_64": (X86_64, by_objdump.X86), "aarch64": (AARCH64, by_objdump.AArch64)}
COUNTS = by_objdump.COUNTS + ("stack_bytes",)
APART = {"copies": ["memcpy"]}
HANDS_OVER = {"hands_over": 1}
#: Symbols that share an address with another one, and the name that objdump shows.
NAMES = {"versioned": "new_form", "versioned@@ZOO_2": "new_form", "versioned@ZOO_1": "old_form", "picked": "which"}
#: Functions with properties that only the prover checks, such as a mark of the linker.
NOT_SEEN_BY_OBJDUMP = {"picked", "overwrites_its_return", "loses_its_return", "loop_understated"}


def setUpModule():
    os.makedirs(WORK, exist_ok=True)
    sources = [os.path.join(ZOO, name) for name in ("zoo.c", "zoo_%s.S" % MACHINE)]
    subprocess.run([COMPILER, "-shared", "-fPIC", "-O2", "-g1", "-nostartfiles", "-Wl,-z,separate-code", "-Wl,--version-script=" + os.path.join(ZOO, "zoo.map"),
                    *(["-moutline-atomics"] if MACHINE == "aarch64" else []), *sources, "-o", LIBRARY], check=True)


def prove(*arguments):
    return subprocess.run([FLATLINE, "prove", *arguments], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


class Zoo(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.expected, cls.machine = ZOOS[MACHINE]
        cls.proving = prove(LIBRARY, *cls.expected, "--json", "-")
        cls.functions = {each["name"]: each for each in json.loads(cls.proving.stdout)["functions"]}

    def test_refusals_make_it_fail(self):
        self.assertEqual(self.proving.returncode, 1, self.proving.stderr)

    def test_each_gets_its_verdict(self):
        for name, expected in self.expected.items():
            with self.subTest(name):
                function = self.functions[name]
                if isinstance(expected, str):
                    self.assertEqual(function["verdict"], "refused", function)
                    self.assertIn(expected, " / ".join(each["text"] for each in function["refusals"]))
                    self.assertIsNone(function["instructions"])
                else:
                    self.assertEqual(function["verdict"], "proved", function["refusals"])

    def test_each_gets_its_counts(self):
        for name, expected in self.expected.items():
            if isinstance(expected, tuple):
                with self.subTest(name):
                    self.assertEqual(tuple(self.functions[name][count] for count in COUNTS), expected)

    def test_the_second_implementation_agrees(self):
        program = by_objdump.Program(LIBRARY, self.machine)
        for name in self.expected:
            with self.subTest(name):
                try:
                    bound = by_objdump.bound_of(program, NAMES.get(name, name), APART.get(name, ()), HANDS_OVER.get(name, 0))
                except by_objdump.Refused as refusal:
                    self.assertEqual(self.functions[name]["verdict"], "refused", refusal)
                    continue
                if name in NOT_SEEN_BY_OBJDUMP:
                    continue
                self.assertEqual(self.functions[name]["verdict"], "proved", self.functions[name]["refusals"])
                self.assertEqual({count: self.functions[name][count] for count in COUNTS}, bound)

    def test_what_rests_on_a_word_says_so(self):
        for name, function in self.functions.items():
            assumed = [each["text"] for each in function["assumptions"]]
            with self.subTest(name):
                if name == "loop_assumed":
                    self.assertEqual(assumed, ["a loop runs at most 4 times, as the source states"])
                elif name == "copies":
                    self.assertEqual(assumed, ["memcpy is counted as the one instruction that calls it"])
                elif name == "hands_over":
                    self.assertEqual(assumed, ["continues in code that its caller named, which is not counted"])
                elif function["verdict"] == "proved":
                    self.assertEqual(assumed, [])

    def test_ways_to_end_the_program_are_told_apart(self):
        for name, length in (("traps", {"x86_64": 4, "aarch64": 3}), ("aborts", {"x86_64": 4, "aarch64": 3}),
                             ("calls_what_dies", {"x86_64": 6, "aarch64": 6})):
            with self.subTest(name):
                exits = self.functions[name]["error_exits"]
                self.assertEqual(exits["instructions"], length[MACHINE])
                self.assertEqual(len(exits["places"]), 1)

    def test_a_split_off_part_belongs_to_its_function(self):
        function = self.functions["split_off"]
        parts = {step["place"].split("+")[0] for step in function["path"]}
        self.assertTrue(any(part.startswith(("split_off.cold", "rare")) for part in parts), parts)

    def test_a_refusal_names_the_source_line(self):
        if MACHINE == "aarch64":
            refusal, = self.functions["outlined_atomic"]["refusals"]
            self.assertTrue(refusal["file"].endswith("/zoo.c") and refusal["line"] > 1, refusal)
        refusal, = self.functions["system_call"]["refusals"]
        self.assertTrue(refusal["file"].endswith("/zoo_%s.S" % MACHINE) and refusal["line"] > 1, refusal)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
