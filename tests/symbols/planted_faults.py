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

from planting import CONTROL, arguments_of, passes, plant, verdict

# name: (file below src/symbols, pattern, replacement)
FAULTS = {
    CONTROL: ("site.cpp", r"\A", ""),
    "the_address_behind_a_call_is_looked_up": ("source_frames.cpp", r"is_return_address && offset > 0 \? offset - 1 : offset",
                                               "offset"),
    "inlined_calls_outermost_first": ("source_frames.cpp", r"std::ranges::reverse\(scopes\);", ""),
    "inlined_calls_left_out": ("entries.cpp", r" && tag != DW_TAG_inlined_subroutine", ""),
    "every_frame_has_the_innermost_line": ("source_frames.cpp", r"here = call_of\(unit->entries, scope\);", ""),
    "names_as_the_linker_has_them": ("source_frames.cpp", r"!name\.empty\(\)\) return demangled\(name\);",
                                     "!name.empty()) return name;"),
    "symbols_as_the_linker_has_them": ("source_frames.cpp", r"function = demangled\(symbol\);", "function = symbol;"),
    "namespaces_left_out": ("source_frames.cpp", r"for \(Dwarf_Die &entry : way_to\([^{]*\{",
                            "{ Dwarf_Die &entry = declared;"),
    "split_units_not_opened": ("module_file.cpp", r"is_split \? split : unit\.lines", "unit.lines"),
    "relative_paths_left_as_they_are": ("entries.cpp", r"return \(std::filesystem::path\(folder\) / file\)[^;]*;",
                                        "return file;"),
    "debug_links_not_followed": ("module_file.cpp", r"by_id >= 0 \|\| link == nullptr", "true || link == nullptr"),
    "checksums_not_compared": ("module_file.cpp", r"file, link, checksum, found\)", "file, link, 0, found)"),
    "build_ids_not_looked_for": ("module_file.cpp", r"const int by_id = [^;]*;", "const int by_id = -1;"),
    "servers_are_asked": ("module_file.cpp", r"find_debuginfo\(nameless,", "find_debuginfo(module,"),
    "a_file_is_opened_again": ("source_frames.cpp", r"if \(module == nullptr\) \{", "{"),
    "what_was_found_is_looked_for_again": ("source_frames.cpp", r"if \(!is_new\) return frames;", ""),
    "parts_of_a_file_believed": ("whole_file.cpp", r"return offset <= whole && size <= whole - offset;", "return true;"),
    "objects_taken_for_programs": ("whole_file.cpp", r"header\.e_type != ET_EXEC && header\.e_type != ET_DYN",
                                   "header.e_type == ET_CORE"),
    "a_pipe_is_waited_for": ("module_file.cpp", r" \| O_NONBLOCK", ""),
    "a_standard_header_is_a_site": ("site.cpp", r" \|\| is_standard_header\(frame\.file\)", ""),
    "namespace_std_is_a_site": ("site.cpp", r"is_of_namespace_std\(frame\.function\)", "false"),
    "what_a_function_returns_is_taken_for_its_name": ("site.cpp", r"const std::string_view name = without_return_type\(function\);",
                                                      "const std::string_view name = function;"),
    "the_run_time_is_a_site": ("site.cpp", r"is_run_time_library\(frame\.module\) \|\| ", ""),
    "the_preload_is_a_site": ("site.cpp", r'name\.starts_with\("libflatline-"\) \|\| ', ""),
    "operator_new_is_a_site": ("site.cpp", r"!is_allocation_operator\(frame\.function\) && ", ""),
    "the_innermost_frame_without_a_line": ("site.cpp", r"if \(site == stack\.end\(\)\)\s*site =[^;]*;", ""),
}


def compiled(fault, source, work, compiler):
    """The object of the copy with the fault in it, whose headers come from src/symbols."""
    file, pattern, replacement = FAULTS[fault]
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
                    "-lfmt", "-pthread", "-o", program], check=True)
    return verdict(arguments.fault, [("symbols_test", passes(program, seconds=10))])


if __name__ == "__main__":
    sys.exit(main())
