"""The results of `flatline simulate --all` and of `flatline bench dispatch`: what is kept of them, and the tables that
are made from them. Simulated figures are of no machine: they are the same on each."""
import math
import statistics

from results_common import Fault, table

SUBJECT, RIVALS = "predictive", ("two choices", "Prequal", "shortest queue")
GATE = ("law", "expected", "measured", "interval", "holds")
CELL = ("workload", "held_out", "policy", "implementable", "ablation", "p999", "refused", "regret", "refused_more",
        "p999_by_seed")
SHOWN = 5e-5  # a smaller share of refused tasks would read as 0.00 %
STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365)  # the quantile 0.975, of two to eight seeds
NOT_SIMULATED = "Not simulated yet: no run of `flatline simulate --all` is recorded.\n"
NOT_MEASURED = "Not measured yet: no run of `flatline bench dispatch` is recorded.\n"

# The goals, set before anything was simulated in the workloads that are held out. Of P99.9: ratios, and regrets.
MOST_REGRET = 0.05
WITHOUT_TWO_CHOICES = 0.80  # of theirs, or half of their refusals
HARD = ("different cores", "slowed core", "memory hogs", "memory hogs, refused", "stale reports",
        "unevenly stale reports")
MOST_OF_PREQUAL = 1.00
LEAST_HELD, MOST_HALF_WIDTH = 0.93, 0.05  # of a switchback's intervals
LEAST_NAMED = 3  # pairs that were named beforehand, and are apart as they were


# ---- what is kept -------------------------------------------------------------------------------------------------

def kept_simulation(document):
    if document.get("schema") != "flatline.simulate/1" or not document["gates"] or "switchback" not in document or \
            {cell["held_out"] for cell in document["cells"]} != {True, False}:
        raise Fault("--simulation: name what `flatline simulate --all --json FILE` wrote, and no other")
    return ({key: document[key] for key in ("seed", "draw", "seeds", "tasks", "switchback")}
            | {"gates": [{key: gate[key] for key in GATE} for gate in document["gates"]],
               "cells": [{key: cell[key] for key in CELL} for cell in document["cells"]]})


def kept_dispatch(document):
    if document.get("schema") != "flatline.dispatch/1":
        raise Fault("--dispatch: name what `flatline bench dispatch --json FILE` wrote, and no other")
    return ({key: document[key] for key in ("first_seed", "runs", "tasks", "scenarios", "choices")}
            | {"environment": document["machine"]})


# ---- figures ------------------------------------------------------------------------------------------------------

def percent(share):
    return "{:,.1f} %".format(100 * share) if share < 1 else "{:,.0f} %".format(100 * share)


def refused_text(share):
    return ", %.2f %% refused" % (100 * share) if share > SHOWN else ""


def tail_text(cell):
    return "%.2f%s" % (cell["p999"], refused_text(cell["refused"]))


def ratio_of(above, below):
    """The geometric mean of the ratios of the same seeds, and its 95 % interval."""
    logs = [math.log(first / second) for first, second in zip(above["p999_by_seed"], below["p999_by_seed"])]
    mean, half = statistics.mean(logs), STUDENT[len(logs) - 2] * statistics.stdev(logs) / math.sqrt(len(logs))
    return tuple(map(math.exp, (mean, mean - half, mean + half)))


def ratio_text(ratio):
    return "%.3f (%.3f to %.3f)" % ratio


class Cells:
    """The cells of the held-out or of the training workloads: by workload, and in it by policy."""

    def __init__(self, simulation, held_out):
        self.of = {}
        for cell in simulation["cells"]:
            if cell["held_out"] == held_out:
                self.of.setdefault(cell["workload"], {})[cell["policy"]] = cell

    def policies(self):
        """Those that can be built."""
        first = next(iter(self.of.values()))
        return [name for name, cell in first.items() if cell["implementable"] and not cell["ablation"]]

    def ablations(self):
        first = next(iter(self.of.values()))
        return [name for name, cell in first.items() if cell["ablation"]]

    def best_other(self, workload):
        return min((name for name in self.policies() if name != SUBJECT), key=lambda name: self.of[workload][name]["p999"])

    def worst(self, policy, what):
        """The workload in which it has the most of `what`, and how much that is."""
        workload = max(self.of, key=lambda each: self.of[each][policy][what])
        return workload, self.of[workload][policy][what]

    def ranked(self):
        return sorted(self.policies(), key=lambda policy: self.worst(policy, "regret")[1])


# ---- tables of the simulation -------------------------------------------------------------------------------------

def gates_table(simulation):
    rows = []
    for gate in simulation["gates"]:
        low, high = gate["interval"]
        rows.append([gate["law"], "%.5g" % gate["expected"], "%.5g" % gate["measured"],
                     "%+.2f %%" % (100 * (gate["measured"] / gate["expected"] - 1)),
                     "%.2f %%" % (100 * (high - low) / gate["measured"])])
    held = sum(gate["holds"] for gate in simulation["gates"])
    return "%d of %d laws hold, with seed %d.\n\n%s" % (
        held, len(rows), simulation["seed"], table(["law", "expected", "measured", "error", "interval"], rows))


def listed(parts):
    return " and ".join(part for part in (", ".join(parts[:-1]), parts[-1]) if part)


def behind_text(regret):
    return "less than 0.1 %" if regret < 0.0005 else percent(regret)


def standing_text(simulation):
    cells = Cells(simulation, True)
    behind = ["%s (%s, %s)" % (workload, behind_text(of[SUBJECT]["regret"]), cells.best_other(workload))
              for workload, of in cells.of.items() if of[SUBJECT]["regret"] > 0]
    more = ["%s (%s)" % (workload, percent(of[SUBJECT]["refused_more"]))
            for workload, of in cells.of.items() if of[SUBJECT]["refused_more"] > SHOWN]
    policy, (where, regret) = next((each, cells.worst(each, "regret")) for each in cells.ranked() if each != SUBJECT)
    text = "The predictive policy has the lowest P99.9 of all that can be built in %d of the %d workloads that are held out" % (
        len(cells.of) - len(behind), len(cells.of))
    text += ". It is behind in %s" % listed(behind) if behind else ""
    text += ". It refuses more tasks than another one in %s" % listed(more) if more else \
        ", and nowhere refuses as much as %.3f %% of the tasks more than another one" % (100 * SHOWN)
    return text + ". Of the others %s is the best in its worst case, and is %s behind there (%s).\n" % (
        policy, percent(regret), where)


def tails_table(held_out):
    def made(simulation):
        cells = Cells(simulation, held_out)
        drawn = "Parameters of drawing %d. " % simulation["draw"] if held_out else ""
        return drawn + "P99.9 in mean service times: means over {:,} seeds, of {:,} tasks each.\n\n".format(
            simulation["seeds"], simulation["tasks"]) + table(
                ["workload", SUBJECT, *RIVALS, "best of the others"],
                [[workload, *[tail_text(of[policy]) for policy in (SUBJECT, *RIVALS)],
                  "%s, %s" % (tail_text(of[cells.best_other(workload)]), cells.best_other(workload))]
                 for workload, of in cells.of.items()])
    return made


def regret_table(simulation):
    cells, rows = Cells(simulation, True), []
    for policy in cells.ranked():
        where, regret = cells.worst(policy, "regret")
        rows.append([policy, percent(regret), where, "%.2f %%" % (100 * cells.worst(policy, "refused_more")[1])])
    return table(["policy", "worst regret of P99.9", "where", "most refused beyond the best"], rows)


def ratios_table(held_out):
    def made(simulation):
        return "Ratios of the same seeds, with their 95 % intervals.\n\n" + table(
            ["P99.9 of predictive over", *RIVALS],
            [[workload, *[ratio_text(ratio_of(of[SUBJECT], of[rival])) for rival in RIVALS]]
             for workload, of in Cells(simulation, held_out).of.items()])
    return made


def without_text(cell, whole):
    more = round(100 * (cell["p999"] / whole["p999"] - 1))
    return ("{:+,d}".format(more) if more else "0") + refused_text(cell["refused"] - whole["refused"])


def ablations_table(simulation):
    cells = Cells(simulation, True)
    return table(["", *[name.removeprefix(SUBJECT + " - ") for name in cells.ablations()]],
                 [[workload, *[without_text(of[name], of[SUBJECT]) for name in cells.ablations()]]
                  for workload, of in cells.of.items()])


def switchback_table(simulation):
    trials = simulation["switchback"]
    rows = [["%s, %s" % (pair["workload"], pair["policy"]), "{:,.0f}".format(pair["slice"]),
             "{:,.0f}".format(pair["tasks"]), "%.1f %%" % (100 * pair["truth"]), "%.1f %%" % (100 * pair["measured"]),
             "%d of %d" % (pair["covered"], pair["cases"]), "%.1f %%" % (100 * pair["median_half_width"])]
            for pair in trials["pairs"]]
    return "Of {:,} intervals {:,} hold the truth, with a median half-width of {:.1f} %.\n\n".format(
        trials["cases"], trials["covered"], 100 * trials["median_half_width"]) + table(
            ["workload, policy", "slice", "tasks", "truth", "measured", "held", "half-width"], rows)


def missed_simulated(simulation):
    cells = Cells(simulation, True)
    for gate in simulation["gates"]:
        if not gate["holds"]:
            yield "%s: %.5g, where the law has %.5g" % (gate["law"], gate["measured"], gate["expected"])
    if cells.ranked()[0] != SUBJECT:
        yield "%s has the lowest worst regret; the goal is that the default has it" % cells.ranked()[0]
    for workload, of in cells.of.items():
        ours, theirs, prequal = (of[each] for each in (SUBJECT, "two choices", "Prequal"))
        other = cells.best_other(workload)
        to_best = ratio_of(ours, of[other])
        if ours["regret"] > MOST_REGRET:
            yield "%s: %s behind %s, %s of its P99.9; the goal is at most %.0f %%" % (
                workload, percent(ours["regret"]), other, ratio_text(to_best), 100 * MOST_REGRET)
        elif to_best[2] > 1 + MOST_REGRET:
            yield "%s: not decided by %d seeds: %s of the P99.9 of %s; the goal is at most %.0f %% behind" % (
                workload, simulation["seeds"], ratio_text(to_best), other, 100 * MOST_REGRET)
        if workload not in HARD:
            continue
        to_theirs, to_prequal = ratio_of(ours, theirs), ratio_of(ours, prequal)
        if to_theirs[0] > WITHOUT_TWO_CHOICES and not (theirs["refused"] > SHOWN and
                                                       ours["refused"] <= theirs["refused"] / 2):
            yield "%s: %s of the P99.9 of two choices; the goal is at most %.2f, or half of their refusals" % (
                workload, ratio_text(to_theirs), WITHOUT_TWO_CHOICES)
        if to_prequal[0] > MOST_OF_PREQUAL:
            yield "%s: %s of the P99.9 of Prequal; the goal is at most %.2f" % (
                workload, ratio_text(to_prequal), MOST_OF_PREQUAL)
    trials = simulation["switchback"]
    if trials["covered"] < LEAST_HELD * trials["cases"]:
        yield "%d of %d intervals of a switchback hold the truth; the goal is at least %d" % (
            trials["covered"], trials["cases"], LEAST_HELD * trials["cases"])
    if trials["median_half_width"] > MOST_HALF_WIDTH:
        yield "the median half-width of a switchback is %.1f %%; the goal is at most %.0f %%" % (
            100 * trials["median_half_width"], 100 * MOST_HALF_WIDTH)


# ---- tables of live runs ------------------------------------------------------------------------------------------

def pairs_of(dispatch):
    return [(scenario, pair) for scenario in dispatch["scenarios"] for pair in scenario["pairs"]]


def is_as_named(pair):
    return pair["named"] and pair["agrees"] and pair["live"]["ratio"] > 1


def tally_text(dispatch):
    pairs = [pair for _, pair in pairs_of(dispatch)]
    apart = [pair for pair in pairs if pair["separates"]]
    named = [pair for pair in pairs if pair["named"]]
    return ("Of {} pairs of policies {} are apart both live and simulated, and {} of these are in the same order. Of {} "
            "that were named beforehand {} are as named in both. {} runs of {:,} tasks for each policy, the same live and "
            "simulated, on two workers.\n\n").format(
                len(pairs), len(apart), sum(pair["agrees"] for pair in apart), len(named), sum(map(is_as_named, named)),
                dispatch["runs"], dispatch["tasks"])


def runs_text(values):
    return "%.1f (%.1f to %.1f)" % (statistics.mean(values), min(values), max(values))


def live_table(dispatch):
    return tally_text(dispatch) + "P99 in ms: means (least to greatest) of the runs.\n\n" + table(
        ["", "live", "simulated"],
        [["%s, %s" % (scenario["name"], row["policy"]), runs_text(row["live_p99_ms"]),
          runs_text(row["simulated_p99_ms"])] for scenario in dispatch["scenarios"] for row in scenario["policies"]])


def mean_text(mean):
    return "%.2f (%.2f to %.2f)" % (mean["ratio"], *mean["interval"])


def pairs_table(dispatch):
    return "How many times the P99 of the first policy the second one's is, with 95 % intervals; * the order was named " \
        "beforehand.\n\n" + table(
            ["", "live", "simulated", "apart", "same order"],
            [["%s: %s, %s%s" % (scenario["name"], pair["first"], pair["second"], " *" if pair["named"] else ""),
              mean_text(pair["live"]), mean_text(pair["simulated"]), "yes" if pair["separates"] else "no",
              ("yes" if pair["agrees"] else "**no**") if pair["separates"] else ""]
             for scenario, pair in pairs_of(dispatch)])


def choices_table(dispatch):
    return "Nanoseconds of a choice among %d workers, the clock included.\n\n" % dispatch["choices"][0]["workers"] + table(
        ["", "P50", "P99.9"],
        [["the clock alone" if each["policy"] == "nothing" else each["policy"], "{:,.0f}".format(each["p50_ns"]),
          "{:,.0f}".format(each["p999_ns"])] for each in dispatch["choices"]])


def missed_live(dispatch):
    for scenario, pair in pairs_of(dispatch):
        if pair["separates"] and not pair["agrees"]:
            yield "%s: %s and %s are in another order live, %s, than simulated, %s" % (
                scenario["name"], pair["first"], pair["second"], mean_text(pair["live"]), mean_text(pair["simulated"]))
    named = sum(is_as_named(pair) for _, pair in pairs_of(dispatch))
    if named < LEAST_NAMED:
        yield "%d pairs that were named beforehand are apart; the goal is at least %d" % (named, LEAST_NAMED)


# ---- all of them --------------------------------------------------------------------------------------------------

def simulated(made):
    return lambda results: made(results["simulation"]) if "simulation" in results else NOT_SIMULATED


def measured(made):
    return lambda results: made(results["dispatch"]) if "dispatch" in results else NOT_MEASURED


def missed_list(missed):
    return lambda kept: "\n".join(["- " + each for each in missed(kept)] or ["- none"]) + "\n"


TABLES = {
    "dispatch gates": simulated(gates_table),
    "dispatch standing": simulated(standing_text),
    "dispatch held out": simulated(tails_table(True)),
    "dispatch regret": simulated(regret_table),
    "dispatch ratios": simulated(ratios_table(True)),
    "dispatch ablations": simulated(ablations_table),
    "dispatch training": simulated(tails_table(False)),
    "dispatch training ratios": simulated(ratios_table(False)),
    "dispatch switchback": simulated(switchback_table),
    "dispatch goals": simulated(missed_list(missed_simulated)),
    "dispatch live": measured(live_table),
    "dispatch pairs": measured(pairs_table),
    "dispatch choices": measured(choices_table),
    "dispatch live goals": measured(missed_list(missed_live)),
}
