#!/usr/bin/env python3
"""Comments that comments.py must find broken, and ones that it must not."""
import sys

import comments

LONG = "claimed blocks of a group >= its count, taken or not      the difference: one for each thread between its two"
PROSE = "Only the claim decides who frees a block, and only the owner changes a claimed word. Where a local and a rem"

# text, numbers of the broken lines
CASES = [
    ("/* So:\n *     %s\n * steps word of the tree != 0\n */" % LONG, [2]),
    ("// So:\n//   - %s\n//   before\n//     the last\n" % LONG, [2]),
    ("// So:\n//   - %s\n//   - before\n" % LONG, []),
    ("// So:\n//   - %s\n//     before\n" % LONG, []),
    ("// So:\n//   - %s\n// before\n" % LONG, [2]),
    ("/// So:\n///     %s\n/// steps\n" % LONG, [2]),
    ("/* So:\n *     %s\n *     steps\n */" % LONG, []),
    ("/* So:\n *     %s\n *\n * steps\n */" % LONG, []),
    ("/* %s\n * ote free\n */" % PROSE, []),
    ("/* So:\n *     short == equation\n * where both are short\n */", []),
    ("int a; /* %s\n          %s */" % (PROSE, PROSE), []),
]


def main():
    wrong = 0
    for text, broken in CASES:
        found = list(comments.joined(text))
        if found != broken:
            wrong += 1
            print("MISS %r: %s, should be %s" % (text, found, broken))
    print("%d comments, %d judged wrong" % (len(CASES), wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
