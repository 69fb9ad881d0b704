#!/usr/bin/env python3
"""Holds the library to serving programs that know nothing of it: each does the same as without it, and its maps show
the library.

    preload_test.py LIBRARY [--quick]

--quick leaves out the programs that take some minutes on an emulated machine: the compiler, and Python with threads.
"""
import os
import re
import subprocess
import sys
import tempfile

PYTHON = """
import json, threading
words = [{"name": "word %d" % i, "parts": ["x" * (i % 40)] * (i % 7)} for i in range(20000)]
again = json.loads(json.dumps(words))
found = []
def work(k):
    found.append(sum(len(json.dumps(w)) for w in again[k::4]))
threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
for t in threads: t.start()
for t in threads: t.join()
print(sum(found), again == words)
"""
# Calls the C library's functions by its handle: one of them allocates a block, another frees it.
CTYPES = """
import ctypes
libc = ctypes.CDLL("libc.so.6")
libc.strdup.restype = libc.malloc.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]
libc.realloc.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
libc.realloc.restype = ctypes.c_void_p
for i in range(1000):
    copy = libc.strdup(b"text" * i)
    libc.free(libc.realloc(copy, 10 * i + 100))
    libc.free(libc.malloc(i))
print("went well")
"""
MAPS = "print(sum(%r in line for line in open('/proc/self/maps')) > 0)"


def run(command, library, given=None):
    environment = dict(os.environ, PYTHONMALLOC="malloc")
    if library:
        environment["LD_PRELOAD"] = library
    done = subprocess.run(command, input=given, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          check=False)
    return done.returncode, done.stdout, done.stderr


def said(library, **settings):
    """What a program that allocates a little says on standard error, under the library and its settings."""
    done = subprocess.run(["perl", "-e", "my @a = map { 'x' x 100 } 1..10000; print scalar @a"],
                          env=dict(os.environ, LD_PRELOAD=library, **settings), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False, text=True)
    return done.stderr if done.returncode == 0 and done.stdout == "10000" else "ended with %d" % done.returncode


# All that each setting makes it say.
SETTINGS = [
    ({}, r""),
    ({"FLATLINE_STATS": "0"}, r""),
    ({"FLATLINE_POLICY": "memory"}, r""),
    ({"FLATLINE_POLICY": "fast"},
     r"flatline-malloc: FLATLINE_POLICY=fast is none of latency, balanced and memory: balanced serves\n"),
    ({"FLATLINE_STATS": "1", "FLATLINE_POLICY": "latency"},
     r"flatline-malloc: perl\[\d+\]: policy: latency; thread heaps: 1; their chunks: \d+\.\d MiB\n"
     r"flatline-malloc: perl\[\d+\]: not freed at exit: blocks: \d+, \d+\.\d MiB; huge blocks: \d+, \d+\.\d MiB\n"
     r"flatline-malloc: perl\[\d+\]: free and kept at exit: at most \d+\.\d MiB; returned to the OS before: 0\.0 MiB\n"
     r"flatline-malloc: perl\[\d+\]: peak resident memory of the process: \d+\.\d MiB\n"),
]

# The program closes stderr before the summary is printed. It may then open a file, which gets the same number, or the
# number of the second descriptor.
AFTER_STDERR_WAS_CLOSED = [
    (["ls", "/"], True),
    ([sys.executable, "-c", "import os, sys; os.close(2); os.open(sys.argv[1], os.O_WRONLY)", "FILE"], True),
    ([sys.executable, "-c", "import os; os.closerange(2, 1000)"], False),
    (["sh", "-c", "ulimit -n 100; exec ls /"], False),  # the second descriptor is refused
    ([sys.executable, "-c",
      "import os, sys\nos.closerange(2, 1000)\nwhile os.open(sys.argv[1], os.O_WRONLY) < 300: pass", "FILE"], False),
]


def wrong_statistics(library, command, printed):
    """What is wrong with the summary of a program that closes stderr; '' if nothing is."""
    with tempfile.NamedTemporaryFile() as file:
        done = subprocess.run([file.name if word == "FILE" else word for word in command],
                              env=dict(os.environ, LD_PRELOAD=library, FLATLINE_STATS="1"), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, check=False, text=True)
        if done.returncode != 0:
            return "%s ends with %d: %s" % (command, done.returncode, done.stderr)
        if os.path.getsize(file.name) != 0:
            return "the summary of %s is in a file of the program" % command
        if ("peak resident" in done.stderr) != printed:
            return "%s prints %r" % (command, done.stderr)
    return ""


def main():
    library = os.path.abspath(sys.argv[1])
    lines = "".join("%d line\n" % (i * 7919 % 100003) for i in range(100000)).encode()
    source = b"#include <map>\n#include <string>\nint main() { std::map<std::string, int> m; return (int)m.size(); }\n"
    programs = [
        ([sys.executable, "-c", PYTHON], None),
        ([sys.executable, "-c", CTYPES], None),
        (["sort", "--parallel=2"], lines),
        (["g++", "-x", "c++", "-std=c++20", "-O1", "-S", "-o", "-", "-"], source),
        (["perl", "-e", "my %h; $h{$_ * 7919 % 10007} .= $_ for 1..100000; print join ',', sort keys %h"], None),
        (["sh", "-c", "for i in 1 2 3 4 5; do echo $i | cat; done"], None),
    ]
    if "--quick" in sys.argv[2:]:
        programs = [each for each in programs if each[0][0] not in (sys.executable, "g++")]
    wrong = []
    for command, given in programs:
        if run(command, library, given) != run(command, None, given):
            wrong.append("%s does not do the same under the library: %r" % (command[0], run(command, library, given)[2]))
    if run([sys.executable, "-c", MAPS % os.path.basename(library)], library)[1].strip() != b"True":
        wrong.append("the maps of a preloaded program do not show the library")
    if run([sys.executable, "-c", MAPS % os.path.basename(library)], None)[1].strip() != b"False":
        wrong.append("the maps show the library where it was not preloaded")
    for settings, expected in SETTINGS:
        text = said(library, **settings)
        if not re.fullmatch(expected, text):
            wrong.append("with %s it says %r" % (settings, text))
    for command, printed in AFTER_STDERR_WAS_CLOSED:
        wrong += filter(None, [wrong_statistics(library, command, printed)])
    for line in wrong:
        print(line)
    print("%d programs, %d objections" % (len(programs), len(wrong)))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
