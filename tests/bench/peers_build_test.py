#!/usr/bin/env python3
"""What peers/build.sh makes of sources that are there, missing or broken: with a cargo of the test's own.

    peers_build_test.py SCRIPT
"""
import ctypes
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(sys.argv.pop()).resolve()

# Stands in for `cargo vendor --quiet FOLDER`: it brings two of the six crates, laid out like the real ones.
CARGO = """#!/bin/bash
[ ! -e "$SCRATCH/offline" ] || { echo 'warning: spurious network error' >&2; echo 'error: no network' >&2; exit 101; }
cp -r "$SCRATCH/crates" "$3"
"""
CRATES = {
    "rpmalloc-sys/Cargo.toml": '[package]\nname = "rpmalloc-sys"\nversion = "0.2.3+abc"\n\n[dependencies.x]\nversion = "9"\n',
    "rpmalloc-sys/rpmalloc/CHANGELOG": "1.4.3\r\n\r\nmore\r\n",
    "rpmalloc-sys/rpmalloc/rpmalloc/rpmalloc.c": "int served(void) { return ENABLE_PRELOAD; }\n",
    "o1heap/Cargo.toml": '[package]\nname = "o1heap"\nversion = "0.0.2"\n',
    "o1heap/o1heap/o1heap/o1heap.c": "int o1heap(void) { return 1; }\n",
}
TOOLS = ["bash", "cat", "cp", "dirname", "gcc", "g++", "grep", "head", "mkdir", "mv", "nproc", "rm", "sed", "sha256sum",
         "tr"]
PEERS = {"mimalloc", "mimalloc_secure", "snmalloc", "rpmalloc", "hardened_malloc", "jemalloc", "o1heap"}


class PeersBuild(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = pathlib.Path(scratch.name)
        self.out, self.bin = self.root / "out", self.root / "bin"
        self.path = f"{self.bin}:{os.environ['PATH']}"
        self.put("bin/cargo", CARGO)
        (self.bin / "cargo").chmod(0o755)
        for name, text in CRATES.items():
            self.put("crates/" + name, text)

    def put(self, name, text):
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def build(self):
        """The records by peer; the script itself must never fail."""
        done = subprocess.run([SCRIPT, self.out, self.root / "work"], text=True, capture_output=True,
                              env=dict(os.environ, SCRATCH=str(self.root), CC="gcc", CXX="g++",
                                       PATH=self.path))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.said = done.stderr
        records = {file.stem: json.loads(file.read_text()) for file in self.out.glob("*.json")}
        self.assertEqual(set(records), PEERS)
        for peer, record in records.items():
            self.assertEqual("missing" in record, not (self.out / f"lib{peer}.so").exists(), peer)
        return records

    def test_builds_what_is_there_and_says_what_is_not(self):
        records = self.build()
        self.assertEqual(records["rpmalloc"]["version"], "1.4.3")
        self.assertEqual(records["rpmalloc"]["source"], "crate rpmalloc-sys 0.2.3+abc (upstream is at 2.x)")
        self.assertIn("-DENABLE_OVERRIDE=1", records["rpmalloc"]["flags"])
        self.assertIn("gcc", records["rpmalloc"]["compiler"])
        self.assertIn("the crate snmalloc-sys, is not in", records["snmalloc"]["missing"])
        self.assertIn("peers: no snmalloc: ", self.said)
        library = ctypes.CDLL(str(self.out / "librpmalloc.so"))
        self.assertEqual(library.served(), 1)
        self.assertEqual(ctypes.c_char_p(ctypes.addressof(ctypes.c_char.in_dll(library, "flatline_peer_version"))).value,
                         b"1.4.3")

    def test_leaves_alone_what_is_built(self):
        self.build()
        before = (self.out / "librpmalloc.so").stat()
        self.build()
        self.assertEqual((self.out / "librpmalloc.so").stat(), before)

    def test_keeps_what_is_built_when_its_source_goes(self):
        self.build()
        shutil.rmtree(self.root / "work/vendor/rpmalloc-sys")
        self.assertEqual(self.build()["rpmalloc"]["version"], "1.4.3")
        (self.out / "librpmalloc.so").unlink()
        self.assertIn("the crate rpmalloc-sys, is not in", self.build()["rpmalloc"]["missing"])

    def test_names_the_log_of_a_build_that_failed(self):
        self.put("crates/o1heap/o1heap/o1heap/o1heap.c", "int o1heap(void) { return }\n")
        records = self.build()
        log = records["o1heap"]["missing"].split("; ")[1].split(" says why")[0]
        self.assertIn("error", pathlib.Path(log).read_text())
        self.assertNotIn("missing", records["rpmalloc"])

    def test_without_a_network_nothing_is_built_until_there_is_one(self):
        self.put("offline", "")
        self.assertEqual({record["missing"] for record in self.build().values()},
                         {"cargo could not fetch its source: error: no network"})
        (self.root / "offline").unlink()
        self.assertIn("version", self.build()["rpmalloc"])

    def test_without_cargo_it_says_how_to_get_it(self):
        (self.bin / "cargo").unlink()
        for tool in TOOLS:  # the machine may have cargo in any other folder
            (self.bin / tool).symlink_to(shutil.which(tool))
        self.path = str(self.bin)
        self.assertEqual({record["missing"] for record in self.build().values()},
                         {"cargo is not installed: scripts/bootstrap bench installs it"})


if __name__ == "__main__":
    unittest.main()
