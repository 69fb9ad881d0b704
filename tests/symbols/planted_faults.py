#!/usr/bin/env python3
"""Plants one fault in a copy of one file of src/symbols, links symbols_test with it, and demands that a test fails.

    planted_faults.py --list
    planted_faults.py --fault NAME --source ROOT --work FOLDER --linker CXX --objects OBJECT... --libraries LIBRARY...

The fault `none` is the control: the file as it is, with which every test must pass. A fault whose place is no longer in
the source is an error, never a pass: change its pattern along with the code. Exit status 0: seen (control: passed).
"""
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True  # keeps the source folder clean
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from planting import CONTROL, TEST_SECONDS, arguments_of, passes, plant, verdict

# name: (file below src/symbols, pattern, replacement, the tests that must see it)
FAULTS = {
    CONTROL: ("site.cpp", r"\A", "", "*"),
    "a_number_of_64_bits_cut_to_32": ("system_call_name.cpp", r" && number <= INT_MAX", "", "system_call_name.*"),
    "the_address_behind_a_call_is_looked_up": ("source_frames.cpp", r"is_return_address && offset > 0 \? offset - 1 : offset",
                                               "offset", "source_frames.look_up*"),
    "inlined_calls_outermost_first": ("source_frames.cpp", r"std::ranges::reverse\(scopes\);", "",
                                      "source_frames.say_the_whole_chain*"),
    "inlined_calls_left_out": ("entries.cpp", r" && tag != DW_TAG_inlined_subroutine", "",
                               "source_frames.say_the_whole_chain*"),
    "every_frame_has_the_innermost_line": ("source_frames.cpp", r"here = call_of\(unit->entries, scope\);", "",
                                           "source_frames.say_the_whole_chain*"),
    "names_as_the_linker_has_them": ("source_frames.cpp", r"!name\.empty\(\)\) return demangled\(name\);",
                                     "!name.empty()) return name;", "source_frames.name_templates*"),
    "symbols_as_the_linker_has_them": ("source_frames.cpp", r"function = demangled\(symbol\);", "function = symbol;",
                                       "source_frames.know_exported*"),
    "namespaces_left_out": ("source_frames.cpp", r"way_to\(unit, dwarf_dieoffset\(&declared\)\)",
                            "std::vector<Dwarf_Die>{declared}", "source_frames.name_templates*"),
    "split_units_not_opened": ("module_file.cpp", r"is_split \? split : unit\.lines", "unit.lines",
                               "source_frames.say_the_whole_chain*"),
    "paths_as_the_compiler_wrote_them": ("entries.cpp", r"\.lexically_normal\(\)", "", "source_frames.find_the_source*"),
    "symbols_that_begin_before_others_left_out": ("symbol_index.cpp", r"std::prev\(each\)->furthest > address;\) \{",
                                                  "std::prev(each)->end > address;) {", "symbol_index.*"),
    "symbols_of_one_file_are_as_good": ("symbol_index.cpp", r"if \(\(one\.binding == local\)[^;]*;", "", "symbol_index.*"),
    "the_longer_of_two_symbols": ("symbol_index.cpp", r"one\.end < other\.end", "one.end > other.end", "symbol_index.*"),
    "labels_count_before_the_end_of_others": ("symbol_index.cpp", r"std::prev\(each\)->begin >= last_end", "true",
                                              "symbol_index.*"),
    "labels_count_in_other_sections": ("symbol_index.cpp", r" \|\| !is_of_section\(address, each->section\)", "",
                                       "symbol_index.*"),
    "variables_of_threads_have_addresses": ("symbol_index.cpp", r" && type != STT_TLS", "", "symbol_index.*"),
    "debug_links_not_followed": ("module_file.cpp", r"by_id >= 0 \|\| link == nullptr", "true || link == nullptr",
                                 "source_frames.find_a_debug_file_by_the_link*"),
    "checksums_not_compared": ("module_file.cpp", r"file, link, checksum, found\)", "file, link, 0, found)",
                               "source_frames.refuse*"),
    "build_ids_not_looked_for": ("module_file.cpp", r"const int by_id = [^;]*;", "const int by_id = -1;",
                                 "source_frames.find_a_debug_file_by_build_id"),
    "servers_are_asked": ("module_file.cpp", r"find_debuginfo\(nameless,", "find_debuginfo(module,", "*never_ask*"),
    "a_file_is_opened_again": ("source_frames.cpp", r"if \(module == nullptr\) \{", "{", "source_frames.keep*"),
    "parts_of_a_file_believed": ("whole_file.cpp", r"return offset <= whole && size <= whole - offset;", "return true;",
                                 "damaged_files.*"),
    "objects_taken_for_programs": ("whole_file.cpp", r"header\.e_type != ET_EXEC && header\.e_type != ET_DYN",
                                   "header.e_type == ET_CORE", "damaged_files.*"),
    "a_pipe_is_waited_for": ("module_file.cpp", r" \| O_NONBLOCK", "", "damaged_files.*"),
    "a_standard_header_is_a_site": ("site.cpp", r" \|\| is_standard_header\(frame\.file\)", "", "site.is_the_line*"),
    "namespace_std_is_a_site": ("site.cpp", r"is_of_namespace_std\(frame\.function\)", "false", "site.skips*"),
    "what_a_function_returns_is_taken_for_its_name": ("site.cpp", r"name = without_return_type\(function\);",
                                                      "name = function;", "site.skips*"),
    "the_run_time_is_a_site": ("site.cpp", r"is_run_time_library\(frame\.module\) \|\| ", "", "site.skips*"),
    "the_preload_is_a_site": ("site.cpp", r'name\.starts_with\("libflatline-"\) \|\| ', "", "site.skips*"),
    "operator_new_is_a_site": ("site.cpp", r"!is_allocation_operator\(frame\.function\) && ", "", "site.is_never*"),
    "the_innermost_frame_without_a_line": ("site.cpp", r"if \(site == stack\.end\(\)\)\s*site", "if (false) site",
                                           "site.is_the_innermost*"),
}
HANGING = {"a_pipe_is_waited_for": 3}  # seconds after which a fault is seen


def compiled(fault, source, work, compiler):
    """The object of the copy with the fault in it, whose headers come from src/symbols."""
    file, pattern, replacement, _ = FAULTS[fault]
    os.makedirs(work, exist_ok=True)
    copy = os.path.join(work, file)
    shutil.copyfile(os.path.join(source, "src", "symbols", file), copy)
    plant(fault, copy, pattern, replacement, "src/symbols/" + file)
    made = os.path.splitext(copy)[0] + ".o"
    subprocess.run([compiler, "-std=c++20", "-O0", "-fPIC", "-w", "-DNDEBUG", "-I", os.path.join(source, "src", "symbols"),
                    "-I", os.path.join(source, "src"), "-c", copy, "-o", made], check=True)
    return made


def main():
    arguments = arguments_of(__doc__, FAULTS, ("source", "work", "linker"), lists=("objects", "libraries"))
    made = compiled(arguments.fault, arguments.source, arguments.work, arguments.linker)
    program = os.path.join(arguments.work, "symbols_test")
    # The linker takes this object instead of the library's copy, because it comes first.
    subprocess.run([arguments.linker, *arguments.objects, made, *arguments.libraries, "-ldw", "-lelf", "-liberty",
                    "-lfmt", "-lseccomp", "-pthread", "-o", program], check=True)
    tests = FAULTS[arguments.fault][3]
    seconds = HANGING.get(arguments.fault, TEST_SECONDS)
    return verdict(arguments.fault, [(tests, passes(program, "--gtest_filter=" + tests, seconds=seconds))])


if __name__ == "__main__":
    sys.exit(main())
