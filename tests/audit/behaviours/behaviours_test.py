"""A program under `flatline audit` does what it does without, and every call that it makes is counted.

usage: behaviours_test.py FLATLINE BINARIES          (BINARIES: one_behaviour, operators, counted_unwinds, liblate_library.so,
                                                      the filters)
"""
import json
import os
import pathlib
import platform
import pwd
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

FLATLINE, BINARIES = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
ROUNDS, THREADS, BUSY = 50, 1000, 800000  # as in one_behaviour.c
JEMALLOC = pathlib.Path("/usr/lib/x86_64-linux-gnu/libjemalloc.so.2")
SECONDS = 60


def calls_in(report):
    """What the recording has, by the curves: every call is in one of them, save malloc_trim's."""
    return report["allocating"]["all"]["count"] + report["freeing"]["all"]["count"]


def limited(which, value):
    def limit():
        resource.setrlimit(which, (value, value))
    return limit


class Audited(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.folder.chmod(0o777)
        self.report = self.folder / "audit.json"
        self.recording = self.folder / "recording"

    def flatline(self, *words, before=(), environment=None, **more):
        self.report.unlink(missing_ok=True)
        return subprocess.run([*before, FLATLINE, "audit", *words], cwd=self.folder, capture_output=True, timeout=SECONDS,
                              check=False, env=dict(os.environ, **(environment or {})), **more)

    def audit(self, program, name, *options, status=0, **more):
        """The report of an audit of one behaviour, whose exit status must be `status`."""
        run = self.flatline("--json", self.report, *options, "--", BINARIES / program, name, **more)
        self.assertEqual(run.returncode, status, run.stderr.decode(errors="replace"))
        self.run_of_audit = run
        return json.loads(self.report.read_text(encoding="utf-8"))

    def counted(self, program, name, *options, status=0, **more):
        """The calls beyond those that every such program makes. None is dropped."""
        report = self.audit(program, name, *options, status=status, **more)
        self.assertEqual(report["dropped"], 0)
        return report["calls"] - self.audit(program, "nothing", *options, **more)["calls"]

    def assert_refused(self, run, *words):
        """It could not be run: exit status 2, and one line that says why."""
        lines = run.stderr.decode(errors="replace").splitlines()
        self.assertEqual((run.returncode, len(lines)), (2, 1), lines)
        self.assertRegex(lines[0], "^flatline( audit)?: ")
        for word in words:
            self.assertIn(word, lines[0])


class EveryCallIsCounted(Audited):
    def test_of_all_functions_of_the_family(self):
        self.assertEqual(self.counted("one_behaviour", "family"), 18 * ROUNDS)
        self.assertEqual(self.counted("one_behaviour", "family_more"), 5 * ROUNDS)

    def test_of_all_operators(self):
        self.assertEqual(self.counted("operators", "all"), 24 * ROUNDS)

    def test_that_fails(self):
        self.assertEqual(self.counted("one_behaviour", "failing"), 8)

    def test_that_throws(self):
        self.assertEqual(self.counted("operators", "refused"), 4 * ROUNDS)
        self.assertEqual(self.counted("operators", "handler"), 2 * ROUNDS)

    def test_of_a_child(self):
        self.assertEqual(self.counted("one_behaviour", "forked"), 4)

    def test_of_a_child_that_is_forked_within_a_call(self):
        self.assertEqual(self.counted("operators", "forks"), 3 + 2)

    def test_of_a_child_that_is_made_by_a_system_call(self):
        self.assertEqual(self.counted("one_behaviour", "forked_by_system_calls"), 6)
        self.assertEqual(len(self.audit("one_behaviour", "forked_by_system_calls")["threads"]), 3)

    def test_of_a_library_that_is_bound_to_itself_and_the_c_library(self):
        deep = {"BEHAVIOURS_LIBRARY": str(BINARIES / "libdeep_library.so")}
        for under in [], ["--under", "flatline-malloc"]:
            with self.subTest(under):
                report = self.audit("one_behaviour", "bound_deeply", *under, environment=deep)
                self.assertGreaterEqual(report["calls"], 6 * ROUNDS)

    def test_of_another_program_in_place(self):
        report = self.audit("one_behaviour", "executed_in_place")
        self.assertEqual(report["calls"], 2 + 18 * ROUNDS)
        self.assertEqual(len(report["threads"]), 2)

    def test_of_children_that_execute_another_program(self):
        for how in ("executed_by_fork", "executed_by_vfork", "spawned"):
            with self.subTest(how):
                self.assertEqual(self.counted("one_behaviour", how), 18 * ROUNDS)

    def test_of_a_thousand_threads_one_after_another(self):
        report = self.audit("one_behaviour", "threads")
        self.assertEqual(report["dropped"], 0)
        self.assertGreaterEqual(report["calls"], 4 * THREADS)
        self.assertEqual(calls_in(report), report["calls"])
        self.assertEqual(sum(thread["calls"] for thread in report["threads"]), report["calls"])
        self.assertLessEqual(len(report["threads"]), THREADS + 1)

    def test_of_threads_at_full_speed_or_dropped_and_counted(self):
        report = self.audit("one_behaviour", "busy")
        self.assertGreaterEqual(report["calls"], BUSY)
        self.assertEqual(calls_in(report) + report["dropped"], report["calls"])

    def test_with_another_allocator(self):
        for under in ["flatline-malloc", *([JEMALLOC] if JEMALLOC.exists() else [])]:
            with self.subTest(under):
                self.assertEqual(self.counted("operators", "all", "--under", under), 24 * ROUNDS)
                self.assertEqual(self.counted("one_behaviour", "forked", "--under", under), 4)

    def test_of_a_library_of_another_language_that_is_loaded_late(self):
        library = BINARIES / "liblate_library.so"
        report = self.audit("one_behaviour", "loaded_late", environment={"BEHAVIOURS_LIBRARY": str(library)})
        self.assertGreaterEqual(report["calls"], 4)
        self.assertEqual(calls_in(report), report["calls"])

    def test_without_perf_and_without_dispatch(self):
        for filter_program in ("refuse_perf", "refuse_dispatch"):
            with self.subTest(filter_program):
                self.assertEqual(self.counted("one_behaviour", "family", before=[BINARIES / filter_program]), 18 * ROUNDS)


class TheProgramDoesWhatItDoesWithout(Audited):
    def test_its_exit_status(self):
        self.audit("one_behaviour", "exits_42", status=42)

    def test_its_death_by_a_signal(self):
        self.audit("one_behaviour", "killed", status=128 + signal.SIGTERM)
        self.audit("one_behaviour", "dies_of_sigsys", status=128 + signal.SIGSYS)

    def test_its_output(self):
        self.audit("one_behaviour", "prints")
        self.assertEqual(self.run_of_audit.stdout, b"to the output\n")
        self.assertTrue(self.run_of_audit.stderr.startswith(b"to the errors\n"))

    def test_its_handler_of_sigsys(self):
        report = self.audit("one_behaviour", "handles_sigsys")
        self.assertEqual(report["dropped"], 0)

    def test_its_handler_of_what_a_filter_of_seccomp_refuses(self):
        self.audit("one_behaviour", "emulates_a_system_call")
        self.audit("one_behaviour", "is_ended_by_a_filter", status=128 + signal.SIGSYS)

    def test_its_signal_mask(self):
        self.assertEqual(self.counted("one_behaviour", "blocks_a_signal"), 2)

    def test_its_handlers_that_run_while_it_waits_with_a_mask(self):
        self.assertEqual(self.counted("one_behaviour", "waits_with_a_mask"), 10)

    def test_what_threads_free_with_all_signals_blocked(self):
        self.audit("one_behaviour", "frees_with_signals_blocked")

    def test_its_threads_on_the_smallest_stacks(self):
        self.audit("one_behaviour", "small_stack")

    def test_its_memory_where_threads_come_and_go(self):
        report = self.audit("one_behaviour", "threads_that_end")
        self.assertEqual(len(report["threads"]), 1 + 53)

    def test_its_other_preloaded_library(self):
        """Which is loaded behind the audit's, and before what is under it."""
        late = BINARIES / "liblate_library.so"
        run = self.flatline("--json", self.report, "--", "/bin/cat", "/proc/self/maps", environment={"LD_PRELOAD": str(late)})
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn(str(late).encode(), run.stdout)
        self.assertIn(b"libflatline-audit.so", run.stdout)

    def test_a_daemon_that_outlives_it(self):
        begin = time.monotonic()
        self.audit("one_behaviour", "outlived")
        self.assertIn(b"outlived\n", self.run_of_audit.stdout)
        self.assertLess(time.monotonic() - begin, SECONDS / 2)

    def test_as_an_ordinary_user(self):
        if os.geteuid() != 0:
            self.skipTest("this is one already")
        nobody = pwd.getpwnam("nobody")
        program = shutil.copy(BINARIES / "one_behaviour", self.folder)
        installed = self.folder / "installed"
        shutil.copytree(FLATLINE.parent, installed / "bin", ignore=lambda *_: [])
        (installed / "lib").mkdir()
        shutil.copy(FLATLINE.parent.parent / "lib" / "libflatline-audit.so", installed / "lib")
        run = subprocess.run(["setpriv", "--reuid", str(nobody.pw_uid), "--regid", str(nobody.pw_gid), "--clear-groups",
                              installed / "bin" / "flatline", "audit", "--json", "-", "--", program, "family"],
                             cwd=self.folder, capture_output=True, timeout=SECONDS, check=False)
        self.assertEqual(run.returncode, 0, run.stderr)
        report = json.loads(run.stdout)
        self.assertEqual((report["calls"] >= 18 * ROUNDS, report["dropped"]), (True, 0))


@unittest.skipUnless(platform.machine() == "x86_64", "stacks are proved on x86-64 alone")
class ASlowCall(Audited):
    def test_from_the_same_place_is_not_unwound_again(self):
        self.audit("counted_unwinds", "repeated", "--over", "1ns")

    def test_by_another_caller_further_out_is_unwound_and_told_with_its_own_stack(self):
        folded = self.folder / "folded"
        self.audit("counted_unwinds", "changed", "--over", "1ns", "--folded", folded)
        self.assertEqual(set(re.findall(r"from_(\w+)_further_out", folded.read_text(encoding="utf-8"))), {"one", "another"})

    def test_or_a_fast_one_through_a_wrapper_is_told_with_its_own_stack(self):
        folded = self.folder / "folded"
        for over in ("1ns", "10s"):
            self.audit("counted_unwinds", "wrapper", "--over", over, "--folded", folded)
            self.assertEqual(set(re.findall(r"by_(\w+)_caller", folded.read_text(encoding="utf-8"))), {"one", "another"})


class TheReportSays(Audited):
    def test_which_causes_are_missing_without_dispatch(self):
        report = self.audit("one_behaviour", "family", before=[BINARIES / "refuse_dispatch"])
        self.assertEqual({each["cause"] for each in report["causes_missing"]}, {"system call", "lock"})
        self.assertIn("Syscall User Dispatch", report["causes_missing"][0]["why"])
        self.assertNotIn("lock", report["causes_available"])

    def test_how_faults_are_counted_without_perf(self):
        report = self.audit("one_behaviour", "family", before=[BINARIES / "refuse_perf"])
        self.assertTrue(any("getrusage" in note for note in report["notes"]), report["notes"])
        self.assertNotIn("first touch", report["causes_available"])

    def test_that_the_program_handles_sigsys(self):
        report = self.audit("one_behaviour", "forked")
        self.assertEqual(report["notes"], [])
        report = self.audit("one_behaviour", "takes_sigsys")
        self.assertTrue(any("took SIGSYS" in note for note in report["notes"]), report["notes"])

    def test_all_that_happened_up_to_a_kill(self):
        run = subprocess.Popen([FLATLINE, "audit", "--json", self.report, "--out", self.recording, "--", BINARIES / "one_behaviour",
                                "says_and_waits"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=self.folder)
        with run:
            self.assertEqual(run.stdout.read(6), b"ready\n")
            (program,) = pathlib.Path("/proc/%d/task/%d/children" % (run.pid, run.pid)).read_text().split()
            os.kill(int(program), signal.SIGKILL)
            self.assertEqual(run.wait(SECONDS), 128 + signal.SIGKILL)
        report = json.loads(self.report.read_text(encoding="utf-8"))
        self.assertGreaterEqual(report["calls"], 2000)
        self.assertEqual((calls_in(report), report["dropped"], report["whole"]), (report["calls"], 0, True))

    def test_what_a_killed_audit_has_kept(self):
        run = subprocess.Popen([FLATLINE, "audit", "--out", self.recording, "--", BINARIES / "one_behaviour", "says_and_waits"],
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=self.folder)
        with run:
            self.assertEqual(run.stdout.read(6), b"ready\n")
            (program,) = pathlib.Path("/proc/%d/task/%d/children" % (run.pid, run.pid)).read_text().split()
            time.sleep(0.1)  # several rounds
            run.kill()
            run.wait(SECONDS)
            os.kill(int(program), signal.SIGKILL)
        shown = self.flatline("report", "--json", self.report, self.recording)
        self.assertEqual(shown.returncode, 0, shown.stderr)
        report = json.loads(self.report.read_text(encoding="utf-8"))
        self.assertGreaterEqual(report["calls"], 2000)
        self.assertFalse(report["whole"])

    def test_json_alone_on_standard_output(self):
        run = self.flatline("--json", "-", "--", BINARIES / "one_behaviour", "prints")
        self.assertEqual(json.loads(run.stdout)["schema"], "flatline.audit/1")
        self.assertIn(b"to the output\n", run.stderr)
        self.audit("one_behaviour", "family", "--out", self.recording)
        run = self.flatline("report", "--json", "-", self.recording)
        self.assertEqual((json.loads(run.stdout)["schema"], run.stderr), ("flatline.audit/1", b""))
        run = self.flatline("report", "--folded", "-", self.recording)
        self.assertRegex(run.stdout.decode().splitlines()[0], r"^[^;]+;.* \d+$")

    def test_of_calls_that_are_only_attributed_no_other_time_than_what_was_told(self):
        report = self.audit("one_behaviour", "family", "--causes", "--over", "1ns")
        self.assertFalse(report["timed"])
        self.assertEqual(calls_in(report), 0)
        self.assertLessEqual({each["cause_kind"] for each in report["stalls"]}, {"page fault", "system call", "lock"})


class IsRefusedInOneLine(Audited):
    def test_what_cannot_be_audited(self):
        for program, word in ((self.folder / "missing", "missing"), (self.folder, ""), ("no-such-program", "no-such-program")):
            self.assert_refused(self.flatline("--", program), word)
        own = self.folder / "copy"
        shutil.copy(BINARIES / "one_behaviour", own)
        own.chmod(0o4755)
        if os.geteuid() == 0:
            shutil.chown(own, "nobody")
            own.chmod(0o4755)
            self.assert_refused(self.flatline("--", own, "nothing"), "copy")

    def test_options_that_are_none(self):
        run = self.flatline("--under", self.folder / "missing", "--", "/bin/true")
        self.assert_refused(run, "--under")
        self.assert_refused(self.flatline("--under", __file__, "--", "/bin/true"), "is no shared library")
        for words in (["--over", "10"], ["--over", "-1us"], ["--over", "1e300s"], ["--over", "us"], ["--over", "10 us"], []):
            run = self.flatline(*words, *([] if words == [] else ["--", "/bin/true"]))
            self.assert_refused(run, "--over" if words else "no program")

    def test_a_program_that_leaves_the_audit(self):
        self.assertIn(self.flatline("--", BINARIES / "one_behaviour", "without_environment").returncode, (0, 2))

    def test_recordings_that_are_none(self):
        for content in (b"", b"FLAT", b"text " * 1000, b"FLATAUD2", b"FLATAUD2" + b"\xff" * 100):
            self.recording.write_bytes(content)
            self.assert_refused(self.flatline("report", self.recording), "recording")
        self.assert_refused(self.flatline("report", self.folder / "missing"), "missing")
        self.assert_refused(self.flatline("report", self.folder), "")

    def test_files_that_cannot_be_written(self):
        self.assert_refused(self.flatline("--out", "/dev/full", "--", "/bin/true"), "No space left")
        self.assert_refused(self.flatline("--out", self.folder / "missing" / "file", "--", "/bin/true"), "missing")
        for variable in (self.folder / "missing", "/proc"):
            self.assert_refused(self.flatline("--", "/bin/true", environment={"TMPDIR": str(variable)}), "--out")

    def test_a_killed_audit_leaves_no_file(self):
        folder = self.folder / "temporary"
        folder.mkdir()
        audit = subprocess.Popen([FLATLINE, "audit", "--", "sh", "-c", "echo begun; exec cat"], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, env=dict(os.environ, TMPDIR=str(folder)))
        with audit:
            audit.stdout.readline()
            begun = list(folder.iterdir())
            audit.kill()
        self.assertEqual([begun, list(folder.iterdir())], [[], []])

    def test_files_that_would_be_overwritten(self):
        self.audit("one_behaviour", "family", "--out", self.recording)
        before = self.recording.read_bytes()
        for option in ("--json", "--html", "--pprof", "--folded", "--trace"):
            self.assert_refused(self.flatline("report", self.recording, option, "recording"), option, "overwrite")
        for words in (["--out", "x", "--json", "./x"], ["--html", "x", "--trace", "x"], ["--json", "-", "--html", "-"]):
            self.assert_refused(self.flatline(*words, "--", "/bin/true"), words[0], words[2], "cannot both be written")
        self.assert_refused(self.flatline("--out", "-", "--", "/bin/true"), "--out", "needs a file")
        self.assertEqual(self.recording.read_bytes(), before)

    def test_a_program_that_takes_or_blocks_the_signal_of_the_audit_by_a_system_call(self):
        for behaviour in "takes_sigsys_and_allocates", "blocks_sigsys_and_allocates":
            with self.subTest(behaviour):
                self.assert_refused(self.flatline("--", BINARIES / "one_behaviour", behaviour), "SIGSYS", "--without-system-calls")
                self.audit("one_behaviour", behaviour, "--without-system-calls")

    def test_a_limit_of_file_sizes(self):
        run = self.flatline("--", "/bin/true", preexec_fn=limited(resource.RLIMIT_FSIZE, 1 << 20))
        self.assert_refused(run, "ulimit -f")


class Limits(Audited):
    def test_few_descriptors(self):
        report = self.audit("one_behaviour", "family", preexec_fn=limited(resource.RLIMIT_NOFILE, 16))
        self.assertGreaterEqual(report["calls"], 18 * ROUNDS)

    def test_no_locked_memory(self):
        report = self.audit("one_behaviour", "family", preexec_fn=limited(resource.RLIMIT_MEMLOCK, 0))
        self.assertGreaterEqual(report["calls"], 18 * ROUNDS)

    def test_little_address_space(self):
        report = self.audit("one_behaviour", "family", preexec_fn=limited(resource.RLIMIT_AS, 400 << 20))
        self.assertGreaterEqual(report["calls"], 18 * ROUNDS)
        run = self.flatline("--", "/bin/true", preexec_fn=limited(resource.RLIMIT_AS, 40 << 20))
        self.assertIn(run.returncode, (1, 2, 127))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
