#!/usr/bin/env python3
"""Real programs, some with their own tests, with and without the malloc preloaded: each must do the same both times.

    real_programs.py LIBRARY WORK [--audit FLATLINE] [--only NAME,...]

With --audit, the programs run under `flatline audit`, whose library LIBRARY is, instead of with it alone.

Every entry runs once without and once with the library, and what it brings back (exit status, output, which tests failed)
is compared; what fails without it may fail with it, and is named. The exit status is 0 iff nothing differs, and the
library was there where it should be and nowhere else; an entry whose program is not installed is said and left out, and
if --only named it that counts as a difference. The first four entries take seconds, the others minutes.
"""
import argparse
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import time

PYTHON = "/usr/bin/python3"
PROJECT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
MINUTE = 60


class Setting:
    """One of the two ways to run: its environment, and a folder of its own for what is written."""

    def __init__(self, work, library, flatline=None):
        self.before = [flatline, "audit", "--"] if library and flatline else []
        self.folder = os.path.join(work, "with" if library else "without")
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)
        self.environment = {k: v for k, v in os.environ.items()
                            if not k.startswith(("FLATLINE_", "LD_PRELOAD", "PYTHON"))}
        self.environment.update(PYTHONMALLOC="malloc", LC_ALL="C.UTF-8", HOME=self.folder, GIT_CONFIG_NOSYSTEM="1",
                                **{"GIT_%s_%s" % (who, what): "a@example.org" if what == "EMAIL" else "a"
                                   for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")})
        if library and not flatline:
            self.environment["LD_PRELOAD"] = library

    def without_report(self, errors):
        """What a program wrote on standard error, before the audit's report."""
        end = errors.rfind(b"\nProgram    ") + 1
        return errors[:end] if end > 0 or errors.startswith(b"Program    ") else errors

    def run(self, *command, given=None, minutes=5, folder=None, environment=None):
        """(exit status, standard output, standard error); a program that takes too long has the status "late". No signal is
        ignored in it, as a shell does for what runs in its background: tests that interrupt themselves would fail then."""
        try:
            plain = "LD_PRELOAD" in (environment or {})  # a program that is not to be observed
            before = [] if plain else self.before
            done = subprocess.run(("env", "--default-signal", *before, *command), input=given, cwd=folder or self.folder,
                                  timeout=minutes * MINUTE, check=False, env=dict(self.environment, **(environment or {})),
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        except subprocess.TimeoutExpired:
            return "late", b"", b""
        return done.returncode, done.stdout, self.without_report(done.stderr) if before else done.stderr


def sqlite(setting):
    rows = 60000
    script = """
create table a(id integer primary key, name text, part text, value real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < %d)
    insert into a select i, 'name ' || (i * 7919 %% 10007), substr(hex(i * 31), 1, 4), i * 1.5 from n;
create index by_name on a(name);
select part, count(*), sum(value), group_concat(id) from a group by part order by part limit 300;
update a set name = name || part where id %% 3 = 0;
delete from a where id %% 7 = 0;
select json_group_array(json_object('n', name, 'v', value)) from (select * from a order by name, id limit 20000);
select a.name, b.id from a join a b on a.name = b.name and a.id < b.id order by 1, 2 limit 50000;
create virtual table words using fts5(text);
insert into words select name || ' ' || part from a;
select count(*) from words where words match 'name';
vacuum;
pragma integrity_check;
""" % rows
    return [setting.run("sqlite3", "-batch", "work.db", given=script.encode())]


def lua_and_perl(setting):
    perl = "my %h; for my $i (1..300000) { push @{$h{$i * 7919 % 10007}}, 'x' x ($i % 50) } print join ',', map { " \
           "scalar @{$h{$_}} } sort keys %h"
    lua = "local t = {} for i = 1, 300000 do t[i % 5000] = (t[i % 5000] or '') .. string.char(65 + i % 26) end " \
          "print(#table.concat(t))"
    return [setting.run("perl", "-e", perl), setting.run("lua5.4", "-e", lua)]


def git(setting, commits=3000):
    """A generated history: packed with several threads, checked, read, cloned."""
    chance = random.Random(1)
    stream = []
    for number in range(commits):
        stream.append("commit refs/heads/main\ncommitter a <a@example.org> %d +0000\ndata 4\nc %02d\n"
                      % (1700000000 + number, number % 100))
        for _ in range(4):
            content = "".join("%d line %d\n" % (chance.randrange(50), i) for i in range(chance.randrange(200)))
            stream.append("M 644 inline folder%d/file%d\ndata %d\n%s\n"
                          % (chance.randrange(40), chance.randrange(40), len(content), content))
    done = [setting.run("git", "init", "-q", "repository")]
    inside = os.path.join(setting.folder, "repository")
    done.append(setting.run("git", "fast-import", "--quiet", given="".join(stream).encode(), folder=inside))
    for command in (["repack", "-adfq", "--threads=4", "--depth=50", "--window=50"], ["fsck", "--full"],
                    ["rev-list", "--objects", "--all"], ["log", "-p", "--stat", "main"], ["checkout", "-q", "main"],
                    ["grep", "-n", "line 7"], ["gc", "-q", "--aggressive"], ["clone", "-q", ".", "../clone"]):
        done.append(setting.run("git", *command, folder=inside))
    return [(status, output, b"") for status, output, _ in done]


def node(setting):
    script = """
const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');
if (isMainThread) {
    let sums = [];
    for (let k = 0; k < 4; k++) new Worker(__filename, { workerData: k }).on('message', (sum) => {
        sums.push(sum);
        if (sums.length === 4) console.log(sums.sort((a, b) => a - b).join());
    });
} else {
    let sum = 0;
    for (let i = 0; i < 300; i++) {
        const buffer = Buffer.alloc(1000 + i * 997, i);
        const records = Array.from({ length: 300 }, (_, n) => ({ n, text: 'x'.repeat((n * 7 + i) % 90) }));
        sum += JSON.parse(JSON.stringify(records)).length + buffer.toString('base64').length + workerData;
        sum += require('zlib').gzipSync(buffer).length;
    }
    parentPort.postMessage(sum);
}
"""
    path = os.path.join(setting.folder, "work.js")
    with open(path, "w", encoding="utf-8") as opened:
        opened.write(script)
    return [setting.run("node", path)]


def z3(setting):
    """Several threads, whose verdict does not depend on which is the first. On a busy machine z3 4.8.12 waits for ever in
    one run of some 100, with glibc's malloc too: at its end for a worker that was not woken. So it has five attempts."""
    problem = ["(declare-const x%d Int)" % i for i in range(12)]
    for i in range(11):
        problem.append("(assert (and (> (+ (* 3 x%d) x%d) %d) (< x%d %d) (> x%d -50)))"
                       % (i, i + 1, i * 5, i, 40 + i, i))
    problem += ["(assert (= (mod (+ %s) 7) 3))" % " ".join("x%d" % i for i in range(12)), "(check-sat)",
                "(assert (< x11 -1000))", "(assert (> (+ x10 x11) 1000))", "(check-sat)"]
    for _ in range(5):
        result = setting.run("z3", "parallel.enable=true", "parallel.threads.max=4", "-in", minutes=0.3,
                             given="\n".join(problem).encode())
        if result[0] != "late":
            break
    return [result]


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def redis(setting):
    port = str(free_port())
    server = subprocess.Popen([*setting.before, "redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"],
                              cwd=setting.folder, env=setting.environment, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
    client = {"LD_PRELOAD": ""}
    try:
        for _ in range(200):
            if setting.run("redis-cli", "-p", port, "ping", environment=client)[0] == 0:
                break
            time.sleep(0.05)
        status, output, errors = setting.run("redis-benchmark", "-p", port, "-n", "20000", "-r", "5000", "-d", "64", "-q",
                                             minutes=10, environment=client)
        tests = sorted(set(re.findall(r"^([A-Z][^:\r]*): [\d.]+ requests", output.decode(), flags=re.M)))
        size = setting.run("redis-cli", "-p", port, "eval", "return redis.call('dbsize') > 5000", "0",
                           environment=client)
        setting.run("redis-cli", "-p", port, "shutdown", "nosave", environment=client)
        return [status, errors, tests, size, server.wait(timeout=60)]
    finally:
        server.kill()


def compiler(setting):
    """The objects of this project's own sources, byte for byte."""
    root, done = PROJECT, []
    for folder, program, standard in (("src/core", "gcc", "-std=c11"), ("src/malloc", "gcc", "-std=c11"),
                                      ("src/prove", "g++", "-std=c++20")):
        for name in sorted(os.listdir(os.path.join(root, folder))):
            if not name.endswith((".c", ".cpp")):
                continue
            made = os.path.join(setting.folder, name + ".o")
            status, _, errors = setting.run(program, standard, "-O2", "-w", "-I" + os.path.join(root, "include"),
                                            "-I" + os.path.join(root, "src"), "-frandom-seed=1", "-c",
                                            os.path.join(root, folder, name), "-o", made)
            with open(made, "rb") as opened:
                done.append((status, name, errors, opened.read()))
    return done


def own_tests(setting):
    """The library and its tests, configured, compiled, linked and run."""
    build = os.path.join(setting.folder, "build")
    made = [setting.run(*command, minutes=30)[0::2] for command in (
        ["cmake", "-S", PROJECT, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DFLATLINE_TESTS=ON",
         "-DFLATLINE_PROGRAM=OFF", "-DFLATLINE_EXAMPLES=OFF"],
        ["cmake", "--build", build, "--target", "tests/all"])]
    _, output, _ = setting.run("ctest", "--test-dir", build, "-L", "core", "--parallel", "2", minutes=30)
    text = output.decode(errors="replace")
    ran = re.findall(r"tests passed, \d+ tests failed out of (\d+)", text)
    return made + [(0 if ran else 1, ran or text[-300:]), set(re.findall(r"^\t *\d+ - (\S+) \(", text, flags=re.M))]


def python(setting):
    """The regression suite as Debian packages it. The tests that need the interpreter's own allocator or sizes in bytes
    fail both times, and so are no difference. Sockets to a virtual machine's host wait for one until the time is up."""
    status, output, _ = setting.run(PYTHON, "-m", "test", "-j2", "--timeout", "600", "-i", "*VSOCK*", minutes=90)
    text = output.decode(errors="replace")
    not_passed = [re.search(r"tests? %s:\n((?:    .*\n)+)" % how, text) for how in ("failed", "skipped")]
    return [(0 if "Tests result" in text else status, text[-300:] if "Tests result" not in text else ""),
            *[set(found.group(1).split()) if found else set() for found in not_passed]]


ENTRIES = {"sqlite": (sqlite, ["sqlite3"]), "lua_and_perl": (lua_and_perl, ["lua5.4", "perl"]), "node": (node, ["node"]),
           "z3": (z3, ["z3"]), "git": (git, ["git"]), "redis": (redis, ["redis-server", "redis-benchmark"]),
           "compiler": (compiler, ["g++"]), "own_tests": (own_tests, ["cmake", "ninja"]), "python": (python, [PYTHON])}


def is_served(setting, library):
    """Whether the library is in a program's memory, as it is in none by itself."""
    return library.encode() in setting.run("cat", "/proc/self/maps")[1]


def ignores_signals(setting):
    """Whether a program begins with one of the first 31 signals ignored; the next two are the C library's own."""
    found = re.search(rb"^SigIgn:\s*([0-9a-f]+)$", setting.run("cat", "/proc/self/status")[1], flags=re.M)
    return found is None or int(found.group(1), 16) & 0x7fffffff != 0


def fails(results):
    """What of the runs without the library came to no good end: then to be the same says nothing."""
    for number, result in enumerate(results):
        if isinstance(result, tuple) and result[0] != 0:
            return "result %d is %.300r without the library" % (number, result)
    return ""


def differs(without, with_it):
    """What the library changes, or nothing. Of sets of failures only those that are not there without it count."""
    if len(without) != len(with_it):
        return "%d results, and %d with the library" % (len(without), len(with_it))
    for number, (a, b) in enumerate(zip(without, with_it)):
        if isinstance(a, set):
            if b - a:
                return "these fail or are skipped with the library only: " + ", ".join(sorted(b - a))
        elif a != b:
            return "result %d is %.300r, and with the library %.300r" % (number, a, b)
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("work")
    parser.add_argument("--audit", metavar="FLATLINE", type=os.path.realpath)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    named = [name for name in arguments.only.split(",") if name]
    if set(named) - set(ENTRIES):
        parser.error("--only: these are " + ", ".join(ENTRIES))
    library = os.path.realpath(arguments.library)
    settings = {with_it: Setting(os.path.abspath(os.path.join(arguments.work, "served")), with_it and library, arguments.audit)
                for with_it in (False, True)}
    if [is_served(setting, library) for setting in settings.values()] != [False, True]:
        print("the library is not loaded where it is preloaded, or is everywhere: %s" % library)
        return 1
    if any(ignores_signals(setting) for setting in settings.values()):
        print("programs begin with signals ignored, with which some of their tests fail: env --default-signal has no effect")
        return 1
    wrong = ran = 0
    for name in named or ENTRIES:
        work, needs = ENTRIES[name]
        missing = [program for program in needs if shutil.which(program) is None]
        if missing:
            print("%-13s not run: %s is not installed" % (name, ", ".join(missing)))
            wrong += bool(named)
            continue
        results = [work(Setting(os.path.abspath(os.path.join(arguments.work, name)), preloaded, arguments.audit))
                   for preloaded in (None, library)]
        difference = fails(results[0]) or differs(*results)
        both = sorted(set.union(set(), *[each for each in results[0] if isinstance(each, set)]))
        told = "the same" + (", and without it not passed: " + ", ".join(both) if both else "")
        print("%-13s %s" % (name, difference or told), flush=True)
        wrong += bool(difference)
        ran += 1
    print("%d programs, %d differ" % (ran, wrong))
    return 1 if wrong or not ran else 0


if __name__ == "__main__":
    sys.exit(main())
