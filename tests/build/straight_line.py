#!/usr/bin/env python3
"""Holds functions of a library to the promise that they are one straight line.

    straight_line.py [--most N] [--usual N] [--may-jump-back] [--ends-elsewhere N] [--may-call [--outside NAME]...]
                     LIBRARY FUNCTION...

Follows every path from each function's first instruction, into whatever the compiler split off (.cold, .part, .isra,
.constprop) and through jumps into other functions, and demands of all the code that can be reached:

  - no instruction that can be reached from itself, so every path ends
  - no jump to its own or a lower address, unless --may-jump-back: addresses only ascend, so the above can be seen
  - no call, no indirect jump, no instruction with a lock prefix, no repeated string instruction, no system call
  - every path ends in a return
  - at most N instructions (60) in all
  - with --usual, at most N instructions, the return included, on the path on which no condition makes it jump

With --ends-elsewhere, exactly N jumps go through a register or memory, and a path may end there: the function goes on
in code that its caller named.

With --may-call, calls are followed too: a function that is called must keep to the same, and not call itself again by
any way. A call out of the library is allowed to NAME alone, and counts as one instruction. N is then the length of the
longest path, in instructions, calls included.

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
LOCKED = re.compile(r"^(lock|xacquire|xrelease)\b|^xchg\w* .*\(")  # xchg with memory locks without the prefix
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

    def __init__(self, program, may_jump_back, may_call, outside, ends_elsewhere):
        self.program, self.may_jump_back, self.may_call, self.outside = program, may_jump_back, may_call, outside
        self.found, self.ends_left = [], ends_elsewhere
        self.edges, self.calls = {}, {}
        self.longest_from, self.entered = {}, set()

    def object_to(self, address, what):
        program = self.program
        self.found.append("%s: %s: %s" % (program.where(address), what, program.instructions[address].text))

    def call(self, address, target):
        """Follows a call, or objects to it."""
        name = self.program.name_of.get(target, "") if target is not None else ""
        if name.endswith("@plt") and name[:-4] in self.outside:
            return
        if not self.may_call or target is None or name.endswith("@plt"):
            self.object_to(address, "calls")
            return
        self.calls[address] = target
        self.reach(target)

    def jump(self, address, instruction):
        if instruction.target is None:
            self.ends_left -= 1
            if self.ends_left < 0:
                self.object_to(address, "jumps through a register or memory")
            return
        name = self.program.name_of.get(instruction.target, "")
        if name.endswith("@plt") and name[:-4] in self.outside:
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
            self.call(address, instruction.target)
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

    def longest(self, start):
        """Instructions on the longest path from `start` to a return. There must be no cycle; None where a function calls
        itself."""
        if start in self.entered:
            return None
        self.entered.add(start)
        order, seen, todo = [], set(), [(start, False)]
        while todo:
            address, left = todo.pop()
            if left:
                order.append(address)
            elif address not in seen:
                seen.add(address)
                todo.append((address, True))
                todo += [(target, False) for target in self.edges.get(address, ())]
        for address in order:
            if address in self.longest_from:
                continue
            length = 1
            if address in self.calls:
                called = self.longest(self.calls[address])
                if called is None:
                    self.object_to(address, "calls what is under way already")
                    return None
                length += called
            self.longest_from[address] = length + max([self.longest_from.get(target, 0)
                                                       for target in self.edges.get(address, ())], default=0)
        self.entered.remove(start)
        return self.longest_from[start]


def violations_of(program, function, most, may_jump_back=False, may_call=False, outside=(), ends_elsewhere=0):
    """What is wrong, and the number that `most` is about."""
    start = program.symbols.get(function)
    if start is None:
        return ["there is no function %s in the library" % function], 0
    look = Look(program, may_jump_back, may_call, outside, ends_elsewhere)
    look.reach(start)
    if look.ends_left > 0:
        look.found.append("%s: %d jumps fewer through a register or memory than said" % (function, look.ends_left))
    again = on_a_cycle(look.edges)
    count = len(look.edges)
    if again is not None and again in program.instructions:
        look.object_to(again, "can be reached from itself")
    elif may_call:
        count = look.longest(start) or count
    if count > most:
        what = "are on its longest path" if may_call else "can be reached"
        look.found.append("%s: %d instructions %s, more than %d" % (function, count, what, most))
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
    parser.add_argument("--ends-elsewhere", type=int, default=0)
    parser.add_argument("--may-call", action="store_true")
    parser.add_argument("--outside", action="append", default=[])
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
        found, count = violations_of(program, function, arguments.most, arguments.may_jump_back, arguments.may_call,
                                     arguments.outside, arguments.ends_elsewhere)
        if arguments.usual is not None and not found and usual_path(program, function) > arguments.usual:
            found.append("%d instructions where nothing jumps, more than %d" % (usual_path(program, function),
                                                                                 arguments.usual))
        what = "on the longest path, %sbounded" if arguments.may_call else "%sstraight"
        print("%s: %d instructions, %s" % (function, count, what % ("NOT " if found else "")))
        for violation in found:
            failed = True
            print("  " + violation)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
