"""The results of `flatline bench anysize` for the heap: what is kept of its runs, and the tables made from them."""
import statistics

from results_common import figure, machine, ratios_between, spread, table

FIGURES = ("p50", "p999", "over_1us_ppm")
TITLES = {"p50": "P50", "p999": "P99.9", "over_1us_ppm": "over 1 µs, of a million"}
RATIOS = ("p50", "p999")
SUBJECT, RIVAL = "flatline-heap", "o1heap"
PLAIN = {SUBJECT: "heap"}
# The goals, set before the heap was built: (calls in a sample, figure, greatest share of the rival's).
GOALS = ((32, "p50", 0.80), (1, "p50", 0.70), (32, "p999", 1.00), (1, "p999", 1.00), (32, "over_1us_ppm", 0.50),
         (1, "over_1us_ppm", 0.50))


# ---- what is kept -------------------------------------------------------------------------------------------------

def is_timed(cell):
    return cell["unit"] == "ns"


def has_both(cells):
    return {SUBJECT, RIVAL} <= {cell["backend"] for cell in cells}


def kept_ratios(cells):
    """What is kept of a cell of anysize in addition to its rows: the paired ratios of the heap's P50 and P99.9 to the
    rival's."""
    by_name = {cell["backend"]: cell for cell in cells}
    return ratios_between(by_name[SUBJECT], by_name[RIVAL], RATIOS)


# ---- what the tables say ------------------------------------------------------------------------------------------

def name_of(group):
    if group["operation"] == "pair":
        calls = group["calls_per_sample"]
        return group["order"] + (", blocks of %d calls" % calls if calls <= 32 else ", phases of {:,} calls".format(calls))
    return "%s, single %s" % (group["order"], group["operation"])


def timed_groups(run):
    return [group for group in run["groups"] if group["unit"] == "ns"]


def group_named(run, name):
    return next(group for group in timed_groups(run) if name_of(group) == name)


def median_of(runs, name, backend, what):
    return statistics.median(group_named(run, name)["rows"][backend][FIGURES.index(what)] for run in runs)


def ratios_of(runs, name, what):
    """One ratio for each run: paired if there are processes to pair, else that of the run's own figures."""
    groups = [group_named(run, name) for run in runs]
    if what in RATIOS:
        ratios = [group["ratios"][RATIOS.index(what)] for group in groups]
    else:
        at = FIGURES.index(what)
        ratios = [group["rows"][SUBJECT][at] / group["rows"][RIVAL][at] if group["rows"][RIVAL][at] else None
                  for group in groups]
    return [ratio for ratio in ratios if ratio is not None]


def medians_table(results):
    runs = results["anysize"]
    backends = [each["name"] for each in runs[0]["backends"]]
    rows = []
    for what in FIGURES:
        for group in timed_groups(runs[0]):
            name = name_of(group)
            if what != "p50" and group["calls_per_sample"] > 32:
                continue  # a phase has no tail
            rows.append(["%s, %s" % (name, TITLES[what])]
                        + [figure(median_of(runs, name, each, what)) for each in backends]
                        + [spread(ratios_of(runs, name, what))])
    titles = {each["name"]: each["title"] for each in runs[0]["backends"]}
    return ("Medians over %d runs of `flatline bench anysize`, all kept, %d processes per cell and backend, on %s. "
            "Figures are nanoseconds for a pair of alloc and free, or for one call. The last column also has the "
            "smallest and the largest run.\n\n"
            % (len(runs), runs[0]["rounds"], machine(runs[0]))
            + table(["", *[PLAIN.get(each, titles[each]) for each in backends], "heap / o1heap"], rows))


def goals_list(results):
    """Every goal that is missed."""
    runs, lines = results["anysize"], []
    for calls, what, most in GOALS:
        for group in timed_groups(runs[0]):
            if group["calls_per_sample"] != calls:
                continue
            ratios = ratios_of(runs, name_of(group), what)
            if ratios and round(statistics.median(ratios), 2) > most:
                lines.append("- %s, %s: the heap at %s of o1heap; the goal is at most %.2f" % (
                    name_of(group), TITLES[what], spread(ratios), most))
    return "\n".join(lines or ["- none"]) + "\n"


TABLES = {"heap": medians_table, "heap goals": goals_list}
