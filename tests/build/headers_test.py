#!/usr/bin/env python3
"""Headers that headers.py must refuse, and one that it must not.

    headers_test.py COMPILER
"""
import os
import sys
import tempfile

import headers

# name, text, whether it is correct
CASES = [
    ("right.h", "#ifndef R\n#define R\n#include <stddef.h>\ntypedef struct r { size_t n; } r;\n#endif\n", True),
    ("misses_an_include.h", "#ifndef M\n#define M\nsize_t m(void);\n#endif\n", False),
    ("misses_its_guard.h", "typedef struct twice { int n; } twice;\n", False),
    ("is_no_cpp.h", "#ifndef N\n#define N\nint n(int class);\n#endif\n", False),
    ("is_no_c.h", "#ifndef N\n#define N\nstruct n { int a; };\nn f(n);\n#endif\n", False),
    ("warns.h", "#ifndef W\n#define W\nstatic inline char w(int n) { return n; }\n#endif\n", False),
    ("casts_as_c.h", "#ifndef W\n#define W\nstatic inline char w(int n) { return (char)n; }\n#endif\n", False),
    ("mixes_signs.h", "#ifndef W\n#define W\nstatic inline unsigned w(int n) { return n; }\n#endif\n", False),
    ("casts_as_c.hpp", "#ifndef W\n#define W\ninline long w(int n) { return (long)n; }\n#endif\n", False),
    ("right.hpp", "#ifndef R\n#define R\n#include <vector>\nstd::vector<int> r();\n#endif\n", True),
    ("is_no_cpp17.hpp", "#ifndef R\n#define R\n#include <span>\nstd::span<int> r();\n#endif\n", False),
]


def main():
    wrong = 0
    for name, text, right in CASES:
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, name), "w") as file:
                file.write(text)
            said = headers.complaints(folder, [sys.argv[1]])[1]
            print("%s %s" % ("ok  " if (not said) == right else "MISS", name))
            wrong += (not said) != right
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
