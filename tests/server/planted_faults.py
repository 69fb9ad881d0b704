#!/usr/bin/env python3
"""Plants one fault in a copy of the server, and demands that a test sees it: its unit tests, a comparison with beanstalkd,
many clients at once, clients for which there is no room, or slow ones.

    planted_faults.py --list
    planted_faults.py --fault NAME --source ROOT --work FOLDER --linker CXX --objects OBJECT... --libraries LIBRARY...

The objects are those of the unit tests and of flatlined's main; the libraries are linked behind the copy's. The fault
`none` is the control: the copy as it is, with which every test must pass. A fault whose place is no longer in the source is
an error, never a pass: change its pattern along with the code. Exit status 0: seen (control: passed).
"""
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True  # keeps the source folder clean
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))

from planting import CONTROL, arguments_of, passes, plant, verdict

UNIT, ANSWERS, TOGETHER, REFUSALS, SLOW = "unit tests", "beside beanstalkd", "many clients", "without room", "slow clients"

# name: (file below src/server, pattern, replacement, what must fail)
FAULTS = {
    CONTROL: ("broker.cpp", r"\A", "", (UNIT, ANSWERS, TOGETHER, REFUSALS, SLOW)),
    "names_of_201_bytes": ("command.cpp", r"text\.size\(\) <= longest_tube_name", "text.size() <= 201", [UNIT]),
    "names_begin_with_a_minus": ("command.cpp", r" text\.front\(\) != '-' &&", "", [UNIT]),
    "numbers_followed_by_anything": ("command.cpp", r"take\(rest, number\) && rest\.empty\(\)", "take(rest, number)", [UNIT]),
    "spaces_not_skipped": ("command.cpp", r"    skip_spaces\(rest\);\n(    const auto \[end, error\])", r"\1", [UNIT]),
    "priority_of_ids": ("job.hpp", r"one\.priority != other\.priority \? one\.priority < other\.priority : ", "", [UNIT]),
    "ids_not_looked_at_among_equals": ("job.hpp", r"one\.priority < other\.priority : one\.id < other\.id",
                                       "one.priority < other.priority : one.id > other.id", [UNIT]),
    "margin_of_half_a_second": ("broker.cpp", r"safety_margin = second;", "safety_margin = second / 2;", [UNIT]),
    "time_to_run_of_0": ("broker.cpp", r"std::max\(how\.time_to_run, 1u\)", "how.time_to_run", [UNIT]),
    "paused_tubes_are_served": ("broker.cpp", r" \|\| each\.tube->paused_until > now", "", [UNIT]),
    "end_of_a_pause_not_seen": ("broker.cpp", r"    if \(tube\.paused_until > now\) at = std::min\(at, tube\.paused_until\);\n", "",
                                [UNIT]),
    "tubes_stay": ("broker.cpp", r"if \(tube\.stays \|\|", "if (true || tube.stays ||", [UNIT]),
    "tubes_with_delayed_jobs_end": ("broker.cpp", r" \|\| !tube\.delayed\.empty\(\)", "", [UNIT]),
    "jobs_of_those_who_leave_are_lost": ("broker.cpp", r"(void Broker::close\([^{]*\{.*?take_from_queue\(job\);\s*)make_ready\(job\);",
                                         r"\1", [TOGETHER]),
    "body_freed_while_it_is_sent": ("broker.cpp", r"if \(job->readers != 0\)", "if (false)", [UNIT]),
    "buckets_of_any_depth": ("broker.cpp", r"while \(!table_\.has_room\(id\)\);", "while (false);", [UNIT]),
    "reserved_jobs_are_kicked": ("broker.cpp", r"job->state != JobState::buried && job->state != JobState::delayed\)",
                                 "job->state == JobState::ready)", [ANSWERS]),
    "others_jobs_are_deleted": ("broker.cpp", r" \|\| \(job->state == JobState::reserved && job->holder != holdings\)", "",
                                [UNIT, ANSWERS]),
    "burial_order_forgotten": ("broker.cpp", r"job->due = burials_\+\+;", "job->due = 0;", [UNIT]),
    "delayed_jobs_are_kicked_first": ("broker.cpp", r"tube\.buried\.empty\(\) \? tube\.delayed : tube\.buried",
                                      "tube.delayed.empty() ? tube.buried : tube.delayed", [UNIT]),
    "touch_does_nothing": ("broker.cpp", r"(Answer Broker::touch\(.*?)    job->due = now \+ job->time_to_run \* second;\n", r"\1",
                           [UNIT]),
    "deadline_before_a_ready_job": ("broker.cpp", r"    serve_waiting\(now\);\n(    while \(!near_\.empty\(\)\))", r"\1", [UNIT]),
    "given_back_jobs_count_as_reserved": ("broker.cpp", r"    job\.reserves--;\n", "", [ANSWERS]),
    "offers_not_given_back": ("conversation.cpp", r"\(end != Answer::reserved \|\| i != winner_\)", "false", [ANSWERS, TOGETHER]),
    "first_offer_taken": ("conversation.cpp", r"if \(is_better\) winner_ = i;", "if (end != Answer::reserved) winner_ = i;",
                          [ANSWERS]),
    "waits_not_cancelled": ("conversation.cpp", r"is_settled = shared_\.exchange\.cancel\(\*this, i\);", "is_settled = true;",
                            [ANSWERS]),
    "answered_before_all_is_settled": (
        "conversation.cpp", r"if \(std::ranges::all_of\(parts_, \[\]\(const Part &part\) \{ return part\.unsettled == 0; \}\)\)",
        "if (true)", [UNIT]),
    "the_last_tube_is_ignored": ("conversation.cpp", r"if \(watches_\.size\(\) == 1\) return", "if (false) return", [ANSWERS]),
    "body_of_any_end": ("conversation.cpp", r"(const bool is_whole = )[^;]*;", r"\1true;", [ANSWERS]),
    "too_large_bodies_taken_for_commands": ("conversation.cpp", r"(answer_ = \"JOB_TOO_BIG[^;]*;\s*phase_ = Phase::)drained",
                                            r"\1line", [ANSWERS]),
    "statistics_of_one_shard": ("conversation.cpp", r"question_\.kind == Kind::statistics \|\| ", "", [ANSWERS]),
    "reader_forgotten": ("conversation.cpp", r"shared_\.exchange\.end_reading\(tail_shard_, std::exchange\(tail_job_, nullptr\)\);\s*if \(list_",
                         "tail_job_ = nullptr; if (list_", [TOGETHER]),
    "late_offers_kept": ("conversation.cpp", r"offer\.answer == Answer::reserved  \? shared_\.exchange\.give_back\(\*this, shard, offer\.job\)",
                         "offer.answer == Answer::reserved ? true", [UNIT]),
    "late_waits_go_on": ("conversation.cpp", r"offer\.answer == Answer::waiting \? shared_\.exchange\.cancel\(\*this, shard\)",
                         "offer.answer == Answer::waiting ? true", [UNIT]),
    "block_of_one_who_left_is_read_for_ever": (
        "conversation.cpp", r"if \(end_ == Answer::reserved\) shared_\.exchange\.end_reading\(winner_, offer\.job\);", "", [UNIT]),
    "whoever_leaves_while_a_body_is_refused_stays": (
        "conversation.cpp", r"phase_ != Phase::asking && phase_ != Phase::ended", "phase_ == Phase::line", [UNIT]),
    "jobs_that_another_has_are_given_back": ("shard_exchange.cpp", r"if \(job\.holder == by\.part\(number_\)\.holdings\) ", "",
                                             [UNIT]),
    "holdings_never_freed": ("shard_exchange.cpp", r"\(void\)flat_pool_free\(holdings_, std::exchange\(holdings, nullptr\)\);",
                             "holdings = nullptr;", [UNIT]),
    "holdings_for_the_clients_of_one_shard": ("server.cpp", r"make_pool\(sizeof\(Holdings\), clients\)",
                                              "make_pool(sizeof(Holdings), options.connections)", [REFUSALS]),
    "refused_connections_are_asked_for_again_and_again": ("shard.cpp", r"(void ServerShard::refuse_until[^{]*\{\n)    listen\(false\);\n",
                                                          r"\1", [REFUSALS]),
    "refused_connections_are_forgotten": ("shard.cpp", r"    listens_again_ = at;\n", "", [REFUSALS]),
    "a_connection_that_ended_makes_no_room": ("shard.cpp", r"(flat_pool_free\(memory_, connection\);\n)        listen\(true\);\n", r"\1",
                                              [REFUSALS]),
    "idle_clients_are_disconnected": ("conversation.cpp", r"case Phase::line: return !input\(\)\.empty\(\);", "case Phase::line: return true;",
                                      [SLOW]),
    "half_bodies_may_take_for_ever": ("conversation.cpp", r"    case Phase::body:\n(    case Phase::drained: return true;)", r"\1", [SLOW]),
    "answers_may_stay_for_ever": ("conversation.cpp", r"return !pending\(\)\.empty\(\);", "return false;", [SLOW]),
    "each_byte_is_progress": ("shard.cpp", r"connection\.progress != talk\.progress\(\)", "true", [SLOW]),
    "busy_clients_are_disconnected": ("shard.cpp", r" \|\| connection\.progress != talk\.progress\(\)", "", [SLOW]),
    "sleeper_not_woken": ("shard.cpp", r"    if \(all_\[to\]->sleeps_[^;]*;\n", "", [ANSWERS, TOGETHER]),
}


def copies_of(arguments):
    """The copy's objects by their names, compiled."""
    copy = os.path.join(arguments.work, "server")
    shutil.rmtree(arguments.work, ignore_errors=True)
    shutil.copytree(os.path.join(arguments.source, "src/server"), copy)
    file, pattern, replacement, _ = FAULTS[arguments.fault]
    plant(arguments.fault, os.path.join(copy, file), pattern, replacement, "src/server/" + file)
    units = [file] if file.endswith(".cpp") else [each for each in os.listdir(copy) if each.endswith(".cpp") and each != "main.cpp"]
    for unit in units:
        subprocess.run([arguments.linker, "-std=c++20", "-O1", "-w", "-DNDEBUG", "-I", arguments.work, "-I",
                        os.path.join(arguments.source, "src"), "-I", os.path.join(arguments.source, "include"), "-c",
                        os.path.join(copy, unit), "-o", os.path.join(arguments.work, unit + ".o")], check=True)
    return [os.path.join(arguments.work, unit + ".o") for unit in units]


def main():
    arguments = arguments_of(__doc__, FAULTS, ("source", "work", "linker"), lists=("objects", "libraries"))
    made, outcomes = copies_of(arguments), []

    def linked(name, objects):
        program = os.path.join(arguments.work, name)
        subprocess.run([arguments.linker, *objects, *made, *arguments.libraries, "-lfmt", "-pthread", "-o", program], check=True)
        return program

    for what in FAULTS[arguments.fault][3]:
        if what == UNIT:
            tests = [each for each in arguments.objects if "_test.cpp" in each]
            outcomes.append((what, passes(linked("unit", tests))))
            continue
        server = linked("flatlined", [each for each in arguments.objects if "_test.cpp" not in each])
        script = {ANSWERS: ["differential.py", "--commands", "6000"], TOGETHER: ["together.py", "--seconds", "3"],
                  REFUSALS: ["refusals.py"], SLOW: ["slow_clients.py"]}[what]
        command = [sys.executable, "-B", os.path.join(HERE, script[0]), "--server", server, "--shards", "3", *script[1:]]
        ran = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                             timeout=120, check=False)
        print("  " + "\n  ".join(ran.stdout.splitlines()[:5]))
        outcomes.append((what, ran.returncode == 0))
    return verdict(arguments.fault, outcomes)


if __name__ == "__main__":
    sys.exit(main())
