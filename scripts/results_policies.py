"""The malloc under each of its policies compared with every other malloc, in every suite of `flatline bench` that was
measured."""
import statistics

import results_malloc
from results_common import (call_name, figure, more_is_better, ratios_between, short, spread,
                            table)

POLICIES = results_malloc.POLICIES
COMPARED = ("p50", "p999")
TITLES = {"p50": "", "p999": ", P99.9"}
NOT_MEASURED = "- not measured yet\n"


# ---- what is kept -------------------------------------------------------------------------------------------------

def kept_ratios(cells, kinds):
    """What is kept of a cell: the paired ratios of each policy's P50 and P99.9 to each other malloc's."""
    by_name = {cell["backend"]: cell for cell in cells}
    return {policy: {name: ratios_between(by_name[policy], cell, COMPARED)
                     for name, cell in by_name.items() if kinds[name] == "general"}
            for policy in POLICIES if policy in by_name}


# ---- what was measured --------------------------------------------------------------------------------------------

def groups_of(results):
    """For each cell, by its name, (run, group, ratios) of each run: of the runs that were made for its suite, else of
    the full one. Each has at least one of the policies and another malloc."""
    cells = {}
    for runs, key in ((results.get("malloc", []), "ratios"), (results["percore"], "policies"),
                      (results.get("malloc_others", []), "policies"), ([results["full"]], "policies")):
        taken = {kind_of(group) for cell in cells.values() for _, group, _ in cell}
        for run in runs:
            for group in run["groups"]:
                if kind_of(group) not in taken and group["ranked"] and any(group.get(key, {}).values()):
                    cells.setdefault(call_name(group), []).append((run, group, group[key]))
    return cells


def kind_of(group):
    return group["suite"], group["unit"] == "bytes"


def decider(group):
    """The median, or the tail if single calls were timed."""
    return "p999" if group["calls_per_sample"] == 1 and group["suite"] != "drift" else "p50"


def median_of(cell, backend, what):
    values = [group["rows"][backend][list(run["figures"]).index(what)] for run, group, _ in cell
              if backend in group["rows"]]
    return statistics.median(values) if values else None


def best_other(cell, what):
    """The same malloc for all runs: the best of each run would be the luckiest of many."""
    run, group, _ = cell[0]
    pick = max if more_is_better(group) else min
    others = [each["name"] for each in run["backends"] if each["kind"] == "general" and each["name"] in group["rows"]]
    return pick(others, key=lambda name: median_of(cell, name, what), default=None)


def ratios_to(cell, policy, other, what):
    """The ratios in each run whose cell is not void."""
    found = [ratios[policy][other][COMPARED.index(what)] for _, group, ratios in cell
             if not group["void"] and policy in ratios]
    return [ratio for ratio in found if ratio is not None]


def times_worse(cell, ratio):
    """The policy's time or bytes divided by the other's; for a rate, the other's divided by the policy's."""
    return 1 / ratio if more_is_better(cell[0][1]) else ratio


def losses_in(cell):
    """(policy, its ratios) for each policy that loses by the figure that decides the cell."""
    what = decider(cell[0][1])
    other = best_other(cell, what)
    found = [(policy, ratios_to(cell, policy, other, what)) for policy in POLICIES] if other else []
    return [(policy, ratios) for policy, ratios in found
            if ratios and round(times_worse(cell, statistics.median(ratios)), 2) > 1]


def is_beyond_a_step(cell, policy):
    """For single calls: whether the policy's P99.9 exceeds the best other's by more than a step of the clock."""
    step = max(run["environment"]["timer"]["tick_ns"] for run, _, _ in cell)
    return median_of(cell, policy, "p999") > median_of(cell, best_other(cell, "p999"), "p999") + step


# ---- what the tables say ------------------------------------------------------------------------------------------

def ratio_text(ratios):
    return spread(ratios) if len(ratios) > 1 else "%.2f" % ratios[0]


def suites_table(results):
    """Every cell of medians."""
    cells = {name: cell for name, cell in groups_of(results).items() if decider(cell[0][1]) == "p50"}
    if not cells:
        return NOT_MEASURED
    rows = []
    for name, cell in cells.items():
        other = best_other(cell, "p50")
        ratios = [ratios_to(cell, policy, other, "p50") for policy in POLICIES]
        rows.append([name, *[figure(median_of(cell, policy, "p50")) for policy in POLICIES],
                     figure(median_of(cell, other, "p50")), short(other),
                     *[ratio_text(each) if each else "" for each in ratios]])
    heads = ["", *POLICIES.values(), "best other", "which", *["%s / best" % title for title in POLICIES.values()]]
    return table(heads, rows)


def losses_list(what):
    def made(results):
        cells = {name: cell for name, cell in groups_of(results).items() if decider(cell[0][1]) == what}
        lines = []
        for name, cell in cells.items():
            if all(group["void"] for _, group, _ in cell):
                lines.append("- %s%s: void in every run" % (name, TITLES[what]))
                continue
            lost = [(policy, ratios) for policy, ratios in losses_in(cell)
                    if what == "p50" or is_beyond_a_step(cell, policy)]
            if lost:
                told = ", ".join("`%s` %s" % (POLICIES[policy], ratio_text(ratios)) for policy, ratios in lost)
                lines.append("- %s%s: %s of %s" % (name, TITLES[what], told, short(best_other(cell, what))))
        return "\n".join(lines or (["- none"] if cells else [NOT_MEASURED.strip()])) + "\n"
    return made


def worst_list(results):
    """The greatest loss in each suite: of medians, or of tails if the suite has no other cells."""
    by_suite = {}
    for name, cell in groups_of(results).items():
        by_suite.setdefault(cell[0][1]["suite"], {}).setdefault(decider(cell[0][1]), []).append((name, cell))
    lines = []
    for cells in by_suite.values():
        what = "p50" if "p50" in cells else "p999"
        losses = [(times_worse(cell, statistics.median(ratios)), name, cell, policy, ratios)
                  for name, cell in cells[what] for policy, ratios in losses_in(cell)]
        if losses:
            _, name, cell, policy, ratios = max(losses, key=lambda loss: loss[0])
            lines.append("- %s%s: `%s` %s of %s" % (name, TITLES[what], POLICIES[policy], ratio_text(ratios),
                                                    short(best_other(cell, what))))
    return "\n".join(lines or (["- none"] if by_suite else [NOT_MEASURED.strip()])) + "\n"


TABLES = {"malloc suites": suites_table, "malloc losses": losses_list("p50"), "malloc lost tails": losses_list("p999"),
          "malloc worst": worst_list}
