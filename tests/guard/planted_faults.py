#!/usr/bin/env python3
"""Plants one fault in a copy of one file of the guard or of what preloaded libraries share, links the library or the
program with it, and demands that a test of guard_test.py sees it.

    planted_faults.py --list
    planted_faults.py --fault NAME --source ROOT --work FOLDER --compiler CC --linker CXX --flatline PROGRAM
                      --library FILE --programs FOLDER --objects OBJECT... --main OBJECT... --libraries LIBRARY...

The fault `none` is the control: the file as it is, with which the test must pass. A fault whose place is no longer in
the source is an error, never a pass: change its pattern along with the code. Exit status 0: seen (control: passed).
"""
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True  # keeps the source folder clean
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))

from planting import CONTROL, arguments_of, plant, verdict

PACKAGED = ["-lelf", "-ldw", "-lncursesw", "-ltinfo", "-lcapstone", "-lZydis", "-lZycore", "-liberty", "-lmd", "-lseccomp",
            "-lunistring", "-lz", "-lzstd", "-lfmt", "-ldl", "-pthread"]
EACH = "test_each_violation_is_found_once_at_its_line_and_nothing_else"
NAMED = "test_a_function_is_a_section_by_its_name_alone"
STATUS = "test_the_status_is_the_programs_unless_a_violation_is_to_fail"
SIGNALS = "test_a_program_that_handles_the_signals_of_the_guard_is_refused"
KNOWN = "test_known_violations_are_accepted_and_unused_suppressions_told"
REALTIME = "test_a_realtime_thread_is_in_a_section_between_its_waits"
CLONE = "test_a_child_that_is_made_by_a_system_call_is_guarded_as_a_process_of_its_own"
MASKED = "test_handlers_are_guarded_while_the_program_waits_with_a_mask"
TAKEN = "test_a_program_that_takes_or_blocks_the_signal_by_a_system_call_is_refused"
FORK = "test_a_fork_and_its_child_go_on_in_the_section"
COUNTED = "test_without_perf_the_faults_of_a_section_are_counted_and_this_is_told"

# name: (file below src, pattern, replacement, test)
FAULTS = {
    CONTROL: ("guard/violations.c", r"\A", "", EACH),
    "malloc_is_not_told": ("guard/allocations.c", r"TELL\(GUARD_MALLOC, true\)\s*return next\.malloc\(size\);",
                           "return next.malloc(size);", EACH),
    "free_of_nothing_is_told": ("guard/allocations.c", r"TELL\(GUARD_FREE, block != NULL\)\s*next\.free",
                                "TELL(GUARD_FREE, true) next.free", EACH),
    "what_malloc_does_is_told_too": ("guard/violations.c", r"system_calls_unwatch\(\);\s*if \(UNLIKELY\(!guard_is_armed",
                                     "if (UNLIKELY(!guard_is_armed", EACH),
    "nothing_is_told_behind_a_violation": ("guard/state.h", r"system_calls_watch\(\);", "", EACH),
    "waits_are_system_calls": ("guard/violations.c", r"waits_for_lock\(call\) \? GUARD_LOCK_WAIT : ", "", EACH),
    "each_futex_is_a_wait": ("guard/violations.c", r"return operation == FUTEX_WAIT \|\|", "return true ||", EACH),
    "faults_are_not_told": ("guard/faults.c", r"guard_tell\(GUARD_PAGE_FAULT, 0, [^;]*;", "", EACH),
    "threads_are_not_told": ("guard/calls.c", r"tell\(GUARD_THREAD, CALLER\);\s*find_pthread_create",
                             "false; find_pthread_create", EACH),
    "libraries_are_not_told": ("guard/calls.c", r"tell\(GUARD_DLOPEN, CALLER\);\s*require_shallow\(LM_ID_BASE, file, mode\);\s*find_dlopen",
                               "false; find_dlopen", EACH),
    "exceptions_are_not_told": ("guard/calls.c", r"if \(tell\(GUARD_EXCEPTION, caller\)\)", "if (false)", EACH),
    "the_memory_of_an_exception_is_told": ("guard/calls.c",
                                           r"system_calls_unwatch\(\);\s*find___cxa_allocate_exception\(\);",
                                           "find___cxa_allocate_exception();", EACH),
    "nothing_is_told_behind_an_exception": ("guard/calls.c", r"guard_mine\.is_throwing = false;\s*guard_resume\(\);",
                                            "", EACH),
    "the_first_entry_is_told": ("guard/sections.c", r"warms_up\(mine, section\)\) return;", "false) return;", EACH),
    "the_outer_section_ends_with_the_inner": ("guard/sections.c", r"--mine->depth == 0\) guard_end",
                                              "mine->depth-- != 0) guard_end", EACH),
    "a_handlers_return_is_told": ("guard/violations.c", r"call->number == SYS_rt_sigreturn \|\| is_allowed", "is_allowed",
                                  "test_a_section_is_watched_on_behind_a_signals_handler"),
    "a_handlers_return_ends_the_watch": ("preload/system_calls.c",
                                         r"(tell\(told_after, &call\);\s*errno = before;\s*)system_calls_watch\(\);\s*return;",
                                         r"\1return;", "test_a_section_is_watched_on_behind_a_signals_handler"),
    "calls_that_are_handed_back_end_the_watch": ("preload/system_calls.c",
                                                 r"(flat_untold_go_on;\s*)system_calls_watch\(\);", r"\1",
                                                 "test_a_section_is_watched_on_behind_what_a_handler_cannot_do"),
    "the_child_is_not_armed": ("guard/process.c", r"\|\| !guard_arm\(mine\)\) return;", "|| true) return;", FORK),
    "a_child_is_taken_for_its_parent": ("preload/this_process.c", r"return madvise\(&this_process, [^;]*;", "return true;", CLONE),
    "a_child_counts_where_its_parent_does": ("guard/sections.c", r"mine->entries = NULL;", "", CLONE),
    "sigsys_may_be_handled": ("guard/sections.c", r"signals_program_handles\(SIGSYS\)", "false", SIGNALS),
    "sigtrap_may_be_handled": ("guard/sections.c", r"signals_program_handles\(SIGTRAP\)", "false", SIGNALS),
    "libraries_may_be_bound_deeply": ("guard/calls.c", r"\(mode & RTLD_DEEPBIND\) != 0", "false",
                                      "test_a_library_that_is_bound_to_itself_is_refused"),
    "libraries_may_have_a_c_library_of_their_own": ("guard/calls.c", r"space != LM_ID_BASE\)", "false)",
                                                    "test_a_library_that_is_bound_to_itself_is_refused"),
    "a_kept_signal_is_blocked_while_files_are_waited_for": ("preload/masked_waits.c", r"next_##name changed", "next_##name arguments",
                                                            MASKED),
    "a_kept_signal_is_blocked_while_a_signal_is_waited_for": (
        "preload/signals.c", r"next_sigsuspend\(signals_never_kept\(set, &room\)\)", "next_sigsuspend(set)", MASKED),
    "a_program_that_the_guard_has_ended_is_no_refusal": ("cli/guarded_run.cpp", r"status == 128 \+ SIGSYS", "false", TAKEN),
    "a_program_that_ends_itself_is_refused": ("guard/process.c", r"guard_shared->ends_by_sigsys = 1;", "(void)0;", "test_the_report_survives_the_program"),
    "a_jump_out_is_not_noticed": ("guard/sections.c", r"frame >= mine->frame", "false",
                                  "test_a_section_that_is_jumped_out_of_is_told"),
    "faults_are_not_counted": ("guard/faults.c", r"mine->counts_faults = true;", "", COUNTED),
    "faults_are_not_counted_behind_a_call": ("guard/violations.c", r"guard_count_faults\(&guard_mine\);", "(void)0;",
                                             COUNTED),
    "waits_of_realtime_threads_are_told": ("guard/waits.c", r"begin_wait\(__builtin_return_address\(0\)\);", "", REALTIME),
    "each_thread_is_a_realtime_thread": ("guard/waits.c", r"return policy == SCHED_FIFO \|\|", "return true ||", REALTIME),
    "a_named_section_does_not_end": ("guard/named_sections.c", r"(uintptr_t flat_hook_left\(void\) \{\s*)end_hooked\(\);",
                                     r"\1", NAMED),
    "an_exception_does_not_end_a_named_section": ("guard/named_sections.c", r"\(actions & _UA_CLEANUP_PHASE\) != 0",
                                                  "false", NAMED),
    "a_jump_does_not_end_a_named_section": ("guard/named_sections.c", r"< stack_pointer_in\(buffer\)", "< 1", NAMED),
    "unwinders_do_not_pass_a_named_section": ("guard/named_sections.c", r"0x77, 0\\n", r"0x77, 8\\n", NAMED),
    "operands_are_moved_as_they_are": ("guard/entry_patch.c", r"memcpy\(to \+ at->raw\.disp\.offset, [^;]*;", "", NAMED),
    "a_function_of_one_byte_is_changed": ("guard/entry_patch.c", r"&& !is_last\)\s*return \"ends", "&& false) return \"ends",
                                          "test_a_function_that_cannot_be_a_section_is_refused_with_the_reason"),
    "calls_are_moved_as_they_are": ("guard/entry_patch.c", r"if \(is_branch\(&at\)\)", "if (false)", NAMED),
    "libraries_loaded_later_are_not_looked_at": ("guard/calls.c", r"named_sections_look\(\);", "", NAMED),
    "a_kind_too_many_is_accepted": ("guard/suppressions.cpp", r"line\.kind != violation\.kind", "false", KNOWN),
    "patterns_are_names": ("guard/suppressions.cpp", r"fnmatch\(pattern\.c_str\(\), (\w+(?:\(function\))?)\.c_str\(\), 0\) == 0",
                           r"pattern == \1", KNOWN),
    "unused_suppressions_are_not_told": ("guard/suppressions.cpp", r"if \(!line\.used\)", "if (false)", KNOWN),
    "the_guards_frames_are_shown": ("guard/findings.cpp", r"if \(!is_the_guards\(frame\)\)", "", COUNTED),
    "any_line_is_a_suppression": ("guard/suppressions.cpp", r"if \(!kind \|\| function\.empty\(\)\)", "if (!kind)",
                                  "test_a_line_that_is_no_suppression_is_told_by_its_number_and_not_by_its_bytes"),
    "any_library_is_a_malloc": ("cli/preload.cpp", r"exports_malloc\(opened\.get\(\)\) \? \"\" : \"has no malloc\"", '""',
                                "test_what_is_no_malloc_does_not_pass_for_one"),
    "any_file_is_a_library": ("cli/preload.cpp", r"header\.e_type != ET_DYN\)\s*return \"is no shared library\";",
                              'false) return "";', "test_what_is_no_malloc_does_not_pass_for_one"),
    "lines_of_any_length": ("cli/guard_report.cpp", r"frame_text\(frame, width_of\(look\), ", "frame_text(frame, 10000, ",
                            "test_the_report_has_lines_of_100_columns_whatever_the_names_are"),
    "a_violation_does_not_fail": ("cli/guarded_run.cpp", r"options\.fail && !run\.violations\.empty\(\)", "false", STATUS),
    "each_violation_fails": ("cli/guarded_run.cpp", r"options\.fail && ", "", STATUS),
    "no_section_is_a_pass": ("cli/guarded_run.cpp", r"if \(run\.threads == 0\)", "if (false)",
                             "test_a_program_without_a_section_is_no_pass"),
    "a_section_that_is_nowhere_is_not_missed": ("cli/guarded_run.cpp", r"\(session\.found_named >> i & 1\) == 0", "false",
                                                "test_a_function_that_cannot_be_a_section_is_refused_with_the_reason"),
    "programs_behind_another_are_not_looked_at": ("cli/watched_child.cpp", r"now\.empty\(\) \|\| now == runs_", "true",
                                                  "test_a_program_behind_another_is_refused_while_it_runs"),
    "any_program_is_run": ("cli/guarded_run.cpp", r"require_preloadable\(program\);", "",
                           "test_programs_into_which_nothing_can_be_preloaded_are_refused"),
}


def copy_with_fault(fault, arguments):
    """A copy of the file with the fault in it. One of a header stands before the source's own for who includes it."""
    file, pattern, replacement, _ = FAULTS[fault]
    copy = os.path.join(arguments.work, "src", file)
    os.makedirs(os.path.dirname(copy), exist_ok=True)
    shutil.copyfile(os.path.join(arguments.source, "src", file), copy)
    plant(fault, copy, pattern, replacement, "src/" + file)
    return copy


def compiled(arguments, unit, folder):
    language = [arguments.compiler, "-std=gnu11", "-fno-builtin", "-fexceptions"] if unit.endswith(".c") else \
        [arguments.linker, "-std=c++20", '-DFLATLINE_LIBRARY_FOLDER="lib"']
    source = os.path.join(arguments.source, "src")
    subprocess.run([*language, "-O1" if unit.endswith(".c") else "-O0", "-fPIC", "-fvisibility=hidden", "-w", "-DNDEBUG", "-I", os.path.join(source, folder),
                    "-I", source, "-I", os.path.join(arguments.source, "include"), "-c", unit, "-o", unit + ".o"], check=True)
    return unit + ".o"


def library_with(arguments, copy, tree):
    """The preloaded library with the copy in place of its own object. A header's fault is in all of the guard's files."""
    source = os.path.join(arguments.source, "src")
    changed = {os.path.basename(copy)}
    if copy.endswith(".h"):
        for name in sorted(os.listdir(os.path.join(source, "guard"))):
            if name.endswith((".c", ".h")) and not os.path.exists(os.path.join(os.path.dirname(copy), name)):
                shutil.copyfile(os.path.join(source, "guard", name), os.path.join(os.path.dirname(copy), name))
        for room in "preload", "malloc", "core", "os":
            os.symlink(os.path.join(source, room), os.path.join(arguments.work, "src", room))
        changed = {name for name in os.listdir(os.path.dirname(copy)) if name.endswith(".c")}
    own = [compiled(arguments, os.path.join(os.path.dirname(copy), name), "guard" if "/src/guard/" in copy else "preload")
           for name in sorted(changed)]
    kept = [each for each in arguments.objects if os.path.basename(each)[:-len(".o")] not in changed]
    subprocess.run([arguments.compiler, "-shared", "-static-libgcc", "-Wl,-Bsymbolic-functions,-z,now,-z,nodelete", *own, *kept,
                    "-ldl", "-o", os.path.join(tree, "lib/libflatline-guard.so")], check=True)


def program_with(arguments, copy, tree):
    """The program with the copy, which the linker takes instead of the libraries' own, because it comes first."""
    made = compiled(arguments, copy, os.path.basename(os.path.dirname(copy)))
    subprocess.run([arguments.linker, *arguments.main, made, "-Wl,--start-group", *arguments.libraries, "-Wl,--end-group",
                    *PACKAGED, "-o", os.path.join(tree, "bin/flatline")], check=True)


def main():
    arguments = arguments_of(__doc__, FAULTS, ("source", "work", "compiler", "linker", "flatline", "library", "programs"),
                             lists=("objects", "main", "libraries"))
    shutil.rmtree(arguments.work, ignore_errors=True)
    tree = os.path.join(arguments.work, "tree")
    os.makedirs(os.path.join(tree, "bin"))
    os.makedirs(os.path.join(tree, "lib"))
    copy = copy_with_fault(arguments.fault, arguments)
    if copy.endswith(".cpp"):
        program_with(arguments, copy, tree)
        shutil.copy(arguments.library, os.path.join(tree, "lib"))
    else:
        library_with(arguments, copy, tree)
        shutil.copy(arguments.flatline, os.path.join(tree, "bin"))
    test = FAULTS[arguments.fault][3]
    try:
        result = subprocess.run([sys.executable, "-B", os.path.join(HERE, "guard_test.py"), os.path.join(tree, "bin/flatline"),
                                 arguments.programs, "Guard." + test], text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, timeout=60)
    except subprocess.TimeoutExpired:
        return verdict(arguments.fault, [(test, False)])
    lines = [line for line in result.stdout.strip().splitlines() if "Error" in line] or [""]
    print("  " + lines[0][:200])
    skipped = "skipped=" in result.stdout  # as the test says: the machine has no such thing
    return 0 if skipped else verdict(arguments.fault, [(test, result.returncode == 0)])


if __name__ == "__main__":
    sys.exit(main())
