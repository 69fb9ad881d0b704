"""The results that the README shows: a few cells of the pool and of the malloc, and the greatest losses of all."""
import statistics

import results_percore
import results_policies
from results_common import machine_in_short, more_is_better, short, table

CELLS = ("hot 64 B", "churn 64 B", "mixed 7 sizes", "order, random free", "throughput 256 B, Mops/s")
POLICY = "flatline-malloc"


def time_ratio(rate, ratio):
    """The ratio of times, which for a rate is the reciprocal."""
    return 1 / ratio if rate else ratio


def told(of):
    """The text of (time ratio, other allocator); a loss is bold."""
    return ("%.2f of %s" if round(of[0], 2) <= 1 else "**%.2f** of %s") % of


def of_malloc(cells, name):
    """(time ratio, other allocator) of the malloc in a cell of medians; None if every such cell is void or missing."""
    cell = cells.get(name)
    other = results_policies.best_other(cell, "p50") if cell and results_policies.decider(cell[0][1]) == "p50" else None
    ratios = results_policies.ratios_to(cell, POLICY, other, "p50") if other else []
    return (time_ratio(more_is_better(cell[0][1]), statistics.median(ratios)), short(other)) if ratios else None


def of_percore(runs, name):
    ratios = results_percore.ratios_to(runs, name, "p50", results_percore.best("p50"))
    if not ratios:
        return None
    return 1 / statistics.median(ratio for ratio, _ in ratios), results_percore.most_often(ratios)


def worst(who, of_each):
    """The line of the greatest loss among several ((time ratio, other allocator), cell); empty if there is no loss."""
    lost = [(of, name) for of, name in of_each if of and round(of[0], 2) > 1]
    return ["- %s: %s, %s\n" % (who, max(lost)[1].removesuffix(", Mops/s"), told(max(lost)[0]))] if lost else []


def table_of(pool_in):
    """`pool_in` takes the results and a cell of medians and returns the pool's (time ratio, other allocator), or None
    if the cell is void or missing."""
    def made(results):
        runs, cells = results["quick"], results_policies.groups_of(results)
        measured = dict.fromkeys([results_policies.call_name(group) for group in runs[0]["groups"]] + list(cells))
        rows = [[name.removesuffix(", Mops/s")] + [told(of) if of else "void" for of in
                                                   (pool_in(results, name), of_malloc(cells, name))]
                for name in CELLS if name in measured]
        losses = (worst("the pool", [(pool_in(results, name), name) for name in measured])
                  + worst("the malloc", [(of_malloc(cells, name), name) for name in cells])
                  + worst("the pools for each core", [(of_percore(results["percore"], name + ", Mops/s"), name)
                                                      for name in results_percore.RATE_GOALS]))
        return ("Time relative to the best general-purpose allocator in the same run. Below 1 Flatline is faster; bold is "
                "a loss (%s; medians of up to %d runs).\n\n%s\nThe largest losses:\n\n%s"
                % (machine_in_short(runs[0]), len(runs), table(["", "pool", "malloc"], rows),
                   "".join(losses) or "- none\n"))
    return made
