#!/usr/bin/env python3
"""Small programs with one call of the heap each, in the wrong place or in a right one, for heap_calls.py; then every
example that says when it is steady, with such a call planted there.

    heap_calls_test.py LIBRARY CC CXX ROOT LIBFLATLINE
"""
import glob
import os
import subprocess
import sys
import tempfile

import heap_calls

C = """
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
%s
static void *volatile kept;
static void *in_a_thread(void *nothing) { kept = malloc(48); return nothing; }
int main(int count, char **arguments) {
    void *block = %s;
    kept = block;
    (void)in_a_thread, (void)count, (void)arguments;
    %s
    return 0;
}
"""
CPP = """
#include <memory>
#include <string>
#include <vector>
%s
static std::vector<std::string> kept;
int main() {
    %s
    return 0;
}
"""
PHASE = "volatile enum { STARTING, STEADY, ENDING } phase;"
PHASE_IN_CPP = "enum Phase { STARTING, STEADY, ENDING }; volatile Phase phase;"

# name, block before the steady state, body, expected report ("": none)
IN_C = [
    ("nothing in the steady state", "malloc(48)", "phase = STEADY; phase = ENDING; free(block);", ""),
    ("nothing to the end", "malloc(48)", "phase = STEADY;", ""),
    ("printf whose buffer is there", "(printf(\"first\\n\"), NULL)", "phase = STEADY; printf(\"%d\\n\", count);", ""),
    ("malloc", "NULL", "phase = STEADY; kept = malloc(48); phase = ENDING;", "malloc of 48 bytes"),
    ("calloc", "NULL", "phase = STEADY; kept = calloc(3, 16);", "calloc of 48 bytes"),
    ("realloc", "malloc(48)", "phase = STEADY; kept = realloc(block, 96);", "realloc of 96 bytes"),
    ("reallocarray", "malloc(48)", "phase = STEADY; kept = reallocarray(block, 2, 48);", "reallocarray of 96 bytes"),
    ("free", "malloc(48)", "phase = STEADY; free(block);", "free of 0 bytes"),
    ("posix_memalign", "NULL", "phase = STEADY; void *b; if (posix_memalign(&b, 64, 48)) return 3; kept = b;",
     "posix_memalign of 48 bytes"),
    ("aligned_alloc", "NULL", "phase = STEADY; kept = aligned_alloc(64, 128);", "aligned_alloc of 128 bytes"),
    ("memalign", "NULL", "phase = STEADY; kept = memalign(64, 48);", "memalign of 48 bytes"),
    ("valloc", "NULL", "phase = STEADY; kept = valloc(48);", "valloc of 48 bytes"),
    ("pvalloc", "NULL", "phase = STEADY; kept = pvalloc(48);", "pvalloc of 48 bytes"),
    ("strdup", "NULL", "phase = STEADY; kept = strdup(arguments[0]);", "malloc of"),
    ("fopen", "NULL", "phase = STEADY; kept = fopen(arguments[0], \"r\");", "malloc of"),
    ("the first printf", "NULL", "phase = STEADY; printf(\"%d\\n\", count);", "malloc of"),
    ("a call of another thread", "NULL", "phase = STEADY; pthread_t id;"
     " if (pthread_create(&id, NULL, in_a_thread, NULL)) return 3; pthread_join(id, NULL);", "malloc of 48 bytes"),
    ("a child that leaves without a word", "NULL", "phase = STEADY; int status; if (fork() == 0) { kept = malloc(48);"
     " _exit(0); } wait(&status);", "malloc of 48 bytes"),
    ("a child that ends well", "NULL", "phase = STEADY; int status; fflush(stdout); if (fork() == 0) return 0;"
     " wait(&status);", ""),
    ("many calls", "NULL", "phase = STEADY; for (int i = 0; i < 1000; i++) kept = malloc(48);", "malloc of 48 bytes"),
    ("a program that is never steady", "NULL", "phase = STARTING;", "never became steady"),
    ("a program that fails", "NULL", "phase = STEADY; return 7;", "ended with 7"),
    ("a program that leaves without a word", "NULL", "phase = STEADY; _exit(0);", "nothing was counted"),
]
WITHOUT_PHASE = [
    ("no phase and no call", "NULL", "", ""),
    ("no phase and a call", "NULL", "kept = malloc(48);", "malloc of 48 bytes"),
]
IN_CPP = [
    ("new before the steady state", "kept.reserve(10); phase = STEADY; kept.emplace_back(\"short\"); phase = ENDING;",
     ""),
    ("new", "phase = STEADY; delete new std::string;", "malloc of"),
    ("a vector that grows", "phase = STEADY; kept.emplace_back(\"short\"); phase = ENDING;", "malloc of"),
    ("a string that outgrows its place", "std::string s; phase = STEADY; s.assign(40, 'x'); phase = ENDING;",
     "malloc of"),
]


BEGINS = "phase = STEADY;"
PLANTED = BEGINS + " { void *volatile planted = malloc(48); free(planted); }"


def complaint(library, compiler, text, folder, *flags):
    source = os.path.join(folder, "case.cpp" if "++" in compiler else "case.c")
    program = os.path.join(folder, "case")
    with open(source, "w") as file:
        file.write(text)
    subprocess.run([compiler, "-O0", "-w", "-pthread", "-rdynamic", source, "-o", program, *flags], check=True)
    return "\n".join(heap_calls.objections_to(library, [program])[0])


def is_seen(library, compiler, text, said, name, *flags):
    with tempfile.TemporaryDirectory() as folder:
        got = complaint(library, compiler, text, folder, *flags)
    seen = said in got if said else not got
    print("%s %s" % ("ok  " if seen else "MISS", name))
    if not seen:
        print(got)
    return seen


def main():
    library, c_compiler, cpp_compiler, root, libflatline = sys.argv[1:]
    cases = [(name, c_compiler, C % (PHASE, block, body), said) for name, block, body, said in IN_C]
    cases += [(name, c_compiler, C % ("", block, body), said) for name, block, body, said in WITHOUT_PHASE]
    cases += [(name, cpp_compiler, CPP % (PHASE_IN_CPP, body), said) for name, body, said in IN_CPP]
    wrong = sum(not is_seen(library, compiler, text, said, name) for name, compiler, text, said in cases)
    wrong += not is_seen(library, c_compiler, C % (PHASE, "NULL", BEGINS), "nothing was counted",
                         "a program that no library can be preloaded to", "-static")
    steady = 0
    for path in sorted(glob.glob(os.path.join(root, "examples/*.c*"))):
        with open(path) as file:
            text = file.read()
        if BEGINS not in text:
            continue
        steady += 1
        compiler = c_compiler if path.endswith(".c") else cpp_compiler
        wrong += not is_seen(library, compiler, "#include <stdlib.h>\n" + text.replace(BEGINS, PLANTED, 1),
                             "malloc of 48 bytes", "a call planted in " + os.path.basename(path),
                             "-I" + os.path.join(root, "include"), libflatline)
    return 1 if wrong or not steady else 0


if __name__ == "__main__":
    sys.exit(main())
