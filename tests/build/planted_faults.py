#!/usr/bin/env python3
"""Plants one fault in a copy of src/core and src/os, links tests with it, and demands that each of them fails.

    planted_faults.py --fault NAME --source ROOT --work FOLDER --compiler CC --linker CXX --test NAME=OBJECT:OBJECT...
                      --libraries LIBRARY...

The fault `none` is the control: the copy as it is, with which every test must pass. A fault whose place is no longer in
the source is an error, never a pass: change its pattern along with the code. Exit status 0: seen (control: passed).
"""
import argparse
import glob
import os
import re
import shutil
import subprocess
import sys

# name: (file below src, pattern, replacement, tests that must see it)
FAULTS = {
    "block_write_in_free": ("core/pool.c", r"class->head = block;",
                            r"class->head = block; *(volatile char *)block = 0;",
                            ["pool_model_test", "pool_misuse_test"]),
    "block_read_in_alloc": ("core/pool.c", r"words\[index\] = WORD_LIVE;",
                            r"words[index] = WORD_LIVE; (void)*(volatile char *)class->head;",
                            ["pool_model_test", "pool_exhaustive_test"]),
    "count_off_by_one_in_the_only_class": (
        "core/pool.c", r"(class_number\(pool, 0\);\s*size_t index = block_index\(class, block\);\s*if \(OFTEN\(index) <",
        r"\1 <=", ["pool_test", "pool_model_test", "pool_misuse_test", "pool_exhaustive_test"]),
    "count_off_by_one_in_one_of_many_classes": (
        "core/pool.c", r"(class_of_span\(pool, block\);\s*size_t index = block_index\(class, block\);\s*if \(OFTEN\(index) <",
        r"\1 <=", ["pool_test", "pool_model_test", "pool_misuse_test", "pool_exhaustive_test"]),
    "live_check_missing": ("core/pool.c", r"words\[index\] != WORD_LIVE", r"index == WORD_LIVE",
                           ["pool_test", "pool_model_test", "pool_misuse_test", "pool_exhaustive_test"]),
    "fresh_update_lost": ("core/pool.c", r"class->fresh = \(uint32_t\)\(index \+ 1\);", r";",
                          ["pool_test", "pool_model_test", "pool_misuse_test", "pool_exhaustive_test"]),
    "live_mark_lost": ("core/pool.c", r"words\[index\] = WORD_LIVE;", r";",
                       ["pool_test", "pool_model_test", "pool_exhaustive_test"]),
    "list_head_lost": ("core/pool.c", r"class->head_index = \(uint32_t\)index;", r";",
                       ["pool_test", "pool_model_test", "pool_exhaustive_test"]),
    "interior_taken_for_foreign": ("core/pool.c", r"\? FLAT_INTERIOR_POINTER\s*:\s*FLAT_FOREIGN_POINTER",
                                   r"? FLAT_FOREIGN_POINTER : FLAT_INTERIOR_POINTER",
                                   ["pool_test", "pool_model_test", "pool_misuse_test"]),
    "request_size_cut_to_32_bits": ("core/pool.c", r"\((size > pool->largest\))", r"((uint32_t)\1", ["pool_test"]),
    "refusal_not_counted": ("core/pool.c", r"\+\+\*refused_by\(class\);", r";",
                            ["pool_inspect_test", "pool_model_test"]),
    "search_takes_the_next_class": ("core/pool.h", r"\[key\] \"r\"\(key\)", r'[key] "r"(key + 1)',
                                    ["pool_limits_test", "pool_model_test"]),
    "small_sizes_rounded_down": ("core/pool.h", r"\(size \+ FLAT_POOL_GRANULE - 1\) / FLAT_POOL_GRANULE",
                                 r"size / FLAT_POOL_GRANULE", ["pool_limits_test", "pool_model_test"]),
    "inverse_of_too_few_bits": ("core/pool_setup.c", r"correct = 3;", r"correct = 24;", ["pool_limits_test"]),
    "alignment_forgotten": ("core/pool_setup.c", r"alignment > span \? alignment : span", r"span",
                            ["pool_test", "pool_model_test"]),
    "footprint_a_byte_short": ("core/pool_setup.c",
                               r"(to->metadata_bytes = to->words_at \+ blocks \* sizeof\(uint32_t\));",
                               r"\1 - 1;", ["pool_setup_test"]),
    "reset_keeps_the_high_water_mark": ("core/pool_setup.c", r"class->fresh = 0;", r";",
                                        ["pool_setup_test", "pool_model_test"]),
    "alloc_many_gives_one_too_many": ("core/pool_inspect.c", r"found >= count", r"found + 1 >= count",
                                      ["pool_inspect_test", "pool_model_test", "pool_exhaustive_test"]),
    "check_sees_nothing": ("core/pool_inspect.c", r"return FLAT_CORRUPTED;", r"return FLAT_OK;", ["pool_inspect_test"]),
    "overlap_not_looked_for": ("core/pool_setup.c", r"return \(uintptr_t\)a \+ a_bytes <= \(uintptr_t\)b \|\|",
                               r"return a_bytes > 0 || (uintptr_t)a + a_bytes <= (uintptr_t)b ||", ["pool_setup_test"]),
    "guard_pages_writable": ("os/region.c", r"mmap\(NULL, mapping_size, PROT_NONE,",
                             r"mmap(NULL, mapping_size, PROT_READ | PROT_WRITE,", ["region_test", "pool_create_test"]),
    "prefault_forgotten": ("os/region.c", r"bool resident = make_resident\(start, size\);", r"bool resident = true;",
                           ["region_test", "pool_create_test"]),
    "failed_create_keeps_a_region": ("os/pool_create.c", r"flat_region_destroy\(&mapped\.metadata\);\s*return status;",
                                     r"return status;", ["pool_create_test"]),
}
CONTROL = ["pool_test", "pool_setup_test", "pool_inspect_test", "pool_model_test", "pool_exhaustive_test",
           "pool_misuse_test", "region_test", "pool_create_test"]
ENVIRONMENT = dict(os.environ, FLATLINE_TEST_SEED="1", FLATLINE_TEST_SCALE="0.2")
TEST_SECONDS = 120
# Long ones that no fault needs.
LEFT_OUT = "-pool_limits.sixteen_million*:pool_limits.offsets_far*"


def planted_copy(fault, source, work):
    """A copy of the sources with the fault in it; the folder of it."""
    shutil.rmtree(work, ignore_errors=True)
    for part in ("core", "os"):
        shutil.copytree(os.path.join(source, "src", part), os.path.join(work, "src", part))
    copy = os.path.join(work, "src")
    if fault != "none":
        file, pattern, replacement, _ = FAULTS[fault]
        path = os.path.join(copy, file)
        with open(path) as opened:
            text = opened.read()
        changed, places = re.subn(pattern, replacement, text)
        if places == 0:
            sys.exit("the fault %s has no place left in src/%s: change its pattern in planted_faults.py along "
                     "with the code" % (fault, file))
        with open(path, "w") as opened:
            opened.write(changed)
    return copy


def build(copy, arguments, test, objects):
    program = os.path.join(arguments.work, test)
    sources = sorted(glob.glob(os.path.join(copy, "core", "*.c"))) + [
        os.path.join(copy, "os", name) for name in ("region.c", "pool_create.c", "faults.c")]
    compiled = []
    for path in sources:
        compiled.append(path[:-2] + ".o")
        if not os.path.exists(compiled[-1]):
            subprocess.run([arguments.compiler, "-std=c11", "-O2", "-fPIC", "-w", "-I",
                            os.path.join(arguments.source, "include"), "-c", path, "-o", compiled[-1]], check=True)
    subprocess.run([arguments.linker] + objects + compiled + arguments.libraries + ["-pthread", "-o", program],
                   check=True)
    return program


def passes(program):
    try:
        result = subprocess.run([program, "--gtest_filter=" + LEFT_OUT, "--gtest_brief=1"], env=ENVIRONMENT, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TEST_SECONDS)
    except subprocess.TimeoutExpired:
        print("  (did not end in %d s)" % TEST_SECONDS)
        return False
    lines = result.stdout.splitlines()
    for line in [l for l in lines if "Failure" in l or "shortest" in l or "-> " in l][:3] or lines[-1:]:
        print("  " + line[:200])
    return result.returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fault", required=True, choices=["none"] + sorted(FAULTS))
    parser.add_argument("--source", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--linker", required=True)
    parser.add_argument("--test", action="append", default=[])
    parser.add_argument("--libraries", nargs="+", default=[])
    arguments = parser.parse_args()
    objects = dict(given.split("=", 1) for given in arguments.test)
    copy = planted_copy(arguments.fault, arguments.source, arguments.work)
    wrong = 0
    for test in CONTROL if arguments.fault == "none" else FAULTS[arguments.fault][3]:
        passed = passes(build(copy, arguments, test, objects[test].split(":")))
        right = passed == (arguments.fault == "none")
        print("%s %s %s" % ("ok  " if right else "MISS", test, "passes" if passed else "fails"))
        wrong += not right
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
