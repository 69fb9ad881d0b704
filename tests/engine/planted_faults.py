#!/usr/bin/env python3
"""Plants one fault in a copy of src/engine, links tests of the engine's parts and functions with it, and demands that
each of them fails.

    planted_faults.py --list
    planted_faults.py --fault NAME --source ROOT --work FOLDER --compiler CC --linker CXX --test NAME=OBJECT:OBJECT...
                      --libraries LIBRARY...

The faults `none...` are the controls: the copy as it is, with which every test must pass. A fault whose place is no longer in
the source is an error, never a pass: change its pattern along with the code. What headers compile into a test comes from
parts.c, which alone of a test's objects is compiled anew. Exit status 0: seen (control: passed).
"""
import glob
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True  # leaves the sources' folder unchanged
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from planting import CONTROL, arguments_of, passes, plant, verdict

PARTS = ["parts.c", "any_worker_parts.c"]
SECONDS = 25  # for a test program; all of them take a few without a fault, and one with a fault waits for 20

# name: (file below src/engine, pattern, replacement, tests that must fail). `TEST:WORDS` is a test with these words in
# its name.
FAULTS = {
    CONTROL: ("links.h", r"\A", "", ["links", "wheel", "ready", "histogram", "ticks", "descriptor", "setup",
                                     "setup_threads", "submit", "completion", "worker", "control",
                                     "waiting_submitters", "model", "any_worker", "gain", "record"]),
    CONTROL + "_of_one_file": ("worker.c", r"\A", "", ["setup", "submit", "worker", "control"]),
    # links.h
    "node_appended_at_the_front": ("links.h", r"uint32_t last = links\[head\]\.previous;\s*links\[node\] = \(list_link\)\{head, last\};\s*"
                                   r"links\[last\]\.next = node;\s*links\[head\]\.previous = node;",
                                   r"uint32_t first = links[head].next; links[node] = (list_link){first, head};"
                                   r"links[first].previous = node; links[head].next = node;",
                                   ["links", "ready", "worker", "model"]),
    "removed_node_left_behind_its_successor": ("links.h", r"links\[around\.next\]\.previous = around\.previous;", "",
                                               ["links"]),
    # wheel.h
    "wheel_level_too_low": ("wheel.h", r"__builtin_clzll\(due \^ wheel->now\)\) / WHEEL_SLOT_BITS",
                            "__builtin_clzll(due - wheel->now)) / WHEEL_SLOT_BITS", ["wheel"]),
    "wheel_forgets_what_it_empties": ("wheel.h", r"if \(wheel->emptying == head\) wheel->emptying = WHEEL_NOBODY;", "",
                                      ["wheel"]),
    "wheel_slot_stays_marked": ("wheel.h", r"wheel->slots\[level\] &= [^;]*;", "", ["wheel"]),
    "wheel_level_stays_marked": ("wheel.h", r"if \(wheel->slots\[level\] == 0\) [^;]*;", "", ["wheel"]),
    "wheel_node_that_is_not_due_comes": ("wheel.h", r"if \(wheel_due\(wheel, node\) > wheel->now\) \{",
                                         "if (wheel_due(wheel, node) > until) {", ["wheel"]),
    "wheel_time_stands": ("wheel.h", r"if \(until > wheel->now\) wheel->now = until;", "", ["wheel"]),
    "wheel_goes_beyond_the_slot_that_it_empties": ("wheel.h", r"if \(wheel->emptying != WHEEL_NOBODY\) return wheel->now;",
                                                   "", ["wheel"]),
    "wheel_length_kept": ("wheel.h", r"(return WHEEL_NOBODY;\s*\}\s*)wheel->length--;", r"\1", ["wheel"]),
    "wheel_stride_ignored": ("wheel.h", r"\(uint64_t\)node \* wheel->due_stride", "(uint64_t)node", ["wheel"]),
    "wheel_places_at_the_level_it_came_from": ("wheel.h", r"wheel->now = wheel_next\(wheel\);", "", ["wheel"]),
    "wheel_takes_any_and_keeps_it": ("wheel.h", r"(heads \+ level \* WHEEL_SLOTS \+ slot\]\.next;\s*)wheel_remove\(wheel, node\);",
                                     r"\1wheel_unplace(wheel, node);", ["wheel"]),
    # ready.h
    "ready_counter_not_restarted_by_a_choice": ("ready.h", r"(passed_over \+= ready_ones\(less_urgent\);\s*)ready_restart_counter\(ready, urgency\);",
                                                r"\1", ["ready", "model"]),
    "ready_counter_not_restarted_by_the_first": ("ready.h", r"(1u << urgency;\s*)ready_restart_counter\(ready, urgency\);",
                                                 r"\1", ["ready"]),
    "ready_most_urgent_overdue_first": ("ready.h", r"\(unsigned\)__builtin_ctz\(overdue\)",
                                        "31 - (unsigned)__builtin_clz(overdue)", ["ready"]),
    "ready_overdue_without_waiting": ("ready.h", r"return urgencies & ready->waiting;", "return urgencies;", ["ready"]),
    "ready_limit_one_more": ("ready.h", r"\(ready->passed_over & READY_OVERDUE\)|ready->passed_over & READY_OVERDUE",
                             "(ready->passed_over - (READY_ONE_EACH & (ready->passed_over >> 15))) & READY_OVERDUE", ["ready", "worker", "model"]),
    "ready_more_urgent_counted": ("ready.h", r"ready->waiting & \(\(1u << urgency\) - 1\) & ~overdue",
                                  "ready->waiting & ~(1u << urgency) & ~overdue", ["ready"]),
    "ready_least_urgent_first": ("ready.h", r"31 - \(unsigned\)__builtin_clz\(ready->waiting\)",
                                 "(unsigned)__builtin_ctz(ready->waiting)", ["ready", "worker", "model"]),
    "ready_mark_stays": ("ready.h", r"if \(links_are_empty\(ready->links, other\)\) [^;]*;", "", ["ready"]),
    "ready_length_kept": ("ready.h", r"ready_set_length\(ready, urgency, UINT64_MAX\);", "", ["ready"]),
    # histogram.h
    "histogram_neighbours_share_a_bucket": ("histogram.h", r"\(uint32_t\)\(value >> shift\)", "(uint32_t)(value >> shift | 1)",
                                            ["histogram"]),
    "histogram_long_ones_beyond_the_end": ("histogram.h", r"if \(value > most\) value = most;", "", ["histogram"]),
    "histogram_upper_end_is_the_next": ("histogram.h", r"\+ 1\) << shift\) - 1;", "+ 1) << shift);", ["histogram"]),
    # ticks.h
    "ticks_overflow": ("ticks.h", r"ns < MOST_NS \? ns : MOST_NS", "ns", ["ticks"]),
    "ticks_of_a_time_without_the_origin": ("ticks.h", r"return rate->origin \+ ticks_of_ns", "return ticks_of_ns", ["ticks"]),
    "ticks_product_cut": ("ticks.h", r"\(uint64_t\)\(\(tick_product\)value \* by >> 32\)", "(value * by >> 32)", ["ticks"]),
    # descriptor.h
    "start_in_the_place_of_the_deadline": ("descriptor.h", r"\(task->flags & HAS_DEADLINE\) != 0 \? 2 : 3", "3",
                                           ["descriptor", "worker:start_and_a_later_deadline"]),
    "flags_share_a_bit": ("descriptor.h", r"#define ALWAYS_RUN 8u", "#define ALWAYS_RUN 4u",
                          ["descriptor", "completion", "model"]),
    # options.c, layout.c, setup.c
    "a_byte_too_little_accepted": ("setup.c", r"status = judge_memories\(metadata, blocks, &need\);",
                                   "metadata.size++; status = judge_memories(metadata, blocks, &need);", ["setup"]),
    "default_grants_rounded_up": ("options.c", r": granted / lanes;", ": (granted + lanes - 1) / lanes;", ["setup"]),
    "half_of_the_blocks_forgotten": ("options.c", r": blocks / 2;", ": blocks;", ["setup"]),
    "no_grants_is_the_default": ("options.c", r"asked == FLAT_NO_GRANTS \? 0 : ", "asked == FLAT_NO_GRANTS ? granted / lanes : ", ["setup"]),
    "more_grants_than_blocks": ("options.c", r"if \(all > blocks\)", "if (false)", ["setup"]),
    "lanes_without_grants": ("options.c", r"plan->grant_count\[0\] == 0 \|\| ", "", ["setup"]),
    "limits_of_another_worker": ("options.c", r"&options->workers\[worker\]", "&options->workers[0]", ["setup", "submit:holds_the_payload"]),
    "any_number_of_workers": ("options.c", r"\|\| options->worker_count > FLAT_ENGINE_MAX_WORKERS", "", ["setup:out_of_its_range"]),
    "any_stack": ("options.c", r"stack < LEAST_STACK_BYTES \|\| ", "", ["setup:out_of_its_range"]),
    "stacks_do_not_count": ("layout.c", r"(ENGINE_PAGE\);\s*)return judge_size\(of\);", r"\1return FLAT_OK;", ["setup:half_of_the_address"]),
    "starvation_limit_one_less": ("layout.c", r"\.start = 0x8000 - \(uint64_t\)limit", ".start = 0x8001 - (uint64_t)limit", ["worker", "model"]),
    "pinned_nowhere": ("setup.c", r"int processor = plan\.pinned && plan\.processor <= INT_MAX \? \(int\)plan\.processor : -1;",
                       "int processor = -1;", ["setup_threads:pinned"]),
    "threads_left_running": ("setup.c", r"end_workers\(engine, i\);", "", ["setup_threads"]),
    "file_left_open": ("setup.c", r"if \(of->engine->shown >= 0\) \(void\)close\(of->engine->shown\);", "", ["setup_threads:cannot_be_pinned"]),
    "mapping_left": ("setup.c", r"if \(status != FLAT_OK\) flat_backing_destroy\(own\);", "", ["setup_threads:cannot_be_pinned"]),
    "stack_without_a_guard": ("setup.c", r"flat_guard_page\(stack_number\(of, i\) - ENGINE_PAGE\);", ";", ["setup_threads:each_stack", "setup_threads:to_the_page"]),
    "blocks_without_a_guard": ("setup.c", r"flat_guard_page\(\(char \*\)of->engine->workers\[i\]\.pool->start - ENGINE_PAGE\);", ";",
                               ["setup_threads:blocks_of_each", "setup_threads:to_the_page"]),
    "left_tasks_forgotten": ("setup.c", r"flat_engine_empty\(&engine->workers\[i\]\);", ";", ["worker:cancels_what_waits"]),
    # any_worker.c and load.h
    "any_worker_with_no_grant": ("any_worker.c", r"if \(to->classes\[number\]\.left != 0\) shard_add", "shard_add", ["any_worker", "model"]),
    "any_worker_is_refused_though_a_grant_came_back": ("any_worker.c", r"    find_more\(submitter, &of, mask\);", "", ["any_worker:every_policy", "model"]),
    "any_worker_gives_up_where_it_does_not_fit": ("any_worker.c", r"if \(number == NO_SHARD\) continue;\s*fitting = i;", "if (number == NO_SHARD) break; fitting = i;", ["any_worker:every_policy"]),
    "any_worker_of_the_class_for_the_descriptor": ("any_worker.c", r"of->way == TASK_SUBMITTED && ", "", ["any_worker:every_policy"]),
    "any_worker_forgets_the_policy": ("layout.c", r"asked != FLAT_DISPATCH_DEFAULT \? asked : FLAT_DISPATCH_PREDICTIVE", "FLAT_DISPATCH_RANDOM", ["any_worker:shortest_queue"]),
    "policy_not_looked_at": ("options.c", r"\(unsigned\)options->dispatch > FLAT_DISPATCH_PREDICTIVE", "false", ["any_worker:no_policy"]),
    "reports_not_read": ("any_worker.c", r"flat_dispatcher_learn\(&to[^;]*;", "", ["any_worker:shortest_queue"]),
    "sent_not_accounted": ("any_worker.c", r"flat_dispatcher_sent\([^;]*;", "(void)now;", ["any_worker"]),
    "returned_not_accounted": ("lane_grants.h", r"(push_grant\(of, &of->classes\[grant->size_class\], number\);\s*)if \(accounts\) [^;]*;", r"\1", ["any_worker"]),
    "returned_at_a_take_not_accounted": ("lane_grants.h", r"(grants\[grant\]\.generation\+\+;\s*)if \(accounts\) [^;]*;", r"\1", ["any_worker:every_policy"]),
    "lane_keeps_what_its_last_owner_sent": ("control.c", r"of->sent\[grant\] = 0;", "", ["any_worker:takes_a_lane_next"]),
    "lane_keeps_the_choice_of_its_last_owner": ("control.c", r"of->choice = NULL;", "", ["any_worker:takes_a_lane_next"]),
    "who_waited_before_is_not_told": ("any_worker.c", r"load_show\(&worker->report\.waiting, \(uint32_t\)waiting\);", "", ["any_worker"]),
    "workers_tell_from_the_start": ("worker.c", r" && somebody_chooses\(&worker->engine->chooses\)", "", ["any_worker"]),
    "cancelled_task_still_waits": ("worker.c", r"(ready_remove\([^;]*;\s*)load_of_waiting_no_more\(worker, record\);", r"\1", ["any_worker:every_policy"]),
    "chosen_task_still_waits": ("worker.c", r"(record->is_waiting = false;\s*)load_of_waiting_no_more\(worker, record\);", r"\1", ["any_worker:every_policy"]),
    "task_of_an_empty_worker_is_not_told": ("worker.c", r"count_in\(worker, alone->record, task\);", "count_up(&worker->statistics->classes[task->size_class].in_flight, 1);", ["any_worker:every_policy"]),
    "grant_that_left_is_in_flight": ("load.h", r"load_left\(&worker->report\);", "", ["any_worker:every_policy"]),
    "told_to_the_wrong_one": ("layout.c", r"submitters\[i\]\.choice->idle\[number / 64\]", "submitters[0].choice->idle[number / 64]", ["any_worker:nothing_to_do"]),
    "told_for_who_does_not_choose": ("load.h", r"if \(task->is_accounted == 0\) return 0;", "", ["any_worker:nothing_to_do"]),
    "told_before_it_looks": ("load.h", r"worker->told = (worker->inboxes[^;]*);", r"say_idle(\1, UINT64_C(1) << worker->number % 64);", ["any_worker:nothing_to_do"]),
    "sojourn_until_the_last_run": ("load.h", r"uint64_t sojourn = record->first_ended - task->submitted,", "uint64_t sojourn = worker->last - task->submitted,", ["any_worker:kept_their_grants"]),
    "post_goes_the_plain_way": ("submit.c", r"if \(keeps_account\(to\)\) return flat_engine_post_accounted[^;]*;", "", ["any_worker:granted_block"]),
    "submit_goes_the_plain_way": ("submit.c", r" \|\| to->choice != NULL", "", ["any_worker"]),
    "busy_worker_does_not_look": ("worker.c", r"look_who_chooses\(worker\);\s*count_free_blocks", "count_free_blocks", ["any_worker:busy"]),
    "run_without_blocks_teaches": ("load.h", r"if \(UNLIKELY\(refused\)\)", "if (refused && worker == NULL)", ["any_worker:refused_a_block"]),
    "sojourn_until_the_first_try": ("worker.c", r"if \(!refused && !has_run\(record, task\)\)", "if (!has_run(record, task))", ["any_worker:refused_a_block"]),
    "who_gave_up_is_told": ("load.h", r" \|\| !has_run\(record, task\)", "", ["any_worker:refused_a_block"]),
    "refused_before_counts": ("any_worker.c", r"\(void\)was_refused\(worker\);", "", ["any_worker:refused_a_block"]),
    "grants_run_out": ("load.h", r" \|\| of->granted == of->block_count", "", ["any_worker:blocks_run_out"]),
    "blocks_never_run_out": ("load.h", r"load_counted\(&worker->report[^;]*;", "", ["any_worker:blocks_run_out"]),
    "held_not_told": ("load.h", r" \| held_code\(held\) << FARED_HELD_SHIFT", "", ["any_worker:kept_their_grants"]),
    "held_of_one_octave_less": ("load.h", r"code - 2\)", "code - 3)", ["any_worker:powers_of_two"]),
    # gain.c, and what is counted into it
    "switchback_of_all_tasks": ("any_worker.c", r"if \(is_chosen && sojourn != 0\)", "if (sojourn != 0)", ["gain:nobody_chose"]),
    "switchback_without_room": ("any_worker.c", r"flat_switchback_make_room\(choice->measured, now\);", "", ["gain:a_switchback_measures"]),
    "switchback_never_falls_back": ("any_worker.c", r"if \(is_chosen && sojourn != 0\) \{", "if (is_chosen && sojourn != 0 && switchback_arm_at(&choice->measured->options, now) == SWITCHBACK_POLICY) {", ["gain:a_switchback_measures"]),
    "switchback_slice_not_looked_at": ("options.c", r"slice < LEAST_SLICE_NS \|\| slice > MOST_SLICE_NS", "false", ["gain:in_their_range"]),
    "switchback_share_not_looked_at": ("options.c", r"one_in > MOST_ONE_IN \|\| one_in == 1 \|\| \(one_in & \(one_in - 1\)\) != 0", "false", ["gain:in_their_range"]),
    # record.c
    "record_goes_on_from_the_last_task": ("worker.c", r"record->first_ended = record->ran = 0;", "record->first_ended = 0;", ["record:adds_up"]),
    "record_of_the_last_run": ("worker.c", r"record->ran \+= ended - begun;", "record->ran = ended - begun;", ["record:adds_up"]),
    "record_of_every_run": ("worker.c", r" && !worker->is_deferred\) record_task", ") record_task", ["record:adds_up"]),
    "record_held_from_the_submit": ("worker.c", r"\.held = has_run\(record, task\) \? ended - record->first_ended : 0", ".held = ended - task->submitted", ["record:each_task"]),
    "record_beyond_its_end": ("worker.c", r"worker->recorded == worker->record_length\)", "worker->recorded == worker->record_length + 1)", ["record:full"]),
    "record_cut_off_at_a_buffer": ("record.c", r"if \(to->length \+ LONGEST_LINE > sizeof to->text\) flush_record\(to\);", "if (to->length + LONGEST_LINE > sizeof to->text) to->length = 0;", ["record:as_a_whole"]),
    "record_not_taken_by_the_system": ("record.c", r"of->failed = written == 0 \|\| ", "of->failed = written > 0 && ", ["record:refusals"]),
    "record_takes_no_room": ("layout.c", r"of->options->recorded_tasks \* sizeof\(recorded_task\)", "0", ["record:refusals"]),
    # submit.c, submit_steps.h and lane_grants.h
    "urgency_not_looked_at": ("submit_steps.h", r"task->urgency >= FLAT_ENGINE_URGENCIES \|\| ", "", ["submit"]),
    "type_not_looked_at": ("submit_steps.h", r" \|\| task->type >= FLAT_ENGINE_TASK_TYPES", "", ["submit"]),
    "start_after_the_deadline": ("submit_steps.h", r"if \(task->start_ns > task->deadline_ns\) return FLAT_INVALID_ARGUMENT;", "", ["submit"]),
    "deadline_not_looked_at": ("submit_steps.h", r"if \(checked->deadline <= now\) return FLAT_DEADLINE_PAST;", "", ["submit", "waiting_submitters:another_reason"]),
    "start_too_far_away": ("submit_steps.h", r"if \(checked->start > now [^;]*;", "", ["submit"]),
    "times_take_no_room": ("submit_steps.h", r"checked->flags \|= HAS_START;\s*checked->inline_bytes -= sizeof\(uint64_t\);",
                           "checked->flags |= HAS_START;", ["submit"]),
    "null_payload_read": ("submit.c", r"if \(payload\.start == NULL && payload\.size != 0\) return FLAT_INVALID_ARGUMENT;", "", ["submit"]),
    "class_too_small": ("lane_grants.h", r"return size <= to->classes\[\*number\]\.size \? FLAT_OK : FLAT_INVALID_ARGUMENT;", "return FLAT_OK;", ["submit"]),
    "class_that_is_not_there": ("lane_grants.h", r"if \(\*number >= to->class_count\) return FLAT_INVALID_ARGUMENT;",
                                "if (*number >= to->class_count) *number = 0;", ["submit"]),
    "inline_where_none_is_granted": ("submit.c", r" && to->classes\[to->class_count\]\.count != 0\) \{\s*return submit_inline",
                                     ") {\n return submit_inline", ["submit"]),
    "posted_grant_posted_again": ("submit.c", r"state == GRANT_HELD \? FLAT_OK : FLAT_FOREIGN_POINTER;", "state != GRANT_LEFT ? FLAT_OK : FLAT_FOREIGN_POINTER;",
                                  ["submit", "model"]),
    "released_grant_posted": ("submit.c", r"to->grants\[grant\]\.state = GRANT_LEFT;", "", ["submit"]),
    "block_of_a_neighbour_taken": ("submit.c", r"if \(index >= of->count\) return NO_GRANT_LEFT;", "index %= of->count;", ["submit"]),
    "failed_post_loses_the_grant": ("submit.c", r"return refuse_submit\(submitter, status\);\s*task_descriptor \*descriptor = begin_descriptor\(to, &checked, now, to->grants",
                                    "{ to->grants[grant].state = GRANT_LEFT; return refuse_submit(submitter, status); }\n task_descriptor *descriptor = begin_descriptor(to, &checked, now, to->grants",
                                    ["submit", "model"]),
    "size_of_a_grant_rounded_up": ("submit.c", r"taken->size = \(uint32_t\)size;", "taken->size = (uint32_t)(size + 15) / 16 * 16;", ["submit", "model"]),
    "copy_of_whole_steps_alone": ("submit.c", r"size_t last = size - 2 \* sizeof\(pair\);", "size_t last = (size - 1) / 32 * 32 - 32;", ["submit"]),
    "copy_reads_beyond": ("submit_steps.h", r"middle = of\[size / 2\]", "middle = of[size]", ["submit"]),
    "grant_lost_when_it_comes_back": ("lane_grants.h", r"(recover_grant\([^)]*\) \{\s*uint32_t entry = next_returned\(class\);\s*if \(entry == NO_ENTRY\) return false;\s*)take_back_grant\([^;]*;",
                                      r"\1", ["submit", "completion", "model"]),
    "return_ring_does_not_turn": ("lane_grants.h", r"class->parity \^= wraps;", "", ["submit", "model"]),
    "generation_stays": ("lane_grants.h", r"(= &of->grants\[number\];\s*)grant->generation\+\+;", r"\1", ["completion", "model"]),
    "draining_not_looked_at": ("submit_steps.h", r"if \(LIKELY\(step_look_at_state\(&engine->state\) < submitter->refused_from\)\) return FLAT_OK;",
                               "return FLAT_OK;", ["submit", "control", "model"]),
    "lap_of_the_ring_kept": ("submit_steps.h", r"lap \+ \(wraps \? 1 : 0\)", "lap", ["submit", "model"]),
    "ticket_of_another_worker": ("engine.h", r"\(uint64_t\)\(worker \+ 1\) << TICKET_WORKER_SHIFT", "(uint64_t)1 << TICKET_WORKER_SHIFT", ["completion", "model"]),
    "context_forgotten": ("submit_steps.h", r"grant->context = task->context;", "", ["completion", "model"]),
    "completions_do_not_turn": ("submit.c", r"from->completion_parity \^= ENTRY_PARITY;", "", ["completion", "model"]),
    "stale_ticket_cancels": ("submit.c", r" \|\| grant->generation != \(uint32_t\)ticket", "", ["completion"]),
    "second_cancellation_of_a_grant_sent": ("submit.c", r"return same \? FLAT_OK : FLAT_RING_FULL;", "if (same) return FLAT_OK;", ["completion"]),
    "kept_block_is_left": ("submit.c", r"\(void\)take_grant\(from, class, false\);", "", ["completion:can_be_kept"]),
    "poll_takes_too_many": ("submit.c", r"while \(taken < capacity && take_completion", "while (taken <= capacity && take_completion", ["completion"]),
    "tasks_may_wait": ("submit.c", r" \|\| submitter->of_worker != NULL\) return FLAT_INVALID_ARGUMENT;\s*const flat_engine \*engine = submitter->engine;\s*uint64_t until = ticks_at_time\(&engine->rate, until_ns\), look_until = read_ticks\(\) \+ engine->spin_ticks;\s*while",
                       ") return FLAT_INVALID_ARGUMENT;\n const flat_engine *engine = submitter->engine;\n uint64_t until = ticks_at_time(&engine->rate, until_ns), look_until = read_ticks() + engine->spin_ticks;\n while", ["worker:may_not_wait"]),
    "wait_does_not_end": ("submit.c", r"if \(now >= until\) return FLAT_TIMED_OUT;", "", ["waiting_submitters:completion_ends"]),
    "submitter_not_woken": ("worker.c", r"if \(UNLIKELY\(step_look_asleep\(sleeping\) != 0\)\) flat_engine_wake\([^;]*;", "", ["waiting_submitters:when_it_comes"]),
    "worker_not_woken": ("submit_steps.h", r"if \(UNLIKELY\(step_look_asleep\(sleeping\) != 0\)\) flat_engine_wake\([^;]*;", "", ["waiting_submitters:woken_by_each"]),
    "worker_not_woken_by_a_cancellation": ("submit.c", r"if \(step_look_asleep\(&to->worker->sleeping\) != 0\) flat_engine_wake\([^;]*;", "",
                                           ["waiting_submitters:or_a_task_is_cancelled"]),
    # worker.c
    "sleeps_beyond_a_start": ("worker.c", r"if \(until_due < within\) within = until_due;", "(void)until_due;", ["waiting_submitters:when_a_start_comes"]),
    "time_of_the_last_step_taken": ("worker.c", r"stepped->last = 0;", "", ["worker:between_two_steps"]),
    "expired_task_runs": ("worker.c", r"return FLAT_TASK_EXPIRED;", "return FLAT_TASK_DONE;", ["worker", "completion", "model"]),
    "deferred_task_expires": ("worker.c", r"\(task->flags & IS_DEFERRED\) != 0 \|\| ", "", ["worker:does_not_expire"]),
    "cancelled_task_that_is_always_run_is_done": ("worker.c", r"if \(\(task->flags & IS_CANCELLED\) != 0\) return FLAT_TASK_CANCELLED;", "", ["completion"]),
    "always_run_forgotten": ("worker.c", r"if \(\(chosen->task->flags & ALWAYS_RUN\) != 0\) \{", "if (false) {", ["completion", "control", "model"]),
    "deferred_for_ever": ("worker.c", r"here->is_deferred = true;", "here->is_deferred = true; delay_ns += delay_ns == 0;", ["model", "worker"]),
    "disposing_task_may_defer": ("worker.c", r" \|\| here->outcome != FLAT_TASK_DONE", "", ["worker:does_not_expire"]),
    "delay_without_a_limit": ("worker.c", r"delay_ns > FLAT_ENGINE_MAX_DELAY_NS \|\| ", "", ["worker:as_long_as_it_asked"]),
    "payload_left_in_the_ring": ("worker.c", r"if \(UNLIKELY\(worker->is_deferred\)\) chosen->record->task = \*chosen->task;", "", ["worker", "model"]),
    "second_task_alone_forgotten": ("worker.c", r"if \(alone->in != NULL\) take_in_task\(worker, alone->in, alone->task\);", "", ["worker", "model"]),
    "starts_rounded_down": ("worker.c", r"uint64_t due = units_after_ticks\(worker->engine, start\);", "uint64_t due = units_of_ticks(worker->engine, start);", ["worker:before_its_start"]),
    "two_threads_are_one_worker": ("worker.c", r"return step_move_lane\(&engine->workers\[worker\]\.attended, 0, 1\);", "return true;", ["worker:one_thread_at_a_time"]),
    "wheel_not_emptied_by_a_stop": ("worker.c", r"step_look_at_state\(&worker->engine->state\) >= ENGINE_STOPPED\) empty_wheel\(worker\);", "false) empty_wheel(worker);", ["control", "model"]),
    "outcome_lost": ("worker.c", r"\(uint64_t\)outcome << ENTRY_OUTCOME_SHIFT \| ", "", ["completion", "model"]),
    "wait_for_a_grant_outlasts_a_drain": ("control.c", r"for \(uint32_t i = 0; i < engine->lane_count; i\+\+\) wake_once\([^;]*;", "", ["waiting_submitters:takes_no_more"]),
    "grants_are_those_of_a_submit": ("submit.c", r"(size_t flat_engine_grants\([^{]*\{)", r"\1 if (size <= FLAT_ENGINE_INLINE_BYTES) return 7;", ["setup:small_size"]),
    # control.c
    "lane_of_a_living_thread_reclaimed": ("control.c", r"return flat_thread_has_ended\(thread_of_lane\(state\)\);", "return true;", ["control:thread_that_lives"]),
    "lane_of_a_dead_thread_kept": ("control.c", r"return flat_thread_has_ended\(thread_of_lane\(state\)\);", "return false;", ["control:thread_that_ended"]),
    "lane_freed_with_tasks_in_flight": ("control.c", r"if \(left != 0\) \{", "if (false) {", ["control"]),
    "held_grants_not_counted": ("control.c", r"found->held \+= [^;]*;", ";", ["control:thread_that_ended"]),
    "unread_completions_not_counted": ("control.c", r"found->unread \+= [^;]*;", ";", ["control"]),
    "lane_not_cleared": ("control.c", r"(account_for\([^;]*;\s*)flat_engine_clear_lane\([^;]*;", r"\1", ["control", "model"]),
    "register_while_draining": ("control.c", r"if \(step_look_at_state\(&engine->state\) != ENGINE_OPEN\) return FLAT_DRAINING;", "", ["control"]),
    "register_does_not_reclaim": ("control.c", r"if \(\*submitter == NULL && flat_engine_reclaim\(engine\)\.lanes != 0\) [^;]*;", "", ["control:register_reclaims"]),
    "drain_does_not_wait": ("control.c", r"return finished == posted;", "return finished <= posted;", ["control", "model"]),
    "drain_waits_for_ever": ("control.c", r"if \(passed >= within_ns\) return FLAT_TIMED_OUT;", "if (passed >= within_ns && within_ns > 5) return FLAT_TIMED_OUT;", ["control"]),
    "stop_is_a_drain": ("control.c", r"return settle\(engine, ENGINE_STOPPED, within_ns\);", "return settle(engine, ENGINE_DRAINING, within_ns);", ["control", "model"]),
    "resume_after_the_end": ("control.c", r"state != ENGINE_OPEN && state != ENGINE_ENDING && ", "state != ENGINE_OPEN && ", ["worker:until_the_engine_ends"]),
    "stuck_worker_not_named": ("control.c", r"if \(one\.run == NULL && one\.waiting == 0\) continue;", "if (one.run == NULL) continue;", ["control"]),
    "stuck_more_than_there_is_room": ("control.c", r"if \(found < capacity\) stuck\[found\] = one;", "if (stuck != NULL) stuck[found] = one;", ["control:what_is_stuck"]),
}


def copied(fault, source, work):
    """A copy of what the tests are linked with, with the fault in it."""
    shutil.rmtree(work, ignore_errors=True)
    for room in ("core", "os", "engine"):
        shutil.copytree(os.path.join(source, "src", room), os.path.join(work, "src", room))
    os.makedirs(os.path.join(work, "tests", "engine"))
    for name in [*PARTS, *[part.replace(".c", ".h") for part in PARTS]]:
        shutil.copy(os.path.join(source, "tests", "engine", name), os.path.join(work, "tests", "engine", name))
    file, pattern, replacement, _ = FAULTS[fault]
    plant(fault, os.path.join(work, "src", "engine", file), pattern, replacement, "src/engine/" + file)


def compiled(unit, arguments):
    subprocess.run([arguments.compiler, "-std=c11", "-O1", "-w", "-fPIC", "-I", os.path.join(arguments.source, "include"),
                    "-c", unit, "-o", unit + ".o"], check=True)
    return unit + ".o"


def engine_of(arguments):
    """What is compiled anew: of a fault in a .c file that file, and of one in a header all that may include it."""
    file = FAULTS[arguments.fault][0]
    folder = os.path.join(arguments.work, "src", "engine")
    units = [os.path.join(folder, file)] if file.endswith(".c") else sorted(glob.glob(os.path.join(folder, "*.c")))
    return [compiled(unit, arguments) for unit in units]


def program_of(test, objects, engine, arguments):
    """The test linked with what has the fault, which comes before the library's own."""
    made = os.path.join(arguments.work, "engine_%s_test" % test)
    own = objects
    if not FAULTS[arguments.fault][0].endswith(".c"):
        names = {os.path.basename(path) for path in objects}
        own = [path for path in objects if os.path.basename(path)[:-2] not in PARTS]
        own += [compiled(os.path.join(arguments.work, "tests", "engine", part), arguments)
                for part in PARTS if part + ".o" in names]
    subprocess.run([arguments.linker, *own, *engine, *arguments.libraries, "-pthread", "-o", made], check=True)
    return made


def outcome(place, engine, arguments):
    test, _, words = place.partition(":")
    objects = dict(pair.split("=", 1) for pair in arguments.test)["engine_%s_test" % test].split(":")
    return passes(program_of(test, objects, engine, arguments), "--gtest_filter=*%s*" % words, scale="0.3",
                  seconds=SECONDS)


def main():
    arguments = arguments_of(__doc__, FAULTS, ("source", "work", "compiler", "linker"), lists=("test", "libraries"))
    copied(arguments.fault, arguments.source, arguments.work)
    engine = engine_of(arguments)
    return verdict(arguments.fault, [(place, outcome(place, engine, arguments)) for place in FAULTS[arguments.fault][3]])


if __name__ == "__main__":
    sys.exit(main())
