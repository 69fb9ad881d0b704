#!/usr/bin/env python3
"""Holds every #include to the arrows of the house:

    cli -> {bench, plan, prove, report} -> malloc -> os -> core        and everyone: include/flatline

    layering.py ROOT        (the folder that holds src/ and include/)

src/core includes nothing but itself, the public headers, and five headers that any freestanding compiler has; the
public headers include only each other and such headers, in C++ also the standard library's. The rooms of the arrows are the
folders of src, each of them. Exit status 0: it holds. 1: it does not; each place is named with what to do.
"""
import os
import re
import sys

FLOOR = {"core": 0, "os": 1, "malloc": 2, "prove": 3, "report": 3, "bench": 3, "plan": 3, "cli": 4}
FREESTANDING = {"stdint.h", "stddef.h", "stdbool.h", "stdatomic.h", "limits.h"}
LISTED = ", ".join("<%s>" % header for header in sorted(FREESTANDING))
SOURCES = (".c", ".h", ".cpp", ".hpp", ".cc", ".hh", ".S", ".inc")
INCLUDE = re.compile(r"^[ \t]*#[ \t]*(?:include|include_next|import)[ \t]*(?:<([^>]+)>|\"([^\"]+)\"|(\S.*))", re.M)
POSIX = ("pthread.h",)  # what C++ headers need of the system where the standard library has no such thing
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)


def sources_below(folder):
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(f for f in folders if f != "node_modules")
        for file in sorted(files):
            if file.endswith(SOURCES):
                yield os.path.join(parent, file)


def part_of(path, root):
    """core, os, ... for a file below src; "include" for a public header; else None."""
    relative = os.path.relpath(path, root).split(os.sep)
    if relative[0] == "src" and len(relative) > 2:
        return relative[1]
    return "include" if relative[0] == "include" else None


def resolve(name, quoted, file, root):
    """The file of this project that an include means, or None where it means another's."""
    places = [os.path.join(root, "src"), os.path.join(root, "include")]
    if quoted:
        places.insert(0, os.path.dirname(file))
    for place in places:
        candidate = os.path.normpath(os.path.join(place, name))
        if os.path.isfile(candidate):
            return candidate
    return None


def objection(file, name, quoted, root):
    """What is wrong with one include, or None."""
    part = part_of(file, root)
    found = resolve(name, quoted, file, root)
    if found is not None:
        target = part_of(found, root)
        if target == "include" or target == part:
            return None
        if part == "include":
            return "a public header may include only public headers"
        if target not in FLOOR:
            return "%s is outside src/ and include/" % os.path.relpath(found, root)
        if part not in FLOOR:
            return "src/%s has no place in the house: add it to the architecture and to this check" % part
        if FLOOR[part] > FLOOR[target]:
            return None
        return "src/%s must not include src/%s: arrows run downward only" % (part, target)
    if name.startswith("flatline/"):
        return "there is no such public header"
    if part == "core":
        if not quoted and name in FREESTANDING:
            return None
        return "src/core may include only itself, <flatline/...> and " + LISTED
    if part == "include" and not quoted:
        if name in FREESTANDING or (file.endswith(".hpp") and ("." not in name or name in POSIX)):
            return None
        return "a public header may include only public headers and " + LISTED
    if quoted:
        return "names no file of the project; another's headers stand in <>"
    return None


def violations_below(root):
    count, found = 0, []
    for folder in ("src", "include"):
        for file in sources_below(os.path.join(root, folder)):
            with open(file, encoding="utf-8") as opened:
                text = COMMENT.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), opened.read())
            for include in INCLUDE.finditer(text):
                count += 1
                line = text.count("\n", 0, include.start()) + 1
                place = "%s:%d" % (os.path.relpath(file, root), line)
                if include.group(3) is not None:
                    wrong = "an include by macro cannot be checked: name the file" if part_of(file, root) in (
                        "core", "os", "include") else None
                    name = include.group(3)
                else:
                    name = include.group(1) or include.group(2)
                    wrong = objection(file, name, include.group(1) is None, root)
                if wrong:
                    found.append("%s: %s: %s" % (place, name, wrong))
    return count, found


def rooms_astray(root):
    """What is wrong with the arrows' own list of rooms."""
    source = os.path.join(root, "src")
    there = {name for name in os.listdir(source) if os.path.isdir(os.path.join(source, name))}
    return (["src/%s: there is no such room: take it out of this check" % room for room in sorted(set(FLOOR) - there)] +
            ["src/%s: has no place in the house: add it to the architecture and to this check" % room
             for room in sorted(there - set(FLOOR))])


def main():
    if len(sys.argv) != 2 or not os.path.isdir(os.path.join(sys.argv[1], "src", "core")):
        print("layering.py: give the folder that holds src/core", file=sys.stderr)
        return 2
    root = os.path.abspath(sys.argv[1])
    count, found = violations_below(root)
    found += rooms_astray(root)
    for violation in found:
        print(violation)
    print("%d includes, %d against the arrows" % (count, len(found)))
    return 1 if found or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
