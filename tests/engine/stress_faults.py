#!/usr/bin/env python3
"""Plants one fault in a copy of src/engine and of what it knows threads by, links tests of the engine under threads with
it, and demands that each fails.

    stress_faults.py --list
    stress_faults.py --fault NAME --source ROOT --work FOLDER --compiler CC --linker CXX
                     --objects OBJECT... --libraries LIBRARY...

The fault `none` is the control: the copy as it is, with which every test must pass. A fault whose place is no longer in
the source is an error, never a pass: change its pattern along with the code. Exit status 0: seen (control: passed).
"""
import glob
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True  # leaves the sources' folder unchanged
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from planting import CONTROL, arguments_of, passes, plant, verdict

LAST_LOOK_OF_WORKER = r"(step_announce_sleep\(&worker->sleeping, number\);)"
LAST_LOOK_OF_SUBMITTER = r"(step_announce_sleep\(&submitter->sleeping, number\);)"
LONG = r"for (volatile int i = 0; i < 5000; i++) continue; "

# name: (file below src/engine, pattern, replacement, tests that must see it, each `TEST:WORDS` with words of its names)
FAULTS = {
    CONTROL: ("control.c", r"\A", r"", ["many_tasks:", "surge:", "waiting:asleep", "stopping:submit_inline",
                                        "steady_state:", "refused_calls:", "soak:"]),
    "published_before_the_payload_is_there": (
        "submit.c", r"copy_small\(descriptor->room, payload\.start, payload\.size\);\s*publish_task\(([^;]*)\);",
        r"publish_task(\1); for (volatile int i = 0; i < 300; i++) continue; "
        r"copy_small(descriptor->room, payload.start, payload.size);", ["many_tasks:"]),
    "last_bytes_not_copied": ("submit.c", r"size_t last = size - 2 \* sizeof\(pair\);",
                              r"size_t last = (size - 2 * sizeof(pair)) & ~(size_t)15;", ["many_tasks:", "soak:"]),
    "ticket_of_another_time_cancels": ("submit.c", r"\|\| grant->generation != \(uint32_t\)ticket\)", r")",
                                       ["many_tasks:"]),
    "completion_says_another_outcome": ("worker.c", r"\(uint64_t\)outcome << ENTRY_OUTCOME_SHIFT", r"0", ["many_tasks:"]),
    "deferred_task_is_finished": ("worker.c", r"(wait_again\(worker, chosen->record\);)\s*return;", r"\1",
                                  ["many_tasks:", "soak:"]),
    "released_grant_is_lost": ("submit.c", r"(flat_status flat_engine_release\(.*?)push_grant\([^;]*;", r"\1",
                               ["surge:run_out", "stopping:comes_back/release"]),
    "stop_cancels_nothing": ("worker.c", r"(step_look_at_state\(&worker->engine->state\)) >= ENGINE_STOPPED(\)\) return)",
                             r"\1 > ENGINE_ENDING\2", ["surge:a_stop"]),
    "drain_looks_at_no_submit_that_is_under_way": ("control.c", r"all_have_passed\(engine, &progress\) && is_done",
                                                   r"is_done", ["stopping:iff_it_is_inside/post", "stopping:iff_it_is_inside/submit_anywhere"]),
    "drain_waits_until_all_are_outside_at_once": (
        "control.c", r"(static bool all_have_passed\([^{]*\{)", r"\1 of->passed = 0; of->inside = 0;",
        ["surge:refused_again"]),
    "drain_reclaims_nothing": ("control.c", r"\(void\)flat_engine_reclaim\(engine\); /\* its thread", r"/* its thread",
                               ["stopping:comes_back/cancel"]),
    "drain_undoes_a_stop": ("control.c", r"while \(state < to && !change_state\(engine, state, to\)\);",
                            r"while (state < to && !change_state(engine, step_look_at_state(&engine->state), to));",
                            ["stopping:undoes"]),
    "end_forgets_tasks_of_tasks": ("control.c", r"while \(is_submitting\(engine, engine->lane_count[^;]*;", r"",
                                   ["stopping:an_end_leaves"]),
    "cancellation_is_no_submit": ("submit.c", r"step_enter\(&submitter->entered\); /\* a drain[^;]*?\*/(.*?)"
                                  r"step_leave_submit\(&submitter->entered\);(\s*step_light_fence\(submitter->engine)",
                                  r"\1\2", ["stopping:/cancel"]),
    "unpublished_descriptor_counts": ("control.c", r"lap_before\) \? posted - 1 : posted;",
                                      r"lap_before) ? posted : posted;", ["stopping:iff_it_is_inside/post",
                                                                          "stopping:comes_back/submit_inline"]),
    "ended_thread_not_looked_up_in_proc": ("../os/thread.c", r" \|\| is_missing_in_proc\(number\)", r"",
                                           ["refused_calls:signals_to_threads"]),
    "proc_that_is_not_there_tells_of_ends": (
        "../os/thread.c", r"return readlink\([^;]*;", r"return true;", ["refused_calls:where_proc_says_nothing"]),
    "proc_of_other_numbers_tells_of_ends": (
        "../os/thread.c", r"strcmp\(seen, own\) == 0 &&\s*is_in_proc\(flat_thread_number\(\)\);", r"true;",
        ["refused_calls:another_namespace"]),
    "lane_of_the_living_is_reclaimed": ("control.c", r"return flat_thread_has_ended\(thread_of_lane\(state\)\);", r"return true;",
                                        ["stopping:iff_it_is_inside/grant", "stopping:iff_it_is_inside/dispatch",
                                         "soak:"]),
    "lane_of_the_dead_is_not_reclaimed": ("control.c", r"return flat_thread_has_ended\(thread_of_lane\(state\)\);", r"return false;",
                                          ["surge:end_without_leaving", "refused_calls:control"]),
    "lane_of_a_dead_reclaimer_is_kept": ("control.c", r"case LANE_FREE: return false;",
                                         r"case LANE_FREE: case LANE_RECLAIMING: return false;",
                                         ["stopping:every_lane"]),
    "lane_is_freed_with_tasks_in_flight": ("control.c", r"if \(left != 0\) \{", r"if (left > 1000) {",
                                           ["stopping:comes_back/post", "soak:"]),
    "reclaimed_lane_keeps_its_places": ("control.c", r"class->at = there->returns\[number\]\.at;", r"",
                                        ["surge:end_without_leaving", "soak:"]),
    "held_grant_of_a_reclaimed_lane_is_lost": ("control.c", r"for \(uint32_t i = class->count; i-- > 0;\)",
                                               r"for (uint32_t i = class->count; i-- > of->posted % 2;)",
                                               ["stopping:comes_back", "soak:"]),
    # What comes between the last look and the announcement of the sleep is what the second look is for. That is a few
    # nanoseconds, which chance alone seldom meets: they are made long here, once with the second look, which must then
    # find everything, and once without.
    "none_of_the_late_sleeps_of_a_worker": ("worker.c", LAST_LOOK_OF_WORKER, LONG + r"\1", ["waiting:falls_asleep"]),
    "worker_sleeps_without_a_second_look": ("worker.c", LAST_LOOK_OF_WORKER + r"(.*?)if \(!has_mail\(worker\) &&",
                                            LONG + r"\1\2if (", ["waiting:falls_asleep"]),
    "none_of_the_late_sleeps_of_a_submitter": ("submit.c", LAST_LOOK_OF_SUBMITTER, LONG + r"\1",
                                               ["waiting:falls_asleep"]),
    "submitter_sleeps_without_a_second_look": ("submit.c",
                                               LAST_LOOK_OF_SUBMITTER + r"(.*?)if \(!is_there\(submitter\) &&",
                                               LONG + r"\1\2if (", ["waiting:falls_asleep"]),
    "submitter_is_not_woken": ("worker.c", r"if \(UNLIKELY\(step_look_asleep\(sleeping\) != 0\)\)", r"if (false)",
                               ["waiting:no_completion"]),
    "worker_is_not_woken": ("submit_steps.h", r"if \(UNLIKELY\(step_look_asleep\(sleeping\) != 0\)\)", r"if (false)",
                            ["waiting:another_is_slept"]),
    "worker_sleeps_through_a_start": ("worker.c", r"if \(until_due < within\) within = until_due;", r"(void)until_due;",
                                      ["waiting:no_time_of"]),
    "worker_sleeps_through_a_stop": ("control.c", r"for \(uint32_t i = 0; i < engine->worker_count; i\+\+\) wake_once\([^;]*;",
                                     r"", ["waiting:no_change_of_state"]),
    "engine_needs_membarrier": ("layout.c", r"\.fenced = !flat_can_fence_all\(\),",
                                r".fenced = flat_can_fence_all() ? false : (_exit(9), false),",
                                ["refused_calls:from_the_start"]),
    "engine_needs_a_memory_file": ("setup.c", r"status = start_workers\(of\);",
                                   r"if (own != NULL && of->engine->shown < 0) return FLAT_UNAVAILABLE; \g<0>",
                                   ["refused_calls:memory_files"]),
    "polling_yields": ("worker.c", r"\} else if \(engine->yields\) \{", r"} else {", ["steady_state:while_it_polls"]),
    "submit_calls_the_heap": ("submit.c", r"\A(.*?)(\nflat_status flat_engine_submit\([^{]*\{)",
                              r"#include <stdlib.h>\n\1\2 void *volatile wasted = malloc(8); free(wasted);", ["steady_state:heap"]),
    "worker_calls_the_system": ("worker.c", r"task->run\(worker, [^;]*;",
                                r"\g<0> flat_thread_yield();", ["steady_state:while_it_polls",
                                                                "steady_state:where_it_sleeps"]),
}


def program_of(test, arguments):
    """The test, linked with what has the fault, in the place of the library's. A fault in a .c file is in that file."""
    file, made = FAULTS[arguments.fault][0], []
    units = [os.path.join(arguments.work, "engine", file)]
    if not file.endswith(".c"):
        units = [*sorted(glob.glob(os.path.join(arguments.work, "engine", "*.c"))),
                 os.path.join(arguments.work, "os", "thread.c")]
    for source in units:
        made.append(source + ".o")
        if not os.path.exists(made[-1]):
            subprocess.run([arguments.compiler, "-std=c11", "-O1", "-w", "-fPIC", "-fvisibility=hidden", "-D_GNU_SOURCE",
                            "-I", os.path.join(arguments.source, "include"), "-c", source, "-o", made[-1]], check=True)
    name = "engine_soak" if test == "soak" else "engine_%s_test" % test
    program = os.path.join(arguments.work, name)
    objects = [path for path in arguments.objects if "/%s.dir/" % name in path]
    if not objects:
        sys.exit("no objects of %s are given" % name)
    subprocess.run([arguments.linker, *objects, *made, *arguments.libraries, "-pthread", "-o", program], check=True)
    return program


def outcome(place, arguments):
    test, _, words = place.partition(":")
    program = program_of(test, arguments)
    if test == "soak":
        return passes_soak(program)
    listed = subprocess.run([program, "--gtest_list_tests", "--gtest_filter=*%s*" % words], text=True,
                            stdout=subprocess.PIPE, check=True).stdout
    if not any(line.startswith("  ") for line in listed.splitlines()):
        sys.exit("%s has no test of this name" % place)
    return passes(program, "--gtest_filter=*%s*" % words, scale="0.3")


def passes_soak(program):
    try:
        done = subprocess.run([program, "5", "1"], text=True, errors="replace", stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=90, check=False)
    except subprocess.TimeoutExpired:
        print("  (did not end)")
        return False
    print("  " + done.stdout.strip().splitlines()[-1][:200] if done.stdout.strip() else "  (said nothing)")
    return done.returncode == 0


def main():
    arguments = arguments_of(__doc__, FAULTS, ("source", "work", "compiler", "linker"), lists=("objects", "libraries"))
    if arguments.fault != CONTROL:
        os.environ["FLATLINE_TEST_PATIENCE"] = "10"
    file, pattern, replacement, places = FAULTS[arguments.fault]
    shutil.rmtree(arguments.work, ignore_errors=True)
    for room in ("core", "os", "engine"):
        shutil.copytree(os.path.join(arguments.source, "src", room), os.path.join(arguments.work, room))
    plant(arguments.fault, os.path.join(arguments.work, "engine", file), pattern, replacement, "src/engine/" + file)
    return verdict(arguments.fault, [(place, outcome(place, arguments)) for place in places])


if __name__ == "__main__":
    sys.exit(main())
