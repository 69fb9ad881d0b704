"""What the verbs make of files that are not whole or somebody else's, of runs that cannot be compared, and of outputs
that cannot be written: a line that says what to do and status 2, never a library's words and never success.

usage: files_test.py FLATLINE FAKE_DRIVER REPORT_TEMPLATE LIBRARY [TEST...]
(LIBRARY: libflatline.so, to be proved)
"""

import copy
import json
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import unittest

from program_tree import Tree, temporary_files_in

LIBRARY = str(pathlib.Path(sys.argv[4]).resolve())
FOREIGN_WORDS = re.compile(r"json\.exception|\[json|std::|basic_string|basic_ios|terminate|what\(\)|stoi|stod|bad_|"
                           r"filesystem error|vector::|optional|format_error")
DECLARATION = '[pool]\nclasses = [{ size = 64, count = 100 }]\n'


def row(size):
    return {"size": size, "alignment": 16, "requests": 9, "live": 0, "peak_live": 4}


TRACKING = {"schema": "flatline.tracking/1", "requests": 18, "live_bytes": 0, "peak_bytes": 600, "total_bytes": 900,
            "sizes": [row(64), row(128)]}


def damaged(document):
    """(name, bytes) of what is no such document, or no whole one."""
    whole = json.dumps(document).encode()
    for share in (0, 1, 10, 50, 90, 99):
        yield "cut at %d %%" % share, whole[:len(whole) * share // 100]
    for text in (b"", b"{}", b"[]", b"5", b'"text"', b"null", b"\x7fELF\0\0\0", b"\xff\xfe{}", b"{" * 100000, b"[" * 100000,
                 b'{"schema": 5}', b'{"schema": ["flatline.bench/1"]}', b'{"schema": "another/1"}',
                 b'{"name": "other", "version": "1.0.0", "scripts": {"test": "make"}}', whole + b"}", whole + whole):
        yield "foreign: %r" % text[:40], text
    for path in paths_in(document):
        for name, change in (("without", None), ("with another kind of", {"x": [1]}), ("with a text for", "?"),
                             ("with nesting in", "deep")):
            changed = copy.deepcopy(document)
            place = changed
            for step in path[:-1]:
                place = place[step]
            if change is None:
                del place[path[-1]]
            else:
                place[path[-1]] = change
            text = json.dumps(changed).replace('"deep"', "[" * 5000 + "]" * 5000)
            yield "%s %s" % (name, path), text.encode()


def paths_in(document, path=()):
    """Of every member, but of lists only in their first element."""
    if isinstance(document, dict):
        for name, value in document.items():
            yield (*path, name)
            yield from paths_in(value, (*path, name))
    elif isinstance(document, list) and document and isinstance(document[0], (dict, list)):
        yield from paths_in(document[0], (*path, 0))


class Files(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(temporary_files_in(cls.scratch.name))
        cls.tree = Tree(pathlib.Path(cls.scratch.name) / "tree")
        made = cls.tree.bench("--json", "old.json", "--seed", "1")
        assert made.returncode == 0, made.stderr
        cls.document = json.loads((cls.tree.root / "old.json").read_text())
        (cls.tree.root / "plan.toml").write_text(DECLARATION)
        (cls.tree.root / "record.json").write_text(json.dumps(TRACKING))

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def write(self, name, content):
        (self.tree.root / name).write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return name

    def run_it(self, *arguments, **options):
        return subprocess.run(self.tree.command(*arguments), stdout=options.pop("stdout", subprocess.PIPE),
                              stderr=subprocess.PIPE, cwd=self.tree.root, timeout=200, **options)

    def assert_told(self, result, *parts):
        """Status 2 and one line of the program's own words."""
        said = result.stderr.decode()
        self.assertEqual(result.returncode, 2, said)
        lines = [line for line in said.splitlines() if not line.startswith("round ")]
        self.assertEqual(len(lines), 1, said)
        self.assertTrue(lines[0].startswith("flatline"), said)
        self.assertNotRegex(said, FOREIGN_WORDS)
        for part in parts:
            self.assertIn(part, lines[0])

    def assert_told_or_served(self, result, *parts):
        """Or what is damaged does not matter for this."""
        if result.returncode not in (0, 1):
            self.assert_told(result, *parts)
        elif b"the machines differ" not in result.stderr:
            self.assertEqual(result.stderr, b"")

    def test_results_that_are_not_whole(self):
        small = dict(self.document, cells=[cell for cell in self.document["cells"] if cell["backend"] in
                                           ("flatline-pool", "flatline-pool-again")][:4])
        for cell in small["cells"]:
            cell.pop("curve", None)
        verbs = [("compare", "old.json", "damaged.json"), ("report", "damaged.json", "--html", "page.html")]
        for index, (name, content) in enumerate(damaged(small)):
            self.write("damaged.json", content)
            for arguments in verbs:
                with self.subTest(name=name, verb=arguments[0]):
                    self.assert_told_or_served(self.run_it(*arguments))
            if index < 22: # not a document of a run at all
                for arguments in (*verbs, ("compare", "damaged.json", "old.json"), ("report", "damaged.json"),
                                  ("report", "damaged.json", "--csv", "-"),
                                  ("compare", "old.json", "old.json", "--noise", "damaged.json", "old.json")):
                    with self.subTest(name=name, arguments=arguments):
                        self.assert_told(self.run_it(*arguments), "flatline bench --json")

    def test_what_a_run_left_that_is_not_whole(self):
        head = {"schema": "flatline.unfinished/1", "version": "0.1.0", "full": False, "suites": ["hot"]}
        for name, content in damaged(head):
            with self.subTest(name=name):
                self.write("damaged.unfinished", content + b"\n")
                self.assert_told(self.run_it("bench", "--resume", "damaged.unfinished"))

    def test_records_and_declarations_that_are_not_whole(self):
        for name, content in damaged(TRACKING):
            with self.subTest(name=name):
                self.assert_told_or_served(self.run_it("plan", self.write("damaged.json", content)))
                self.assert_told_or_served(self.run_it("plan", self.write("damaged.toml", content)))

    def test_certificates_and_programs_that_are_not_whole(self):
        made = self.run_it("prove", LIBRARY, "--json", "certificate.json")
        self.assertIn(made.returncode, (0, 1), made.stderr)
        certificate = json.loads((self.tree.root / "certificate.json").read_text())
        certificate = {"schema": certificate["schema"], "functions": [
            {name: value for name, value in certificate["functions"][0].items() if not isinstance(value, (list, dict))}]}
        for name, content in damaged(certificate):
            self.write("damaged.json", content)
            with self.subTest(name=name):
                self.assert_told_or_served(self.run_it("prove", LIBRARY, "--limit", "damaged.json"))
        for content in (b"", b"{}", b"\x7fELF", b"\x7fELF\2\1\1" + bytes(100), pathlib.Path(LIBRARY).read_bytes()[:5000]):
            self.assert_told(self.run_it("prove", str(self.tree.root / self.write("damaged.so", content))))

    def test_files_that_cannot_be_read(self):
        for verb in (["compare", "old.json", "FILE"], ["compare", "FILE", "old.json"], ["report", "FILE"], ["plan", "FILE"],
                     ["prove", "FILE"], ["prove", LIBRARY, "--limit", "FILE"], ["bench", "--resume", "FILE"]):
            for file in ("absent.json", "/", "/proc/self/mem", "old.json/below"):
                with self.subTest(verb=verb, file=file):
                    self.assert_told(self.run_it(*[word.replace("FILE", file) for word in verb]))

    def test_runs_without_the_copy_are_not_compared(self):
        """One build and another seed: without the copy nobody knows that what they differ by is noise."""
        def without(*backends, size=None):
            return dict(self.document, cells=[cell for cell in self.document["cells"]
                                              if cell["backend"] not in backends or size not in (None, cell["calls_per_sample"])])
        for cell in self.document["cells"]:
            if cell["backend"] == "flatline-pool":
                slower = [1.5 * figure for figure in cell["process_p50"]]
        self.assertTrue(slower)
        copyless = without("flatline-pool-again")
        slower_copyless = copy.deepcopy(copyless)
        for cell in slower_copyless["cells"]:
            if cell["backend"] == "flatline-pool":
                for figures in ("process_p50", "process_p999"):
                    cell[figures] = [1.5 * figure for figure in cell[figures]]
        self.write("copyless.json", copyless)
        self.write("slower.json", slower_copyless)
        for old, new, lacking in (("old.json", "slower.json", "slower.json"), ("slower.json", "old.json", "slower.json"),
                                  ("copyless.json", "slower.json", "copyless.json")):
            for more in ([], ["--json", "-"], ["--noise", "old.json", "old.json"]):
                result = self.run_it("compare", old, new, *more)
                self.assert_told(result, lacking, "flatline-pool-again", "run both with it")
                self.assertEqual(result.stdout, b"")
        self.write("partly.json", without("flatline-pool-again", size=1))
        self.assert_told(self.run_it("compare", "old.json", "partly.json"), "partly.json", "hot 64 B, single")
        # For a backend without an A/A copy, the pool's copy shows how much the machine differed.
        self.assert_told(self.run_it("compare", "old.json", "slower.json", "--backend", "list"), "flatline-pool-again")
        self.assertEqual(self.run_it("compare", "copyless.json", "slower.json", "--backend", "list").returncode, 0)
        self.assertEqual(self.run_it("compare", "old.json", "old.json").returncode, 0)

    def test_runs_that_have_nothing_in_common_are_not_compared(self):
        other = copy.deepcopy(self.document)
        for cell in other["cells"]:
            cell["size"] = 4096
        self.write("other.json", other)
        self.assert_told(self.run_it("compare", "old.json", "other.json"), "no cell", "same suites")
        self.write("bare.json", dict(self.document, cells=[]))
        self.assert_told(self.run_it("compare", "old.json", "bare.json"), "no cell")

    # A failed write of the output must be an error.
    PRINTING = [["--help"], ["--version"], ["bench", "--help"], ["compare", "--help"], ["plan", "--help"], ["run", "--help"],
                ["env"], ["peers"], ["bench", "--list"], ["compare", "old.json", "old.json"],
                ["compare", "old.json", "old.json", "--json", "-"], ["report", "old.json"],
                ["report", "old.json", "--html", "-"], ["report", "old.json", "--csv", "-"], ["plan", "plan.toml"],
                ["plan", "plan.toml", "--json", "-"], ["plan", "plan.toml", "--toml", "-"],
                ["plan", "plan.toml", "--header", "-"], ["plan", "record.json"], ["prove", LIBRARY],
                ["prove", LIBRARY, "--json", "-"],
                ["bench", "hot", "--sizes", "64", "--processes", "1", "--backends", "floor"],
                ["bench", "hot", "--sizes", "64", "--processes", "1", "--backends", "floor", "--json", "-"]]

    def test_a_full_standard_output_is_told(self):
        for arguments in self.PRINTING:
            with self.subTest(arguments=arguments), open("/dev/full", "w") as full:
                self.assert_told(self.run_it(*arguments, stdout=full), "standard output could not be written")

    def test_a_closed_standard_output_is_told(self):
        for arguments in self.PRINTING[:3] + self.PRINTING[9:12]:
            with self.subTest(arguments=arguments):
                result = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", *self.tree.command(*arguments)],
                                        stderr=subprocess.PIPE, cwd=self.tree.root, timeout=100)
                self.assert_told(result, "standard output could not be written")

    WRITING = [["compare", "old.json", "old.json", "--json", "FILE"], ["report", "old.json", "--html", "FILE"],
               ["report", "old.json", "--csv", "FILE"], ["report", "old.json", "--markdown", "FILE"],
               ["plan", "plan.toml", "--json", "FILE"], ["plan", "plan.toml", "--toml", "FILE"],
               ["plan", "plan.toml", "--header", "FILE"], ["prove", LIBRARY, "--json", "FILE"]]

    def test_an_output_that_is_an_input_is_refused_and_left_as_it_is(self):
        for arguments in self.WRITING:
            if arguments[1] == LIBRARY:
                continue
            with self.subTest(arguments=arguments):
                before = (self.tree.root / arguments[1]).read_bytes()
                for same in (arguments[1], "./" + arguments[1], str(self.tree.root / arguments[1])):
                    result = self.run_it(*[word.replace("FILE", same) for word in arguments])
                    self.assert_told(result, "it would overwrite: name another file")
                self.assertEqual((self.tree.root / arguments[1]).read_bytes(), before)

    def test_two_outputs_in_one_file_are_refused(self):
        for file, name in (("both", "both"), ("-", "standard output")):
            self.assert_told(self.run_it("plan", "plan.toml", "--json", file, "--toml", file),
                             "--json and --toml cannot both be written to " + name)
            self.assert_told(self.run_it("report", "old.json", "--csv", file, "--markdown", file),
                             "--csv and --markdown cannot both be written to " + name)
        self.assertFalse((self.tree.root / "both").exists())
        both = self.run_it("plan", "plan.toml", "--json", "/dev/null", "--toml", "/dev/null")
        self.assertEqual(both.returncode, 0, both.stderr)

    def test_a_full_device_is_told(self):
        for arguments in self.WRITING:
            with self.subTest(arguments=arguments):
                result = self.run_it(*[word.replace("FILE", "/dev/full") for word in arguments])
                self.assert_told(result, "/dev/full could not be written", "No space left on device")

    def test_a_limit_of_file_sizes_is_told_and_is_no_signal(self):
        def limited():
            resource.setrlimit(resource.RLIMIT_FSIZE, (16, 16))
        for arguments in self.WRITING:
            with self.subTest(arguments=arguments):
                result = self.run_it(*[word.replace("FILE", "out") for word in arguments], preexec_fn=limited)
                self.assert_told(result, "out could not be written", "File too large")

    def test_what_was_measured_is_kept_where_it_cannot_be_written(self):
        link = self.tree.root / "out.json"
        link.symlink_to("/dev/full")
        lost = self.run_it("bench", "hot", "--sizes", "64", "--processes", "1", "--backends", "floor", "--json", "out.json")
        self.assert_told(lost, "out.json could not be written", "the measurements so far are kept", "flatline bench --resume")
        link.unlink()
        left = re.search(r"--resume (\S+)`", lost.stderr.decode()).group(1)
        calls = len((self.tree.libexec / "calls").read_text().splitlines())
        again = self.run_it("bench", "--resume", left)
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(json.loads(link.read_text())["schema"], "flatline.bench/1")
        self.assertEqual(len((self.tree.libexec / "calls").read_text().splitlines()), calls)
        self.assertFalse(os.path.exists(left))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[5:]], verbosity=2)
