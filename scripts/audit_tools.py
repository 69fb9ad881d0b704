"""What other tools say about a program whose stall is known, for scripts/compare-audit.

Each function runs a program under one tool. It returns the tool's own list of places in its own order, and what the
program has said meanwhile, which includes the times by its own stopwatch. A place is the innermost line of the program's
own source, wherever the tool names one.
"""
import collections
import dataclasses
import json
import os
import pathlib
import re
import subprocess

SECONDS = 300
LLVM = pathlib.Path("/usr/lib/llvm-19")
RTSAN = LLVM / "lib/clang/19/lib/linux/libclang_rt.rtsan-x86_64.a"
SYMBOLIZER = LLVM / "bin/llvm-symbolizer"
HEAPTRACK_INTERPRET = "/usr/lib/heaptrack/libexec/heaptrack_interpret"


@dataclasses.dataclass
class Place:
    """What one entry of a report says; what it does not say is None."""
    file: str
    line: int
    by_address: bool = False  # the tool names an address, which is looked up here
    time_ns: float | None = None
    cause: str | None = None


@dataclasses.dataclass
class Program:
    """A built scenario: `sources` are the names of the files whose lines are its own."""
    path: pathlib.Path
    sources: tuple
    malloc: pathlib.Path | None  # what is preloaded in the place of glibc's

    def environment(self, **more):
        preload = {"LD_PRELOAD": str(self.malloc)} if self.malloc else {}
        return {**os.environ, **preload, **more}


def run(words, **options):
    """What the command prints on both streams. Its exit status is its own affair: some tools end what they find."""
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", timeout=SECONDS, check=False, **options)
    return done.stdout


def own_place(frames, program):
    """The first of some (file, line) that is in the program's sources, or None."""
    return next((Place(file, line) for file, line in frames if file in program.sources), None)


def without_repeats(places):
    """Each line once, where it comes first."""
    return list({(place.file, place.line): place for place in reversed(places)}.values())[::-1]


def heaptrack(program, folder):
    """The allocators by calls, by peak and by temporary allocations; the best of the three lists counts for a place."""
    said = run(["heaptrack", "--raw", "-o", folder / "heaptrack", program.path], env=program.environment())
    raw, text = folder / "heaptrack.raw.zst", folder / "heaptrack.txt"
    with open(text, "wb") as file:
        unpacked = subprocess.Popen(["zstdcat", raw], stdout=subprocess.PIPE)
        subprocess.run([HEAPTRACK_INTERPRET], stdin=unpacked.stdout, stdout=file, stderr=subprocess.DEVNULL, check=True)
        unpacked.wait()
    lists, current = [], None
    for line in run(["heaptrack_print", "-n", "1000", "-s", "1", text]).splitlines():
        if re.match(r"[A-Z ]+ (FUNCTIONS|CONSUMERS|ALLOCATIONS)", line):
            lists.append([])
        elif lists and re.match(r"\d.*from:?$", line):
            current = None if line.endswith(":") else []  # with a colon: a caller of the entry before
            if current is not None:
                lists[-1].append(current)
        elif current is not None and (at := re.match(r" +at (?:.*/)?([^/]+):(\d+)$", line)):
            current.append((at[1], int(at[2])))
    ordered = [without_repeats([place for frames in entries if (place := own_place(frames, program))])
               for entries in lists]
    return without_repeats([places[i] for i in range(max(map(len, ordered), default=0))
                            for places in ordered if i < len(places)]), said


def dhat(program, folder):
    """The places by bytes, as its page sorts them."""
    output = folder / "dhat.json"
    said = run(["valgrind", "--tool=dhat", "--dhat-out-file=%s" % output, program.path], env=program.environment())
    report = json.loads(output.read_text())
    places = []
    for point in sorted(report["pps"], key=lambda point: -point["tb"]):
        at = [re.search(r"\(([^():]+):(\d+)\)$", report["ftbl"][frame]) for frame in point["fs"]]
        places.append(own_place([(match[1], int(match[2])) for match in at if match], program))
    return without_repeats([place for place in places if place]), said


SECTIONS = """
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "scenario.h"
#ifdef __cplusplus
extern "C" {
#endif
void __rtsan_realtime_enter(void);
void __rtsan_realtime_exit(void);
#ifdef __cplusplus
}
#endif
static inline void enter_section(stopwatch *watch) {
    stopwatch_start(watch);
    __rtsan_realtime_enter();
}
static inline void leave_section(stopwatch *watch) {
    __rtsan_realtime_exit();
    stopwatch_stop(watch);
}
#define stopwatch_start enter_section
#define stopwatch_stop leave_section
"""


def rtsan(program, folder):
    """Built anew, with what the scenario's stopwatch times as a real-time section. It ends at the first violation."""
    said = run([program.path], env=program.environment(RTSAN_SYMBOLIZER_PATH=str(SYMBOLIZER)))
    if "Real-time violation" not in said:
        return [], said
    frames = [(at[1], int(at[2])) for line in said.splitlines()
              if (at := re.match(r"\s+#\d+ .*?([^/ :]+):(\d+)(?::\d+)?$", line))]
    place = own_place(frames, program)
    return ([place] if place else []), said


ALLOCATOR = re.compile(r"(?:\S+->)?(malloc|calloc|realloc|free|malloc_trim|_Zn[wa]\w*|_Zd[la]\w*)\(")


def ltrace(program, folder):
    """The calls by their total time, with the system calls in them. It names addresses."""
    output = folder / "ltrace"
    said = run(["ltrace", "-f", "-S", "-T", "-i", "-e", "malloc+calloc+realloc+free+malloc_trim+_Zn*+_Zd*", "-o", output,
                program.path], env=program.environment())
    calls, open_calls = collections.defaultdict(lambda: [0.0, collections.Counter()]), {}
    for line in output.read_text(errors="replace").splitlines():
        split = re.match(r"(\d+) \[(0x[0-9a-f]+)\] (.*?)(?:<([\d.]+)>)?$", line)
        if not split:
            continue
        thread, address, call, seconds = split[1], int(split[2], 16), split[3], float(split[4] or 0)
        system_call = re.match(r"(?:<\.\.\. )?SYS_(\w+)", call)
        if system_call and thread in open_calls:
            open_calls[thread][system_call[1]] += seconds
        elif ALLOCATOR.match(call) and call.rstrip().endswith("<unfinished ...>"):
            open_calls[thread] = collections.Counter()
        elif ALLOCATOR.match(call) or call.startswith("<... ") and thread in open_calls:
            calls[address][0] += seconds
            calls[address][1].update(open_calls.pop(thread, {}))
    places = []
    for address, (seconds, system_calls) in sorted(calls.items(), key=lambda call: -call[1][0]):
        at = run(["addr2line", "-e", program.path, hex(address - 1)]).strip()
        file, _, number = pathlib.PurePath(at).name.partition(":")
        if file not in program.sources:
            continue
        name, longest = max(system_calls.items(), key=lambda each: each[1], default=("", 0))
        cause = "lock" if name == "futex" else "system call " + name
        places.append(Place(file, int(re.match(r"\d+", number)[0]), True, seconds * 1e9,
                            cause if longest > seconds / 2 else None))
    return without_repeats(places), said
