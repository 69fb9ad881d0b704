"""What `flatline` prints, writes and returns, with made-up drivers in a scratch tree laid out as an installed one.

usage: program_test.py FLATLINE FAKE_DRIVER REPORT_TEMPLATE
"""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from bench_schema import faults

PROGRAM, FAKE, TEMPLATE = (pathlib.Path(path).resolve() for path in sys.argv[1:4])
OWN_DRIVERS = ["pool", "floor", "list", "boost-pool", "foonathan-pool"]
OWN_BACKENDS = ["flatline-pool", "flatline-pool-again", "floor", "list", "boost-pool", "foonathan-pool"]


class Tree:
    """bin/, libexec/ and share/ in a directory of their own."""

    def __init__(self, directory, drivers=OWN_DRIVERS):
        self.root = pathlib.Path(directory)
        self.libexec = self.root / "libexec/flatline"
        for part in ("bin", "libexec/flatline", "share/flatline"):
            (self.root / part).mkdir(parents=True)
        shutil.copy(PROGRAM, self.root / "bin/flatline")
        shutil.copy(TEMPLATE, self.root / "share/flatline/report.html")
        for driver in drivers:
            shutil.copy(FAKE, self.libexec / f"bench-{driver}")

    def break_driver(self, driver, fault):
        (self.libexec / f"bench-{driver}.fault").write_text(fault + "\n")

    def command(self, *arguments):
        return [str(self.root / "bin/flatline"), *arguments]

    def run(self, *arguments, **options):
        return subprocess.run(self.command(*arguments), capture_output=True, text=True, cwd=self.root, timeout=200,
                              **options)

    def bench(self, *arguments):
        return self.run("bench", "--suite", "hot", "--size", "64", "--rounds", "1", "--backend", *OWN_BACKENDS,
                        *arguments)


class Program(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.tree = Tree(pathlib.Path(scratch.name) / "tree")

    def assert_refused(self, result, *parts):
        """Status 2, nothing on standard output, and one line that says these things on standard error."""
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertEqual(result.stdout, "")
        lines = [line for line in result.stderr.splitlines() if not line.startswith("round ")]
        self.assertEqual(len(lines), 1, result.stderr)
        for part in parts:
            self.assertIn(part, lines[0])

    def assert_fits_a_screen(self, text):
        self.assertLessEqual(len(text.splitlines()), 40)
        self.assertLessEqual(max(map(len, text.splitlines())), 100)

    def test_help_fits_a_screen(self):
        for arguments in (["--help"], ["bench", "--help"], ["env", "--help"], ["peers", "--help"],
                          ["report", "--help"]):
            result = self.tree.run(*arguments)
            self.assertEqual(result.returncode, 0)
            self.assertEqual(result.stderr, "")
            self.assertIn("flatline", result.stdout)
            self.assert_fits_a_screen(result.stdout)

    def test_version(self):
        result = self.tree.run("--version")
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stdout, r"^flatline \d+\.\d+\.\d+\n$")

    def test_misuse_says_in_one_line_what_to_do(self):
        for arguments, parts in [
            ([], ["flatline --help"]),
            (["bnech"], ["bnech", "flatline --help"]),
            (["bench", "--nope"], ["--nope", "flatline bench --help"]),
            (["bench", "--suite", "hott"], ["hott", "hot", "throughput"]),
            (["bench", "--backend", "nomalloc"], ["nomalloc", "jemalloc"]),
            (["bench", "--rounds", "0"], ["--rounds"]),
            (["bench", "--rounds", "many"], ["--rounds"]),
            (["bench", "--size", "64", "--suite", "mixed"], ["--list"]),
            (["bench", "--cpu", "100000"], ["100000", "may be used"]),
            (["bench", "--json", "/nowhere/out.json"], ["--json", "/nowhere/out.json", "name a file"]),
            (["bench", "--html", str(self.tree.root)], ["--html", "name a file"]),
            (["bench", "--json", "-", "--html", "-"], ["--json", "--html"]),
        ]:
            with self.subTest(arguments=arguments):
                self.assert_refused(self.tree.run(*arguments), *parts)

    def test_figures_and_page_are_written(self):
        result = self.tree.bench("--json", "out.json", "--html", "out.html")
        self.assertEqual(result.returncode, 0, result.stderr)
        document = json.loads((self.tree.root / "out.json").read_text())
        self.assertEqual(faults(document), [])
        self.assertEqual([backend["name"] for backend in document["backends"]], OWN_BACKENDS)
        self.assertEqual(len(document["cells"]), 3 * len(OWN_BACKENDS))
        page = (self.tree.root / "out.html").read_text()
        self.assertNotIn("__FLATLINE_DATA__", page)
        self.assertIn("flatline.bench/1", page)
        lines = result.stdout.splitlines()
        self.assertEqual(lines[-2], f"figures: {self.tree.root}/out.json")
        self.assertEqual(lines[-1], f"report: {self.tree.root}/out.html")

    def test_table_is_at_most_a_hundred_columns_wide(self):
        result = self.tree.run("bench", "--rounds", "1", "--backend", *OWN_BACKENDS)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotIn("\x1b", result.stdout)
        too_wide = [line for line in result.stdout.splitlines() if len(line) > 100 and str(self.tree.root) not in line]
        self.assertEqual([line for line in too_wide if not line.startswith("timed on")], [])
        for name in ("hot 64 B", "fifo 1 KiB", "churn", "mixed", "order random free", "throughput 4 KiB"):
            self.assertIn(name, result.stdout)

    def test_dash_leaves_standard_output_to_the_figures(self):
        result = self.tree.bench("--json", "-")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(faults(json.loads(result.stdout)), [])

    def test_dash_leaves_standard_output_to_the_page(self):
        result = self.tree.bench("--html", "-")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertTrue(result.stdout.lower().startswith("<!doctype html"))
        self.assertTrue(result.stdout.rstrip().endswith("</html>"))

    def test_missing_backends_are_named_with_the_way_to_get_them(self):
        (self.tree.libexec / "bench-boost-pool").unlink()
        result = self.tree.bench("--json", "out.json")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"missing: Boost\.Pool \(apt-get install libboost")
        document = json.loads((self.tree.root / "out.json").read_text())
        self.assertEqual([missing["name"] for missing in document["missing"]], ["boost-pool"])

    def test_failed_allocation_is_an_error_and_not_a_fast_success(self):
        self.tree.break_driver("list", "null")
        result = self.tree.bench("--json", "out.json")
        self.assertEqual(result.returncode, 2)
        self.assertIn("returned NULL", result.stderr.splitlines()[-1])
        self.assertRegex(result.stdout, r"list \(unchecked\) +failed")
        self.assertIn("failed: list in hot 64 B", result.stdout)
        document = json.loads((self.tree.root / "out.json").read_text())
        self.assertEqual(faults(document), [])
        self.assertEqual({error["backend"] for error in document["errors"]}, {"list"})
        self.assertNotIn("list", {cell["backend"] for cell in document["cells"]})

    def test_nothing_is_timed_that_was_built_for_something_else(self):
        for fault, part in [("unoptimised", "Release"), ("assertions", "Release"), ("sanitizer", "Release"),
                            ("timer", "invariant")]:
            with self.subTest(fault=fault):
                self.tree.break_driver("pool", fault)
                self.assert_refused(self.tree.bench("--json", "out.json"), part)
                self.assertFalse((self.tree.root / "out.json").exists())

    def test_no_drivers_at_all(self):
        shutil.rmtree(self.tree.libexec)
        self.assert_refused(self.tree.bench(), "no driver", "--list")

    def test_no_page_template(self):
        (self.tree.root / "share/flatline/report.html").unlink()
        self.assert_refused(self.tree.bench("--html", "out.html"), "report.html", "install")

    def put_peer(self, name, record):
        """A library that the build has made, and a driver that says it served."""
        peers = self.tree.libexec / "peers"
        peers.mkdir(exist_ok=True)
        library = peers / f"lib{name}.so"
        shutil.copy(FAKE, library)
        (peers / f"{name}.json").write_text(record)
        shutil.copy(FAKE, self.tree.libexec / "bench-malloc")
        self.tree.break_driver("malloc", f"library {library}")
        return library

    def peers(self):
        result = self.tree.run("peers", "--json", "-")
        document = json.loads(result.stdout)
        self.assertEqual(document["schema"], "flatline.peers/1")
        return result.returncode, document

    def test_peers_are_asked_what_they_are(self):
        built = self.put_peer("snmalloc", '{"version": "0.7.6", "source": "crate s 0.7", "compiler": "cc", "flags": "-O3"}')
        status, document = self.peers()
        found = {peer["name"]: peer for peer in document["peers"]}
        self.assertEqual(found["snmalloc"]["path"], str(built))
        self.assertEqual(found["snmalloc"]["flags"], "-O3")
        self.assertEqual(found["list"]["source"], "")
        self.assertNotIn("flatline-pool-again", found)
        # The driver says that snmalloc served whatever was asked for: nobody else is believed.
        self.assertEqual(status, 1)
        self.assertIn("glibc", {each["name"] for each in document["failed"]})
        text = self.tree.run("peers")
        self.assertEqual(text.returncode, 1)
        self.assertRegex(text.stdout, rf"snmalloc +\S+ +general +{built}\n  crate s 0\.7, cc, -O3\n")
        self.assertRegex(text.stdout, r"glibc +failed: the wrong library served")

    def test_peers_that_are_missing_say_why(self):
        (self.tree.libexec / "peers").mkdir()
        (self.tree.libexec / "peers/snmalloc.json").write_text('{"missing": "cargo is not installed"}')
        status, document = self.peers()
        self.assertEqual(status, 0)
        missing = {each["name"]: each["how"] for each in document["missing"]}
        self.assertEqual(missing["snmalloc"], "cargo is not installed")
        self.assertIn("FLATLINE_PEERS", missing["rpmalloc"])
        self.assertRegex(self.tree.run("peers").stdout, r"snmalloc +missing: cargo is not installed")

    def test_peers_that_cannot_be_looked_at(self):
        self.put_peer("snmalloc", "{")
        self.assert_refused(self.tree.run("peers"), "snmalloc.json", "build Flatline again")
        shutil.rmtree(self.tree.libexec)
        self.assert_refused(self.tree.run("peers"), "no driver", "install")
        self.assert_refused(self.tree.run("peers", "--json", "/nowhere/out.json"), "/nowhere/out.json")

    def test_env_says_what_holds_and_what_mends_the_rest(self):
        written = self.tree.run("env", "--json", "env.json")
        self.assertEqual(written.returncode, 0, written.stderr)
        document = json.loads((self.tree.root / "env.json").read_text())
        self.assertEqual(document["schema"], "flatline.env/1")
        for condition in document["conditions"]:
            mark = {True: "✓", False: "✗", None: "?"}[condition["holds"]]
            self.assertRegex(written.stdout, rf"(?m)^{re.escape(mark)} {re.escape(condition['name'])} ")
            self.assertEqual(condition["holds"] is not True, condition["fix"] in written.stdout)
        self.assertLessEqual(max(map(len, written.stdout.splitlines())), 100)
        only = self.tree.run("env", "--json", "-")
        self.assertEqual(json.loads(only.stdout), document)
        self.assert_refused(self.tree.run("env", "--cpu", "100000"), "100000", "may be used")

    def test_report_makes_again_what_bench_made(self):
        bench = self.tree.bench("--json", "out.json", "--html", "out.html")
        self.assertEqual(bench.returncode, 0, bench.stderr)
        made = self.tree.run("report", "out.json", "--html", "again.html", "--markdown", "table.md")
        self.assertEqual((made.returncode, made.stdout, made.stderr), (0, "", ""))
        self.assertEqual((self.tree.root / "again.html").read_text(), (self.tree.root / "out.html").read_text())
        table = (self.tree.root / "table.md").read_text()
        rows = [line for line in table.splitlines() if line.startswith("| hot 64 B |")]
        self.assertEqual(len(rows), 1, table)
        document = json.loads((self.tree.root / "out.json").read_text())
        for cell in document["cells"]:
            if cell["calls_per_sample"] == 32 and cell["backend"] != "flatline-pool-again":
                self.assertIn(f"{cell['p50']:.2f}", rows[0])
        self.assertEqual(self.tree.run("report", "out.json").stdout, table)
        self.assertEqual(self.tree.run("report", "out.json", "--markdown", "-").stdout, table)

    def test_report_refuses_what_is_no_result(self):
        for name, text in [("empty.json", ""), ("other.json", '{"schema": "flatline.env/1"}'), ("list.json", "[]"),
                           ("half.json", '{"schema": "flatline.bench/1", "cells": [')]:
            (self.tree.root / name).write_text(text)
            self.assert_refused(self.tree.run("report", name), "not flatline.bench/1", "flatline bench --json")
        (self.tree.root / "bare.json").write_text('{"schema": "flatline.bench/1"}')
        self.assert_refused(self.tree.run("report", "bare.json"), "lacks", "backends")
        self.assert_refused(self.tree.run("report", "absent.json"), "absent.json", "cannot be read")
        self.assert_refused(self.tree.run("report", "."), "cannot be read")
        self.assert_refused(self.tree.run("report"), "flatline report --help")
        self.assert_refused(self.tree.run("report", "bare.json", "--html", "/nowhere/x"), "--html", "/nowhere/x")
        self.assert_refused(self.tree.run("report", "bare.json", "--html", "-", "--markdown", "-"), "name a file")

    def test_list_shows_what_there_is(self):
        result = self.tree.run("bench", "--list")
        self.assertEqual(result.returncode, 0)
        self.assertIn("mixed 7 sizes, single calls", result.stdout)
        self.assertIn("bench-pool", result.stdout)
        self.assertFalse((self.tree.libexec / "calls").exists())

    def test_interrupt_leaves_no_child_and_no_file(self):
        self.tree.break_driver("pool", "slow")
        running = subprocess.Popen(self.tree.command("bench", "--json", "out.json"), cwd=self.tree.root,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.wait_for(lambda: (self.tree.libexec / "calls").exists())
        running.send_signal(signal.SIGINT)
        output, errors = running.communicate(timeout=60)
        self.assertEqual(running.returncode, 2)
        self.assertEqual(output, "")
        self.assertIn("interrupted", errors.splitlines()[-1])
        self.assertFalse((self.tree.root / "out.json").exists())
        self.assertEqual(self.drivers_alive(), [])

    def wait_for(self, condition):
        for _ in range(600):
            if condition():
                return
            time.sleep(0.1)
        self.fail("waited for a minute")

    def drivers_alive(self):
        alive = []
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if os.readlink(process / "exe").startswith(str(self.tree.libexec)):
                    alive.append(process.name)
            except OSError:
                pass
        return alive


class RealPrograms(unittest.TestCase):
    """Two of the programs that any Debian has, and a made-up folder of programs nowhere."""

    def bench(self, scratch, *arguments, **options):
        environment = {**os.environ, "TMPDIR": scratch}
        return [str(PROGRAM), "bench", "--suite", "programs", "--rounds", "1", *arguments], {
            "cwd": scratch, "env": environment, "text": True, **options}

    def test_are_measured_under_each_allocator_and_leave_nothing(self):
        with tempfile.TemporaryDirectory() as scratch:
            command, options = self.bench(scratch, "--program", "perl", "--backend", "glibc", "glibc-tuned",
                                          "--json", "out.json")
            result = subprocess.run(command, capture_output=True, timeout=250, **options)
            if result.returncode == 2 and "so nothing is timed" in result.stderr:
                print("this build may not be timed, and says so:", result.stderr.strip())
                return
            self.assertEqual(result.returncode, 0, result.stderr)
            document = json.loads((pathlib.Path(scratch) / "out.json").read_text())
            self.assertEqual(faults(document), [])
            self.assertEqual([program["name"] for program in document["programs"]], ["perl"])
            rows = document["programs"][0]["rows"]
            self.assertEqual([row["backend"] for row in rows], ["glibc", "glibc-tuned"])
            for row in rows:
                self.assertIn("libc.so", row["path"])
                self.assertGreater(row["allocations"], 1000000)
            self.assertIn("GLIBC_TUNABLES", rows[1]["settings"])
            self.assertRegex(result.stdout, r"(?m)^\* glibc")
            self.assertLessEqual(max(map(len, result.stdout.splitlines()[:-1])), 100)
            self.assertEqual(os.listdir(scratch), ["out.json"])

    def test_leave_nothing_when_they_are_interrupted(self):
        with tempfile.TemporaryDirectory() as scratch:
            command, options = self.bench(scratch, "--program", "perl", "--backend", "glibc", "--json", "out.json",
                                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            running = subprocess.Popen(command, **options)
            for _ in range(600):
                if running.poll() is not None or list(pathlib.Path(scratch).glob("*/perl/work.pl")):
                    break
                time.sleep(0.1)
            time.sleep(0.3)
            running.send_signal(signal.SIGINT)
            output, errors = running.communicate(timeout=60)
            self.assertEqual(running.returncode, 2)
            self.assertEqual(output, "")
            if "so nothing is timed" in errors:
                return
            self.assertIn("interrupted", errors.splitlines()[-1])
            self.assertEqual(os.listdir(scratch), [])

    def test_are_run_by_themselves_and_under_general_allocators(self):
        with tempfile.TemporaryDirectory() as scratch:
            for arguments, part in [(["--suite", "hot"], "by itself"), (["--backend", "floor"], "general"),
                                    (["--program", "emacs"], "emacs")]:
                command, options = self.bench(scratch, *arguments)
                result = subprocess.run(command, capture_output=True, timeout=60, **options)
                self.assertEqual((result.returncode, result.stdout), (2, ""))
                self.assertIn(part, result.stderr)


class RealDrivers(unittest.TestCase):
    def test_measure_or_refuse_by_the_build_they_come_from(self):
        with tempfile.TemporaryDirectory() as scratch:
            result = subprocess.run(
                [str(PROGRAM), "bench", "--suite", "hot", "--size", "64", "--rounds", "1", "--backend", "flatline-pool",
                 "floor", "glibc", "--json", "out.json"], capture_output=True, text=True, cwd=scratch, timeout=200)
            if result.returncode == 2 and "so nothing is timed" in result.stderr:
                print("this build may not be timed, and says so:", result.stderr.strip())
                return
            self.assertEqual(result.returncode, 0, result.stderr)
            document = json.loads((pathlib.Path(scratch) / "out.json").read_text())
            self.assertEqual(faults(document), [])
            paths = {each["backend"]: each["path"] for each in document["environment"]["allocators"]}
            self.assertIn("libflatline.so", paths["flatline-pool"])
            self.assertIn("libc.so", paths["glibc"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
