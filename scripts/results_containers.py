"""The results of `flatline bench containers`: what is kept of its runs, and the tables that are made from them."""
import statistics

from results_common import figure, machine, ratios_between, table

FIGURES = ("p50", "p999", "heap_calls", "held_bytes")
RATIOS = ("p50", "p999", "jitter")  # P99.9 - P50 is the jitter
FLOOR, GLIBC = "floor", "glibc"
RESOURCES = ("arena-resource", "pool-resource", "heap-resource", "inline-arena")
ALLOCATORS = ("allocator-arena", "allocator-pool", "allocator-heap", "allocator-inline")
STANDARD = ("std-monotonic", "std-pool")
PLAIN = {"arena-resource": "arena_resource", "pool-resource": "pool_resource", "heap-resource": "heap_resource",
         "inline-arena": "inline_arena", "allocator-arena": "allocator, arena", "allocator-pool": "allocator, pool",
         "allocator-heap": "allocator, heap", "allocator-inline": "allocator, inline_arena",
         "std-monotonic": "std::pmr monotonic", "std-pool": "std::pmr pool"}

# The goals, set before it was built: the greatest ratio to another backend (MALLOC: the best of them), in which
# figures, and in which workloads (None: all).
MALLOC = "best malloc"
GOALS = (
    ("arena-resource", "std-monotonic", ("p50", "p999"), 1.00, None),
    ("pool-resource", "std-pool", ("p50",), 0.80, ("map-int", "map-string", "list")),
    ("pool-resource", MALLOC, ("p50",), 1.00, ("map-int", "map-string", "list")),
    ("inline-arena", FLOOR, ("p50",), 1.15, ("trades",)),
) + tuple((allocator, resource, ("p50",), 1.00, None) for allocator, resource in zip(ALLOCATORS, RESOURCES))
MARGIN = 0.02  # no verdict counts it as a difference; for goals that are to be at or below the other
STEADIEST = ("inline-arena", "trades")  # its jitter is to be the least of all that compete
TITLES = {"p50": "P50", "p999": "P99.9", "jitter": "P99.9 − P50"}


# ---- what is kept -------------------------------------------------------------------------------------------------

def value(cell, what):
    return cell["p999"] - cell["p50"] if what == "jitter" else cell[what]


def kept_rounds(cells, kinds):
    """What is kept of a cell of rounds in addition to its rows: the ratios of the pairs that a goal or a table
    needs."""
    by_name = {cell["backend"]: cell for cell in cells}
    mallocs = [cell for cell in cells if kinds[cell["backend"]] == "general"]
    ratios = {}
    for subject, rival in sorted({(goal[0], goal[1]) for goal in GOALS}
                                 | {(resource, MALLOC) for resource in RESOURCES}):
        if subject not in by_name or (rival == MALLOC and not mallocs) or (rival != MALLOC and rival not in by_name):
            continue
        ratios["%s / %s" % (subject, rival)] = [
            ratio for what in RATIOS
            for ratio in ratios_between(by_name[subject], by_name[rival] if rival != MALLOC else
                                        min(mallocs, key=lambda cell: value(cell, what)), [what])]
    return ratios


# ---- what the tables say ------------------------------------------------------------------------------------------

def name_of(group):
    return group["order"] + (", %d rounds" % group["calls_per_sample"] if group["calls_per_sample"] > 1 else "")


def names_of(runs, single_only=False):
    return [name_of(group) for group in runs[0]["groups"] if not single_only or group["calls_per_sample"] == 1]


def groups_named(runs, name):
    return [next(group for group in run["groups"] if name_of(group) == name) for run in runs]


def median_of(runs, name, backend, what):
    """The median over the runs; None if one of them lacks the figure."""
    rows = [group["rows"].get(backend) for group in groups_named(runs, name)]
    if any(row is None for row in rows):
        return None
    cells = [dict(zip(FIGURES, row)) for row in rows]
    values = [value(cell, what) for cell in cells]
    return None if None in values else statistics.median(values)


def kinds_of(runs):
    return {each["name"]: each["kind"] for each in runs[0]["backends"]}


def of_kind(runs, *kinds):
    return [name for name, kind in kinds_of(runs).items() if kind in kinds]


def competitors(runs):
    return of_kind(runs, "subject", "general", "standard")


def best_of(runs, name, backends, what):
    """(figure, backend), or None."""
    values = [(median_of(runs, name, backend, what), backend) for backend in backends]
    return min([each for each in values if each[0] is not None], default=None)


def is_void(runs, name):
    return all(group["void"] for group in groups_named(runs, name))


COLUMNS = (FLOOR, *RESOURCES, *ALLOCATORS, *STANDARD, GLIBC)


def figures_table(runs, names, what):
    """The backends of COLUMNS, and the best malloc with its name; the best of all competitors in bold."""
    rows = []
    for name in names:
        best = None if is_void(runs, name) else best_of(runs, name, competitors(runs), what)
        malloc = best_of(runs, name, of_kind(runs, "general"), what)
        texts = []
        for backend in COLUMNS:
            text = figure(median_of(runs, name, backend, what))
            texts.append("**%s**" % text if best and backend == best[1] and text else text)
        text = "%s %s" % (figure(malloc[0]), malloc[1]) if malloc else ""
        texts.append("**%s**" % text if best and malloc and malloc[1] == best[1] else text)
        rows.append([name + (" (void)" if is_void(runs, name) else "")] + texts)
    return table(["", *[PLAIN.get(each, each) for each in COLUMNS], MALLOC], rows)


def whence(runs):
    rounds = {run["rounds"] for run in runs}
    samples = {group["samples"] for run in runs for group in run["groups"] if group["calls_per_sample"] == 1}
    return ("Medians over %d run%s of `flatline bench containers`, all kept, %s processes per cell and backend "
            "and %s single rounds from each run, on %s.\n\n" % (
                len(runs), "" if len(runs) == 1 else "s", " or ".join(map(str, sorted(rounds))),
                " or ".join("{:,}".format(each) for each in sorted(samples)), machine(runs[0])))


def medians_table(results):
    runs = results["containers"]
    return whence(runs) + figures_table(runs, names_of(runs), "p50")


def jitter_table(results):
    runs = results["containers"]
    return figures_table(runs, names_of(runs, single_only=True), "jitter")


def memory_table(results):
    """How often a round calls the heap over a malloc and over the other sources, and how many bytes each source
    holds."""
    runs, rows = results["containers"], []
    held = ("arena-resource", "pool-resource", "heap-resource", "std-monotonic", "std-pool")
    for name in names_of(runs, single_only=True):
        others = {backend: median_of(runs, name, backend, "heap_calls") for backend in competitors(runs)
                  if kinds_of(runs)[backend] != "general"}
        rows.append([name, "{:,.0f}".format(median_of(runs, name, GLIBC, "heap_calls")),
                     "{:,.0f}".format(max(others.values()))]
                    + ["{:,.0f}".format(median_of(runs, name, each, "held_bytes")) for each in (GLIBC, *held)])
    return table(["", "heap calls over a malloc", "over all others", "bytes asked for",
                  *["held by " + PLAIN[each] for each in held]], rows)


def ratios_of(runs, name, subject, rival, what):
    """The ratios of the runs in which the cell is not void and the two have a ratio."""
    key = "%s / %s" % (subject, rival)
    kept = [group["ratios"][key][RATIOS.index(what)] for group in groups_named(runs, name)
            if not group["void"] and key in group["ratios"]]
    return [ratio for ratio in kept if ratio is not None]


def ratio_text(ratios):
    return "%.2f (%.2f to %.2f)" % (statistics.median(ratios), min(ratios), max(ratios)) if ratios else ""


def ratios_table(results):
    runs = results["containers"]
    pairs = [("arena-resource", "std-monotonic", "p50"), ("arena-resource", "std-monotonic", "p999"),
             ("pool-resource", "std-pool", "p50"), ("pool-resource", MALLOC, "p50"), ("heap-resource", MALLOC, "p50"),
             ("inline-arena", FLOOR, "p50")]
    rows = [[name + (" (void)" if is_void(runs, name) else "")]
            + [ratio_text(ratios_of(runs, name, *pair)) for pair in pairs] for name in names_of(runs)]
    return table(["", *["%s / %s, %s" % (PLAIN[subject], PLAIN.get(rival, rival), TITLES[what])
                        for subject, rival, what in pairs]], rows)


def allocators_table(results):
    runs = results["containers"]
    rows = [[name + (" (void)" if is_void(runs, name) else "")]
            + [ratio_text(ratios_of(runs, name, allocator, resource, "p50"))
               for allocator, resource in zip(ALLOCATORS, RESOURCES)] for name in names_of(runs)]
    return table(["", *["%s / %s" % (PLAIN[allocator], PLAIN[resource])
                        for allocator, resource in zip(ALLOCATORS, RESOURCES)]], rows)


def missed_goals(runs):
    for subject, rival, figures, most, works in GOALS:
        for name in names_of(runs):
            if works is not None and name.split(",")[0] not in works:
                continue
            for what in figures:
                if what != "p50" and "," in name:
                    continue  # a block of rounds has no tail
                ratios = ratios_of(runs, name, subject, rival, what)
                if ratios and round(statistics.median(ratios), 2) > most + (MARGIN if most == 1 else 0):
                    yield "%s, %s: %s at %s of %s; the goal is at most %.2f" % (
                        name, TITLES[what], PLAIN[subject], ratio_text(ratios), PLAIN.get(rival, rival), most)
    backend, name = STEADIEST
    best = best_of(runs, name, competitors(runs), "jitter")
    if best and best[1] != backend and not is_void(runs, name):
        yield "%s, %s: %s has %s ns, %s %s; the goal is the lowest of all" % (
            name, TITLES["jitter"], PLAIN[backend], figure(median_of(runs, name, backend, "jitter")),
            PLAIN.get(best[1], best[1]), figure(best[0]))


def goals_list(results):
    """Every goal that is missed, and every cell that was void in all runs."""
    runs = results["containers"]
    lines = ["- %s: void in every run" % name for name in names_of(runs) if is_void(runs, name)]
    return "\n".join((lines + ["- " + each for each in missed_goals(runs)]) or ["- none"]) + "\n"


def choice_table(results):
    """The best of Flatline's for each workload: overall, if blocks must be freed one by one, and in jitter."""
    runs, rows = results["containers"], []
    single = [each for each in (*RESOURCES, *ALLOCATORS) if "pool" in each or "heap" in each]

    def told(found):
        return "%s, %s" % (PLAIN.get(found[1], found[1]), figure(found[0])) if found else ""

    for name in names_of(runs, single_only=True):
        ours = (*RESOURCES, *ALLOCATORS)
        rows.append([name + (" (void)" if is_void(runs, name) else "")]
                    + [told(best_of(runs, name, among, what)) for among, what in (
                        (RESOURCES, "p50"), (ours, "p50"), (single, "p50"), (ours, "jitter"),
                        (STANDARD, "p50"), (of_kind(runs, "general"), "p50"))])
    return table(["", "fastest resource", "fastest with flat::allocator", "fastest that frees one by one",
                  "least P99.9 − P50", "fastest of std::pmr", "fastest malloc"], rows)


TABLES = {
    "containers choice": choice_table,
    "containers medians": medians_table,
    "containers jitter": jitter_table,
    "containers memory": memory_table,
    "containers ratios": ratios_table,
    "containers allocators": allocators_table,
    "containers goals": goals_list,
}
