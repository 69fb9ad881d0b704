#!/usr/bin/env python3
"""Looks for the place of every planted fault in today's source: a pattern that has none no longer tests anything.

    faults_have_places.py ROOT

To plant all faults takes long, and each run of the campaigns plants some of them; this finds a stale pattern at once.
Exit status 0: each fault has a place. 1: those that have none are named.
"""
import glob
import importlib.util
import os
import re
import sys

# The scripts, each with the folder that its files are in. In those of EXACT a fault is text that occurs once.
FOLDERS = {
    "audit/exports_faults.py": "src", "audit/planted_faults.py": "src",
    "audit/replay_faults.py": "src",
    "build/planted_faults.py": "src", "cli/planted_faults.py": "src", "engine/planted_faults.py": "src/engine",
    "engine/seeing_faults.py": "src", "engine/stress_faults.py": "src/engine", "guard/planted_faults.py": "src",
    "malloc/ordering_faults.py": "src/malloc",
    "malloc/planted_faults.py": "src/malloc", "plan/planted_faults.py": "src/plan", "prove/planted_faults.py": "src",
    "prove/soundness/planted_faults.py": "src/prove", "resource/planted_faults.py": "include/flatline",
    "server/planted_faults.py": "src/server", "simulate/planted_faults.py": "", "symbols/planted_faults.py": "src/symbols",
}
EXACT = ("prove/planted_faults.py", "prove/soundness/planted_faults.py")


def faults_of(path):
    """What a script lists: (file, pattern, ...) by the fault's name."""
    sys.path[:0] = [os.path.dirname(path)]
    try:
        spec = importlib.util.spec_from_file_location(re.sub(r"\W", "_", path), path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        del sys.path[0]
    return {**module.FAULTS, **getattr(module, "ENGINE_FAULTS", {})}


def objections(faults, root, folder, exact):
    """Those that have no place."""
    texts = {}
    for name, (file, pattern, *_) in faults.items():
        path = os.path.join(root, "" if file.startswith("include/") else folder, file)
        if path not in texts:
            if not os.path.isfile(path):
                yield "%s: there is no %s" % (name, os.path.relpath(path, root))
                continue
            with open(path, encoding="utf-8") as opened:
                texts[path] = opened.read()
        text = texts[path]
        if exact and text.count(pattern) != 1:
            yield "%s: %s does not have once: %s" % (name, os.path.relpath(path, root), pattern)
        if not exact and re.search(pattern, text, flags=re.S) is None:
            yield "%s: it has no place in %s" % (name, os.path.relpath(path, root))


def main():
    root = sys.argv[1]
    tests = os.path.join(root, "tests")
    sys.path[:0] = [tests]
    scripts = {os.path.relpath(path, tests) for path in glob.glob(os.path.join(tests, "**", "*_faults.py"), recursive=True)}
    wrong = ["%s: say in %s which folder its files are in" % (script, os.path.basename(__file__))
             for script in sorted(scripts - set(FOLDERS))]
    count = 0
    for script in sorted(scripts & set(FOLDERS)):
        # Each has modules beside it of names that others have too.
        before = set(sys.modules)
        faults = faults_of(os.path.join(tests, script))
        for name in set(sys.modules) - before:
            del sys.modules[name]
        count += len(faults)
        wrong += ["%s: %s" % (script, each) for each in objections(faults, root, FOLDERS[script], script in EXACT)]
    for each in wrong:
        print(each)
    print("%d faults of %d scripts, %d without a place" % (count, len(scripts), len(wrong)))
    return 1 if wrong or not scripts else 0


if __name__ == "__main__":
    sys.exit(main())
