#!/usr/bin/env python3
"""What clang's RealtimeSanitizer finds of the violations of violations.cpp, beside `flatline guard`: the table of
docs/guard-a-callback.md, which tests/docs/guard_a_callback_test.py holds to it.

    rtsan_table.py FLATLINE PROGRAMS CLANG RUNTIME

CLANG: clang++-19, with llvm-symbolizer-19 beside it. RUNTIME: libclang_rt.rtsan-x86_64.a, which Debian's
libclang-rt-19-dev has; it is linked by hand, since the option -fsanitize=realtime needs marks in the source that come
with clang 20. It ends the program at the first violation, so each case is a run of its own; of a case with several,
those behind the first are not reached.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SOURCES = pathlib.Path(__file__).resolve().parent
SYMBOLIZER = pathlib.Path("/usr/bin/llvm-symbolizer-19")  # without it RTSan names no line
# Functions that a case calls, or whose marks stand in another file.
PART_OF = {"third": "in_a_nested_call", "reserve": "in_an_inlined_function",
           "allocate_in_a_section": "in_a_thread_of_its_own", "late_call": "in_a_library_that_was_loaded_late"}


def marks():
    """(case, file, line, kind) in order."""
    for name in "violations.cpp", "late.cpp":
        case = None
        for number, line in enumerate((SOURCES / name).read_text(encoding="utf-8").splitlines(), 1):
            begun = re.search(r"(?:NOINLINE|inline|EXPORTED) (?:void|void \*)\s?\*?(\w+)\(", line)
            case = begun.group(1) if begun else case
            mark = re.search(r"// guard: (.*)", line)
            for kind in mark.group(1).split(", ") if mark else []:
                yield PART_OF.get(case, case), name, number, kind


def build(folder, clang, runtime):
    options = ["-std=c++20", "-g", "-O1", "-fno-optimize-sibling-calls", "-DGUARDED_BY_RTSAN"]
    subprocess.run([clang, *options, "-shared", "-fPIC", SOURCES / "late.cpp", "-o", folder / "late.so"], check=True)
    subprocess.run([clang, *options, SOURCES / "violations.cpp", "-rdynamic", "-Wl,--whole-archive", runtime,
                    "-Wl,--no-whole-archive", "-lpthread", "-ldl", "-lm", "-lrt", "-o", folder / "violations"], check=True)


def found_by_rtsan(folder, case):
    """Where the first violation of a case stands, or None: (file, line)."""
    result = subprocess.run([folder / "violations", folder / "late.so", case], capture_output=True, text=True, timeout=60,
                            env=dict(os.environ, RTSAN_SYMBOLIZER_PATH=str(SYMBOLIZER)))
    places = re.findall(r"/(violations\.cpp|late\.cpp):(\d+)", result.stderr)
    if "Real-time violation" not in result.stderr:
        return None
    return {(name, int(line)) for name, line in places}


def found_by_guard(flatline, programs):
    with tempfile.NamedTemporaryFile() as document:
        subprocess.run([flatline, "guard", "--warm-up", "1", "--json", document.name, "--", programs / "violations",
                        programs / "liblate.so"], check=True, capture_output=True)
        violations = json.load(document)["violations"]
    return {(os.path.basename(each["site"]["file"]), each["site"]["line"], each["kind"]) for each in violations}


def table(flatline, programs, clang, runtime):
    """Its lines, as they stand in the page."""
    guard = found_by_guard(flatline, programs)
    lines = ["| case | violation | flatline guard | RTSan 19 |", "|---|---|---|---|"]
    totals = [0, 0, 0]
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        build(folder, clang, runtime)
        stopped = set()
        for case, name, line, kind in marks():
            ours = (name, line, kind) in guard
            places = found_by_rtsan(folder, case)
            if case in stopped:
                theirs = "ended before"
            elif places is None:
                theirs = "-"
            else:
                theirs = "found" if (name, line) in places else "ended elsewhere"
                stopped |= {case}
            lines.append("| %s | %s | %s | %s |" % (case.replace("_", " "), kind, "found" if ours else "-", theirs))
            totals = [totals[0] + 1, totals[1] + ours, totals[2] + (theirs == "found")]
        false_alarm = found_by_rtsan(folder, "blamelessly") is not None
        lines.append("| an uncontended lock | none | - | %s |" % ("false alarm" if false_alarm else "-"))
    return [*lines, "| **all** | %d | %d | %d |" % tuple(totals)]


def main():
    flatline, programs, clang, runtime = sys.argv[1:]
    print("\n".join(table(flatline, pathlib.Path(programs), clang, runtime)))


if __name__ == "__main__":
    main()
