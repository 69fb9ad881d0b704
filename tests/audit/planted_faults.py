#!/usr/bin/env python3
"""Plants one fault in a copy of one file of src/audit or src/preload, and demands that a test fails.

    planted_faults.py --list
    planted_faults.py --fault NAME --source ROOT --work FOLDER --cc CC --cxx CXX --program FLATLINE --behaviours BINARIES
                      --preload OBJECT... --audit-test OBJECT... --preload-test OBJECT... --library OBJECT...
                      --libraries LIBRARY...

One file is compiled and one test linked with it: audit_test, preload_test, or libflatline-audit.so, under which a program
of behaviours_test.py runs. The faults `none...` are the controls, with which the tests must pass. A fault whose place is
no longer in the source is an error, never a pass: change its pattern along with the code. Exit status 0: seen (control:
passed).
"""
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True  # keeps the source folder clean
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from planting import CONTROL, arguments_of, passes, plant, verdict

AUDIT, PRELOAD, PROGRAM = "audit_test", "preload_test", "behaviours"

# name: (file below src, pattern, replacement, the tests that must see it)
FAULTS = {
    CONTROL: ("audit/evidence.cpp", r"\A", "", "-auditor.*:kernel_events.*"),
    CONTROL + "_of_the_preload": ("preload/stacks.c", r"\A", "", "*"),
    CONTROL + "_of_the_library": ("audit/calls.c", r"\A", "", "EveryCallIsCounted.test_that_fails"),

    "what_was_not_timed_is_told": ("audit/evidence.cpp", r"evidence\.own = evidence\.preempted = evidence\.blocked = 0;", "",
                                   "evidence.of_a_call_that_was_not_timed*"),
    "calls_that_were_not_timed_have_a_curve": ("audit/slow_calls.cpp", r"count\(call\.operation, call\.stack, call\.size, evidence\.duration\);",
                                               "count(call.operation, call.stack, call.size, evidence.duration);\n"
                                               "        count_duration(call);",
                                               "analysis.gives_calls_that_were_not_timed*"),
    "faults_are_the_first_threads": ("audit/slow_calls.cpp", r"first_serial_\.try_emplace\(entry\.thread, serial\);", ";",
                                     "analysis.gives_calls_that_were_not_timed*"),
    "a_full_segment_is_written_beyond": ("audit/writer.c", r"AUDIT_SEGMENT_RECORDS;", "AUDIT_SEGMENT_RECORDS + 1;",
                                         "auditor.has_all_calls_of_a_thread*"),
    "a_child_writes_where_its_parent_does": ("audit/writer.c", r"if \(mine->image != NO_PROCESS\) leave_parent\(mine\);", "",
                                             "auditor.has_the_calls_of_child*"),
    "a_child_is_taken_for_its_parent": ("preload/this_process.c", r"return madvise\(&this_process, [^;]*;", "return true;",
                                        "this_process.*"),
    "where_the_kernel_empties_no_page_a_fork_is_not_seen": ("preload/this_process.c", r"\(void\)pthread_atfork\([^;]*;", "",
                                                            "this_process.*"),
    "every_segment_is_the_first_threads": ("audit/writer.c", r"segment->owner, &free_one, owner, false",
                                           "segment->owner, &free_one, (uint64_t)1, false",
                                           "auditor.has_or_counts_all_calls_at_full_speed"),
    "a_slot_keeps_the_counts_of_another_thread": ("audit/writer.c", r"slot->calls = slot->dropped = 0;", "",
                                                  "auditor.has_or_counts_all_calls_of_more*"),
    "calls_without_a_slot_are_not_counted": ("audit/writer.c", r"fetch_add\(&audit_shared->unattached, 1",
                                             "fetch_add(&audit_shared->unattached, 0", "auditor.counts*slot"),
    "a_thread_attaches_when_it_ends": ("audit/calls.c", r"return UNLIKELY\(block == NULL\) && ", "return false && ",
                                       "TheProgramDoesWhatItDoesWithout.test_its_memory_where_threads_come_and_go"),
    "threads_share_a_serial_number": ("audit/writer.c", r"__atomic_add_fetch\(&audit_shared->next_serial, 1",
                                      "__atomic_add_fetch(&audit_shared->next_serial, 0", "auditor.has_the_calls_of_child*"),
    "threads_end_before_their_last_calls": ("audit/writer.c", r"AUDIT_SLOT_ENDING, __ATOMIC_RELEASE",
                                            "AUDIT_SLOT_ENDED, __ATOMIC_RELEASE); mine->image = NO_PROCESS; close_segment(mine",
                                            "auditor.has_the_calls_that_other_destructors*"),

    "records_are_taken_twice": ("audit/auditor.cpp", r"taken_\[number\] = std::max\(count, taken_\[number\]\);", "",
                                "auditor.has_all_calls*"),
    "the_rest_of_a_closed_segment_is_lost": ("audit/auditor.cpp", r"if \(!closed\) return;", "",
                                             "auditor.has_or_counts_all_calls_at_full_speed:auditor.has_all_calls*"),
    "the_last_round_is_not_taken": ("audit/auditor.cpp", r"for \(int i = 0; i < 2; i\+\+\) take_round\(\);", "",
                                    "auditor.*"),
    "threads_are_not_written_at_the_end": ("audit/auditor.cpp", r"state_of\(slot\) >= AUDIT_SLOT_LIVE\) put_thread",
                                           "state_of(slot) > AUDIT_SLOT_ENDED) put_thread", "auditor.has_all_calls*"),
    "slots_of_ended_threads_are_kept": ("audit/auditor.cpp", r"if \(gone\[i\]\) __atomic_store_n[^;]*;", "(void)gone;",
                                        "auditor.has_or_counts_all_calls_of_more*"),
    "processes_are_known_by_numbers_of_their_own": ("audit/writer.c", r"is_audits && readlink", "false && readlink", "auditor.knows*"),
    "any_number_is_looked_for": ("audit/auditor.cpp", r"has_thread\(slot\) && slot\.process > 0", "has_thread(slot)",
                                 "auditor.looks*"),
    "zombies_keep_their_slots": ("audit/auditor.cpp", r" \|\| is_zombie\(process\)", "", "auditor.frees_the_slots_of_pro*"),
    "a_process_ends_with_its_first_thread": ("audit/auditor.cpp", r" && \(threads == \"0\" \|\| threads == \"1\"\)", "",
                                             "auditor.keeps*"),
    "threads_that_end_without_a_word_keep_their_slots": ("audit/auditor.cpp", r" \|\| has_ended\(slot\)", "",
                                                         "auditor.frees_the_slots_of_thr*"),

    "events_after_the_calls_that_they_are_in": ("audit/history.cpp", r"merged\.tell\(horizon\);",
                                                "merged.tell(UINT64_MAX);", "history.has_events_before*"),
    "what_waits_for_the_next_round_is_forgotten": ("audit/history.cpp", r"std::erase_if\(threads_, ",
                                                   "threads_.clear(), std::erase_if(threads_, ", "history.*"),
    "threads_one_after_another": ("audit/history.cpp", r"thread\.time\(\) <= others\)", "thread.time() <= horizon)", "history.agrees*"),
    "details_go_to_the_next_call": ("audit/history.cpp", r"if \(detail_begin_ != begin\) forget_details\(begin\);", "",
                                    "history.forgets*"),
    "long_calls_are_cut_at_32_bits": ("audit/history.cpp", r"duration_ != 0 \? duration_ : ", "",
                                      "history.has_each_detail*"),
    "entries_that_were_cut_are_believed": ("audit/history.cpp", r" && words\[i \+ 1\] <= words\.size\(\) - i - 2", "",
                                           "history.knows*"),

    "preemption_within_a_fault_is_a_fault": ("audit/evidence.cpp", r"if \(state\.preempted\)",
                                             "if (state.preempted && !state.faults)", "evidence.of_a_thread_that_was*"),
    "a_futex_is_a_system_call": ("audit/evidence.cpp", r"number == SYS_futex \|\| ", "", "evidence.has_each*"),
    "waiting_within_a_call_is_blocked": ("audit/evidence.cpp", r"else if \(state\.system_call >= 0 && is_lock",
                                         "else if (state.blocked) evidence.blocked += ticks; "
                                         "else if (state.system_call >= 0 && is_lock", "evidence.of_a_thread_that_waits*"),
    "telling_is_not_subtracted": ("audit/evidence.cpp", r"evidence\.duration -= ticks;", "", "evidence.is_without*"),
    "telling_is_subtracted_from_more_than_there_is": ("audit/evidence.cpp",
                                                      r"std::min\(evidence\.own, evidence\.system_call_count \* cost\.told\)",
                                                      "evidence.system_call_count * cost.told", "evidence.*"),
    "system_calls_never_end": ("audit/evidence.cpp", r"change\.kind == Change::call_begins \? ", "true ? ", "evidence.*"),
    "a_call_goes_on_beyond_its_end": ("audit/evidence.cpp", r"std::clamp\(change\.time, at, call\.end\(\)\)",
                                      "std::max(change.time, at)", "evidence.*"),
    "faults_by_counts_are_own_work": ("audit/evidence.cpp", r"major > 0 \|\| most_of_usual \* expected >= evidence\.own",
                                      "false", "evidence.by_counts*"),

    "calls_below_the_limit_are_slow": ("audit/slow_calls.cpp", r"if \(evidence\.duration < limits_\.over\) return;", "",
                                       "analysis.subtracts*"),
    "events_before_a_call_belong_to_it": ("audit/slow_calls.cpp", r"take_earlier\(\*last_watched_, call\.begin\);", "",
                                          "analysis.takes_the_events*:analysis.charges_a_fault*"),
    "freed_blocks_are_touched": ("audit/slow_calls.cpp", r"last_blocks_->remove\(call\.block, call\.begin\);", "",
                                 "analysis.charges_no_fault*"),
    "moved_blocks_are_touched_where_they_were": ("audit/slow_calls.cpp", r"if \(moved\) ", "if (false) ",
                                                 "analysis.charges_no_fault*"),
    "blocks_that_could_not_be_moved_are_gone": ("audit/slow_calls.cpp", r"\(call\.block != 0 \|\| call\.size == 0\)",
                                                "true", "analysis.follows*"),
    "blocks_of_all_processes_are_one": ("audit/slow_calls.cpp", r"blocks_\[event\.process\]", "blocks_[1]",
                                        "analysis.charges_no_fault*"),

    "trims_are_frees": ("audit/slow_calls.cpp", r"if \(kind == CallKind::trims\) return;\n    const bool takes",
                        "const bool takes", "analysis.has_the_slow*"),
    "dropped_calls_are_no_calls": ("audit/analysis.cpp", r"findings_\.calls \+= unattached;", "", "analysis.counts*"),
    "causes_that_cannot_be_told_are_promised": ("audit/analysis.cpp", r"by_dispatch\s*\? dispatch", "by_dispatch ? true",
                                                "analysis.names*"),
    "stalls_in_any_order": ("audit/analysis.cpp", r"a\.total_ns > b\.total_ns", "a.total_ns < b.total_ns",
                            "analysis.orders*"),

    "faults_end_where_they_begin": ("audit/kernel_events.cpp", r"if \(ring->identities\[i\] ==",
                                    "if (i == 0 && ring->identities[i] ==", "kernel_events.*"),
    "preempted_and_blocked_are_the_same": ("audit/kernel_events.cpp", r"preempted \? KernelEventKind::preempted : "
                                           r"KernelEventKind::blocked", "KernelEventKind::preempted", "kernel_events.*"),
    "events_are_told_again": ("audit/kernel_events.cpp", r"__atomic_store_n\(&ring->head->data_tail[^;]*;", "",
                              "kernel_events.*"),
    "children_are_not_watched": ("audit/kernel_events.cpp", r"attributes\.inherit = 1;", "", "kernel_events.*"),

    "damage_is_not_seen": ("audit/recording.cpp", r"ZSTD_c_checksumFlag, 1", "ZSTD_c_checksumFlag, 0", "recording.whose*"),
    "times_are_not_put_together": ("audit/columns.cpp", r"time \+= record\.words\[0\] >> AUDIT_OPERATION_BITS;",
                                   "time = record.words[0] >> AUDIT_OPERATION_BITS;", "recording.gives*"),
    "percentiles_from_below": ("audit/durations.cpp", r"below >= rank", "below > rank", "durations.have*"),
    "the_same_bytes_are_lost": ("audit/columns.cpp", r"Squares squares = same;", "Squares squares{};", "recording.gives*"),
    "columns_stand_for_other_bytes": ("audit/columns.cpp", r"void load\((.*?)byte_of_\[i\]", r"void load(\1i", "recording.gives*"),
    "the_rest_is_no_column": ("audit/columns.cpp", r"audit_record record = last;\n", "audit_record record = records[0];\n",
                              "recording.gives*"),
    "columns_of_another_size_are_believed": ("audit/columns.cpp", r" \|\| packed\.size\(\) != packed_size\(head\)",
                                             " || packed.size() < packed_size(head)", "recording.has_no*"),
    "a_later_block_is_freed": ("audit/live_blocks.cpp", r" \|\| node\.block\.born > begin", "", "live_blocks.that*"),
    "a_later_large_block_is_freed": ("audit/live_blocks.cpp", r" \|\| found->second\.born > begin", "", "live_blocks.that*"),
    "blocks_end_at_their_page": ("audit/live_blocks.cpp", r"number <= last; number", "number <= first; number",
                                 "live_blocks.*"),
    "freed_blocks_stay_in_their_second_page": ("audit/live_blocks.cpp", r"\{number, number \+ 1\}", "{number}",
                                               "live_blocks.of_two*"),
    "blocks_of_the_first_question_alone": ("audit/live_blocks.cpp", r"asked\.questions -= count;", "asked.questions = 0;",
                                           "live_blocks.are_told*:live_blocks.agree*"),
    "larger_blocks_are_found_nowhere": ("audit/live_blocks.cpp", r"larger_like\(block\.start\)\+\+;", "",
                                        "live_blocks.take*"),
    "questions_are_not_announced": ("audit/slow_calls.cpp", r"blocks_\[process\]\.expect\(event\.address\);", ";",
                                    "analysis.charges_a_*"),
    "stacks_are_always_whole": ("audit/analysis.cpp", r"stacks_ == Stacks::sites && has_enough", "false && has_enough", "analysis.has_the_callers*"),
    "stacks_end_before_their_site": ("audit/analysis.cpp", r"symbols::is_the_programs_own\) >= callers_of_a_site",
                                     "symbols::is_the_programs_own) >= 0", "analysis.has_the_callers*"),
    "children_have_nothing_of_their_parents": ("audit/slow_calls.cpp", r"child->second\.inherit\(parent->second\);", ";",
                                               "analysis.charges_a_*"),
    "grandchildren_are_not_announced": ("audit/slow_calls.cpp", r"process = parent->second;", "break;",
                                        "analysis.charges_a_*"),
    "another_program_has_the_blocks_before": ("audit/slow_calls.cpp", r"blocks->second\.clear\(\);", ";",
                                              "analysis.charges_no*"),
    "parents_wait_for_their_childrens_questions": ("audit/live_blocks.cpp", r"parent\.answer\([^;]*;", "",
                                                   "live_blocks.are_those*"),
    "new_threads_are_new_processes": ("audit/kernel_events.cpp",
                                      r"if \(static_cast<std::uint64_t>\(event\.process\) != event\.address\)", "",
                                      "kernel_events.*"),
    "a_new_name_is_a_new_program": ("audit/kernel_events.cpp", r"if \(\(head\.misc & PERF_RECORD_MISC_COMM_EXEC\) != 0\)", "",
                                    "kernel_events.*"),
    "some_first_touches_are_told_of_attributed_calls": ("audit/slow_calls.cpp", r"if \(limits_\.all_calls\) announce", "announce",
                                                        "analysis.tells_no*"),
    "damage_among_the_records_is_not_said": ("audit/history.cpp", r"whole_ = reader_\.is_whole\(\); // damage", "// damage",
                                             "history.is_not_whole*"),
    "cut_recordings_have_another_clock": ("audit/history.cpp", r"clocks\.size\(\) < 2 && start_\.contains", "false && start_.contains",
                                          "history.has_its_times*"),
    "another_format_is_no_recording": ("audit/recording.cpp", r"std::prev\(mark\.end\(\)\)", "mark.end()",
                                       "recording.of_another*"),
    "bursts_never_end": ("audit/first_touch.cpp", r" && since_ < burst_ends_ \+ apart_", "", "first_touch.of_one*"),
    "preemption_is_first_touch": ("audit/first_touch.cpp", r"away_ \+= event\.time - out_since_;", "", "first_touch.is*"),

    "entries_that_look_alike_are_one": ("preload/interned.c", r"if \(entry\[i\] != word_of\(of, i\)\) return false;", "",
                                        "interned.*"),
    "any_number_is_an_entry": ("preload/interned.c", r"\*count <= INTERNED_LONGEST && \*count < INTERNED_WORDS - entry",
                               "true", "interned.knows*"),
    "no_words_are_spared": ("preload/interned.c", r"count \+ 2 \+ spare >", "count + 2 >", "interned.spares*:stack_tree.keeps*"),
    "what_spares_words_is_refused": ("preload/interned.c", r"spare == 0 \? refuse\(table\) : 0", "refuse(table)",
                                     "interned.spares*"),
    "callers_are_not_shared": ("preload/stack_tree.c", r"size_t i = count; i-- > 0;", "size_t i = 0; i < count; i++",
                               "stack_tree.*"),
    "a_stack_without_room_has_none": ("preload/stack_tree.c", r"do stack = put_above.*?stack != 0\);", "(void)frames[--i];",
                                      "stack_tree.keeps*"),
    "shortened_stacks_are_not_counted": ("preload/stack_tree.c", r"\(void\)__atomic_fetch_add\(&table->shortened.*?;", "",
                                         "stack_tree.keeps*"),
    "stacks_of_an_overwritten_table_never_end": ("preload/stack_tree.c", r"count < UNWIND_DEPTH && \(word",
                                                 "count < 2 * UNWIND_DEPTH && (word", "stack_tree.knows*"),
    "callers_are_forgotten": ("audit/history.cpp", r"stack = stack_callers\(word\);", "stack = 0;", "history.knows*"),
    "frames_of_run_time_libraries_are_looked_up": ("audit/analysis.cpp", r"of_run_time \|\| !symbols::", "true || !symbols::",
                                                   "analysis.has_frames*"),
    "stacks_without_a_site_are_empty": ("audit/analysis.cpp", r"add_frames\(stack, history_\.frames\(number\), true\);", "",
                                        "analysis.has_frames*"),
    "a_limit_of_file_sizes_is_no_memory": ("preload/session_memory.cpp", r"error == EFBIG", "false", "session_memory.*"),
    "a_larger_block_is_empty": ("preload/next.c", r"if \(\*moved != NULL && is_first\) memmove", "if (false) memmove", "first_memory.*"),
    "all_blocks_are_of_the_first_memory": ("preload/next.c", r"is_ready && !is_first", "false", "first_memory.*"),
    "a_lost_race_puts_an_entry_twice": ("preload/interned.c", r"if \(holds\(table, slot, tag, of\)\)",
                                        "if (entry == 0 && slot != 0 && false)", "interned.*"),

    "frames_outside_of_the_caller": ("preload/unwind.c", r"if \(!of->found\) return _URC_NO_REASON;", "",
                                     "stack.begins*:stack.of_recursion*"),
    "the_outermost_of_equal_frames": ("preload/unwind.c", r"of->found = true;", "of->found = true, of->count = 0;",
                                      "stack.of_an_allocator*"),
    "a_signals_place_is_a_return_address": ("preload/unwind.c", r"before_instruction != 0 \? 1 : 0",
                                            "before_instruction != 0 ? 0 : 1", "stack.*"),
    "addresses_in_no_file_are_offsets": ("preload/stacks.c", r"return FRAME_ABSOLUTE \| address;", "return address;",
                                         "stack.ends*"),
    "finding_a_stack_changes_errno": ("preload/stacks.c", r"    errno = before;\n    return stack;",
                                      "    errno = 1;\n    return stack;", "stack.begins*"),

    "the_rest_of_a_stack_is_unwound_again": ("preload/stack_cache.c", r"of->met = slot != 0", "of->met = false && slot != 0",
                                             "*unwinds_no_frame_further_out*"),
    "callers_that_have_changed_are_the_last_ones": ("preload/stack_cache.c", r"of->at \+ 1 >= of->stands_from &&", "",
                                                    "stack_cache*"),
    "what_was_cut_off_a_stack_is_not_there": ("preload/stack_cache.c", r"return last->count < UNWIND_DEPTH \|\| [^;]*;",
                                              "return true;", "stack_cache*"),
    "calls_behind_an_event_are_told_before_it": ("audit/history.cpp", r"std::min\(others, before_next_event\(\)\)", "others",
                                                 "history.*:analysis.*"),
    "calls_of_a_thread_are_told_before_those_of_others": ("audit/history.cpp", r"std::min\(others, before_next_event\(\)\)",
                                                          "before_next_event()", "history.*:analysis.*"),
    "details_are_calls": ("audit/history.cpp", r"return !is_call\(audit_operation_of\(&record\)\) \|\|", "return", "history.*"),
    "slow_calls_among_fast_ones_are_not_kept": ("audit/slow_calls.cpp", r"limits_\.all_calls && duration < limits_\.over",
                                                "limits_.all_calls", "analysis.*"),
    "few_stacks_are_at_hand": ("preload/stack_cache.c", r"entries == 1u << STACK_CACHE_BITS", "true",
                               "*has_most_stacks_of_4000*"),
    "half_of_the_stacks_are_at_hand": ("preload/stack_cache.c", r"entries == 1u << STACK_CACHE_BITS\) return;\n.*?\+ 2\);", "entries >= 4096) return; have_entries(cache, (unsigned)__builtin_ctzll(entries) + 1);",
                                       "*has_most_stacks_of_4000*"),
    "a_place_has_one_entry": ("preload/stack_cache.c", r"\(size_t\)\(place->entry - cache->entries\) \^ 1",
                              "(size_t)(place->entry - cache->entries)", "*has_most_stacks_of_4000*"),
    "what_was_there_before_the_cache_grew_stays": ("preload/stack_cache.c", r"(key_and_stack != 0) && stack_entry_of[^;]*;", r"\1;",
                                                   "*has_most_stacks_of_4000*"),
    "a_proved_stack_is_unwound": ("preload/stack_cache.c", r"if \(entry->proof == 0 \|\|", "if (true ||",
                                  "*does_not_unwind_a_slow_call_again"),
    "another_callers_stack_is_proved": ("preload/stack_cache.c", r"!= word\[2 \* i \+ 1\]\) return false", "== 0) return false",
                                        "*of_another_caller_further_out"),
    "only_the_nearest_caller_is_proved": ("preload/stack_cache.c", r"const size_t count = \*word & [^;]*;(.*?)i < count; i\+\+",
                                          r"const size_t count = *word & 0xfffff;\1i < 1; i++", "*of_another_caller_further_out"),
    "a_threads_own_stack_is_not_known": ("preload/stack_cache.c", r"learn_own_stack\(cache, &found\);", ";",
                                         "*slow_call_of_another_thread_again"),
    "the_kernel_is_not_asked_for_a_threads_stack": ("preload/stack_cache.c", r"&& !cache->asked_for_begin\)", "&& false)",
                                                    "*below_a_large_frame"),
    "any_stack_is_taken_to_stay": ("preload/stack_cache.c", r"is_between\(found->slots\[i\], cache->begin, cache->end\) &&", "",
                                   "*on_a_stack_that_is_not_the_threads"),
    "proofs_that_were_written_over_are_read": ("preload/stack_cache.c", r"if \(\*word\+\+ != head_of\(key, count\)\)",
                                               "if (*word++ == 0)", "*after_proofs_were_written_over"),
    "callers_of_a_wrapper_are_one": ("preload/stack_cache.c", r"= cache->proofs != NULL && stands\(cache, found, 1\);", "= false;",
                                     "*tells_the_callers_of_a_wrapper_apart"),
    "callers_of_a_wrapper_are_two": ("preload/stack_cache.c", r"place->key \^ \(outer[^;]*;", "place->key ^ 1);",
                                     "*tells_the_callers_of_a_wrapper_apart"),
    "contents_of_a_frame_are_callers": ("preload/stack_cache.c", r"fill\(cache, place, found, frame, false, stack\);",
                                        "fill(cache, place, found, frame, known, stack);", "*takes_no_contents*"),
    "a_slow_call_is_unwound_each_time": ("audit/calls.c", r"(find_stack\(mine, &place, caller, frame, duration)",
                                         r"place.entry->proof = 0, \1", "ASlowCall.test_from_the_same_place_is_not_unwound_again"),
    "a_slow_call_has_any_stack_of_its_place": ("audit/calls.c", r"frame, duration >= mine->over\)", "frame, false)",
                                               "ASlowCall.test_by_another_caller_further_out_is_unwound_and_told_with_its_own_stack"),

    "programs_take_a_kept_signal": ("preload/signals.c", r"if \(is_kept\(number\)\) \{\n        const",
                                    "if (false) {\n        const", "kept_signals.reach*"),
    "a_kept_signal_is_blocked": ("preload/signals.c", r"signals_never_kept\(set, &room\), old\);\n\}\n\n/\* Contexts",
                                 "set, old);\n}\n\n/* Contexts", "kept_signals.are_never*"),
    "a_kept_signal_is_blocked_while_a_call_waits": ("preload/signals.c", r"next_sigsuspend\(signals_never_kept\(set, &room\)\)",
                                                    "next_sigsuspend(set)", "kept_signals.are_not_blocked_in*"),
    "a_kept_signal_is_blocked_while_files_are_waited_for": ("preload/masked_waits.c", r"next_##name changed", "next_##name arguments",
                                                            "kept_signals.are_not_blocked_in*"),
    "a_kept_signal_is_in_a_mask_of_32": ("preload/signals.c", r"mask & \(int\)~\(uint32_t\)signals_kept_mask\(\)", "mask",
                                         "kept_signals.are_not_blocked_by_the*"),
    "a_kept_signal_is_held": ("preload/signals.c", r"handler == SIG_HOLD \? [^:]*: ", "", "kept_signals.are_not_blocked_by_the*"),
    "a_kept_signal_is_blocked_in_a_context": ("preload/signals.c", r"without_kept_in\(to\);", "",
                                              "kept_signals.are_not_blocked_by_con*"),
    "a_kept_signal_stays_blocked": ("preload/signals.c", r"signals_unblock\(\); /\*", "/*", "kept_signals.are_unblocked_before*"),
    "a_handlers_mask_is_forgotten": ("preload/signals.c", r"\(void\)syscall\(SYS_rt_sigprocmask, SIG_BLOCK, [^;]*;", "",
                                     "kept_signals.that_are_passed*"),
    "a_handler_that_is_passed_on_to_stays": ("preload/signals.c", r"\(own\.sa_flags & \(int\)SA_RESETHAND\) != 0", "false",
                                             "kept_signals.are_passed_on_once*"),
    "waits_always_go_on": ("preload/signals.c", r"\(fails \? 0 : SA_RESTART\)", "SA_RESTART", "kept_signals.interrupt*"),
    "a_handlers_return_blocks_the_signal": ("preload/system_calls.c", r"clean_returned_mask\(r\[REG_RSP\]\);", "",
                                            "system_calls.are_told_behind*"),
    "a_kept_signal_is_blocked_in_handlers": ("preload/signals.c", r"without_kept\(&changed\.sa_mask\);", "",
                                             "kept_signals.are_not_blocked*"),
    "ignored_signals_end_the_program": ("preload/signals.c", r"own\.sa_handler == SIG_IGN && info->si_code <= 0",
                                        "false", "kept_signals.that*"),
    "signals_do_not_end_the_program": ("preload/signals.c", r"\(void\)syscall\(SYS_tgkill,[^;]*;", "",
                                       "kept_signals.end*"),

    "masks_are_lost_behind_a_told_call": ("preload/system_calls.c", r"memcpy\(&context->uc_sigmask, &changed",
                                          "memcpy(&mask, &changed", "system_calls.change*:system_calls.have*"),
    "told_calls_are_made_twice": ("preload/system_calls.c", r"const long result = make\(context, &call\);",
                                  "const long result = (make(context, &call), make(context, &call));", "system_calls.have*"),
    "the_sixth_argument_is_lost": ("preload/system_calls.c", r"r\[REG_R10\],", "0,", "system_calls.*"),
    "watching_ends_with_the_first_call": ("preload/system_calls.c", r"(tell\(told_after, &call\);\n    errno = before;\n)"
                                          r"    system_calls_watch\(\);\n\}", r"\1}", "system_calls.are_told*"),
    "watching_ends_with_a_handler": ("preload/system_calls.c", r"errno = before;\n        system_calls_watch\(\);",
                                     "errno = before;", "system_calls.go_on*"),
    "telling_changes_errno": ("preload/system_calls.c", r"    errno = before;\n    system_calls_watch\(\);\n\}",
                              "    errno = 5;\n    system_calls_watch();\n}", "system_calls.keep*"),

    "calloc_is_not_counted": ("audit/calls.c", r"void \*block = next\.calloc\(count, size\);",
                              "t.recorded = audit_mine.inside = false; void *block = next.calloc(count, size);",
                              "EveryCallIsCounted.test_of_all_functions_of_the_family"),
    "calls_within_calls_are_counted": ("audit/calls.c", r"    mine->inside = true;\n    if \(UNLIKELY\(!audit_is_att",
                                       "    if (UNLIKELY(!audit_is_att", "EveryCallIsCounted.test_of_all_operators"),
    "libraries_that_are_bound_deeply_are_not_seen": ("audit/calls.c", r"if \(may_reach_past\(&libc\)\) ", "if (false) ",
                                                     "EveryCallIsCounted.test_of_a_library_that_is_bound_to_itself_and_the_c_library"),
    "masks_of_libraries_that_are_bound_deeply_are_not_seen": (
        "audit/calls.c", r"signals_reach_past\(&libc\);", "",
        "EveryCallIsCounted.test_of_a_library_that_is_bound_to_itself_and_the_c_library"),
    "system_calls_are_told_when_a_thread_ends": ("audit/writer.c", r"mine->watches = false;\n", "",
                                                 "TheProgramDoesWhatItDoesWithout.test_what_threads_free_with_all_signals_blocked"),
    "calls_of_the_parent_are_the_childs_too": (
        "audit/calls.c", r"    if \(UNLIKELY\(!audit_is_attached\(mine\)\)\) \{\n        forget_call\(mine\);\n        return;\n    \}\n", "",
        "EveryCallIsCounted.test_of_a_child_that_is_forked_within_a_call"),
    "calls_that_throw_never_end": ("audit/calls.c", r"if \(!call->ended\)\n\s*end_call", "if (false) end_call",
                                   "EveryCallIsCounted.test_that_throws"),
}


def test_of(fault):
    """What must see a fault."""
    if ".test_" in FAULTS[fault][3]:  # one of behaviours_test.py
        return PROGRAM
    return PRELOAD if FAULTS[fault][0].startswith("preload/") else AUDIT


def compiled(fault, arguments):
    """The object of the copy with the fault in it, whose headers come from its own folder of src."""
    file, pattern, replacement, _ = FAULTS[fault]
    os.makedirs(arguments.work, exist_ok=True)
    copy, root = os.path.join(arguments.work, os.path.basename(file)), os.path.join(arguments.source, "src")
    shutil.copyfile(os.path.join(root, file), copy)
    with open(copy, encoding="utf-8") as opened:
        text = opened.read().replace('#include "../', '#include "')
    with open(copy, "w", encoding="utf-8") as opened:
        opened.write(text)
    plant(fault, copy, pattern, replacement, "src/" + file)
    made = os.path.splitext(copy)[0] + ".o"
    cxx = file.endswith(".cpp")
    compiler = [arguments.cxx, "-std=c++20", "-O0"] if cxx else [arguments.cc, "-std=c17", "-O1"]
    subprocess.run([*compiler, "-fPIC", "-w", "-DNDEBUG", "-fno-builtin", "-fexceptions", "-fvisibility=hidden",
                    "-iquote", os.path.join(root, os.path.dirname(file)), "-I", root,
                    "-I", os.path.join(arguments.source, "include"), "-c", copy, "-o", made], check=True)
    return made


def without(objects, file):
    """The objects, save that of a source file."""
    return [path for path in objects if os.path.basename(path) != os.path.basename(file) + ".o"]


def passes_in_googletest(test, made, file, filtered, arguments):
    objects = arguments.audit_test if test == AUDIT else arguments.preload_test
    program = os.path.join(arguments.work, test)
    # The linker takes this object instead of the library's copy, because it comes first.
    subprocess.run([arguments.cxx, made, *without([*objects, *arguments.preload], file), *arguments.libraries, "-ldw", "-lelf",
                    "-liberty", "-lfmt", "-lzstd", "-lseccomp", "-pthread", "-ldl", "-o", program], check=True)
    return passes(program, "--gtest_filter=" + filtered)


def passes_as_a_program(made, file, test, arguments):
    for folder in ("bin", "lib"):
        os.makedirs(os.path.join(arguments.work, folder), exist_ok=True)
    flatline = shutil.copy(arguments.program, os.path.join(arguments.work, "bin"))
    library = os.path.join(arguments.work, "lib", "libflatline-audit.so")
    subprocess.run([arguments.cc, "-shared", "-static-libgcc", "-Wl,-Bsymbolic-functions", "-Wl,-z,now", "-Wl,-z,nodelete", made,
                    *without([*arguments.library, *arguments.preload], file), "-ldl", "-o", library], check=True)
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "behaviours", "behaviours_test.py")
    done = subprocess.run([sys.executable, "-B", script, flatline, arguments.behaviours, test], check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    print("  " + done.stdout.splitlines()[-1])
    return done.returncode == 0


def main():
    arguments = arguments_of(__doc__, FAULTS, ("source", "work", "cc", "cxx", "program", "behaviours"),
                             lists=("preload", "audit-test", "preload-test", "library", "libraries"))
    file, *_, filtered = FAULTS[arguments.fault]
    test = test_of(arguments.fault)
    made = compiled(arguments.fault, arguments)
    if test == PROGRAM:
        passed = passes_as_a_program(made, file, filtered, arguments)
    else:
        passed = passes_in_googletest(test, made, file, filtered, arguments)
    return verdict(arguments.fault, [(filtered, passed)])


if __name__ == "__main__":
    sys.exit(main())
