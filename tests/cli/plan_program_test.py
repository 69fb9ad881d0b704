"""What `flatline plan` prints, writes and returns, and that what it writes compiles, runs and is read back.

usage: plan_program_test.py FLATLINE PROJECT LIBRARY EXAMPLE    (EXAMPLE: planned_routes)
"""

import json
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM, PROJECT, LIBRARY, EXAMPLE = (pathlib.Path(path).resolve() for path in sys.argv[1:5])
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Wundef", "-Werror"]

DECLARED = ["--class", "64:1000", "256:200", "4K:16", "--arena", "64K", "--distribution", "48:900,200:150,3000:10"]

# Rows as flat::tracking_resource writes them: size, alignment, requests, live, peak.
RECORDED = [(16, 8, 5000, 120, 200), (32, 8, 9000, 800, 1200), (48, 8, 22000, 900, 1500), (64, 8, 18000, 3000, 5000),
            (112, 16, 100, 3, 12), (128, 64, 800, 64, 90), (272, 8, 10, 0, 3), (1024, 16, 120, 5, 20),
            (4096, 4096, 16, 2, 8), (5120, 16, 9, 1, 2), (65536, 16, 4, 1, 3)]


def tracking(rows):
    return {"schema": "flatline.tracking/1", "requests": sum(row[2] for row in rows), "live_bytes": 300000,
            "peak_bytes": 700000, "total_bytes": sum(row[0] * row[2] for row in rows),
            "sizes": [dict(zip(("size", "alignment", "requests", "live", "peak_live"), row)) for row in rows]}


class Plan(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def plan(self, *arguments):
        return subprocess.run([str(PROGRAM), "plan", *arguments], capture_output=True, text=True, cwd=self.folder,
                              timeout=60)

    def document(self, *arguments, status=0):
        result = self.plan(*arguments, "--json", "-")
        self.assertEqual(result.returncode, status, result.stderr)
        document = json.loads(result.stdout)
        self.assertEqual(document["schema"], "flatline.plan/1")
        return document

    def write(self, name, content):
        path = self.folder / name
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content if isinstance(content, str) else json.dumps(content))
        return name

    def assert_refused(self, result, *parts):
        """Status 2, nothing on standard output, and one printable line that says these things on standard error."""
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        self.assertTrue(result.stderr.startswith("flatline plan: "), result.stderr)
        self.assertTrue(result.stderr[:-1].isprintable(), repr(result.stderr))
        self.assertLess(len(result.stderr), 400)
        for part in parts:
            self.assertIn(part, result.stderr)

    def test_declared_plan_is_shown(self):
        result = self.plan(*DECLARED)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr, "")
        self.assertNotIn("\x1b", result.stdout)
        self.assertLessEqual(max(map(len, result.stdout.splitlines())), 100)
        pool = self.document(*DECLARED)["pool"]
        self.assertEqual(pool["bytes"], pool["block_bytes"] + pool["metadata_bytes"])
        self.assertIn(f"Pool       {pool['bytes']:,} bytes exactly: {pool['block_bytes']:,} for the blocks", result.stdout)
        for each in pool["classes"]:
            self.assertRegex(result.stdout, rf"(?m)^ .* {each['block_count']:,} +{each['bytes']:,} +{each['offset']:,} .*█")
        self.assertRegex(result.stdout, rf"(?m)^ +metadata +64 +{pool['metadata_bytes']:,} .*▓")
        self.assertRegex(result.stdout, r"(?m)^ +arena +16 +65,536 .*█")
        self.assertIn("The class of 64 B is exhausted first, when the demand grows", result.stdout)

    def test_heap_is_the_region_that_never_runs_out(self):
        document = self.document("--heap", "1M:16:4K")
        self.assertEqual([document["heap"][each] for each in ("live", "smallest", "largest")], [1 << 20, 16, 4096])
        self.assertGreater(document["heap"]["block_bytes"], 1 << 20)
        text = self.plan("--heap", "1M:16:4K").stdout
        self.assertRegex(text, rf"(?m)^ +heap +512 +{document['heap']['block_bytes']:,} .*█")
        self.assertIn("It refuses no sequence of requests of 16 to 4,096 bytes", " ".join(text.split()))

    def test_figures_add_up(self):
        document = self.document(*DECLARED)
        end = padding = 0
        for each in document["pool"]["classes"]:
            self.assertEqual(each["offset"], end + each["padding_before"])
            self.assertEqual(each["offset"] % each["alignment"], 0)
            self.assertEqual(each["bytes"], each["rounded_size"] * each["block_count"])
            end = each["offset"] + each["bytes"]
            padding += each["padding_before"]
        self.assertEqual(end, document["pool"]["block_bytes"])
        self.assertEqual(padding, document["pool"]["padding_bytes"])
        demand = document["demand"]
        self.assertEqual(demand["live_blocks_by_class"], [900, 150, 10])
        self.assertEqual(demand["waste_bytes"], 900 * 16 + 150 * 56 + 10 * 1096)
        self.assertEqual(demand["first_to_refuse"], [64])
        self.assertAlmostEqual(demand["holds_up_to_times"], 1000 / 900)
        self.assertTrue(demand["holds"])
        self.assertEqual(document["arena"], {"bytes": 65536, "alignment": 16})
        self.assertIsNone(document["choice"])

    def test_shares_fit_in_their_budget(self):
        document = self.document("--share", "64:30,1K:70", "--bytes", "1M")
        self.assertLessEqual(document["pool"]["buffer_bytes"], 1 << 20)
        self.assertIn("Budget     1,048,576 bytes", self.plan("--share", "64:30", "--share", "1K:70", "--bytes", "1M").stdout)

    def test_status_says_whether_the_demand_is_held(self):
        for arguments, status, part in [
            (["--class", "64:10", "--distribution", "60:10"], 0, "1.00 times"),
            (["--class", "64:10", "--distribution", "60:11"], 1, "before the demand is reached, at 0.90 times"),
            (["--class", "64:10", "--distribution", "65:1"], 1, "Every request of 65 B: no class serves it"),
            (["--distribution", "2G:1"], 1, "no pool serves these sizes"),
            (["--distribution", "64:1,2G:1"], 1, "Every request of 2 GiB: no class serves it"),
        ]:
            with self.subTest(arguments=arguments):
                result = self.plan(*arguments)
                self.assertEqual((result.returncode, result.stderr), (status, ""))
                self.assertIn(part, result.stdout)
                self.document(*arguments, status=status)

    def test_recorded_program_gets_its_classes_with_the_margin(self):
        self.write("t.json", tracking(RECORDED))
        document = self.document("t.json")
        self.assertEqual(document["choice"]["margin_percent"], 20)
        self.assertGreaterEqual(document["demand"]["holds_up_to_times"], 1.2)
        by_margin = {each["percent"]: each for each in document["choice"]["by_margin"]}
        self.assertEqual(by_margin[20]["bytes"], document["pool"]["bytes"])
        self.assertEqual(by_margin[0]["holds_up_to_times"], 1)
        least = min(each["bytes"] for each in document["choice"]["by_classes"])
        self.assertEqual(document["pool"]["bytes"], least)
        total = sum(row[0] * row[2] for row in RECORDED)
        self.assertEqual(document["arena"]["bytes"], (-(-total * 120 // 100) + 15) // 16 * 16)
        text = self.plan("t.json")
        self.assertEqual(text.returncode, 0, text.stderr)
        self.assertLessEqual(max(map(len, text.stdout.splitlines())), 100)
        self.assertRegex(text.stdout, r"(?m)^ +20 % .* chosen$")
        self.assertIn("Margin     20 % over the demand takes", text.stdout)
        self.assertRegex(text.stdout, r": [\d,]+\s+for\s+each\s+percent\s+of\s+growth")
        none = self.document("t.json", "--margin", "0")
        self.assertLess(none["pool"]["bytes"], document["pool"]["bytes"])
        self.assertEqual(none["demand"]["holds_up_to_times"], 1)
        few = self.document("t.json", "--max-classes", "3")
        self.assertLessEqual(len(few["pool"]["classes"]), 3)
        self.assertGreater(few["pool"]["bytes"], document["pool"]["bytes"])

    def test_declared_pool_is_held_against_a_recorded_program(self):
        self.write("t.json", tracking(RECORDED))
        document = self.document("--class", "64K:10000", "--distribution", "t.json")
        self.assertEqual(document["demand"]["requested_bytes"], sum(row[0] * row[4] for row in RECORDED))
        self.write("d.toml", "[demand]\nsizes = [{ size = 48, count = 3 }]\n")
        self.assertEqual(self.document("--class", "64:3", "--distribution", "d.toml")["demand"]["waste_bytes"], 48)

    def test_declaration_that_was_written_makes_the_same_plan(self):
        self.write("t.json", tracking(RECORDED))
        for arguments in (DECLARED, ["t.json"], ["t.json", "--margin", "7"], ["--arena", "3M"], ["--heap", "1M:16:4K"],
                          ["--share", "64:30,1K:70", "--bytes", "1M"], ["--distribution", "48:3,5000:2"]):
            with self.subTest(arguments=arguments):
                result = self.plan(*arguments, "--toml", "again.toml", "--json", "first.json")
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertIn(f"declaration: {self.folder}/again.toml\nfigures: {self.folder}/first.json\n", result.stdout)
                first = json.loads((self.folder / "first.json").read_text())
                second = self.document("again.toml")
                for part in ("pool", "arena", "heap", "demand"):
                    self.assertEqual(first[part], second[part])
                once = (self.folder / "again.toml").read_text()
                again = self.plan("again.toml", "--toml", "-").stdout
                self.assertEqual([line for line in once.splitlines() if not line.startswith("#")],
                                 [line for line in again.splitlines() if not line.startswith("#")])

    def compilers(self):
        found = [(name, flags) for name, flags in [("gcc", ["-std=c11"]), ("g++", ["-std=c++17", "-x", "c++"]),
                                                   ("clang-19", ["-std=c11"]), ("clang++-19", ["-std=c++17", "-x", "c++"])]
                 if shutil.which(name)]
        self.assertTrue(found, "no compiler: scripts/bootstrap test installs them")
        return found

    def build_and_run(self, demand, defines):
        rows = ", ".join(f"{{{size}, {alignment}, {count}}}" for size, alignment, count in demand)
        self.write("demand.h", "#include <stddef.h>\n"
                   f"static const struct {{ size_t size, alignment, count; }} demand[] = {{{rows}}};\n")
        for compiler, flags in self.compilers():
            with self.subTest(compiler=compiler):
                program = self.folder / "planned"
                built = subprocess.run([compiler, *flags, *WARNINGS, "-O1", *defines, "-I", str(self.folder), "-I",
                                        str(PROJECT / "include"), str(PROJECT / "tests/cli/planned.c"), "-x", "none",
                                        str(LIBRARY), "-o", str(program)], capture_output=True, text=True)
                self.assertEqual(built.returncode, 0, built.stderr)
                ran = subprocess.run([str(program)], capture_output=True, text=True, timeout=60)
                self.assertEqual((ran.returncode, ran.stderr), (0, ""))

    def test_header_puts_the_pool_into_static_storage_of_exactly_the_planned_bytes(self):
        declaration = self.plan(*DECLARED, "--heap", "64K:16:4K", "--toml", "-").stdout
        self.write("planned.toml", declaration.replace("[heap]\n", "[heap]\nalignment = 1024\n"))
        result = self.plan("planned.toml", "--header", "planned.h")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(f"header: {self.folder}/planned.h\n", result.stdout)
        self.build_and_run([(48, 1, 900), (200, 1, 150), (3000, 1, 10)], ["-DPLANNED_WITH_ARENA=1", "-DPLANNED_WITH_HEAP=1"])

    def test_recorded_peaks_fill_the_pool_planned_without_a_margin_to_its_last_block(self):
        self.write("t.json", tracking(RECORDED))
        result = self.plan("t.json", "--margin", "0", "--header", "planned.h")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.build_and_run([(row[0], row[1], row[4]) for row in RECORDED], ["-DEXACT", "-DPLANNED_WITH_ARENA=1", "-DPLANNED_WITH_HEAP=0"])

    def test_headers_of_many_plans_agree_with_the_library(self):
        seed = random.randrange(1 << 32)
        print(f"seed {seed}", file=sys.stderr)
        chance = random.Random(seed)
        for _ in range(3):
            sizes = sorted(chance.sample(range(1, 300), chance.randint(1, 40)))
            demand = [(size * 16, 1 << chance.randint(0, 6), chance.randint(1, 300)) for size in sizes]
            self.write("t.json", tracking([(size, alignment, count, 0, count) for size, alignment, count in demand]))
            result = self.plan("t.json", "--margin", "0", "--header", "planned.h")
            self.assertEqual(result.returncode, 0, f"seed {seed}: {result.stderr}")
            self.build_and_run(demand, ["-DEXACT", "-DPLANNED_WITH_ARENA=0", "-DPLANNED_WITH_HEAP=0"])

    ENGINE = (PROJECT / "examples/engine.toml")

    def test_engine_is_shown(self):
        result = self.plan(str(self.ENGINE))
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertLessEqual(max(map(len, result.stdout.splitlines())), 100)
        engine = self.document(str(self.ENGINE))["engine"]
        self.assertIn(f"Engine     {engine['bytes']:,} bytes exactly: {engine['block_bytes']:,} for the blocks",
                      result.stdout)
        self.assertEqual(engine["bytes"], sum(engine["metadata_parts"].values()) + sum(engine["block_parts"].values()))
        for part in ({**engine["metadata_parts"], "guards": 0, **engine["block_parts"]}).values():
            self.assertTrue(part == 0 or f"{part:,}" in result.stdout or part == engine["block_parts"]["guards"], part)
        (kind,) = engine["kinds"]
        self.assertEqual(kind["workers"], [0, 1])
        for payload in kind["payloads"]:
            self.assertEqual(payload["granted"], payload["grants_of_each_lane"] * engine["lanes"]
                             + payload["grants_of_each_worker"] * engine["workers"])
            for bound in payload["bounds"]:
                self.assertRegex(result.stdout, rf"(?m)^ +\S+( [KM]?i?B)? +{bound['urgency']} .* {bound['as_urgent']:,} "
                                                rf"+{bound['more_urgent']:,} +{sum(bound['less_urgent']):,} +[\d.]+ .?s$")

    def test_figures_of_an_engine_are_those_of_the_derivation(self):
        """The inequality of the manual, once more, from the figures of the document."""
        self.write("e.toml", "[engine]\nworkers = 1\nlanes = 2\nstarvation_limit = 5\noverhead = \"7ns\"\nclasses = [\n"
                   "{ size = 64, count = 9, grants = 2, worker_grants = \"none\", service = \"10ns\", urgencies = [0, 1] },\n"
                   "{ size = 256, count = 9, grants = 1, worker_grants = \"none\", service = \"100ns\", urgencies = [1] }]\n"
                   "inline = { grants = 1, worker_grants = \"none\", service = \"1us\", urgencies = [3] }\n")
        engine = self.document("e.toml")["engine"]
        small, large, inline = engine["kinds"][0]["payloads"]
        grants = sum(each["granted"] for each in (small, large, inline))
        low, high = small["bounds"][0], inline["bounds"][0]
        self.assertEqual((low["as_urgent"], low["more_urgent"], low["less_urgent"]), (3, 4 * 5, []))
        self.assertEqual(low["sojourn_ns"], 10 + 1000 + 3 * 10 + 20 * 1000 + 7 * (low["tasks_before"] + grants))
        self.assertEqual((high["as_urgent"], high["more_urgent"], high["less_urgent"]), (1, 0, [1, 1, 0]))
        self.assertEqual(high["sojourn_ns"], 1000 + 1000 + 1000 + 10 + 100 + 7 * (high["tasks_before"] + grants))

    def test_a_class_without_a_limit_has_no_bound_and_that_is_said(self):
        self.write("e.toml", "[engine]\nworkers = 1\nclasses = [{ size = 64, count = 100, service = \"1us\" }]\n")
        result = self.plan("e.toml")
        self.assertEqual(result.returncode, 0, result.stderr)
        said = " ".join(result.stdout.split())
        self.assertIn("No bound Tasks with inline payloads state no `service` at worker 0.", said)
        self.assertNotRegex(result.stdout, r"inf|nan")
        for payload in self.document("e.toml")["engine"]["kinds"][0]["payloads"]:
            self.assertEqual([bound["sojourn_ns"] for bound in payload["bounds"]], [None] * 4)

    def test_engine_that_was_written_makes_the_same_plan(self):
        result = self.plan(str(self.ENGINE), "--toml", "again.toml")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.document("again.toml"), self.document(str(self.ENGINE)))

    def test_header_makes_the_engine_in_exactly_the_planned_bytes(self):
        differing = ("[engine]\nlanes = 2\nstack = \"64K\"\nwatchdog = \"1s\"\nwaiting = \"sleep\"\nclasses = [{ size = 64, "
                     "count = 100, service = \"1us\" }]\n[[engine.worker]]\n[[engine.worker]]\nbytes = \"64K\"\nshares = "
                     "[{ size = 128, percent = 40, grants = 3, worker_grants = \"none\" }, { size = 1024, percent = 60 }]\n")
        for name, declaration in (("example", self.ENGINE.read_text()), ("differing", differing)):
            self.write(name + ".toml", declaration)
            self.assertEqual(self.plan(name + ".toml", "--header", "planned.h").returncode, 0)
            workers = len(re.findall(r"\[\[engine.worker", declaration))
            for compiler, flags in self.compilers():
                with self.subTest(declaration=name, compiler=compiler):
                    program = self.folder / "planned"
                    built = subprocess.run([compiler, *flags, *WARNINGS, "-O1", f"-DWORKERS={workers}", "-I",
                                            str(self.folder), "-I", str(PROJECT / "include"),
                                            str(PROJECT / "tests/cli/planned_engine.c"), "-x", "none", str(LIBRARY),
                                            "-pthread", "-o", str(program)], capture_output=True, text=True)
                    self.assertEqual(built.returncode, 0, built.stderr)
                    ran = subprocess.run([str(program)], capture_output=True, text=True, timeout=60)
                    self.assertEqual((ran.returncode, ran.stderr), (0, ""))
                    payloads = [payload for kind in self.document(name + ".toml")["engine"]["kinds"]
                                for _ in kind["workers"] for payload in kind["payloads"]]
                    self.assertEqual(sum(each["grants_of_each_lane"] for each in payloads), int(ran.stdout))

    def build_routes(self, name):
        built = subprocess.run(["g++", "-std=c++17", "-O1", "-DPLANNED", "-I", str(self.folder), "-I",
                                str(PROJECT / "include"), str(PROJECT / "examples/planned_routes.cpp"), str(LIBRARY),
                                "-pthread", "-o", name], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(built.returncode, 0, built.stderr)
        return subprocess.run([str(self.folder / name)], capture_output=True, text=True, timeout=60)

    def test_example_runs_at_exactly_the_footprint_planned_from_its_own_record(self):
        recorded = subprocess.run([str(EXAMPLE), "record.json"], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual((recorded.returncode, recorded.stderr), (0, ""))
        found = recorded.stdout.rstrip("\n")
        self.assertEqual(self.plan("record.json", "--margin", "0", "--header", "plan.h").returncode, 0)
        pool = self.document("record.json", "--margin", "0")["pool"]
        ran = self.build_routes("planned")
        self.assertEqual((ran.returncode, ran.stdout), (0, f"{found} in {pool['bytes']} bytes\n"), ran.stderr)
        # A class has as many blocks as the peaks of its sizes, so a class with a single size needs all of its blocks.
        header = (self.folder / "plan.h").read_text()
        rows = {row["size"]: row["peak_live"] for row in json.loads((self.folder / "record.json").read_text())["sizes"]}
        alone = [each for each in pool["classes"] if rows.get(each["block_size"]) == each["block_count"]]
        self.assertTrue(alone)
        for each in alone:
            planned = f"{{{each['block_size']}, {each['block_count']}}},"
            self.assertIn(planned, header)
            self.write("plan.h", header.replace(planned, f"{{{each['block_size']}, {each['block_count'] - 1}}},"))
            self.assertNotEqual(self.build_routes("fewer").returncode, 0, each)

    def test_manual_shows_what_is_printed(self):
        page = (PROJECT / "docs/plan.md").read_text()
        self.write("engine.toml", self.ENGINE.read_text())
        self.assertIn(f"```text\n{self.ENGINE.read_text()}```\n", page)
        programs = {"flatline": PROGRAM, "planned_routes": EXAMPLE}
        shown = [block for block in re.findall(r"(?ms)^```text\n(.*?)^```$", page) if block.startswith("$ ")]
        self.assertTrue(shown)
        for block in shown:
            printed = ""
            for command in re.findall(r"(?m)^\$ (.*)$", block):
                name, *arguments = command.split()
                ran = subprocess.run([str(programs[name]), *arguments], cwd=self.folder, capture_output=True, text=True)
                printed += f"$ {command}\n{ran.stdout}"
            self.assertEqual(block, printed)
        declaration = next(block for block in re.findall(r"(?ms)^```text\n(.*?)^```$", page) if block.startswith("[pool]"))
        self.write("page.toml", declaration)
        self.assertEqual(self.plan("page.toml").returncode, 0)

    def test_dash_leaves_standard_output_to_one_result(self):
        self.assertTrue(self.plan(*DECLARED, "--header", "-").stdout.startswith("/* Made by `flatline plan`"))
        self.assertTrue(self.plan(*DECLARED, "--toml", "-").stdout.startswith("# Made by `flatline plan`"))
        self.assert_refused(self.plan(*DECLARED, "--toml", "-", "--json", "-"), "--json and --toml", "name a file")

    def test_misuse_says_in_one_line_what_to_do(self):
        self.write("t.json", tracking(RECORDED))
        self.write("p.toml", "[arena]\nbytes = 3\n")
        for arguments, parts in [
            ([], ["nothing to plan", "declare"]),
            (["--class", "64"], ["--class", "64 is not SIZE:COUNT"]),
            (["--class", "64:-1"], ["64:-1"]),
            (["--class", "64:1K"], ["64:1K"]),
            (["--class", "64Q:1"], ["64Q:1"]),
            (["--class", "64:99999999999999999999"], ["SIZE:COUNT"]),
            (["--class", "0:1"], ["0 bytes", "1 to 1073741824"]),
            (["--class", "64:0"], ["0 blocks of 64"]),
            (["--class", "64:16777217"], ["16777217", "16777216"]),
            (["--class", "64:1", "50:2"], ["50 and 64", "make them one"]),
            (["--class", *[f"{16 * i}:1" for i in range(1, 66)]], ["65 classes", "64"]),
            (["--class", "64:1", "--bytes", "100"], ["both or neither"]),
            (["--class", "64:1", "--share", "64:100", "--bytes", "100"], ["classes and shares"]),
            (["--share", "64:100"], ["both or neither"]),
            (["--share", "64:90", "--bytes", "1M"], ["90 %", "make them 100"]),
            (["--share", "64:101", "--bytes", "1M"], ["64:101", "1 to 100"]),
            (["--share", "64:100", "--bytes", "0"], ["--bytes"]),
            (["--share", "64:100", "--bytes", "10"], ["10 bytes are too few"]),
            (["--bytes", "x", "--share", "64:100"], ["--bytes", "such as 4096 or 4K"]),
            (["--arena", "0"], ["arena of 0 bytes"]),
            (["--arena", "99999999999G"], ["--arena", "99999999999G is not a number of bytes"]),
            (["--arena", "7999999999G"], ["arena of"]),
            (["--heap", "1M"], ["--heap", "LIVE:SMALLEST:LARGEST"]),
            (["--heap", "1M:16"], ["--heap", "1M:16 is not"]),
            (["--heap", "1M:16:4K:3"], ["--heap", "1M:16:4K:3 is not"]),
            (["--heap", ":::"], ["--heap"]),
            (["--heap", "1M:0:4K"], ["1 <= smallest <= largest <= live"]),
            (["--heap", "1M:8K:4K"], ["1 <= smallest <= largest <= live"]),
            (["--heap", "64G:1:4K"], ["would be over"]),
            (["p.toml", "--heap", "1M:16:4K"], ["p.toml is a whole declaration"]),
            (["--distribution", "48"], ["neither a file nor SIZE:COUNT"]),
            (["--distribution", "48:1,"], ["neither a file nor SIZE:COUNT"]),
            (["--distribution", ""], ["nothing to plan"]),
            (["--distribution", "0:3"], ["0 bytes", "write 1"]),
            (["--distribution", "16:0"], ["no block is live"]),
            (["--distribution", "16:4294967297"], ["4294967296"]),
            (["--distribution", "absent.toml"], ["absent.toml", "neither a file"]),
            (["--distribution", "x" * 5000], ["neither a file"]),
            (["--distribution", "p.toml"], ["[demand]", "add it"]),
            (["t.json", "--distribution", "16:1"], ["--distribution", "leave one out"]),
            (["absent.toml"], ["absent.toml", "cannot be read"]),
            (["absent.json"], ["absent.json", "cannot be read"]),
            (["."], ["cannot be read"]),
            (["p.toml", "--arena", "3"], ["p.toml is a whole declaration"]),
            (["p.toml", "t.json"], ["flatline plan --help"]),
            (["p.toml", "--margin", "5"], ["--margin", "leave them out"]),
            (["--class", "64:1", "--max-classes", "5"], ["--max-classes", "leave them out"]),
            (["t.json", "--margin", "-1"], ["--margin"]),
            (["t.json", "--margin", "1001"], ["--margin"]),
            (["t.json", "--max-classes", "0"], ["--max-classes"]),
            (["t.json", "--max-classes", "65"], ["--max-classes"]),
            (["--nope"], ["--nope", "flatline plan --help"]),
            (["--class", "64:1", "--json", "/nowhere/x"], ["--json", "/nowhere/x", "name a file"]),
            (["--class", "64:1", "--header", "/nowhere/x"], ["--header", "/nowhere/x", "name a file"]),
            (["--class", "64:1", "--toml", "/nowhere/x"], ["--toml", "/nowhere/x", "name a file"]),
        ]:
            with self.subTest(arguments=[argument[:40] for argument in arguments]):
                self.assert_refused(self.plan(*arguments), *parts)

    def test_file_that_is_no_declaration_is_refused_with_what_would_be_one(self):
        told = "give a declaration (.toml), a tracking file (.json) or an audit's recording"
        self.write("program.cpp", b"int main() {}\n")
        self.assert_refused(self.plan("program.cpp"), "program.cpp:1:5", told)
        self.assert_refused(self.plan("--distribution", "program.cpp"), "program.cpp:1:5", told)
        self.write("cut.toml", b"[pool")
        self.assertNotIn(told, self.plan("cut.toml").stderr)

    def test_damaged_files_are_refused_in_one_line(self):
        good = json.dumps(tracking(RECORDED))
        files = {
            "empty.toml": b"", "cut.toml": b"[pool]\nclasses = [{ size = 64, co", "bytes.toml": bytes(range(256)),
            "utf8.toml": b'[pool]\nclasses = "\xff"\n', "deep.toml": b"a = " + b"[" * 200000,
            "dotted.toml": b"a" + b".a" * 200000 + b" = 1", "table.toml": b"[a" + b".a" * 200000 + b"]",
            "huge.toml": b"[arena]\nbytes = 99999999999999999999", "negative.toml": b"[arena]\nbytes = -1",
            "twice.toml": b"[arena]\nbytes = 1\nbytes = 2", "missing.toml": b"[arena]\nalignment = 8",
            "key.toml": b"[ = 1", "escape.toml": b'"\\u001b[31m" = 1',
            "empty.json": b"", "cut.json": good[:200].encode(), "bytes.json": bytes(range(256)),
            "utf8.json": b'{"schema": "\xff"}', "deep.json": b"[" * 1000000, "objects.json": b'{"a":' * 200000,
            "other.json": b'{"schema": "flatline.bench/1"}', "list.json": b"[]", "null.json": b"null",
            "huge.json": re.sub(r'"total_bytes": \d+', '"total_bytes": 99999999999999999999', good).encode(),
            "negative.json": re.sub(r'"peak_live": \d+', '"peak_live": -1', good).encode(),
            "twice.json": good.replace('"requests"', '"schema": 1, "schema": 2, "requests"', 1).encode(),
            "missing.json": good.replace('"total_bytes"', '"total"').encode(),
            "many.json": json.dumps(tracking([(16 * i, 8, 1, 0, 1) for i in range(1, 2100)])).encode(),
        }
        for name, content in files.items():
            with self.subTest(file=name):
                self.write(name, content)
                self.assert_refused(self.plan(name), *([name] if name != "many.json" else ["2099 sizes", "2048"]))
                if name.endswith(".toml"):
                    self.assertRegex(self.plan(name).stderr, rf"^flatline plan: {re.escape(name)}:\d+:\d+: ")

    def test_nothing_is_written_of_a_plan_that_is_refused(self):
        self.assert_refused(self.plan("--class", "0:1", "--header", "h.h", "--toml", "t.toml", "--json", "j.json"))
        self.assertEqual(list(self.folder.iterdir()), [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
