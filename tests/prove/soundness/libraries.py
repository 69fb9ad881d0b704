#!/usr/bin/env python3
"""Of the functions of other people's libraries, none may be proved that can run for ever by a second implementation, which
reads objdump's text; and why those that are refused are.

    libraries.py --counts PROVE_COUNTS [--quick] [--write MANUAL]

--quick: zlib and the C library only. --write: the table of docs/proof.md is made anew.
"""
import argparse
import collections
import concurrent.futures
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import by_objdump  # noqa: E402

LIBRARIES = [("zlib", "zlib1g", "libz.so.1"), ("glibc", "libc6", "libc.so.6"), ("libstdc++", "libstdc++6", "libstdc++.so.6"),
             ("OpenSSL, ssl", "libssl3", "libssl.so.3"), ("OpenSSL, crypto", "libssl3", "libcrypto.so.3")]
FOLDERS = ("/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu")

REASONS = [("calls a function of another file, or one that another may replace", "not in this file|procedure linkage table"),
           ("calls what is chosen when the program starts (IFUNC)", "which is chosen when the program starts"),
           ("a loop without a stated bound", "loop with|loop that|a loop without"),
           ("a loop around a compare-and-swap", "compare-and-swap"),
           ("calls an address from a register or memory", "calls an address from a register"),
           ("jumps to an address from a register or memory", "jumps to an address from a register"),
           ("calls itself", "calls itself"),
           ("a system call", "a system call"),
           ("an exception may be caught", "exception"),
           ("repeats a number of times that a register holds", "repeats a number of times"),
           ("the stack cannot be followed", "stack|address to return|return address"),
           ("an instruction that is refused or cannot be decoded", "an instruction|middle of another|a transaction"),
           ("no path through it returns", "no path through it"),
           ("more can be reached than is read", "instructions can be reached"),
           ("anything else", "")]


class Program:
    """What objdump says of a file; an instruction is looked at when it is asked for."""

    def __init__(self, path):
        self.lines, self.known = {}, {}
        text = subprocess.run(["objdump", "-d", "-w", path], check=True, text=True, stdout=subprocess.PIPE).stdout
        for line in text.splitlines():
            parts = line.split(":\t", 1)
            if len(parts) == 2:
                self.lines[int(parts[0], 16)] = parts[1]

    def get(self, address):
        if address not in self.known and address in self.lines:
            code, _, text = self.lines[address].partition("\t")
            self.known[address] = by_objdump.Instruction(address, text, len(code.split()))
        return self.known.get(address)


class Reach:
    """The instructions that a function can come to without what it calls, and where each goes on."""

    def __init__(self, program, entry, returning):
        self.next, self.calls, self.returns = {}, set(), False
        todo = [entry]
        while todo:
            address = todo.pop()
            i = program.get(address)
            if address in self.next or i is None:
                continue
            self.next[address] = self.behind(i, returning)
            todo += self.next[address]

    def behind(self, i, returning):
        try:
            flow = by_objdump.X86.flow(i)
        except by_objdump.Refused:
            return [i.address + i.size]
        outside = "@plt" in i.symbol
        if flow == "back" or (flow == "jump" and outside) or flow == "indirect jump":
            self.returns = True
            return []
        if flow == "jump":
            return [i.target]
        if flow == "branch":
            return [i.target, i.address + i.size]
        if flow == "trap":
            return []
        if flow == "call" and outside and re.sub(r"@.*", "", i.symbol) in by_objdump.NEVER_RETURN:
            return []
        if flow == "call" and not outside and i.target is not None:
            self.calls.add(i.target)
            if not returning(i.target):
                return []
        return [i.address + i.size]


def loops_of(nodes, next_of):
    """Strongly connected parts with a way round, by Kosaraju."""
    order, seen, back = [], set(), collections.defaultdict(list)
    for root in nodes:
        stack = [(root, False)]
        while stack:
            node, done = stack.pop()
            if done:
                order.append(node)
            elif node not in seen:
                seen.add(node)
                stack.append((node, True))
                for to in next_of(node):
                    if to in nodes:
                        back[to].append(node)
                        stack.append((to, False))
    taken, found = set(), []
    for root in reversed(order):
        part, todo = set(), [root]
        while todo:
            node = todo.pop()
            if node not in taken:
                taken.add(node)
                part.add(node)
                todo += back[node]
        if len(part) > 1 or (part and root in next_of(root)):
            found.append(part)
    return found


NAMES = {}
for number, names in enumerate("rax eax ax al|rcx ecx cx cl|rdx edx dx dl|rbx ebx bx bl|rsi esi si sil|rdi edi di dil|rbp ebp bp bpl".split("|")):
    NAMES.update({"%" + name: number for name in names.split()})
for number in range(8, 16):
    NAMES.update({"%%r%d%s" % (number, size): number for size in ("", "d", "w", "b")})


class SecondImplementation:
    def __init__(self, path):
        self.program, self.reaches, self.verdicts = Program(path), {}, {}
        sys.setrecursionlimit(20_000)

    def reach(self, entry):
        if entry not in self.reaches:
            self.reaches[entry] = None  # in progress
            self.reaches[entry] = Reach(self.program, entry, self.returning)
        return self.reaches[entry]

    def returning(self, entry):
        reach = self.reach(entry)
        return reach is None or reach.returns

    def can_run_for_ever(self, entry):
        """Whether it or what it calls has a loop whose rounds no register counts."""
        if entry not in self.verdicts:
            self.verdicts[entry] = False
            reach = self.reach(entry)
            loops = loops_of(set(reach.next), lambda node: reach.next.get(node, []))
            self.verdicts[entry] = any(not self.is_counted(reach, loop) for loop in loops) or \
                any(self.can_run_for_ever(called) for called in reach.calls if self.returning(called))
        return self.verdicts[entry]

    def written(self, address):
        i = self.program.get(address)
        if i.mnemonic.startswith(("cmp", "test", "j", "nop", "push", "call")) or not i.operands:
            return None
        return NAMES.get(i.operands[-1])

    def is_counted(self, reach, loop):
        """A register that one instruction changes by a constant is compared in each round, and one way leads out; and so for
        the loops within."""
        for test in loop:
            out = [to for to in reach.next[test] if to not in loop]
            if len(reach.next[test]) != 2 or len(out) != 1:
                continue
            for register in self.compared_before(test, loop):
                changes = [each for each in loop if self.written(each) == register]
                if len(changes) != 1 or not self.is_step(changes[0]):
                    continue
                inner = loops_of(loop - {test}, lambda node: [to for to in reach.next.get(node, []) if to != test])
                if not any(changes[0] in each for each in inner) and all(self.is_counted(reach, each) for each in inner):
                    return True
        return False

    def compared_before(self, test, loop):
        at = test
        for _ in range(8):
            before = [each for each in range(at - 11, at) if each in loop and each + self.program.get(each).size == at]
            if not before:
                return []
            at = before[0]
            i = self.program.get(at)
            if i.mnemonic.startswith(("cmp", "test", "add", "sub", "inc", "dec")):
                return [NAMES[each] for each in i.operands if each in NAMES]
            if not i.mnemonic.startswith(("mov", "lea", "nop", "vmov")):
                return []
        return []

    def is_step(self, address):
        i = self.program.get(address)
        if i.mnemonic.startswith(("add", "sub")):
            return i.operands[0].startswith("$")
        if i.mnemonic.startswith("lea"):
            return re.fullmatch(r"-?0x[0-9a-f]+\((%\w+)\)", i.operands[0]) is not None and \
                NAMES.get(re.search(r"%\w+", i.operands[0])[0]) == NAMES.get(i.operands[1])
        return i.mnemonic.startswith(("inc", "dec"))


def look_at(counts, path):
    """(functions, proved, reasons, what is wrong) of one library."""
    lines = [line.split("\t") for line in subprocess.run([counts, path], check=True, text=True, stdout=subprocess.PIPE).stdout.splitlines()]
    proved = {name: int(rest[1]) for name, verdict, *rest in lines if verdict == "proved"}
    reasons = collections.Counter()
    for _, verdict, *texts in lines:
        if verdict == "refused":
            reasons.update({next(name for name, what in REASONS if re.search(what, text)) for text in texts})
    second = SecondImplementation(path)
    wrong = [name for name, address in proved.items() if second.can_run_for_ever(address)]
    return len(lines), len(proved), reasons, wrong


def table_of(results):
    text = "|  | " + " | ".join("%s %s" % (name, version) for name, version, _ in results) + " |\n"
    text += "|---|" + "---:|" * len(results) + "\n"
    text += "| functions | " + " | ".join(str(result[0]) for *_, result in results) + " |\n"
    text += "| proved | " + " | ".join(str(result[1]) for *_, result in results) + " |\n"
    for reason, _ in REASONS:
        if any(result[2][reason] for *_, result in results):
            text += "| %s | " % reason + " | ".join(str(result[2][reason]) for *_, result in results) + " |\n"
    return text


def write(manual, table):
    with open(manual) as file:
        text = file.read()
    begin, end = "<!-- refusals -->\n", "<!-- /refusals -->"
    head, rest = text.split(begin)
    with open(manual, "w") as file:
        file.write(head + begin + table + end + rest.split(end, 1)[1])


def path_of(file):
    """Where a library is, or None."""
    return next((os.path.join(folder, file) for folder in FOLDERS if os.path.exists(os.path.join(folder, file))), None)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--counts", required=True)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--write")
    options = parser.parse_args()
    results, wrong = [], 0
    libraries = LIBRARIES[:2] if options.quick else LIBRARIES
    looked_at = {}
    with concurrent.futures.ProcessPoolExecutor() as pool:
        for _, _, file in reversed(libraries):  # the largest ones first
            path = path_of(file)
            if path is not None:
                looked_at[file] = pool.submit(look_at, options.counts, path)
    for name, package, file in libraries:
        if file not in looked_at:
            print("%s is not installed" % file)
            continue
        version = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package], text=True, stdout=subprocess.PIPE).stdout
        result = looked_at[file].result()
        results.append((name, version, result))
        print("%s %s: %d functions, %d proved" % (name, version, result[0], result[1]), flush=True)
        for each in result[3]:
            wrong += 1
            print("UNSOUND: %s of %s is proved, and can run for ever" % (each, file), flush=True)
    print(table_of(results))
    if options.write:
        write(options.write, table_of(results))
    return 1 if wrong or not results else 0


if __name__ == "__main__":
    sys.exit(main())
