#!/usr/bin/env python3
"""Plants one fault in a copy of one file of what shows an engine, links a test with it, and demands that the test sees
it.

    seeing_faults.py --list
    seeing_faults.py --fault NAME --source ROOT --work FOLDER --compiler CC --linker CXX --test NAME=OBJECT...
                     --libraries LIBRARY...

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

SEEN, WATCH = "engine_statistics_test", "engine_watchdog_test"
SECONDS = 25  # for a test program, which takes some four without a fault

# name: (file below src, pattern, replacement, test)
FAULTS = {
    CONTROL: ("engine/snapshot.c", r"\A", "", SEEN),
    "none_of_the_watchdog": ("engine/watchdog.c", r"\A", "", WATCH),
    "tasks_in_the_lanes_not_counted": (
        "engine/snapshot.c", r"to->untaken = to->accepted > known \? to->accepted - known : 0;", "to->untaken = 0;",
        SEEN),
    "running_task_counted_as_untaken": (
        "engine/snapshot.c", r" \+ \(to->run != NULL \? 1 : 0\)", "", SEEN),
    "age_of_a_task_that_has_ended": (
        "engine/snapshot.c", r"run != 0 && now > since \? ", "now > since ? ", SEEN),
    "rates_of_a_sleeping_worker_stay": (
        "engine/snapshot.c", r"if \(to->asleep && [^;]*return;", "", SEEN),
    "cancellations_arrive": (
        "engine/worker.c", r"    count_up\(&worker->statistics->cancelling, 1\);\n", "", SEEN),
    "cancellations_taken_off_alone": (
        "engine/worker.c", r"taken\+\+;\n", "taken += cancels ? 0 : 1;\n", SEEN),
    "rates_a_thousandfold": (
        "engine/snapshot.c", r"0x1p-32 \* 1e9", "0x1p-32 * 1e12", SEEN),
    "histogram_of_worker_0_alone": (
        "engine/snapshot.c", r"merge_durations\(into, engine, i, duration\);",
        "merge_durations(into, engine, 0, duration);", SEEN),
    "estimates_in_sixteenths": (
        "engine/snapshot.c", r"service_estimate\[i\]\)\) / 16", "service_estimate[i])) / 4096", SEEN),
    "quantile_one_too_low": ("engine/histogram.c", r"\) < place\) bucket", ") + 1 < place) bucket", SEEN),
    "units_not_looked_at": ("engine/histogram.c", r"alike \? i : bucket_of_ns\([^;]*?\)\)\]", "i]", SEEN),
    "names_not_escaped": ("engine/metrics.c", r"\*value == '\\\\' \|\| \*value == '\"'", "false", SEEN),
    "ends_of_lines_not_escaped": ("engine/metrics.c", r"if \(\*value == '\\n'\)", "if (false)", SEEN),
    "room_not_looked_at": ("engine/metrics.c", r"if \(added > 0\) to->length \+= \(size_t\)added;",
                           "if (added > 0 && fits) to->length += (size_t)added;", SEEN),
    "bucket_beyond_its_limit": ("engine/metrics.c", r"upper\) >= limits_ns", "lower) >= limits_ns", SEEN),
    "sum_of_upper_ends_doubled": ("engine/metrics.c", r"sum \+= added \*", "sum += 2 * added *", SEEN),
    "waits_that_wrap": (
        "engine/worker.c", r"begun > task->submitted \? begun - task->submitted : 0", "begun - task->submitted", SEEN),
    "accounts_not_kept": (
        "engine/worker.c", r"    keep_accounts\(worker, [a-z>-]+\);", "    (void)keep_accounts;", SEEN),
    "sleep_not_shown": ("engine/worker.c", r"    show\(&worker->statistics->asleep, 1\);", "", SEEN),
    "reported_again_and_again": ("engine/watchdog.c", r"since == statistics->reported \|\| ", "", WATCH),
    "limit_not_looked_at": ("engine/watchdog.c", r" \|\| now - since <= engine->watchdog_ticks", "", WATCH),
    "overruns_not_counted": ("engine/watchdog.c", r"    count_up\(&worker->statistics->overruns, 1\);", "", WATCH),
    "standard_error_waited_for": ("engine/watchdog.c", r"    if \(poll\([^;]*return;", "", WATCH),
    "signal_on_the_tasks_stack": ("os/stack_capture.c", r" \| SA_ONSTACK", "", WATCH),
    "system_calls_not_restarted": ("os/stack_capture.c", r" \| SA_RESTART", "", WATCH),
    "signals_of_others_swallowed": ("os/stack_capture.c", r"        pass_on\(number, info, context\);", "", WATCH),
    "late_answers_keep_the_question": (
        "os/stack_capture.c", r"if \(passed > within_ns && move_state\([^;]*return false;",
        "if (passed > within_ns) return false;", WATCH),
    "handlers_own_frames_shown": (
        "os/stack_capture.c", r"while \(first < found && [^;]*first\+\+;", "first = found;", WATCH),
    "names_never_found": ("os/address_text.c", r"offset - symbol->st_value < symbol->st_size", "false", WATCH),
}

def main():
    arguments = arguments_of(__doc__, FAULTS, ("source", "work", "compiler", "linker"), lists=("libraries",),
                             repeated=("test",))
    file, pattern, replacement, test = FAULTS[arguments.fault]
    source = os.path.join(arguments.source, "src")
    os.makedirs(arguments.work, exist_ok=True)
    unit = os.path.join(arguments.work, os.path.basename(file))
    shutil.copyfile(os.path.join(source, file), unit)
    plant(arguments.fault, unit, pattern, replacement, "src/" + file)
    with open(unit, encoding="utf-8") as opened:
        text = opened.read()
    with open(unit, "w", encoding="utf-8") as opened:  # its neighbours are no longer beside it
        opened.write(text.replace('#include "../', '#include "'))
    folder = os.path.join(source, os.path.dirname(file))
    subprocess.run([arguments.compiler, "-std=c11", "-O1", "-fPIC", "-w", "-DNDEBUG", "-I", folder, "-I", source, "-I",
                    os.path.join(arguments.source, "include"), "-c", unit, "-o", unit + ".o"], check=True)
    program = os.path.join(arguments.work, test)
    objects = dict(each.split("=", 1) for each in arguments.test)[test].split(":")
    # The linker takes this object instead of the library's, because it comes first.
    subprocess.run([arguments.linker, "-rdynamic", *objects, unit + ".o", *arguments.libraries, "-pthread", "-o",
                    program], check=True)
    return verdict(arguments.fault, [(test, passes(program, seconds=SECONDS))])


if __name__ == "__main__":
    sys.exit(main())
