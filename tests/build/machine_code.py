"""Disassembly of a linked object, as far as the checks of tests/build need it: x86-64, by objdump."""
import re
import subprocess

PADDING = ("nop", "nopw", "nopl", "xchg %ax,%ax", "data16", "cs nopw", "int3")


class Instruction:
    def __init__(self, address, text):
        self.address = address
        self.text = text
        self.mnemonic = text.split()[0] if text else ""
        operands = text.split(None, 1)[1] if " " in text else ""
        target = re.match(r"([0-9a-f]+)(?: <.*>)?$", operands)
        self.target = int(target.group(1), 16) if target else None


class Program:
    """Every instruction by address, and where each symbol begins."""

    def __init__(self, path):
        self.instructions = {}
        self.following = {}
        self.symbols = {}
        self.name_of = {}
        listing = subprocess.run(["objdump", "-d", "-w", "--no-show-raw-insn", path], check=True, text=True,
                                 stdout=subprocess.PIPE).stdout
        symbol, before = "?", None
        for line in listing.splitlines():
            start = re.match(r"([0-9a-f]+) <(.+)>:$", line)
            if start:
                symbol = start.group(2)
                self.symbols.setdefault(symbol, int(start.group(1), 16))
                continue
            code = re.match(r"\s*([0-9a-f]+):\t(.*)$", line)
            if not code:
                continue
            text = re.sub(r"\s+", " ", code.group(2).split("#")[0]).strip()
            instruction = Instruction(int(code.group(1), 16), text)
            self.instructions[instruction.address] = instruction
            self.name_of[instruction.address] = symbol
            if before is not None:
                self.following[before] = instruction.address
            before = instruction.address

    def where(self, address):
        name = self.name_of.get(address, "?")
        return "%s+0x%x" % (name, address - self.symbols.get(name, address))
