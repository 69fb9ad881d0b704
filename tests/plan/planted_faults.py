#!/usr/bin/env python3
"""Plants one fault in a copy of one file of src/plan, links plan_test with it, and demands that a test fails.

    planted_faults.py --list
    planted_faults.py --fault NAME --source ROOT --work FOLDER --linker CXX --objects OBJECT... --libraries LIBRARY...

The fault `none` is the control: the file as it is, with which every test must pass. A fault whose place is no longer in
the source is an error, never a pass: change its pattern along with the code. Exit status 0: seen (control: passed).
"""
import argparse
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True  # keeps the source folder clean
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from planting import CONTROL, passes, plant, verdict

# name: (file below src/plan, pattern, replacement)
FAULTS = {
    CONTROL: ("class_choice.cpp", r"\A", ""),
    "a_class_is_never_merged": ("class_choice.cpp", r"if \(group\.count > FLAT_POOL_MAX_BLOCK_COUNT\) return;",
                                "if (last - first > 1) return;"),
    "the_first_cut_is_kept": ("class_choice.cpp", r"if \(here >= end\(classes, last\)\) continue;",
                              "if (end(classes, last) != unreachable) continue;"),
    "padding_is_not_counted": ("class_choice.cpp", r"round_up\(so_far, start_at\) \+", "so_far +"),
    "alignment_pads_nothing": ("class_choice.cpp", r"std::max\(pool_alignment\(group\.size\), span\)", "span"),
    "a_class_may_serve_the_next_size": ("class_choice.cpp", r"group\.size >= steps_\[last\]\.size", "false"),
    "alignment_of_requests_forgotten": ("class_choice.cpp", r"group\.size = round_up\(steps_\[last - 1\]\.size, alignment\)",
                                        "group.size = steps_[last - 1].size"),
    "too_many_blocks_in_a_class": ("class_choice.cpp", r"group\.count > FLAT_POOL_MAX_BLOCK_COUNT", "false"),
    "the_first_span_is_taken": ("class_choice.cpp", r"classes == 1 \|\| spans <=", "true || spans <="),
    "a_span_too_large": ("class_choice.cpp", r"std::uint32_t shift = 4;", "std::uint32_t shift = 14;"),
    "margin_left_out": ("class_choice.cpp", r"step\.count = with_margin\(step\.count, margin_percent\);", ""),
    "margin_rounded_down": ("class_choice.hpp", r"\+ 99\) / 100", ") / 100"),
    "alignment_not_looked_at": ("pool_plan.cpp", r" && each\.alignment >= row\.alignment", ""),
    "last_class_refuses_first": ("pool_plan.cpp", r"sooner\(pool, fit, i, fit\.first\.front\(\)\)",
                                 "sooner(pool, fit, fit.first.front(), i)"),
    "unserved_sizes_are_held": ("pool_plan.cpp", r"!fit\.unserved\.empty\(\) \|\| ", ""),
    "buffer_without_its_gap": ("pool_plan.cpp", r"round_up\(footprint\.block_bytes, footprint\.metadata_alignment\)",
                               "footprint.block_bytes"),
    "live_blocks_not_added_up": ("demand.cpp", r"__builtin_add_overflow\(live, row\.count, &live\)", "false"),
    "bytes_overflow": ("demand.cpp", r"__builtin_mul_overflow\(row\.size, row\.count, &bytes\)",
                       "((bytes = row.size * row.count), false)"),
    "control_characters_shown": ("number_text.cpp", r"each >= ' ' && each <= '~' \? each : '\?'", "each"),
    "twice_the_same_member": ("tracking.cpp", r"!keys_\.back\(\)\.insert\(parsed\.get<std::string>\(\)\)\.second", "false"),
    "any_depth": ("tracking.cpp", r"if \(depth > most_depth\)", "if (depth < 0)"),
    "negative_numbers_taken": ("tracking.cpp", r"is_number_unsigned\(\)", "is_number()"),
    "heap_alignment_forgotten": ("plan.cpp", r"std::max\(heap\.footprint\.block_alignment, demand\.alignment\)",
                                 "heap.footprint.block_alignment"),
    "dots_not_counted": ("toml.cpp", r"std::ranges::count\(text, '\.'\) > most_dots", "text.empty() && most_dots < 0"),
    "not_utf8_taken": ("toml.cpp", r"if \(length == 0\) fail\(at, \"not UTF-8[^;]*;", "if (length == 0) break;"),
}


def planted(fault, source, work):
    """The .cpp to compile in place of the project's: a copy with the fault in it, or beside a header that has it."""
    file, pattern, replacement = FAULTS[fault]
    plan = os.path.join(source, "src", "plan")
    os.makedirs(work, exist_ok=True)
    unit = file.replace(".hpp", ".cpp")
    for name in {file, unit}:
        shutil.copyfile(os.path.join(plan, name), os.path.join(work, name))
    plant(fault, os.path.join(work, file), pattern, replacement, "src/plan/" + file)
    return os.path.join(work, unit)


def compile_into(unit, arguments):
    """The object of the unit, whose own headers come from beside it first and from src/plan otherwise."""
    source = arguments.source
    made = unit[:-4] + ".o"
    subprocess.run([arguments.linker, "-std=c++20", "-O0", "-fPIC", "-w", "-DNDEBUG", "-I",
                    os.path.join(source, "src", "plan"), "-I", os.path.join(source, "src"), "-I",
                    os.path.join(source, "include"), "-c", unit, "-o", made], check=True)
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--fault", choices=sorted(FAULTS))
    parser.add_argument("--source")
    parser.add_argument("--work")
    parser.add_argument("--linker")
    parser.add_argument("--objects", nargs="+", default=[])
    parser.add_argument("--libraries", nargs="+", default=[])
    arguments = parser.parse_args()
    if arguments.list:
        print(";".join(FAULTS), end="")
        return 0
    unit = planted(arguments.fault, arguments.source, arguments.work)
    program = os.path.join(arguments.work, "plan_test")
    # The linker takes this object instead of the library's copy, because it comes first.
    subprocess.run([arguments.linker, *arguments.objects, compile_into(unit, arguments), *arguments.libraries,
                    "-lfmt", "-pthread", "-o", program], check=True)
    return verdict(arguments.fault, [("plan_test", passes(program))])


if __name__ == "__main__":
    sys.exit(main())
