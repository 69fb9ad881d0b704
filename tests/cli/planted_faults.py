#!/usr/bin/env python3
"""Plants one fault in a copy of one file of the program, links the program with it, and demands that a test sees it.

    planted_faults.py --list
    planted_faults.py --fault NAME --source ROOT --work FOLDER --linker CXX --main OBJECT --libraries LIBRARY...
                      --fake-driver FILE --page FILE --library FILE --malloc FILE --overload FILE --test OBJECT...

The fault `none` is the control: the file as it is, with which every test must pass. A fault whose place is no longer in
the source is an error, never a pass: change its pattern along with the code. Exit status 0: seen (control: passed).
"""
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True  # keeps the source folder clean
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))

from planting import CONTROL, arguments_of, passes, plant, verdict

PACKAGED = ["-lelf", "-ldw", "-lncursesw", "-ltinfo", "-lcapstone", "-lZydis", "-lZycore", "-liberty", "-lmd", "-lseccomp", "-lunistring", "-lz", "-lzstd",
            "-lfmt", "-ldl", "-pthread"]
RUN, FILES, TOP = "run_program_test.py", "files_test.py", "top_program_test.py"
SIMULATE = "simulate_program_test.py"
TEXTS = "cli_test"  # of GoogleTest, and no script
BEHIND = "Run.test_a_static_program_behind_another_is_refused_in_the_same_way_each_time"

# name: (file below src, pattern, replacement, script, test)
FAULTS = {
    CONTROL: ("cli/watched_child.cpp", r"\A", "", RUN, BEHIND),
    "programs_behind_the_first_not_looked_at": (
        "cli/watched_child.cpp", r"if \(event == PTRACE_EVENT_EXEC\) become_another\(\);", "", RUN, BEHIND),
    "program_of_another_thread_not_looked_at": (
        "cli/watched_child.cpp", r"if \(first_thread_ended_ && seize\(\)\)", "if (false)", RUN,
        "Run.test_a_thread_that_goes_over_to_a_static_program"),
    "served_by_what_it_was_before": (
        "cli/watched_child.cpp", r"mapped_ = Seen::hidden;\s*try", "try", RUN,
        "Run.test_a_library_that_did_not_take_behind_another_is_said"),
    "environment_not_looked_at": (
        "cli/preload.cpp", r"if \(value && !names\(\*value, preloaded\)\)", "if (false)", RUN,
        "Run.test_a_program_from_whose_environment_the_preload_was_taken"),
    "spaces_left_in_the_preload": (
        "bench/preload_path.cpp", r"if \(can_be_named\(library\)\)", "if (true)", RUN,
        "Run.test_a_folder_with_spaces_and_colons"),
    "words_of_the_command_taken_apart": (
        "cli/command_words.cpp", r"splits_ = argc > 1 && ", "splits_ = argc > 1000 && ", RUN,
        "Run.test_words_behind_the_dashes_stay_as_they_are"),
    "lists_without_dashes_taken_apart": (
        "cli/command_words.cpp", r"word.empty\(\) \|\| \(word.front.*?\);", "false;", RUN,
        "Run.test_words_that_the_parser_would_take_apart_need_the_dashes"),
    "copies_not_asked_for": (
        "cli/compare.cpp", r"    require_copies\(before, after, options\);", "", FILES,
        "Files.test_runs_without_the_copy_are_not_compared"),
    "standard_output_not_looked_at": (
        "cli/output.cpp", r"if \(std::fflush\(stdout\) == 0 && [^)]*\) == 0\) return;", "return;", FILES,
        "Files.test_a_full_standard_output_is_told"),
    "inputs_overwritten": (
        "cli/output.cpp", r"if \(input != \"-\" && is_same_file\(file, input\)", "if (false", FILES,
        "Files.test_an_output_that_is_an_input_is_refused_and_left_as_it_is"),
    "one_file_for_two_outputs": (
        "cli/output.cpp", r"if \(is_same_file\(earlier->second, file\)", "if (false", FILES,
        "Files.test_two_outputs_in_one_file_are_refused"),
    "files_not_looked_at": (
        "cli/output.cpp", r"if \(!out\)", "if (false)", FILES, "Files.test_a_full_device_is_told"),
    "limit_of_file_sizes_kills": (
        "cli/main.cpp", r"    get_errors_for_files_too_large\(\);", "", FILES,
        "Files.test_a_limit_of_file_sizes_is_told_and_is_no_signal"),
    "engines_of_others_looked_at": (
        "cli/engine_source.cpp", r"if \(facts.st_uid != geteuid\(\)\)", "if (false)", TOP,
        "Top.test_processes_of_another_user_are_refused"),
    "shorter_pages_taken": (
        "cli/engine_page.cpp", r"if \(bytes_of_page\(bytes\) != bytes.size\(\)\)", "if (false)", TOP,
        "Top.test_a_file_and_a_copy_of_it"),
    "screen_drawn_once": (
        "cli/top.cpp", r"        watched.look\(\);\n        next", "        next", TOP, "OnATerminal.test_a_hundred_columns"),
    "end_of_the_process_not_seen": (
        "cli/top.cpp", r"if \(source.has_ended\(\)\) return true;", "", TOP, "OnATerminal.test_the_end_of_the_process"),
    "screen_too_wide": (
        "cli/top.cpp", r"clamp\(columns, narrowest, widest\)", "max(columns, widest)", TOP,
        "OnATerminal.test_eighty_columns_and_few_lines"),
    "q_is_no_key": ("cli/screen.cpp", r"case 'q':", "", TOP, "OnATerminal.test_a_hundred_columns"),
    "functions_without_names": (
        "cli/function_names.cpp", r"name == nullptr \? std::string\(\) : [^;]*;", "std::string();", TOP,
        "Top.test_the_name_of_the_running_task"),
    "refusals_not_shown": (
        "cli/engine_page.cpp", r"std::ranges::copy\(from.refused, made.refused.begin\(\)\);", "", TOP,
        "Top.test_document"),
    "page_of_anything": (
        "cli/report.cpp", r"\(void\)markdown_of\(document\);", "", FILES, "Files.test_results_that_are_not_whole"),
    "gain_as_a_share": (
        "cli/top_text.cpp", r"100 \* gain\.gain_low, 100 \* gain\.gain_high", "gain.gain_low, gain.gain_high", TEXTS,
        "top_text.shows_what_the_policy_of_dispatch_gains"),
    "intervals_on_both_sides_agree": (
        "cli/bench_dispatch.cpp", r"return separates\(\) && \(live.low > 1\) == \(simulated.low > 1\);", "return separates();",
        TEXTS, "bench_dispatch.pairs_agree_iff_both_intervals_are_on_one_side_of_1"),
    "named_pair_the_other_way_round": (
        "cli/bench_dispatch.cpp", r"if \(first != each.better\) std::swap", "if (first == each.better) std::swap", TEXTS,
        "bench_dispatch.names_three_pairs_of_each_scenario_and_the_simulation_has_them_in_that_order"),
    "slower_worker_as_fast": (
        "bench/live_dispatch.cpp", r"flight->task->service_ns\) / speed", "flight->task->service_ns) / (speed > 0 ? 1 : 2)", TEXTS,
        "live_dispatch.a_slower_worker_takes_longer"),
    "blocks_not_held": (
        "bench/live_dispatch.cpp", r"flight->task->hold_ns != 0 &&", "flight->task->hold_ns == 1 &&", TEXTS,
        "live_dispatch.blocks_are_held_and_come_back"),
    "refused_tasks_not_counted": (
        "bench/live_dispatch.cpp", r"outcome.refused \+= !accepted\[i\];", "", TEXTS,
        "live_dispatch.tasks_take_their_time_and_those_without_a_grant_are_refused"),
    "page_of_any_simulation": (
        "cli/report.cpp", r"        require_simulation\(document\);", "        ;", SIMULATE,
        "Simulate.test_a_recorded_simulation_that_is_not_whole_becomes_no_page"),
    "outputs_not_looked_at_before_the_work": (
        "cli/simulate.cpp", r"    const BenchWriter writer\(options.outputs, [^;]*;(.*)writer.write\(document_of\(results\)\);.*?;",
        r"\1BenchWriter(options.outputs).write(document_of(results));", SIMULATE,
        "Simulate.test_a_file_that_cannot_be_written_is_refused_before_the_work"),
    "all_without_the_grid": (
        "cli/simulate.cpp", r"what_if\(options.all \|\| options.what_if\)", "what_if(options.what_if)", SIMULATE,
        "Simulate.test_all_makes_everything_in_one_file_and_one_page"),
    "training_workloads_without_being_said_so": (
        "cli/simulate.cpp", r"if \(options.all\) std::ranges::move", "if (!options.all) std::ranges::move", SIMULATE,
        "Simulate.test_what_is_not_there_is_refused_with_what_there_is"),
    "none_of_the_simulation": (
        "cli/simulate.cpp", r"\A", "", SIMULATE, "Simulate.test_all_makes_everything_in_one_file_and_one_page"),
    "none_of_the_recorded_simulation": (
        "cli/report.cpp", r"\A", "", SIMULATE, "Simulate.test_a_recorded_simulation_that_is_not_whole_becomes_no_page"),
    "none_of_the_texts": ("cli/bench_tasks.cpp", r"\A", "", TEXTS, "bench_tasks.*"),
    "floors_have_columns_of_their_own": (
        "cli/bench_tasks.cpp", r"if \(backend->kind == Kind::control\)", "if (false)", TEXTS,
        "bench_tasks.sum_up_with_one_column_for_both_floors"),
    "floor_and_best_change_places": (
        "cli/bench_tasks.cpp", r"\{Kind::control, Kind::general\}\) line", "{Kind::general, Kind::control}) line", TEXTS,
        "bench_tasks.sum_up_with_one_column_for_both_floors"),
    "tails_of_many_tasks_compared": (
        "cli/bench_tasks.cpp", r"\(figure == Figure::p999 && !group.is_single\(\)\)", "false", TEXTS,
        "bench_tasks.count_where_the_engine_is_better_and_name_where_it_is_worse"),
    "bound_for_tasks_of_another_length": (
        "cli/bench_tasks.cpp", r"service_ns = OVERLOAD_SERVICE_NS", "service_ns = 10 * OVERLOAD_SERVICE_NS", TEXTS,
        "bench_tasks.state_the_bound_of_the_plan_for_the_engine_that_is_measured"),
    "bound_not_stated": (
        "cli/bench_tasks.cpp", r"if \(is_overload\(cell\)\) cell.load = overload_bound_ns\(\);", "", TEXTS,
        "bench_tasks.state_the_bound_of_the_plan_for_the_engine_that_is_measured"),
    "tagged_in_one_process": (
        "cli/bench_tasks.cpp", r'share\(sum_of\(row, "tagged"\)', 'share(most_of(row, "tagged")', TEXTS,
        "bench_tasks.tell_what_an_overload_counted"),
    "all_tagged_are_gaps": (
        "cli/bench_tasks.cpp", r'"tagged by gaps"', '"tagged"', TEXTS, "bench_tasks.tell_what_an_overload_counted"),
    "growth_of_one_process_forgotten": (
        "cli/bench_tasks.cpp", r'most_of\(row, "bytes grown"\)', "0", TEXTS, "bench_tasks.tell_what_an_overload_counted"),
}


def compile_into(fault, arguments):
    """The object of a copy of the file, with the fault in it."""
    file, pattern, replacement = FAULTS[fault][:3]
    source = os.path.join(arguments.source, "src")
    os.makedirs(arguments.work, exist_ok=True)
    unit = os.path.join(arguments.work, os.path.basename(file))
    shutil.copyfile(os.path.join(source, file), unit)
    plant(fault, unit, pattern, replacement, "src/" + file)
    subprocess.run([arguments.linker, "-std=c++20", "-O0", "-fPIC", "-w", "-DNDEBUG", '-DFLATLINE_LIBRARY_FOLDER="lib"',
                    "-I", os.path.join(source, os.path.dirname(file)), "-I", source, "-I", os.path.join(source, "report"),
                    "-I", os.path.join(arguments.source, "include"), "-c", unit, "-o", unit + ".o"], check=True)
    return unit + ".o"


def in_a_tree(program, arguments):
    """The program where it finds the page's template."""
    for folder in ("bin", "share/flatline"):
        os.makedirs(os.path.join(arguments.work, folder), exist_ok=True)
    shutil.copyfile(arguments.page, os.path.join(arguments.work, "share/flatline/report.html"))
    return shutil.copy(program, os.path.join(arguments.work, "bin"))


def main():
    arguments = arguments_of(__doc__, FAULTS, ("source", "work", "linker", "main", "fake-driver", "page", "library", "malloc",
                                               "overload"), lists=("libraries", "test"))
    file, _, _, script, test = FAULTS[arguments.fault]
    made, program = compile_into(arguments.fault, arguments), os.path.join(arguments.work, "flatline")
    # The linker takes this object instead of the libraries' copy, because it comes first.
    first = [made] if file == "cli/main.cpp" else [arguments.main, made]
    if script == TEXTS:
        first = [made, *arguments.test]
    subprocess.run([arguments.linker, *first, "-Wl,--start-group", *arguments.libraries, "-Wl,--end-group", *PACKAGED,
                    "-o", program],
                   check=True)
    if script == TEXTS:
        return verdict(arguments.fault, [(test, passes(program, "--gtest_filter=" + test))])
    of_script = [arguments.malloc, "cc", os.path.join(arguments.source, "tests/programs/own_malloc.c")]
    if script == TOP:
        of_script = [arguments.overload]
        if not arguments.fault.startswith(CONTROL):
            os.environ["FLATLINE_TEST_PATIENCE"] = "15"  # a fault may let it wait until the end
    if script == SIMULATE:
        program, of_script = in_a_tree(program, arguments), []
    if script == FILES:
        of_script = [arguments.fake_driver, arguments.page, arguments.library]
    result = subprocess.run([sys.executable, "-B", os.path.join(HERE, script), program, *of_script, test], text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    print("  " + (result.stdout.strip().splitlines() or [""])[-1])
    return verdict(arguments.fault, [(test, result.returncode == 0)])


if __name__ == "__main__":
    sys.exit(main())
