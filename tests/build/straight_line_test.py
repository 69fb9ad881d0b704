#!/usr/bin/env python3
"""Plants, one after the other, everything that straight_line.py must object to, and code that it must not.

    straight_line_test.py COMPILER ROOT [FLAG...]

First in small functions made for it, then in copies of the pool's `flat_pool_free`, compiled with the flags that its
source file has, and of the arena's header.
"""
import os
import shutil
import re
import subprocess
import sys
import tempfile

CHECK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "straight_line.py")

PREAMBLE = """
#include <stdint.h>
extern void outside(int);
static int (*volatile through)(int);
__attribute__((noinline, noclone)) static int other(int x) { __asm__ volatile("" : "+r"(x)); return x * 3; }
__attribute__((noinline, noclone, section(".text.later"))) static int later(int x) {
    __asm__ volatile("" : "+r"(x));
    return x * 3;
}
"""

# name, body of `subject`, expected message ("": none)
CASES = [
    ("straight code", "return n > 3 ? p[0] + n : p[1];", ""),
    ("a call", "return other(n) + p[0];", "calls"),
    ("a call of another library", "outside(n); return p[0];", "calls"),
    ("a call in a .cold part",
     "if (__builtin_expect(n == 77, 0)) { outside(n); outside(n + 1); p[0] = 1; } return p[1] + n;", "calls"),
    ("a loop", "int sum = 0; for (int i = 0; i < n; i++) { __asm__ volatile(\"\"); sum += p[i]; } return sum;",
     "jumps back"),
    ("a loop in a .cold part",
     "if (__builtin_expect(n < 0, 0)) { outside(n); do { outside(n); } while (p[0] != n); } return p[1];",
     "jumps back"),
    ("a lock prefix", "return __sync_fetch_and_add(p, n);", "locks"),
    ("an exchange with memory, which locks without saying so", "return __atomic_exchange_n(p, n, __ATOMIC_SEQ_CST);",
     "locks"),
    ("an indirect jump", "return through(n);", "jumps through"),
    ("a table of jumps", "switch (n) { case 0: return other(1); case 1: return p[3]; case 2: p[0] = 8; return p[7];"
     " case 3: return p[0] ^ p[1]; case 4: p[9] = 1; return 0; case 5: return p[1] * p[2]; case 6: p[4] = p[5];"
     " return p[6]; case 7: return other(9) + p[1]; default: return p[8] / n; }", "jumps through"),
    ("a repeated string instruction",
     "__asm__ volatile(\"rep stosb\" : \"+D\"(p), \"+c\"(n) : \"a\"(0) : \"memory\"); return n;", "repeats"),
    ("a system call", "__asm__ volatile(\"syscall\" ::: \"rcx\", \"r11\", \"memory\"); return n + p[0];",
     "leaves or ends"),
    ("an end that is no return", "if (n == 5) __builtin_trap(); return p[0];", "leaves or ends"),
    ("too many instructions", "".join("p[%d] = n * p[%d] ^ %d;" % (i, i + 40, i * 77) for i in range(30)) + "return n;",
     "more than 60"),
    ("a jump into another function, forward", "return later(n + p[0]);", ""),
    ("a jump into another function, back", "return other(n + p[0]);", "jumps back"),
]


# Six instructions on the path without a jump: two for the condition, two nops, one for the result, and the return.
USUAL = "__asm__ volatile goto(\"test %0, %0; jne %l1\" : : \"r\"(n) : \"cc\" : other); " \
        "__asm__ volatile(\"nop; nop\"); return n; other: __asm__ volatile(\"nop; nop; nop; nop; nop\"); return 0;"

# The same with --may-jump-back: a jump backwards is allowed, a loop is not.
MAY_JUMP_BACK = [
    ("a loop", "can be reached from itself"),
    ("a loop in a .cold part", "can be reached from itself"),
    ("a jump into another function, back", ""),
]


def outcome_of(compiler, folder, body, archive, *options):
    source = os.path.join(folder, "subject.c")
    with open(source, "w") as file:
        file.write(PREAMBLE + "__attribute__((visibility(\"default\"))) int subject(int *p, int n) {" + body + "}\n")
    objects = os.path.join(folder, "subject.o")
    subprocess.run([compiler, "-O2", "-fPIC", "-c", source, "-o", objects], check=True)
    if archive:
        library = os.path.join(folder, "libsubject.a")
        if os.path.exists(library):
            os.remove(library)
        subprocess.run(["ar", "rc", library, objects], check=True)
    else:
        library = os.path.join(folder, "libsubject.so")
        subprocess.run([compiler, "-shared", objects, "-o", library], check=True)
    return subprocess.run([sys.executable, CHECK, *options, library, "subject"], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)


# Name, code planted in flat_pool_free before its refusal of a double free, expected message.
IN_FREE = [
    ("nothing", "", ""),
    ("a call in its .cold part", "outside(7);", "calls"),
    ("a loop", "for (size_t i = 0; i < index; i++) __asm__ volatile(\"\");", "jumps back"),
    ("a lock prefix", "__atomic_fetch_add(words, 1u, __ATOMIC_SEQ_CST);", "locks"),
]
SECOND_FREE = "return refuse_block(of, FLAT_DOUBLE_FREE);"


def outcome_in_free(compiler, flags, folder, root, planted):
    with open(os.path.join(root, "src/core/pool_steps.h")) as file:
        text = file.read()
    if text.count(SECOND_FREE) != 1:
        sys.exit("straight_line_test.py: %s is no longer once in src/core/pool_steps.h: change SECOND_FREE"
                 % SECOND_FREE)
    copy, library = os.path.join(folder, "pool.c"), os.path.join(folder, "libfree.so")
    shutil.copy(os.path.join(root, "src/core/pool.c"), copy)
    with open(os.path.join(folder, "pool_steps.h"), "w") as file: # found before the file in src/core
        file.write("__attribute__((cold)) extern void outside(int);\n"
                   + text.replace(SECOND_FREE, "{ %s %s }" % (planted, SECOND_FREE)))
    subprocess.run([compiler, "-std=c11", "-O2", "-fPIC", "-shared", "-ffreestanding", *flags, "-I",
                    os.path.join(root, "include"), "-I", os.path.join(root, "src/core"), copy, "-o", library],
                   check=True)
    return subprocess.run([sys.executable, CHECK, library, "flat_pool_free"], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)


# The same for the inline functions of <flatline/arena.h>, planted where a refusal is counted.
IN_ARENA = [
    ("nothing", "", ""),
    ("a call", "outside(7);", "calls"),
    ("a loop", "for (size_t i = 0; i < size; i++) __asm__ volatile(\"\");", "can be reached from itself"),
    ("a lock prefix", "__atomic_fetch_add(&arena->refused, 1u, __ATOMIC_SEQ_CST);", "locks"),
]
REFUSAL = "arena->refused++;"


def outcome_in_arena(compiler, folder, root, planted):
    with open(os.path.join(root, "include/flatline/arena.h")) as file:
        text = file.read()
    if text.count(REFUSAL) != 1:
        sys.exit("straight_line_test.py: %s is no longer once in arena.h: change REFUSAL" % REFUSAL)
    os.makedirs(os.path.join(folder, "flatline"), exist_ok=True)
    library = os.path.join(folder, "libarena.so")
    with open(os.path.join(folder, "flatline/arena.h"), "w") as file:
        file.write("__attribute__((cold)) extern void outside(int);\n"
                   + text.replace(REFUSAL, "{ %s %s }" % (planted, REFUSAL)))
    subprocess.run([compiler, "-std=c11", "-O2", "-fPIC", "-shared", "-I", folder, "-I", os.path.join(root, "include"),
                    os.path.join(root, "tests/build/inlined_arena.c"), "-o", library], check=True)
    return subprocess.run([sys.executable, CHECK, "--may-jump-back", library, "arena_alloc_of_48",
                           "arena_aligned_alloc_at_any"], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def is_seen(result, objection):
    if not objection:
        return result.returncode == 0
    return result.returncode == 1 and objection in result.stdout


def looks(compiler, flags, folder, root):
    """Every look that is taken: what at, what it came to, and what it must object to."""
    for name, body, objection in CASES:
        for archive in (False, True):
            yield "%s (%s)" % (name, ".a" if archive else ".so"), outcome_of(compiler, folder, body, archive), objection
    for name, objection in MAY_JUMP_BACK:
        body = next(case[1] for case in CASES if case[0] == name)
        yield name + " (--may-jump-back)", outcome_of(compiler, folder, body, False, "--may-jump-back"), objection
    for most, objection in ((6, ""), (5, "6 instructions where nothing jumps, more than 5")):
        yield ("a usual path of 6 instructions where %d are allowed" % most,
               outcome_of(compiler, folder, USUAL, False, "--usual", str(most)), objection)
    for name, planted, objection in IN_FREE:
        yield "flat_pool_free with " + name, outcome_in_free(compiler, flags, folder, root, planted), objection
    for name, planted, objection in IN_ARENA:
        yield ("an inlined alloc of an arena with " + name, outcome_in_arena(compiler, folder, root, planted), objection)
    missing = subprocess.run([sys.executable, CHECK, os.path.join(folder, "libsubject.so"), "no_such_function"], text=True,
                             stdout=subprocess.PIPE)
    yield "a function that is not there", missing, "there is no function"


def main():
    compiler, root, *flags = sys.argv[1:]
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for what, result, objection in looks(compiler, flags, folder, root):
            seen = is_seen(result, objection)
            print("%s %s" % ("ok  " if seen else "MISS", what))
            if not seen:
                wrong += 1
                print(result.stdout)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
