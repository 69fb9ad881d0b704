#!/usr/bin/env python3
"""Holds the table of docs/malloc.md to what each allocator makes of each mistake of misuse_kinds.c, made here and now.

    misuse_table.py KINDS LIBRARY PEERS PAGE [--write]

KINDS is the compiled misuse_kinds.c, LIBRARY Flatline's, PEERS the folder of the peers that were built; a column whose
library is not there is not looked at. A mistake counts as stopped where the program ends in the wrong call itself, with
words on standard error: Flatline's in each of five runs, others' in most of them, since some decide by random numbers.
--write puts the table into the page.
"""
import os
import re
import subprocess
import sys

RUNS = 5
STOPPED, OTHERWISE = "**stopped**", "–"
COLUMNS = [("Flatline", None), ("glibc", ""), ("hardened_malloc", "libhardened_malloc.so"),
           ("snmalloc", "libsnmalloc.so"), ("mimalloc, secure", "libmimalloc_secure.so"), ("mimalloc", "libmimalloc.so")]
BEGIN, END = "<!-- misuse -->\n", "<!-- /misuse -->"


def outcome(program, kind, library):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("FLATLINE_")}
    if library:
        environment["LD_PRELOAD"] = library
    try:
        done = subprocess.run([program, kind], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, errors="replace", timeout=20, check=False)
    except subprocess.TimeoutExpired:
        return OTHERWISE
    return STOPPED if done.stderr and "went on" not in done.stdout else OTHERWISE


def usual(program, kind, library, title):
    stopped = sum(outcome(program, kind, library) == STOPPED for _ in range(RUNS))
    return STOPPED if stopped > (RUNS - 1 if title == COLUMNS[0][0] else RUNS // 2) else OTHERWISE


def libraries(ours, peers):
    for title, name in COLUMNS:
        library = ours if name is None else name and os.path.join(peers, name)
        yield title, library, name is None or name == "" or os.path.exists(library)


def table(kinds, program, columns):
    yield "| | " + " | ".join(title for title, _, _ in columns) + " |"
    yield "|---|" + "---|" * len(columns)
    for kind, description in kinds:
        cells = [usual(program, kind, library, title) for title, library, _ in columns]
        yield "| %s | %s |" % (description, " | ".join(cells))


def rows_of(text):
    found = re.search(re.escape(BEGIN) + "(.*?)" + re.escape(END), text, flags=re.S)
    if not found:
        sys.exit("the page has no place for the table: %s... %s" % (BEGIN.strip(), END))
    lines = [line.strip("| ").split(" | ") for line in found.group(1).splitlines() if line.startswith("|")]
    return lines[0], {row[0]: row[1:] for row in lines[2:]}


def main():
    program, ours, peers, page = sys.argv[1:5]
    kinds = [line.split("\t") for line in subprocess.run([program], stdout=subprocess.PIPE, text=True,
                                                         check=True).stdout.splitlines()]
    columns = list(libraries(os.path.abspath(ours), os.path.abspath(peers)))
    with open(page, encoding="utf-8") as opened:
        text = opened.read()
    if "--write" in sys.argv:
        missing = [title for title, _, there in columns if not there]
        if missing:
            sys.exit("not written: there is no library of " + ", ".join(missing))
        made = BEGIN + "\n".join(table(kinds, program, columns)) + "\n" + END
        text = re.sub(re.escape(BEGIN) + ".*?" + re.escape(END), lambda _: made, text, flags=re.S)
        with open(page, "w", encoding="utf-8") as opened:
            opened.write(text)
    head, rows = rows_of(text)
    wrong, compared = [], 0
    if head != [title for title, _, _ in columns] or list(rows) != [description for _, description in kinds]:
        wrong.append("the table has other rows or columns than there are mistakes and allocators")
    for kind, description in kinds:
        for (title, library, there), said in zip(columns, rows.get(description, [])):
            if not there:
                continue
            seen = usual(program, kind, library, title)
            compared += 1
            if said != seen:
                wrong.append("%s, %s: the page says %s, it was %s" % (description, title, said, seen))
    print("\n".join(wrong + ["%d cells compared, %d objections" % (compared, len(wrong))]))
    return 1 if wrong or not compared else 0


if __name__ == "__main__":
    sys.exit(main())
