"""The results of `flatline bench engine`: what is kept of its runs, and the tables that are made from them."""
import math
import statistics

from results_common import figure, machine, ratios_between, size_text, spread, table

FIGURES = ("p50", "p999", "max", "over_10us_ppm")
RATIOS = ("p50", "p999")
TITLES = {"p50": "P50", "p999": "P99.9"}
SUBJECTS, AGAIN = ("engine", "engine-grant"), "engine-again"
RING, FUTEX, TBB = "ring", "futex", "tbb-arena"
GENERAL = ("mutex-queue", "concurrentqueue", TBB)
COLUMNS = (*SUBJECTS, RING, FUTEX, *GENERAL, "readerwriterqueue", "boost-spsc", "remote-free")
COMPETE = (*SUBJECTS, *GENERAL, "readerwriterqueue", "boost-spsc")
PLAIN = {"engine-grant": "by grant", RING: "bare ring", FUTEX: "bare futex", "mutex-queue": "mutex",
         "concurrentqueue": "ConcurrentQueue", TBB: "oneTBB", "readerwriterqueue": "ReaderWriterQueue",
         "boost-spsc": "spsc_queue", "remote-free": "remote free"}
PROCESSES = 2  # for each cell and queue in each of the runs for the reference results; a run takes some 11 minutes
NOT_MEASURED = "Not measured yet: no run of `flatline bench engine` is recorded.\n"

# The goals, set before the engine was built: orders of cells, figure, rival (BEST: the best general queue; EACH: every
# one of them), greatest ratio to it. Of a rate it is the least. Medians over the runs are compared, and of P99.9 the
# upper end of the interval of that median.
BEST, EACH = "the best general queue", "each general queue"
GOALS = (
    (("busy",), "p50", RING, 1.25), (("busy",), "p50", TBB, 0.50), (("saturated",), "p50", BEST, 1.00),
    (("busy",), "p999", RING, 1.25), (("busy",), "p999", EACH, 1.05), (("sleeping",), "p50", FUTEX, 1.10),
)
MISTAKEN = 0.05  # how often the median is outside of its interval, at most
OVERLOADS = ("overload", "overload-minute")
MOST_TAGGED, LEAST_DONE, MOST_BOUND = 0.01, 0.95, 3.0  # shares of tasks and of the capacity; of the observed P99.9


# ---- what is kept -------------------------------------------------------------------------------------------------

def is_of_engine(cell):
    return cell["suite"] == "engine"


def kept_apart(cells):
    """What is kept of a cell in addition to its rows: the paired ratios of Flatline's rows to all others, and the
    counts of each process."""
    by_name = {cell["backend"]: cell for cell in cells}
    return {"to": {subject: {other: ratios_between(by_name[subject], by_name[other], RATIOS)
                             for other in by_name if other != subject}
                   for subject in SUBJECTS if subject in by_name},
            "counts": {cell["backend"]: cell["counts"] for cell in cells}}


# ---- what the tables say ------------------------------------------------------------------------------------------

def is_rate(group):
    return group["unit"] == "Mtasks/s"


def name_of(group):
    return group["order"] + size_text(group) + (", Mtasks/s" if is_rate(group) else "")


def names_of(runs, choose=lambda group: True):
    return [name_of(group) for group in runs[0]["groups"] if choose(group)]


def groups_named(runs, name):
    return [next(group for group in run["groups"] if name_of(group) == name) for run in runs]


def is_void(runs, name):
    return all(group["void"] for group in groups_named(runs, name))


def median_of(runs, name, backend, what):
    """The median over the runs; None if the queue is not in the cell."""
    rows = [group["rows"].get(backend) for group in groups_named(runs, name)]
    return None if None in rows else statistics.median(row[FIGURES.index(what)] for row in rows)


def best_of(group, backends, what):
    """The queue of the best figure in the cell of one run; None if none of them is there."""
    pick = max if is_rate(group) else min
    return pick((each for each in backends if each in group["rows"]),
                key=lambda each: group["rows"][each][FIGURES.index(what)], default=None)


def ratios_to(runs, name, subject, rival, what):
    """A ratio for each run in which the cell is not void and the two are there. `rival`: a queue, or BEST."""
    ratios = []
    for group in groups_named(runs, name):
        other = best_of(group, GENERAL, what) if rival == BEST else rival
        to = group["ratios"]["to"].get(subject, {}).get(other)
        if to is not None and not group["void"] and to[RATIOS.index(what)] is not None:
            ratios.append(to[RATIOS.index(what)])
    return ratios


def floor_of(runs, name):
    return RING if RING in groups_named(runs, name)[0]["rows"] else FUTEX


def figures_table(runs, names, what):
    columns = [each for each in COLUMNS if any(each in groups_named(runs, name)[0]["rows"] for name in names)]
    rows = []
    for name in names:
        values = {each: median_of(runs, name, each, what) for each in columns}
        pick = max if is_rate(groups_named(runs, name)[0]) else min
        best = None if is_void(runs, name) else pick((values[each] for each in COMPETE if values.get(each) is not None),
                                                     default=None)
        texts = [("**%s**" if each in COMPETE and values[each] == best else "%s") % figure(values[each])
                 if values[each] is not None else "" for each in columns]
        rows.append([name + (" (void)" if is_void(runs, name) else "")] + texts
                    + [spread(ratios_to(runs, name, "engine", floor_of(runs, name), what)),
                       spread(ratios_to(runs, name, "engine", BEST, what))])
    return table(["", *[PLAIN.get(each, each) for each in columns], "engine / floor", "engine / best general"], rows)


def whence(runs):
    return ("Medians over %d run%s of `flatline bench engine`, all kept, %d processes per cell and queue, on %s. "
            "Nanoseconds, and for `saturated` million tasks a second.\n\n" % (
                len(runs), "" if len(runs) == 1 else "s", runs[0]["rounds"], machine(runs[0])))


def measured(made):
    """A table that says so if there is no run."""
    return lambda results: made(results["engine"]) if "engine" in results else NOT_MEASURED


def medians_table(runs):
    return whence(runs) + figures_table(runs, names_of(runs), "p50")


def ratios_table(runs):
    names = names_of(runs, lambda group: group["order"] in ("busy", "sleeping", "saturated", "poisson-95"))
    return "Medians (least to greatest) of the ratios in %d runs, on %s.\n\n" % (len(runs), machine(runs[0])) + table(
        ["", "to the bare ring or futex", "to the best general queue"],
        [[name, spread(ratios_to(runs, name, "engine", floor_of(runs, name), "p50")),
          spread(ratios_to(runs, name, "engine", BEST, "p50"))] for name in names])


def tails_table(runs):
    return whence(runs) + figures_table(
        runs, names_of(runs, lambda group: group["calls_per_sample"] == 1), "p999")


def counts_of(runs, name, backend, what):
    """Of every process of every run."""
    return [count for group in groups_named(runs, name)
            for count in group["ratios"]["counts"].get(backend, {}).get(what, [])]


def share_of(runs, name, backend, part, whole):
    parts, wholes = (sum(counts_of(runs, name, backend, what)) for what in (part, whole))
    return parts / wholes if wholes else 0.0


def share_of_samples(runs, name, backend, what):
    samples = sum(group["samples"] for group in groups_named(runs, name))
    return sum(counts_of(runs, name, backend, what)) / samples if samples else 0.0


def tagged_share(runs, name, backend):
    return share_of_samples(runs, name, backend, "tagged")


def overload_names(runs):
    return names_of(runs, lambda group: group["order"] in OVERLOADS)


def overload_table(runs):
    rows = []
    for name in overload_names(runs):
        for backend in COLUMNS:
            if not counts_of(runs, name, backend, "offered"):
                continue
            rows.append([
                "%s, %s" % (name, PLAIN.get(backend, backend)),
                "%.0f" % (statistics.median(counts_of(runs, name, backend, "capacity a second")) / 1000),
                "%.1f" % (100 * share_of(runs, name, backend, "done a second", "capacity a second")),
                "%.1f" % (100 * share_of(runs, name, backend, "refused", "offered")),
                "%d" % sum(counts_of(runs, name, backend, "refused early")),
                "%d" % (max(counts_of(runs, name, backend, "bytes grown")) / 1024),
                figure(median_of(runs, name, backend, "p999") / 1000),
                figure(max(counts_of(runs, name, backend, "longest ns")) / 1000),
                figure(max(counts_of(runs, name, backend, "bound ns")) / 1000) if backend in SUBJECTS else "",
                "%d" % sum(counts_of(runs, name, backend, "above the bound")),
                "%.2f" % (100 * tagged_share(runs, name, backend)),
                "%.2f" % (100 * share_of_samples(runs, name, backend, "tagged by gaps"))])
    return whence(runs) + table(
        ["", "capacity, ktasks/s", "done, % of it", "refused, %", "refused early", "KiB grown", "P99.9, µs",
         "longest, µs", "bound, µs", "above it", "tagged, %", "by gaps, %"], rows)


def upper_end(values):
    """Of the interval of the median whose ends are two of the values, as many from the least as from the greatest. The
    median is outside with a chance of at most MISTAKEN, whatever the distribution; of fewer than six values it is not,
    and the end is the greatest one."""
    ordered, below, outside = sorted(values), 0, 2 / 2 ** len(values)
    while 2 * (below + 1) < len(values) and outside <= MISTAKEN:
        below += 1
        outside += 2 * math.comb(len(values), below) / 2 ** len(values)
    return ordered[-max(below, 1)]


def resolution(runs, name, what):
    """How far two copies of the engine are apart in the cell: what no ratio to another queue can resolve."""
    ratios = ratios_to(runs, name, "engine", AGAIN, what)
    return "; its two copies are at %s of each other" % spread(ratios) if ratios else ""


def missed_ratios(runs):
    for orders, what, rival, most in GOALS:
        for name in names_of(runs, lambda group: group["order"] in orders):
            for other in GENERAL if rival == EACH else (rival,):
                ratios = ratios_to(runs, name, "engine", other, what)
                rate = is_rate(groups_named(runs, name)[0])
                if not ratios:
                    continue
                judged = round(upper_end(ratios) if what == "p999" else statistics.median(ratios), 2)
                if judged < most if rate else judged > most:
                    yield "%s, %s: the engine at %s of %s; the goal is at %s %.2f%s%s" % (
                        name, TITLES[what], spread(ratios), PLAIN.get(other, other), "least" if rate else "most", most,
                        ", and the interval of the median ends at %.2f" % judged if what == "p999" else "",
                        resolution(runs, name, what))


def missed_overload(runs):
    for name in overload_names(runs):
        for backend in SUBJECTS:
            if not counts_of(runs, name, backend, "offered"):
                continue
            where = "%s, %s" % (name, PLAIN.get(backend, backend))
            grown = max(counts_of(runs, name, backend, "bytes grown"))
            done = share_of(runs, name, backend, "done a second", "capacity a second")
            above, early = (sum(counts_of(runs, name, backend, what)) for what in ("above the bound", "refused early"))
            bound = max(counts_of(runs, name, backend, "bound ns")) / median_of(runs, name, backend, "p999")
            if grown:
                yield "%s: resident memory grows by %d bytes after the first second; the goal is 0" % (where, grown)
            if above:
                yield "%s: %d tasks are above the bound; the goal is 0" % (where, above)
            if early:
                yield "%s: %d tasks are refused before the capacity is reached; the goal is 0" % (where, early)
            if done < LEAST_DONE:
                yield "%s: %.3f of the capacity is done; the goal is at least %.2f" % (where, done, LEAST_DONE)
            if tagged_share(runs, name, backend) >= MOST_TAGGED:
                yield "%s: %.2f %% of tasks are tagged; the goal is under %.0f %%" % (
                    where, 100 * tagged_share(runs, name, backend), 100 * MOST_TAGGED)
            if bound > MOST_BOUND:
                yield "%s: the bound is %.2f of the P99.9; the goal is at most %.0f" % (where, bound, MOST_BOUND)


def goals_list(runs):
    """Every goal that is missed, and every cell that was void in all runs."""
    lines = ["- %s: void in every run" % name for name in names_of(runs) if is_void(runs, name)]
    return "\n".join((lines + ["- " + each for each in (*missed_ratios(runs), *missed_overload(runs))])
                     or ["- none"]) + "\n"


TABLES = {
    "engine": measured(medians_table),
    "engine ratios": measured(ratios_table),
    "engine tails": measured(tails_table),
    "engine overload": measured(overload_table),
    "engine goals": measured(goals_list),
}
