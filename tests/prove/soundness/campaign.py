#!/usr/bin/env python3
"""Random functions at five optimisation levels, each proved, then stepped through: no call may execute more than was proved,
and none that was proved may run for ever.

    campaign.py --counts PROVE_COUNTS --steps STEPS_CPP --work FOLDER [--functions N] [--seed S] [--jobs N] [--save FILE]

PROVE_COUNTS: the program of that name. Every source has 250 functions; its seed is printed, and `--seed S --functions 1`
makes it again. With --stop-at N the campaign is done once so many were found above their proof. Exit status: 0 no function is above its proof, 1 one is, 2 the campaign could not be run.
"""
import argparse
import collections
import concurrent.futures
import os
import random
import re
import shutil
import subprocess
import sys

import generate

LEVELS = ("-O0", "-O1", "-O2", "-O3", "-Os")
#: The code is built as a library, or as a program at fixed addresses that contains the stepper.
LIBRARY, PROGRAM = ("-fPIC", "-shared", "-fno-semantic-interposition", "-Wl,-Bsymbolic"), ("-fno-pic", "-no-pie", "-rdynamic")


class CannotRun(Exception):
    pass


def run(command, **options):
    ran = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
    if ran.returncode != 0:
        raise CannotRun("%s: exit status %d\n%s" % (" ".join(command[:12]), ran.returncode, ran.stderr[-2000:]))
    return ran.stdout


def compilers():
    """By language: those that are installed."""
    found = [("gcc", "g++")] + [("clang-19", "clang++-19")] * (shutil.which("clang++-19") is not None)
    if shutil.which("g++") is None:
        raise CannotRun("g++ is not installed: run scripts/bootstrap test")
    return found


def build(seed, level, compiler, placing, options):
    """What was made of one source: the file, and the program that steps through it."""
    is_cxx = seed % 3 != 0
    folder = os.path.join(options.work, "%d%s-%s-%s" % (seed, level, compiler[0], placing[1][1:]))
    os.makedirs(folder, exist_ok=True)
    source = os.path.join(folder, "source.cpp" if is_cxx else "source.c")
    with open(source, "w") as file:
        file.write(generate.program(seed, is_cxx, options.of_a_source))
    binary, flags = os.path.join(folder, "functions"), ["-w", level, "-fno-builtin-abort"]
    if placing is LIBRARY:
        run([compiler[is_cxx], *flags, *placing, source, "-o", binary])
        return folder, binary, [options.stepper, binary]
    made = source + ".o"
    run([compiler[is_cxx], *flags, placing[0], "-c", source, "-o", made])
    run(["g++", *placing[1:], options.stepper + ".o", made, "-ldl", "-o", binary])
    return folder, binary, [binary, "self"]


def judge(seed, level, compiler, placing, options):
    """How many of each verdict, why functions were refused, and what is wrong."""
    folder, binary, stepper = build(seed, level, compiler, placing, options)
    bounds, reasons = {}, collections.Counter()
    names = ["f%d" % number for number in range(options.of_a_source)]
    for line in run([options.counts, binary, *names]).splitlines():
        name, verdict, *rest = line.split("\t")
        if verdict == "proved":
            bounds[name] = int(rest[0])
        else:
            reasons.update({re.sub(r"(calls|jumps|jump|call) .*", r"\1 ...", each) for each in rest})
    stepped = run([*stepper, str(seed)], input="".join("%s %d\n" % each for each in bounds.items()))
    wrong, most = [], {}
    for line in stepped.splitlines():
        name, _, executed, verdict = line.split("\t")
        most[name] = int(executed)
        if verdict != "ok":
            wrong.append("%s of seed %d, %s %s %s: %s (%d proved, %s executed)"
                         % (name, seed, compiler[0], level, placing[0], verdict, bounds[name], executed))
    if set(most) != set(bounds):
        raise CannotRun("%s: not every function that was proved was stepped through" % folder)
    tight = sum(most[name] == bounds[name] for name in bounds)
    if not wrong:
        shutil.rmtree(folder)
    return options.of_a_source, len(bounds), tight, reasons, wrong


def jobs_of(options):
    seed, asked = options.seed, 0
    while asked < options.functions and not options.is_done:
        for level in LEVELS:
            for number, compiler in enumerate(options.compilers):
                if options.is_done:
                    return
                yield seed, level, compiler, (LIBRARY, PROGRAM)[(seed + number + LEVELS.index(level)) % 2], options
                asked += options.of_a_source
        seed += 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option in ("--counts", "--steps", "--work"):
        parser.add_argument(option, required=True)
    parser.add_argument("--functions", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=random.randrange(1, 1_000_000))
    parser.add_argument("--of-a-source", type=int, default=250)
    parser.add_argument("--stop-at", type=int, default=1_000_000)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    options.is_done = False
    options.work = os.path.abspath(options.work)
    print("seed %d" % options.seed, flush=True)
    total, proved, tight, reasons, wrong = 0, 0, 0, collections.Counter(), []
    try:
        options.compilers = compilers()
        os.makedirs(options.work, exist_ok=True)
        options.stepper = os.path.join(options.work, "steps")
        run(["g++", "-std=c++17", "-O1", "-mno-red-zone", "-fno-pic", "-c", options.steps, "-o", options.stepper + ".o"])
        run(["g++", "-no-pie", options.stepper + ".o", "-ldl", "-o", options.stepper])
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for part in pool.map(lambda job: None if options.is_done else judge(*job), jobs_of(options)):
                if part is None:
                    continue
                total, proved, tight = total + part[0], proved + part[1], tight + part[2]
                reasons.update(part[3])
                wrong += part[4]
                for each in part[4]:
                    print("UNSOUND: " + each, flush=True)
                options.is_done = len(wrong) >= options.stop_at
    except CannotRun as why:
        print("soundness: " + str(why), file=sys.stderr)
        return 2
    print("%d functions, %d of them proved, %d of those executed exactly what was proved; %d above their proof"
          % (total, proved, tight, len(wrong)))
    for reason, times in reasons.most_common(20):
        print("  refused %6d times: %s" % (times, reason))
    return 1 if wrong or proved == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
