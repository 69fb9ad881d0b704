#!/usr/bin/env python3
"""Holds every #include to the arrows of the house:

    cli -> {audit, bench, guard, plan, prove, report, server, simulate} -> {engine, preload} -> malloc -> os -> core
    {cli, audit, guard, prove} -> symbols        and everyone: include/flatline

    layering.py ROOT        (the folder that holds src/ and include/)

Inside of a room files, each with the header of its name, do not include each other in a circle. Inside of src/os and
src/malloc each stands on a level, and includes headers of lower levels alone.

src/core includes nothing but itself, the public headers, and five headers that any freestanding compiler has; the
public headers include only each other and such headers, in C++ also the standard library's. The rooms of the arrows are
the folders of src, each of them. Exit status 0: it holds. 1: it does not; each place is named with what to do.
"""
import os
import re
import sys

FLOOR = {"core": 0, "symbols": 0, "os": 1, "malloc": 2, "preload": 3, "engine": 3, "audit": 4, "guard": 4, "prove": 4, "report": 4, "bench": 4,
         "plan": 4, "server": 4, "simulate": 4, "cli": 5}
# From the lowest level up: size classes, page runs and the policy, the address space, extents, thread heaps, their
# pages and spans, blocks freed by other threads, the thread cache, and the functions that a program calls.
LEVELS = {
    "malloc": ["exceptions locked objects runs say settings", "c_library mapping replaced runtime size_class",
               "neighbours policy", "space", "extents states", "thread_heap", "pages usual", "keeping large operators spans",
               "misuse returned rings", "left trim", "home", "cache", "heaps", "malloc usage", "statistics"],
    "os": ["address_text arena_create clock faults region_refusal region_room smaps thread valgrind", "region_plan stack_capture",
           "backing page_guard pool_trim region_report region_settle", "heap_create percore_create pool_create region_map",
           "region_file", "region"],
    "engine": ["chance", "load_report own_sends shard_set", "dispatcher", "least view", "prequal", "policies",
               "descriptor footprint links steps ticks", "histogram ready wheel", "statistics switchback", "engine",
               "construction control gain lane_grants load record snapshot watchdog",
               "any_worker layout options submit_steps worker", "metrics setup submit"],
    "symbols": ["demangle source_line symbol_index system_call_name whole_file", "entries module_file", "source_frames", "site"],
}
LEVEL = {(room, name): level for room, levels in LEVELS.items() for level, names in enumerate(levels)
         for name in names.split()}
FREESTANDING = {"stdint.h", "stddef.h", "stdbool.h", "stdatomic.h", "limits.h"}
LISTED = ", ".join("<%s>" % header for header in sorted(FREESTANDING))
SOURCES = (".c", ".h", ".cpp", ".hpp", ".cc", ".hh", ".S", ".inc")
INCLUDE = re.compile(r"^[ \t]*#[ \t]*(?:include|include_next|import)[ \t]*(?:<([^>]+)>|\"([^\"]+)\"|(\S.*))", re.M)
POSIX = ("pthread.h",)  # system headers that C++ headers may use, where the standard library has no equivalent
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


def objection_within(room, file, found):
    """What is wrong with an include of a file of the same room, or None."""
    below, above = (os.path.splitext(os.path.basename(path))[0] for path in (found, file))
    if room not in LEVELS or below == above:
        return None
    for name in (above, below):
        if (room, name) not in LEVEL:
            return "src/%s/%s has no level: add it to this check" % (room, name)
    if LEVEL[room, below] < LEVEL[room, above]:
        return None
    return "src/%s/%s does not lie below %s: take what is needed as an argument, or move it down" % (room, below, above)


def objection(file, name, quoted, root):
    """What is wrong with one include, or None."""
    part = part_of(file, root)
    found = resolve(name, quoted, file, root)
    if found is not None:
        target = part_of(found, root)
        if target == "include":
            return None
        if target == part:
            return objection_within(part, file, found)
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


def includes_within(room, root):
    """By file of a room, without its ending: the others of the room that it or the header of its name includes."""
    folder, within = os.path.join(root, "src", room), {}
    for file in sources_below(folder):
        others = within.setdefault(os.path.splitext(os.path.relpath(file, folder))[0], set())
        with open(file, encoding="utf-8") as opened:
            text = COMMENT.sub("", opened.read())
        for include in INCLUDE.finditer(text):
            found = include.group(2) and resolve(include.group(2), True, file, root)
            if found and part_of(found, root) == room:
                others.add(os.path.splitext(os.path.relpath(found, folder))[0])
    return {name: others - {name} for name, others in within.items()}


def circles_in(within):
    """Each circle that a search through the includes closes."""
    done = set()

    def search(name, way):
        if name in way:
            yield way[way.index(name):] + [name]
        elif name not in done:
            for other in sorted(within.get(name, ())):
                yield from search(other, way + [name])
            done.add(name)
    for name in sorted(within):
        yield from search(name, [])


def circles_below(root):
    return ["src/%s: %s is a circle: move what both need to a file of its own" % (room, " includes ".join(circle))
            for room in sorted(FLOOR) for circle in circles_in(includes_within(room, root))]


def levels_astray(root):
    """What is wrong with the list of levels: files that are not there."""
    there = {(room, os.path.splitext(os.path.basename(file))[0])
             for room in LEVELS for file in sources_below(os.path.join(root, "src", room))}
    return ["src/%s/%s: there is no such file: take its level out of this check" % name
            for name in sorted(LEVEL.keys() - there)]


def main():
    if len(sys.argv) != 2 or not os.path.isdir(os.path.join(sys.argv[1], "src", "core")):
        print("layering.py: give the folder that holds src/core", file=sys.stderr)
        return 2
    root = os.path.abspath(sys.argv[1])
    count, found = violations_below(root)
    found += rooms_astray(root) + levels_astray(root) + circles_below(root)
    for violation in found:
        print(violation)
    print("%d includes, %d against the arrows" % (count, len(found)))
    return 1 if found or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
