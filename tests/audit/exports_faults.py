#!/usr/bin/env python3
"""Plants one fault in a copy of one file that shows findings, links a test with it, and demands that the test fails.

    exports_faults.py --list
    exports_faults.py --fault NAME --source ROOT --work FOLDER --linker CXX --objects OBJECT... --made OBJECT...
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

CAUSE, READABLE, FLAME = "audit/cause.cpp", "audit/readable.cpp", "audit/flame.cpp"
PPROF, TRACE, FOLDED = "audit/pprof_profile.cpp", "audit/chrome_trace.cpp", "audit/folded_stacks.cpp"
FRAME = "cli/frame_text.cpp"
DOCUMENT, TEXT, ADVICE, WORDS = ("cli/audit_%s.cpp" % name for name in ("document", "text", "advice", "words"))
EXPORTED = (PPROF, TRACE, FOLDED)  # exports_test.py sees these, and a test of GoogleTest all others
# name: (file below src, pattern, replacement)
FAULTS = {
    CONTROL: (TEXT, r"\A", ""),
    CONTROL + "_in_a_profile": (PPROF, r"\A", ""),
    "a_lock_called_by_its_system_call": (CAUSE, r"cause\.kind != CauseKind::system_call \|\| ", ""),
    "terminals_commanded": (READABLE, r"text \+= '\?';", "text += each.bytes;"),
    "a_letter_cut_in_half": (READABLE, r"kept \+= each\.bytes;", "kept += each.bytes.substr(0, 1);"),
    "worst_calls_added_up": (FLAME, r"node\.max_ns = std::max\(node\.max_ns, way\.stack->max_ns\);",
                             "node.max_ns += way.stack->max_ns;"),
    "what_ends_in_a_caller_forgotten": (FLAME, r"while \(!ways\.empty\(\) && ways\.front\(\)\.names\.size\(\) == depth\)",
                                        "while (ways.front().names.size() <= depth + 1)"),
    "a_document_that_throws": (DOCUMENT, r"error_handler_t::replace", "error_handler_t::strict"),
    "the_innermost_frame_as_the_site": (DOCUMENT, r"frame_json\(stall\.stack\[stall\.site\]\)", "frame_json(stall.stack[0])"),
    "a_stack_from_the_innermost": (TEXT, r"subspan\(stall\.site\)", "subspan(0)"),
    "names_of_any_length": (FRAME, r"audit::without_end\(name, room - [^}]*\)\)", "name"),
    "places_cut_where_there_is_room": (FRAME, r"std::max\(place_width, beside_name\)", "place_width"),
    "files_by_their_whole_path": (FRAME, r"below \? frame\.file\.substr\(here\.size\(\)\) : ", ""),
    "callers_of_the_standard_library_shown": (TEXT, r" && symbols::is_the_programs_own\(frame\)", ""),
    "failures_not_said": (TEXT, r"text \+= ending_text\(findings, look\);", ""),
    "every_status_a_signal": (TEXT, r"signal > 0 \? sigdescr_np\(signal\) : nullptr", "strsignal(signal)"),
    "processes_not_counted": (TEXT, r"processes\.size\(\) < 2 \? threads : ", "true ? threads : "),
    "percentiles_of_calls_that_were_not_timed": (TEXT, r"if \(findings\.timed\) text \+= section", "text += section"),
    "details_cut_off": (TEXT, r"end_line\(\);\s*line\.clear\(\);", ""),
    "all_stalls_shown": (TEXT, r"std::min\(all\.size\(\), most_stalls_shown\)", "all.size()"),
    "missing_causes_not_said": (TEXT, r"text \+= told\(\"Not told\"[^;]*;", ""),
    "a_remainder_that_is_not_told": (TEXT, r'\+ "\." \+ remains', '+ ". What remains is own work." + remains'),
    "dropped_calls_not_said": (TEXT, r"if \(findings\.dropped == 0\) return", "return"),
    "advice_on_what_does_not_occur": (ADVICE, r"if \(stall\.cause\.kind != kind\) continue;", ""),
    "long_words_in_sentences": (WORDS, r"audit::without_end\(std::string_view\(clean\)\.substr\(at, end - at\), columns\)",
                                "clean.substr(at, end - at)"),
    "inlined_calls_at_addresses_of_their_own": (PPROF, r"std::ranges::find\(left, false, &symbols::SourceFrame::inlined\)",
                                                "left.begin()"),
    "strings_of_any_bytes": (PPROF, r"std::string clean = readable\(any\);", "std::string clean = any;"),
    "counts_that_turn_negative": (PPROF, r"count > static_cast<std::uint64_t>\(most\) \? most : ", "count == 0 ? most : "),
    "a_library_names_the_profile": (PPROF, r"writer\.add_program\([^;]*;", ";"),
    "no_first_text": (PPROF, r"text\(\"\"\);", ""),
    "a_stack_for_every_call": (TRACE, r"call\.at_ns != stall\.at_ns \|\| call\.duration_ns != stall\.max_ns", "false"),
    "a_trace_in_ns": (TRACE, r"/ 1000", "/ 1"),
    "a_trace_that_throws": (TRACE, r"error_handler_t::replace", "error_handler_t::strict"),
    "calls_without_their_thread": (TRACE, r"\{\"tid\", thread\.thread\},\s*\{\"args\", args_of", '{"tid", 1}, {"args", args_of'),
    "semicolons_in_names": (FOLDED, r"std::ranges::replace\(word, ';', ':'\);", ""),
    "lines_of_the_same_stack": (FOLDED, r"std::string word = readable\(\*name\);", "std::string word = *name;"),
}


def compile_copy(fault, arguments):
    """The object of the copy, whose own headers come from the source."""
    file, pattern, replacement = FAULTS[fault]
    os.makedirs(arguments.work, exist_ok=True)
    copy = os.path.join(arguments.work, os.path.basename(file))
    source = os.path.join(arguments.source, "src")
    shutil.copyfile(os.path.join(source, file), copy)
    plant(fault, copy, pattern, replacement, "src/" + file)
    result = copy.replace(".cpp", ".o")
    subprocess.run([arguments.linker, "-std=c++20", "-O0", "-fPIC", "-w", "-DNDEBUG", "-I",
                    os.path.join(source, os.path.dirname(file)), "-I", source, "-I", os.path.join(arguments.source, "include"),
                    "-c", copy, "-o", result], check=True)
    return result


def main():
    arguments = arguments_of(__doc__, FAULTS, ("source", "work", "linker"), lists=("objects", "made", "libraries"))
    exported = FAULTS[arguments.fault][0] in EXPORTED
    program = os.path.join(arguments.work, "made-exports" if exported else "audit_exports_test")
    # The linker takes the copy's object instead of the library's, because it comes first.
    subprocess.run([arguments.linker, *(arguments.made if exported else arguments.objects),
                    compile_copy(arguments.fault, arguments), *arguments.libraries, "-ldw", "-lelf", "-liberty",
                    "-lfmt", "-lseccomp", "-lunistring", "-lz", "-pthread", "-o", program], check=True)
    if not exported:
        return verdict(arguments.fault, [("audit_exports_test", passes(program))])
    result = subprocess.run([sys.executable, "-B", os.path.join(HERE, "exports_test.py"), program], text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    print("  " + (result.stdout.strip().splitlines() or [""])[-1])
    return verdict(arguments.fault, [("exports_test.py", result.returncode == 0)])


if __name__ == "__main__":
    sys.exit(main())
