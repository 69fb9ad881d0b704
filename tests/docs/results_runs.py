"""Runs as `flatline bench --json` writes them, small enough that their tables can be told by hand."""
import copy
import json
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from bench_schema import WITH_RATIOS, figures_of, median_ratio

BACKENDS = [("flatline-pool", "subject"), ("flatline-pool-again", "again"), ("floor", "control"), ("list", "unchecked"),
            ("glibc", "general"), ("jemalloc", "general"), ("boost-pool", "fixed-pool")]


def cells(suite, size, p50s, unit="ns", calls=32, operation="pair", order="", void=False, samples=100000, **more):
    return [{"suite": suite, "size": size, "backend": name, "p50": p50, "p50_low": p50, "p50_high": p50, "p99": 2 * p50,
             "p999": 3 * p50, "p9999": None, "max": 9 * p50, "over_1us_ppm": 0.5, "unit": unit, "ranked": True,
             "peak_bytes": None, "calls_per_sample": calls, "operation": operation, "order": order, "void": void, "samples": samples,
             "process_p50": [0.9 * p50, 1.1 * p50, 7], "process_p999": [2.9 * p50, 3.1 * p50, 8], **more}
            for (name, _), p50 in zip(BACKENDS, p50s)]


WINDOWS = {"first": 5, "last": 6, "worst": 9, "slope_ns_per_million": 0.0125}
INTERVAL = {"median": 2048, "low": 2, "high": 4096}
QUICK_CELLS = (
    cells("hot", 64, [5, 5.1, 2, 3, 6, 8, 4])
    + cells("hot", 64, [30, 30, 20, 25, 31, 32, 33], calls=1, operation="alloc")
    + cells("fifo", 1024, [6, 6, 2, 3, 5, 9, 7]) + cells("mixed", 0, [50, 60, 2, 3, 70, 80, 90], void=True)
    + cells("order", 64, [2, 2, 1, 1, 4, 5, 3], calls=200000, operation="free", order="lifo", samples=40)
    + cells("throughput", 16, [300, 301, 700, 600, 200, 150, 290], unit="Mops/s", calls=100000))
PROGRAM_ROW = {"backend": "glibc", "wall_s": {"median": 2.5, "low": 2.4, "high": 2.6},
               "user_s": INTERVAL | {"median": 2}, "system_s": INTERVAL | {"median": 0.5},
               "peak_rss_kib": INTERVAL, "final_rss_kib": INTERVAL,
               "page_faults": INTERVAL, "system_calls": None, "allocations": 1000000, "allocator_share": 0.255,
               "frontier": True}


def bench(cells, programs=(), backends=BACKENDS, **more):
    return {
        "schema": "flatline.bench/1", "started": "then", "resumed": False, "duration_seconds": 100.4,
        "rounds": 4, "seed": 1, "mode": "quick", "errors": [],
        "environment": {
            "processor": "a processor", "logical_cpus": 2, "kernel": "a kernel", "compiler": "a compiler",
            "flags": "-O2", "flatline_version": "1", "hypervisor": "kvm", "governor": "none", "smt": "off",
            "isolated_cpus": "",
            "nohz_full": "", "transparent_huge_pages": "madvise", "steal_percent": 0.5, "timer": {"tick_ns": 10},
            "hiccups": {when: {"lost_us_per_second": 20} for when in ("before", "between", "after")},
            "allocators": [{"backend": name, "version": "1.2"} for name, _ in backends]},
        "backends": [{"name": name, "title": "T " + name, "kind": kind} for name, kind in backends],
        "cells": cells, "programs": list(programs), **more}


QUICK = bench(QUICK_CELLS)


def ratio(cell, other, figure):
    above, below = figures_of(cell, figure), figures_of(other, figure)
    return median_ratio(above, below) if all(above) and all(below) else None


def written(run):
    """The file of the run, in which the rows that are compared tell their ratios to the others of their cell."""
    kinds = {each["name"]: each["kind"] for each in run["backends"]}
    key = ("suite", "size", "calls_per_sample", "operation", "order", "unit")
    cells = [dict(cell) for cell in run["cells"]]
    for cell in cells:
        if kinds[cell["backend"]] in WITH_RATIOS:
            cell["ratios"] = {other["backend"]: {figure: ratio(cell, other, figure)
                                                 for figure in ("p50", "p999", "jitter")}
                              for other in cells if [other[name] for name in key] == [cell[name] for name in key]
                              and other.get("threads", 1) == cell.get("threads", 1) and other is not cell}
    return json.dumps(dict(run, cells=cells))

# Suite containers: backend, kind, P50, P99.9 - P50.
ROUNDS = [("floor", "control", 100, 10), ("glibc", "general", 240, 90), ("jemalloc", "general", 200, 95),
          ("arena-resource", "subject", 110, 40), ("arena-resource-again", "again", 111, 40),
          ("pool-resource", "subject", 150, 30), ("pool-resource-again", "again", 151, 30),
          ("heap-resource", "subject", 180, 50), ("inline-arena", "subject", 105, 20),
          ("allocator-arena", "subject", 100, 41), ("allocator-pool", "subject", 120, 42),
          ("allocator-heap", "subject", 160, 43), ("allocator-inline", "subject", 101, 44),
          ("std-monotonic", "standard", 120, 60), ("std-pool", "standard", 300, 80)]


def rounds(order, calls=1, void=False, without=(), **factors):
    """A cell of rounds; a factor on the P50 of a backend by its name, with _ for -."""
    cells = []
    for name, kind, p50, jitter in ROUNDS:
        if name in without:
            continue
        p50 *= factors.get(name.replace("-", "_"), 1)
        late = p50 + jitter
        cells.append({"suite": "containers", "size": 0, "backend": name, "p50": p50, "p50_low": p50, "p50_high": p50,
                      "p99": late, "p999": late, "p9999": None, "max": 9 * late, "over_1us_ppm": 0, "unit": "ns",
                      "ranked": True, "calls_per_sample": calls, "operation": "round", "order": order, "void": void,
                      "samples": 30000, "process_p50": [p50] * 3, "process_p999": [late] * 3,
                      "heap_calls": 500 if kind == "general" else 0,
                      "held_bytes": None if name == "floor" else 16000})
    return cells


def containers(**factors):
    return bench(rounds("list", **factors) + rounds("map-int", without=("floor",), **factors)
                 + rounds("trades", **factors) + rounds("trades", calls=32, **factors) + rounds("vector", void=True),
                 backends=[(name, kind) for name, kind, _, _ in ROUNDS])


CONTAINERS = containers()

# Suite anysize: backend, kind, P50.
HEAPS = [("flatline-heap", "fixed-pool", 40), ("floor", "control", 6), ("o1heap", "fixed-pool", 60)]


# Suite engine: queue, kind, ns of a task, P99.9.
QUEUES = [("engine", "subject", 100, 300), ("engine-again", "again", 101, 301), ("engine-grant", "subject", 110, 310),
          ("remote-free", "alternative", 120, 320), ("ring", "control", 90, 280), ("mutex-queue", "general", 200, 400),
          ("concurrentqueue", "general", 250, 500), ("tbb-arena", "general", 600, 3000),
          ("readerwriterqueue", "one-to-one", 95, 290), ("boost-spsc", "one-to-one", 105, 305)]
COUNTS = {"counters apart": [1], "tagged": [30], "tagged by gaps": [3], "capacity a second": [400000],
          "done a second": [396000], "offered": [4000000], "refused": [2000000], "refused early": [0],
          "bytes grown": [0], "longest ns": [30000], "bound ns": [600], "above the bound": [0]}


def engine(factor=1, void=False, **counts):
    """A run in which the engine takes `factor` times what meets its goals."""
    all_counts = COUNTS | {name.replace("_", " "): [count] for name, count in counts.items()}

    def cell(name, order, size, calls, p50, p999, unit="ns"):
        ours = name in ("engine", "engine-again", "engine-grant")
        p50, p999 = p50 * (factor if ours else 1), p999 * (factor if ours else 1)
        if unit != "ns":
            p50 = p999 = 1000 / p50
        return {"suite": "engine", "size": size, "backend": name, "p50": p50, "p50_low": p50, "p50_high": p50,
                "p99": p50, "p999": p999, "p9999": None, "max": 9 * p999, "over_1us_ppm": 1, "over_10us_ppm": 0.5,
                "unit": unit, "ranked": True, "calls_per_sample": calls, "operation": "run", "order": order,
                "void": void, "samples": 10000, "process_p50": [p50] * 3, "process_p999": [p999] * 3,
                "counts": all_counts if order == "overload" else {"counters apart": [1]}}

    cells = []
    for name, kind, p50, p999 in QUEUES:
        cells += [cell(name, "busy", 64, 1, p50, p999), cell(name, "saturated", 64, 100000, p50, p999, "Mtasks/s")]
    cells += [cell(name, "sleeping", 64, 1, p50, 2 * p50) for name, p50 in (("engine", 20000), ("futex", 20000))]
    cells += [cell(name, "overload", 256, 1, p50, p999) for name, _, p50, p999 in QUEUES]
    return bench(cells, backends=[(name, kind) for name, kind, _, _ in QUEUES] + [("futex", "control")])


ENGINE = engine()

# `flatline simulate --all`: policy, P99.9.
SIMULATED = [("random", 20), ("two choices", 10), ("shortest queue", 8), ("C3", 9), ("Prequal", 12), ("predictive", 7)]


def simulation(factors=None, refused=None, covered=940, error=0.001, seeds=4):
    """A run in which the P99.9 of some (workload, policy) is `factors` times what meets the goals, and the share of their
    tasks that is refused is in `refused`."""
    factors, refused = factors or {}, refused or {}
    workloads = ("exponential", "different cores", "stale reports")

    def cell(workload, held_out, policy, p999, implementable=True, ablation=False):
        p999 *= factors.get((workload, policy), 1) if held_out else 2
        return {"workload": workload, "held_out": held_out, "policy": policy, "implementable": implementable,
                "ablation": ablation, "p50": 1, "p99": 4, "p999": p999, "p999_interval": [p999, p999], "max": 40,
                "refused": refused.get((workload, policy), 0) if held_out else 0, "fairness": 1, "reports_read": 2,
                "p999_by_seed": [p999 * (1 + 0.01 * (seed % 2)) for seed in range(seeds)], "curve": []}

    cells = []
    for held_out in (True, False):
        for workload in workloads:
            here = [cell(workload, held_out, policy, p999) for policy, p999 in SIMULATED]
            least, fewest = min(each["p999"] for each in here), min(each["refused"] for each in here)
            here.append(cell(workload, held_out, "central queue", 5, implementable=False))
            if held_out:
                here.append(cell(workload, True, "predictive - sends", 14, ablation=True))
            cells += [each | {"regret": each["p999"] / least - 1, "refused_more": each["refused"] - fewest}
                      for each in here]
    return {"schema": "flatline.simulate/1", "seed": 1, "draw": 7, "seeds": seeds, "tasks": 1000000,
            "gates": [{"law": "a law", "expected": 2, "measured": 2 * (1 + error), "interval": [2, 2.004],
                       "holds": abs(error) < 0.01}],
            "cells": cells,
            "switchback": {"cases": 1000, "known": 1000, "covered": covered, "median_half_width": 0.043, "pairs": [
                {"workload": "exponential", "policy": "predictive", "fallback": "two choices", "slice": 512,
                 "tasks": 300000, "truth": 0.25, "truth_interval": [0.24, 0.26], "measured": 0.259, "cases": 100,
                 "known": 100, "covered": 89, "median_half_width": 0.0434}]}}


SIMULATION = simulation()


def dispatch(live=1.8):
    """A run of `flatline bench dispatch`; `live` is how many times the second policy's P99 is the first one's."""
    def pair(first, second, ratio, is_named):
        apart = ratio > 1.1 or ratio < 0.9
        return {"first": first, "second": second, "named": is_named,
                "live": {"ratio": ratio, "interval": [0.9 * ratio, 1.1 * ratio]},
                "simulated": {"ratio": 2, "interval": [1.9, 2.1]}, "separates": apart, "agrees": apart and ratio > 1}

    rows = [{"policy": name, "live_p99_ms": [p99, p99 + 1], "simulated_p99_ms": [p99, p99], "refused": 0,
             "simulated_refused": 0} for name, p99 in (("two choices", 20), ("predictive", 11))]
    pairs = [pair("predictive", "two choices", live, True), pair("C3", "two choices", 1, False)]
    pairs += [pair("predictive", other, 1.5, True) for other in ("C3", "random")]
    return {"schema": "flatline.dispatch/1", "time": "then", "first_seed": 1, "runs": 8, "tasks": 4000,
            "machine": {"processor": "a processor", "logical_cpus": 2, "kernel": "a kernel", "hypervisor": "kvm"},
            "scenarios": [{"name": "slowed worker", "meaning": "slow", "policies": rows, "pairs": pairs}],
            "choices": [{"policy": "nothing", "workers": 64, "p50_ns": 20, "p999_ns": 30},
                        {"policy": "predictive", "workers": 64, "p50_ns": 2775, "p999_ns": 5997}]}


DISPATCH = dispatch()


def anysize(factor=1, alone=False):
    """A run in which the heap takes `factor` times what meets its goals; beside o1heap unless `alone`."""
    backends = HEAPS[:2] if alone else HEAPS
    cells = []
    for calls, operation, unit in ((32, "pair", "ns"), (1, "alloc", "ns"), (500000, "pair", "ns"),
                                   (20000, "resident", "bytes")):
        for name, _, p50 in backends:
            p50 *= factor if name == "flatline-heap" else 1
            cells.append({"suite": "anysize", "size": 0, "backend": name, "p50": p50, "p50_low": p50, "p50_high": p50,
                          "p99": p50, "p999": 3 * p50, "p9999": None, "max": 9 * p50, "over_1us_ppm": (p50 / 6) ** 3,
                          "unit": unit, "ranked": True, "calls_per_sample": calls, "operation": operation,
                          "order": "uniform", "void": False, "samples": 30000, "process_p50": [p50] * 3,
                          "process_p999": [3 * p50] * 3})
    return bench(cells, backends=[(name, kind) for name, kind, _ in backends])


ANYSIZE = anysize()

# Suites threads and pipeline: backend, kind, ns of a pair, of a local free, of a remote free.
CORES = [("flatline-pool", "subject", 9, 29, None), ("flatline-percore", "subject", 9, 29, 40),
         ("flatline-percore-again", "again", 9, 29, 40), ("floor", "control", 5, 26, 26),
         ("glibc", "general", 20, 33, 60), ("jemalloc", "general", 10, 30, 45)]


def percore(pair=1, own=1, remote=1, tail=1, void=False):
    """A run in which pools of each core take so many times what meets their goals: for pairs handed over, for pairs of
    their own, for a remote free, and of that for its P99.9."""
    cells = []

    def add(suite, order, operation, unit, values, tails=None, calls=1):
        for (name, _, *_), p50 in zip(CORES, values):
            if p50 is None:
                continue
            p999 = 3 * p50 * (tails if tails and name.startswith("flatline-percore") else 1)
            cells.append({"suite": suite, "size": 64, "backend": name, "p50": p50, "p50_low": p50, "p50_high": p50,
                          "p99": p50, "p999": p999, "p9999": None, "max": 9 * p50, "over_1us_ppm": 1, "unit": unit,
                          "ranked": True, "calls_per_sample": calls if unit == "ns" else 100000, "operation": operation,
                          "order": order, "void": void and suite == "threads", "samples": 30000,
                          "peak_bytes": 1 << 19 if name == "glibc" else 1 << 20,
                          "process_p50": [p50] * 3, "process_p999": [p999] * 3})

    pairs = [each[2] for each in CORES]
    add("threads", "independent", "pair", "Mops/s", [1000 / ns for ns in [9, 9 * own, 9 * own, *pairs[3:]]])
    for suite, order in (("threads", "producer-consumer"), ("threads", "larson"), ("pipeline", "")):
        add(suite, order, "pair", "Mops/s",
            [None if i == 0 else 1000 / (ns * (pair if i in (1, 2) else 1)) for i, ns in enumerate(pairs)])
    for calls in (1, 64):
        for suite, order in (("threads", "independent"), ("pipeline", "")):
            local = [each[3] * (own if i in (1, 2) else 1) for i, each in enumerate(CORES)]
            add(suite, order, "local free", "ns", local if order else [None, *local[1:]], calls=calls)
        for suite, order in (("threads", "larson"), ("pipeline", "")):
            add(suite, order, "remote free", "ns",
                [each[4] and each[4] * (remote if i in (1, 2) else 1) for i, each in enumerate(CORES)], tail, calls)
    return bench(cells, backends=[each[:2] for each in CORES])


PERCORE = percore()

# The malloc's suites: backend, kind, P50.
MALLOCS = [("flatline-malloc", "drop-in", 6), ("flatline-malloc-latency", "drop-in", 6),
           ("flatline-malloc-memory", "drop-in", 6), ("floor", "control", 3), ("glibc", "general", 9),
           ("snmalloc", "general", 7)]
POLICIES = [name for name, kind, _ in MALLOCS if kind == "drop-in"]


def malloc(factor=1, tail=1, stalls=10, alone=False, luck=1):
    """A run in which the malloc takes so many times what meets its goals, its tail so many times that again, and has so
    many calls of over 1 us; glibc takes so many times what it usually does."""
    cells = []
    for suite, calls, operation, unit, samples in (("hot", 32, "pair", "ns", 25000), ("hot", 1, "alloc", "ns", 25000),
                                                   ("anysize", 500000, "pair", "ns", 6),
                                                   ("anysize", 20000, "resident", "bytes", 1)):
        for name, kind, p50 in MALLOCS[:1] if alone else MALLOCS:
            ours = kind == "drop-in"
            p50 *= factor if ours else luck if name == "glibc" else 1
            p999 = 3 * p50 * (tail if ours else 1)
            over = stalls if ours else 4 if kind == "control" else 30
            cells.append({"suite": suite, "size": 64 if suite == "hot" else 0, "backend": name, "p50": p50,
                          "p50_low": p50, "p50_high": p50, "p99": p50, "p999": p999, "p9999": None, "max": 9 * p50,
                          "over_1us_ppm": over, "over_10us_ppm": 0, "unit": unit, "ranked": True, "calls_per_sample": calls,
                          "operation": operation, "order": "pareto" if calls > 32 else "", "void": False,
                          "samples": samples, "process_p50": [p50] * 3, "process_p999": [p999] * 3})
    return bench(cells, backends=[each[:2] for each in MALLOCS])


MALLOC = malloc()
OTHER_SUITES = ("order", "throughput", "drift", "startup", "memory", "arrivals")
FULL = bench(resumed=True, cells=QUICK_CELLS
             + cells("drift", 64, [6] * 7, calls=1, operation="P50", windows=WINDOWS | {"first": 1})
             + cells("drift", 64, [7] * 7, calls=1, operation="P99", windows=WINDOWS)
             + cells("startup", 64, [3] * 7, calls=1000, operation="total", void=True)
             + cells("memory", 256, [260, 260, 0], unit="bytes", calls=1000, operation="resident"))


def with_policies(run, **slower):
    """The run with the malloc, which takes in each cell as long as the first general allocator; a policy that is named,
    so many times that."""
    other = copy.deepcopy(run)
    for at, cell in reversed(list(enumerate(other["cells"]))):
        if cell["backend"] != "glibc":
            continue
        for policy in POLICIES:
            factor = slower.get(policy.rpartition("-")[2], 1)
            factor = 1 / factor if cell["unit"] == "Mops/s" else factor
            ours = {key: factor * cell[key] for key in ("p50", "p99", "p999")}
            ours |= {key: [factor * each for each in cell[key]] for key in ("process_p50", "process_p999")}
            other["cells"].insert(at, cell | ours | {"backend": policy})
    other["backends"] += [{"name": policy, "title": policy, "kind": "drop-in"} for policy in POLICIES]
    other["environment"]["allocators"] += [{"backend": policy, "version": "1"} for policy in POLICIES]
    return other


def with_four_threads(run, **factors):
    """The run with its cells of suite threads once more, of four threads; there a backend takes so many times as long."""
    other = copy.deepcopy(run)
    for cell in [cell for cell in run["cells"] if cell["suite"] == "threads"]:
        factor = factors.get(cell["backend"].replace("-", "_"), 1)
        factor = 1 / factor if cell["unit"] == "Mops/s" else factor
        other["cells"].append(cell | {"threads": 4, "p50": factor * cell["p50"],
                                      "process_p50": [factor * each for each in cell["process_p50"]]})
    return other


PROGRAMS = bench([], [{
    "name": "perl", "title": "Perl", "package": "perl", "work": "sorts", "process": "perl", "clock": "perl",
    "version": "perl 5", "missing": None, "shortfalls": [], "rows": [PROGRAM_ROW],
    "errors": [{"backend": "tbb", "message": "it failed"}]}])

def changed(**changes):
    """QUICK with other figures: pool(suite) and pool_tail(suite) -> factor on the pool's P50 and P99.9, void(suite) ->
    whether the cell is void."""
    other = copy.deepcopy(QUICK)
    for cell in other["cells"]:
        cell["void"] = changes.get("void", {}).get(cell["suite"], cell["void"])
        if cell["backend"] == "flatline-pool":
            factor = changes.get("pool", {}).get(cell["suite"], 1)
            cell["p50"] *= factor
            cell["process_p50"] = [factor * each for each in cell["process_p50"]]
            factor = changes.get("pool_tail", {}).get(cell["suite"], 1)
            cell["process_p999"] = [factor * each for each in cell["process_p999"]]
    return other


# A run of the malloc in the other suites of a full run.
OTHERS = with_policies(dict(FULL, cells=[cell for cell in FULL["cells"] if cell["suite"] in OTHER_SUITES]))
