"""The bound of a function once more, by other means: objdump's text instead of a decoder, and plain recursion.

It shares nothing with src/prove but the rules, and is there to disagree. The rules:

  - Only what can be reached from the function's first instruction counts, with what it calls.
  - A load or store is an instruction that reads or writes memory; one that does both is both, a pair of registers two of
    them. x86-64: push and call store, pop, leave and ret load. Prefetching loads, lea and nop do neither.
  - Branches are conditional ones. Atomics are locked instructions, and exchanges with memory.
  - The stack's bytes are those below the stack pointer at entry that are used, with what is called.
  - The most of each on any path to a return. In a loop with marked places that are passed at most m1, m2, ... times, the
    longest way round without these counts m1 + m2 + ... + 1 times, each marked place's block as often as it is passed.
"""
import functools
import re
import subprocess

COUNTS = ("instructions", "loads", "stores", "accesses", "branches", "atomics")

NEVER_RETURN = {"abort", "exit", "_exit", "__assert_fail", "__stack_chk_fail", "__cxa_throw"}


class Refused(Exception):
    """There is no bound; the text says why."""


class Instruction:
    """What objdump says of one, by the syntax that GNU's assembler has for the machine."""

    def __init__(self, address, text, size):
        self.address, self.size = address, size
        text = re.sub(r"\s+", " ", text).strip()
        self.text = text
        self.comment = re.search(r"[#/]+ ([0-9a-f]+) <", text)
        plain = re.split(r" # | // ", text)[0].strip()
        self.symbol = (re.search(r"<(.*)>$", plain) or [None, ""])[1]
        plain = re.sub(r" ?<.*>$", "", plain)
        self.prefixes = []
        words = plain.split(" ")
        while words[0] in ("lock", "rep", "repz", "repnz", "bnd", "notrack", "cs", "ds", "data16", "addr32", "rex.W"):
            self.prefixes.append(words.pop(0))
        self.mnemonic = words[0]
        self.operands = split_operands(" ".join(words[1:]))
        self.target = None
        if self.operands and re.fullmatch(r"(0x)?[0-9a-f]+", self.operands[-1]):
            self.target = int(self.operands[-1], 16)


def split_operands(text):
    operands, depth, word = [], 0, ""
    for letter in text:
        depth += letter in "([{"
        depth -= letter in ")]}"
        if letter == "," and depth == 0:
            operands.append(word.strip())
            word = ""
        else:
            word += letter
    return operands + [word.strip()] if word.strip() else operands


class X86:
    objdump = "objdump"
    call_pushes = 8
    JUMPS = re.compile(r"j[a-z]+|loop[a-z]*")
    SYSTEM = {"syscall", "sysenter", "int", "hlt", "cpuid", "in", "out", "rdmsr", "wrmsr"}
    READS_LAST = re.compile(r"(cmp|test|bt|push|mul|imul|div|idiv|prefetch\w*|ldmxcsr|u?comis[sd])[bwlq]?")
    WRITES_LAST = re.compile(r"(mov(?!z|s[bwlx])\w*|movs[sd]|set[a-z]+|pop|stmxcsr|pextr\w|movnti)[bwlq]?")
    STRINGS = {"movs": (1, 1), "stos": (0, 1), "lods": (1, 0), "scas": (1, 0), "cmps": (2, 0)}

    @staticmethod
    def is_memory(operand):
        return "(" in operand or re.fullmatch(r"(%[a-z]s:)?(0x)?[0-9a-f]+", operand) is not None

    @staticmethod
    def flow(i):
        if i.mnemonic in X86.SYSTEM:
            raise Refused("system instruction")
        if "rep" in i.prefixes or "repz" in i.prefixes or "repnz" in i.prefixes:
            if not i.mnemonic.startswith("ret"):
                raise Refused("repeats")
        if i.mnemonic.startswith("(bad)") or ".byte" in i.mnemonic:
            raise Refused("undecodable")
        if i.mnemonic in ("ret", "retq"):
            return "back"
        if i.mnemonic in ("ud2", "ud1", "ud0", "int3"):
            return "trap"
        indirect = bool(i.operands) and i.operands[0].startswith("*")
        if i.mnemonic in ("call", "callq"):
            return "indirect call" if indirect else "call"
        if i.mnemonic in ("jmp", "jmpq"):
            return "indirect jump" if indirect else "jump"
        return "branch" if X86.JUMPS.fullmatch(i.mnemonic) else "next"

    @staticmethod
    def accesses(i):
        """Loads, stores, atomic."""
        name = i.mnemonic
        if name in ("ret", "retq", "leave", "leaveq"):
            return 1, 0, False
        string = X86.STRINGS.get(name[:4])
        if string and any("(%rsi)" in each or "(%rdi)" in each for each in i.operands) and len(name) <= 5 and \
                not any("%xmm" in each for each in i.operands):
            return string + (False,)
        loads = stores = 0
        memory = [k for k, each in enumerate(i.operands) if "(" in each]
        if name in ("call", "callq"):
            return len(memory), 1, False
        if name.startswith("j"):
            return len(memory), 0, False
        if name.startswith(("lea", "nop", "endbr")):
            return 0, 0, False
        atomic = "lock" in i.prefixes
        if memory:
            if name.startswith("xchg"):
                loads, stores, atomic = 1, 1, True
            elif memory[0] != len(i.operands) - 1 or X86.READS_LAST.fullmatch(name):
                loads = 1
            elif X86.WRITES_LAST.fullmatch(name):
                stores = 1
            else:
                loads = stores = 1
        if name.startswith("push"):
            stores += 1
        if name.startswith("pop") and not name.startswith("popcnt"):
            loads += 1
        return loads, stores, atomic

    @staticmethod
    def move(i, pointer, frame):
        """The stack pointer and the frame's place after the instruction, and the lowest place that it writes."""
        name, operands = i.mnemonic, i.operands
        last = operands[-1] if operands else ""
        lowest = pointer
        written = re.fullmatch(r"(-?0x[0-9a-f]+)?\(%r(sp|bp)\)", last)
        base = {"sp": pointer, "bp": frame}[written[2]] if written else None
        if base is not None and X86.accesses(i)[1]:
            lowest = base + int(written[1] or "0", 16)
            if 0 <= lowest < 8:
                raise Refused("overwrites its return address")
        number = int(operands[0][1:], 16) if operands and re.fullmatch(r"\$-?0x[0-9a-f]+", operands[0]) else None
        lea = re.fullmatch(r"(-?0x[0-9a-f]+)?\(%r(sp|bp)\)", operands[0]) if name.startswith("lea") and operands else None
        if name.startswith("push"):
            return pointer - 8, frame, pointer - 8
        if name.startswith("pop") and not name.startswith("popcnt"):
            return pointer + 8, None if last == "%rbp" else frame, pointer
        if name.startswith("leave"):
            if frame is None:
                raise Refused("stack")
            return frame + 8, None, frame
        if last == "%rsp":
            if name.startswith(("add", "sub")) and number is not None:
                number = number - (1 << 64) if number >= 1 << 63 else number
                pointer += number if name.startswith("add") else -number
            elif name.startswith("mov") and operands[0] == "%rbp" and frame is not None:
                pointer = frame
            elif lea and {"sp": pointer, "bp": frame}[lea[2]] is not None:
                pointer = {"sp": pointer, "bp": frame}[lea[2]] + int(lea[1] or "0", 16)
            elif name.startswith("and") and number is not None and number >= 1 << 63:
                pointer -= (1 << 64) - number - 1  # the AND rounds down by at most this
            elif not X86.READS_LAST.fullmatch(name):
                raise Refused("stack")
        elif last == "%rbp" and not X86.READS_LAST.fullmatch(name):
            frame = None
            if name.startswith("mov") and operands[0] == "%rsp":
                frame = pointer
            elif lea and lea[2] == "sp":
                frame = pointer + int(lea[1] or "0", 16)
        return pointer, frame, min(lowest, pointer)


class AArch64:
    objdump = "aarch64-linux-gnu-objdump"
    call_pushes = 0
    LOADS = re.compile(r"(ld|prfu?m)\w*")
    ATOMICS = re.compile(r"(swp|cas|ld(add|clr|eor|set|smax|smin|umax|umin)|st(add|clr|eor|set|smax|smin|umax|umin))(a|l|al)?[bh]?"
                         r"|casp(a|l|al)?")

    @staticmethod
    def flow(i):
        name = i.mnemonic
        if name in ("svc", "hvc", "smc", "wfe", "wfi", "hlt"):
            raise Refused("system instruction")
        if name == ".inst" and int(i.operands[0].split()[0], 16) < 1 << 16:
            return "trap"  # udf, as printed by an objdump that does not know it
        if name in (".inst", ".word") or i.text.endswith("; undefined"):
            raise Refused("undecodable")
        if name in ("brk", "udf"):
            return "trap"
        if name in ("ret", "retaa", "retab"):
            if i.operands and i.operands[0] != "x30":
                raise Refused("returns elsewhere")
            return "back"
        if name == "bl":
            return "call"
        if name.startswith("blr"):
            return "indirect call"
        if name.startswith("br"):
            return "indirect jump"
        if name == "b":
            return "jump"
        return "branch" if re.fullmatch(r"b\.\w+|cbn?z|tbn?z", name) else "next"

    @staticmethod
    def accesses(i):
        name = i.mnemonic
        if AArch64.ATOMICS.fullmatch(name):
            count = 2 if name.startswith("casp") else 1
            return count, count, True
        exclusive = re.fullmatch(r"(ld|st)(a|l)?x(p|r)[bh]?", name) is not None
        count = 2 if re.fullmatch(r"(ld|st)n?p(sw)?|(ld|st)(a|l)?xp", name) else 1
        structure = re.fullmatch(r"(ld|st)([1-4])r?", name)
        if structure:
            registers = i.operands[0].strip("{}").split("}")[0]
            spread = re.match(r"v(\d+)\.\w+-v(\d+)", registers)
            count = (int(spread[2]) - int(spread[1])) % 32 + 1 if spread else registers.count("v")
        if AArch64.LOADS.fullmatch(name):
            return count, 0, exclusive
        if re.fullmatch(r"st\w+", name):
            return 0, count, exclusive
        return 0, 0, False

    @staticmethod
    def move(i, pointer, frame):
        name, operands = i.mnemonic, i.operands
        number = lambda text: int(text.lstrip("#"), 0)  # noqa: E731
        first = operands[0] if operands else ""
        memory = next((k for k, each in enumerate(operands) if each.startswith("[")), None)
        lowest = pointer
        if memory is not None:
            inside = operands[memory].strip("[]!").split(",")
            base = {"sp": pointer, "x29": frame}.get(inside[0].strip())
            offset = number(inside[1].strip()) if len(inside) > 1 and inside[1].strip().startswith("#") else 0
            behind = number(operands[memory + 1]) if len(operands) > memory + 1 and operands[memory + 1].startswith("#") else 0
            if base is not None and AArch64.accesses(i)[1]:
                lowest = min(lowest, base + offset)
            if "x29" in operands[:memory] and AArch64.accesses(i)[0]:
                frame = None
            if inside[0].strip() == "sp":
                pointer += offset if operands[memory].endswith("!") else behind
        elif first == "sp":
            source = operands[1]
            amount = 0
            if name in ("add", "sub"):
                if not operands[2].startswith("#"):
                    raise Refused("stack")
                amount = number(operands[2]) << (12 if len(operands) > 3 else 0)
            elif name != "mov":
                raise Refused("stack")
            base = {"sp": pointer, "x29": frame}.get(source)
            if base is None:
                raise Refused("stack")
            pointer = base + (amount if name == "add" else -amount)
        elif first == "x29" and name not in ("cmp", "cmn", "tst"):
            frame = None
            if name == "mov" and operands[1] == "sp":
                frame = pointer
            elif name in ("add", "sub") and operands[1] == "sp" and operands[2].startswith("#"):
                frame = pointer + (number(operands[2]) if name == "add" else -number(operands[2]))
        return pointer, frame, min(lowest, pointer)


class Program:
    def __init__(self, path, machine):
        self.machine = machine
        self.instructions, self.symbols = {}, {}
        text = subprocess.run([machine.objdump, "-d", "-w", path], check=True, text=True, stdout=subprocess.PIPE).stdout
        for line in text.splitlines():
            start = re.match(r"([0-9a-f]+) <(.+)>:$", line)
            if start:
                self.symbols.setdefault(start[2], int(start[1], 16))
            code = re.match(r"\s*([0-9a-f]+):\t([0-9a-f ]+)\t(.*)$", line)
            if code:
                digits = code[2].replace(" ", "")
                self.instructions[int(code[1], 16)] = Instruction(int(code[1], 16), code[3], len(digits) // 2)
        self.marks = self.loop_marks(path)

    def loop_marks(self, path):
        listing = subprocess.run([self.machine.objdump, "-s", "-j", ".flatline.loops", path], text=True, stderr=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE).stdout
        content = b"".join(bytes.fromhex(line[line.index(" ", 1):line.index("  ")].replace(" ", ""))
                           for line in listing.splitlines() if re.match(r" [0-9a-f]+ [0-9a-f]{8} ", line))
        return {int.from_bytes(content[at:at + 8], "little"): int.from_bytes(content[at + 8:at + 16], "little")
                for at in range(0, len(content), 16)}


class Function:
    """Everything that can be reached from one address, and the most of each count."""

    def __init__(self, program, entry, apart=(), hands_over=0, under_way=()):
        if entry in under_way:
            raise Refused("calls itself")
        self.program, self.machine, self.apart = program, program.machine, apart
        self.hands_over, self.under_way = hands_over, under_way + (entry,)
        self.entry, self.nodes, self.next, self.weights, self.ends = entry, {}, {}, {}, set()
        self.deep = {}
        self.walk()
        self.stack_bytes = self.measure_stack()
        self.most = {count: self.longest(count) for count in COUNTS}
        self.returns = self.most["instructions"] is not None

    def leave(self, i, name, is_call):
        """To a function of another file."""
        name = re.sub(r"@.*", "", name)
        if name in NEVER_RETURN and "@plt" in i.symbol:
            return []
        if name not in self.apart:
            raise Refused("calls out of the file")
        if not is_call:
            self.ends.add(i.address)
        return [i.address + i.size] if is_call else []

    def is_outside(self, i):
        name = re.sub(r"\+0x.*", "", i.symbol)
        return "@plt" in i.symbol or name in self.apart or name.startswith("__aarch64_")

    def walk(self):
        todo = [self.entry]
        while todo:
            address = todo.pop()
            if address in self.nodes:
                continue
            i = self.program.instructions.get(address)
            if i is None:
                raise Refused("no instruction there")
            self.nodes[address] = i
            self.weights[address] = self.own_weight(i)
            self.next[address] = self.successors(i)
            todo += self.next[address]

    def successors(self, i):
        flow, behind = self.machine.flow(i), i.address + i.size
        if flow == "next":
            return [behind]
        if flow == "branch":
            return [behind, i.target] if i.target != behind else [behind]
        if flow == "back":
            self.ends.add(i.address)
            return []
        if flow == "trap":
            return []
        if flow.startswith("indirect"):
            if flow == "indirect jump" and self.hands_over > 0:
                self.hands_over -= 1
                self.ends.add(i.address)
                return []
            raise Refused(flow)
        if self.is_outside(i):
            return self.leave(i, i.symbol, flow == "call")
        if flow == "jump":
            return [i.target]
        called = Function(self.program, i.target, self.apart, 0, self.under_way)
        self.deep[i.address] = called.stack_bytes
        if not called.returns:
            return []
        for count in COUNTS:
            self.weights[i.address][count] += called.most[count]
        return [behind]

    def own_weight(self, i):
        flow = self.machine.flow(i)
        loads, stores, atomic = self.machine.accesses(i)
        return {"instructions": 1, "loads": loads, "stores": stores, "accesses": loads + stores,
                "branches": int(flow == "branch"), "atomics": int(atomic)}

    def measure_stack(self):
        known, todo, deepest = {self.entry: (0, None)}, [self.entry], 0
        while todo:
            address = todo.pop()
            i = self.nodes[address]
            pointer, frame, lowest = self.machine.move(i, *known[address])
            deepest = max(deepest, -lowest)
            if self.machine.flow(i) in ("call", "indirect call"):
                deepest = max(deepest, -pointer + self.machine.call_pushes + self.deep.get(address, 0))
            if address in self.ends and pointer != 0:
                raise Refused("stack")
            for to in self.next[address]:
                if to not in known:
                    known[to] = (pointer, frame)
                    todo.append(to)
                elif known[to][0] != pointer:
                    raise Refused("stack")
                elif known[to][1] is not None and known[to][1] != frame:
                    known[to] = (pointer, None)
                    todo.append(to)
        return deepest

    def has_loop(self):
        """Takes away, again and again, what nothing leads to."""
        entries = {address: 0 for address in self.nodes}
        for targets in self.next.values():
            for to in targets:
                entries[to] += 1
        free = [address for address, count in entries.items() if count == 0]
        left = len(entries)
        while free:
            left -= 1
            for to in self.next[free.pop()]:
                entries[to] -= 1
                if entries[to] == 0:
                    free.append(to)
        return left > 0

    # Finds loops by brute force, from the set of nodes that each node can reach.

    @functools.cached_property
    def reachable(self):
        reach = {}
        for start in self.nodes:
            seen, todo = set(), list(self.next[start])
            while todo:
                address = todo.pop()
                if address not in seen:
                    seen.add(address)
                    todo += self.next[address]
            reach[start] = seen
        return reach

    @functools.cached_property
    def loop_of(self):
        """Each node that can be reached from itself, with those that it shares its loop with."""
        loops = {}
        if not self.has_loop():
            return loops
        for address in self.nodes:
            if address in self.reachable[address]:
                loops[address] = frozenset(other for other in self.reachable[address] if address in self.reachable[other])
        return loops

    def block_of(self, address, loop):
        """The instructions that are passed whenever this one is, before and behind it."""
        before = {}
        for node in self.nodes:
            for to in self.next[node]:
                before.setdefault(to, []).append(node)
        flows = ("next", "back", "trap")
        block = [address]
        while len(before.get(block[0], ())) == 1 and self.ends_no_block(before[block[0]][0], flows):
            block.insert(0, before[block[0]][0])
        while self.ends_no_block(block[-1], flows) and len(before[self.next[block[-1]][0]]) == 1:
            block.append(self.next[block[-1]][0])
        return [each for each in block if each in loop]

    def ends_no_block(self, address, flows):
        i = self.nodes[address]
        return len(self.next[address]) == 1 and self.machine.flow(i) in flows and address not in self.deep

    def weight_of_loop(self, loop, count):
        marked = {address: self.program.marks[address] for address in loop if address in self.program.marks}
        if not marked:
            raise Refused("loop")
        if any(re.match(r"cmpxchg|cas|ldx|stx|ldax|stlx", self.nodes[address].mnemonic) for address in loop):
            raise Refused("loop")
        blocks = {address: self.block_of(address, loop) for address in marked}
        out = {address for block in blocks.values() for address in block}

        @functools.cache
        def rest(address, seen=()):
            if address in seen:
                raise Refused("loop")
            ways = [rest(to, seen + (address,)) for to in self.next[address] if to in loop and to not in out]
            return self.weights[address][count] + max(ways, default=0)

        round_without = max([rest(address) for address in loop if address not in out], default=0)
        passed = sum(times * sum(self.weights[address][count] for address in blocks[mark]) for mark, times in marked.items())
        return (sum(marked.values()) + 1) * round_without + passed

    def longest(self, count):
        """None where no path returns."""
        known = {}

        def after(node):
            loop = self.loop_of.get(node)
            return {to for each in (loop or {node}) for to in self.next[each] if loop is None or to not in loop}

        order, todo, seen = [], [(self.entry, False)], set()
        while todo:
            node, left = todo.pop()
            node = min(self.loop_of.get(node, {node}))
            if left:
                order.append(node)
            elif node not in seen:
                seen.add(node)
                todo.append((node, True))
                todo += [(to, False) for to in after(node)]
        for node in order:
            loop = self.loop_of.get(node)
            weight = self.weight_of_loop(loop, count) if loop else self.weights[node][count]
            ways = [known[min(self.loop_of.get(to, {to}))] for to in after(node)]
            ways = [way for way in ways if way is not None]
            ends = node in self.ends
            known[node] = weight + max(ways, default=0) if ways or ends else None
        return known[min(self.loop_of.get(self.entry, {self.entry}))]


def bound_of(program, function, apart=(), hands_over=0):
    """The counts, with stack_bytes, of a function; Refused where it has no bound."""
    if function not in program.symbols:
        raise KeyError(function)
    looked_at = Function(program, program.symbols[function], frozenset(apart), hands_over)
    if not looked_at.returns:
        raise Refused("never returns")
    return dict(looked_at.most, stack_bytes=looked_at.stack_bytes)
