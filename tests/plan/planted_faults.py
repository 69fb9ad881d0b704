#!/usr/bin/env python3
"""Plants one fault in a copy of one file, links plan_test or plan_engine_test with it, and demands that a test fails.

    planted_faults.py --list
    planted_faults.py --fault NAME --source ROOT --work FOLDER --linker CXX --objects OBJECT... --engine-objects OBJECT...
                      --libraries LIBRARY...

The fault `none` is the control: the file as it is, with which every test must pass. A fault whose place is no longer in
the source is an error, never a pass: change its pattern along with the code. Exit status 0: seen (control: passed).
"""
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True  # keeps the source folder clean
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from planting import CONTROL, arguments_of, passes, plant, verdict

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
    "a_class_counts_its_sizes_apart": ("class_meter.cpp", r"if \(\+\+each\.live <= each\.peak\) return;",
                                       "if (++each.live < each.peak) return; if (each.live == each.peak) each.peak++;"),
    "fullest_moment_forgotten": ("class_meter.cpp", r"each\.at_peak \? live_in\(each\) : each\.fullest", "live_in(each)"),
    "alignment_of_a_block_forgotten": ("class_meter.cpp", r"found->alignment < alignment", "false"),
    "sizes_beyond_are_served": ("class_meter.cpp", r"if \(std::ranges::find\(beyond_, rounded\) != beyond_\.end\(\)\) return std::nullopt;", ""),
    "peaks_of_sizes_not_kept": ("demand_meter.cpp", r"counts\.peak = std::max\(counts\.peak, \+\+counts\.live\);",
                                "counts.peak = ++counts.live;"),
    "any_number_of_sizes": ("demand_meter.cpp", r"if \(rows\.size\(\) > most_sizes\)", "if (rows.empty())"),
    "a_trial_with_a_byte_more": ("pool_trial.cpp", r"need\.block_bytes - less_block_bytes", "need.block_bytes"),
    "a_trial_with_all_blocks": ("pool_trial.cpp", r"--classes\[index\]\.block_count;", "(void)index;"),
    "refusals_not_counted": ("pool_trial.cpp", r"\) \+\+result_\.refused;", ") return;"),
    "control_characters_shown": ("number_text.cpp", r"each >= ' ' && each <= '~' \? each : '\?'", "each"),
    "twice_the_same_member": ("tracking.cpp", r"!keys_\.back\(\)\.insert\(parsed\.get<std::string>\(\)\)\.second", "false"),
    "any_depth": ("tracking.cpp", r"if \(depth > most_depth\)", "if (depth < 0)"),
    "negative_numbers_taken": ("tracking.cpp", r"is_number_unsigned\(\)", "is_number()"),
    "heap_alignment_forgotten": ("plan.cpp", r"std::max\(heap\.footprint\.block_alignment, demand\.alignment\)",
                                 "heap.footprint.block_alignment"),
    "dots_not_counted": ("toml.cpp", r"std::ranges::count\(text, '\.'\) > most_dots", "text.empty() && most_dots < 0"),
    "limits_not_sorted_with_their_sizes": (
        "toml.cpp", r"all\.limits\.push_back\(row\.limits\);", "all.limits.insert(all.limits.begin(), row.limits);"),
    "no_grants_read_as_the_default": ("toml.cpp", r"return FLAT_NO_GRANTS;", "return 0;"),
    "urgencies_of_a_class_not_read": ("toml.cpp", r"limits_at\(each\), urgencies_at\(each, usual\)", "limits_at(each), usual"),
    "too_few_tables_of_workers": ("toml.cpp", r"tables != 0 && tables != declaration\.worker_count", "false"),
    "engine_not_tried": ("toml.cpp", r"located\(engine, \[&\] \{ \(void\)plan_engine[^\n]*", ""),
    "any_duration": ("toml.cpp", r"\*ns == 0 \|\| \*ns > FLAT_ENGINE_MAX_DELAY_NS", "false"),
    "durations_overflow": ("number_text.cpp", r" && \*number <= UINT64_MAX / ns", ""),
    "no_grants_not_written": ("toml_text.cpp", r"grants == FLAT_NO_GRANTS \? [^;]*: ", ""),
    "own_classes_not_written": ("toml_text.cpp", r"if \(each\.own\) text \+= classes_text\(\*each\.own\);", ""),
    "header_without_the_limits": ("header.cpp", r"of\.limits\) *\n? *text \+=", "of.limits) if (false) text +="),
    "header_without_own_classes": ("header.cpp", r"if \(each\.own\) \{", "if (false) {"),
    "not_utf8_taken": ("toml.cpp", r"if \(length == 0\) fail\(at, \"not UTF-8[^;]*;", "if (length == 0) break;"),
}

# The same, for plan_engine_test.
ENGINE_FAULTS = {
    CONTROL + "_in_the_engine": ("sojourn.cpp", r"\A", ""),
    "running_task_forgotten": ("sojourn.hpp", r"std::uint64_t running = 1;", "std::uint64_t running = 0;"),
    "one_task_less_ahead": ("sojourn.cpp", r"before\.as_urgent = grants - 1;", "before.as_urgent = grants > 1 ? grants - 2 : 0;"),
    "passed_over_once_for_all_ahead": ("sojourn.cpp", r"before\.more_urgent = grants \* limit;", "before.more_urgent = limit;"),
    "passed_over_once_less": ("sojourn.cpp", r"grants \* limit;", "grants * limit - 1;"),
    "overdue_tasks_forgotten": ("sojourn.cpp", r"before\.less_urgent\[less\] = 1 \+ passing / limit;", ""),
    "overdue_only_later": ("sojourn.cpp", r"= 1 \+ passing / limit;", "= passing / limit;"),
    "overdue_tasks_pass_nobody_over": ("sojourn.cpp", r"passing \+= before\.less_urgent\[less\];", ""),
    "own_task_passes_nobody_over": ("sojourn.cpp", r"passing = before\.as_urgent \+ before\.more_urgent;",
                                    "passing = before.more_urgent;"),
    "other_kinds_of_the_same_urgency_forgotten": (
        "sojourn.cpp", r"ns \+= sum_of\(kinds, only\(urgency\)\) - kinds\[kind\]\.service_ns;",
        "ns += static_cast<Wide>(kinds[kind].grants - 1) * kinds[kind].service_ns;"),
    "shortest_runs_pass": ("sojourn.cpp", r"std::max\(longest, each\.service_ns\)",
                           "longest == 0 ? each.service_ns : std::min(longest, each.service_ns)"),
    "overhead_forgotten": ("sojourn.cpp", r"ns \+= static_cast<Wide>\(overhead_ns\)[^;]*;", ""),
    "a_bound_without_a_limit": ("sojourn.cpp", r"if \(unlimited != kinds\.end\(\)\)", "if (false)"),
    "a_bound_that_wraps_around": ("sojourn.cpp", r"if \(ns <= UINT64_MAX\) ", ""),
    "grants_of_workers_not_counted": ("engine_plan.cpp", r" \+ each\.worker_grants \* options\.worker_count", ""),
    "workers_all_alike": ("engine_plan.cpp", r"return kind\.payloads == payloads;", "return !payloads.empty();"),
    "own_classes_not_given": ("engine_plan.cpp", r"if \(each\.own\) pointers\(\*each\.own, worker\);", ""),
    "urgencies_of_the_engine_for_all": ("engine_plan.cpp", r"return use\.by_worker\.empty\(\)[^;]*;", "return use.urgencies;"),
    "refusal_without_a_reason": ("engine_plan.cpp", r"std::string\(message\.data\(\)\)", "std::string()"),
    "cancelled_tasks_do_not_dispose": (
        "../engine/worker.c", r"(void cancel_task.*?)\(record->task\.flags & ALWAYS_RUN\) == 0", r"\1true"),
    "cancelled_tasks_run_as_ever": ("../engine/worker.c", r"record->task\.flags \|= IS_CANCELLED;", ""),
    "cancelled_tasks_wait_for_their_start": (
        "../engine/worker.c", r"(\|= IS_CANCELLED;\s*)if \(record->is_waiting\) return;", r"\1return;"),
    "a_run_that_defers_itself_not_checked": (
        "../engine/worker.c", r"    check_service\(statistics, task, ended - now\);",
        "    if (!worker->is_deferred) check_service(statistics, task, ended - now);"),
    "disposals_not_checked": (
        "../engine/worker.c", r"    check_service\(statistics, task, ended - now\);",
        "    if (outcome == FLAT_TASK_DONE) check_service(statistics, task, ended - now);"),
    "stacks_not_in_the_bound_of_sizes": ("../engine/layout.c", r"return judge_size\(of\);\n\}", "return FLAT_OK;\n}"),
    "a_page_too_little": ("../engine/layout.c", r"of->parts\.stacks \+ of->parts\.stack_guards, ENGINE_PAGE\)",
                          "of->parts.stacks, ENGINE_PAGE)"),
    "guards_of_the_stacks_left_out": ("../engine/setup.c", r"flat_guard_page\(stack_number[^;]*;", "(void)stack_number;"),
    "parts_do_not_add_up": ("../engine/layout.c", r"of->parts\.lanes \+= ", "of->parts.lanes = "),
}


def planted(fault, source, work):
    """The .cpp to compile in place of the project's: a copy with the fault in it, or beside a header that has it."""
    path, pattern, replacement = (FAULTS | ENGINE_FAULTS)[fault]
    file = os.path.basename(path)
    plan = os.path.join(source, "src", "plan")
    os.makedirs(work, exist_ok=True)
    unit = file.replace(".hpp", ".cpp")
    for name in {file, unit}:
        shutil.copyfile(os.path.join(plan, os.path.dirname(path), name), os.path.join(work, name))
    plant(fault, os.path.join(work, file), pattern, replacement, os.path.normpath(os.path.join("src/plan", path)))
    return os.path.join(work, unit)


def compile_into(unit, arguments):
    """The object of the unit, whose own headers come from beside it first and from src/plan otherwise."""
    source = arguments.source
    stem, ending = os.path.splitext(unit)
    language = ["-x", "c", "-std=c11", "-I", os.path.join(source, "src", "engine")] if ending == ".c" else ["-std=c++20"]
    subprocess.run([arguments.linker, *language, "-O0", "-fPIC", "-w", "-DNDEBUG", "-I",
                    os.path.join(source, "src", "plan"), "-I", os.path.join(source, "src"), "-I",
                    os.path.join(source, "include"), "-c", unit, "-o", stem + ".o"], check=True)
    return stem + ".o"


def main():
    arguments = arguments_of(__doc__, FAULTS | ENGINE_FAULTS, ("source", "work", "linker"),
                             lists=("objects", "engine-objects", "libraries"))
    unit = planted(arguments.fault, arguments.source, arguments.work)
    objects, test = (arguments.objects, "plan_test")
    if arguments.fault in ENGINE_FAULTS:
        objects, test = (arguments.engine_objects, "plan_engine_test")
    program = os.path.join(arguments.work, test)
    # The linker takes this object instead of the library's copy, because it comes first.
    subprocess.run([arguments.linker, *objects, compile_into(unit, arguments), *arguments.libraries, "-lfmt", "-pthread",
                    "-o", program], check=True)
    return verdict(arguments.fault, [(test, passes(program))])


if __name__ == "__main__":
    sys.exit(main())
