#!/usr/bin/env python3
"""Plants one fault in a copy of the public headers, builds tests of the C++ headers with it, and demands that each fails.

    planted_faults.py --fault NAME --source ROOT --work FOLDER --compiler CXX --libraries LIBRARY...

LIBRARY: what the tests link, the object of heap_calls.cpp included, which no header is part of.
The fault `none` is the control: the copy as it is, with which every test must pass. A fault whose place is no longer in
the header, or with which a test does not compile, is an error, never a pass: change its pattern along with the code.
Exit status 0: seen (control: passed).
"""
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True  # keeps the source folder clean
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from planting import CONTROL, arguments_of, passes, plant, verdict

OF_ENGINE = ["../engine/engine_hpp_test"]

# name: (header, pattern, replacement, tests that must fail)
FAULTS = {
    "exhaustion_continues_in_the_heap": (
        "resource.hpp", r"if \(any_ == nullptr\) detail::refuse\(asker, bytes, alignment\);",
        r"(void)asker; if (any_ == nullptr) return std::pmr::get_default_resource()->allocate(bytes, alignment);",
        ["resource_test", "resource_model_test"]),
    "refusal_not_kept": ("misuse.hpp", r"all\.last = \{[^}]*\};", r";", ["resource_test", "allocator_test"]),
    "refused_free_not_reported": (
        "resource.hpp", r"if \(status != FLAT_OK\) report_refused_free\(Self::name, status, block, bytes, alignment\);",
        r";", ["misuse_test"]),
    "foreign_block_kept_from_the_upstream": (
        "resource.hpp", r"if \(status == FLAT_FOREIGN_POINTER\) status = next_\.try_deallocate\([^)]*\);", r";",
        ["resource_test"]),
    "pool_keeps_a_request_from_its_upstream": (
        "resource.hpp", r"return static_cast<pool_resource \*>\(self\)->go_on\(bytes, alignment\);",
        r"(void)self, (void)bytes, (void)alignment; return nullptr;", ["resource_test", "resource_model_test"]),
    "pool_alignment_forgotten": ("resource.hpp", r"__builtin_expect\(alignment > FLAT_POOL_GRANULE, 0\)", r"false",
                                 ["resource_test"]),
    "large_alignment_forgotten": ("resource.hpp", r"__builtin_expect\(alignment > traits::granule, 0\)", r"false",
                                  ["resource_test"]),
    "tried_alignment_forgotten": ("resource.hpp", r"void \*block = alignment > traits::granule", r"void *block = false",
                                  ["resource_test"]),
    "region_beyond_its_end": ("resource.hpp", r"const flat_status status = flat_arena_init\(&arena_, memory\);",
                              r"memory.size += 16; const flat_status status = flat_arena_init(&arena_, memory);",
                              ["resource_test"]),
    "budget_off_by_one": ("resource.hpp", r"counted\(bytes\) <= budget_ - live_", r"counted(bytes) < budget_ - live_",
                          ["resource_test", "resource_model_test"]),
    "budget_not_given_back": ("resource.hpp", r"live_ -= counted\(bytes\);", r"(void)bytes;",
                              ["resource_test", "resource_model_test"]),
    "budget_of_size_0_is_free": ("resource.hpp", r"return bytes \+ \(bytes == 0\);", r"return bytes;",
                                 ["resource_test"]),
    "refused_free_counted": ("resource.hpp", r"if \(status == FLAT_OK\) self\(\)\.deallocated", r"self().deallocated",
                             ["resource_test", "tracking_resource_test"]),
    "request_counted_before_it_is_served": (
        "resource.hpp", r"(void \*block = below_\.allocate\([^)]*\);)\s*self\(\)\.allocated\(bytes, alignment\);",
        r"self().allocated(bytes, alignment); \1", ["resource_test", "tracking_resource_test"]),
    "chain_frees_into_the_first": ("resource.hpp", r"return first_->owns\(block\) \?", r"return true ?",
                                   ["resource_test", "resource_model_test"]),
    "chain_skips_the_first": ("resource.hpp", r"void \*block = first_->try_allocate\(bytes, alignment\);",
                              r"void *block = nullptr;", ["resource_test", "resource_model_test"]),
    "chain_believes_any_first": ("resource.hpp", r"if \(first != nullptr && first->knows_its_blocks\(\)\) return;", r"return;",
                                 ["misuse_test"]),
    "lock_forgotten_in_allocate": ("resource.hpp", r"const held lock\(mutex_\);(\s*return below_\.allocate)", r"\1",
                                   ["locked_resource_test"]),
    "lock_forgotten_in_deallocate": (
        "resource.hpp", r"const held lock\(mutex_\);(\s*return below_\.try_deallocate)", r"\1",
        ["locked_resource_test"]),
    "handler_called_under_the_lock": (
        "resource.hpp", r"(class FLAT_API locked_resource.*?bytes, std::size_t alignment\) override \{)(\s*const "
        r"flat_status status = )do_try_deallocate", r"\1 const held lock(mutex_);\2below_.try_deallocate",
        ["misuse_test"]),
    "no_priority_inheritance": ("resource.hpp", r"PTHREAD_PRIO_INHERIT", r"PTHREAD_PRIO_NONE",
                                ["locked_resource_test"]),
    "arena_takes_any_free": ("source.hpp", r"return block == nullptr \? FLAT_OK : FLAT_FOREIGN_POINTER;",
                             r"return FLAT_OK;", ["misuse_test", "allocator_test"]),
    "handler_not_called": ("misuse.hpp", r"handler = current_misuse_handler\(\)\.load\([^)]*\)", r"handler = nullptr",
                           ["misuse_test", "allocator_test"]),
    "line_says_less": ("misuse.hpp", r"\(%zu bytes\)", r"%zu bytes", ["misuse_test", "allocator_test"]),
    "double_free_called_foreign": ("misuse.hpp", r"status == FLAT_DOUBLE_FREE +\?", r"status == FLAT_CORRUPTED ?",
                                   ["misuse_test", "allocator_test"]),
    "tracking_loses_the_peak": ("tracking_resource.hpp", r"row\.live > row\.peak_live", r"row.live < row.peak_live",
                                ["tracking_resource_test"]),
    "tracking_rows_off_by_one": ("tracking_resource.hpp", r"\(last / 16\)", r"((last + 1) / 16)",
                                 ["tracking_resource_test"]),
    "tracking_quarters_rounded_down": ("tracking_resource.hpp", r"last >> \(bit - 2\) & 3", r"last >> (bit - 1) & 1",
                                       ["tracking_resource_test"]),
    "tracking_total_not_rounded": ("tracking_resource.hpp", r"\(counted\(bytes\) \+ 15\) / 16 \* 16",
                                   r"counted(bytes)", ["tracking_resource_test"]),
    "tracking_takes_any_size": ("tracking_resource.hpp", r"table_\[row_of\(bytes\)\]\.live > 0 &&", r"", ["misuse_test"]),
    "tracking_file_unchecked": ("tracking_resource.hpp", r"&& written && std::fflush\(file\) == 0", r"",
                                ["tracking_resource_test"]),
    "allocator_overflow_unnoticed": ("allocator.hpp", r"count > SIZE_MAX / sizeof\(T\)", r"false", ["allocator_test"]),
    "allocator_null_handed_out": ("allocator.hpp", r"__builtin_expect\(block == nullptr, 0\)", r"false",
                                  ["allocator_test"]),
    "allocator_refused_free_unnoticed": ("allocator.hpp", r"__builtin_expect\(status == FLAT_OK, 1\)", r"status >= 0",
                                         ["allocator_test"]),
    "allocator_alignment_forgotten": ("allocator.hpp", r"alignof\(T\) > traits::granule", r"false", ["allocator_test"]),
    "allocators_all_equal": ("allocator.hpp", r"return a\.source\(\) == b\.source\(\);", r"return a.source() && b.source();",
                             ["allocator_test"]),
    "percore_frees_locally": (
        "percore.hpp", r"return flat_percore_free\(of\.set, block\);", r"return flat_percore_free_as(of.shard, block);",
        ["percore_resource_test", "percore_allocator_test"]),
    "percore_local_frees_remotely": (
        "percore.hpp", r"return flat_percore_free_as\(of\.shard, block\);", r"return flat_percore_free(of.set, block);",
        ["percore_allocator_test"]),
    "percore_handle_travels": (
        "percore.hpp", r"(using propagate_on_container_move_assignment = std::)false_type;", r"\1true_type;",
        ["percore_allocator_test"]),
    "percore_handle_swapped": (
        "percore.hpp", r"(using propagate_on_container_swap = std::)false_type;", r"\1true_type;",
        ["percore_allocator_test"]),
    "percore_unequal_in_one_set": ("percore.hpp", r"return a\.set\(\) == b\.set\(\);",
                                   r"return a.shard() == b.shard();", ["percore_allocator_test"]),
    "percore_equal_over_any_upstream": ("percore.hpp", r" && goes_on_as\(\*ours\)", r"", ["percore_resource_test"]),
    "percore_alignment_forgotten": (
        "percore.hpp", r"return flat_percore_aligned_alloc\(of\.shard, alignment, bytes\);",
        r"(void)alignment; return flat_percore_alloc(of.shard, bytes);",
        ["percore_allocator_test"]),
    "percore_without_a_set": ("percore.hpp", r"__builtin_expect\(set != nullptr, 1\)", r"true",
                              ["percore_resource_test", "percore_allocator_test"]),
    "object_ended_twice": ("object_pool.hpp", r"if \(words_\[index\] != live_word\) return FLAT_DOUBLE_FREE;", r"",
                           ["object_pool_test"]),
    "object_interior_taken": ("object_pool.hpp", r"if \(offset % sizeof\(T\) != 0\) return FLAT_INTERIOR_POINTER;", r"",
                              ["object_pool_test"]),
    "object_one_too_many": ("object_pool.hpp", r"fresh_ < N", r"fresh_ <= N", ["object_pool_test"]),
    "object_slot_lost_by_a_throw": ("object_pool.hpp", r"if \(pool != nullptr\) pool->give_back\(index\);", r"",
                                    ["object_pool_test"]),
    "object_busy_mark_forgotten": ("object_pool.hpp", r"words_\[index\] = busy_word;\s*object->", r"object->",
                                   ["object_pool_test"]),
    "object_never_ended": ("object_pool.hpp", r"object->~T\(\);", r"", ["object_pool_test"]),
    "objects_outlive_their_pool": ("object_pool.hpp", r"this->end_all\(\);", r"", ["object_pool_test"]),
    "task_not_destroyed": (
        "engine.hpp", r"(static_cast<void>\(call\(work, here\)\);)\s*if \(!here\.is_deferred\(\)\) work\.~Work\(\);", r"\1",
        OF_ENGINE),
    "deferred_task_destroyed": ("engine.hpp", r"if \(!here\.is_deferred\(\)\) work", r"work", OF_ENGINE),
    "expired_task_run": ("engine.hpp", r"if \(flat_engine_outcome\(in\) == FLAT_TASK_DONE\)", r"", OF_ENGINE),
    "expired_task_not_destroyed": ("engine.hpp", r"task\.always_run = [^;]*;", r"", OF_ENGINE),
    "refused_task_not_destroyed": ("engine.hpp", r"if \(status != FLAT_OK\) placed->~work\(\);", r"",
                                   OF_ENGINE),
    "refused_task_with_a_handle_not_destroyed": ("engine.hpp", r"inside->~work\(\);", r"", OF_ENGINE),
    "refused_grant_lost": ("engine.hpp", r"if \(block != nullptr\) \(void\)flat_engine_release\(submitter, block\);", r"",
                           OF_ENGINE),
    "task_moved_without_a_grant": ("engine.hpp", r"detail::held_grant grant\(submitter_, number, task, sizeof\(work\)\);",
                                   r"\g<0> work gone(std::forward<Callable>(callable));", OF_ENGINE),
    "every_task_in_a_block": ("engine.hpp", r"sizeof\(Work\) <= FLAT_ENGINE_INLINE_BYTES", r"sizeof(Work) == 0",
                              OF_ENGINE),
    "task_on_the_heap": ("engine.hpp", r"const work copied\(", r"delete new int; \g<0>", OF_ENGINE),
    "task_may_throw": ("engine.hpp", r"(std::size_t\)) noexcept \{(\s*worker here)", r"\1 {\2", OF_ENGINE),
    "result_not_kept": ("engine.hpp", r"handle != nullptr && flat_engine_keep\(submitter_, done\.payload\) == FLAT_OK",
                        r"handle != nullptr", OF_ENGINE),
    "kept_result_not_released": ("engine.hpp", r"\(void\)flat_engine_release\(submitter_, block_\);", r";",
                                 OF_ENGINE),
    "handle_given_up_and_found": ("engine.hpp", r"block_->handle = nullptr;", r";", OF_ENGINE),
    "handle_moved_and_not_found": ("engine.hpp", r"if \(block_ != nullptr && !is_ready_\) block_->handle = this;", r"",
                                   OF_ENGINE),
    "outcome_forgotten": ("engine.hpp", r"outcome_ = outcome;", r"(void)outcome;", OF_ENGINE),
    "array_of_another_length": ("engine.hpp", r"\(workers != 0 && workers != to\.worker_count\) \|\|", r"",
                                OF_ENGINE),
    "object_words_too_narrow": ("object_pool.hpp", r"\(N < 65534\)", r"(N < 70000)", ["object_pool_test"]),
}
TESTS = ["resource_test", "resource_model_test", "misuse_test", "tracking_resource_test", "locked_resource_test",
         "allocator_test", "percore_resource_test", "percore_allocator_test", "object_pool_test",
         *OF_ENGINE]


def planted_copy(fault, source, work):
    """The folder of a copy of the headers with the fault in it."""
    shutil.rmtree(work, ignore_errors=True)
    copy = os.path.join(work, "include")
    shutil.copytree(os.path.join(source, "include"), copy)
    if fault != CONTROL:
        header, pattern, replacement, _ = FAULTS[fault]
        plant(fault, os.path.join(copy, "flatline", header), pattern, replacement, header)
    return copy


def build(copy, arguments, test):
    """The program of a test, unoptimised: what counts here is how soon it is built."""
    program = os.path.join(arguments.work, os.path.basename(test))
    tests = os.path.join(arguments.source, "tests")
    if subprocess.run([arguments.compiler, "-std=c++20", "-O0", "-w", "-I", copy, "-I", tests,
                       os.path.join(tests, "resource", test + ".cpp"), *arguments.libraries, "-pthread", "-o",
                       program]).returncode != 0:
        sys.exit("%s does not compile with the fault %s: change it in planted_faults.py" % (test, arguments.fault))
    return program


def main():
    arguments = arguments_of(__doc__, [CONTROL] + list(FAULTS), ("source", "work", "compiler"), lists=("libraries",))
    copy = planted_copy(arguments.fault, arguments.source, arguments.work)
    tests = TESTS if arguments.fault == CONTROL else FAULTS[arguments.fault][3]
    return verdict(arguments.fault, [(test, passes(build(copy, arguments, test))) for test in tests])


if __name__ == "__main__":
    sys.exit(main())
