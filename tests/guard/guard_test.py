"""What `flatline guard` finds in programs whose violations are marked, and how it treats programs that it cannot guard.

usage: guard_test.py FLATLINE PROGRAMS [TEST...]
(PROGRAMS: the folder with the programs and libraries that tests/guard/CMakeLists.txt builds)
"""

import collections
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest

FLATLINE, PROGRAMS = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
SOURCES = pathlib.Path(__file__).resolve().parent
MARK = re.compile(r"// guard: (.*)")
WAITS = ("lock wait", "system call")  # a thread may wake without reason, and wait again


def marks_of(*names):
    """The (file, line, kind) of all marks in these sources."""
    found = []
    for name in names:
        for number, line in enumerate((SOURCES / name).read_text(encoding="utf-8").splitlines(), 1):
            mark = MARK.search(line)
            found += [(name, number, kind) for kind in mark.group(1).split(", ")] if mark else []
    return found


def guard(*arguments, **options):
    return subprocess.run([str(FLATLINE), "guard", *(str(each) for each in arguments)], capture_output=True, text=True,
                          timeout=60, **options)


class Guard(unittest.TestCase):
    maxDiff = None

    def found_in(self, *arguments, status=0, **options):
        """The document that a run leaves, of which nothing else is printed on standard output."""
        result = guard("--json", self.json, *arguments, **options)
        self.assertEqual(result.returncode, status, result.stderr)
        self.text, self.output = result.stderr, result.stdout
        return json.loads(pathlib.Path(self.json).read_text(encoding="utf-8"))

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.json = str(self.folder / "found.json")

    def assert_refused(self, result, *parts, before=""):
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        self.assertEqual(result.stdout, before)
        for part in ("flatline guard: ", *parts):
            self.assertIn(part, result.stderr)

    def assert_as_marked(self, document, *sources):
        def site(violation):
            return (os.path.basename(violation["site"]["file"]), violation["site"]["line"], violation["kind"])

        found, marked = (collections.Counter(each) for each in (map(site, document["violations"]), marks_of(*sources)))
        self.assertEqual((found - marked, marked - found), ({}, {}), "found without a mark, marked and not found")
        for each in document["violations"]:
            if each["kind"] not in WAITS:
                self.assertEqual(each["count"], 1, each)

    def test_each_violation_is_found_once_at_its_line_and_nothing_else(self):
        document = self.found_in("--warm-up", "1", "--", PROGRAMS / "violations", PROGRAMS / "liblate.so")
        self.assertEqual(self.output, "done\n")
        self.assert_as_marked(document, "violations.cpp", "late.cpp")
        self.assertEqual(document["schema"], "flatline.guard/1")
        self.assertEqual(document["kinds_unavailable"], [])
        self.assertEqual(document["warnings"], [])

    def test_a_violation_has_its_section_thread_and_stack(self):
        document = self.found_in("--warm-up", "1", "--", PROGRAMS / "violations", PROGRAMS / "liblate.so")
        sections = {each["section"].split("::")[-1].split("(")[0]: each for each in document["violations"]}
        nested, own = sections["in_a_nested_call"], sections["allocate_in_a_section"]
        functions = [frame["function"].split("::")[-1] for frame in nested["stack"]]
        self.assertEqual(functions[:4], ["third()", "second()", "in_a_nested_call()", "main"])
        self.assertNotEqual(nested["thread"], own["thread"])
        self.assertEqual(sections["by_getpid"]["system_call"], "getpid")
        for each in document["violations"]:
            self.assertNotIn("flat_guard", json.dumps(each["stack"]))
        self.assertRegex(self.text, r"(?m)^  > .*third\(\) .*violations.cpp:\d+$")


    def test_a_function_is_a_section_by_its_name_alone(self):
        if os.uname().machine != "x86_64":
            self.skipTest("--section works on x86-64 alone")
        names = re.findall(r"(?:void|Numbers|double|int) (named_\w+)\(", (SOURCES / "named.cpp").read_text()) + ["late_call"]
        sections = [word for name in names for word in ("--section", name)]
        document = self.found_in("--warm-up", "1", *sections, "--", PROGRAMS / "named", PROGRAMS / "liblate.so")
        self.assertEqual(self.output, "done\n")
        self.assert_as_marked(document, "named.cpp", "late.cpp")
        self.assertEqual({each["section"] for each in document["violations"]}, set(names))

    def test_a_function_that_cannot_be_a_section_is_refused_with_the_reason(self):
        if os.uname().machine != "x86_64":
            self.skipTest("--section works on x86-64 alone")
        for section, reason in ("too_short", "5 bytes"), ("late_call", "export no such function"):
            result = guard("--section", section, "--", PROGRAMS / ("named" if section == "too_short" else "cases"), "section")
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertRegex(result.stderr.splitlines()[-1], "^flatline guard: .*--section %s: .*%s" % (section, reason))

    def cases(self, *arguments, before=(), **options):
        return self.found_in(*before, "--", PROGRAMS / "cases", *arguments, **options)

    def kinds(self, document):
        return sorted((each["kind"], each["count"]) for each in document["violations"] if each["kind"] != "page fault")

    def test_the_status_is_the_programs_unless_a_violation_is_to_fail(self):
        self.assertEqual(self.kinds(self.cases("section", status=4)), [("free", 1), ("malloc", 1)])
        self.assertEqual(self.output, "ended\n")
        self.cases("section", before=["--fail"], status=1)
        self.assertEqual(self.cases("section", before=["--fail", "--warm-up", "1"], status=4)["violations"], [])

    def test_a_program_without_a_section_is_no_pass(self):
        for options in [], ["--fail"]:
            result = guard(*options, "--", PROGRAMS / "cases", "nothing")
            self.assertEqual(result.returncode, 2)
            self.assertIn("entered no section", result.stderr.splitlines()[-1])
        result = guard("--warm-up", "5", "--", "true")
        self.assertEqual(result.returncode, 2)

    def test_known_violations_are_accepted_and_unused_suppressions_told(self):
        known = self.folder / "known.supp"
        known.write_text("# accepted\nmalloc:alloc*\nfree:section\npage fault:*\nsystem call:write\n")
        document = self.cases("section", before=["--fail", "--suppress", known], status=4)
        unused = [each for each in document["unused_suppressions"] if each != "page fault:*"]  # there may be none
        self.assertEqual((document["violations"], unused), ([], ["system call:write"]))
        self.assertGreaterEqual(document["suppressed"], 2)
        self.assertIn("matched nothing: system call:write", self.text)
        for lines, left in ("malloc:other", ["free", "malloc"]), ("malloc:allocate", ["free"]), ("free:a*", ["malloc"]):
            known.write_text(lines + "\n")
            document = self.cases("section", before=["--suppress", known], status=4)
            self.assertEqual([kind for kind, _ in self.kinds(document)], left)
        known.write_text("malloc:a\nmalice:alloc*\n")
        self.assert_refused(guard("--suppress", known, "--", "true"), "known.supp:2", "KIND is malloc, free")

    def test_a_line_that_is_no_suppression_is_told_by_its_number_and_not_by_its_bytes(self):
        for line in (b"\x1b[31m:x", b"\xff\xfe", b"malloc", b"malloc:", b":f", b"mallok:f"):
            file = self.folder / "known"
            file.write_bytes(b"# known\nmalloc:f\n" + line + b"\n")
            result = guard("--suppress", file, "--", "true")
            self.assert_refused(result, "known:3: ", "KIND is malloc, free, system call, ", " or exception")
            self.assertNotIn("\x1b", result.stderr)

    def test_the_list_of_suppressions_is_not_overwritten(self):
        file = self.folder / "known"
        file.write_text("malloc:f\n")
        self.assert_refused(guard("--suppress", file, "--json", file, "--", "true"), "--json", "overwrite")
        self.assertEqual(file.read_text(), "malloc:f\n")

    def test_a_program_that_handles_the_signals_of_the_guard_is_refused(self):
        for signal_name in "sigsys", "sigtrap":
            self.assert_refused(guard("--", PROGRAMS / "cases", signal_name), signal_name.upper())
        self.assert_refused(guard("--", PROGRAMS / "cases", "sigsys-late"), "SIGSYS", before="ended\n")

    def test_a_program_that_takes_or_blocks_the_signal_by_a_system_call_is_refused(self):
        for how in "sigsys-taken", "sigsys-blocked":
            self.assert_refused(guard("--", PROGRAMS / "cases", how), "blocks or takes SIGSYS")

    def test_handlers_are_guarded_while_the_program_waits_with_a_mask(self):
        found = [each["system_call"] for each in self.cases("masked")["violations"] if "system_call" in each]
        self.assertEqual(found, 6 * ["getppid"])

    def test_a_library_that_is_bound_to_itself_is_refused(self):
        self.assert_refused(guard("--", PROGRAMS / "cases", "apart", PROGRAMS / "liblate.so"), "dlmopen", "liblate")
        self.assert_refused(guard("--", PROGRAMS / "cases", "deep", PROGRAMS / "liblate.so"), "RTLD_DEEPBIND", "liblate")

    def test_programs_into_which_nothing_can_be_preloaded_are_refused(self):
        self.assert_refused(guard("--", PROGRAMS / "static", "section"), "statically")
        self.assert_refused(guard("--", PROGRAMS / "own_malloc"), "its own malloc")
        result = guard("--", "env", "-u", "LD_PRELOAD", PROGRAMS / "cases", "section")
        self.assertEqual((result.returncode, result.stdout in ("", "ended\n")), (2, True), result.stderr)

    def test_a_program_behind_another_is_refused_while_it_runs(self):
        result = guard("--", "sh", "-c", "exec %s slow" % (PROGRAMS / "static"))
        self.assert_refused(result, "statically", " executed)")

    def test_signals_reach_the_program(self):
        command = [FLATLINE, "guard", "--", "sh", "-c",
                   "trap 'echo got it; exit 5' TERM; echo ready; while :; do sleep 0.01; done"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as started:
            self.assertEqual(started.stdout.readline(), "ready\n")
            started.send_signal(signal.SIGTERM)
            self.assertEqual(started.stdout.read(), "got it\n")
            self.assertIn("entered no section", started.stderr.read())

    def test_the_report_survives_the_program(self):
        for how, number in ("kill", signal.SIGKILL), ("crash", signal.SIGSEGV), ("trap", signal.SIGTRAP), (
                "sigsys-sent", signal.SIGSYS):
            self.assertEqual(self.kinds(self.cases(how, status=128 + number)), [("free", 1), ("malloc", 1)], how)

    def test_a_fork_and_its_child_go_on_in_the_section(self):
        document = self.cases("fork")
        found = [(each["kind"], each.get("system_call"), each["process"]) for each in document["violations"]]
        self.assertEqual(len([each for each in found if each[0] == "malloc"]), 2)
        self.assertEqual(len({process for kind, _, process in found if kind == "malloc"}), 2)
        self.assertEqual([call for kind, call, _ in found if kind == "system call"].count("clone"), 1)
        self.assertEqual(document["warnings"], [])

    def test_a_child_that_is_made_by_a_system_call_is_guarded_as_a_process_of_its_own(self):
        document = self.cases("clone")
        found = collections.Counter((each.get("system_call", each["kind"]), each["process"]) for each in document["violations"])
        (parent,) = {process for what, process in found if what == "clone"}
        children = {process for what, process in found if what == "malloc"} - {parent}
        self.assertEqual((len(children), found["clone", parent]), (2, 2), found)
        for what in "malloc", "free", "getppid":
            self.assertEqual((found[what, parent], [found[what, child] for child in children]), (2, [1, 1]), found)
        self.assertRegex(" ".join(document["warnings"]), "1 time the rest of a section was not watched")
        self.assertEqual((document["entries"], document["threads"]), (3, 3))

    def test_a_section_is_watched_on_behind_what_a_handler_cannot_do(self):
        document = self.cases("spawn")
        found = collections.Counter(each.get("system_call", each["kind"]) for each in document["violations"])
        self.assertEqual([found[name] for name in ("vfork", "malloc", "free", "getpid", "getppid")], [1, 1, 1, 1, 1], found)
        self.assertEqual(found["clone"] + found["clone3"], 1, found)
        self.assertEqual(document["warnings"], [])
        document = self.cases("stack")
        found = collections.Counter(each.get("system_call", each["kind"]) for each in document["violations"])
        self.assertEqual((found["sigaltstack"], found["getppid"]), (2, 1), found)

    def test_the_next_program_is_guarded_too(self):
        document = self.cases("exec", status=4)
        self.assertEqual(self.kinds(document), [("free", 1), ("malloc", 1), ("system call", 1)])

    def test_a_section_is_watched_on_behind_a_signals_handler(self):
        calls = {each["system_call"] for each in self.cases("signal")["violations"] if each["kind"] == "system call"}
        self.assertIn("getpid", calls)
        self.assertNotIn("rt_sigreturn", calls)

    def faults_and_calls(self, document):
        return sorted((each["kind"], each["count"], each["site"]["function"]) for each in document["violations"])

    def test_each_page_is_a_fault(self):
        document = self.cases("touch", before=["--warm-up", "1"])
        self.assertEqual(self.faults_and_calls(document), [("page fault", 3, "touch"), ("page fault", 7, "touch"),
                                                           ("system call", 1, "touch_in_section")])

    def test_without_perf_the_faults_of_a_section_are_counted_and_this_is_told(self):
        document = self.cases("without", "perf", "touch", before=["--warm-up", "1"])
        found = self.faults_and_calls(document)
        self.assertEqual([each[0] for each in found], ["page fault", "system call"])
        self.assertTrue(10 <= found[0][1] <= 12, found)  # the guard's own may be among them
        self.assertEqual(found[0][2], "touch_in_section")
        self.assertEqual(len(document["warnings"]), 1)
        self.assertRegex(document["warnings"][0], "counted by section.*Operation not permitted")

    def test_without_dispatch_it_is_told_what_cannot_be(self):
        document = self.cases("without", "dispatch", "touch", before=["--warm-up", "1"])
        self.assertEqual([each["kind"] for each in document["violations"]], ["page fault", "page fault"])
        self.assertEqual([each.split(" (")[0] for each in document["kinds_unavailable"]], ["system call", "lock wait"])
        self.assertRegex(self.text, r"(?m)^flatline guard: not watched: system call \(")

    def test_a_realtime_thread_is_in_a_section_between_its_waits(self):
        result = subprocess.run([PROGRAMS / "cases", "realtime"], capture_output=True, check=False)
        if result.returncode == 77:
            self.skipTest("the system refuses SCHED_FIFO")
        document = self.cases("realtime", before=["--realtime"])
        self.assertEqual({each["section"] for each in document["violations"]}, {"real-time thread"})
        self.assertEqual([(each["kind"], each["count"], each["site"]["function"]) for each in document["violations"]
                          if each["kind"] != "page fault"], [("malloc", 3, "work")])

    def test_a_section_that_is_jumped_out_of_is_told(self):
        document = self.cases("jump")
        self.assertEqual(len(document["warnings"]), 1)
        self.assertRegex(document["warnings"][0], "jump_in_section was entered 2 more times without having been left")

    def test_other_mallocs_are_watched_alike(self):
        document = self.found_in("--under", "flatline-malloc", "--warm-up", "1", "--", PROGRAMS / "violations",
                                 PROGRAMS / "liblate.so")
        self.assert_as_marked(document, "violations.cpp", "late.cpp")
        self.assert_refused(guard("--under", "no-such.so", "--", "true"), "--under", "no-such.so")

    def test_what_is_no_malloc_does_not_pass_for_one(self):
        for file, why in ((__file__, "is no shared library"), (PROGRAMS / "liblate.so", "has no malloc"),
                          (self.folder, "is no shared library")):
            self.assert_refused(guard("--under", file, "--", "true"), "--under: %s %s" % (file, why))

    def test_the_report_has_lines_of_100_columns_whatever_the_names_are(self):
        self.found_in("--warm-up", "1", "--", PROGRAMS / "violations", PROGRAMS / "liblate.so")
        shown = self.text.splitlines()
        self.assertTrue(any("new_allocator" in line for line in shown), self.text)
        self.assertEqual([line for line in shown if len(line) > 100], [])

    def test_flatlines_own_memory_is_silent(self):
        document = self.found_in("--fail", "--warm-up", "1", "--", PROGRAMS / "silent")
        self.assertEqual((document["violations"], document["entries"]), ([], 4))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
