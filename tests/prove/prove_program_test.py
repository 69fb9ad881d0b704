#!/usr/bin/env python3
"""`flatline prove` as a person or a script meets it: what it says, its exit status, the files it writes and refuses.

    prove_program_test.py FLATLINE LIBRARY ARCHIVE ZOO INCLUDE WORK
"""
import glob
import json
import os
import platform
import shutil
import subprocess
import sys
import unittest

FLATLINE, LIBRARY, ARCHIVE, ZOO, INCLUDE, WORK = sys.argv[1:7]
LIBRARY_OF_ZOO = os.path.join(WORK, "libzoo.so")


def run(*command, **options):
    return subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)


def prove(*arguments):
    return run(FLATLINE, "prove", *arguments)


def written(name, content):
    path = os.path.join(WORK, name)
    with open(path, "wb" if isinstance(content, bytes) else "w") as file:
        file.write(content)
    return path


def compiled(name, source, *options, compiler="gcc"):
    """A program or library of one file."""
    path = os.path.join(WORK, name)
    made = run(compiler, "-O2", "-g1", "-I", INCLUDE, written(name + ".c", source), *options, "-o", path)
    if made.returncode != 0:
        raise AssertionError(made.stderr)
    return path


def setUpModule():
    os.makedirs(WORK, exist_ok=True)
    subprocess.run(["gcc", "-shared", "-fPIC", "-O2", "-g1", "-nostartfiles", "-Wl,--version-script=" + os.path.join(ZOO, "zoo.map"),
                    os.path.join(ZOO, "zoo.c"), os.path.join(ZOO, "zoo_x86_64.S"), "-o", LIBRARY_OF_ZOO], check=True)


# Of all marked functions, only these use atomic operations. The engine's are fences, where the system has no membarrier.
ATOMICS = {"flat_percore_free": 4, "flat_percore_free_as": 4, "flat_percore_alloc": 3, "flat_percore_aligned_alloc": 3,
           "flat_engine_post": 2, "flat_engine_post_accounted": 2, "flat_engine_submit": 2,
           "flat_engine_submit_any": 2, "flat_engine_finish": 1}


class Refusal(unittest.TestCase):
    """Exit status 2, one line on standard error that says what to do, and nothing else."""

    def refused(self, what, *arguments):
        proving = prove(*arguments)
        self.assertEqual(proving.returncode, 2, proving.stdout + proving.stderr)
        self.assertEqual(proving.stdout, "")
        self.assertEqual(proving.stderr.count("\n"), 1, proving.stderr)
        self.assertIn(what, proving.stderr)

    def test_a_file_that_is_not_there(self):
        self.refused("name a file that can be read", os.path.join(WORK, "nowhere"))

    def test_a_name_without_its_file(self):
        self.refused("as in FILE:FUNCTION", "flat_pool_alloc")
        self.refused("a file's name is missing", ":flat_pool_alloc")

    def test_a_function_apart_that_the_file_does_not_know(self):
        self.refused("neither has nor imports a function getpit", LIBRARY_OF_ZOO + ":plt_call", "--apart", "getpit")

    def test_a_folder(self):
        self.refused("Is a directory: name a file that can be read", WORK)

    def test_what_is_no_elf_file(self):
        self.refused("is not an ELF file", written("text", "flat_pool_alloc\n"))
        self.refused("is not an ELF file", written("empty", ""))

    def test_an_archive_and_an_object_file(self):
        self.refused("is an archive, whose code has no addresses yet", ARCHIVE)
        self.refused("is an object file, whose code has no addresses yet", compiled("object.o", "int f(void) { return 1; }", "-c"))

    def test_another_machine(self):
        with open(LIBRARY_OF_ZOO, "rb") as file:
            content = bytearray(file.read())
        content[18:20] = (8).to_bytes(2, "little")  # MIPS
        self.refused("neither for x86-64 nor for aarch64", written("mips", bytes(content)))

    def test_a_file_cut_off_anywhere(self):
        with open(LIBRARY_OF_ZOO, "rb") as file:
            content = file.read()
        for size in [4, 16, 63, 64, 100, 500] + list(range(1000, len(content), 997)):
            with self.subTest(size):
                proving = prove(written("cut", content[:size]) + ":diamond")
                self.assertEqual(proving.returncode, 2, proving.stdout)
                self.assertRegex(proving.stderr, "is cut off after %d bytes|is a damaged ELF file|is not an ELF file" % size)

    def test_code_that_may_be_written(self):
        self.refused("has code that may be written", compiled("writable", "void _start(void) { for (;;) { } }", "-Wl,-N", "-static", "-nostdlib"))

    def test_a_function_that_is_not_there(self):
        self.refused("has no function nothing: list its names with `nm`", LIBRARY_OF_ZOO + ":nothing")

    def test_a_stripped_file(self):
        stripped = shutil.copy(LIBRARY_OF_ZOO, os.path.join(WORK, "stripped"))
        subprocess.run(["strip", stripped], check=True)
        self.refused("it is stripped", stripped + ":helper")
        proving = prove(stripped, "calls_helper")  # it is exported, and its callee needs no name
        self.assertEqual(proving.returncode, 0, proving.stderr)
        self.assertRegex(proving.stdout, r"calls_helper +15 +8 +5 +13 +1 +0 +24 B  proved")

    def test_two_functions_of_one_name(self):
        other = written("other.c", "static __attribute__((noinline)) int twice(int x) { return x * 3; }\n"
                                   "int b(int x) { return twice(x) + 1; }\n")
        path = compiled("two", "static __attribute__((noinline)) int twice(int x) { return x * 2; }\n"
                               "int b(int); int main(int n, char **v) { (void)v; return twice(n) + b(n); }\n", other)
        self.refused("has 2 functions named twice", path + ":twice")

    def test_a_file_without_marks(self):
        self.refused("marks no function as bounded", compiled("unmarked", "int main(void) { return 0; }"))

    def test_a_mark_that_means_nothing(self):
        path = compiled("mistaken", '#include <flatline/bounded.h>\nFLAT_BOUNDED("main around=3");\nint main(void) { return 0; }')
        self.refused("has the unknown word `around=3`", path)

    def test_limits_that_are_none(self):
        for content, what in (("{", "is not JSON"), ("{}", "does not have the schema"), ('{"schema": "flatline.prove/1"}', "has no list"),
                              ('{"schema": "flatline.prove/1", "functions": [{}]}', "without a name"),
                              ('{"schema": "flatline.prove/1", "functions": [{"name": "f", "loads": -1}]}', "not a whole number")):
            with self.subTest(content):
                self.refused(what, LIBRARY, "--limit", written("limits.json", content))

    def test_an_output_that_cannot_be_written(self):
        self.refused("--json", LIBRARY, "--json", "/nowhere/certificate.json")

    def test_what_was_benched_without_estimates(self):
        self.refused("--bench: its figures are shown next to estimates: give --estimate as well", LIBRARY, "--bench", written("bench.json", "{}"))

    def test_a_file_that_is_no_result_of_flatline_bench(self):
        self.refused("nowhere.json cannot be read", LIBRARY, "--estimate", "--bench", os.path.join(WORK, "nowhere.json"))
        for content, what in (("{", "the file is not flatline.bench/1"), ('{"schema": "flatline.prove/1"}', "the file is not flatline.bench/1"),
                              ('{"schema": "flatline.bench/1"}', "lacks a member"), ('{"schema": "flatline.bench/1", "cells": [{}]}', "lacks a member"),
                              ('{"schema": "flatline.bench/1", "cells": []}', "timed no single call of the pool or the heap")):
            with self.subTest(content):
                self.refused(what, LIBRARY, "--estimate", "--bench", written("bench.json", content))

    @unittest.skipUnless(platform.machine() == "x86_64" and shutil.which("aarch64-linux-gnu-gcc"), "needs a compiler for another machine")
    def test_estimates_of_code_for_another_machine(self):
        other = os.path.join(WORK, "other.so")
        subprocess.run(["aarch64-linux-gnu-gcc", "-shared", "-nostdlib", "-O2", "-o", other,
                        written("other_machine.c", "int twice(int x) { return 2 * x; }\n")], check=True)
        self.refused("is for aarch64: run it on such a machine", other + ":twice", "--estimate")
        self.assertEqual(prove(other + ":twice").returncode, 0)


class Certificate(unittest.TestCase):
    def certificate(self, *arguments):
        proving = prove(*arguments, "--json", "-")
        return json.loads(proving.stdout), proving.returncode

    def test_the_library_beside_the_program_is_the_default(self):
        document, status = self.certificate()
        self.assertEqual(status, 0)
        self.assertTrue(document["file"].endswith("/libflatline.so"))

    def test_every_function_that_is_marked_is_proved(self):
        document, status = self.certificate(LIBRARY)
        self.assertEqual((status, document["schema"], document["machine"]), (0, "flatline.prove/1", "x86-64"))
        self.assertEqual(document["sha256"], run("sha256sum", LIBRARY).stdout.split()[0])
        names = {function["name"] for function in document["functions"]}
        self.assertLessEqual({"flat_pool_alloc", "flat_pool_aligned_alloc", "flat_pool_free", "flat_arena_resize",
                              "flat_heap_alloc", "flat_heap_aligned_alloc", "flat_heap_free", "flat_heap_realloc"}, names)
        for function in document["functions"]:
            with self.subTest(function["name"]):
                self.assertEqual(function["verdict"], "proved", function["refusals"])
                self.assertEqual(function["atomics"], ATOMICS.get(function["name"], 0))
                self.assertEqual(function["error_exits"]["places"], [])
                self.assertEqual(sum(step.get("times", 1) for step in function["path"]), function["instructions"])

    def test_it_names_the_compiler_its_options_and_the_lines(self):
        document, _ = self.certificate(LIBRARY)
        self.assertRegex(document["compilers"][0], r"GNU C1\d 1\d.* -O2|clang version")
        function = next(each for each in document["functions"] if each["name"] == "flat_pool_free")
        self.assertTrue(any(step.get("file", "").endswith("src/core/pool_steps.h") and step["line"] > 50 for step in function["path"]))

    def test_functions_are_named_behind_the_file_or_after_it(self):
        for arguments in (["%s:diamond,straight_line:vectors" % LIBRARY_OF_ZOO], [LIBRARY_OF_ZOO, "diamond", "straight_line", "vectors"]):
            document, status = self.certificate(*arguments)
            self.assertEqual(status, 0)
            self.assertEqual([each["name"] for each in document["functions"]], ["diamond", "straight_line", "vectors"])

    def test_apart_counts_a_call_as_one_instruction(self):
        document, status = self.certificate(LIBRARY_OF_ZOO + ":plt_call", "--apart", "getpid")
        function, = document["functions"]
        self.assertEqual((status, function["instructions"], len(function["assumptions"])), (0, 4, 1))

    def test_apart_counts_a_call_within_the_file_as_one_instruction_too(self):
        whole, apart = (self.certificate(LIBRARY_OF_ZOO + ":calls_helper", *more)[0]["functions"][0]
                        for more in ((), ("--apart", "helper")))
        self.assertEqual(whole["instructions"] - apart["instructions"], 2 * 4)  # two calls of four instructions
        self.assertEqual(len(apart["assumptions"]), 2)

    def test_the_c_library(self):
        library, = glob.glob("/lib/x86_64-linux-gnu/libc.so.6")
        for name in ("malloc", "strlen"):
            document, status = self.certificate(library + ":" + name)
            self.assertEqual((status, document["functions"][0]["verdict"]), (1, "refused"))
            self.assertNotEqual(document["functions"][0]["refusals"], [])
        document, status = self.certificate(library + ":labs")
        self.assertEqual((status, document["functions"][0]["verdict"], document["functions"][0]["branches"]), (0, "proved", 0))

    def test_a_refusal_names_the_calls_that_were_inlined(self):
        inline = "static inline __attribute__((always_inline)) int "
        for compiler, source in (("gcc", ""), ("g++", "namespace far { namespace away {\n")):
            with self.subTest(compiler):
                lines = [inline + "inner(volatile int *p) { while (*p) { } return 1; }",
                         inline + "outer(volatile int *p) { return inner(p) + 1; }",
                         "int waits(volatile int *p) { return outer(p) + 1; }"]
                path = compiled("inlined", source + "\n".join(lines) + ("\n}}" if source else ""), "-shared", "-fPIC",
                                compiler=compiler)
                name = "_ZN3far4away5waitsEPVi" if source else "waits"
                first = 2 if source else 1
                document, status = self.certificate(path + ":" + name)
                refusal = document["functions"][0]["refusals"][0]
                self.assertEqual((status, refusal["line"], [call["line"] for call in refusal["inlined_at"]]),
                                 (1, first, [first + 1, first + 2]))
                self.assertTrue(all(call["file"] == refusal["file"] for call in refusal["inlined_at"]))
                self.assertIn("inlined.c:%d, inlined at inlined.c:%d, inlined at inlined.c:%d: a loop" %
                              (first, first + 1, first + 2), " ".join(prove(path + ":" + name).stdout.split()))

    def test_the_listing_shows_source_beside_machine_code(self):
        proving = prove(LIBRARY + ":flat_pool_free", "--path")
        self.assertEqual(proving.returncode, 0)
        self.assertRegex(proving.stdout, r"\n +\d+ ret\b")
        self.assertRegex(proving.stdout, r"pool_steps\.h:\d+  if \(LIKELY\(pool->class_count == 1")
        self.assertLessEqual(max(len(line) for line in proving.stdout.splitlines()), 100)


class Programs(unittest.TestCase):
    """The user's own, with the library in it."""

    USER = """
#include <flatline/bounded.h>
#include <flatline/heap.h>
#include <flatline/pool.h>
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) int handle(flat_pool *pool, void **kept) {
    void *block = flat_pool_alloc(pool, 64);
    if (block == NULL) abort();
    flat_status done = flat_pool_free(pool, *kept);
    *kept = block;
    return done == FLAT_OK;
}
FLAT_BOUNDED("handle");
__attribute__((noinline)) int sum(const int *from) {
    int all = 0;
    for (int i = 0; i < 16; i++) { FLAT_LOOP_AT_MOST(16); all = all + from[all & i & 1]; }
    return all;
}
FLAT_BOUNDED("sum");
__attribute__((noinline)) int search(const int *sorted, unsigned size, int key) {
    while (size > 1) { FLAT_LOOP_AT_MOST(32); if (sorted[size / 2] <= key) sorted += size / 2; size -= size / 2; }
    return *sorted;
}
FLAT_BOUNDED("search");
int main(int count, char **names) {
    (void)names;
    int numbers[16] = {0};
    numbers[0] = count;
    flat_pool *pool = NULL;
    flat_class classes[] = {{64, 10}};
    if (flat_pool_create(&pool, &(flat_pool_options){.classes = classes, .class_count = 1}, NULL) != FLAT_OK) return 1;
    void *kept = NULL;
    printf("%d %d %d\\n", handle(pool, &kept), sum(numbers), search(numbers, 1, count));
    flat_pool_destroy(pool);
    return 0;
}
"""

    SAYS = "1 15 1\n"

    def figures(self, path, *functions):
        proving = prove(path, *functions, "--json", "-")
        self.assertEqual(proving.returncode, 0, proving.stdout + proving.stderr)
        return {each["name"]: each for each in json.loads(proving.stdout)["functions"]}

    def test_a_program_with_the_library_in_it(self):
        path = compiled("user", self.USER, ARCHIVE)
        functions = self.figures(path)
        for name in ("handle", "sum", "search", "flat_pool_alloc", "flat_pool_free", "flat_heap_realloc"):
            if name in functions:
                self.assertEqual(functions[name]["verdict"], "proved")
        self.assertGreater(functions["handle"]["instructions"],
                           functions["flat_pool_alloc"]["instructions"] + functions["flat_pool_free"]["instructions"])
        self.assertEqual(len(functions["handle"]["error_exits"]["places"]), 1)
        self.assertEqual(functions["sum"]["assumptions"], [])
        self.assertEqual(len(functions["search"]["assumptions"]), 1)
        self.assertEqual(run(path).stdout, self.SAYS)

    def test_optimised_when_it_is_linked(self):
        core = [path for path in glob.glob(os.path.join(os.path.dirname(INCLUDE), "src", "core", "*.c"))]
        others = glob.glob(os.path.join(os.path.dirname(INCLUDE), "src", "os", "*.c"))
        path = compiled("user-lto", self.USER, "-flto", *core, *[each for each in others if not each.endswith("valgrind.c")])
        functions = self.figures(path)
        for name, function in functions.items():
            with self.subTest(name):
                self.assertIn(function["verdict"], ("proved", "absent"), function.get("refusals"))
        for name in ("handle", "sum", "search"):  # or the clone that the compiler made for the only caller
            self.assertTrue(any(each.split(".")[0] == name and function["verdict"] == "proved" for each, function in functions.items()))
        self.assertEqual(run(path).stdout, self.SAYS)

    def test_a_static_program_names_what_is_picked_at_its_start(self):
        path = compiled("static", "#include <string.h>\nint main(int n, char **v) { return (int)strlen(v[n - 1]); }", "-static")
        proving = prove(path + ":main", "--json", "-")
        self.assertEqual(proving.returncode, 1)
        self.assertIn("strlen, which is chosen when the program starts", json.loads(proving.stdout)["functions"][0]["refusals"][0]["text"])


class Estimates(unittest.TestCase):
    """Their order and their place, never their size: no timing is a test."""

    CELLS = [("flatline-pool", "alloc", 1, "ns", 70.5), ("flatline-pool-again", "alloc", 1, "ns", 812.25), ("flatline-pool", "free", 1, "ns", 31.0),
             ("flatline-heap", "free", 1, "ns", 91.0), ("flatline-pool", "free", 32, "ns", 9e6), ("flatline-pool", "pair", 1, "ns", 9e6),
             ("flatline-pool", "free", 1, "bytes", 9e6), ("glibc", "alloc", 1, "ns", 9e6)]

    def bench(self):
        cells = [dict(zip(("backend", "operation", "calls_per_sample", "unit", "max"), cell)) for cell in self.CELLS]
        return written("bench.json", json.dumps({"schema": "flatline.bench/1", "cells": cells}))

    def test_the_table_names_them_as_estimates_and_leaves_the_counts(self):
        plain = prove(LIBRARY)
        proving = prove(LIBRARY, "--estimate", "--bench", self.bench())
        self.assertEqual((proving.returncode, proving.stderr), (0, ""))
        self.assertTrue(proving.stdout.startswith(plain.stdout))
        said = proving.stdout[len(plain.stdout):]
        for name in ("best", "cold", "hostile"):
            self.assertIn(name + ": an estimate, not a bound: ", said)
        self.assertRegex(said, r"\n +best +cold +hostile +code lines +data lines +seen\n")
        self.assertRegex(said, r"\nflat_pool_alloc +\d+ +[\d,]+ +[\d,]+ +\d+ +\d+ +813\n")
        self.assertRegex(said, r"\nflat_heap_alloc +\d+ +[\d,]+ +[\d,]+ +\d+ +\d+ +-\n")
        self.assertRegex(" ".join(said.split()), r"measured, in ns: an instruction [\d.]+, L1 hit [\d.]+, .*memory [\d.]+, page walk [\d.]+$")
        self.assertLessEqual(max(len(line) for line in proving.stdout.splitlines()), 100)

    def test_the_certificate_has_them_and_how_they_were_measured(self):
        document = json.loads(prove(LIBRARY, "--estimate", "--bench", self.bench(), "--json", "-").stdout)
        latencies = {each["name"]: each for each in document["machine_estimate"]["latencies"]}
        self.assertLessEqual({"instruction", "L1 hit", "memory", "page walk"}, set(latencies))
        for each in latencies.values():
            self.assertGreater(each["ns"], 0)
            self.assertNotEqual(each["measured_by"], "")
        seen = {}
        for function in document["functions"]:
            estimates = function["estimates_ns"]
            self.assertGreater(estimates["best"], 0)
            self.assertLessEqual(estimates["best"], estimates["cold"])
            self.assertLessEqual(estimates["cold"], estimates["hostile"])
            self.assertLessEqual(estimates["data_lines"], function["accesses"])
            self.assertLessEqual(estimates["code_lines"], function["instructions"] + 1)
            if "observed_max" in estimates:
                seen[function["name"]] = estimates["observed_max"]
        self.assertEqual(seen, {"flat_pool_alloc": 812.25, "flat_pool_free": 31.0, "flat_heap_free": 91.0})

    def test_without_the_option_there_are_none_and_the_rest_is_the_same(self):
        plain = json.loads(prove(LIBRARY, "--json", "-").stdout)
        estimated = json.loads(prove(LIBRARY, "--estimate", "--json", "-").stdout)
        self.assertNotIn("machine_estimate", plain)
        del estimated["machine_estimate"]
        for function in estimated["functions"]:
            del function["estimates_ns"]
        self.assertEqual(plain, estimated)

    def test_what_has_no_bound_has_no_estimate(self):
        proving = prove(LIBRARY_OF_ZOO + ":recursion,diamond", "--estimate", "--json", "-")
        self.assertEqual(proving.returncode, 1)
        self.assertEqual({each["name"]: "estimates_ns" in each for each in json.loads(proving.stdout)["functions"]},
                         {"recursion": False, "diamond": True})
        self.assertNotIn("estimate", prove(LIBRARY_OF_ZOO + ":recursion", "--estimate").stdout)


class Limits(unittest.TestCase):
    def limits(self, **figures):
        return written("limits.json", json.dumps({"schema": "flatline.prove/1", "functions": [dict(figures, name="diamond")]}))

    def test_a_certificate_is_within_its_own_figures(self):
        path = os.path.join(WORK, "certificate.json")
        self.assertEqual(prove(LIBRARY, "--json", path).returncode, 0)
        self.assertEqual(prove(LIBRARY, "--limit", path).returncode, 0)

    def test_each_figure_is_held(self):
        exact = {"instructions": 7, "loads": 3, "stores": 0, "accesses": 3, "branches": 1, "atomics": 0, "stack_bytes": 0}
        target = LIBRARY_OF_ZOO + ":diamond"
        self.assertEqual(prove(target, "--limit", self.limits(**exact)).returncode, 0)
        for figure in ("instructions", "loads", "accesses", "branches"):
            with self.subTest(figure):
                proving = prove(target, "--limit", self.limits(**dict(exact, **{figure: exact[figure] - 1})))
                self.assertEqual(proving.returncode, 1)
                self.assertIn("ABOVE THE LIMIT: diamond: %d %s, the limit is %d" % (exact[figure], figure, exact[figure] - 1),
                              " ".join(proving.stdout.split()))

    def test_what_is_marked_has_a_limit_and_what_has_one_is_marked(self):
        proving = prove(LIBRARY_OF_ZOO, "--limit", self.limits(loads=3))
        said = " ".join(proving.stdout.split())
        self.assertEqual(proving.returncode, 1)
        self.assertIn("straight_line has no limit", said)
        self.assertIn("diamond has limits, but is no longer marked as bounded", said)

    def test_a_function_that_lost_its_bound(self):
        path = written("lost.json", json.dumps({"schema": "flatline.prove/1", "functions": [{"name": "recursion", "loads": 1}]}))
        proving = prove(LIBRARY_OF_ZOO + ":recursion", "--limit", path)
        self.assertEqual(proving.returncode, 1)
        self.assertIn("recursion has limits, but is refused", proving.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
