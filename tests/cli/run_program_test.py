"""What `flatline run` does with programs that a preload can serve, and with those that it cannot.

usage: run_program_test.py FLATLINE LIBRARY COMPILER OWN_MALLOC [TEST...]
(OWN_MALLOC: the source of a program with a malloc)
"""

import os
import pathlib
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM, LIBRARY = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
COMPILER, OWN_MALLOC = sys.argv[3], pathlib.Path(sys.argv[4]).resolve()

SERVED = """
#include <stdio.h>
#include <string.h>
int main(void) {
    char line[4096];
    int served = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps)) served |= strstr(line, "libflatline-malloc.so") != NULL;
    puts(served ? "served" : "not served");
    return 0;
}
"""
STATIC = """
#include <unistd.h>
int main(int count, char **words) { usleep(count > 1 ? 200000 : 0); return write(1, "static\\n", 7) != 7; }
"""
THIRTY_TWO_BITS = """
void _start(void) { __asm__ volatile("int $0x80" : : "a"(1), "b"(0)); }
"""
# Executes another program from a thread that is not the main thread.
OTHER_THREAD = """
#include <pthread.h>
#include <unistd.h>
static void *go_over(void *program) { execl(program, program, "slowly", (char *)0); return NULL; }
int main(int count, char **words) {
    pthread_t thread;
    usleep(50000);
    pthread_create(&thread, NULL, go_over, words[count - 1]);
    pthread_join(thread, NULL);
    return 9;
}
"""
MACHINE_AT = 18  # offset in the header of an ELF file


class Run(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.scratch.name).resolve()
        os.chmod(cls.folder, 0o755)
        (cls.folder / "tree/bin").mkdir(parents=True)
        (cls.folder / "tree/lib").mkdir()
        shutil.copy(PROGRAM, cls.folder / "tree/bin/flatline")
        shutil.copy(LIBRARY, cls.folder / "tree/lib/libflatline-malloc.so")
        (cls.folder / "served.c").write_text(SERVED)
        cls.compile("served", cls.folder / "served.c")

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    @classmethod
    def compile(cls, name, source, *options):
        subprocess.run([COMPILER, "-O1", "-w", str(source), "-o", str(cls.folder / name), *options], check=True)
        return str(cls.folder / name)

    def copy_of(self, name):
        copy = self.folder / (name + "-" + self._testMethodName)
        shutil.copy(self.folder / name, copy)
        return copy

    def run_it(self, *arguments, tree="tree", **options):
        return subprocess.run([str(self.folder / tree / "bin/flatline"), "run", *arguments], capture_output=True,
                              text=True, timeout=60, cwd=self.folder, **options)

    def assert_refused(self, result, *parts):
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        for part in ("flatline run", *parts):
            self.assertIn(part, result.stderr)

    def test_the_program_is_served_and_is_as_it_was(self):
        result = self.run_it("--", "./served")
        self.assertEqual((result.stdout, result.stderr, result.returncode), ("served\n", "", 0))
        result = self.run_it("--", "sh", "-c", 'cat; echo "$1" "$2" >&2; exit 7', "sh", "--stats", "a b", input="in")
        self.assertEqual((result.stdout, result.stderr, result.returncode), ("in", "--stats a b\n", 7))
        self.assertEqual(self.run_it("--", "sh", "-c", "kill -SEGV $$").returncode, 128 + signal.SIGSEGV)

    def test_options_reach_it(self):
        result = self.run_it("--policy", "memory", "--misuse", "report", "--", "sh", "-c",
                             "echo $FLATLINE_POLICY $FLATLINE_MISUSE")
        self.assertEqual(result.stdout, "memory report\n")
        result = self.run_it("--stats", "--", "./served")
        self.assertRegex(result.stderr, r"flatline-malloc: \S+\[\d+\]: policy: balanced")

    def test_words_behind_the_dashes_stay_as_they_are(self):
        words = ["[a,b]", "[.[] | x]", "", "[]", "a b", "--policy", "--", "{}", "%%", "[", "]"]
        result = self.run_it("--", sys.executable, "-c", "import sys; print(sys.argv[1:])", *words)
        self.assertEqual(result.stdout.strip(), str(words))

    def test_words_that_the_parser_would_take_apart_need_the_dashes(self):
        for word in "[a,b]", "":
            self.assert_refused(self.run_it("/bin/echo", word), "put -- in front of the program")
        self.assert_refused(self.run_it("/bin/echo", "--", "/bin/echo"), "put the program and its arguments behind it")

    def test_what_was_preloaded_stays(self):
        (self.folder / "other.c").write_text("int other;\n")
        other = self.compile("libother.so", self.folder / "other.c", "-shared", "-fPIC")
        result = self.run_it("--", "sh", "-c", "echo $LD_PRELOAD", env=dict(os.environ, LD_PRELOAD=other))
        self.assertEqual(result.stdout, "%s:%s\n" % (self.folder / "tree/lib/libflatline-malloc.so", other))

    def test_scripts_are_served(self):
        script = self.folder / "script"
        for line in ("#!%s" % (self.folder / "served"), "#!/usr/bin/env served"):
            script.write_text(line + "\n")
            script.chmod(0o755)
            environment = dict(os.environ, PATH="%s:%s" % (self.folder, os.environ["PATH"]))
            self.assertEqual(self.run_it("--", "./script", env=environment).stdout, "served\n")
        script.write_text("#!/no/such/interpreter\n")
        self.assert_refused(self.run_it("--", "./script"), "/no/such/interpreter")
        script.write_text("#!%s\n" % script)
        self.assert_refused(self.run_it("--", "./script"), "too many scripts")

    def test_a_program_that_ends_at_once_is_looked_at(self):
        for _ in range(50):
            self.assertEqual(self.run_it("--", "true").stderr, "")

    def test_nothing_to_run(self):
        self.assert_refused(self.run_it(), "no program was given")
        self.assert_refused(self.run_it("--", "no-such-program"), "no program of this name is in PATH")
        self.assert_refused(self.run_it("--", "./served.c"), "is not executable")
        self.assert_refused(self.run_it("--", "./"), "is a directory")
        self.assert_refused(self.run_it("--", "./no-such-program"), "can be executed")
        self.assert_refused(self.run_it("--policy", "fast", "--", "true"), "--policy", "balanced")

    def test_what_is_no_program(self):
        damaged = self.copy_of("served")
        whole = damaged.read_bytes()
        for length in [0, 1, 4, *range(5, 700, 23)]:
            damaged.write_bytes(whole[:length])
            result = self.run_it("--", str(damaged))
            self.assertEqual(result.returncode, 2, length)
            self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)

    def test_a_program_for_another_machine(self):
        other = self.copy_of("served")
        content = bytearray(other.read_bytes())
        struct.pack_into("<H", content, MACHINE_AT, 243)
        other.write_bytes(content)
        self.assert_refused(self.run_it("--", str(other)), "another kind of processor")

    def test_a_program_for_another_libc(self):
        other = self.copy_of("served")
        content = other.read_bytes()
        at = content.index(b"/lib64/ld-linux-x86-64.so.2" if b"ld-linux-x86-64" in content else b"/lib/ld-linux-aarch64")
        end = content.index(b"\0", at)
        other.write_bytes(content[:at] + b"/lib/ld-musl.so".ljust(end - at, b"\0") + content[end:])
        self.assert_refused(self.run_it("--", str(other)), "a C library other than glibc", "/lib/ld-musl.so")

    def test_a_static_program(self):
        self.compile("static", self.folder / "served.c", "-static")
        self.assert_refused(self.run_it("--", "./static"), "statically", "flatline::malloc-static")

    @unittest.skipUnless(os.geteuid() == 0, "only root can make such a program")
    def test_a_program_with_other_rights(self):
        other = self.copy_of("served")
        os.chown(other, 65534, 65534)
        other.chmod(0o4755)
        self.assert_refused(self.run_it("--", str(other)), "other privileges")

    def test_a_program_with_a_malloc_of_its_own(self):
        self.compile("own", OWN_MALLOC, "-rdynamic")
        self.assert_refused(self.run_it("--", "./own"), "its own malloc")

    def script(self, name, *lines, first="#!/bin/sh"):
        path = self.folder / name
        path.write_text("\n".join([first, *lines]) + "\n")
        path.chmod(0o755)
        return "./" + name

    def ways_to(self, program):
        """Commands that go over to `program`, at once or after a while."""
        wrapper = self.script("wrapper", "exec %s" % program)
        return [[wrapper], [self.script("nested", "exec ./wrapper")], [self.script("later", "sleep 0.2", "exec %s" % program)],
                ["env", program], ["env", "A=1", "env", "B=2", program], ["sh", "-c", "exec " + program],
                [self.script("by-env", "exec " + program, first="#!/usr/bin/env sh")], ["nice", "-n", "0", program],
                ["bash", "-c", "(true); true | true; exec " + program], ["nohup", program]]

    def assert_refused_on_every_way(self, program, *parts):
        for command in self.ways_to(program):
            with self.subTest(command=command):
                self.assert_refused(self.run_it("--", *command, stdin=subprocess.DEVNULL), program.lstrip("."),
                                    " executed)", *parts)

    def test_a_static_program_behind_another_is_refused_in_the_same_way_each_time(self):
        (self.folder / "static.c").write_text(STATIC)
        self.compile("static", self.folder / "static.c", "-static")
        self.assert_refused_on_every_way("./static", "statically", "flatline::malloc-static")
        for _ in range(30):
            self.assert_refused(self.run_it("--", "./wrapper"), "statically")

    def test_programs_that_cannot_be_served_behind_another(self):
        shutil.copy(os.path.realpath(self.loader()), self.folder / "ld-musl.so")
        self.compile("musl", self.folder / "served.c", "-Wl,--dynamic-linker=%s" % (self.folder / "ld-musl.so"))
        self.assert_refused_on_every_way("./musl", "a C library other than glibc")
        self.compile("own", OWN_MALLOC, "-rdynamic")
        self.assert_refused_on_every_way("./own", "its own malloc")

    def loader(self):
        content = (self.folder / "served").read_bytes()
        at = content.index(b"/lib64/ld-linux" if b"/lib64/ld-linux" in content else b"/lib/ld-linux")
        return content[at:content.index(b"\0", at)].decode()

    @unittest.skipUnless(os.uname().machine == "x86_64", "there is no such program for this machine")
    def test_a_32_bit_program_behind_another(self):
        (self.folder / "small.c").write_text(THIRTY_TWO_BITS)
        self.compile("small", self.folder / "small.c", "-m32", "-nostdlib", "-static")
        self.assert_refused(self.run_it("--", "./small"), "another kind of processor")
        self.assert_refused_on_every_way("./small", "another kind of processor")

    @unittest.skipUnless(os.geteuid() == 0, "only root can make such a program")
    def test_a_program_with_other_rights_behind_another(self):
        other = self.copy_of("served")
        os.chown(other, 65534, 65534)
        other.chmod(0o4755)
        self.assert_refused_on_every_way("./" + other.name, "other privileges")

    def test_a_program_from_whose_environment_the_preload_was_taken(self):
        for command in ["env", "-i", "./served"], ["env", "-u", "LD_PRELOAD", "./served"], \
                       ["sh", "-c", "LD_PRELOAD=; exec ./served"]:
            self.assert_refused(self.run_it("--", *command), "/served", "without LD_PRELOAD")

    def test_programs_behind_another_are_served(self):
        for command in self.ways_to("./served"):
            result = self.run_it("--", *command, stdin=subprocess.DEVNULL)
            self.assertEqual((result.stdout, result.returncode), ("served\n", 0), (command, result.stderr))

    def test_programs_beside_it_may_be_of_any_kind(self):
        (self.folder / "static.c").write_text(STATIC)
        self.compile("static", self.folder / "static.c", "-static")
        script = self.script("tools", "./static", "(exec ./static)", "env -i ./served", "exec ./served")
        result = self.run_it("--", script)
        self.assertEqual((result.stdout, result.stderr, result.returncode),
                         ("static\nstatic\nnot served\nserved\n", "", 0))
        result = self.run_it("--", self.script("last", "./static", "exit 7"))
        self.assertEqual((result.stdout, result.returncode), ("static\n", 7))

    def test_a_thread_that_goes_over_to_a_static_program(self):
        (self.folder / "static.c").write_text(STATIC)
        self.compile("static", self.folder / "static.c", "-static")
        (self.folder / "threaded.c").write_text(OTHER_THREAD)
        self.compile("threaded", self.folder / "threaded.c", "-pthread")
        self.assert_refused(self.run_it("--", "./threaded", "./static"), "statically")

    def test_the_loader_as_a_program_is_served(self):
        result = self.run_it("--", self.loader(), "./served")
        self.assertEqual((result.stdout, result.returncode), ("served\n", 0), result.stderr)

    def test_a_folder_with_spaces_and_colons(self):
        for name in "a tree", "a:tree", "a: tree of several":
            if not (self.folder / name).exists():
                shutil.copytree(self.folder / "tree", self.folder / name)
            for command in ["./served"], ["sh", "-c", "./served"], ["sh", "-c", "exec ./served"]:
                result = self.run_it("--", *command, tree=name)
                self.assertEqual((result.stdout, result.stderr, result.returncode), ("served\n", "", 0))
            result = self.run_it("--", "sh", "-c", "echo $LD_PRELOAD", tree=name)
            link = pathlib.Path(result.stdout.strip())
            self.assertEqual(link.resolve(), self.folder / name / "lib/libflatline-malloc.so")
            link.unlink()

    def test_it_can_be_stopped_and_goes_on(self):
        command = [str(self.folder / "tree/bin/flatline"), "run", "--", "sh", "-c", "echo $$; read line; echo $line"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as started:
            inner = int(started.stdout.readline())
            for number in signal.SIGSTOP, signal.SIGCONT, signal.SIGTSTP, signal.SIGCONT:
                os.kill(inner, number)
                time.sleep(0.02)
            started.stdin.write("on\n")
            started.stdin.close()
            self.assertEqual(started.stdout.read(), "on\n")
            self.assertEqual(started.wait(timeout=20), 0)

    def test_one_that_is_killed_was_not_without(self):
        result = self.run_it("--", "sh", "-c", "kill -KILL $$")
        self.assertEqual((result.stderr, result.returncode), ("", 128 + signal.SIGKILL))

    def test_signals_are_handed_on(self):
        command = [str(self.folder / "tree/bin/flatline"), "run", "--", "sh", "-c",
                   "trap 'echo got it; exit 5' TERM; echo ready; while :; do sleep 0.01; done"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as started:
            self.assertEqual(started.stdout.readline(), "ready\n")
            time.sleep(0.05)
            started.send_signal(signal.SIGTERM)
            self.assertEqual(started.stdout.read(), "got it\n")
            self.assertEqual(started.wait(timeout=20), 5)

    def test_a_library_that_did_not_take_is_said(self):
        shutil.copytree(self.folder / "tree", self.folder / "broken")
        (self.folder / "broken/lib/libflatline-malloc.so").write_text("no library\n")
        result = self.run_it("--", "./served", tree="broken")
        self.assertEqual(result.stdout, "not served\n")
        self.assertEqual(result.returncode, 2)
        self.assertIn("ran without the malloc", result.stderr.splitlines()[-1])

    def test_a_library_that_did_not_take_behind_another_is_said(self):
        """The first program has it in its memory. For the second it is no longer there."""
        result = self.run_it("--", "sh", "-c", "sleep 0.1; rm tree/lib/libflatline-malloc.so; exec ./served")
        shutil.copy(LIBRARY, self.folder / "tree/lib/libflatline-malloc.so")
        self.assertEqual((result.stdout, result.returncode), ("not served\n", 2))
        self.assertIn("ran without the malloc", result.stderr.splitlines()[-1])

    def test_no_library(self):
        (self.folder / "empty/bin").mkdir(parents=True)
        shutil.copy(PROGRAM, self.folder / "empty/bin/flatline")
        self.assert_refused(self.run_it("--", "./served", tree="empty"), "there is no libflatline-malloc.so")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[5:]])
