#!/usr/bin/env python3
"""Plants a fault in a copy of the prover, and requires that the soundness campaign finds functions above their proof.

    planted_faults.py --source ROOT --build FOLDER --work FOLDER FAULT

FOLDER of the build has prove_counts and the libraries that it was linked from; only the file with the fault is compiled anew.
"""
import argparse
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))

#: The file of src/prove, the text that occurs there once, and its replacement.
FAULTS = {
    "pads_not_walked": ("graph.cpp", "        if (!thrown.pad) return;\n", "        if (thrown.pad || !thrown.pad) return;\n"),
    "names_believed": ("graph.cpp", "        if (effect.returns)", "        if (effect.returns && !name_at(target).starts_with(\"_\"))"),
    "rounds_short": ("trip_count.cpp", "        return before_first_test ? *most : *most - 1;", "        return *most - 1;"),
    "tables_short": ("values.cpp", "        if (each == range.high) return all;\n", "        if (each - range.low >= (range.high - range.low) / 2) return all;\n"),
    "callees_free": ("bound.cpp", "            if (const Function *callee = known(*block.callee)) sum += callee->proof.most[count];\n",
                     "            if (const Function *callee = known(*block.callee)) sum += callee->proof.most[count] / 2;\n"),
    "loops_free": ("loops.cpp", "        return refusal(what + \" without a stated bound\");\n",
                   "        bound.marked = {loop.blocks[0]}, bound.most = {1}, bound.rounds = 1;\n        return {bound, {}};\n"),
}


def build(arguments, fault):
    """A prove_counts with the fault in it."""
    name, old, new = fault
    copy = os.path.join(arguments.work, "src")
    shutil.rmtree(arguments.work, ignore_errors=True)
    shutil.copytree(os.path.join(arguments.source, "src"), copy)
    path = os.path.join(copy, "prove", name)
    with open(path) as file:
        text = file.read()
    if text.count(old) != 1:
        sys.exit("%s no longer has once: %s" % (name, old))
    with open(path, "w") as file:
        file.write(text.replace(old, new))
    program = os.path.join(arguments.work, "prove_counts")
    libraries = [os.path.join(arguments.build, "lib", "lib%s.a" % each) for each in ("flatline-prove", "flatline")]
    subprocess.run(["g++", "-std=c++20", "-O1", "-I", copy, "-I", os.path.join(arguments.source, "include"), "-DFMT_SHARED",
                    path, os.path.join(HERE, "..", "prove_counts.cpp"), *libraries, "-lcapstone", "-lZydis", "-lZycore", "-liberty",
                    "-ldw", "-lelf", "-lmd", "-lfmt", "-o", program], check=True)
    return program


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option in ("--source", "--build", "--work"):
        parser.add_argument(option, required=True)
    parser.add_argument("fault", choices=[*FAULTS, "loops_free_in_libraries"])
    arguments = parser.parse_args()
    program = build(arguments, FAULTS[arguments.fault.removesuffix("_in_libraries")])
    if arguments.fault.endswith("_in_libraries"):
        return judge(subprocess.run([sys.executable, "-B", os.path.join(HERE, "libraries.py"), "--counts", program, "--quick"],
                                    text=True, stdout=subprocess.PIPE))
    campaign = subprocess.run([sys.executable, "-B", os.path.join(HERE, "campaign.py"), "--counts", program, "--steps",
                               os.path.join(HERE, "steps.cpp"), "--work", os.path.join(arguments.work, "campaign"), "--functions", "1",
                               "--seed", "1", "--of-a-source", "120", "--stop-at", "1"],
                              text=True, stdout=subprocess.PIPE)
    return judge(campaign)


def judge(campaign):
    print(campaign.stdout)
    if campaign.returncode != 1 or "UNSOUND" not in campaign.stdout:
        print("MISSED: exit status %d, and no function above its proof" % campaign.returncode)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
