#!/usr/bin/env python3
"""Plants faults in the order of memory operations of src/malloc and holds ThreadSanitizer to seeing each in malloc_stress.

    ordering_faults.py FAULT --source ROOT --work FOLDER --compiler CC --linker CXX --renamed NAME=OTHER ...

The fault `none` is the control, which must pass.
"""
import argparse
import glob
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from planting import CONTROL, plant

# name: (file below src/malloc, pattern, replacement)
FAULTS = {
    CONTROL: ("returned.c", r"\A", r""),
    "blocks_taken_back_in_no_order": ("returned.c", r"__ATOMIC_SEQ_CST", r"__ATOMIC_RELAXED"),
    "blocks_sent_home_in_no_order": ("rings.c", r"__ATOMIC_(SEQ_CST|ACQUIRE|RELEASE)", r"__ATOMIC_RELAXED"),
    "taken_to_the_hand_of_who_goes_on": ("rings.c", r"heap != flat_my_heap && use_of\(heap\) == HEAP_OWNED", r"0"),
    "counted_without_a_lock": ("usage.c", r"#define BYTES_PER_MIB", "#define pthread_mutex_lock(lock) 0\n"
                               "#define pthread_mutex_unlock(lock) 0\n#define flat_heap_unlock(heap) (void)0\n"
                               "#define BYTES_PER_MIB"),
    "heaps_handed_on_without_the_lock_of_the_list": ("heaps.c", r"(?<=static void )(lock|unlock)_list\(([^)]*)\) \{[^}]*\}",
                                                r"\1_list(\2) {}"),
    "heaps_handed_on_without_their_locks": ("left.c", r"void flat_heap_lock", "#define pthread_mutex_lock(lock) 0\n"
                                            "#define pthread_mutex_unlock(lock) 0\nvoid flat_heap_lock"),
}

# Left out: they take over a whole program's allocation, which is the sanitizer's here.
OTHERS = ("operators.c", "replaced.c", "runtime.c", "neighbours.c")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fault", choices=sorted(FAULTS))
    for option in ("source", "work", "compiler", "linker"):
        parser.add_argument("--" + option, required=True)
    parser.add_argument("--renamed", nargs="+", required=True)
    arguments = parser.parse_args()
    folder = os.path.join(arguments.work, "malloc")
    shutil.rmtree(arguments.work, ignore_errors=True)
    for room in ("core", "malloc"):
        shutil.copytree(os.path.join(arguments.source, "src", room), os.path.join(arguments.work, room))
    file, pattern, replacement = FAULTS[arguments.fault]
    plant(arguments.fault, os.path.join(folder, file), pattern, replacement, "src/malloc/" + file)
    files = [path for path in sorted(glob.glob(os.path.join(folder, "*.c"))) if os.path.basename(path) not in OTHERS]
    program = os.path.join(folder, "malloc_stress")
    subprocess.run([arguments.compiler, "-std=c11", "-O1", "-g", "-w", "-fsanitize=thread", "-fno-builtin",
                    *["-D" + name for name in arguments.renamed],
                    "-I", os.path.join(arguments.source, "include"), "-c", *files], check=True, cwd=folder)
    subprocess.run([arguments.linker, "-std=c++20", "-O1", "-g", "-fsanitize=thread",
                    os.path.join(arguments.source, "tests", "malloc", "stress.cpp"),
                    *sorted(glob.glob(os.path.join(folder, "*.o"))), "-pthread", "-o", program], check=True)
    first_race_ends_it = dict(os.environ, TSAN_OPTIONS="halt_on_error=1")  # with corrupted tables it might never end
    done = subprocess.run(["setarch", "-R", program, "20"], env=first_race_ends_it, text=True, errors="replace", stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=300, check=False)
    seen = "WARNING: ThreadSanitizer: data race" in done.stdout
    print("\n".join(done.stdout.splitlines()[:40]))
    print("a data race was %s" % ("seen" if seen else "not seen"))
    if arguments.fault == CONTROL:
        return 0 if done.returncode == 0 and not seen else 1
    return 0 if seen else 1


if __name__ == "__main__":
    sys.exit(main())
