"""Random functions of C or C++, for the soundness campaign: what a compiler makes of them is proved, then stepped through.

Each is long fN(unsigned long a, unsigned long b, unsigned long *p), where p has 64 elements. None has undefined behaviour.
Some have no bound, on purpose: loops on data, catches, callees that never return or that run for ever, names of the C
library for functions that do return.
"""
import random

#: Functions that the prover could mistake for functions of the C library. The code generated here returns from them.
MISLEADING = ("__chk_fail", "__fortify_fail", "__assert_perror_fail", "_exit", "quick_exit", "__longjmp_chk", "pthread_exit")

NOINLINE = "__attribute__((noinline))"

PRELUDE = """
typedef unsigned long word;
%(c)s void abort(void) %(throws)s __attribute__((noreturn));
volatile word sink;
static __attribute__((noinline, noreturn)) void die_abort(word n) { sink = n; abort(); }
static __attribute__((noinline, noreturn)) void die_loop(word n) { for (word i = 0; i < (n & 15); i++) sink = i; abort(); }
static __attribute__((noinline, noreturn)) void die_spin(word n) { for (;;) sink = n; }
static __attribute__((noinline, noreturn)) void die_deep(word n) { if (n & 1) die_abort(n); die_loop(n); }
static __attribute__((noinline, noreturn)) void die_deep_spin(word n) { if (n & 1) die_abort(n); die_spin(n); }
static __attribute__((noinline)) word maybe_dies(word n) { if ((n & 31) == 7) die_deep(n); return n + 1; }
"""

PRELUDE_CXX = """
static __attribute__((noinline, noreturn)) void die_throw(word n) { if (n & 1) throw (int)n; throw (long)n; }
static __attribute__((noinline)) word maybe_throws(word n) { if ((n & 15) == 3) throw (int)n; return n * 3; }
static __attribute__((noinline)) word swallows(word n) noexcept { if ((n & 31) == 3) throw (int)n; return n * 5; }
struct Counts { word n; ~Counts() { sink = n; } };
struct Loops { word n; ~Loops() { for (word i = 0; i < 4; i++) sink = n + i; } };
struct Waits { word n; ~Waits() { while (n & sink & 8) { } } };
"""


class Function:
    """One of them, statement by statement."""

    def __init__(self, rng, number, callees, is_cxx):
        self.rng, self.number, self.callees, self.is_cxx = rng, number, callees, is_cxx
        self.depth, self.names, self.calls, self.bytes = 0, 0, 0, []

    def name(self, stem):
        self.names += 1
        return "%s%d" % (stem, self.names)

    def place(self):
        return "p[%d]" % self.rng.randrange(16)

    def value(self, depth=0):
        rng = self.rng
        if depth > 2 or rng.random() < 0.35:
            return rng.choice(["a", "b", "c", "d", self.place(), "%dUL" % rng.randrange(100), "%dUL" % rng.getrandbits(rng.choice([8, 31, 33, 60]))])
        one = self.value(depth + 1)
        kind = rng.randrange(8)
        if kind == 0:
            return "(%s >> %d)" % (one, rng.randrange(1, 40))
        if kind == 1:
            return "(%s %s %s ? %s : %s)" % (one, rng.choice(["<", ">", "==", "!="]), self.value(2), self.value(2), self.value(2))
        if kind == 2:
            return "(%s %s %d)" % (one, rng.choice("/%"), rng.randrange(1, 30))
        if kind == 3:
            return "(word)(%s)(%s)" % (rng.choice(["unsigned char", "unsigned short", "int", "signed char", "unsigned"]), one)
        return "(%s %s %s)" % (one, rng.choice(["+", "-", "*", "&", "|", "^"]), self.value(depth + 1))

    def condition(self):
        rng = self.rng
        if rng.random() < 0.5:
            return "(%s & %d) == %d" % (rng.choice("abcd"), rng.choice([3, 7, 15]), rng.randrange(4))
        if rng.random() < 0.3:
            return "(%s)(%s) %s %d" % (rng.choice(["int", "long", "signed char"]), self.value(1), rng.choice(["<", ">", "<=", ">="]), rng.randrange(-9, 20))
        return "%s %s %s" % (self.value(1), rng.choice(["<", ">", "<=", ">=", "==", "!="]), self.value(1))

    def block(self, most=4):
        self.depth += 1
        body = " ".join(self.statement() for _ in range(self.rng.randint(1, most)))
        self.depth -= 1
        return "{ %s }" % body

    def statement(self):
        rng = self.rng
        simple = [self.assign, self.assign, self.store]
        if self.depth > 3:
            return rng.choice(simple)()
        choices = simple + [self.branch, self.branch, self.switch, self.counted, self.call, self.ends]
        if self.is_cxx:
            choices += [self.throws, self.object]
        if rng.random() < 0.06:
            choices = [self.data_loop, self.array_of_functions, self.jumps_back]
            if self.is_cxx:
                choices += [self.catches, self.catches]
        return rng.choice(choices)()

    def assign(self):
        return "%s %s %s;" % (self.rng.choice("abcd"), self.rng.choice(["=", "+=", "^=", "-="]), self.value())

    def store(self):
        return "%s = %s;" % (self.place(), self.value())

    def branch(self):
        return "if (%s) %s%s" % (self.condition(), self.block(3), " else " + self.block(3) if self.rng.random() < 0.4 else "")

    def switch(self):
        rng = self.rng
        first = rng.choice([0, 0, 0, 1, 5, 100])
        cases = rng.sample(range(first, first + 14), rng.randint(4, 12))
        on = rng.choice(["a", "b", "(unsigned char)a", "(unsigned)b", "(int)a", "(signed char)b", "a & 15", "b % 13", "c & 7", self.place(), "(short)d", "a - 3"])
        text = "switch (%s) {" % on
        for case in cases:
            text += " case %d: %s%s" % (case, self.block(2), "" if rng.random() < 0.2 else " break;")
        if rng.random() < 0.5:
            text += " default: " + self.block(2)
        return text + " }"

    def counted(self):
        rng, i, rounds = self.rng, self.name("i"), self.rng.randint(1, 9)
        kind = rng.randrange(5)
        kept, self.depth = self.depth, self.depth + 1
        body = self.block(2) if rng.random() < 0.6 else "{ c += %s * %s; }" % (self.place(), i if kind != 3 else "d")
        self.depth = kept
        if kind == 0:
            return "for (unsigned %s = 0; %s < %d; %s++) %s" % (i, i, rounds, i, body)
        if kind == 1:
            return "for (int %s = %d; %s > 0; %s--) %s" % (i, rounds, i, i, body)
        if kind == 2:
            step = rng.randint(1, 3)
            return "for (word %s = %d; %s != %d; %s += %d) %s" % (i, rng.randrange(3) * step, i, 3 * step + rounds * step, i, step, body)
        if kind == 3:
            return "for (word *%s = p; %s != p + %d; %s++) { d ^= *%s; %s }" % (i, i, rounds, i, i, body if rng.random() < 0.3 else "")
        leaves = "if (%s) break;" % self.condition()
        return "for (unsigned %s = 0; %s < %d; %s++) { %s %s }" % (i, i, rounds, i, leaves, body)

    def call(self):
        rng = self.rng
        self.calls += 1
        if self.calls > 3:
            return self.assign()
        if not self.callees or rng.random() < 0.3:
            return "c += maybe_dies(%s);" % self.value(1)
        return "d ^= (word)%s(%s, %s, p);" % (rng.choice(self.callees), self.value(1), self.value(1))

    def ends(self):
        """In a callee that never returns, or that only has the name of one."""
        rng = self.rng
        kinds = ["die_abort", "die_abort", "die_loop", "die_deep", "abort", "misleading", "trap"]
        if rng.random() < 0.15:
            kinds = ["die_spin", "die_deep_spin"]
        kind = rng.choice(kinds)
        if kind == "misleading":
            return "if (%s) returns_%d(c);" % (self.condition(), rng.randrange(len(MISLEADING)))
        if kind == "trap":
            return "if ((%s & 63) == 61) __builtin_trap();" % rng.choice("abcd")
        return "if ((%s & 31) == %d) %s;" % (rng.choice("abcd"), rng.randrange(8), "abort()" if kind == "abort" else kind + "(c)")

    def throws(self):
        rng = self.rng
        return rng.choice(["if ((%s & 31) == %d) throw (int)c;" % (rng.choice("abcd"), rng.randrange(8)), "c += maybe_throws(%s);" % self.value(1),
                           "if ((%s & 15) == 9) die_throw(c);" % rng.choice("abcd"), "d += swallows(%s);" % self.value(1)])

    def object(self):
        kind = self.rng.choice(["Counts", "Counts", "Loops", "Loops", "Waits"])
        return "%s %s{(word)(%s)}; c += maybe_throws(%s);" % (kind, self.name("o"), self.value(1), self.value(1))

    def catches(self):
        rng = self.rng
        tried = "{ %s c += maybe_throws(%s); }" % (self.throws(), self.value(1))
        caught = rng.choice(["{ c = 1; }", "{ for (;;) sink = c; }", "{ throw; }", "{ while (sink != 5) sink = c; }", "{ return 3; }"])
        return "try %s catch (%s) %s" % (tried, rng.choice(["int", "long", "..."]), caught)

    def data_loop(self):
        return self.rng.choice(["while (c & 7) c--;", "do { d = d * 5 + 1; } while (d % 7 == 3);", "for (word i = 0; i < (a & 15); i++) c += i;",
                                "while (%s > 5) %s /= 2;" % (("p[3]",) * 2), "while (sink & 1024) { }"])

    def jumps_back(self):
        label = self.name("again")
        return "%s: c = c * 3 + 1; if (c %% 5 == 1) goto %s;" % (label, label)

    def array_of_functions(self):
        if len(self.callees) < 3:
            return self.assign()
        table = self.name("table")
        return ("{ static long (*const %s[])(word, word, word *) = {%s}; c += (word)%s[a & 1](b, c, p); }"
                % (table, ", ".join(self.rng.sample(self.callees, 2)), table))

    def text(self):
        rng = self.rng
        aligned = ""
        if rng.random() < 0.12:
            aligned = "_Alignas(64) volatile word line[8]; line[a & 7] = b; c += line[b & 7 & a]; " if not self.is_cxx else \
                "alignas(64) volatile word line[8]; line[a & 7] = b; c += line[b & 7 & a]; "
            aligned = aligned.replace("line[8];", "line[8] = {0};")
        body = " ".join(self.statement() for _ in range(rng.randint(2, 6)))
        head = "%s%s long f%d(word a, word b, word *p)" % ('extern "C" ' if self.is_cxx else "", NOINLINE, self.number)
        return "%s { word c = a ^ b, d = 1; %s%s return (long)(c + d * 3); }\n" % (head, aligned, body)


def program(seed, is_cxx, count):
    """A source of `count` functions, f0 and so on."""
    rng = random.Random("%s %s" % (seed, is_cxx))
    text = PRELUDE % {"c": 'extern "C"' if is_cxx else "extern", "throws": "noexcept" if is_cxx else ""}
    for number, name in enumerate(MISLEADING):
        text += ('%s %s __attribute__((visibility("hidden"))) void returns_%d(word n) __asm__("%s");\n'
                 % ('extern "C"' if is_cxx else "", NOINLINE, number, name))
        text += "void returns_%d(word n) { sink = n + %d; }\n" % (number, number)
    if is_cxx:
        text += PRELUDE_CXX
    levels = [[], [], []]
    for number in range(count):
        level = rng.choice([0, 0, 1, 2])
        callees = [each for lower in levels[:level] for each in lower[-20:]]
        text += Function(rng, number, callees, is_cxx).text()
        levels[level].append("f%d" % number)
    return text
