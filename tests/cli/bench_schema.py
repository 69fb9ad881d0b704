"""Whether an object is `flatline.bench/1`: its members, their types, and what must hold between the figures.

faults(document) returns a list of sentences, empty iff there are none.
"""
import math

NUMBER = (int, float)
SUITES = {
    "hot", "fifo", "churn", "mixed", "order", "throughput", "drift", "startup", "memory", "anysize", "new-delete",
    "threads", "pipeline", "arrivals", "stalls", "containers", "engine",
}
# The units of a cell's figures by suite, for calls that were timed together and for counts.
UNITS = {suite: {"Mops/s" if suite in ("throughput", "threads", "pipeline") else "ns"} for suite in SUITES}
UNITS["memory"] = {"bytes"}
UNITS["anysize"] = {"ns", "bytes"}
UNITS["engine"] = {"ns", "Mtasks/s"}
RATES = {"Mops/s", "Mtasks/s"}  # more is better
PHASES = {"order", "throughput", "drift", "startup", "memory", "new-delete"}  # suites without single calls or blocks
TOGETHER = 64  # calls of one kind that threads make in a row
WITH_RATIOS = {"subject", "drop-in", "fixed-pool"}
KINDS = {"subject", "again", "control", "unchecked", "general", "fixed-pool", "standard", "drop-in", "one-to-one",
         "alternative"}

DOCUMENT = {
    "schema": str, "mode": str, "started": str, "resumed": bool, "duration_seconds": NUMBER, "rounds": int, "seed": int,
    "environment": dict, "backends": list, "missing": list, "errors": list, "cells": list, "verdicts": list,
    "programs": list,
}
ENVIRONMENT = {
    "processor": str, "logical_cpus": int, "kernel": str, "compiler": str, "flags": str, "flatline_version": str,
    "pinned_cpu": int, "transparent_huge_pages": str, "hypervisor": str, "governor": str, "isolated_cpus": str,
    "nohz_full": str, "smt": str, "steal_percent": NUMBER, "context_switches": int, "migrations": int, "timer": dict,
    "hiccups": dict, "allocators": list,
}
TIMER = {"name": str, "frequency_hz": int, "tick_ns": NUMBER, "cost_ns": NUMBER}
HICCUPS = {
    "seconds": NUMBER, "over_10us": int, "over_10us_per_second": NUMBER, "lost_us_per_second": NUMBER, "max_ns": int,
}
ALLOCATOR = {"backend": str, "version": str, "path": str, "source": str, "flags": str, "own_code": bool}
BACKEND = {"name": str, "title": str, "kind": str, "beside": str}
MISSING = {"name": str, "how": str}
ERROR = {"backend": str, "suite": str, "size": int, "calls": int, "order": str, "threads": int, "message": str}
CELL = {
    "suite": str, "backend": str, "size": int, "calls_per_sample": int, "operation": str, "order": str, "threads": int,
    "unit": str,
    "samples": int, "processes": int, "mean": NUMBER, "p50": NUMBER, "p90": NUMBER, "p99": NUMBER, "p999": NUMBER,
    "max": NUMBER, "p50_low": NUMBER, "p50_high": NUMBER, "p999_low": NUMBER, "p999_high": NUMBER, "page_faults": int,
    "page_faults_setup": int, "resident_kib": int, "ranked": bool, "void": bool, "process_p50": list,
    "process_p999": list,
}
VERDICT = {
    "suite": str, "size": int, "calls_per_sample": int, "operation": str, "order": str, "threads": int, "figure": str,
    "subject": str, "rival": str, "outcome": str, "ratio": NUMBER, "low": NUMBER, "high": NUMBER,
}
OUTCOMES = {"faster", "slower", "no difference", "void"}
ONLY_OF_TIMES = ["p50_net", "over_100ns_ppm", "over_1us_ppm", "over_10us_ppm"]
COUNTED = [counter + "_per_operation" for counter in ("instructions", "branch_misses", "cache_misses", "tlb_misses")]
ONLY_OF_ROUNDS = ["heap_calls", "held_bytes"]
OF_SEVERAL_THREADS = ("threads", "pipeline")  # suites that report resident memory
MAY_BE_NULL = ["p9999", "peak_bytes"] + ONLY_OF_TIMES + COUNTED + ONLY_OF_ROUNDS
FIGURES = {"p50", "p999", "jitter"}
WINDOWS = {"operations": int, "values": list, "first": NUMBER, "last": NUMBER, "worst": NUMBER,
           "slope_ns_per_million": NUMBER}
PROGRAM = {
    "name": str, "title": str, "package": str, "work": str, "process": str, "clock": str, "executable": str,
    "version": str, "shortfalls": list, "rows": list, "errors": list,
}
PROGRAM_ROW = {
    "backend": str, "version": str, "path": str, "settings": str, "processes": int, "wall_s": dict, "user_s": dict,
    "system_s": dict, "peak_rss_kib": dict, "final_rss_kib": dict, "page_faults": dict, "allocations": int,
    "frees": int, "allocator_share": NUMBER, "frontier": bool, "runs": list,
}
PROGRAM_RUN = {
    "wall_s": NUMBER, "user_s": NUMBER, "system_s": NUMBER, "peak_rss_kib": int, "final_rss_kib": int,
    "page_faults": int, "context_switches": int,
}
INTERVALS = ["wall_s", "user_s", "system_s", "peak_rss_kib", "final_rss_kib", "page_faults"]


def wrong_members(where, thing, members):
    for name, kind in members.items():
        if name not in thing:
            yield f"{where}: {name} is missing"
        elif not isinstance(thing[name], kind) or (kind is not bool and isinstance(thing[name], bool)):
            yield f"{where}: {name} is {thing[name]!r}"


def wrong_list(where, things, members):
    for i, thing in enumerate(things):
        yield from wrong_members(f"{where}[{i}]", thing, members)


def wrong_environment(environment):
    yield from wrong_members("environment", environment, ENVIRONMENT)
    yield from wrong_members("timer", environment.get("timer", {}), TIMER)
    for when in ("before", "between", "after"):
        yield from wrong_members(f"hiccups {when}", environment.get("hiccups", {}).get(when, {}), HICCUPS)
    yield from wrong_list("allocators", environment.get("allocators", []), ALLOCATOR)


def ascends(values):
    return all(a <= b for a, b in zip(values, values[1:]))


def wrong_curve(where, cell):
    by_calls = cell["suite"] not in PHASES and cell["unit"] == "ns" and cell["calls_per_sample"] in (1, 32, TOGETHER)
    if by_calls != ("curve" in cell):
        yield f"{where}: a curve is there iff calls were timed one by one or in blocks"
    if not by_calls or "curve" not in cell:
        return
    curve = cell["curve"]
    if not isinstance(curve, list) or len(curve) < 2:
        yield f"{where}: the curve has no two points"
        return
    if curve[0][0] != 0 or curve[-1] != [100, cell["max"]]:
        yield f"{where}: the curve does not go from 0 to the maximum"
    if not ascends([point[0] for point in curve]) or not ascends([point[1] for point in curve]):
        yield f"{where}: the curve does not ascend"
    if [50, cell["p50"]] not in curve:
        yield f"{where}: the curve misses the median"


def wrong_windows(where, cell):
    if (cell["suite"] == "drift") != ("windows" in cell):
        yield f"{where}: windows are there iff the suite is about a course"
    if "windows" not in cell:
        return
    windows = cell["windows"]
    found = list(wrong_members(f"{where} windows", windows, WINDOWS))
    yield from found
    if found:
        return
    values = windows["values"]
    if not values or len(values) * cell["processes"] != cell["samples"]:
        yield f"{where}: there is not one value for each window"
    elif [values[0], values[-1]] != [windows["first"], windows["last"]] or max(values) > windows["worst"]:
        yield f"{where}: the first, last or worst window is another one"


def wrong_figures(where, cell):
    calls = cell["calls_per_sample"] in (1, TOGETHER) and cell["suite"] not in PHASES
    if cell["unit"] not in ({"ns"} if calls else UNITS[cell["suite"]]):
        yield f"{where}: the unit is {cell['unit']}"
    times = cell["unit"] == "ns"
    if not ascends([cell[name] for name in ("p50", "p90", "p99", "p999", "max")]):
        yield f"{where}: the percentiles do not ascend"
    if not cell["p50_low"] <= cell["p50"] <= cell["p50_high"]:
        yield f"{where}: the median is outside its interval"
    for name in ("process_p50", "process_p999"):
        if len(cell[name]) != cell["processes"]:
            yield f"{where}: {name} has not one figure for each process"
    if (cell["p9999"] is None) != (cell["samples"] < 100000):
        yield f"{where}: P99.99 is told iff there are 100,000 samples"
    if any((cell[name] is not None) != times for name in ONLY_OF_TIMES):
        yield f"{where}: exceedances and a median without the clock's cost are there iff the figures are times"
    elif times and not 1e6 >= cell["over_100ns_ppm"] >= cell["over_1us_ppm"] >= cell["over_10us_ppm"] >= 0:
        yield f"{where}: the exceedances do not descend"
    if (cell["operation"] == "round") != (cell["suite"] == "containers"):
        yield f"{where}: rounds are what containers are timed by"
    if (cell["heap_calls"] is not None) != (cell["suite"] == "containers"):
        yield f"{where}: calls of the heap are counted iff rounds are timed"
    if cell["held_bytes"] is not None and cell["suite"] != "containers":
        yield f"{where}: bytes are held by what rounds are timed over"
    if cell["suite"] in OF_SEVERAL_THREADS and (cell["peak_bytes"] is None or cell["threads"] < 2):
        yield f"{where}: a cell of several threads tells how many, and what was resident at most"
    if cell["peak_bytes"] is not None and cell["threads"] < 2:
        yield f"{where}: a peak is told of several threads alone"


def wrong_counts(where, cell):
    if (cell["suite"] == "engine") != ("counts" in cell):
        yield f"{where}: counts are there iff tasks go from one thread to another"
    for name, counts in cell.get("counts", {}).items():
        if not isinstance(counts, list) or not all(isinstance(count, int) and count >= 0 for count in counts):
            yield f"{where}: {name} is {counts!r}"
        elif len(counts) != cell["processes"]:
            yield f"{where}: {name} has not one figure for each process"


def wrong_cell(where, cell):
    found = list(wrong_members(where, cell, CELL))
    for name in MAY_BE_NULL:
        if name not in cell:
            found.append(f"{where}: {name} is missing")
        elif cell[name] is not None and not isinstance(cell[name], NUMBER):
            found.append(f"{where}: {name} is {cell[name]!r}")
    if found:
        return found
    if cell["suite"] not in SUITES:
        return [f"{where}: there is no suite {cell['suite']}"]
    return (list(wrong_figures(where, cell)) + list(wrong_curve(where, cell)) + list(wrong_windows(where, cell))
            + list(wrong_counts(where, cell)))


def median_ratio(above, below):
    """The reference: the median over the rounds, the geometric mean of the middle two of an even number."""
    rounds = sorted(a / b for a, b in zip(above, below))
    return math.sqrt(rounds[(len(rounds) - 1) // 2] * rounds[len(rounds) // 2])


def figures_of(cell, figure):
    if figure != "jitter":
        return cell["process_" + figure]
    return [late - usual for late, usual in zip(cell["process_p999"], cell["process_p50"])]


def wrong_ratios(document):
    """The figures of the processes have five digits, and so may the ratios differ from those computed here."""
    kinds = {backend["name"]: backend["kind"] for backend in document["backends"]}
    work = ("suite", "size", "calls_per_sample", "operation", "order", "threads")
    groups = {}
    for cell in document["cells"]:
        groups.setdefault(tuple(cell[name] for name in work), {})[cell["backend"]] = cell
    for key, group in groups.items():
        for name, cell in group.items():
            where = f"cell {key} of {name}"
            if (kinds.get(name) in WITH_RATIOS) != ("ratios" in cell):
                yield f"{where}: ratios are there iff it is a pool, a heap, a resource or Flatline's malloc"
                continue
            if "ratios" not in cell:
                continue
            if set(cell["ratios"]) != set(group) - {name}:
                yield f"{where}: there are not ratios to every other row"
                continue
            for other, ratios in cell["ratios"].items():
                if set(ratios) != (FIGURES if cell["operation"] == "round" else FIGURES - {"jitter"}):
                    yield f"{where}: the ratios to {other} are of other figures"
                    continue
                for figure in ratios.keys() - {"jitter"}:  # jitter is a difference and has a large rounding error
                    ratio = ratios[figure]
                    above, below = figures_of(cell, figure), figures_of(group[other], figure)
                    paired = len(above) == len(below) and all(each > 0 for each in above + below)
                    if paired != (ratio is not None):
                        yield f"{where}: a ratio to {other} is there iff its rounds can be paired"
                    elif paired and not math.isclose(ratio, median_ratio(above, below), rel_tol=2e-4):
                        yield f"{where}: {figure} is not {ratio} of {other}"


def wrong_verdicts(document):
    work = ("suite", "size", "calls_per_sample", "operation", "order", "threads")
    names = {backend["name"] for backend in document["backends"]}
    rates = {tuple(cell[name] for name in work) for cell in document["cells"] if cell["unit"] in RATES}
    voids = {tuple(cell[name] for name in work) for cell in document["cells"] if cell["void"]}
    for i, verdict in enumerate(document["verdicts"]):
        where, key = f"verdicts[{i}]", tuple(verdict[name] for name in work)
        if verdict["figure"] not in FIGURES:
            yield f"{where}: there is no figure {verdict['figure']}"
        if not {verdict["subject"], verdict["rival"]} <= names or verdict["subject"] == verdict["rival"]:
            yield f"{where}: {verdict['subject']} and {verdict['rival']} are not two of the backends"
        if verdict["outcome"] not in OUTCOMES:
            yield f"{where}: there is no outcome {verdict['outcome']}"
        if not verdict["low"] <= verdict["high"]:
            yield f"{where}: the interval descends"
        if (key in voids) != (verdict["outcome"] == "void"):
            yield f"{where}: a verdict is void iff its cell is"
        if verdict["outcome"] in ("faster", "slower"):
            below = verdict["high"] < 1
            if not below and not verdict["low"] > 1:
                yield f"{where}: {verdict['outcome']}, but 1 is in the interval"
            elif (below != (key in rates)) != (verdict["outcome"] == "faster"):
                yield f"{where}: {verdict['outcome']} by the wrong side"


def wrong_interval(where, interval):
    yield from wrong_members(where, interval, {"median": NUMBER, "low": NUMBER, "high": NUMBER})
    if not interval.get("low", 0) <= interval.get("median", 0) <= interval.get("high", 0):
        yield f"{where}: the median is outside its interval"


def wrong_program_row(where, row):
    found = list(wrong_members(where, row, PROGRAM_ROW))
    for name in ("instructions", "system_calls"):
        if name not in row:
            found.append(f"{where}: {name} is missing")
    if found:
        return found
    for name in INTERVALS:
        found += wrong_interval(f"{where} {name}", row[name])
    if row["instructions"] is not None:
        found += wrong_interval(f"{where} instructions", row["instructions"])
    found += wrong_list(f"{where} runs", row["runs"], PROGRAM_RUN)
    if row["processes"] != len(row["runs"]) or not row["runs"]:
        found.append(f"{where}: {row['processes']} processes made {len(row['runs'])} runs")
    if not row["path"].startswith("/"):
        found.append(f"{where}: the path is {row['path']}")
    return found


def wrong_frontier(where, rows):
    """The marks must be those that the medians of this very document give."""
    points = [(row["wall_s"]["median"], row["peak_rss_kib"]["median"]) for row in rows]
    for row, point in zip(rows, points):
        beaten = any(a <= point[0] and b <= point[1] and (a, b) != point for a, b in points)
        if row["frontier"] == beaten:
            yield f"{where}: {row['backend']} is {'off' if beaten else 'on'} the frontier, and is not marked so"


def wrong_program(where, program):
    found = list(wrong_members(where, program, PROGRAM))
    if "missing" not in program:
        found.append(f"{where}: missing is missing")
    if found:
        return found
    if (program["missing"] is not None) != (program["executable"] == ""):
        found.append(f"{where}: a program is there or it is missing")
    for i, row in enumerate(program["rows"]):
        found += wrong_program_row(f"{where}.rows[{i}]", row)
    found += wrong_list(f"{where}.errors", program["errors"], {"backend": str, "message": str})
    return found or list(wrong_frontier(where, program["rows"]))


def wrong_names(document):
    names = {backend["name"] for backend in document["backends"]}
    seen = set()
    for cell in document["cells"]:
        key = tuple(cell.get(name) for name in ("suite", "size", "calls_per_sample", "operation", "order", "threads",
                                                "backend"))
        if key in seen:
            yield f"cell {key} is there twice"
        seen.add(key)
        if cell.get("backend") not in names:
            yield f"backend {cell.get('backend')} is not listed"
    for backend in document["backends"]:
        if backend["kind"] not in KINDS:
            yield f"there is no kind {backend['kind']}"
        if backend["kind"] == "again" and not backend["beside"]:
            yield f"{backend['name']} is a copy of nothing"


def faults(document):
    found = list(wrong_members("document", document, DOCUMENT))
    if found:
        return found
    if document["schema"] != "flatline.bench/1":
        return [f"the schema is {document['schema']}"]
    found += wrong_environment(document["environment"])
    found += wrong_list("backends", document["backends"], BACKEND)
    found += wrong_list("missing", document["missing"], MISSING)
    found += wrong_list("errors", document["errors"], ERROR)
    for i, cell in enumerate(document["cells"]):
        found += wrong_cell(f"cells[{i}]", cell)
    found += wrong_list("verdicts", document["verdicts"], VERDICT)
    for i, program in enumerate(document["programs"]):
        found += wrong_program(f"programs[{i}]", program)
    return found or list(wrong_names(document)) + list(wrong_verdicts(document)) + list(wrong_ratios(document))
