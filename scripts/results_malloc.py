"""The results of the malloc compared with others: what is kept of its runs of `flatline bench`, and the tables made
from them."""
import math
import statistics

from results_common import figure, machine, ratios_between, short, spread, table

SUITES = ("hot", "fifo", "churn", "mixed", "anysize")
OTHER_SUITES = ("order", "throughput", "drift", "startup", "memory", "arrivals")  # what one full run shows of all
OTHER_RUNS = 1
POLICIES = {"flatline-malloc": "balanced", "flatline-malloc-latency": "latency", "flatline-malloc-memory": "memory"}
FLOOR = "floor"
BACKENDS = (*POLICIES, FLOOR, "glibc", "jemalloc", "tcmalloc", "mimalloc", "snmalloc", "rpmalloc", "tbb")
PROCESSES = 3  # of each run: with ten runs thirty for each cell and backend
FIGURES = ("p50", "p999", "over_1us_ppm", "over_10us_ppm")
RATIOS = ("p50", "p999")
TITLES = {"p50": "P50", "p999": "P99.9"}
# The goals, set before it was built: in blocks of calls, the greatest share of the best other malloc's.
GOALS = {"p50": 1.10, "p999": 1.00}
LEAST_STALLS = "flatline-malloc-latency"  # in single calls no other has fewer of over 1 us
SURE = 0.9                                # of the runs: by chance one time in a hundred
FEWEST_FOR_A_TAIL = 10000                 # samples

# In `flatline bench programs`: (policy, greatest share of the fastest's user time, greatest share of the smallest's
# peak).
BALANCED = "flatline-malloc"
PROGRAM_GOALS = ((BALANCED, 1.03, 1.10), ("flatline-malloc-memory", 1.10, 1.00),
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
    """What is kept of a cell: the paired ratios of each policy's P50 and P99.9 to each other backend's."""
    by_name = {cell["backend"]: cell for cell in cells}
    return {policy: {name: ratios_between(by_name[policy], cell, RATIOS)
                     for name, cell in by_name.items() if name not in POLICIES}
            for policy in POLICIES if policy in by_name}


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


def best_other(runs, name, what):
    """The same malloc for all runs. The best of each run would be the luckiest of many, which is not one malloc."""
    return min(others(runs[0]), key=lambda each: median_of(runs, name, each, what))


def ratios_to_best(runs, name, policy, what):
    """The paired ratio in each run."""
    best = best_other(runs, name, what)
    found = [group_named(run, name)["ratios"][policy][best][RATIOS.index(what)] for run in runs]
    return [ratio for ratio in found if ratio is not None]


def ratio_text(runs, name, policy, what):
    return "%s of %s" % (spread(ratios_to_best(runs, name, policy, what)), short(best_other(runs, name, what)))


def head(runs):
    titles = {each["name"]: each["title"] for each in runs[0]["backends"]}
    return ["", *[POLICIES.get(each, titles[each]) for each in columns(runs)]]


def policies(runs):
    """The policies that were measured."""
    return [each for each in POLICIES if each in columns(runs)]


def columns(runs):
    return [each["name"] for each in runs[0]["backends"]]


def about(runs):
    return ("%d runs of `flatline bench %s`, all kept, %d processes per cell and backend in each, on %s."
            % (len(runs), " ".join(SUITES), runs[0]["rounds"], machine(runs[0])))


def medians_table(what):
    def made(results):
        runs, rows = results["malloc"], []
        for group in runs[0]["groups"]:
            if not is_of_blocks(group) or (what == "p999" and not has_tail(group)):
                continue
            name = name_of(group)
            rows.append([name, *[figure(median_of(runs, name, each, what)) for each in columns(runs)],
                         *[ratio_text(runs, name, policy, what) for policy in policies(runs)]])
        return ("%s in blocks of calls, in nanoseconds per pair of malloc and free. Medians over %s Last columns: the "
                "ratio to the other malloc with the best median, computed in each run: median, smallest and largest.\n\n"
                % (TITLES[what], about(runs))
                + table(head(runs) + ["%s / best other" % POLICIES[policy] for policy in policies(runs)], rows))
    return made


def excess(runs, name, backend):
    """Single calls of over 1 us in a million, minus those of empty calls in the same run."""
    return statistics.median(value(group_named(run, name), backend, "over_1us_ppm")
                             - value(group_named(run, name), FLOOR, "over_1us_ppm") for run in runs)


def runs_with_fewer_stalls(runs, name, backend, than):
    """A machine's stalls come in bursts, so counts are compared run by run."""
    groups = [group_named(run, name) for run in runs]
    return sum(value(group, backend, "over_1us_ppm") < value(group, than, "over_1us_ppm") for group in groups)


def single_names(runs):
    return [name_of(group) for group in runs[0]["groups"] if not is_of_blocks(group)]


def stalls_table(results):
    runs = results["malloc"]
    shown = [each for each in columns(runs) if each != FLOOR]
    rows = [[name, *["%.0f" % excess(runs, name, each) for each in shown]] for name in single_names(runs)]
    titles = dict(zip(columns(runs), head(runs)[1:]))
    one = 1e6 / group_named(runs[0], single_names(runs)[0])["samples"]
    return ("Single calls over 1 µs in a million, minus those of empty calls. One call in a run counts as %.0f. Medians "
            "over %s\n\n" % (one, about(runs))
            + table(["", *[titles[each] for each in shown]], rows))


def goals_list(results):
    """Every goal that is missed."""
    runs, lines = results["malloc"], []
    for what, most in GOALS.items():
        for group in runs[0]["groups"]:
            if not is_of_blocks(group) or (what == "p999" and not has_tail(group)):
                continue
            name = name_of(group)
            ratios = ratios_to_best(runs, name, "flatline-malloc", what)
            if ratios and round(statistics.median(ratios), 2) > most:
                lines.append("- %s, %s: %s; the goal is at most %.2f"
                             % (name, TITLES[what], ratio_text(runs, name, "flatline-malloc", what), most))
    for name in single_names(runs):
        fewer = {each: runs_with_fewer_stalls(runs, name, each, LEAST_STALLS) for each in others(runs[0])}
        surely = [each for each, count in fewer.items() if count >= SURE * len(runs)]
        if surely:
            least = min(surely, key=lambda each: excess(runs, name, each))
            lines.append("- %s, over 1 µs: %.0f of a million above the floor with `latency`, %.0f with %s, which has "
                         "fewer in %d runs of %d; the goal is that no other malloc has fewer"
                         % (name, excess(runs, name, LEAST_STALLS), excess(runs, name, least), short(least),
                            fewer[least], len(runs)))
    return "\n".join(lines or ["- none"]) + "\n"


def geometric_mean(values):
    return math.exp(statistics.fmean(math.log(each) for each in values))


def others_of(programs):
    """The other mallocs that all programs ran under."""
    ran = [{row["backend"] for row in program["rows"]} for program in programs]
    return sorted(name for name in set.intersection(*ran) if not name.startswith("flatline-"))


def row_of(program, backend):
    return next((row for row in program["rows"] if row["backend"] == backend), None)


def mean_of(programs, backend, what):
    return geometric_mean(row_of(program, backend)[what] for program in programs)


def dominators(program, policy, surely):
    """The mallocs that are faster and smaller than the policy: by their medians or, if `surely`, each of their
    processes than each of the policy's."""
    mine = row_of(program, policy)
    bounds = (("wall_high", "wall_low"), ("peak_high", "peak_low")) if surely else (
        ("wall_s", "wall_s"), ("peak_rss_kib", "peak_rss_kib"))
    return [row["backend"] for row in program["rows"] if not row["backend"].startswith("flatline-")
            and all(row[theirs] < mine[ours] for theirs, ours in bounds)]


def programs_of(results):
    return list({each["name"]: each for run in results["programs"] for each in run["programs"]}.values())


def programs_table(results):
    """The means of each malloc over all programs."""
    programs, run = programs_of(results), results["programs"][-1]
    if any(row_of(program, policy) is None for program in programs for policy, *_ in PROGRAM_GOALS):
        return "- not measured yet\n"
    names = [policy for policy, *_ in PROGRAM_GOALS] + others_of(programs)
    means = {name: [mean_of(programs, name, what) / mean_of(programs, "glibc", what)
                    for what in ("wall_s", "user_s", "peak_rss_kib")] for name in names}
    rows = [["**%s**" % name if name.startswith("flatline-") else short(name),
             *["%.2f" % mean for mean in means[name]]]
            for name in sorted(names, key=lambda name: (means[name][1], name))]
    return ("Geometric means over %d programs, relative to glibc: %d processes of each program and malloc, on %s.\n\n"
            % (len(programs), run["rounds"], machine(run))
            + table(["", "wall time", "user time", "peak memory"], rows))


def program_goals_list(results):
    """Every goal of the programs that is missed, or was not measured."""
    programs = programs_of(results)
    lines = []
    for policy, *bounds in PROGRAM_GOALS:
        if any(row_of(program, policy) is None for program in programs):
            lines.append("- `%s`: not measured yet" % policy)
            continue
        for what, title, most in zip(("user_s", "peak_rss_kib"), ("user time", "peak memory"), bounds):
            best = min(others_of(programs), key=lambda each: mean_of(programs, each, what))
            ratio = mean_of(programs, policy, what) / mean_of(programs, best, what)
            if most is not None and round(ratio, 3) > most:
                lines.append("- `%s`, %s: %.3f of %s in the geometric mean of all programs; the goal is at most %.2f"
                             % (policy, title, ratio, short(best), most))
        if policy != BALANCED:
            continue
        for program in programs:
            for surely, meaning in ((True, "the goal is that none is"),
                                    (False, "by medians, not beyond the least and the greatest process")):
                found = dominators(program, policy, surely)
                if found:
                    lines.append("- `%s` with %s: %s faster and smaller; %s"
                                 % (policy, program["name"], " and ".join(map(short, found)), meaning))
                    break
        on_frontier = sum(not dominators(program, policy, False) for program in programs)
        if on_frontier < ON_THE_FRONTIER:
            lines.append("- `%s` is on the frontier in %d programs; the goal is %d"
                         % (policy, on_frontier, ON_THE_FRONTIER))
    return "\n".join(lines or ["- none"]) + "\n"


TABLES = {"malloc": medians_table("p50"), "malloc tails": medians_table("p999"), "malloc stalls": stalls_table,
          "malloc goals": goals_list, "malloc programs": programs_table, "malloc program goals": program_goals_list}
