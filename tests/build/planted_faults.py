#!/usr/bin/env python3
"""Plants one fault in a copy of src/core, src/os and include, links tests with it, and demands that each of them fails.

    planted_faults.py --fault NAME --source ROOT --work FOLDER --compiler CC --linker CXX --test NAME=OBJECT:OBJECT...
                      --libraries LIBRARY...
    planted_faults.py --list

--list names every fault, for CMake, which makes a test of each. The fault `none` is the control: the copy as it is, with
which every test must pass. A fault whose place is no longer in the source is an error, never a pass: change its pattern
along with the code. What a public header compiles into its
callers is tested through one C file a header (CALLS), which alone of a test's objects is compiled anew. Exit status 0:
seen (control: passed).
"""
import glob
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True  # keeps the source folder clean
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from planting import CONTROL, arguments_of, passes, plant, verdict

# The file in which tests call the inline functions of public headers.
CALLS = ["tests/core/arena_calls.c"]
ARENA = ["arena_test", "arena_model_test", "arena_exhaustive_test"]

# A delay between the two steps into which a fault splits one, so that another thread often runs in between.
MOMENT = "for (volatile int turns = 0; turns < 100; turns++) {} "

# name: (file below src or in include, pattern, replacement, tests that must fail)
FAULTS = {
    "block_write_in_free": ("core/pool_steps.h", r"class->head = of->block;",
                            r"class->head = of->block; *(volatile char *)of->block = 0;",
                            ["pool_model_test", "pool_misuse_test"]),
    "block_read_in_alloc": ("core/pool_steps.h", r"words\[index\] = WORD_LIVE;",
                            r"words[index] = WORD_LIVE; (void)*(volatile char *)class->head;",
                            ["pool_model_test", "pool_exhaustive_test"]),
    "count_off_by_one_in_the_only_class": (
        "core/pool_steps.h", r"(class_number\(pool, 0\);\s*size_t index = block_index\(class, of->block\);\s*if \(LIKELY\(index) <",
        r"\1 <=", ["pool_test", "pool_model_test", "pool_misuse_test", "pool_exhaustive_test"]),
    "count_off_by_one_in_one_of_many_classes": (
        "core/pool_steps.h", r"(class_of_span\(pool, of->block\);\s*size_t index = block_index\(class, of->block\);\s*if \(LIKELY\(index) <",
        r"\1 <=", ["pool_test", "pool_model_test", "pool_misuse_test", "pool_exhaustive_test"]),
    "live_check_missing": ("core/pool_steps.h", r"words\[index\] != WORD_LIVE", r"index == WORD_LIVE",
                           ["pool_test", "pool_model_test", "pool_misuse_test", "pool_exhaustive_test"]),
    "fresh_update_lost": ("core/pool_steps.h", r"class->fresh = \(uint32_t\)\(index \+ 1\);", r";",
                          ["pool_test", "pool_model_test", "pool_misuse_test", "pool_exhaustive_test"]),
    "live_mark_lost": ("core/pool_steps.h", r"(class->)?words\[index\] = WORD_LIVE;", r";",
                       ["pool_test", "pool_model_test", "pool_exhaustive_test"]),
    "list_head_lost": ("core/pool_steps.h", r"class->head_index = \(uint32_t\)index;", r";",
                       ["pool_test", "pool_model_test", "pool_exhaustive_test"]),
    "interior_taken_for_foreign": ("core/pool_steps.h", r"\? FLAT_INTERIOR_POINTER\s*:\s*FLAT_FOREIGN_POINTER",
                                   r"? FLAT_FOREIGN_POINTER : FLAT_INTERIOR_POINTER",
                                   ["pool_test", "pool_model_test", "pool_misuse_test"]),
    "request_size_cut_to_32_bits": ("core/pool_steps.h", r"\((of->size > class->size\))", r"((uint32_t)\1", ["pool_test"]),
    "size_above_every_class_served": ("core/pool_steps.h", r"UNLIKELY\(of->size > class->size\)", r"false", ["pool_test", "pool_model_test"]),
    "empty_list_handed_out": ("core/pool_steps.h", r"!= WORD_LAST", r"!= WORD_LIVE", ["pool_test", "pool_model_test"]),
    "new_head_reckoned_from_the_start": ("core/pool_steps.h", r"\(uintptr_t\)block \+ \(after - index\)", r"(uintptr_t)class->start + (after - index)",
                                         ["pool_test", "pool_model_test", "pool_exhaustive_test"]),
    "search_without_a_tree": ("core/pool_setup.c", r"place->tree_nodes > 0 \? tree : no_larger_class", r"tree",
                              ["pool_model_test"]),
    "refusal_not_counted": ("core/pool_steps.h", r"\+\+\*refused_by\(class\);", r";",
                            ["pool_inspect_test", "pool_model_test"]),
    "refusal_does_not_go_on": ("core/pool_steps.h", r"return of->otherwise == NULL \? NULL :", r"return true ? NULL :",
                               ["pool_test"]),
    "free_of_null_goes_on": ("core/pool_steps.h", r" \|\| why == FLAT_OK", r"", ["pool_test"]),
    "search_takes_the_next_class": ("core/pool_state.h", r"\[key\] \"r\"\(key\)", r'[key] "r"(key + 1)',
                                    ["pool_limits_test", "pool_model_test"]),
    "small_sizes_rounded_down": ("core/pool_state.h", r"\(size \+ FLAT_POOL_GRANULE - 1\) / FLAT_POOL_GRANULE",
                                 r"size / FLAT_POOL_GRANULE", ["pool_limits_test", "pool_model_test"]),
    "inverse_of_too_few_bits": ("core/pool_setup.c", r"correct = 3;", r"correct = 24;", ["pool_limits_test"]),
    "alignment_forgotten": ("core/pool_setup.c", r"alignment > span \? alignment : span", r"span",
                            ["pool_test", "pool_model_test"]),
    "footprint_a_byte_short": ("core/pool_setup.c",
                               r"(to->metadata_bytes = to->words_at \+ blocks \* sizeof\(uint32_t\));",
                               r"\1 - 1;", ["pool_setup_test"]),
    "shares_searched_over_one_length_of_map": (
        "core/pool_setup.c", r"while \(flat_pool_map_length\(count, blocks_in\(tried, count\)\) != spans\)",
        r"while (false)", ["pool_shares_test"]),
    "shares_searched_over_the_shortest_map_only": (
        "core/pool_setup.c", r"flat_pool_map_length\(count, UINT64_MAX\)", r"flat_pool_map_length(count, 0)",
        ["pool_shares_test"]),
    "reset_keeps_the_high_water_mark": ("core/pool_setup.c", r"class->fresh = 0;", r";",
                                        ["pool_setup_test", "pool_model_test"]),
    "alloc_many_gives_one_too_many": ("core/pool_inspect.c", r"found >= count", r"found + 1 >= count",
                                      ["pool_inspect_test", "pool_model_test", "pool_exhaustive_test"]),
    "check_sees_nothing": ("core/pool_inspect.c", r"return FLAT_CORRUPTED;", r"return FLAT_OK;", ["pool_inspect_test"]),
    "overlap_not_looked_for": ("core/memory.h", r"return \(uintptr_t\)a \+ a_bytes <= \(uintptr_t\)b \|\|",
                               r"return a_bytes > 0 || (uintptr_t)a + a_bytes <= (uintptr_t)b ||", ["pool_setup_test", "heap_setup_test"]),
    "guard_pages_writable": ("os/region_map.c", r"mmap\(NULL, mapping_size, PROT_NONE,",
                             r"mmap(NULL, mapping_size, PROT_READ | PROT_WRITE,", ["region_test", "pool_create_test"]),
    "prefault_forgotten": ("os/region_settle.c", r"status = make_resident\(body, plan\);", r"status = FLAT_OK;",
                           ["region_test", "region_file_test", "pool_create_test"]),
    "full_file_system_called_a_bad_address": ("os/region_settle.c", r"if \(in_file && [^)]*\)\)", r"if (false)",
                                              ["region_file_test"]),
    "limit_of_a_file_kills": ("os/region_room.c", r"if \(getrlimit\([^;]*return EFBIG;", r"(void)limit;",
                              ["region_file_test"]),
    "prefault_overwrites_what_is_there": ("os/region_settle.c", r"&content, content, false", r"&content, 0, false",
                                          ["region_file_test"]),
    "lock_not_taken": ("os/region_settle.c", r"mlock2\([^)]*\) == 0", r"true", ["region_settle_test"]),
    "limit_taken_for_lack_of_memory": (
        "os/region_settle.c", r"error != EPERM && \(error != ENOMEM \|\|[^)]*\)", r"true", ["region_settle_test"]),
    "node_not_bound": ("os/region_settle.c", r"syscall\(SYS_mbind,[^)]*\) == 0", r"true", ["region_settle_test"]),
    "required_pages_not_verified": ("os/region_settle.c", r"plan->required > FLAT_PAGES_SMALL", r"false",
                                    ["region_file_test"]),
    "explicit_pages_required_and_not_insisted_on": (
        "os/region.c", r"status == FLAT_OK \|\| least == FLAT_PAGES_EXPLICIT", r"status == FLAT_OK",
        ["region_settle_test"]),
    "refused_region_keeps_its_name": ("os/region.c", r"\(void\)shm_unlink\(options->name\);", r";",
                                      ["region_file_test"]),
    "descriptor_left_open": ("os/region.c", r"if \(plan\.from_file && !keeps\)", r"if (false)", ["region_file_test"]),
    "memory_file_can_be_cut": ("os/region_file.c", r"F_SEAL_SHRINK \| F_SEAL_GROW \| F_SEAL_SEAL", r"F_SEAL_SEAL",
                               ["region_file_test"]),
    "end_of_the_file_not_looked_at": ("os/region_file.c", r"plan->size > left", r"false", ["region_file_test"]),
    "offset_in_the_file_ignored": ("os/region_map.c", r"\(off_t\)plan->offset", r"0", ["region_file_test"]),
    "report_repeats_the_request": ("os/region_report.c", r"found\.resident = seen\.resident;",
                                   r"found.resident = found.bytes;", ["region_report_test", "region_settle_test"]),
    "report_of_huge_pages_guessed": ("os/region_report.c", r"certain_huge\(mapping, from, to\);", r"to - from;",
                                     ["region_report_test", "region_settle_test"]),
    "huge_pages_of_one_kind_only": ("os/smaps.c", r'"ShmemPmdMapped", ', r"", ["region_report_test"]),
    "locked_flag_misread": ("os/smaps.c", r"at\[-1\] == ' ' &&", r"", ["region_report_test"]),
    "trim_takes_the_page_of_a_live_block": (
        "os/pool_trim.c", r": flat_round_up\(start, page\);", r": start / page * page;", ["pool_trim_test"]),
    "trim_counts_pages_that_were_not_there": ("os/pool_trim.c", r"trim->returned \+= resident \* page;",
                                              r"trim->returned += chunk;", ["pool_trim_test"]),
    "trim_breaks_a_promise": ("os/pool_trim.c", r"\|\| !blocks->can_trim", r"", ["pool_trim_test"]),
    "trim_forgets_the_end": ("core/pool_inspect.c", r"if \(end > free_from\) visit", r"if (false) visit",
                             ["pool_inspect_test", "pool_trim_test"]),
    "metadata_shared_with_the_blocks": ("os/region_plan.h", r"own\.shared = false;", r";", ["pool_create_test"]),
    "failed_create_keeps_a_region": ("os/backing.c", r"flat_region_destroy\(&mapped\.metadata\);\s*return status;",
                                     r"return status;", ["pool_create_test", "heap_create_test"]),
    # A set of shards: the location of a block, and its way back.
    "percore_block_written_in_free": ("core/percore.c", r"instrument_claim\([^;]*\);", r"*(volatile char *)block = 0;",
                                      ["percore_test", "percore_model_test"]),
    "percore_size_cut_to_32_bits": ("core/percore.c", r"UNLIKELY\(size > class->size\)",
                                    r"UNLIKELY((uint32_t)size > class->size)", ["percore_test"]),
    "percore_end_of_a_class_taken_for_a_block": ("core/percore.c", r"of\.index >= map->count", r"of.index > map->count",
                                                 ["percore_test", "percore_model_test"]),
    "percore_own_blocks_freed_remotely": (
        "core/percore.c", r"free_steps\(shard, &\(returned_block\)\{\.block = block\}, free_by_set\)",
        r"flat_percore_free(shard->shard->set, block)", ["percore_test", "percore_model_test", "percore_exhaustive_test"]),
    "percore_blocks_of_other_shards_refused": (
        "core/percore.c", r"\.block = block\}, free_by_set", r".block = block}, refuse_address",
        ["percore_test", "percore_model_test", "percore_exhaustive_test"]),
    "percore_last_word_of_the_top_overlooked": ("core/percore.c", r"return step_look_at_top\(top \+ 7\) \?[^;]*;",
                                                r"return NULL;", ["percore_test"]),
    "percore_branches_counted_from_the_start": (
        "core/percore.c", r"of->at\[1\] = of->at\[2\] \* \(uint32_t\)NODE_BITS \+ use", r"of->at[1] = use",
        ["percore_test"]),
    "percore_patience_without_end": ("core/percore.c", r"fresh < PATIENCE \? fresh : PATIENCE", r"PATIENCE",
                                     ["percore_test", "percore_model_test", "percore_exhaustive_test"]),
    "percore_counted_blocks_taken_unseen": (
        "core/percore.c", r"claimed \|= \(uint32_t\)step_look_at_word\(words \+ i\) << i;", r"claimed |= 1u << i;",
        ["percore_hand_over_test", "percore_model_test", "percore_exhaustive_test", "percore_overlap_test"]),
    "percore_claimed_blocks_taken_uncounted": (
        "core/percore.c", r"of->due--;", r"of->due = of->claimed != 0;",
        ["percore_hand_over_test", "percore_threads_test"]),
    "percore_late_double_free_not_counted": (
        "core/percore.c", r"pool->shard->late_double_frees \+= of->due;", r";",
        ["percore_hand_over_test", "percore_model_test", "percore_exhaustive_test"]),
    "percore_drain_ends_at_a_late_double_free": ("core/percore.c", r"while \(index == class->count && [^)]*\)",
                                                 r"while (false)", ["percore_hand_over_test", "percore_model_test"]),
    "percore_drain_takes_one_too_many": ("core/percore.c", r"collected < most", r"collected <= most",
                                         ["percore_hand_over_test", "percore_model_test", "percore_exhaustive_test"]),
    "percore_drained_block_is_not_the_head": (
        "core/percore.c", r"class->head = class->start \+ index \* class->size;", r";",
        ["percore_hand_over_test", "percore_model_test", "percore_exhaustive_test"]),
    "percore_claim_by_an_exchange": (
        "core/hand_over.h", r"return __atomic_compare_exchange_n\(word,[^;]*;",
        r"return __atomic_exchange_n(word, WORD_CLAIMED, __ATOMIC_ACQ_REL) == live;",
        ["percore_test", "percore_model_test", "percore_exhaustive_test"]),
    "percore_claim_in_two_steps": (
        "core/hand_over.h", r"return __atomic_compare_exchange_n\(word,[^;]*;",
        r"if (*(volatile uint32_t *)word != live) return false; " + MOMENT +
        r"*(volatile uint32_t *)word = WORD_CLAIMED; return true;",
        ["percore_threads_test"]),
    "percore_mark_set_for_each_block": ("core/hand_over.h", r"fetch_add\(leaf, one, __ATOMIC_ACQ_REL\) == 0",
                                        r"fetch_add(leaf, one, __ATOMIC_ACQ_REL) + 1 != 0",
                                        ["percore_test", "percore_hand_over_test"]),
    "percore_branch_never_marked": ("core/hand_over.h", r"fetch_add\(branch, mark, __ATOMIC_ACQ_REL\) == 0",
                                    r"fetch_add(branch, mark, __ATOMIC_ACQ_REL) != 0",
                                    ["percore_test", "percore_hand_over_test"]),
    "percore_leaf_taken_in_two_steps": (
        "core/hand_over.h", r"(step_take_leaf\(size_t \*word\) \{)[^}]*\}",
        r"\1 size_t all = *(volatile size_t *)word; " + MOMENT + r"*(volatile size_t *)word = 0; return all; }",
        ["percore_threads_test"]),
    "percore_left_shard_has_an_owner_still": (
        "core/hand_over.h", r"__atomic_store_n\(owned, 0,", r"__atomic_store_n(owned, 1,",
        ["percore_hand_over_test", "percore_exhaustive_test"]),
    "percore_two_owners_of_a_shard": (
        "core/hand_over.h", r"return __atomic_compare_exchange_n\(owned,[^;]*;",
        r"(void)nobody; if (*(volatile uint32_t *)owned) return false; " + MOMENT +
        r"*(volatile uint32_t *)owned = 1; return true;",
        ["percore_threads_test"]),
    "percore_reciprocal_rounded_down": (
        "core/percore_setup.c", r"\(\(\(uint64_t\)1 << RECIPROCAL_BITS\) \+ place->units_per_shard - 1\)",
        r"((uint64_t)1 << RECIPROCAL_BITS)", ["percore_test"]),
    "percore_unit_too_small": ("core/percore.h", r"MOST_UNITS \(\(uint64_t\)1 << 16\)",
                               r"MOST_UNITS ((uint64_t)1 << 32)", ["percore_test"]),
    "percore_footprint_too_short": ("core/percore_setup.c", r"to->shard_bytes \* options->shard_count;",
                                    r"to->shard_bytes * options->shard_count - LINE_PAIR;", ["percore_setup_test"]),
    "percore_total_wraps_around": (
        "core/percore_setup.c", r" \|\| to->pool\.block_bytes > MOST_BYTES / options->shard_count", r"",
        ["percore_setup_test"]),
    "percore_trees_not_cleared": ("core/percore_setup.c", r"\*word = 0;", r";", ["percore_setup_test"]),
    "percore_shards_share_a_pair_of_lines": ("core/percore_setup.c", r"to->shard_bytes = round_up\(at, LINE_PAIR\);",
                                             r"to->shard_bytes = round_up(at, CACHE_LINE);", ["percore_setup_test"]),
    "percore_parked_bound_of_one_block_each": ("core/percore_setup.c", r"held_back\[levels_of\(block_count\) - 1\]",
                                               r"held_back[0]", ["percore_hand_over_test"]),
    "percore_check_sees_nothing": ("core/percore_inspect.c", r"return FLAT_CORRUPTED;", r"return FLAT_OK;",
                                   ["percore_inspect_test"]),
    "percore_check_skips_the_top": ("core/percore_inspect.c", r"return of->trunk_at == 0 \|\| check_marks\([^;]*;",
                                    r"return true;", ["percore_inspect_test"]),
    "percore_check_knows_of_nothing_taken": ("core/percore_inspect.c", r"of->at\[level\] == number \?",
                                             r"of->at[level] == number + 1 ?",
                                             ["percore_inspect_test", "percore_model_test"]),
    "percore_claimed_blocks_taken_for_lost": ("core/pool_inspect.c", r"pool->shard == NULL \? 0 : ", r"0 * ",
                                              ["percore_inspect_test", "percore_model_test", "percore_exhaustive_test"]),
    "percore_destroy_keeps_its_memory": (
        "os/percore_create.c", r"if \(set->backing != NULL\) flat_backing_destroy[^;]*;", r";", ["percore_create_test"]),
    "arena_end_off_by_one": ("include/flatline/arena.h", r"size > arena->end - block", r"size > arena->end - block + 1",
                             ARENA),
    "arena_cursor_not_rounded": ("include/flatline/arena.h", r"\(cursor \+ mask\) & ~mask", r"cursor", ARENA),
    "arena_alignment_beyond_the_end": ("include/flatline/arena.h", r"if \(__builtin_expect\(beyond \|\|",
                                       r"if (__builtin_expect(", ARENA),
    "arena_odd_alignment_taken": ("include/flatline/arena.h", r"\(alignment \^ mask\) <= mask", r"alignment == 0",
                                  ARENA),
    "arena_size_0_takes_no_byte": ("include/flatline/arena.h", r"size \+= size == 0;", r";", ARENA),
    "arena_block_written": ("include/flatline/arena.h", r"arena->cursor = block \+ size;",
                            r"arena->cursor = block + size; *(volatile char *)block = 0;", ARENA),
    "arena_refusal_not_counted": ("include/flatline/arena.h", r"arena->refused\+\+;", r";", ARENA),
    "arena_missing_bytes_forgotten": ("include/flatline/arena.h", r"countable \? missing \+ more",
                                      r"countable ? missing", ARENA),
    "arena_missing_bytes_wrap_around": ("include/flatline/arena.h", r"= countable \?", r"= true ?", ARENA),
    "arena_missing_bytes_not_aligned": ("include/flatline/arena.h", r"\(arena->missing \+ mask\) & ~mask",
                                        r"arena->missing", ["arena_model_test", "arena_exhaustive_test"]),
    "arena_mark_forgets_missing_bytes": ("include/flatline/arena.h", r"\{arena, arena->cursor, arena->missing\}",
                                         r"{arena, arena->cursor, 0}", ARENA),
    "arena_start_not_rounded": ("core/arena.c", r"\(first \+ ROUNDING\) & ~ROUNDING", r"first", ARENA),
    "arena_end_not_rounded": ("core/arena.c", r"\(first \+ memory\.size\) & ~ROUNDING", r"first + memory.size", ARENA),
    "arena_of_memory_that_wraps_around": ("core/arena.c", r"first > UINTPTR_MAX - memory\.size", r"false",
                                          ["arena_test"]),
    "arena_peaks_lost_on_the_way_down": ("core/arena.c", r"arena->high_water = high_water\(arena\);", r";", ARENA),
    "arena_needed_lost_on_the_way_down": ("core/arena.c", r"arena->needed = needed\(arena\);", r";", ARENA),
    "arena_rewinds_up": ("core/arena.c", r"\|\| mark\.cursor - arena->start > used\(arena\)", r"", ARENA),
    "arena_rewinds_to_any_mark": ("core/arena.c", r"mark\.arena != arena \|\|", r"",
                                  ["arena_test", "arena_model_test"]),
    "arena_resizes_any_block": ("core/arena.c", r"\|\| \(uintptr_t\)block != arena->cursor - old_size", r"", ARENA),
    "arena_resizes_past_its_end": ("core/arena.c", r"more > arena->end - arena->cursor",
                                   r"more > arena->end - arena->start", ARENA),
    "arena_owns_its_end": ("include/flatline/arena.h", r"(arena->start) < (arena->end)", r"\1 <= \2",
                           ["arena_test", "arena_model_test"]),
    "arena_keeps_its_region": ("os/arena_create.c", r"flat_region_destroy\(&arena->region\);", r";",
                               ["arena_create_test"]),
    "arena_slack_before_the_guard": ("os/arena_create.c", r"(granules \* FLAT_ARENA_GRANULE,) FLAT_ARENA_GRANULE",
                                     r"\1 4096", ["arena_create_test"]),
    # The heap: the blocks that it hands out, and their location.
    "heap_block_written_in_free": ("core/heap.c", r"size_t granule = granule_of\(heap, block\);\s*if \(UNLIKELY",
                                   r"size_t granule = granule_of(heap, block); if (block) *(volatile char *)block = 0; if (UNLIKELY",
                                   ["heap_test", "heap_setup_test"]),
    "heap_cuts_the_largest_piece": ("core/heap.c", r"\(unsigned\)__builtin_ctz\(enough\)",
                                    r"31 - (unsigned)__builtin_clz(enough)",
                                    ["heap_test", "heap_model_test", "heap_exhaustive_test", "heap_bound_test"]),
    "heap_loses_the_other_half": ("core/heap.c", r"heap->heads\[at\] = \(uint32_t\)half;",
        r";", ["heap_test", "heap_model_test", "heap_exhaustive_test"]),
    "heap_other_half_not_marked": ("core/heap.c", r"heap->lists \|= \(\(uint32_t\)1 << at\) - \(\(uint32_t\)1 << order\);",
        r";", ["heap_test", "heap_model_test", "heap_exhaustive_test"]),
    "heap_slot_not_marked": ("core/heap.c", r"heap->states\[cell\] = state \| \(slots & \(0 - slots\)\);",
        r";", ["heap_test", "heap_model_test", "heap_exhaustive_test"]),
    "heap_opened_cell_not_listed": ("core/heap.c", r"if \(order < CELL_ORDER\) list_push\(heap, order, cell\);",
        r"", ["heap_test", "heap_model_test", "heap_exhaustive_test"]),
    "heap_size_cut_to_32_bits": ("core/heap.c", r"UNLIKELY\(size > heap->bytes\)", r"UNLIKELY((uint32_t)size > heap->bytes)",
                                 ["heap_test"]),
    "heap_serves_half_of_the_size": ("core/heap.h", r"last / \(FLAT_HEAP_GRANULE / 2\)", r"last / FLAT_HEAP_GRANULE",
                                     ["heap_test", "heap_model_test", "heap_exhaustive_test"]),
    "heap_rounds_powers_of_two_up": ("core/heap.h", r"size_t last = size - \(size != 0\);", r"size_t last = size;",
                                     ["heap_test", "heap_model_test", "heap_exhaustive_test"]),
    "heap_alignment_of_the_start_ignored": ("core/heap.c", r" && alignment <= heap->alignment", r"",
                                            ["heap_test", "heap_model_test"]),
    "heap_refusal_not_counted": ("core/heap.c", r"heap->refused\+\+;", r";", ["heap_test", "heap_model_test"]),
    "heap_high_water_not_kept": ("core/heap.c", r"if \(UNLIKELY\(heap->live > heap->high_water\)\) heap",
        r"heap", ["heap_test", "heap_model_test"]),
    # Frees.
    "heap_never_merges": ("core/heap.c", r"UNLIKELY\(is_half_free\(heap, order, cell\)\)",
        r"0", ["heap_test", "heap_model_test", "heap_exhaustive_test"]),
    "heap_merges_once": ("core/heap.c", r"(cell &= ~size;\s*order\+\+;)", r"\1 break;",
                         ["heap_test", "heap_model_test", "heap_exhaustive_test"]),
    "heap_merges_beyond_the_region": ("core/heap.c", r"return half < heap->cells && heap->states",
        r"return heap->states", ["heap_setup_test"]),
    "heap_merges_halves_of_any_size": ("core/heap.c", r"heap->states\[half\] == all_free\(order\);",
        r"live_slots_in(heap->states[half]) == 0;", ["heap_test", "heap_model_test", "heap_exhaustive_test"]),
    "heap_state_left_inside": ("core/heap.c", r"heap->states\[cell \| size\] = NONE;",
        r";", ["heap_test", "heap_model_test", "heap_exhaustive_test"]),
    "heap_closed_cell_stays_listed": ("core/heap.c", r"list_remove\(heap, order, cell\);(\s*order = CELL_ORDER;)",
        r"\1", ["heap_test", "heap_model_test", "heap_exhaustive_test"]),
    "heap_full_cell_not_listed_again": ("core/heap.c", r"if \(live_slots_in\(state\) == heap->all_slots\[order\]\) list_push",
        r"if (order >= CELL_ORDER) list_push", ["heap_model_test", "heap_exhaustive_test"]),
    "heap_list_does_not_lead_back": ("core/heap.h", r"heap->links\[around\.next\]\.previous = around\.previous;", r"",
                                     ["heap_model_test", "heap_exhaustive_test"]),
    "heap_live_not_counted_down": ("core/heap.c", r"heap->live -= block_bytes\(order\);\s*instrument_free", r"instrument_free",
                                   ["heap_test", "heap_model_test", "heap_exhaustive_test"]),
    # Refusals.
    "heap_unaligned_address_taken": ("core/heap.c", r" \| offset \* \(SIZE_MAX / FLAT_HEAP_GRANULE \+ 1\)", r"",
                                     ["heap_test", "heap_model_test"]),
    "heap_middle_of_a_piece_taken": ("core/heap.c", r"return \(state >> granule % CELL_GRANULES & 1\) != 0;",
        r"return live_slots_in(state) != 0;", ["heap_test", "heap_model_test", "heap_exhaustive_test"]),
    "heap_free_slot_taken": ("core/heap.c", r"return \(state >> granule % CELL_GRANULES & 1\) != 0;",
        r"return order_in(state) < CELL_ORDER || (state >> granule % CELL_GRANULES & 1) != 0;", ["heap_test", "heap_model_test", "heap_exhaustive_test"]),
    "heap_region_ends_a_granule_late": ("core/heap.c", r"UNLIKELY\(granule >= heap->granules\)",
                                        r"UNLIKELY(granule > heap->granules)", ["heap_setup_test"]),
    "heap_free_memory_called_live": ("core/heap.c", r"return \(state & slot\) == 0 \?",
        r"return (state & slot) != 0 ?", ["heap_test", "heap_model_test", "heap_exhaustive_test"]),
    "heap_inside_of_a_slot_called_free": ("core/heap.c", r" >> order_in\(state\) << order_in\(state\)\)",
        r")", ["heap_test", "heap_model_test", "heap_exhaustive_test"]),
    "heap_looks_for_a_piece_not_far_enough": ("core/heap.c", r"unsigned step = 1; step < STEPS;",
                                              r"unsigned step = 1; step < 7;", ["heap_test", "heap_setup_test"]),
    # Realloc.
    "heap_realloc_never_moves_to_shrink": ("core/heap.c", r"order < CELL_ORDER \|\| has_smaller\(heap, to, order\)",
                                           r"order < CELL_ORDER",
                                           ["heap_realloc_test", "heap_model_test", "heap_exhaustive_test"]),
    "heap_realloc_overlooks_free_slots": ("core/heap.c", r"\(pieces \| \(uint32_t\)1 << to\)", r"pieces",
                                          ["heap_realloc_test", "heap_model_test", "heap_exhaustive_test"]),
    "heap_realloc_copies_too_little": (
        "core/heap.c", r"(memcpy\(block, from, )(size < block_bytes\(order\) \? size : block_bytes\(order\))",
        r"\1(\2) / 2", ["heap_realloc_test", "heap_model_test"]),
    "heap_realloc_copies_too_much": ("core/heap.c", r"size < block_bytes\(order\) \? size : block_bytes\(order\)",
                                     r"block_bytes(order)", ["heap_model_test"]),
    "heap_realloc_keeps_the_old_block": ("core/heap.c", r"\(void\)flat_heap_free\(heap, from\);", r"",
                                         ["heap_realloc_test", "heap_model_test"]),
    "heap_realloc_grows_down": ("core/heap.c", r"half == cell \|\| ",
        r"", ["heap_realloc_test", "heap_model_test", "heap_exhaustive_test"]),
    "heap_realloc_leaves_a_state_inside": ("core/heap.c", r"heap->states\[half\] = NONE;",
        r"", ["heap_realloc_test", "heap_model_test", "heap_exhaustive_test"]),
    "heap_realloc_counts_what_was_not_refused": ("core/heap.c", r"heap->refused = refused;[^\n]*", r";",
                                                 ["heap_realloc_test", "heap_model_test"]),
    "heap_realloc_loses_the_end": ("core/heap.c", r"add_free_piece\(heap, order, cell \+ piece_cells\(order\)\);", r";",
                                   ["heap_realloc_test", "heap_model_test", "heap_exhaustive_test"]),
    "heap_realloc_takes_0_for_nothing": ("core/heap.c", r"size \+= size == 0;[^\n]*", r"", ["heap_realloc_test"]),
    # Set-up and the bound.
    "heap_footprint_a_byte_short": ("core/heap_setup.c", r"to->cells \* sizeof\(uint32_t\);",
        r"to->cells * sizeof(uint32_t) - 1;", ["heap_setup_test"]),
    "heap_links_not_written": ("core/heap_setup.c", r"made->links\[cell\] = \(heap_link\)\{0, 0\};", r";",
                               ["heap_setup_test"]),
    "heap_reset_keeps_the_high_water_mark": ("core/heap_setup.c", r"heap->high_water = 0;", r";",
                                             ["heap_test", "heap_model_test"]),
    "heap_bound_a_window_short": ("core/heap_setup.c", r"\(size_t\)windows \* block", r"(size_t)(windows - 1) * block",
                                  ["heap_bound_test", "heap_setup_test"]),
    "heap_bound_a_window_long": ("core/heap_setup.c", r"\(size_t\)windows \* block", r"(size_t)(windows + 1) * block",
                                 ["heap_bound_test", "heap_setup_test"]),
    "heap_bound_of_half_a_window_less": ("core/heap_setup.c", r"\(before \+ 1\) / 2", r"before / 2", ["heap_bound_test"]),
    "heap_bound_without_the_last_cells": ("core/heap_setup.c", r" \+ CELL_SIZE - block_bytes\(order\);", r";",
                                          ["heap_bound_test"]),
    "heap_bound_pins_twice": ("core/heap_setup.c", r"pins = scattered \* of->smallest", r"pins = scattered * 2 * of->smallest",
                              ["heap_bound_test"]),
    "heap_bound_pins_whole_blocks": ("core/heap_setup.c", r"block_bytes\(order - 1\) \+ 1;", r"block_bytes(order);",
                                     ["heap_bound_test"]),
    "heap_bound_forgets_alignment": ("core/heap_setup.c", r" \|\| block_bytes\(order\) <= of->alignment", r"",
                                     ["heap_bound_test"]),
    "heap_bound_forgets_that_two_copies_live": ("core/heap_setup.c", r"if \(demand->reallocates\)", r"if (0)",
                                                ["heap_bound_test"]),
    # Inspection.
    "heap_check_sees_nothing": ("core/heap_inspect.c", r"return FLAT_CORRUPTED;", r"return FLAT_OK;",
                                ["heap_inspect_test"]),
    "heap_check_skips_the_lists": ("core/heap_inspect.c", r"!check_list\(heap, order, found\.members\[order\]\)", r"0",
                                   ["heap_inspect_test"]),
    "heap_visit_sees_a_slot_a_cell": ("core/heap_inspect.c", r"uint32_t left = live; left",
        r"uint32_t left = live & (0 - live); left", ["heap_test", "heap_model_test"]),
    "heap_largest_free_is_the_smallest": ("core/heap_inspect.c", r"31 - \(unsigned\)__builtin_clz\(heap->lists\)",
                                          r"CELL_ORDER + (unsigned)__builtin_ctz(pieces)",
                                          ["heap_test", "heap_model_test", "heap_exhaustive_test"]),
    "heap_create_does_not_align": ("os/heap_create.c", r"while \(alignment < MOST_ALIGNMENT", r"while (alignment < CELL_SIZE",
                                   ["heap_create_test"]),
}
TESTS = ["pool_test", "pool_setup_test", "pool_inspect_test", "pool_model_test", "pool_exhaustive_test",
           "pool_misuse_test", "region_test", "region_settle_test", "region_file_test", "region_report_test",
           "pool_create_test", "pool_trim_test", "arena_create_test", "heap_test", "heap_realloc_test",
           "heap_setup_test", "heap_inspect_test", "heap_model_test", "heap_exhaustive_test", "heap_bound_test",
           "heap_create_test", "percore_test", "percore_hand_over_test", "percore_setup_test", "percore_inspect_test",
           "percore_model_test", "percore_exhaustive_test", "percore_threads_test", "percore_overlap_test",
           "percore_create_test"] + ARENA
SCALE = "0.2"
# Long tests that no fault needs.
LEFT_OUT = "-pool_limits.sixteen_million*:pool_limits.offsets_far*"


def planted_copy(fault, source, work):
    """A copy of the sources with the fault in it; the folder of it."""
    shutil.rmtree(work, ignore_errors=True)
    for part in ("core", "os"):
        shutil.copytree(os.path.join(source, "src", part), os.path.join(work, "src", part))
    shutil.copytree(os.path.join(source, "include"), os.path.join(work, "include"))
    copy = os.path.join(work, "src")
    if fault != CONTROL:
        file, pattern, replacement, _ = FAULTS[fault]
        plant(fault, os.path.join(work if file.startswith("include/") else copy, file), pattern, replacement, file)
    return copy


def sources_of(fault, copy):
    """What is compiled anew: of a fault in a .c file that file, else all that may include it, and for the control all."""
    file = FAULTS[fault][0] if fault != CONTROL else ""
    if file.endswith(".c"):
        return [os.path.join(copy, file)]
    return [path for part in ("core", "os") for path in sorted(glob.glob(os.path.join(copy, part, "*.c")))
            if os.path.basename(path) != "valgrind.c"]


def build(copy, arguments, test, objects):
    """The program of a test. An object stands before the library, whose own copy of it is then not taken."""
    program = os.path.join(arguments.work, test)
    sources = sources_of(arguments.fault, copy)
    calls = [path for path in CALLS if any(os.path.basename(path) in name for name in objects)]
    sources += [os.path.join(arguments.source, path) for path in calls]
    objects = [name for name in objects if not any(os.path.basename(path) in name for path in calls)]
    compiled = []
    for path in sources:
        compiled.append(os.path.join(arguments.work, os.path.basename(path) + ".o"))
        if not os.path.exists(compiled[-1]):
            subprocess.run([arguments.compiler, "-std=c11", "-O2", "-fPIC", "-w", "-I",
                            os.path.join(arguments.work, "include"), "-c", path, "-o", compiled[-1]], check=True)
    subprocess.run([arguments.linker] + objects + compiled + arguments.libraries + ["-pthread", "-o", program],
                   check=True)
    return program


def main():
    arguments = arguments_of(__doc__, [CONTROL] + list(FAULTS), ("source", "work", "compiler", "linker"),
                             lists=("libraries",), repeated=("test",))
    objects = dict(given.split("=", 1) for given in arguments.test)
    copy = planted_copy(arguments.fault, arguments.source, arguments.work)
    tests = TESTS if arguments.fault == CONTROL else FAULTS[arguments.fault][3]
    return verdict(arguments.fault, [(test, passes(build(copy, arguments, test, objects[test].split(":")),
                                                   "--gtest_filter=" + LEFT_OUT, scale=SCALE)) for test in tests])


if __name__ == "__main__":
    sys.exit(main())
