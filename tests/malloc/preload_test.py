#!/usr/bin/env python3
"""Holds the library to serving programs that know nothing of it: each does the same as without it, and its maps show
the library.

    preload_test.py LIBRARY
"""
import os
import subprocess
import sys

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
MAPS = "print(sum(%r in line for line in open('/proc/self/maps')) > 0)"


def run(command, library, given=None):
    environment = dict(os.environ, PYTHONMALLOC="malloc")
    if library:
        environment["LD_PRELOAD"] = library
    done = subprocess.run(command, input=given, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          check=False)
    return done.returncode, done.stdout, done.stderr


def main():
    library = os.path.abspath(sys.argv[1])
    lines = "".join("%d line\n" % (i * 7919 % 100003) for i in range(100000)).encode()
    source = b"#include <map>\n#include <string>\nint main() { std::map<std::string, int> m; return (int)m.size(); }\n"
    programs = [
        ([sys.executable, "-c", PYTHON], None),
        (["sort", "--parallel=2"], lines),
        (["g++", "-x", "c++", "-std=c++20", "-O1", "-S", "-o", "-", "-"], source),
        (["perl", "-e", "my %h; $h{$_ * 7919 % 10007} .= $_ for 1..100000; print join ',', sort keys %h"], None),
        (["sh", "-c", "for i in 1 2 3 4 5; do echo $i | cat; done"], None),
    ]
    wrong = []
    for command, given in programs:
        if run(command, library, given) != run(command, None, given):
            wrong.append("%s does not do the same under the library: %r" % (command[0], run(command, library, given)[2]))
    if run([sys.executable, "-c", MAPS % os.path.basename(library)], library)[1].strip() != b"True":
        wrong.append("the maps of a preloaded program do not show the library")
    if run([sys.executable, "-c", MAPS % os.path.basename(library)], None)[1].strip() != b"False":
        wrong.append("the maps show the library where it was not preloaded")
    for line in wrong:
        print(line)
    print("%d programs, %d objections" % (len(programs), len(wrong)))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
