"""A manual in a scratch folder, which `scripts/results` fills, for tests of that script. The last argument of such a
test is SCRIPT.
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from results_runs import ANYSIZE, CONTAINERS, FULL, MALLOC, PERCORE, PROGRAMS, written

SCRIPT = os.path.abspath(sys.argv.pop())
sys.path.insert(0, os.path.dirname(SCRIPT))

PAGES = {
    "README.md": ("<!-- results lost tails -->\n<!-- /results -->\n"
                  "before\n<!-- results medians -->\nyesterday\n<!-- /results -->\nafter\n"),
    "docs/choosing.md": "".join("<!-- results containers %s -->\n<!-- /results -->\n" % name for name in (
        "choice", "medians", "jitter", "memory", "ratios", "allocators", "goals")),
    "docs/engine.md": "".join("<!-- results %s -->\n<!-- /results -->\n" % name for name in (
        "engine", "engine ratios", "engine tails", "engine overload", "engine goals")),
    "docs/heap.md": "<!-- results heap -->\n<!-- /results -->\n<!-- results heap goals -->\n<!-- /results -->\n",
    "docs/malloc.md": "".join("<!-- results %s -->\n<!-- /results -->\n" % name for name in (
        "malloc", "malloc tails", "malloc stalls", "malloc goals", "malloc programs", "malloc program goals")),
    "docs/percore.md": "".join("<!-- results %s -->\n<!-- /results -->\n" % name for name in (
        "percore", "percore tails", "percore goals")),
    "docs/pool.md": "<!-- results ratios -->\n<!-- /results -->\nbetween\n<!-- results losses -->\n<!-- /results -->\n",
    "docs/results.md": "".join("<!-- results %s -->\n<!-- /results -->\n" % name for name in (
        "machine", "allocators", "tails", "drift", "lifetime", "memory", "programs", "threads", "threads memory",
        "threads tails", "pipeline", "malloc suites", "malloc losses", "malloc lost tails", "malloc worst")),
}


MACHINE = "a processor, 2 processors"
MEASURED_ON = "Measured on %s.\n\n" % MACHINE


def rows_of(text):
    return [line for line in text.splitlines() if line.startswith("| ")][1:]  # without the header


class Manual(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "docs").mkdir()
        for page, text in PAGES.items():
            (self.root / page).write_text(text)

    def run_script(self, *arguments):
        return subprocess.run([sys.executable, SCRIPT, "--root", str(self.root), *arguments], text=True,
                              capture_output=True)

    def collect(self, *quick, containers=(CONTAINERS,), anysize=(ANYSIZE,), percore=(PERCORE,), malloc=(MALLOC,),
                malloc_others=(), full=FULL, programs=(PROGRAMS,), engine=()):
        def files(kind, runs):
            names = [str(self.root / ("%s-%d.json" % (kind, i))) for i in range(len(runs))]
            for name, run in zip(names, runs):
                pathlib.Path(name).write_text(written(run))
            return names

        return self.run_script("collect", "--quick", *files("quick", quick), "--containers",
                               *files("containers", containers), "--anysize", *files("anysize", anysize), "--percore",
                               *files("percore", percore), "--malloc", *files("malloc", malloc),
                               *(["--malloc-others", *files("others", malloc_others)] if malloc_others else []),
                               *(["--engine", *files("engine", engine)] if engine else []), "--full",
                               *files("full", [full]), "--programs", *files("programs", programs))

    def write(self, *quick, **others):
        for done in (self.collect(*quick, **others), self.run_script("write")):
            self.assertEqual((done.returncode, done.stderr), (0, ""))

    def page(self, name):
        """Without the lines that name the machine of a table that does not name it itself."""
        return (self.root / name).read_text().replace(MEASURED_ON, "")

    def table(self, name, page="docs/results.md"):
        return self.page(page).split("<!-- results %s -->\n" % name)[1].split("<!-- /results -->")[0]
