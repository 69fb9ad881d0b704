#!/usr/bin/env python3
"""Plants one fault in a copy of the dispatcher or the simulator, links a test with it, and demands that the test fails.

    planted_faults.py --list
    planted_faults.py --fault NAME --source ROOT --work FOLDER --compiler CC --linker CXX --test NAME=OBJECT:OBJECT...
                      --libraries LIBRARY...

The fault `none` is the control: the copy as it is, with which every test must pass. A fault whose place is no longer in
the source is an error, never a pass: change its pattern along with the code. Exit status 0: seen (control: passed).
"""
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True  # keeps the source folder clean
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from planting import CONTROL, arguments_of, passes, plant, verdict

REPORT, POLICIES, SETS = "dispatch_load_report", "dispatch_policies", "dispatch_shard_set"
SWITCHBACK, TRIALS = "dispatch_switchback", "simulate_trials"
LAWS, PARTS, SIMULATION = "simulate_laws", "simulate_parts", "simulate_simulation"
RECORDING, OF_RECORDING = "simulate_recording", "src/simulate/recording.cpp"
TESTS = (REPORT, POLICIES, SETS, SWITCHBACK, LAWS, PARTS, SIMULATION, TRIALS)
# The sources whose code headers of src/engine/dispatch are compiled into, and those of a test.
DISPATCH, OF_SIMULATION = "src/engine/dispatch/policies.c", "src/simulate/simulation.cpp"
OF_REPORT, OF_SETS = "tests/engine/dispatch/load_report_test.cpp", "tests/engine/dispatch/shard_set_test.cpp"
OF_POLICIES = "tests/engine/dispatch/policies_test.cpp"
DISPATCHED = "src/engine/dispatch/"
OF_SWITCHBACK = DISPATCHED + "switchback.c"

# name: (file, pattern, replacement, sources to compile, tests that must fail, with a filter of GoogleTest if not all)
FAULTS = {
    CONTROL: (DISPATCHED + "least.h", r"\A", "", [DISPATCH, OF_SIMULATION], [(test, "*") for test in TESTS]),
    "ratios_of_other_runs": ("src/simulate/estimate.cpp", r"std::log\(second\[i\] / first\[i\]\)", "std::log(second[i] / first[0])",
                             ["src/simulate/estimate.cpp"], [(PARTS, "*ratio*")]),
    "wait_not_predicted_anew_after_a_send": (DISPATCHED + "view.h", r"(if \(at > view->left_at\) view->left_at = at;\s*)view->wait_at = NOT_PREDICTED;",
                                             r"\1", [DISPATCH], [(POLICIES, "*")]),
    "wait_not_predicted_anew_after_a_report": (DISPATCHED + "view.h", r"(view->as_of = view->left_at = as_of;\s*)view->wait_at = NOT_PREDICTED;",
                                               r"\1", [DISPATCH], [(POLICIES, "*")]),
    # What an engine recorded.
    "recorded_in_the_order_of_the_file": (OF_RECORDING, r"std::ranges::sort\(tasks\);", "", [OF_RECORDING], [(RECORDING, "*in_order*")]),
    "recorded_times_not_scaled": (OF_RECORDING, r"\.time = scaled\(task\.submitted - first\)", ".time = task.submitted - first",
                                  [OF_RECORDING], [(RECORDING, "*in_order*")]),
    "recorded_submitters_keep_their_numbers": (OF_RECORDING, r"task\.submitter = numbers\.try_emplace", "(void)numbers.try_emplace",
                                               [OF_RECORDING], [(RECORDING, "*in_order*")]),
    "recorded_holds_lost": (OF_RECORDING, r"\.hold = scaled\(task\.held\)", ".hold = 0", [OF_RECORDING], [(RECORDING, "*in_order*")]),
    "recorded_worker_that_is_not_there": (OF_RECORDING, r"number_in\(line, head\.workers - 1, lines\)", "number_in(line, head.workers, lines)",
                                          [OF_RECORDING], [(RECORDING, "*its_line*")]),
    "recorded_line_goes_on": (OF_RECORDING, r"!line\.empty\(\)\) lines\.refuse\(\"there is more than a task\"\);", "false) return task;",
                              [OF_RECORDING], [(RECORDING, "*its_line*")]),
    "recorded_arrivals_drawn": ("src/simulate/arrivals.cpp", r"if \(workload_\.recorded\)", "if (false)", ["src/simulate/arrivals.cpp"],
                                [(RECORDING, "*in_order*")]),
    # What a worker tells.
    "work_of_a_task_put_off_stays": (DISPATCHED + "load_report.h", r"(load_waits_no_more.*?)report->work - task->predicted",
                                     r"\1report->work", [OF_REPORT], [(REPORT, "*")]),
    "begun_task_still_waits": (DISPATCHED + "load_report.h", r"(void load_waits_no_more.*?)report->waiting - 1", r"\1report->waiting",
                               [OF_REPORT], [(REPORT, "*")]),
    "a_long_task_counts_in_full": (DISPATCHED + "load_report.h", r"service < most \? service : saturated\(most\)", "service",
                                   [OF_REPORT], [(REPORT, "*")]),
    "a_change_is_not_noticed": (DISPATCHED + "load_report.h", r"return bits > CHANGE_GAIN && !differs \? bits : CHANGE_GAIN;",
                                "return USUAL_GAIN;", [OF_REPORT], [(REPORT, "*")]),
    "rest_is_of_the_whole_task": (DISPATCHED + "load_report.h", r"\(\(service - age\) \* SHAPE_ONE", "((service) * SHAPE_ONE",
                                  [OF_REPORT], [(REPORT, "*")]),
    "estimates_move_twice_as_far": (DISPATCHED + "load_report.h", r"moved\(of->usual, counted, usual_gain\(of\)\)",
                                    "moved(of->usual, counted, usual_gain(of) - 1)", [OF_REPORT], [(REPORT, "*")]),
    "rate_of_arrivals_halved": (DISPATCHED + "load_report.h", r"keeper->counted << 32", "keeper->counted << 31",
                                [OF_REPORT], [(REPORT, "*")]),
    "any_class_is_the_first_to_run_out": (DISPATCHED + "load_report.h", r"size_class == keeper->first_to_run_out \|\|", "true ||",
                                          [OF_REPORT], [(REPORT, "*")]),
    "unseen_level_has_no_latency": (DISPATCHED + "load_report.h", r"level > 0 && keeper->latency\[level\] == 0", "false", [OF_REPORT],
                                    [(REPORT, "*")]),
    "a_word_is_not_read": (DISPATCHED + "load_report.h", r"copy\.exhaustion = [^;]*;", "copy.exhaustion = 0;", [OF_REPORT],
                           [(REPORT, "*")]),
    # Sets and chance.
    "rank_off_by_one": (DISPATCHED + "shard_set.h", r"low <= rank \? half", "low < rank ? half", [OF_SETS], [(SETS, "*")]),
    "some_shards_more_often": (DISPATCHED + "shard_set.h", r"chance_below\(by, count\)", "chance_below(by, count + 1) % count",
                               [OF_SETS], [(SETS, "*")]),
    # Policies.
    "ties_in_the_order_of_numbers": (DISPATCHED + "least.h", r"ties == 1 \|\| chance_below\(&of->by_chance, ties\) == 0", "ties == 1",
                                     [DISPATCH], [(POLICIES, "*ties*")]),
    "about_equal_in_the_order_of_numbers": (DISPATCHED + "least.h", r"return any_shard\(&of->by_chance, about, of->words\);",
                                            "return shard_of_rank(about, of->words, 0);", [DISPATCH], [(POLICIES, "*ties*")]),
    "mask_forgotten": (DISPATCHED + "policies.c", r"return any_shard\(&of->by_chance, mask, of->words\);",
                       "return chance_below(&of->by_chance, of->options.shards);", [DISPATCH], [(POLICIES, "*")]),
    "own_sends_forgotten": (DISPATCHED + "policies.c", r"view->queue\+\+;", "", [DISPATCH], [(POLICIES, "*sends*")]),
    "own_sends_counted_twice": (DISPATCHED + "own_sends.h", r"of->last\[i\] <= published", "of->last[i] < published",
                                [DISPATCH], [(POLICIES, "*sends_count*")]),
    "joined_sends_are_lost": (DISPATCHED + "own_sends.h", r"of->tasks\[2 \* i\] \+ of->tasks\[2 \* i \+ 1\]", "of->tasks[2 * i]",
                              [DISPATCH, OF_POLICIES], [(POLICIES, "*sends*")]),
    "sends_stay_joined": (DISPATCHED + "own_sends.h", r"if \(kept <= OWN_SENDS / 4\)\s*of->each = 1;", "",
                          [DISPATCH, OF_POLICIES], [(POLICIES, "*sends*")]),
    "work_is_done_to_the_end": (DISPATCHED + "view.h", r"saturated\(left \+ \(step \* busy >> SHARE_BITS\)\)", "saturated(left)",
                                [DISPATCH, OF_POLICIES], [(POLICIES, "*left_of_the_work*")]),
    "all_sends_as_if_at_once": (DISPATCHED + "view.h", r"view->uncounted\.work\[i\], view->uncounted\.last\[i\]", "view->uncounted.work[i], as_of",
                                [DISPATCH, OF_POLICIES], [(POLICIES, "*rolled_forward*")]),
    "sends_of_others_forgotten": (DISPATCHED + "view.h", r"saturated\(blind\) \* view->busy", "saturated(blind) * 0",
                                  [DISPATCH, OF_POLICIES], [(POLICIES, "*others_send*")]),
    "own_sends_tell_nothing": (DISPATCHED + "view.h", r"of->options\.shards \* PRIOR", "of->options.shards / PRIOR",
                               [DISPATCH, OF_POLICIES], [(POLICIES, "*others*")]),
    "all_go_to_the_least": (DISPATCHED + "view.h", r"\(SHARE_BITS \+ 4\)\) \+ unseen", "(SHARE_BITS + 4))",
                            [DISPATCH, OF_POLICIES], [(POLICIES, "*unseen*")]),
    "word_of_idle_shards_is_taken_for_new": (DISPATCHED + "view.h", r"since > view->lag \? since - view->lag : 0", "since",
                                             [DISPATCH, OF_POLICIES], [(POLICIES, "*idle*")]),
    "the_longer_queue_of_two": (DISPATCHED + "least.h", r"if \(here > least\)\s*continue;", "if (ties != 0 && here < least) continue;",
                                [DISPATCH], [(POLICIES, "*")]),
    "a_probe_twice": (DISPATCHED + "policies.c", r"is_probed\(of, shard\) \? shard_of_rank\(mask, of->words, last\) : shard",
                      "shard", [DISPATCH], [(POLICIES, "*reports*")]),
    "an_idle_shard_stays_idle": (DISPATCHED + "policies.c", r"__atomic_fetch_and\(&of->idle[^;]*;", "", [DISPATCH],
                                 [(POLICIES, "*idle*")]),
    "bound_forgotten": (DISPATCHED + "policies.c", r"return view->own < most;", "return view->own <= most;", [DISPATCH],
                        [(POLICIES, "*bound*")]),
    "queue_of_c3_not_cubed": (DISPATCHED + "policies.c", r"queue \* queue \* queue >> 12", "queue * queue >> 8", [DISPATCH],
                              [(POLICIES, "c3*:*c3*")]),
    "a_peak_does_not_decay": (DISPATCHED + "policies.c", r"if \(halves >= 32\)\s*return 0;", "return view->peak;", [DISPATCH],
                              [(POLICIES, "*peak*")]),
    "stale_load_as_if_fresh": (DISPATCHED + "policies.c", r"\* lengths\.mean_age >> 16", "* (lengths.mean_age / 8) >> 16", [DISPATCH],
                               [(POLICIES, "*stale*")]),
    "hot_answers_by_latency": (DISPATCHED + "prequal.h", r"return hot \? one->in_flight < other->in_flight : ", "return ",
                               [DISPATCH], [(POLICIES, "*prequal*")]),
    "rest_of_the_running_task_forgotten": (DISPATCHED + "view.h", r"work \+= rest_of_running\(of, report, as_of\)", "work += of->service",
                                           [DISPATCH], [(POLICIES, "*predictive*")]),
    "types_that_hold_long_not_spread": (DISPATCHED + "policies.c", r"if \(holds_long\(of, task->type\) \|\|", "if (",
                                        [DISPATCH], [(POLICIES, "*spreads*")]),
    "chance_taken_for_speed": (DISPATCHED + "view.h", r"if \(!is_alike\(usual, [^)]*\)\) slower", "slower", [DISPATCH],
                               [(POLICIES, "*alike*")]),
    "every_shard_taken_for_alike": (DISPATCHED + "view.h", r"#define ALIKE_MORE 3", "#define ALIKE_MORE 300", [DISPATCH],
                                    [(POLICIES, "*alike*")]),
    "long_tasks_taken_for_slowness": (DISPATCHED + "view.h", r"is_alike\(usual, of->usual", "is_alike(mean, of->mean", [DISPATCH],
                                      [(POLICIES, "*slow_worker*")]),
    "work_of_chance_counts": (DISPATCHED + "view.h", r"evened = saturated\([^;]*;", "evened = SHARE_ONE;", [DISPATCH, OF_POLICIES],
                              [(POLICIES, "*slow_worker*")]),
    "slowness_forgotten": (DISPATCHED + "view.h", r"slowness = saturated\([^;]*;", "slowness = SHARE_ONE;", [DISPATCH, OF_POLICIES],
                           [(POLICIES, "*never_ran*")]),
    "own_sends_of_the_mean_length": (DISPATCHED + "policies.c", r"own_sends_add\(&view->uncounted, service, now\)",
                                     "own_sends_add(&view->uncounted, of->service, now)", [DISPATCH], [(POLICIES, "*their_type*")]),
    "joined_work_is_lost": (DISPATCHED + "own_sends.h", r"of->work\[2 \* i\] \+ of->work\[2 \* i \+ 1\]", "of->work[2 * i]",
                            [DISPATCH, OF_POLICIES], [(POLICIES, "*sends*")]),
    "short_ticks_shifted": (DISPATCHED + "load_report.h", r"<< \(shift - 1\)", "<< shift", [OF_REPORT], [(REPORT, "*16_bits*")]),
    "services_of_the_picked_shard_only": (DISPATCHED + "policies.c", r"of->reads_picked = !of->reads_picked;", "of->reads_picked = true;", [DISPATCH],
                                          [(POLICIES, "*become_faster*")]),
    "exhaustion_not_looked_at": (DISPATCHED + "policies.c", r"\|\| view->runs_out_at == UINT64_MAX\)\s*return true;", "|| true) return true;", [DISPATCH],
                                 [(POLICIES, "*predictive*")]),
    "exhaustion_refuses": (DISPATCHED + "policies.c", r"holds_long\(of, task->type\) \|\| !cold_ones\(of, mask, task, cold\)\)\s*return",
                           "!cold_ones(of, mask, task, cold)) return NO_SHARD;\n    if (holds_long(of, task->type)) return",
                           [DISPATCH], [(POLICIES, "*")]),
    "seed_ignored": (DISPATCHED + "policies.c", r"of->by_chance\.state = options->seed;",
                     "of->by_chance.state = (uint64_t)(uintptr_t)memory;", [DISPATCH], [(POLICIES, "*seed*:*ties*")]),
    # The switchback.
    "arms_not_in_blocks": (DISPATCHED + "switchback.h", r"\(slice >> options->share_bits\) \*", "slice *",
                           [OF_SWITCHBACK, "tests/engine/dispatch/switchback_test.cpp"], [(SWITCHBACK, "*arms*")]),
    "arms_in_turn": (DISPATCHED + "switchback.h", r"chance_bits\(&by\) \^ slice", "(by.state & 0) ^ slice",
                     [OF_SWITCHBACK, "tests/engine/dispatch/switchback_test.cpp"], [(SWITCHBACK, "*arms*")]),
    "washout_counts": (DISPATCHED + "switchback.h", r"if \(sent_at - slice_begin < options->washout\)\s*return;", "", [OF_SWITCHBACK],
                       [(SWITCHBACK, "*wash_out*")]),
    "counted_when_it_comes_back": (DISPATCHED + "switchback.h", r"slice = switchback_slice\(options, sent_at\)",
                                   "slice = switchback_slice(options, now)", [OF_SWITCHBACK], [(SWITCHBACK, "*every_task*")]),
    "arm_of_the_next_slice": (DISPATCHED + "switchback.h", r"arm = switchback_arm_at\(options, sent_at\)",
                              "arm = switchback_arm_at(options, sent_at + (UINT64_C(1) << options->slice_bits))",
                              [OF_SWITCHBACK], [(SWITCHBACK, "*every_task*"), (TRIALS, "switchback.each_arm*")]),
    "late_ones_not_told": (DISPATCHED + "switchback.h", r"if \(now > closed\)", "if (now < sent_at)", [OF_SWITCHBACK],
                           [(SWITCHBACK, "*every_task*:*late*")]),
    "late_ones_lost": (DISPATCHED + "switchback.h", r"if \(now > closed\)\s*__atomic_store_n\(&of->late, of->late \+ 1, __ATOMIC_RELAXED\);",
                       "if (now > closed) { of->late++; return; }", [OF_SWITCHBACK], [(SWITCHBACK, "*every_task*:*late*")]),
    "open_rows_are_used": (OF_SWITCHBACK, r"if \(has_ended && has_both\)", "if (has_both)", [OF_SWITCHBACK],
                           [(SWITCHBACK, "*late*")]),
    "a_row_is_lost_when_rows_are_joined": (OF_SWITCHBACK, r"is_first \? NULL : to", "NULL", [OF_SWITCHBACK],
                                           [(SWITCHBACK, "*every_task*")]),
    "nothing_is_forgotten": (OF_SWITCHBACK, r"&& of->row_bits \+ bits < of->options\.most_bits", "", [OF_SWITCHBACK],
                             [(SWITCHBACK, "*forgotten*")]),
    "added_by_number_of_row": (OF_SWITCHBACK, r"to = &of->rows\[\(block - of->first\) >> of->row_bits\]",
                               "to = &of->rows[row]", [OF_SWITCHBACK], [(SWITCHBACK, "*added*")]),
    "read_while_rows_are_moved": (OF_SWITCHBACK, r"copy->changes % 2 == 0 &&", "", [OF_SWITCHBACK], [(SWITCHBACK, "*added*")]),
    "surplus_not_centred": (OF_SWITCHBACK, r"longer - \(double\)of->rows\[row\]\.tasks\[arm\] / SWITCHBACK_ONE_IN", "longer",
                            [OF_SWITCHBACK], [(SWITCHBACK, "*interval*")]),
    "interval_from_single_tasks": (OF_SWITCHBACK, r"double variance = [^;]*;", "double variance = count;", [OF_SWITCHBACK],
                                   [(SWITCHBACK, "*reference*"), (SWITCHBACK, "*95*"), (TRIALS, "*equal_arms*")]),
    "arms_taken_for_independent": (OF_SWITCHBACK, r"if \(squares > 0\)\s*correlation", "if (squares < 0) correlation",
                                   [OF_SWITCHBACK], [(SWITCHBACK, "*reference*")]),
    "normal_instead_of_student_in_a_switchback": (OF_SWITCHBACK, r"student\[rows - SWITCHBACK_LEAST_ROWS\] \*", "1.96 *",
                                                  [OF_SWITCHBACK], [(SWITCHBACK, "*reference*")]),
    "known_too_early": (OF_SWITCHBACK, r"if \(estimate->rows < SWITCHBACK_LEAST_ROWS\)\s*return;", "if (estimate->rows < 9) return;",
                        [OF_SWITCHBACK], [(SWITCHBACK, "*known_with_few*")]),
    "known_by_few_tasks": (OF_SWITCHBACK, r"estimate->tasks\[arm\] < SWITCHBACK_LEAST_TASKS", "estimate->tasks[arm] == 0",
                           [OF_SWITCHBACK], [(SWITCHBACK, "*known_with_few*")]),
    "bound_beyond_what_is_told_apart": (OF_SWITCHBACK, r"\|\| level \+ 1 == SWITCHBACK_LEVELS", "", [OF_SWITCHBACK],
                                        [(SWITCHBACK, "*known_with_few*")]),
    "the_fallback_never_decides": (OF_SIMULATION, r"switchback_arm_at\(&slices, now_\) == SWITCHBACK_FALLBACK", "false",
                                   [OF_SIMULATION], [(TRIALS, "switchback.each_arm*")]),
    "the_fallback_learns_nothing": (OF_SIMULATION, r"if \(sender\.alternative\)\s*flat_dispatcher_learn\([^;]*;", "",
                                    [OF_SIMULATION], [(TRIALS, "switchback.each_arm*")]),
    "tasks_that_gave_up_count": (OF_SIMULATION, r"if \(back\.sojourn != 0\)", "if (true)", [OF_SIMULATION],
                                 [(TRIALS, "switchback.tasks*")]),
    "a_case_without_an_interval_counts": ("src/simulate/trials.cpp", r"if \(estimate\.known\)", "if (true)",
                                          ["src/simulate/trials.cpp"], [(TRIALS, "switchback_trials.the_truth*")]),
    "truth_of_the_other_policy": ("src/simulate/trials.cpp", r"p999_alone\(pair, pair\.policy,", "p999_alone(pair, DISPATCH_TWO_CHOICES,",
                                  ["src/simulate/trials.cpp"], [(TRIALS, "switchback_trials.the_truth*")]),
    # Laws.
    "wrong_law_of_one_server": ("src/simulate/laws.cpp", r"return service / \(1 - load\);", "return service / (1.02 - load);",
                                ["src/simulate/laws.cpp"], [(LAWS, "*"), (SIMULATION, "gates*")]),
    "wrong_law_of_many_servers": ("src/simulate/laws.cpp", r"refused / \(1 - load \* \(1 - refused\)\)", "refused",
                                  ["src/simulate/laws.cpp"], [(LAWS, "*"), (SIMULATION, "gates*")]),
    "wrong_law_of_any_service": ("src/simulate/laws.cpp", r"load \* service\.moment\(2\) / \(2 \*", "load * service.moment(2) / (1.9 *",
                                 ["src/simulate/laws.cpp"], [(LAWS, "*")]),
    "wrong_law_of_loss": ("src/simulate/laws.cpp", r"\(i \+ offered \* refused\)", "(i + 1 + offered * refused)",
                          ["src/simulate/laws.cpp"], [(LAWS, "*"), (SIMULATION, "gates*")]),
    "wrong_law_of_classes": ("src/simulate/laws.cpp", r"in_use\[used\] /= used;", "in_use[used] /= used + 0.1;",
                             ["src/simulate/laws.cpp"], [(LAWS, "*")]),
    "wrong_law_of_two_choices": ("src/simulate/laws.cpp", r"std::exp2\(length\) - 1", "std::exp2(length) - 1.1",
                                 ["src/simulate/laws.cpp"], [(LAWS, "*")]),
    "rests_rounded_one_way": ("src/simulate/laws.cpp", r"\{bound\(false\), bound\(true\)\}", "{bound(true), bound(true)}",
                              ["src/simulate/laws.cpp"], [(LAWS, "*")]),
    # Parts.
    "moment_of_another_distribution": ("src/simulate/service.cpp", r"std::pow\(long_factor, power\)", "long_factor * power",
                                       ["src/simulate/service.cpp"], [(LAWS, "simulate_service*"), (SIMULATION, "gates*")]),
    "pareto_without_a_bound": ("src/simulate/service.cpp", r"most \+ random\.share\(\) \* \(1 - most\)", "random.share()",
                               ["src/simulate/service.cpp"], [(LAWS, "simulate_service*")]),
    "bursts_are_no_faster": ("src/simulate/arrivals.cpp", r"quiet_rate_ \* workload\.burst_factor\)", "quiet_rate_)",
                             ["src/simulate/arrivals.cpp"], [(PARTS, "*arrivals*")]),
    "slow_cores_forgotten_in_the_load": ("src/simulate/arrivals.cpp", r"capacity \+= speed_of\(shard\);", "capacity += 1;",
                                         ["src/simulate/arrivals.cpp"], [(PARTS, "*arrivals*")]),
    "quantile_at_the_end_of_its_bucket": ("src/simulate/sojourns.cpp", r"return begin \+ \(end - begin\)[^;]*;", "return end * 1.01;",
                                          ["src/simulate/sojourns.cpp"], [(PARTS, "*sojourns*")]),
    "normal_instead_of_student": ("src/simulate/estimate.cpp", r"if \(freedom <= table\.size\(\)\)\s*return table\[freedom - 1\];",
                                  "if (freedom <= table.size()) return 1.96;", ["src/simulate/estimate.cpp"],
                                  [(PARTS, "*estimate*")]),
    "a_failed_job_is_not_told": ("src/simulate/parallel.cpp", r"std::rethrow_exception\(failure\)", "(void)failure",
                                 ["src/simulate/parallel.cpp"], [(PARTS, "*parallel*")]),
    # The simulation.
    "service_twice_as_fast": (OF_SIMULATION, r"/ speed_now\(shard, number\)", "/ speed_now(shard, number) / 2",
                              [OF_SIMULATION], [(SIMULATION, "*")]),
    "speed_forgotten": (OF_SIMULATION, r"/ speed_now\(shard, number\)", "", [OF_SIMULATION], [(SIMULATION, "simulation*slower*")]),
    "reports_are_never_late": (OF_SIMULATION, r"number % 2 == 1 && workload_\.delay_far != 0 \? workload_\.delay_far : workload_\.delay",
                               "workload_.delay * 0 * number", [OF_SIMULATION], [(SIMULATION, "simulation*late*")]),
    "a_grant_is_not_used": (OF_SIMULATION, r"if \(--grants == 0\)", "if (grants == 0)", [OF_SIMULATION],
                            [(SIMULATION, "simulation*grants*")]),
    "a_task_is_lost": (OF_SIMULATION, r"shard\.put_off\.push\(task\);", "", [OF_SIMULATION], [(SIMULATION, "simulation*")]),
    "refusals_not_counted": (OF_SIMULATION, r"if \(counted\)\s*outcome_\.refused\[arrival\.type\]\+\+;", "", [OF_SIMULATION],
                             [(SIMULATION, "*")]),
    "blocks_are_not_needed": (OF_SIMULATION, r"shard\.free_blocks -= blocks;", "shard.free_blocks += 0 * blocks;", [OF_SIMULATION],
                              [(SIMULATION, "gates*")]),
    "each_policy_gets_other_tasks": (OF_SIMULATION, r"arrivals_\(workload, seed\)", "arrivals_(workload, seed + choice.options.policy)",
                                     [OF_SIMULATION], [(SIMULATION, "simulation*same_tasks*")]),
    "held_out_parameters_leak": ("src/simulate/workloads.cpp", r"drawn_\(true\)", "drawn_(draw == 0)", ["src/simulate/workloads.cpp"],
                                 [(SIMULATION, "workloads*")]),
    "one_draw_for_all": ("src/simulate/workloads.cpp", r"drawn\(draw \* 1000", "drawn(1000", ["src/simulate/workloads.cpp"],
                         [(SIMULATION, "workloads*")]),
    "regret_to_what_nobody_can": ("src/simulate/campaign.cpp", r"if \(!cell\.implementable \|\| cell\.ablation\)\s*continue;", "",
                                  ["src/simulate/campaign.cpp"], [(SIMULATION, "campaign*")]),
    "no_thread_no_jobs": ("src/simulate/parallel.cpp", r"\} catch \(const std::system_error &\) \{[^\n]*", "} catch (const std::system_error &) { throw;",
                          ["src/simulate/parallel.cpp"], [(PARTS, "*one_thread*")]),
    "ablations_of_training_too": ("src/simulate/campaign.cpp", r"if \(campaign\.all_ablations", "if (true",
                                  ["src/simulate/campaign.cpp"], [(SIMULATION, "campaign*")]),
    "regrets_across_workloads": ("src/simulate/campaign.cpp", r"from = end;", "", ["src/simulate/campaign.cpp"],
                                 [(SIMULATION, "campaign*")]),
    "curve_of_the_first_seed": ("src/simulate/campaign.cpp", r"for \(const SimulatedRun &outcome : outcomes\) sum \+= outcome\.",
                                "sum = runs * outcomes[0].", ["src/simulate/campaign.cpp"], [(SIMULATION, "campaign*")]),
    "curve_without_its_tail": ("src/simulate/campaign.cpp", r"0\.99985,\s*0\.9999\}", "0.99985}", ["src/simulate/campaign.cpp"],
                               [(SIMULATION, "campaign*")]),
    "load_of_the_grid_forgotten": ("src/simulate/what_if.cpp", r"workload\.load = load;", "", ["src/simulate/what_if.cpp"],
                                   [(SIMULATION, "what_if*")]),
    "age_of_the_grid_in_ticks": ("src/simulate/what_if.cpp", r"staleness \* usual_service", "staleness",
                                 ["src/simulate/what_if.cpp"], [(SIMULATION, "what_if*")]),
    "loads_and_ages_of_the_grid_exchanged": ("src/simulate/what_if.cpp", r"grid\.loads\[place / ages\], grid\.staleness\[place % ages\]",
                                             "grid.loads[place % grid.loads.size()], grid.staleness[place / grid.loads.size()]",
                                             ["src/simulate/what_if.cpp"], [(SIMULATION, "what_if*")]),
    "grid_of_a_held_out_workload": ("src/simulate/what_if.cpp", r"\.loads = \{0\.5,", ".loads = {held_out_workloads(reference_draw, 1)[1].load,",
                                    ["src/simulate/what_if.cpp"], [(SIMULATION, "what_if*")]),
}


def compile_copy(unit, copy, arguments):
    """The object of a source of the copy."""
    source, result = os.path.join(copy, unit), os.path.join(copy, unit.replace("/", "_") + ".o")
    includes = ["-I", os.path.join(copy, "src"), "-I", os.path.join(arguments.source, "include"), "-I",
                os.path.join(copy, "tests"), "-I", os.path.join(arguments.source, "tests")]
    command = [arguments.compiler, "-std=c11"] if unit.endswith(".c") else [arguments.linker, "-std=c++20"]
    subprocess.run([*command, "-O1", "-fPIC", "-w", "-DNDEBUG", *includes, "-c", source, "-o", result], check=True)
    return result


def copy_of(source, work):
    shutil.rmtree(work, ignore_errors=True)
    for folder in ("src/engine", "src/simulate", "src/core", "src/os", "tests/engine/dispatch", "tests/simulate",
                   "tests/core"):
        shutil.copytree(os.path.join(source, folder), os.path.join(work, folder))


def main():
    arguments = arguments_of(__doc__, FAULTS, ("source", "work", "compiler", "linker"), lists=("test", "libraries"))
    file, pattern, replacement, units, tests = FAULTS[arguments.fault]
    objects = {name[:-len("_test")]: given.split(":")
               for name, _, given in (each.partition("=") for each in arguments.test)}
    copy_of(arguments.source, arguments.work)
    plant(arguments.fault, os.path.join(arguments.work, file), pattern, replacement, file)
    compiled = {unit: compile_copy(unit, arguments.work, arguments) for unit in units}
    outcomes = []
    for test, filter_ in tests:
        # An object of the copy takes the place of the test's own; of the library's, because it comes first.
        kept = [each for each in objects[test]
                if not any(each.endswith("/" + os.path.basename(unit) + ".o") for unit in compiled)]
        program = os.path.join(arguments.work, test)
        subprocess.run([arguments.linker, *kept, *compiled.values(), *arguments.libraries, "-lfmt", "-pthread", "-o",
                        program], check=True)
        outcomes.append((test, passes(program, "--gtest_filter=" + filter_)))
    return verdict(arguments.fault, outcomes)


if __name__ == "__main__":
    sys.exit(main())
