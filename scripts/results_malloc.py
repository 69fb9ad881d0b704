"""The results of the malloc beside others: what is kept of its runs of `flatline bench`, and the tables made of
them."""
import collections
import math
import statistics

from results_common import figure, machine, side_by_side, spread, table

SUITES = ("hot", "fifo", "churn", "mixed", "anysize")
POLICIES = {"flatline-malloc": "balanced", "flatline-malloc-latency": "latency"}
FLOOR = "floor"
BACKENDS = (*POLICIES, FLOOR, "glibc", "jemalloc", "tcmalloc", "mimalloc", "snmalloc", "rpmalloc", "tbb")
PROCESSES = 3  # of each run: with ten runs thirty for each cell and backend
FIGURES = ("p50", "p999", "over_1us_ppm", "over_10us_ppm")
RATIOS = ("p50", "p999")
TITLES = {"p50": "P50", "p999": "P99.9"}
# What was to be reached, set before it was built: in blocks of calls at most so much of the best other malloc's.
GOALS = {"p50": 1.10, "p999": 1.00}
LEAST_STALLS = "flatline-malloc-latency"  # in single calls no other has fewer of over 1 us, less the floor's
FEWEST_FOR_A_TAIL = 10000                 # samples

# In `flatline bench programs`: (policy, of the fastest's user time at most, of the smallest's peak at most).
PROGRAM_GOALS = (("flatline-malloc", 1.03, 1.10), ("flatline-malloc-memory", 1.10, 1.00),
                 ("flatline-malloc-latency", 1.02, None))
ON_THE_FRONTIER = 6  # programs of eight, of `balanced`


# ---- what is kept -------------------------------------------------------------------------------------------------

def is_of_malloc(cell):
    return cell["suite"] in SUITES


def is_timed(cell):
    return cell["unit"] == "ns"


def has_policies(cells):
    return set(POLICIES) <= {cell["backend"] for cell in cells}


def kept_ratios(cells):
    """Of a cell: each policy's P50 and P99.9 to each other backend's, side by side."""
    by_name = {cell["backend"]: cell for cell in cells}
    return {policy: {name: [side_by_side(by_name[policy]["process_" + what], cell["process_" + what])
                            for what in RATIOS]
                     for name, cell in by_name.items() if name not in POLICIES}
            for policy in POLICIES}


# ---- what the tables say ------------------------------------------------------------------------------------------

def size_text(size):
    return " %d KiB" % (size // 1024) if size >= 1024 else " %d B" % size if size else ""


def name_of(group):
    text = group["suite"] + size_text(group["size"]) + (", " + group["order"] if group["order"] else "")
    return text if group["operation"] == "pair" else "%s, %s" % (text, group["operation"])


def group_named(run, name):
    return next(group for group in run["groups"] if name_of(group) == name)


def is_of_blocks(group):
    return group["calls_per_sample"] > 1


def has_tail(group):
    return group["samples"] >= FEWEST_FOR_A_TAIL


def value(group, backend, what):
    return group["rows"][backend][FIGURES.index(what)]


def median_of(runs, name, backend, what):
    return statistics.median(value(group_named(run, name), backend, what) for run in runs)


def others(run):
    return [each["name"] for each in run["backends"] if each["kind"] == "general"]


def ratios_to_best(runs, name, policy, what):
    """For each run: to the best other malloc of that run, and its name."""
    found = []
    for run in runs:
        group = group_named(run, name)
        best = min(others(run), key=lambda each: value(group, each, what))
        ratio = group["ratios"][policy][best][RATIOS.index(what)]
        if ratio is not None:
            found.append((ratio, best))
    return found


def ratios_text(ratios):
    best = collections.Counter(name for _, name in ratios).most_common(1)[0][0]
    return "%s of %s" % (spread([ratio for ratio, _ in ratios]), best)


def head(runs):
    titles = {each["name"]: each["title"] for each in runs[0]["backends"]}
    return ["", *[POLICIES.get(each, titles[each]) for each in columns(runs)]]


def columns(runs):
    return [each["name"] for each in runs[0]["backends"]]


def about(runs):
    return ("%d runs of `flatline bench %s`, all kept, %d processes for each cell and backend in each, on %s."
            % (len(runs), " ".join(SUITES), runs[0]["rounds"], machine(runs[0])))


def medians_table(what):
    def made(results):
        runs, rows = results["malloc"], []
        for group in runs[0]["groups"]:
            if not is_of_blocks(group) or (what == "p999" and not has_tail(group)):
                continue
            name = name_of(group)
            rows.append([name, *[figure(median_of(runs, name, each, what)) for each in columns(runs)],
                         *[ratios_text(ratios_to_best(runs, name, policy, what)) for policy in POLICIES]])
        return ("%s in blocks of calls, ns a pair of malloc and free. Medians over %s Last columns: to the best other "
                "in the same run, with the least and the greatest run's.\n\n" % (TITLES[what], about(runs))
                + table(head(runs) + ["%s / best other" % policy for policy in POLICIES.values()], rows))
    return made


def excess(runs, name, backend):
    """Single calls of over 1 us in a million, less those of empty ones in the same run."""
    return statistics.median(value(group_named(run, name), backend, "over_1us_ppm")
                             - value(group_named(run, name), FLOOR, "over_1us_ppm") for run in runs)


def single_names(runs):
    return [name_of(group) for group in runs[0]["groups"] if not is_of_blocks(group)]


def stalls_table(results):
    runs = results["malloc"]
    shown = [each for each in columns(runs) if each != FLOOR]
    rows = [[name, *["%.0f" % excess(runs, name, each) for each in shown]] for name in single_names(runs)]
    titles = dict(zip(columns(runs), head(runs)[1:]))
    return ("Of a million single calls those of over 1 µs, less those of empty calls. Medians over %s\n\n" % about(runs)
            + table(["", *[titles[each] for each in shown]], rows))


def goals_list(results):
    """Every goal that is missed."""
    runs, lines = results["malloc"], []
    for what, most in GOALS.items():
        for group in runs[0]["groups"]:
            if not is_of_blocks(group) or (what == "p999" and not has_tail(group)):
                continue
            ratios = ratios_to_best(runs, name_of(group), "flatline-malloc", what)
            if ratios and round(statistics.median(ratio for ratio, _ in ratios), 2) > most:
                lines.append("- %s, %s: %s; the goal is at most %.2f" % (name_of(group), TITLES[what],
                                                                        ratios_text(ratios), most))
    for name in single_names(runs):
        stalls = {each: excess(runs, name, each) for each in (LEAST_STALLS, *others(runs[0]))}
        least = min(stalls, key=stalls.get)
        if stalls[LEAST_STALLS] > stalls[least]:
            lines.append("- %s, over 1 µs: %.0f of a million above the floor with `latency`, %.0f with %s; the goal is "
                         "the least of all" % (name, stalls[LEAST_STALLS], stalls[least], least))
    return "\n".join(lines or ["- none"]) + "\n"


def geometric_mean(values):
    return math.exp(statistics.fmean(math.log(each) for each in values))


def to_the_best(programs, policy, what):
    """The geometric mean over the programs, to the best other malloc of each; None: it was not measured."""
    ratios = []
    for program in programs:
        rows = {row["backend"]: row[what] for row in program["rows"]}
        if policy not in rows:
            return None
        ratios.append(rows[policy] / min(figure for name, figure in rows.items() if not name.startswith("flatline-")))
    return geometric_mean(ratios)


def program_goals_list(results):
    """Every goal of the programs that is missed, or was not measured."""
    programs = list({each["name"]: each for run in results["programs"] for each in run["programs"]}.values())
    lines = []
    for policy, *bounds in PROGRAM_GOALS:
        for what, title, most in zip(("user_s", "peak_rss_kib"), ("user time, of the fastest", "peak, of the smallest"),
                                     bounds):
            if most is None:
                continue
            mean = to_the_best(programs, policy, what)
            if mean is None:
                lines.append("- %s, %s: not measured yet" % (policy, title))
            elif round(mean, 2) > most:
                lines.append("- %s, %s: %.2f in the geometric mean; the goal is at most %.2f" % (policy, title, mean,
                                                                                                most))
    on_frontier = sum(row["frontier"] for program in programs for row in program["rows"]
                      if row["backend"] == "flatline-malloc")
    if any(row["backend"] == "flatline-malloc" for program in programs for row in program["rows"]) \
            and on_frontier < ON_THE_FRONTIER:
        lines.append("- flatline-malloc is on the frontier in %d programs; the goal is %d" % (on_frontier,
                                                                                            ON_THE_FRONTIER))
    return "\n".join(lines or ["- none"]) + "\n"


def where_measured(made):
    return lambda results: made(results) if "malloc" in results else "- not measured yet\n"


TABLES = {"malloc": where_measured(medians_table("p50")), "malloc tails": where_measured(medians_table("p999")),
          "malloc stalls": where_measured(stalls_table), "malloc goals": where_measured(goals_list),
          "malloc program goals": program_goals_list}
