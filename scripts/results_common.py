"""What the parts of scripts/results share."""
import statistics


# The names in the tables of backends that have another name in `flatline bench`.
SHORT = {"flatline-pool": "pool", "flatline-percore": "per core", "list": "list, unchecked",
         "glibc-tuned": "glibc, tuned", "boost-pool": "Boost.Pool", "foonathan-pool": "foonathan",
         "hardened-malloc": "hardened", "tbb": "oneTBB"}
CALLS_TOGETHER = 64


class Fault(Exception):
    """The message says what is wrong, and what to do."""


def ratios_between(cell, other, figures):
    """The ratios of a cell's figures to another's, paired by rounds, as `flatline bench` computed them. One is None if
    it cannot be computed, for example because the floor, which holds no block, has no resident bytes."""
    return [cell["ratios"][other["backend"]][figure] for figure in figures]


def spread(values, without=""):
    """The median with the least and the greatest, or `without` if there are no values."""
    return "%.2f (%.2f to %.2f)" % (statistics.median(values), min(values), max(values)) if values else without


def figure(value):
    if value is None:
        return ""
    if value >= 10000:
        return "{:,.0f}".format(value)
    return "%.0f" % value if value >= 100 else "%.1f" % value if value >= 10 else "%.2f" % value


def size_text(group):
    size = group["size"]
    if size == 0:
        return " 7 sizes" if group["suite"] == "mixed" else ""
    return " %d KiB" % (size // 1024) if size >= 1024 else " %d B" % size


def threads_text(group):
    """The number of threads if it is above two. Results from before there were other numbers do not name it."""
    threads = group.get("threads", 1)
    return ", %d threads" % threads if threads > 2 else ""


def together_text(group):
    """For calls of one kind that were timed together, by threads that do something else in between."""
    together = group["calls_per_sample"] == CALLS_TOGETHER and group["operation"] != "pair"
    return ", blocks of %d" % CALLS_TOGETHER if together else ""


def call_name(group):
    """What the tables call a cell of calls."""
    if group["suite"] == "order":
        return "order, %s %s" % (group["order"], group["operation"])
    text = group["suite"] + size_text(group)
    if group["order"]:
        text += ", " + group["order"]
    text += threads_text(group)
    if group["calls_per_sample"] == 1 or group["operation"] != "pair":
        text += ", " + group["operation"] + together_text(group)
    return text + (", Mops/s" if group["unit"] == "Mops/s" else "")


def more_is_better(group):
    return group["unit"] == "Mops/s"


def short(name):
    return SHORT.get(name, name)


def table(head, rows):
    lines = ["| %s |" % " | ".join(head), "|---|%s" % ("---:|" * (len(head) - 1))]
    return "\n".join(lines + ["| %s |" % " | ".join(row) for row in rows]) + "\n"


def machine(run):
    environment = run["environment"]
    return "%s, %d processors, %s, %s" % (environment["processor"], environment["logical_cpus"], environment["kernel"],
                                          environment["compiler"])


def machine_in_short(run):
    return "%(processor)s, %(logical_cpus)d processors" % run["environment"]
