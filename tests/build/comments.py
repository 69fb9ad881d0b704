#!/usr/bin/env python3
"""Finds comments in which the formatter has joined lines that stand for themselves: equations, diagrams, lists.

    comments.py ROOT

A line of a comment that is indented, an equation or an item of a list, and too long, is broken by clang-format, which
puts its end to the left, before the line that follows. So an indented line almost as long as can be, with text at the
left behind it, is one that was broken: write it in two lines, both indented. Exit status 0: there is none.
"""
import os
import re
import sys

FOLDERS = ("include", "src", "tests", "examples")
SOURCES = (".c", ".h", ".cpp", ".hpp", ".S")
ALMOST = 100  # of 120 columns: a word that did not fit is shorter than the other 20
LINE = re.compile(r"\s*(?:/\*+|\*|///?)( *)(\S.*)$")


def joined(text):
    """The numbers of lines that were broken."""
    lines = text.split("\n")
    for number, (line, after) in enumerate(zip(lines, lines[1:]), 1):
        this, following = LINE.match(line), LINE.match(after)
        if this is None or following is None or len(line) < ALMOST or following.group(2) == "*/":
            continue
        indent, behind = len(this.group(1)), len(following.group(1))
        of_an_item = this.group(2).startswith("- ") and behind == indent and not following.group(2).startswith("- ")
        if indent > 2 and (behind < 2 or of_an_item):
            yield number


def main():
    root, found, looked_at = os.path.abspath(sys.argv[1]), 0, 0
    for folder in FOLDERS:
        for parent, _, files in os.walk(os.path.join(root, folder)):
            for file in sorted(name for name in files if name.endswith(SOURCES)):
                path = os.path.join(parent, file)
                with open(path, encoding="utf-8") as opened:
                    text = opened.read()
                looked_at += 1
                for number in joined(text):
                    found += 1
                    print("%s:%d: was broken by the formatter: write it in two indented lines" % (
                        os.path.relpath(path, root), number))
    print("%d files, %d broken lines" % (looked_at, found))
    return 1 if found or looked_at == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
