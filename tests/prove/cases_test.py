#!/usr/bin/env python3
"""What was proved and should not have been, what was refused and need not have been: each case gets its verdict, by every
compiler that is here and at each level.

    cases_test.py FLATLINE CASES WORK
"""
import json
import os
import shutil
import subprocess
import sys
import unittest

FLATLINE, CASES, WORK = sys.argv[1:4]
LEVELS = ("-O0", "-O1", "-O2", "-O3", "-Os")
COMPILERS = [("gcc", "g++")] + [("clang-19", "clang++-19")] * (shutil.which("clang++-19") is not None)
AT_FIXED_ADDRESSES, LIBRARY = ("-fno-pic", "-no-pie", "-nostartfiles", "-Wl,-e,0"), ("-fPIC", "-shared", "-Wl,-Bsymbolic")

#: A verdict is "proved", or a text that one of the reasons must contain; with a level, it holds for that level only.
#: EITHER allows both: some compilers call memset, or move a loop counter through several registers.
EITHER = None
UNWINDER, LOOP, GROWS = "the unwinder that runs in between has no bound", "a loop without a stated bound", "the stack grows by a computed amount"
JUMPS = "(if it is a switch: compile with -fno-jump-tables)"

EXCEPTIONS = {
    "throws_some": "proved", "passes_on": "proved", "cleans_up": "proved", "may_not_throw": "proved", "throws_again": "proved",
    "cleans_up_for_ever": LOOP, "catches": UNWINDER, "catches_for_ever": LOOP, "catches_its_own": LOOP, "tries_again": UNWINDER,
    "calls_what_catches": UNWINDER, "catches_what_never_returns": UNWINDER}

NEVER_RETURNS = {
    "checked": "proved", "checked_deep": "proved", "aborts": "proved", "spins": LOOP, "spins_deep": LOOP,
    **{"believes_named_" + name: LOOP for name in ("chk_fail", "fortify_fail", "assert", "terminate", "resume", "throw", "longjmp", "thread_exit")}}

FRAMES = {
    "aligned": {"": "proved", "-O0": EITHER, "-Os": EITHER}, "aligned_with_arguments": {"": "proved", "-O0": EITHER, "-Os": EITHER}, "grows": GROWS, "jumps": "proved", "jumps_by_byte": "proved",
    "calls_in_a_loop": {"": "proved", "-O0": LOOP}, "calls_what_changes_the_counter": LOOP, "jumps_in_a_loop": EITHER, "ten": {"": "proved", "-O0": LOOP}, "nested": {"": "proved", "-O0": LOOP},
    "ends_early": EITHER, "walks": LOOP, "waits": LOOP}

TABLES = {
    "compared": "proved", "compared_above": JUMPS, "compared_another": JUMPS, "compared_signed": JUMPS, "compared_half": JUMPS,
    "changed_behind": JUMPS, "entered_beside": JUMPS, "written_table": JUMPS, "from_before": JUMPS}

VECTORS = {
    **{name: "proved" for name in ("dots", "counts_bits", "shifts", "ciphers", "masks", "gathers", "halves", "brains", "moves_line", "draws")},
    "pauses": "an instruction that waits for an event", "transacts": "a transaction, which other processors can make fail",
    "of_no_set": "an instruction that cannot be decoded, encoded by EVEX (AVX-512, AVX10 or APX)"}
V4 = ["-march=x86-64-v4"] + ["-m" + each for each in (
    "avx512vnni avx512bitalg avx512vpopcntdq avx512vbmi avx512vbmi2 avx512ifma gfni vaes avx512fp16 avx512bf16 movdir64b rdrnd rtm waitpkg").split()]


def run(*command):
    return subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def compiled(name, *command):
    path = os.path.join(WORK, name)
    made = run(*command, *(["-w"] if command[0] != "rustc" else []), "-o", path)
    if made.returncode != 0:
        raise AssertionError(made.stderr)
    return path


def proved(path, *functions):
    proving = run(FLATLINE, "prove", path, *functions, "--json", "-")
    if proving.returncode == 2:
        raise AssertionError(proving.stderr)
    return {each["name"]: each for each in json.loads(proving.stdout)["functions"]}


class Cases(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        os.makedirs(WORK, exist_ok=True)

    def each_gets(self, expected, path, level=""):
        functions = proved(path, *expected)
        for name, verdict in expected.items():
            if isinstance(verdict, dict):
                verdict = verdict.get(level, verdict[""])
            if verdict is EITHER:
                continue
            with self.subTest(name, path=path):
                reasons = [each["text"] for each in functions[name]["refusals"]]
                if verdict == "proved":
                    self.assertEqual((functions[name]["verdict"], reasons), ("proved", []))
                else:
                    self.assertEqual(functions[name]["verdict"], "refused")
                    self.assertTrue(any(verdict in each for each in reasons), reasons)

    def every_way(self, source, expected, *placings):
        is_cxx = source.endswith(".cpp")
        for compiler in COMPILERS:
            for level in LEVELS:
                for number, placing in enumerate(placings):
                    path = compiled("%s-%s%s-%d" % (source, compiler[0], level, number), compiler[is_cxx], level,
                                    os.path.join(CASES, source), *placing)
                    self.each_gets(expected, path, level)

    def test_an_exception_that_is_caught_is_no_end(self):
        self.every_way("exceptions.cpp", EXCEPTIONS, LIBRARY)

    def test_what_never_returns_is_read_and_not_believed(self):
        self.every_way("never_returns.c", NEVER_RETURNS, LIBRARY)

    def test_calls_through_slots_that_only_the_loader_fills(self):
        self.every_way("never_returns.c", {"checked": "proved", "aborts": "proved", "spins": LOOP}, LIBRARY + ("-fno-plt",))

    def test_frames_tables_and_counted_loops(self):
        self.every_way("frames.c", FRAMES, LIBRARY, AT_FIXED_ADDRESSES)

    def test_tables_that_are_not_what_they_seem(self):
        self.each_gets(TABLES, compiled("tables", "gcc", os.path.join(CASES, "tables.S"), *LIBRARY))

    def test_instructions_of_the_newest_processors(self):
        path = compiled("vectors", "g++", "-O2", *V4, os.path.join(CASES, "vectors.cpp"), *LIBRARY)
        self.each_gets(VECTORS, path)
        self.assertGreaterEqual(proved(path, "gathers")["gathers"]["loads"], 16)

    def test_an_instruction_that_throws_and_is_no_call(self):
        source = os.path.join(WORK, "reads.cpp")
        with open(source, "w") as file:
            file.write('volatile int x; extern "C" int reads(int *p) { try { return *p; } catch (...) { for (;;) x = 1; } }\n')
        path = compiled("reads", "g++", "-O2", "-fnon-call-exceptions", source, *LIBRARY)
        self.each_gets({"reads": "an instruction that is not a call may throw here"}, path)

    def test_a_name_of_the_c_library_that_comes_from_another(self):
        """abort as an import: from libc it is believed; from a library of one's own, or exported by the file itself, not."""
        other, user = os.path.join(WORK, "other.c"), os.path.join(WORK, "user.c")
        with open(other, "w") as file:
            file.write("void returns(void) __asm__(\"abort\"); int n; void returns(void) { n++; }\n")
        with open(user, "w") as file:
            file.write("void f(void) __asm__(\"abort\"); volatile int m; int uses(int x) { if (x) f(); while (m == x) { } return x; }\n"
                       "int ends(int x) { if (x) { f(); __builtin_unreachable(); } return x; }\n")
        library = compiled("libother.so", "gcc", "-O1", other, *LIBRARY)
        linked = compiled("libuser.so", "gcc", "-O1", user, "-fPIC", "-shared", library)
        self.each_gets({name: "calls abort, which is not in this file" for name in ("uses", "ends")}, linked)
        exported = compiled("libexported.so", "gcc", "-O1", user, other, "-fPIC", "-shared")
        self.each_gets({"uses": "calls abort through the procedure linkage table"}, exported)
        of_libc = compiled("liblibc.so", "gcc", "-O1", user, "-fPIC", "-shared")
        self.each_gets({"ends": "proved"}, of_libc)
        self.assertEqual(proved(of_libc, "ends")["ends"]["error_exits"]["bounded"], True)

    def test_names_as_the_source_writes_them(self):
        path = compiled("names", "g++", "-O2", os.path.join(CASES, "exceptions.cpp"), *LIBRARY)
        names = ["named::overloaded(int, char)", "named::overloaded(int)", "named::twice<int>", "int named::twice<int>(int)",
                 "named::Thing::get"]
        self.assertEqual({each["verdict"] for each in proved(path, *names).values()}, {"proved"})
        self.assertEqual(list(proved(path + ":named::overloaded(int,char),named::twice<int>:named::Thing::get")),
                         ["named::overloaded(int,char)", "named::twice<int>", "named::Thing::get"])
        ambiguous = run(FLATLINE, "prove", path, "named::overloaded")
        self.assertEqual(ambiguous.returncode, 2)
        self.assertIn("has 2 functions named named::overloaded: name one with its parameters", ambiguous.stderr)

    @unittest.skipUnless(shutil.which("rustc"), "needs rustc")
    def test_panics_of_rust(self):
        for level in "0123":
            path = compiled("panics" + level, "rustc", "--edition=2021", "-C", "opt-level=" + level, os.path.join(CASES, "panics.rs"))
            self.each_gets({"index": "proved", "divide": "proved", "unwrap": "proved", "panics::named::add": "proved"}
                           if level != "0" else {"index": "proved", "divide": "proved", "unwrap": "proved"}, path)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
