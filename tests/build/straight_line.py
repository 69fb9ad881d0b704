#!/usr/bin/env python3
"""Holds functions of a library to the promise that they are one straight line.

    straight_line.py [--most N] [--usual N] [--may-jump-back] LIBRARY FUNCTION...

Follows every path from each function's first instruction, into whatever the compiler split off (.cold, .part, .isra,
.constprop) and through jumps into other functions, and demands of all the code that can be reached:

  - no instruction that can be reached from itself, so every path ends
  - no jump to its own or a lower address, unless --may-jump-back: addresses only ascend, so the above can be seen
  - no call, no indirect jump, no instruction with a lock prefix, no repeated string instruction, no system call
  - every path ends in a return
  - at most N instructions (60) in all
  - with --usual, at most N instructions, the return included, on the path on which no condition makes it jump

LIBRARY is a shared library or an archive; an archive is linked first, so that both are read as they would run.
Exit status 0: all of it holds. 1: some of it does not; each place is named. 2: could not look.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

from machine_code import Program

REPEATED = re.compile(r"^(rep|repz|repnz|repe|repne) (?!ret)")
LOCKED = re.compile(r"^(lock|xacquire|xrelease)\b|^xchg\w* .*\(")  # xchg with memory is locked even without the prefix
SYSTEM = ("syscall", "sysenter", "int", "hlt", "ud2", "cpuid", "wrmsr", "rdmsr")


def on_a_cycle(edges):
    """An address that can be reached from itself, or None: takes away, again and again, what nothing leads to."""
    entries = {address: 0 for address in edges}
    for targets in edges.values():
        for target in targets:
            entries[target] = entries.get(target, 0) + 1
    free = [address for address, count in entries.items() if count == 0]
    while free:
        address = free.pop()
        del entries[address]
        for target in edges.get(address, ()):
            entries[target] -= 1
            if entries[target] == 0:
                free.append(target)
    return min(entries, default=None)


class Look:
    """What can be reached from one function's first instruction, and what is wrong with it."""

    def __init__(self, program, may_jump_back):
        self.program, self.may_jump_back = program, may_jump_back
        self.found, self.edges = [], {}

    def object_to(self, address, what):
        program = self.program
        self.found.append("%s: %s: %s" % (program.where(address), what, program.instructions[address].text))

    def jump(self, address, instruction):
        if instruction.target is None:
            self.object_to(address, "jumps through a register or memory")
            return
        if instruction.target <= address and not self.may_jump_back:
            self.object_to(address, "jumps back")
        self.edges[address].append(instruction.target)

    def reach(self, start):
        todo = [start]
        while todo:
            address = todo.pop()
            if address in self.edges:
                continue
            if address not in self.program.instructions:
                self.found.append("a path leaves the code at 0x%x" % address)
                continue
            self.edges[address] = []
            self.step(address)
            todo += self.edges[address]

    def step(self, address):
        instruction = self.program.instructions[address]
        plain = re.sub(r"^(bnd|notrack|addr32|cs|ds) ", "", instruction.text)
        mnemonic = plain.split()[0]
        if LOCKED.match(plain):
            self.object_to(address, "locks the bus")
        if REPEATED.match(plain):
            self.object_to(address, "repeats")
        if mnemonic in SYSTEM:
            self.object_to(address, "leaves or ends the program")
        if mnemonic.startswith("call"):
            self.object_to(address, "calls")
        if mnemonic.startswith("ret") or plain in ("repz ret", "rep ret"):
            return
        if mnemonic.startswith("loop"):
            self.object_to(address, "loops")
        if mnemonic.startswith("j") or mnemonic.startswith("loop"):
            self.jump(address, instruction)
            if mnemonic.startswith("jmp"):
                return
        following = self.program.following.get(address)
        if following is None:
            self.object_to(address, "runs off the end of the code")
        else:
            self.edges[address].append(following)


def violations_of(program, function, most, may_jump_back=False):
    """What is wrong, and the number of instructions that can be reached."""
    start = program.symbols.get(function)
    if start is None:
        return ["there is no function %s in the library" % function], 0
    look = Look(program, may_jump_back)
    look.reach(start)
    again = on_a_cycle(look.edges)
    count = len(look.edges)
    if again is not None and again in program.instructions:
        look.object_to(again, "can be reached from itself")
    if count > most:
        look.found.append("%s: %d instructions can be reached, more than %d" % (function, count, most))
    return look.found, count


def usual_path(program, function):
    """The number of instructions, the return included, where no conditional jump is taken; the path must end."""
    address, count = program.symbols[function], 1
    while not program.instructions[address].mnemonic.startswith("ret"):
        instruction = program.instructions[address]
        address = instruction.target if instruction.mnemonic.startswith("jmp") else program.following[address]
        count += 1
    return count


def linked(library, folder):
    if not library.endswith(".a"):
        return library
    result = os.path.join(folder, "linked.so")
    subprocess.run(["ld", "-shared", "-Bsymbolic-functions", "--whole-archive", library, "-o", result], check=True)
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=60)
    parser.add_argument("--usual", type=int)
    parser.add_argument("--may-jump-back", action="store_true")
    parser.add_argument("library")
    parser.add_argument("functions", nargs="+")
    arguments = parser.parse_args()
    failed = False
    try:
        with tempfile.TemporaryDirectory() as folder:
            program = Program(linked(arguments.library, folder))
    except (OSError, subprocess.CalledProcessError) as error:
        print("straight_line.py: cannot read %s: %s" % (arguments.library, error), file=sys.stderr)
        return 2
    for function in arguments.functions:
        found, count = violations_of(program, function, arguments.most, arguments.may_jump_back)
        if arguments.usual is not None and not found and usual_path(program, function) > arguments.usual:
            found.append("%d instructions where nothing jumps, more than %d" % (usual_path(program, function),
                                                                                 arguments.usual))
        print("%s: %d instructions, %sstraight" % (function, count, "NOT " if found else ""))
        for violation in found:
            failed = True
            print("  " + violation)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
