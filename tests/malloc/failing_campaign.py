#!/usr/bin/env python3
"""Holds a malloc to serving while its calls of the system fail at random: many rounds of failing_round.cpp with
failing_calls.c preloaded before the malloc, each with chances of its own, some by one thread and some by three.

    failing_campaign.py --round PROGRAM --failing LIBRARY --malloc LIBRARY [--policy NAME] [--operations N] [--fails N]
                        [--seed N] [--set WORDS] [--jobs N] [--findings N]

There are rounds until --operations are done (FLATLINE_TEST_SCALE times as many) and each call that the malloc makes has
failed --fails times (a thousandth of them, and 20 at least); a call that it never makes is said to be unused. --set
adds to what failing_calls.c is told in every round: "madvise=0" spares one, "strangers=0" leaves holes empty. With a
finding the command is printed that repeats its round, up to the operation that it ended in: of one thread it does the
same again.

Exit status: 0 if every round held; 1 if one did not, or a call did not fail often enough; 2 if it could not be run.
"""
import argparse
import concurrent.futures
import ctypes
import mmap
import os
import random
import shlex
import signal
import struct
import subprocess
import sys

CALLS = ["mmap", "munmap", "mprotect", "mremap", "madvise"]
# One call in this many fails. Calls that get memory do not always fail: nothing would happen then.
CHANCES = {"mmap": [0, 2, 4, 16], "munmap": [0, 1, 2, 8], "mprotect": [0, 2, 8, 64], "mremap": [0, 1, 2, 8],
           "madvise": [0, 1, 2, 8, 64]}
RECORD = struct.Struct("=%dQ QQ I" % (4 * len(CALLS)))
ROUND_SECONDS = 120
ADDR_NO_RANDOMIZE = 0x0040000


class Count:
    """Of one call: failing_count."""

    def __init__(self):
        self.calls = self.failed = self.divisible = self.partly = 0

    def add(self, values):
        self.calls += values[0]
        self.failed += values[1]
        self.divisible += values[2]
        self.partly += values[3]


class Round:
    """One process: what it is given, and once it has run what came of it."""

    def __init__(self, options, number, chances, operations, threads):
        self.options, self.operations, self.threads = options, operations, threads
        self.seed = options.seed * 1000003 + number
        words = ["seed=%d" % self.seed] + ["%s=%d" % pair for pair in chances.items()]
        self.words = " ".join(words + options.set.split())
        self.record, self.finding = None, None

    def command(self, operations):
        return [self.options.round, str(self.seed), str(operations), str(self.threads)]

    def settings(self):
        preload = "%s:%s" % (self.options.failing, self.options.malloc)
        return {"FAILING_CALLS": self.words, "FLATLINE_POLICY": self.options.policy, "LD_PRELOAD": preload}

    def run(self):
        file = os.memfd_create("record")
        try:
            os.ftruncate(file, mmap.PAGESIZE)
            self.finding = self.run_counted(file)
            self.record = RECORD.unpack(os.pread(file, RECORD.size, 0))
        finally:
            os.close(file)
        return self

    def run_counted(self, file):
        environment = dict(os.environ, FAILING_CALLS_RECORD=str(file), **self.settings())
        try:
            done = subprocess.run(self.command(self.operations), env=environment, pass_fds=[file], text=True,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  timeout=ROUND_SECONDS, check=False, errors="replace")
        except subprocess.TimeoutExpired:
            return "has not ended in %d s" % ROUND_SECONDS
        if done.returncode == 0:
            return None
        if done.returncode < 0:
            return "ended by %s" % signal.Signals(-done.returncode).name
        return (done.stdout.strip() or "status %d" % done.returncode).splitlines()[-1]

    def begun(self):
        return self.record[4 * len(CALLS)]

    def text(self):
        settings = ["%s=%s" % (name, shlex.quote(value)) for name, value in self.settings().items()]
        again = " ".join(["setarch -R env", *settings, shlex.join(self.command(self.begun() or self.operations))])
        return "%s, in operation %d of %d threads\n    %s" % (self.finding, self.begun(), self.threads, again)


class Campaign:
    """The rounds, and what they have counted together."""

    def __init__(self, options):
        self.options, self.dice = options, random.Random(options.seed)
        self.counts = {call: Count() for call in CALLS}
        self.operations = self.nulls = self.rounds = self.planned = 0
        self.findings = []

    def next_round(self, lacking):
        """One with chances of its own, or where operations are enough a short one in which a lacking call fails."""
        self.planned += 1
        chances = {call: self.dice.choice(CHANCES[call]) for call in CALLS}
        operations, threads = int(300 * 2 ** self.dice.uniform(0, 5)), self.dice.choice([1, 1, 3])
        if lacking:
            call = self.dice.choice(lacking)
            chances.update({each: 0 for each in CALLS}, **{call: CHANCES[call][1]})
            operations, threads = 300, 1
        chances["old_mremap"] = self.dice.choice([0, 1])
        return Round(self.options, self.planned, chances, operations, threads)

    def lacking(self):
        return [call for call, count in self.counts.items() if 0 < count.calls and count.failed < self.options.fails]

    def wanted(self):
        """The next rounds, as many as run at once; none: it is over."""
        enough = self.operations >= self.options.operations
        lacking = self.lacking() if enough else []
        over = enough and (not lacking or self.planned > self.most_rounds())
        if over or len(self.findings) >= self.options.findings:
            return []
        return [self.next_round(lacking) for _ in range(self.options.jobs)]

    def most_rounds(self):
        return self.options.operations // 300 + 6 * self.options.fails

    def take(self, done):
        for number, call in enumerate(CALLS):
            self.counts[call].add(done.record[4 * number:4 * number + 4])
        self.operations += done.begun()
        self.nulls += done.record[4 * len(CALLS) + 1]
        self.rounds += 1
        if done.finding:
            self.findings.append(done.text())
            print("failing_campaign: %s: %s" % (self.options.policy, self.findings[-1]), flush=True)

    def run(self):
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as workers:
            while rounds := self.wanted():
                for done in workers.map(Round.run, rounds):
                    self.take(done)

    def hold_to_repeating(self):
        """A round of one thread that ended well, twice: both count the same."""
        chances = {call: 4 for call in CALLS}
        twice = [Round(self.options, 0, chances, 2000, 1).run() for _ in range(2)]
        if all(each.finding is None for each in twice) and twice[0].record != twice[1].record:
            self.findings.append("a round of one thread is not the same again")
            print("failing_campaign: %s: %s and %s" % (self.findings[-1], twice[0].record, twice[1].record))


def report(campaign):
    """Prints what was counted; returns what is wrong with the counts."""
    options, wrong = campaign.options, []
    print("failing_campaign: policy %s, seed %d: %d operations in %d rounds, %d of them without memory" %
          (options.policy, options.seed, campaign.operations, campaign.rounds, campaign.nulls))
    print("    %-10s%12s%12s%30s" % ("", "calls", "failed", "after a part was acted on"))
    for call, count in campaign.counts.items():
        if count.calls == 0:
            print("    %-10s%12d%12s" % (call, 0, "unused"))
            continue
        print("    %-10s%12d%12d%30s" % (call, count.calls, count.failed, "%d of %d" % (count.partly, count.divisible)))
        if count.failed < options.fails and len(campaign.findings) < options.findings:
            wrong.append("%s has failed %d times, and not %d" % (call, count.failed, options.fails))
        if count.divisible >= 100 and not 0.3 < count.partly / count.divisible < 0.7:
            wrong.append("failures of %s after a part are not half of them" % call)
    if campaign.counts["mmap"].calls == 0:
        wrong.append("no call of mmap was seen: these are not the calls of %s" % options.malloc)
    return wrong


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("round", "failing", "malloc"):
        parser.add_argument("--" + name, required=True, type=os.path.abspath)
    parser.add_argument("--policy", default="balanced")
    parser.add_argument("--operations", type=int, default=1000000)
    parser.add_argument("--fails", type=int)
    parser.add_argument("--seed", type=int, default=int(os.environ.get("FLATLINE_TEST_SEED", random.getrandbits(30))))
    parser.add_argument("--set", default="")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--findings", type=int, default=5, help="after so many it ends")
    options = parser.parse_args()
    options.operations = int(options.operations * float(os.environ.get("FLATLINE_TEST_SCALE", "1")))
    options.fails = max(20, options.operations // 1000) if options.fails is None else options.fails
    return options


def main():
    options = arguments()
    for path in (options.round, options.failing, options.malloc):
        if not os.path.exists(path):
            print("failing_campaign: there is no %s: build it" % path, file=sys.stderr)
            return 2
    # Addresses are the same in each run if the system allows it.
    ctypes.CDLL(None).personality(ADDR_NO_RANDOMIZE)
    campaign = Campaign(options)
    campaign.hold_to_repeating()
    campaign.run()
    wrong = report(campaign)
    for line in wrong:
        print("failing_campaign: %s" % line)
    print("failing_campaign: %d findings" % (len(campaign.findings) + len(wrong)))
    return 1 if campaign.findings or wrong else 0


if __name__ == "__main__":
    sys.exit(main())
