#!/usr/bin/env python3
"""Plants one fault in a copy of src/malloc, makes a library of it, and demands that tests fail which it serves; a fault
of a part that has a test of its own is linked with that one.

    planted_faults.py --list
    planted_faults.py --fault NAME --source ROOT --work FOLDER --compiler CC --linker CXX --tests FOLDER
                      --objects OBJECT... --alone-objects OBJECT... --libraries LIBRARY...

The fault `none` is the control: the sources as they are, with which every test must pass. A change whose name begins so
is no fault, and the tests that it names must pass. A fault whose place is no longer in the source is an error, never a
pass: change its pattern along with the code. Exit status 0: seen (control: passed).
"""
import glob
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True  # leaves the sources' folder unchanged
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from planting import CONTROL, arguments_of, passes, plant, verdict

ALONE = ("runs", "size_class")
WITHIN = ("home",)  # tests that are linked with the malloc and read its tables

# name: (file below src/malloc, pattern, replacement, places in each of which a test must see the fault). A place is a
# part's name; `PART:WORDS` or `PART:WORDS with POLICY`, for a test with these words in its name, under a policy that is
# not `balanced`; `wild:CASE`, for a case of wild_test.py; or `preload`, for preload_test.py.
FAULTS = {
    CONTROL: ("runs.c", r"\A", r"", ["interface", "model", "misuse", "threads", "operators", "neighbours",
                                     "statistics", "surroundings:another", "policy:keeps_of_a_gib",
                                    "policy:is_used_up", "policy:others_have_left", "policy:tables_of_what",
                                     "policy:what_is_kept_is_served", "wild:fork_with_handlers_of_others", "home", "runs",
                                     "size_class", "preload"]),
    CONTROL + "_as_on_amds_processors": ("home.c", r'return __builtin_cpu_is\("amd"\);', r"return true;",
                                         ["home", "threads", "model"]),
    CONTROL + "_as_on_other_processors": ("home.c", r'return __builtin_cpu_is\("amd"\);', r"return false;",
                                          ["home", "threads", "model"]),
    "runs_not_merged_with_the_one_before": ("runs.c", r"head > bounds\.first \?", r"false ?", ["runs"]),
    "dirty_run_not_queued": ("runs.c", r"if \(of\.dirty != 0\) enter_queue", r"if (of.dirty > 1) enter_queue",
                             ["runs"]),
    "dirty_units_not_counted": ("runs.c", r"runs->dirty \+= of\.dirty;", r"runs->dirty++;", ["runs"]),
    "runs_not_merged_with_the_one_behind": ("runs.c", r"after < bounds\.end &&", r"false &&", ["runs"]),
    "runs_merged_beyond_their_bounds": ("runs.c", r"head > bounds\.first \?", r"head > 0 ?", ["runs"]),
    "short_run_taken_for_a_long_one": ("runs.c", r"if \(of->starts == place\) set_starts\(of, 0\);", r"", ["runs"]),
    "end_of_a_short_run_taken_for_a_long_ones": ("runs.c", r"if \(of->ends == place\) of->ends = 0;", r"", ["runs"]),
    "end_of_a_long_run_left_free": ("runs.c", r"of->is_free = is_free;\n", r"of->is_free |= is_free;\n", ["runs"]),
    "units_of_long_runs_written": ("runs.c", r"if \(count >= LONG_RUN\) \{\s*set_starts", r"if (count > LONG_RUN) {\n set_starts",
                                   ["runs"]),
    "trim_goes_on_where_a_run_began_before": ("trim.c", r"behind = first;", r";", ["threads:that_sleeps"]),
    "large_block_stays_live": ("large.c", r"end_large\(page\);", r"", ["misuse"]),
    "tables_of_what_is_free_stay": ("extents.c", r"flat_discard_inside\([^;]*\);", r";", ["policy:tables_of_what"]),
    "tables_of_what_is_used_go": ("space.c", r"i != DIRTY_PAGES \|\| says_clean\(free, page\)", r"true",
                                  ["policy:what_is_kept_is_served"]),
    "more_mapped_than_a_large_block_has": ("pages.c", r"needed = count - before_frontier\(heap\)\.count", r"needed = count + 11",
                                           ["policy:tables_of_what"]),
    "dirty_memory_taken_for_clean": ("runs.c", r"(runs->in\.dirty_bits\[word\]) \|= bits;", r"\1 |= bits & ~1;", ["runs"]),
    "cut_run_keeps_its_end": ("runs.c", r"if \(behind != end\)", r"if (false)", ["runs"]),
    "run_taken_that_may_be_too_short": ("runs.c", r"return list_of\(count \+ [^;]*;", r"return list_of(count);",
                                        ["runs"]),
    "all_that_may_be_at_hand_taken_at_once": ("size_class.c", r"least\(kept / 2, \(uint32_t\)", r"least(kept, (uint32_t)",
                                              ["size_class"]),
    "half_of_what_is_at_hand_given_at_once": ("size_class.c", r"least\(kept / 2, GIVEN_MAX\)", r"(kept / 2)",
                                              ["size_class"]),
    "blocks_returned_together_counted_as_one": ("spans.c", r"\(blocks & \(blocks - 1\)\) == 0 \?", r"true ?",
                                                ["threads:used_again"]),
    "dead_block_freed": ("usual.h", r"UNLIKELY\(!is_live_there\(state, half\)\)", r"false", ["misuse"]),
    "half_a_granule_taken_for_a_start": ("usual.h", r"\|\| UNLIKELY\(half % 2 == 0\)", r"", ["misuse:inside_a_block"]),
    "block_inside_a_slot_freed": ("states.h", r"return \(block_state\)half;", r"return 1;", ["misuse"]),
    "free_leaves_the_block_live": ("usual.h", r"store_state\(state, NO_BLOCK\);", r";", ["misuse"]),
    "block_that_is_held_handed_out": ("usual.h", r"if \(UNLIKELY\(has_block\(state\)\)\)", r"if (UNLIKELY(block == NULL))",
                                      ["home:not_handed_out_twice"]),
    "alloc_leaves_the_block_dead": ("usual.h", r"store_state\(state, live_state_of\(block\)\);", r";", ["interface"]),
    "misaligned_pointer_freed": ("states.h", r" \| offset \* \(SIZE_MAX / HALF \+ 1\)", r"", ["misuse"]),
    "return_never_taken_back": ("cache.c", r"(NULL\) return block;\s*)flat_take_back\(heap, RETURNED_PAGES\);", r"\1",
                                ["home:takes_back"]),
    "mark_of_chunks_lost": ("returned.c", r"if \(!mark\(&owner->marks[^;]*\) return;", r"return;",
                            ["home:takes_back"]),
    "ring_never_read": ("rings.c", r"if \(count != 0\) __atomic_store_n\(&ring->read,", r"if (0) __atomic_store_n(&ring->read,",
                        ["threads:stay_whole"]),
    "ring_longer_than_it_is": ("rings.c", r"now\.end = ring->read_before \+ RING_BLOCKS;\s*if",
                               r"now.end = ring->read_before + 2 * RING_BLOCKS;\n if", ["threads:stay_whole"]),
    "taken_to_the_hand_of_who_goes_on": ("rings.c", r"heap != flat_my_heap && use_of\(heap\) == HEAP_OWNED", r"false",
                                         ["threads:a_trim_changes_nothing"]),
    "ring_of_a_sleeping_thread_not_taken": ("heaps.c", r"taken = flat_take_from_rings\([^;]*;", r"taken = 0;",
                                            ["home:that_sleeps"]),
    "left_heap_takes_nothing_back": ("home.c", r"if \(UNLIKELY\(use_of\(other\) != HEAP_OWNED\)\)", r"if (0)",
                                     ["home:that_has_ended"]),
    "sent_by_the_tree_alone": ("rings.c", r"(bool claim_ring\([^{]*\{)", r"\1 return false;", ["home:until_that_is_full"]),
    "rings_kept_by_who_left": ("rings.c", r"(void flat_leave_rings\([^{]*\{).*?\n\}", r"\1}", ["home:leaves_the_rings"]),
    "sent_under_the_lock_of_who_receives": ("rings.c", r"(sending flat_begin_sending\([^{]*\{)(.*?void flat_end_sending\([^{]*\{)",
                                            r"\1 (void)pthread_mutex_lock(&heap_number(to)->lock);"
                                            r"\2 (void)pthread_mutex_unlock(&heap_number(now->to)->lock);",
                                            ["home:stopped_anywhere"]),
    "block_that_is_held_sent_home": ("home.c", r"if \(UNLIKELY\(has_block\(first\[i\]\.state\)\)\)", r"if (0)",
                                     ["home:holds_is_not_sent"]),
    "block_that_came_home_twice": ("spans.c", r"if \(UNLIKELY\(twice != 0\)\)", r"if (0)", ["home:as_it_comes_home"]),
    "a_thread_that_only_frees_gets_no_heap": ("malloc.c", r"&& flat_has_heap_to_free_to\(\)", r"&& flat_my_heap != NULL",
                                              ["home:only_frees"]),
    "free_bits_handed_out_twice": ("spans.c", r"\*word = bits;", r"", ["model", "interface"]),
    "fresh_blocks_handed_out_twice": ("spans.c", r"span->blocks\.fresh = \(uint16_t\)\([^;]*;", r"",
                                      ["model", "interface"]),
    "dropped_span_keeps_free_bits": ("spans.c", r"(__builtin_ctzll\(words\)\]) = 0;", r"\1 |= 0;", ["model"]),
    "stack_given_back_twice": ("cache.c", r"memmove\(first, first \+ given[^;]*;", r"",
                               ["model", "threads"]),
    "heap_of_a_thread_lost": ("heaps.c", r"(    lock_list\(\);\s*heap->next_left = heaps\.left;\s*)heaps\.left = heap;", r"\1",
                              ["threads:ten_thousand"]),
    "fork_handlers_registered_with_the_first_call": ("heaps.c", r"__attribute__\(\(constructor\(101\)\)\) ", r"",
                                                     ["wild:fork_with_handlers_of_others"]),
    "what_lay_at_hand_elsewhere_used_in_a_child": ("heaps.c", r"\(use_of\(heap\) == HEAP_OWNED\) flat_lose", r"(0) flat_lose",
                                                   ["home:child_of_fork"]),
    "what_the_parents_threads_left_never_settled": ("heaps.c", r"(void flat_settle_after_fork\([^{]*\{).*?\n\}", r"\1}",
                                                    ["wild:fork_and_use_what_threads_left"]),
    "heap_taken_in_the_last_round_of_destructors": ("heaps.c", r"(static void leave\([^{]*\{\s*)has_left = true;", r"\1",
                                                    ["wild:threads_in_turn_with_late_destructors"]),
    "lock_stays_the_parents": ("heaps.c", r"pthread_atfork\(before_fork, after_fork, after_fork_in_child\)",
                               r"pthread_atfork(before_fork, after_fork, NULL)", ["threads:forked"]),
    "calloc_trusts_what_was_used": ("large.c", r"\*zeroed = state == UNIT_CLEAN;", r"*zeroed = true;", ["interface"]),
    "calloc_trusts_pages_that_were_used": ("cache.c", r"\*zeroed = state == UNIT_CLEAN;", r"*zeroed = true;", ["interface"]),
    "realloc_keeps_too_little": ("malloc.c", r"from < to \? from : to", r"(from < to ? from : to) - 1",
                                 ["interface", "model"]),
    "realloc_grows_nothing": ("large.c", r"!flat_runs_extend\([^;]*?bounds\)\) \{", r"false) {",
                              ["interface", "model"]),
    "alignment_of_runs_forgotten": ("runs.c", r"-\(number \+ alignment\.bias\) & \(alignment\.to - 1\)", r"0 * number",
                                    ["runs"]),
    "alignment_of_new_pages_forgotten": ("extents.c", r"-\(from \+ alignment\.bias\) & \(alignment\.to - 1\)", r"0 * from",
                                         ["interface"]),
    "clean_part_ends_too_late": ("runs.c", r"next_unit\(runs, from, end, true\) - from", r"end - from", ["runs"]),
    "first_dirty_unit_forgotten": ("runs.c", r"before\.dirty != 0 \? before\.first_dirty : behind\.first_dirty",
                                   r"before.first_dirty", ["runs"]),
    "alignment_of_pages_forgotten": ("large.c", r"-page & \(align - 1\)", r"0 * page", ["interface"]),
    "overflow_not_looked_for": ("malloc.c", r"if \(__builtin_mul_overflow\(count, size, &bytes\)\)",
                                r"bytes = count * size; if (false)", ["interface"]),
    "errno_changed_by_free": ("malloc.c", r"(FLAT_DOUBLE_FREE, caller\);\s*\}\s*)errno = error;",
                              r"\1errno = 1;", ["interface"]),
    "more_kept_than_the_policy_says": ("policy.c", r"difference\(dirty, kept \+ ", r"difference(dirty, 64 * kept + ",
                                       ["policy:keeps_of_a_gib"]),
    "lost_addresses_left_as_they_were": ("extents.c", r"part_at\(at, clean\.first, end\);",
                                         "lock_space(); flat_runs_part(&flat_extents.free_pages, clean.first); unlock_space();",
                                         ["lost"]),
    "memory_of_many_steps_in_one_call": ("keeping.c", r"most < CLEANED_PAGES \? \(uint32_t\)most : CLEANED_PAGES", r"(uint32_t)most",
                                         ["policy:no_call_gives_back"]),
    "who_frees_leaves_it_to_others": ("extents.c", r"claim\(count, [^;]*;", r"0;", ["policy:goes_back_with_it"]),
    "others_give_back_as_well": ("extents.c", r"difference\((flat_pages_above\([^;]*), flat_extents\.claimed\);", r"\1;",
                                 ["policy:leave_to_another"]),
    "what_comes_is_not_counted": ("extents.c", r"flat_extents\.coming \+= count;", r"flat_extents.coming += 0 * count;",
                                  ["policy:when_many_do"]),
    "rest_written_over_another": ("extents.c", r"(static run_part \*place_for_rest.*?)return NULL;", r"\1return flat_extents.rests;",
                                  ["policy:when_many_do"]),
    "lock_held_while_memory_goes": ("extents.c", r"unmap_result result = unmap_pages\(part\);",
                                    r"lock_space(); unmap_result result = unmap_pages(part); unlock_space();",
                                    ["policy:leave_to_another"]),
    "what_others_were_giving_back_kept_by_a_child": ("extents.c", r"flat_extents\.claimed = flat_extents\.coming = 0;", r"flat_extents.coming = 0;",
                                                     ["policy:in_a_child_what_they"]),
    "what_others_were_giving_back_lost_in_a_child": ("extents.c", r"\(rest->count != 0\) \(void\)give[^;]*;", r"(false) {}",
                                                     ["policy:in_a_child_what_they"]),
    "memory_that_is_there_not_preferred": ("runs.c", r"if \(dirty\.head != NO_UNIT\) found = dirty;", r"(void)dirty;", ["runs"]),
    "nothing_kept_of_huge_blocks": ("policy.c", r"kept_huge_pages = 64 \* MIB / PAGE", r"kept_huge_pages = 0",
                                    ["policy:memory_that_is_there"]),
    "many_dirty_units_split": ("runs.c", r"of->dirty / DIRTY_RATIO > count", r"false", ["runs"]),
    "credit_never_used_up": ("keeping.c", r"heap->credit - PAGE_CREDIT \* cleaned", r"heap->credit", ["policy:is_used_up"]),
    "credit_of_huge_blocks_never_used_up": ("extents.c", r"flat_extents\.credit -= pages[^;]*;", r"(void)pages;", ["policy:is_used_up"]),
    "credit_for_growth_that_is_none": ("pages.c", r"heap->chunk_count\+\+ == heap->chunks_most", r"++heap->chunk_count != 0",
                                       ["policy:is_used_up"]),
    "credit_not_renewed_by_trim": ("heaps.c", r"heap->credit = [^;]*;", r"", ["policy:renewed_by_malloc_trim"]),
    "pages_begun_anew_not_paid_for": ("extents.c", r"flat_extents\.owed = least\([^;]*;", r";", ["policy:begun_anew"]),
    "pages_made_resident_one_by_one": ("spans.c", r"at_once->pages != 0 &&", r"false &&",
                                       ["policy:resident_some"]),
    "pages_of_a_large_class_made_resident_as_others": ("spans.c", r"large \? at_once->large_pages : at_once->pages",
                                                       r"at_once->pages", ["policy:as_it_says"]),
    "pages_of_a_large_heap_made_resident_as_others": ("spans.c", r"share > pages \? share : pages",
                                                      r"pages", ["policy:as_it_says with latency"]),
    "small_heap_made_resident_as_others": ("spans.c", r"least\((share > pages \? share : pages), [^;]*;", r"\1;",
                                           ["policy:little_more_resident with latency"]),
    "tables_made_resident_page_by_page": ("pages.c", r"flat_make_tables_resident\(\(run_part\)[^;]*;", r"{}",
                                          ["policy:as_it_says", "policy:as_it_says with latency"]),
    "tables_of_a_whole_chunk_made_resident": ("pages.c", r"flat_make_tables_resident\(\(run_part\)[^;]*;",
                                              r"flat_make_tables_resident((run_part){from & -CHUNK_PAGES, CHUNK_PAGES});",
                                              ["policy:little_more_resident with latency"]),
    "as_much_mapped_though_it_is_locked": ("locked.c", r"set_maps_locked\(\(flags[^;]*;", r"set_maps_locked(false);",
                                          ["policy:in_small_steps with latency"]),
    "what_lies_at_hand_never_settled": ("cache.c", r"(void flat_settle_some\([^;]*?\{).*?\n\}", r"\1}",
                                        ["policy:others_have_left"]),
    "other_spans_than_the_fullest_preferred": ("spans.c", r"(static void sink_span\([^{]*\{)", r"\1 return;",
                                               ["policy:from_the_fullest_span with memory"]),
    "pages_made_resident_beyond_the_run": ("runs.c", r"count < most && count < head->count &&", r"count < most &&",
                                           ["runs"]),
    "usual_path_while_too_much_is_kept": ("keeping.c", r"flat_allow_usual_path\([^;]*;", r"flat_allow_usual_path(true);",
                                          ["policy:another_has_left_to_them"]),
    "thread_leaves_all_its_memory": ("left.c", r"> flat_policy\.left_pages;", r"> UINT32_MAX;", ["policy:leave_no_more"]),
    "blocks_counted_that_are_free": ("usage.c", r"__builtin_popcountll\(", r"1 + __builtin_popcountll(",
                                     ["policy:mallinfo2"]),
    "lock_waited_for_at_exit": ("usage.c", r"waits \? pthread_mutex_lock\(lock\) : pthread_mutex_trylock\(lock\)",
                                r"pthread_mutex_lock(lock)", ["home:does_not_wait"]),
    "report_frees_all_the_same": ("malloc.c", r"(flat_judge\(block\), caller\);\s*return) starts", r"\1 true",
                                  ["misuse"]),
    "caller_not_said": ("misuse.c", r"why\), from\);", r'why), "");', ["misuse"]),
    "exception_of_a_handler_let_through": ("operators.c", r"(void \*try_or_null\([^{]*\{).*?\n\}",
                                           r"\1 return try_or_throw(alignment, size, caller); }",
                                           ["operators", "neighbours:handler"]),
    "memory_refused_without_a_throw": ("operators.c", r"(void \*try_or_throw\([^{]*\{).*?\n\}", r"\1 return NULL; }",
                                       ["operators", "neighbours:handler"]),
    "cxx_runtime_of_a_plugin_not_found": ("runtime.c", r"return of\.found;", r"return NULL;", ["neighbours:handler"]),
    "new_handler_not_looked_for": ("runtime.c", r"_ZSt15get_new_handlerv", r"_ZSt15get_new_handlerw",
                                   ["neighbours:handler"]),
    "operators_of_the_program_not_asked": ("replaced.c", r"of->found_any \|= note\(", r"(void)note(", ["neighbours:operators"]),
    "c_library_keeps_its_malloc": ("c_library.c", r"    change_symbols\(libc, functions, count\);", r"",
                                   ["neighbours:by_its_handle", "neighbours:looks_into"]),
    "c_library_changed_by_a_latecomer": ("c_library.c", r"if \(!found->ours_comes_first && [^;]*;", r"",
                                         ["surroundings:another"]),
    "c_library_keeps_one_function": ("neighbours.c", r"FUNCTION\(reallocarray\),", r"", ["neighbours:by_its_handle"]),
    "second_names_left_to_the_c_library": ("neighbours.c", r"FLAT_API (void \*__libc_memalign)", r"\1",
                                           ["neighbours:second_names"]),
    "names_of_other_versions_not_found": ("objects.c", r"if \(same && strcmp\([^)]*\) == 0\)", r"if (same && false)",
                                          ["neighbours:by_its_handle"]),
    "environment_of_the_start_not_read": ("settings.c", r"return getauxval\(AT_SECURE\) != 0 \? [^;]*;",
                                          r"return NULL;", ["neighbours:settings"]),
    "realloc_that_shrinks_fails": ("malloc.c", r"if \(moved != NULL \|\| size > has\) return moved;", r"return moved;",
                                   ["interface:shrinks"]),
    "alignments_not_rounded_up": ("malloc.c", r"return aligned_alloc\(power, size\);",
                                  r"return aligned_alloc(alignment, size);", ["interface:rounds"]),
    "huge_blocks_not_in_what_is_said": ("statistics.c", r"size_t whole = now\.arena \+ now\.hblkhd;",
                                        r"size_t whole = now.arena;", ["statistics:xml"]),
    "more_than_an_int_wraps": ("statistics.c", r"number < INT_MAX \? \(int\)number : INT_MAX", r"(int)number",
                               ["statistics:most_it_can"]),
    "wish_taken_that_is_not_done": ("statistics.c", r"default: return 0;", r"default: return 1;",
                                    ["statistics:wishes"]),
    "silence_stops_what_only_reports": ("misuse.c", r"if \(!only_reports\(\)\)",
                                        r"int fcntl(int, int, ...); if (!only_reports() || fcntl(2, 1) < 0)",
                                        ["misuse:nobody"]),
    "signal_of_a_broken_pipe_let_through": ("say.c", r"pthread_sigmask\(SIG_BLOCK,[^)]*\) == 0",
                                            r"pthread_sigmask(SIG_BLOCK, NULL, &before) == 0", ["misuse:nobody"]),
    "signal_of_a_broken_pipe_left_behind": ("say.c", r"while \(sigtimedwait\([^;]*;", r"", ["misuse:broken_pipe"]),
    "wait_for_a_full_pipe": ("say.c", r"becomes_writable\(to\) \? (write\([^)]*\)) : -1", r"\1", ["misuse:nobody"]),
    "summary_lost_with_stderr": ("say.c", r"return has_copy\(\) \? copy : -1;", r"return -1;", ["preload"]),
    "summary_written_into_a_file": ("say.c", r"fstat\(copy, &now\) == 0 && [^;]*;", r"fstat(copy, &now) == 0;",
                                    ["preload"]),
    "line_written_into_a_file": ("say.c", r"return flags >= 0 && [^;]*;", r"return true;", ["misuse:took_the_place"]),
    "use_after_free_called_a_double_free": ("misuse.c", r"why == FLAT_DOUBLE_FREE && !is_free\(function\)", r"false",
                                            ["misuse:realloc_and"]),
    "new_handler_not_asked": ("operators.c", r"(void \*try_or_throw\([^{]*\{)", r"\1 flat_throw_bad_alloc();",
                              ["operators"]),
}


def sources_and_objects(folder, file, arguments):
    """The sources that have the fault, and the others as they were compiled already."""
    changed, others = sorted(glob.glob(os.path.join(folder, "*.c"))), []
    if file.endswith(".c"):
        changed = [os.path.join(folder, file)]
        others = [path for path in arguments.objects if not path.endswith("/%s.o" % file)]
    else:
        others = [path for path in arguments.objects if path.endswith(".cpp.o")]
    return changed, others


def library_of(folder, file, arguments):
    made = os.path.join(folder, "libflatline-malloc.so")
    changed, others = sources_and_objects(folder, file, arguments)
    subprocess.run([arguments.compiler, "-std=c11", "-O1", "-w", "-fPIC", "-shared", "-fvisibility=hidden",
                    "-fno-builtin-malloc", "-fno-builtin-calloc", "-fexceptions", "-I",
                    os.path.join(arguments.source, "include"), *changed, *others, "-Wl,-Bsymbolic-functions",
                    "-Wl,-z,nodelete", "-Wl,-z,initfirst", "-pthread", "-o", made], check=True)
    return made


def alone(part, folder, arguments):
    """The part's own test with what has the fault."""
    compiled = os.path.join(folder, part + ".o")
    subprocess.run([arguments.compiler, "-std=c11", "-O1", "-w", "-fPIC", "-c", os.path.join(folder, part + ".c"), "-o",
                    compiled], check=True)
    program = os.path.join(folder, "malloc_%s_test" % part)
    test = [path for path in arguments.alone_objects if path.endswith("/%s_test.cpp.o" % part)]
    subprocess.run([arguments.linker, *test, compiled, *arguments.libraries, "-pthread", "-o", program], check=True)
    return program


def within(part, folder, file, arguments):
    """The part's own test linked with the malloc that has the fault."""
    changed, others = sources_and_objects(folder, file, arguments)
    made = []
    for source in changed:
        made.append(source + ".o")
        subprocess.run([arguments.compiler, "-std=c11", "-O1", "-w", "-fPIC", "-fvisibility=hidden", "-fno-builtin-malloc",
                        "-fno-builtin-calloc", "-fexceptions", "-I", os.path.join(arguments.source, "include"), "-c", source,
                        "-o", made[-1]], check=True)
    program = os.path.join(folder, "malloc_%s_test" % part)
    subprocess.run([arguments.linker, *arguments.within_objects, *made, *others, *arguments.libraries, "-pthread", "-o",
                    program], check=True)
    return program


def wild(case, library, arguments):
    """Whether nothing is wrong with the case. That it could not be judged, or not be run, shows nothing."""
    folder = os.path.join(arguments.source, "tests", "malloc", "wild")
    done = subprocess.run([sys.executable, "-B", os.path.join(folder, "wild_test.py"), case, "balanced", "--library", library,
                           "--programs", os.path.join(arguments.tests, "wild")], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)
    wrong = [line for line in done.stdout.splitlines() if "WRONG: " in line]
    if done.returncode != (1 if wrong else 0):
        sys.exit("%s cannot tell anything (status %d):\n%s" % (case, done.returncode, done.stdout))
    print("\n".join("  " + line for line in wrong))
    return not wrong


def preload(library, arguments):
    test = os.path.join(arguments.source, "tests", "malloc", "preload_test.py")
    done = subprocess.run([sys.executable, "-B", test, library, "--quick"], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)
    print(done.stdout, end="")
    return done.returncode == 0


def outcome(place, folder, file, arguments):
    part, _, words = place.partition(":")
    if part in ALONE:
        return passes(alone(part, folder, arguments))
    if part == "preload":
        return preload(library_of(folder, file, arguments), arguments)
    if part == "wild":
        return wild(words, library_of(folder, file, arguments), arguments)
    if part in WITHIN:
        return passes(within(part, folder, file, arguments), "--gtest_filter=*%s*" % words)
    words, _, policy = words.partition(" with ")
    os.environ.update(LD_PRELOAD=library_of(folder, file, arguments), FLATLINE_POLICY=policy)
    try:
        return passes(os.path.join(arguments.tests, "malloc_%s_test" % part), "--gtest_filter=*%s*" % words,
                      scale="0.5")
    finally:
        del os.environ["LD_PRELOAD"]


def main():
    arguments = arguments_of(__doc__, FAULTS, ("source", "work", "compiler", "linker", "tests"),
                             lists=("objects", "alone-objects", "within-objects", "libraries"))
    file, pattern, replacement, places = FAULTS[arguments.fault]
    shutil.rmtree(arguments.work, ignore_errors=True)
    for room in ("core", "malloc"):
        shutil.copytree(os.path.join(arguments.source, "src", room), os.path.join(arguments.work, room))
    folder = os.path.join(arguments.work, "malloc")
    plant(arguments.fault, os.path.join(folder, file), pattern, replacement, "src/malloc/" + file)
    return verdict(arguments.fault, [(place, outcome(place, folder, file, arguments)) for place in places])


if __name__ == "__main__":
    sys.exit(main())
