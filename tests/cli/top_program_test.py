#!/usr/bin/env python3
"""top_program_test.py FLATLINE OVERLOAD [TEST...]: `flatline top` beside an engine that is overloaded: on paper, as a
document, and on a terminal of tmux 100 columns wide.
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

FLATLINE, OVERLOAD = sys.argv.pop(1), sys.argv.pop(1)
SECONDS = float(os.environ.get("FLATLINE_TEST_PATIENCE", 60))  # that anything may take


def comes(condition):
    """The condition's value, once it is true; whatever it is after all these seconds."""
    end = time.monotonic() + SECONDS
    while True:
        value = condition()
        if value or time.monotonic() > end:
            return value
        time.sleep(0.05)


def top(*arguments, **options):
    return subprocess.run([FLATLINE, "top", *map(str, arguments)], text=True, capture_output=True, timeout=SECONDS,
                          **options)


def pages_of(process):
    folder = "/proc/%d/fd" % process
    return [os.path.join(folder, name) for name in os.listdir(folder)
            if os.readlink(os.path.join(folder, name)).startswith("/memfd:flatline-engine")]


class Overload:
    """The program that offers its engine twice of what it can do, from when it has refused something on."""

    def __enter__(self):
        self.run = subprocess.Popen([OVERLOAD, "600"], stdout=subprocess.DEVNULL)
        if not comes(lambda: refused_in(self.document())):
            self.__exit__()
            raise AssertionError("the engine refuses nothing")
        return self

    def document(self):
        result = top(self.run.pid, "--json", "-")
        return json.loads(result.stdout) if result.returncode == 0 else None

    def end(self):
        self.run.send_signal(signal.SIGKILL)
        self.run.wait()

    def __exit__(self, *_):
        self.end()


def refused_in(document):
    return document and sum(sum(submitter["refused"].values()) for engine in document["engines"]
                            for submitter in engine["submitters"])


class Shown(unittest.TestCase):
    def assert_refused(self, result, *parts):
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        for part in parts:
            self.assertIn(part, result.stderr)

    def assert_shows_overload(self, text):
        self.assertLessEqual(max(map(len, text.splitlines())), 100)
        self.assertIn("flatline top: process", text)
        self.assertIn("engine open, up ", text)
        self.assertIn("2 workers, 2 lanes, watchdog at 20 ms", text)
        for worker in ("0", "1"):
            self.assertRegex(text, r"(?m)^ +%s +\d+ (running|looking|asleep)" % worker)
        for duration in ("waiting", "service", "sojourn"):
            self.assertRegex(text, r"(?m)^ +%s( +[0-9.]+ (ns|us|ms|s)){4} +[0-9.kM]+$" % duration)
        self.assertRegex(text, r"(?m)^ +service, estimated: quote .*s, risk .*s, report ")
        self.assertRegex(text, r"(?m)^ +64 B +2\.0k ")
        self.assertRegex(text, r"(?m)^ +inline ")
        self.assertRegex(text, r"(?m)^ +lane 0 +\d+ ")
        self.assertGreater(sum(self.refused(text)), 0)

    def refused(self, text):
        """What lane 0 was refused, by reason."""
        words = re.search(r"(?m)^ +lane 0 +(.*)$", text).group(1).split()
        return [float(re.sub("[kMG]$", "", word)) for word in words[2:]]


class Top(Shown):
    def test_plain_text_once_where_standard_output_is_no_terminal(self):
        with Overload() as overload:
            for options in ([], ["--once"]):
                result = top(overload.run.pid, *options)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertNotIn("\x1b", result.stdout)
                self.assert_shows_overload(result.stdout)
                self.assertIn("times, since its start", result.stdout)
                self.assertIn("(engine_overload)", result.stdout)

    def test_document(self):
        with Overload() as overload:
            first, second = overload.document(), overload.document()
        self.assertEqual(second["schema"], "flatline.top/1")
        self.assertEqual(second["process"], overload.run.pid)
        engine, = second["engines"]
        self.assertEqual(len(engine["workers"]), 2)
        self.assertEqual(len(engine["submitters"]), 4)
        functions = {"run_quote", "run_risk", "run_report"}
        for before, worker in zip(first["engines"][0]["workers"], engine["workers"]):
            if worker["task"]:
                self.assertIn(worker["task"]["function"], functions)
            for count in ("accepted", "done", "expired", "runs"):
                self.assertGreaterEqual(worker[count], before[count])
            self.assertEqual([each["block_size"] for each in worker["classes"]], [64, 256, None])
            self.assertLessEqual(worker["sojourn"]["p50_ns"], worker["sojourn"]["p999_ns"])
            self.assertLessEqual(worker["sojourn"]["p999_ns"], worker["sojourn"]["max_ns"])
        self.assertEqual({each["name"] for worker in engine["workers"] for each in worker["estimates"]},
                         {"quote", "risk", "report"})

    def test_the_name_of_the_running_task(self):
        with Overload() as overload:
            def running():
                return [worker["task"]["function"] for worker in overload.document()["engines"][0]["workers"]
                        if worker["task"]]
            found = comes(running)
        self.assertTrue(set(found) <= {"run_quote", "run_risk", "run_report"}, found)

    def test_a_file_and_a_copy_of_it(self):
        with Overload() as overload, tempfile.TemporaryDirectory() as folder:
            page, = pages_of(overload.run.pid)
            self.assert_shows_overload(top(page).stdout)
            copy = os.path.join(folder, "page")
            shutil.copyfile(page, copy)
            overload.end()
            result = top(copy)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assert_shows_overload(result.stdout)
            self.assertIn("process %d has ended" % overload.run.pid, result.stdout)
            with open(copy, "r+b") as file:
                file.truncate(20000)
            self.assert_refused(top(copy), "size")

    def test_what_has_no_engine_is_refused(self):
        self.assert_refused(top(os.getpid()), "no engine", str(os.getpid()))
        self.assert_refused(top(2 ** 31 - 2), "no process")
        self.assert_refused(top("/nowhere/page"), "/nowhere/page")
        self.assert_refused(top("/dev/null"), "too short")
        self.assert_refused(top("/proc/self/exe"), "not what an engine")
        self.assert_refused(top(), "flatline top --help")
        self.assert_refused(top("1", "--json", "/nowhere/top.json"), "--json")

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"), "only root can start a process as another user")
    def test_processes_of_another_user_are_refused(self):
        other = subprocess.Popen(["setpriv", "--reuid=65534", "--clear-groups", "sleep", "600"])
        try:
            self.assertTrue(comes(lambda: os.stat("/proc/%d" % other.pid).st_uid == 65534))
            self.assert_refused(top(other.pid), "another user's", "65534")
        finally:
            other.kill()
            other.wait()


class Terminal:
    """A terminal of tmux in which `flatline top` runs. Its server is the test's own."""

    def __init__(self, folder, width, height, *arguments):
        self.socket, self.status = os.path.join(folder, "tmux"), os.path.join(folder, "status")
        command = "%s top %s; echo $? > %s; sleep 600" % (FLATLINE, " ".join(map(str, arguments)), self.status)
        self.tmux("new-session", "-d", "-x", str(width), "-y", str(height), command)

    def tmux(self, *arguments):
        environment = {name: value for name, value in os.environ.items() if name not in ("TMUX", "TMUX_PANE")}
        return subprocess.run(["tmux", "-f", "/dev/null", "-S", self.socket, *arguments], check=True, text=True,
                              capture_output=True, timeout=SECONDS, env=dict(environment, LC_ALL="C.UTF-8")).stdout

    def screen(self):
        return self.tmux("capture-pane", "-p")

    def press(self, *keys):
        self.tmux("send-keys", *keys)

    def exit_status(self):
        def read():
            if os.path.exists(self.status):
                with open(self.status) as file:
                    return file.read().strip()
            return ""
        return comes(read)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.tmux("kill-server")


@unittest.skipUnless(shutil.which("tmux"), "tmux is not installed (Debian: tmux)")
class OnATerminal(Shown):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def settled(self, terminal):
        """A screen whose figures are those of the last second."""
        screen = comes(lambda: "times, last" in terminal.screen() and terminal.screen())
        self.assertTrue(screen, terminal.screen())
        return screen

    def test_a_hundred_columns(self):
        with Overload() as overload, Terminal(self.folder, 100, 40, overload.run.pid) as terminal:
            screen = self.settled(terminal)
            self.assertIn("q ends", screen)
            self.assert_shows_overload(screen)
            self.assertTrue(comes(lambda: terminal.screen() != screen), "it is not drawn again")
            terminal.press("q")
            self.assertEqual(terminal.exit_status(), "0")
            self.assertNotIn("q ends", terminal.screen())

    def test_eighty_columns_and_few_lines(self):
        with Overload() as overload, Terminal(self.folder, 80, 10, overload.run.pid) as terminal:
            screen = self.settled(terminal)
            self.assertLessEqual(max(map(len, screen.splitlines())), 80)
            self.assertRegex(screen, r"(?m)^ +0 (running|looking|asleep)")
            self.assertNotIn("lane 0", screen)
            terminal.press("NPage", "NPage", "NPage")
            self.assertTrue(comes(lambda: "lane 0" in terminal.screen()), terminal.screen())
            terminal.press("Home")
            self.assertTrue(comes(lambda: "flatline top" in terminal.screen()), terminal.screen())
            terminal.press("q")
            self.assertEqual(terminal.exit_status(), "0")

    def test_the_end_of_the_process(self):
        with Overload() as overload, Terminal(self.folder, 100, 40, overload.run.pid) as terminal:
            self.settled(terminal)
            overload.end()
            self.assertEqual(terminal.exit_status(), "0")
            self.assertIn("process %d has ended" % overload.run.pid, terminal.screen())


if __name__ == "__main__":
    unittest.main()
