#!/usr/bin/env python3
"""names.py PROJECT: one word has one meaning: what a header below include or src names, no other file names otherwise.

Looked at are the macros, inline functions and types that headers define, and the functions that other files can call,
and the same names anywhere else: in another header, or in a source file, where they would mean something else to the
same reader. The library in C, the laboratory's drivers in C and the program in C++ count apart: they share the public
headers alone. The same macro twice, word for word, is one meaning, and a header may define one for each of several
systems. Names that only source files know may repeat.
"""
import collections
import pathlib
import re
import sys

MACRO = re.compile(r"^#define (\w+)(.*(?:\\\n.*)*)", re.M)
FUNCTION = re.compile(r"^(?:static inline|ALWAYS_INLINE|inline|constexpr)\b[^;={(]*?(\w+)\(", re.M)
CALLED = re.compile(r"^(?!static\b|typedef\b|ALWAYS_INLINE\b|inline\b)[A-Za-z_][\w *]*?\b(flat_\w+)\([^;{}]*\) \{",
                    re.M)
TYPE = re.compile(r"^(?:typedef )?(?:struct|class|enum|enum class|union) (?:FLAT_API )?(\w+)(?= \{| final| :)", re.M)
# Parts that are read together: folders and file name endings.
PARTS = ((("include", "src/core", "src/os", "src/malloc", "src/engine", "src/preload",
           "src/guard"), (".h", ".c")),
         (("src/bench/driver",), (".h", ".c")),
         (("include", "src/bench", "src/cli", "src/guard", "src/plan", "src/prove", "src/report", "src/server",
           "src/simulate", "src/symbols"), (".hpp", ".cpp")))


def without_comments(text):
    return re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S)


def definitions(text):
    """Each name, and what is defined by it: a macro by its text, a function that others call, all else by its being
    there."""
    for name, meaning in MACRO.findall(text):
        yield name, "#define" + re.sub(r"\s+", " ", meaning).rstrip()
    for pattern in (FUNCTION, TYPE):
        for name in pattern.findall(text):
            yield name, None
    for name in CALLED.findall(text):
        yield name, CALLED


def files_of(project, folders, endings):
    for folder in folders:
        for path in sorted((project / folder).rglob("*")):
            if path.name.endswith(endings):
                yield str(path.relative_to(project)), without_comments(path.read_text(encoding="utf-8"))


def one_meaning(files):
    """Of a name, by its meanings in each file: whether no header has one that another file does not share."""
    called = any(CALLED in meanings for meanings in files.values())
    if len(files) == 1 or not (called or any(file.endswith((".h", ".hpp")) for file in files)):
        return True
    first, *others = files.values()
    return not called and None not in first and all(meanings == first for meanings in others)


def mistakes_in(project):
    for folders, endings in PARTS:
        places = collections.defaultdict(dict)  # name -> file -> meanings
        for file, text in files_of(project, folders, endings):
            for name, meaning in definitions(text):
                places[name].setdefault(file, set()).add(meaning)
        for name, files in sorted(places.items()):
            if not one_meaning(files):
                yield "%s means more than one thing: %s" % (name, ", ".join(sorted(files)))


def main(project):
    if not any((project / "src").rglob("*.h")):
        print("names.py: no header below %s: is that the project's folder?" % project, file=sys.stderr)
        return 2
    mistakes = list(mistakes_in(project))
    print("\n".join(mistakes) if mistakes else "each name has one meaning")
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
