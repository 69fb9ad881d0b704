"""What `flatline` says of itself, of this machine and of its peers, and of misuse.

usage: program_test.py FLATLINE FAKE_DRIVER REPORT_TEMPLATE
"""

import json
import re
import shutil
import sys
import unittest

from program_tree import FAKE, TreeTest


class Program(TreeTest):
    def test_help_fits_a_screen(self):
        for arguments in (["--help"], ["audit", "--help"], ["audit", "report", "--help"], ["bench", "--help"],
                          ["compare", "--help"], ["env", "--help"], ["guard", "--help"], ["peers", "--help"],
                          ["plan", "--help"], ["replay", "--help"], ["report", "--help"], ["run", "--help"], ["top", "--help"]):
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
            (["bench", "hott"], ["hott", "hot", "throughput"]),
            (["bench", "--backends", "nomalloc"], ["nomalloc", "jemalloc"]),
            (["bench", "--processes", "0"], ["--processes"]),
            (["bench", "--processes", "many"], ["--processes"]),
            (["bench", "mixed", "--sizes", "64"], ["--list"]),
            (["bench", "pipeline", "--threads", "3"], ["number of threads", "--list"]),
            (["bench", "threads", "--threads", "66"], ["--threads", "64"]),
            (["bench", "threads", "--threads", "4,1"], ["--threads", "64"]),
            (["bench", "--pin", "100000"], ["100000", "may not use processor"]),
            (["bench", "--json", "/nowhere/out.json"], ["--json", "/nowhere/out.json", "name a file"]),
            (["bench", "--html", str(self.tree.root)], ["--html", "name a file"]),
            (["bench", "--json", "-", "--html", "-"], ["--json", "--html"]),
        ]:
            with self.subTest(arguments=arguments):
                self.assert_refused(self.tree.run(*arguments), *parts)

    def put_peer(self, name, record):
        """A library that the build has made, and a driver that says it served."""
        peers = self.tree.libexec / "peers"
        peers.mkdir(exist_ok=True)
        library = peers / f"lib{name}.so"
        shutil.copy(FAKE, library)
        (peers / f"{name}.json").write_text(record)
        for driver in ("bench-malloc", "bench-containers-malloc"):
            shutil.copy(FAKE, self.tree.libexec / driver)
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
        # The driver always reports that snmalloc served the calls, so all other backends are refused.
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
        self.assertIn("scripts/bootstrap bench", missing["rpmalloc"])
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
        self.assert_refused(self.tree.run("env", "--pin", "100000"), "100000", "may not use processor")

    def test_list_shows_what_there_is(self):
        result = self.tree.run("bench", "--list")
        self.assertEqual(result.returncode, 0)
        self.assertIn("mixed 7 sizes, single calls", result.stdout)
        self.assertIn("bench-pool", result.stdout)
        self.assertFalse((self.tree.libexec / "calls").exists())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
