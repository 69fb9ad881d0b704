#!/usr/bin/env python3
"""Plants one fault in a copy of one file, builds one test with it, and demands that the test fails.

    replay_faults.py --list
    replay_faults.py --fault NAME --source ROOT --work FOLDER --c-compiler CC --linker CXX --here FOLDER
                     --blocks-objects OBJECT... --result-objects OBJECT... --libraries LIBRARY...

Faults of block_history.cpp are for audit_blocks_test, those of the driver for replay_driver_test.py, and all others for
replay_result_test. The faults `none...` are the controls: the file as it is, with which the test must pass.
Exit status 0: seen (control: passed).
"""
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True  # keeps the source folder clean
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from planting import CONTROL, arguments_of, passes, plant, verdict

BLOCKS, RESULT, DRIVER = "audit/block_history.cpp", "cli/replay_result.cpp", "bench/driver/replay.c"
WORK, PART = "cli/replay_work.cpp", "cli/chosen_part.cpp"

# name: (file below src, pattern, replacement)
FAULTS = {
    CONTROL + "_in_blocks": (BLOCKS, r"\A", ""),
    "other_programs_are_followed": (BLOCKS, r"if \(ProgramRun\{entry\.process, entry\.program\} == program\) ", ""),
    "phases_of_other_programs": (BLOCKS, r"if \(!is_ours\(thread\)\) return;", ""),
    "phases_not_told": (BLOCKS, r"phase_ = found->second;", ""),
    "an_old_block_is_given_back_first": (BLOCKS, r"    if \(free_slots_\.empty\(\)\) \{",
                                         "    if (call.old_block != 0) give(call, call.old_block);\n    if (free_slots_.empty()) {"),
    "a_refused_resize_frees": (BLOCKS, r"call\.size == 0 && call\.old_block != 0", "call.old_block != 0"),
    "realloc_to_nothing_keeps": (BLOCKS, r"call\.size == 0 && call\.old_block != 0", "false"),
    "an_address_taken_again_is_two_blocks": (BLOCKS, r"if \(call\.old_block != call\.block\) end_earlier\(call\);", ""),
    "a_late_free_hits_the_new_block": (BLOCKS, r"    \+\+early_\[call\.block\];", ""),
    "the_owner_is_who_frees": (BLOCKS, r"    step\.thread = call\.thread;\n", "    step.thread = step.owner = call.thread;\n"),
    "nothing_is_unknown": (BLOCKS, r"\+\+unknown_;", ""),
    "size_0_stays_0": (BLOCKS, r"std::max<std::uint64_t>\(call\.size, 1\)", "call.size"),
    CONTROL + "_in_results": (RESULT, r"\A", ""),
    "the_best_process_counts": (RESULT, r"all\[all\.size\(\) / 2\]", "all.front()"),
    "the_worst_process_counts": (RESULT, r"all\[all\.size\(\) / 2\]", "all.back()"),
    "ticks_taken_for_ns": (RESULT, r"\.call / times\.ticks_per_ns\)", ".call)"),
    "first_writes_among_the_calls": (RESULT, r"if \(takes\) add\(copy\.first_writes,", "if (takes) add(copy.taking,"),
    "long_names_run_over": (RESULT, r"audit::without_beginning\(site_text\(stall\), widest - figures\.size\(\)\)",
                            "site_text(stall)"),
    "preempted_stalls_are_gone": (RESULT, r"gone \+= other \? 0 : site\.gone;", "gone += site.gone;"),
    "shorter_stalls_not_said": (RESULT, r"add\(left_out\.shorter, [^;]*;", ""),
    "a_part_for_the_whole": (RESULT, r"recorded\.part\.is_whole\(\)", "true"),
    CONTROL + "_in_the_work": (WORK, r"\A", ""),
    "the_free_that_a_slow_call_implies_is_slow": (WORK, r"step\.call->block == 0 \|\| gives\(\*step\.call\)", "true"),
    "alignments_rounded_down": (WORK, r"std::bit_width\(alignment - 1\)", "std::bit_width(alignment) - 1"),
    "stalls_of_other_parts_not_counted": (WORK, r"if \(slow != nullptr\) \+\+made_\.left_out\.not_chosen;", ""),
    "other_programs_returned_no_block": (WORK, r"part_\.has_thread\([^?]*\?", "true ?"),
    "a_serial_number_is_a_thread": (WORK, r"part_\.same_thread\(step\.thread\)", "step.thread"),
    CONTROL + "_in_the_part": (PART, r"\A", ""),
    "threads_of_other_programs_asked": (PART, r"is_of\(entry, program\) &&\s*\(", "("),
    "any_phase_is_there": (PART, r"!names_\.phase\.empty\(\) && std::ranges::find", "false && std::ranges::find"),
    "an_empty_recording_is_an_empty_part": (PART, r"if \(names_\.is_whole\(\)\)", "if (false)"),
    "the_first_of_several_threads": (PART, r"if \(found\.size\(\) == 1\)", "if (!found.empty())"),
    CONTROL + "_in_the_driver": (DRIVER, r"\A", ""),
    "one_thread_performs_all": (DRIVER, r"bench_backend\.remote_free \? all\.head->threads : 1", "1"),
    "the_order_is_not_kept": (DRIVER, r" && all\.operations\[next\]\.thread == thread; next\+\+\)", "; next++)"),
    "a_refusal_is_passed_over": (DRIVER, r"if \(UNLIKELY\(block == NULL\)\) refuse\(number\);", "if (block == NULL) return;"),
    "first_writes_not_timed": (DRIVER, r"all\.times\[number\]\.first_writes = [^;]*;", ""),
    "frees_not_timed": (DRIVER, r"all\.times\[number\]\.call = ticks_since\(begin, flat_clock_end\(\)\);", "(void)begin;"),
    "any_file_is_performed": (DRIVER, r"head->mark != REPLAY_MARK \|\| ", ""),
}


def planted(arguments):
    """The copy with the fault in it."""
    file, pattern, replacement = FAULTS[arguments.fault]
    os.makedirs(arguments.work, exist_ok=True)
    copy = os.path.join(arguments.work, os.path.basename(file))
    shutil.copyfile(os.path.join(arguments.source, "src", file), copy)
    plant(arguments.fault, copy, pattern, replacement, "src/" + file)
    return copy


def includes(source, file):
    return ["-I", os.path.join(source, "src", os.path.dirname(file)), "-I", os.path.join(source, "src"), "-I",
            os.path.join(source, "include")]


def test_of_cpp(arguments, copy):
    """Whether the test of the file passes."""
    file = FAULTS[arguments.fault][0]
    unit = copy + ".o"
    subprocess.run([arguments.linker, "-std=c++20", "-O0", "-fPIC", "-w", "-DNDEBUG", *includes(arguments.source, file),
                    "-c", copy, "-o", unit], check=True)
    objects = arguments.blocks_objects if file == BLOCKS else arguments.result_objects
    program = os.path.join(arguments.work, "test")
    # The linker takes this object instead of the library's copy, because it comes first.
    subprocess.run([arguments.linker, *objects, unit, "-Wl,--start-group", *arguments.libraries, "-Wl,--end-group",
                    *("-l" + each for each in ("fmt zstd seccomp dw elf unistring z ncursesw tinfo capstone md Zydis Zycore "
                                               "iberty gtest_main gtest").split()), "-pthread", "-o", program], check=True)
    return passes(program)


def test_of_driver(arguments, copy):
    """Whether the test of the driver passes, with one that notes the order and one that is over a pool."""
    source, here = arguments.source, arguments.here
    src = os.path.join(source, "src")
    drivers = []
    for name, backend, *libraries in (("order", os.path.join(here, "replay_backend.c")),
                                      ("pool", os.path.join(src, "bench", "backends", "pool.c"), *arguments.libraries[-1:])):
        drivers.append(os.path.join(arguments.work, name))
        subprocess.run([arguments.c_compiler, "-O0", "-w", *includes(source, DRIVER), backend, copy,
                        os.path.join(src, "bench", "driver", "core.c"), os.path.join(src, "os", "clock.c"),
                        os.path.join(src, "os", "faults.c"), *libraries, "-pthread", "-o", drivers[-1]], check=True)
    test = subprocess.run([sys.executable, "-B", os.path.join(here, "replay_driver_test.py"), *drivers],
                          capture_output=True, text=True, check=False)
    return test.returncode == 0


def main():
    arguments = arguments_of(__doc__, FAULTS, ("source", "work", "c-compiler", "linker", "here"),
                             lists=("blocks-objects", "result-objects", "libraries"))
    copy = planted(arguments)
    of_driver = FAULTS[arguments.fault][0] == DRIVER
    test = test_of_driver if of_driver else test_of_cpp
    return verdict(arguments.fault, [(test.__name__, test(arguments, copy))])


if __name__ == "__main__":
    sys.exit(main())
