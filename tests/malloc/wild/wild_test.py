#!/usr/bin/env python3
"""Runs the programs of this folder, each of which has a habit that some malloc could not bear, under glibc, under the
malloc with one of its policies, or under the peers.

    wild_test.py CASE UNDER --programs DIR --library FILE [--page FILE] [--peers DIR] [--figures DIR]
    wild_test.py --list          the cases, one a line, with `memory` behind those that are compared with the peers
    wild_test.py --table ...     what is resident in each of those, under every malloc, as the rows of a table

UNDER is glibc, latency, balanced, memory, or, of a case that is compared, peers. A program judges itself by its exit
status: 0 right, 1 wrong, 77 this machine cannot tell. What it says of its memory is judged here: where the malloc was
asked to give memory back, by the least of glibc, jemalloc, mimalloc and tcmalloc, as far as they are installed, and
where not, by the bounds that the page of the manual states. `peers` writes what these have into a file below --figures,
where the others find it; without the file they measure it themselves. Exit status: 0 right, 1 wrong, 77 nothing could
be told.
"""
import argparse
import dataclasses
import json
import os
import re
import resource
import shlex
import signal
import subprocess
import sys
import tempfile

MIB = 1 << 20
KIB = 1 << 10
SKIPPED = 77
SECONDS = 120  # for one program: one that takes this long hangs
POLICIES = ["latency", "balanced", "memory"]
PEERS = {"glibc": None, "jemalloc": "libjemalloc.so.2", "mimalloc": "libmimalloc.so.2",
         "tcmalloc": "libtcmalloc_minimal.so.4"}


@dataclasses.dataclass
class Run:
    program: str
    arguments: list = dataclasses.field(default_factory=list)
    address_space: int = 0  # bytes; 0: unchanged
    data: int = 0
    before: str = ""  # a library that is preloaded before the malloc
    how: str = ""  # HOW in the environment
    environment: dict = dataclasses.field(default_factory=dict)
    by_glibc: bool = True  # glibc must pass, too: False where only the page promises it


    def words(self):
        return " ".join([self.program] + self.arguments)


def run_of(text, **more):
    words = text.split()
    return Run(words[0], words[1:], **more)


def shares(kind, when):
    """Limits from 64 MiB to 4 GiB, and blocks that are small, large, and huge."""
    for limit in (64, 256, 1024, 4096):
        for size in (1000, 100000, 1126 * KIB, 3 * MIB):
            given = {"address_space" if kind == "as" else "data": limit * MIB} if when == "exec" else {}
            yield run_of("limit_share %s %d %s %d" % (kind, limit, when, size), **given)


# What each case runs.
CASES = {
    "realloc_grows": [run_of("growing_realloc 1"), run_of("growing_realloc 2"), run_of("growing_realloc 5")],
    "realloc_grows_on_older_kernels": [run_of("growing_realloc %d" % n, before="older_mremap.so") for n in (1, 2, 5)],
    "calloc_is_zero_after_locks": [run_of("locked_calloc " + how) for how in ("page", "whole", "fault", "all")],
    "fork_with_handlers_of_others": [
        run_of("fork_handlers", how=late + how) for late in ("", "late ")
        for how in ("none", "alloc", "join", "wait", "parent", "child", "respawn")],
    "fork_while_busy": [run_of("fork_busy 40")],
    "fork_and_use_what_threads_left": [
        run_of("fork_reuse %s %d 24" % (whose, size), by_glibc=False) for whose in ("freed", "main", "live")
        for size in (1000, 60000, 1500000)],
    "threads_in_turn": [run_of("threads_in_turn 40000 work"), run_of("threads_in_turn 20000 work 50")],
    "threads_in_turn_with_late_destructors": [
        run_of("threads_in_turn 40000 last"), run_of("threads_in_turn 20000 leave"),
        run_of("threads_in_turn 20000 destroyed"), run_of("threads_in_turn 20000 last 50"),
        run_of("threads_in_turn 20000 leave 50"), run_of("threads_in_turn 20000 destroyed 50")],
    "threads_at_once": [run_of("threads_at_once 20000 20000")],
    "threads_under_a_limit": [
        run_of("threads_at_once 400 400", address_space=64 * MIB),
        run_of("threads_at_once 1000 1000", address_space=256 * MIB),
        run_of("threads_at_once 3000 3000", address_space=256 * MIB, by_glibc=False),  # arenas take the stacks' room
        run_of("threads_at_once 8000 8000", address_space=1024 * MIB, by_glibc=False),
        run_of("threads_at_once 500 300", data=64 * MIB),
        run_of("threads_in_turn 3000 work", address_space=64 * MIB),
        run_of("threads_in_turn 3000 last", address_space=256 * MIB)],
    "share_of_address_space": list(shares("as", "exec")),
    "share_of_address_space_set_late": list(shares("as", "late")),
    "share_of_data": list(shares("data", "exec")),
    "share_of_data_set_late": list(shares("data", "late")),
    "limit_set_late": [run_of("late_limit")],
    "small_limits": [run_of("failing_calls", data=30000 * KIB), run_of("failing_calls", data=8 * MIB),
                     run_of("failing_calls", address_space=100 * MIB), run_of("failing_calls", address_space=24 * MIB)],
    "locked_in_memory": [run_of("locked_limit %d %s" % (limit, how)) for limit in (256, 64, 8, 0)
                         for how in ("now", "fault")],
    "one_large_heap": [run_of("one_heap 1000000"), run_of("one_heap 5000000")],
    "more_than_memory": [run_of("more_than_memory")],
    "no_overcommit": [run_of("commit_limit %d" % size) for size in (1000, 100000, 1126 * KIB, 3 * MIB)],
    "filtered_madvise": [run_of("filtered_madvise refuse"), run_of("filtered_madvise kill")],
    "tails_of_huge_blocks": [run_of("huge_tail %d" % size) for size in (1100 * KIB, 1500 * KIB, 2500 * KIB)],
    "blocks_of_ended_threads": [
        run_of("ended_owner %d 192 %d %s" % (size, threads, when)) for size, threads in
        ((1000, 1), (1000, 32), (60000, 1), (2200000, 1)) for when in ("later", "at-once")],
    "blocks_of_idle_threads": [run_of("idle_workers %d" % size) for size in (100, 1000, 60000, 2200000)],
    "blocks_passed_round": [run_of("ring %d" % size) for size in (1000, 60000, 2200000)],
    "scattered_blocks": [run_of("scattered 1000 20"), run_of("scattered 100 500"), run_of("scattered 60000 8"),
                         run_of("scattered 1600000 8")],
    "many_mappings": [run_of("growing_mappings 500")],
    "huge_pages_always": [run_of("huge_pages")],
}
MEMORY = ["threads_at_once", "one_large_heap", "locked_in_memory", "tails_of_huge_blocks", "blocks_of_ended_threads",
          "blocks_of_idle_threads", "blocks_passed_round", "scattered_blocks", "many_mappings", "huge_pages_always"]

def imitated(run):
    """Huge pages are imitated where the system does not make them by itself."""
    try:
        with open("/sys/kernel/mm/transparent_hugepage/enabled", encoding="ascii") as setting:
            if "[always]" in setting.read():
                return run
    except OSError:
        return run
    return dataclasses.replace(run, arguments=["imitated"], before="always_huge.so")


def limited(run):
    """What the process does before it runs the program. It is the first to go where memory ends."""
    def set_limits():
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as score:
            score.write("1000")
        for which, limit in ((resource.RLIMIT_AS, run.address_space), (resource.RLIMIT_DATA, run.data)):
            if limit:
                resource.setrlimit(which, (limit, limit))
    return set_limits


class Mallocs:
    """What may serve a program: the library under a policy, or a peer."""

    def __init__(self, given):
        self.programs = os.path.abspath(given.programs)
        self.library = os.path.abspath(given.library)
        self.peers = os.path.abspath(given.peers) if given.peers else None
        if not os.path.exists(self.library):
            sys.exit("%s is not there: build flatline-malloc" % self.library)

    def preload(self, name):
        """The library to preload, "" for none; None: that peer is not installed."""
        if name in POLICIES:
            return self.library
        if PEERS[name] is None:
            return ""
        built = self.peers and os.path.join(self.peers, "lib%s.so" % name)
        for library in (built, PEERS[name]):
            if library and subprocess.run(["true"], env={"PATH": os.environ["PATH"], "LD_PRELOAD": library},
                                          stderr=subprocess.PIPE, check=False).stderr == b"":
                return library
        return None

    def run(self, run, name):
        """Exit status, what it said, and the command that does the same by hand."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("FLATLINE_", "LD_PRELOAD", "MALLOC_"))}
        added = {"HOW": run.how} if run.how else {}
        added.update(run.environment)
        if name in POLICIES:
            added["FLATLINE_POLICY"] = name
        before = os.path.join(self.programs, run.before) if run.before else ""
        added["LD_PRELOAD"] = ":".join(part for part in (before, self.preload(name)) if part)
        command = [os.path.join(self.programs, run.program)] + run.arguments
        limits = "".join("ulimit -%s %d; " % (letter, limit // KIB)
                         for letter, limit in (("v", run.address_space), ("d", run.data)) if limit)
        by_hand = "%senv %s" % (limits, shlex.join(["%s=%s" % each for each in added.items()] + command))
        with tempfile.TemporaryFile() as said:
            # A process group of its own, which is killed at the end: otherwise a child that hangs would stay behind.
            begun = subprocess.Popen(command, env={**environment, **added}, preexec_fn=limited(run), stdout=said,
                                     stderr=subprocess.STDOUT, start_new_session=True)
            try:
                status = begun.wait(timeout=SECONDS)
            except subprocess.TimeoutExpired:
                status = "no status: it stopped for ever"
            try:
                os.killpg(begun.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            begun.wait()
            said.seek(0)
            return status, said.read().decode(errors="replace"), by_hand


@dataclasses.dataclass
class Point:
    resident: int
    live: int = 0
    peak: int = 0
    unclaimed: int = 0
    threads: int = 0
    purged: int = 0


def told(text):
    """What a program said of its memory, and of its mappings, by the names of the points."""
    points, counts = {}, {}
    for line in text.splitlines():
        if line.startswith("point "):
            _, name, *values = line.split()
            points[name] = Point(**{key: int(value) for key, value in (each.split("=") for each in values)})
        elif line.startswith("mappings "):
            counts[line.split()[1]] = int(line.split("=")[1])
    return points, counts


AMOUNT = re.compile(r"(?:(?P<number>[\d.]+) (?P<unit>KiB|MiB))?(?:, and 1/(?P<part>\d+).*)?")


def amount(cell):
    """A limit of the page's table: bytes, and which part of what is in use comes on top; None: all."""
    if cell == "all":
        return None
    if cell == "none":
        return 0, 0.0
    found = AMOUNT.fullmatch(cell)
    if not found or not found["number"]:
        sys.exit("the page's table of what is kept has a limit that cannot be read: %s" % cell)
    return float(found["number"]) * (MIB if found["unit"] == "MiB" else KIB), 1 / int(found["part"] or 0) \
        if found["part"] else 0.0


class Page:
    """The bounds that the page of the manual states."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as page:
            self.text = " ".join(page.read().split("\n"))
        with open(path, encoding="utf-8") as page:
            rows = re.findall(r"^\| `(latency|balanced|memory)` \|(.*\|.*\|.*\|.*\|.*)\|$", page.read(), re.MULTILINE)
        self.rows = {policy: [amount(cell.strip()) for cell in cells.split("|")] for policy, cells in rows}
        tables = re.search(r"The tables take ([\d.]+) % of the memory in use", self.text)
        if tables is None:
            sys.exit("%s does not say how much of the memory in use the tables take" % path)
        self.tables = float(tables[1]) / 100
        if sorted(self.rows) != sorted(POLICIES):
            sys.exit("%s has no table of what is kept by each policy" % path)

    def bound(self, policy, start, point):
        """What may be resident, in bytes, where nobody asked for anything back."""
        pages, ended, huge, at_hand, spans = self.rows[policy]
        threads = max(point.threads, 1)
        free = 0.0
        if None in (pages, ended, huge):
            free += max(point.peak - point.live, 0)
        for limit, times in ((pages, threads), (ended, 1), (huge, 1), (at_hand, threads), (spans, threads)):
            if limit is not None:
                free += limit[0] * times + limit[1] * point.live
        if "never calls again keeps what others sent home to it" in self.text:
            free += point.unclaimed
        return start + point.live * 18 / 17 + free + self.tables * max(point.peak, point.live)


def peer_figures(mallocs, runs):
    """Of each run, by its words, and each point what each peer has: resident bytes, or a number of mappings."""
    installed = [name for name in PEERS if mallocs.preload(name) is not None]
    if len(installed) < len(PEERS):
        missing = [name for name in PEERS if name not in installed]
        print("nothing is compared with %s: not installed" % " and ".join(missing))
    found = {}
    for run in runs:
        found[run.words()] = {}
        for name in installed:
            status, text, by_hand = mallocs.run(run, name)
            if status != 0:
                said = [line for line in text.splitlines() if not line.startswith("point ")]
                print("%s has no part in %s, which ends with %s: %s" % (name, by_hand, status, "; ".join(said)))
                continue
            points, counts = told(text)
            for point, value in list(counts.items()) + [(point, each.resident) for point, each in points.items()]:
                found[run.words()].setdefault(point, {})[name] = value
    return found


def known_figures(mallocs, runs, figures):
    """The same, as far as it was kept; the rest is measured."""
    known = {}
    if figures and os.path.exists(figures):
        with open(figures, encoding="ascii") as kept:
            known = json.load(kept)
    return {**known, **peer_figures(mallocs, [run for run in runs if run.words() not in known])}


def judge(policy, page, text, peers):
    """Objections to what a program said of its memory. `peers`: what they have at each point."""
    points, counts = told(text)
    start = points["start"].resident if "start" in points else 0
    if policy not in POLICIES:
        return
    for name, point in points.items():
        if name == "start":
            continue
        others = peers.get(name, {})
        if point.purged and others:
            best = min(others, key=others.get)
            most = 1.3 * others[best] + 4 * MIB + 16 * KIB * point.threads
            why = "%s has %.1f" % (best, others[best] / MIB)
        elif point.purged:
            print("no peer could be measured at %s" % name)
            continue
        else:
            most, why = page.bound(policy, start, point), "by the page"
        line = "%s: %.1f MiB resident, at most %.1f: %s" % (name, point.resident / MIB, most / MIB, why)
        print("    " + line)
        if point.resident > most:
            yield line
    for name, count in counts.items():
        others = peers.get(name, {})
        if others and count > 1.3 * min(others.values()) + 64:
            yield "%s: %d mappings, at most 1.3 times %d and 64" % (name, count, min(others.values()))


def runs_of(case):
    return [imitated(run) for run in CASES[case]] if case == "huge_pages_always" else CASES[case]


def test(case, under, mallocs, given):
    runs = [run for run in runs_of(case) if run.by_glibc or under != "glibc"]
    page = Page(given.page) if under in POLICIES and case in MEMORY else None
    figures = given.figures and os.path.join(given.figures, case + ".json")
    peers = known_figures(mallocs, runs, figures) if page else {}
    skipped, objections = 0, 0
    for run in runs:
        status, text, by_hand = mallocs.run(run, under)
        print(by_hand)
        print("".join("    %s\n" % line for line in text.splitlines() if not line.startswith("point ")), end="")
        skipped += status == SKIPPED
        wrong = [] if status in (0, SKIPPED) else ["it ends with %s" % status]
        for line in wrong + list(judge(under, page, text, peers.get(run.words(), {})) if status == 0 else []):
            objections += 1
            print("    WRONG: " + line)
    print("%s under %s: %d programs, %d could not be judged here, %d objections"
          % (case, under, len(runs), skipped, objections))
    return 1 if objections else SKIPPED if skipped == len(runs) else 0


def measure_peers(case, mallocs, given):
    """Keeps them for the tests of the policies."""
    os.makedirs(given.figures, exist_ok=True)
    path = os.path.join(given.figures, case + ".json")
    if os.path.exists(path):
        os.remove(path)
    found = peer_figures(mallocs, runs_of(case))
    with open(path, "w", encoding="ascii") as kept:
        json.dump(found, kept, indent=1)
    print(json.dumps(found, indent=1))
    return 0


def table(mallocs, given):
    names = list(PEERS) + POLICIES
    print("| MiB resident | live | " + " | ".join(names) + " |")
    print("|---|---:|" + "---:|" * len(names))
    for case in MEMORY:
        for run in runs_of(case):
            rows = {}
            for name in names:
                if mallocs.preload(name) is None:
                    continue
                status, text, _ = mallocs.run(run, name)
                points, counts = told(text)
                for point, each in points.items():
                    rows.setdefault(point, (each.live, {}))[1][name] = "%.1f" % (each.resident / MIB)
                for point, count in counts.items():
                    rows.setdefault(point, (0, {}))[1][name] = "%d maps" % count
                if status != 0:
                    rows.setdefault("exit status", (0, {}))[1][name] = str(status)
            for point, (live, cells) in rows.items():
                if point != "start":
                    what = "%s, %s" % (run.words(), point)
                    print("| %s | %.1f | %s |" % (what, live / MIB, " | ".join(cells.get(n, "-") for n in names)))
            sys.stdout.flush()
    return 0


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    arguments.add_argument("case", nargs="?", choices=sorted(CASES))
    arguments.add_argument("under", nargs="?", choices=["glibc", "peers"] + POLICIES)
    arguments.add_argument("--list", action="store_true")
    arguments.add_argument("--table", action="store_true")
    for option in ("programs", "library", "page", "peers", "figures"):
        arguments.add_argument("--" + option)
    given = arguments.parse_args()
    if given.list:
        print("\n".join(case + (" memory" if case in MEMORY else "") for case in CASES))
        return 0
    mallocs = Mallocs(given)
    if given.table:
        return table(mallocs, given)
    if given.under == "peers":
        return measure_peers(given.case, mallocs, given)
    return test(given.case, given.under, mallocs, given)


if __name__ == "__main__":
    sys.exit(main())
