"""The results of `flatline bench threads pipeline` for the pools for each core: what is kept of its runs, and the
tables made from them."""
import collections
import statistics

from results_common import (figure, machine, ratios_between, short, spread, table, threads_text,
                            together_text)

SUITES = ("threads", "pipeline")
COMPARED = ("p50", "p999")
FIGURES = (*COMPARED, "peak_bytes")
TITLES = {"p50": "P50", "p999": "P99.9"}
SUBJECT, POOL, FLOOR = "flatline-percore", "flatline-pool", "floor"
# The goals with two threads, set before it was built. Rates are at least this share of the best general-purpose
# allocator's.
RATE_GOALS = {"threads, producer-consumer": 1.00, "threads, larson": 0.95, "pipeline": 0.95}
OWN_SHARD = 1.05     # calls on one's own shard take at most this share of the pool's time
REMOTE_TO_LOCAL = 1.5  # a remote free's P50 in blocks of calls, at most this multiple of a local free's


# ---- what is kept -------------------------------------------------------------------------------------------------

def is_of_threads(cell):
    return cell["suite"] in SUITES


def kept_ratios(cells):
    """What is kept of a cell: the paired ratios of the subject's P50 and P99.9 to each other backend's."""
    by_name = {cell["backend"]: cell for cell in cells}
    own = by_name[SUBJECT]
    return {name: ratios_between(own, cell, COMPARED) for name, cell in by_name.items() if name != SUBJECT}


# ---- what the tables say ------------------------------------------------------------------------------------------

def work_of(group):
    return group["suite"] + (", " + group["order"] if group["order"] else "") + threads_text(group)


def name_of(group):
    if group["unit"] == "Mops/s":
        return work_of(group) + ", Mops/s"
    return "%s, %s%s" % (work_of(group), group["operation"], together_text(group))


def is_rate(group):
    return group["unit"] == "Mops/s"


def group_named(run, name):
    return next((group for group in run["groups"] if name_of(group) == name), None)


def sound(runs, name):
    """The groups of that name that are not void."""
    groups = [(run, group_named(run, name)) for run in runs]
    return [(run, group) for run, group in groups if group is not None and not group["void"]]


def general(run, group):
    return [each["name"] for each in run["backends"] if each["kind"] == "general" and each["name"] in group["rows"]]


def value(group, backend, what):
    return group["rows"][backend][FIGURES.index(what)]


def median_of(runs, name, backend, what):
    values = [value(group_named(run, name), backend, what) for run in runs
              if backend in group_named(run, name)["rows"]]
    return statistics.median(values) if values else None


def ratios_to(runs, name, what, choose):
    """For each run in which the cell is not void: the ratio of the subject's figure to that of the backend that
    `choose` names, and that name."""
    found = []
    for run, group in sound(runs, name):
        backend = choose(run, group)
        if backend in group["ratios"] and group["ratios"][backend][COMPARED.index(what)] is not None:
            found.append((group["ratios"][backend][COMPARED.index(what)], backend))
    return found


def best(what):
    def choose(run, group):
        pick = max if is_rate(group) else min
        return pick(general(run, group), key=lambda name: value(group, name, what))
    return choose


def text_of(ratios):
    return spread([ratio for ratio, _ in ratios], without="void")


def most_often(ratios):
    name = collections.Counter(backend for _, backend in ratios).most_common(1)[0][0]
    return short(name)


def medians_table(what):
    def made(results):
        runs = results["percore"]
        columns = [each["name"] for each in runs[0]["backends"] if each["kind"] != "again"]
        groups = [group for group in runs[0]["groups"] if what == "p50" or not is_rate(group)]
        rows = []
        for group in groups:
            name = name_of(group)
            ratios = ratios_to(runs, name, what, best(what))
            rows.append([name] + [figure(median_of(runs, name, each, what)) for each in columns]
                        + [text_of(ratios) + (" of " + most_often(ratios) if ratios else "")])
        return ("%s: medians over %d runs of `flatline bench threads pipeline`, all kept, %d processes per cell and "
                "backend, two threads%s, on %s. Rates are in millions of operations a second; a pair or a message is two, and "
                "more is better. Other figures are nanoseconds for each call, including the cost of reading the clock. "
                "Last column: the ratio in each run: median, smallest and largest.\n\n" % (TITLES[what], len(runs), runs[0]["rounds"],
                                            " where no number is named" if any(map(threads_text, groups)) else "",
                                            machine(runs[0]))
                + table([""] + [short(each) for each in columns] + ["per core / best malloc"], rows))
    return made


def excess(run, group, backend):
    """The P99.9 minus that of the empty calls in the same run."""
    return value(group, backend, "p999") - value(group, FLOOR, "p999")


def goal_groups(run):
    return [group for group in run["groups"] if not threads_text(group)]


def remote_groups(runs):
    return [group for group in goal_groups(runs[0]) if group["operation"] == "remote free"]


def goals_list(results):
    """Every goal that is missed."""
    runs, lines = results["percore"], []
    for work, least in RATE_GOALS.items():
        ratios = ratios_to(runs, work + ", Mops/s", "p50", best("p50"))
        if not ratios or round(statistics.median(ratio for ratio, _ in ratios), 2) < least:
            lines.append("- %s: %s of %s; the goal is at least %.2f" % (work, text_of(ratios),
                                                                       most_often(ratios) if ratios else "the best", least))
    for group in goal_groups(runs[0]):
        if POOL not in group["rows"]:
            continue
        ratios = ratios_to(runs, name_of(group), "p50", lambda run, group: POOL)
        middle = statistics.median(ratio for ratio, _ in ratios) if ratios else None
        if middle is None or round(1 / middle if is_rate(group) else middle, 2) > OWN_SHARD:
            lines.append("- %s: %s of the pool; the goal is within 5 %%" % (name_of(group), text_of(ratios)))
    for group in remote_groups(runs):
        if together_text(group):
            remote = median_of(runs, name_of(group), SUBJECT, "p50")
            local = median_of(runs, "%s, local free%s" % (
                "pipeline" if group["suite"] == "pipeline" else "threads, independent", together_text(group)), SUBJECT, "p50")
            if remote > REMOTE_TO_LOCAL * local:
                lines.append("- %s: P50 %s ns, a local free's %s; the goal is at most %s times that" % (
                    name_of(group), figure(remote), figure(local), REMOTE_TO_LOCAL))
            continue
        excesses = {each: statistics.median(excess(run, group_named(run, name_of(group)), each) for run in runs)
                    for each in general(runs[0], group) + [SUBJECT]}
        least = min(excesses, key=excesses.get)
        if excesses[SUBJECT] > excesses[least]:
            lines.append("- %s: P99.9 is %s ns above the floor's, %s's %s; the goal is the lowest of all" % (
                name_of(group), figure(excesses[SUBJECT]), short(least), figure(excesses[least])))
    return "\n".join(lines or ["- none"]) + "\n"


TABLES = {"percore": medians_table("p50"), "percore tails": medians_table("p999"), "percore goals": goals_list}
