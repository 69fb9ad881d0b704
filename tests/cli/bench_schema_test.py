"""The schema check must see each of these faults, and none in a document that has none."""

import copy
import unittest

from bench_schema import faults

CELL = {
    "suite": "hot", "backend": "floor", "size": 64, "calls_per_sample": 32, "operation": "pair", "order": "",
    "threads": 1, "unit": "ns", "samples": 100000, "processes": 4,
    "mean": 2.5, "p50": 2, "p90": 3, "p99": 4, "p999": 5, "p9999": 6,
    "max": 7, "p50_net": 1.5, "p50_low": 2, "p50_high": 2.5, "p999_low": 5, "p999_high": 6, "over_100ns_ppm": 3,
    "over_1us_ppm": 2, "over_10us_ppm": 1, "page_faults": 0, "page_faults_setup": 1, "resident_kib": 2, "ranked": True,
    "void": False, "curve": [[0, 1], [50, 2], [100, 7]], "process_p50": [2, 2, 2, 2.5], "process_p999": [5, 5, 5, 6],
    "instructions_per_operation": 44.5, "branch_misses_per_operation": None, "cache_misses_per_operation": 0,
    "tlb_misses_per_operation": None, "heap_calls": None, "held_bytes": None, "peak_bytes": None,
}
VERDICT = {
    "suite": "hot", "size": 64, "calls_per_sample": 32, "operation": "pair", "order": "", "threads": 1, "figure": "p50",
    "subject": "pool-resource", "rival": "floor", "outcome": "slower", "ratio": 1.1, "low": 1.05, "high": 1.2,
}
WINDOWS = {"operations": 10, "values": [3, 4], "first": 3, "last": 4, "worst": 5, "slope_ns_per_million": 0.5}
DRIFT = {**CELL, "suite": "drift", "calls_per_sample": 1, "operation": "P99", "windows": WINDOWS, "samples": 8,
         "p9999": None}
del DRIFT["curve"]
MEMORY = {**DRIFT, "suite": "memory", "calls_per_sample": 1000, "operation": "resident", "unit": "bytes",
          "p50_net": None, "over_100ns_ppm": None, "over_1us_ppm": None, "over_10us_ppm": None}
del MEMORY["windows"]
FOUR = {"size": 16, "processes": 2, "process_p50": [2, 4], "process_p999": [5, 0]}
POOL_FOUR = {**CELL, **FOUR, "backend": "flatline-pool", "process_p50": [1, 6],
             "ratios": {"floor": {"p50": 0.86603, "p999": None}}}
ROUND = {**CELL, "suite": "containers", "size": 0, "calls_per_sample": 1, "operation": "round", "order": "list",
         "heap_calls": 0, "held_bytes": 16000}
LARSON = {**CELL, "suite": "threads", "calls_per_sample": 1, "operation": "alloc", "order": "larson", "threads": 4,
          "peak_bytes": 500000}
TASKS = {**CELL, "suite": "engine", "calls_per_sample": 1, "operation": "run", "order": "busy",
         "counts": {"counters apart": [1, 2, 3, 4]}}
RATE = {**TASKS, "calls_per_sample": 100000, "operation": "task", "order": "saturated", "unit": "Mtasks/s",
        "p50_net": None, "over_100ns_ppm": None, "over_1us_ppm": None, "over_10us_ppm": None}
del RATE["curve"]
HICCUPS = {
    "seconds": 0.5, "over_10us": 1, "over_10us_per_second": 2, "lost_us_per_second": 20, "max_ns": 20000,
}
def interval(median):
    return {"median": median, "low": median, "high": median}


def program_row(backend, wall_s, peak_rss_kib, frontier):
    run = {"wall_s": wall_s, "user_s": 1, "system_s": 1, "instructions": None, "peak_rss_kib": peak_rss_kib,
           "final_rss_kib": 1, "page_faults": 1, "context_switches": 1}
    return {"backend": backend, "version": "1", "path": "/lib/x.so", "settings": "", "processes": 1,
            "wall_s": interval(wall_s), "user_s": interval(1), "system_s": interval(1), "instructions": None,
            "peak_rss_kib": interval(peak_rss_kib), "final_rss_kib": interval(1), "page_faults": interval(1),
            "system_calls": None, "allocations": 1, "frees": 1, "allocator_share": 0.1, "frontier": frontier,
            "runs": [run]}


PROGRAM = {
    "name": "lua", "title": "lua5.4", "package": "lua5.4", "work": "w", "process": "lua5.4", "clock": "lua5.4",
    "executable": "/usr/bin/lua5.4", "version": "5.4", "missing": None, "shortfalls": [], "errors": [],
    "rows": [program_row("glibc", 2.5, 100, True), program_row("jemalloc", 2.0, 150, True),
             program_row("tcmalloc", 2.0, 200, False)],
}
GOOD = {
    "schema": "flatline.bench/1", "mode": "quick", "started": "2026-11-21T20:00:00Z", "resumed": False, "duration_seconds": 1.5,
    "rounds": 4, "seed": 1,
    "environment": {
        "processor": "p", "logical_cpus": 2, "kernel": "k", "compiler": "c", "flags": "f", "flatline_version": "v",
        "pinned_cpu": 1, "transparent_huge_pages": "madvise", "hypervisor": "none", "governor": "g",
        "isolated_cpus": "", "nohz_full": "", "smt": "off", "steal_percent": 0.5, "context_switches": 1,
        "migrations": 0, "timer": {"name": "rdtsc", "frequency_hz": 1, "tick_ns": 1, "cost_ns": 1},
        "hiccups": {"before": HICCUPS, "between": HICCUPS, "after": HICCUPS},
        "allocators": [{"backend": "floor", "version": "1", "path": "/x", "source": "", "flags": "-O2", "own_code": True}],
    },
    "backends": [{"name": "floor", "title": "floor", "kind": "control", "beside": ""},
                 {"name": "pool-resource", "title": "pool_resource", "kind": "subject", "beside": "std-pool"},
                 {"name": "flatline-pool", "title": "pool", "kind": "subject", "beside": ""},
                 {"name": "std-pool", "title": "std::pmr pool", "kind": "standard", "beside": ""}],
    "missing": [{"name": "jemalloc", "how": "apt-get"}],
    "errors": [],
    "cells": [CELL, DRIFT, MEMORY, ROUND, LARSON, {**LARSON, "threads": 8}, TASKS, RATE, {**CELL, **FOUR}, POOL_FOUR],
    "verdicts": [VERDICT],
    "programs": [PROGRAM],
}


class SchemaCheck(unittest.TestCase):
    def planted(self, change):
        document = copy.deepcopy(GOOD)
        change(document)
        self.assertNotEqual(faults(document), [])

    def planted_in_cell(self, **figures):
        self.planted(lambda document: document["cells"][0].update(figures))

    def test_good_document_has_no_fault(self):
        self.assertEqual(faults(GOOD), [])

    def test_missing_members(self):
        for name in GOOD:
            self.planted(lambda document: document.pop(name))
        for name in GOOD["environment"]:
            self.planted(lambda document: document["environment"].pop(name))
        for name in CELL:
            self.planted(lambda document: document["cells"][0].pop(name))

    def test_wrong_types(self):
        for name in CELL:
            self.planted_in_cell(**{name: {}})

    def test_figures_that_contradict_each_other(self):
        self.planted_in_cell(p90=1)
        self.planted_in_cell(max=4)
        self.planted_in_cell(p50_low=2.2)
        self.planted_in_cell(p9999=None)
        self.planted_in_cell(process_p50=[2])
        self.planted_in_cell(samples=99999)
        self.planted_in_cell(over_1us_ppm=4)
        self.planted_in_cell(unit="us")

    def test_ratios_that_the_processes_do_not_give(self):
        for ratios in ({"floor": {"p50": 0.87, "p999": None}}, {"floor": {"p50": 0.86603, "p999": 1}}, {},
                       {"floor": {"p50": None, "p999": None}}, {"floor": {"p50": 0.86603}}, {"glibc": {}}):
            self.planted(lambda document: document["cells"][-1].update(ratios=ratios))
        self.planted(lambda document: document["cells"][-1].pop("ratios"))
        self.planted_in_cell(ratios={})

    def test_windows(self):
        for change in ({"values": [3]}, {"values": [3, 6]}, {"values": [4, 4]}, {"first": 4}, {"last": 3},
                       {"operations": 0.5}, {"slope_ns_per_million": None}):
            self.planted(lambda document: document["cells"][1]["windows"].update(change))
        self.planted(lambda document: document["cells"][1].pop("windows"))
        self.planted_in_cell(windows=WINDOWS)

    def test_bytes_are_no_times(self):
        self.planted(lambda document: document["cells"][2].update(unit="ns"))
        self.planted(lambda document: document["cells"][2].update(over_1us_ppm=1))
        self.planted(lambda document: document["cells"][2].update(curve=[[0, 1], [50, 2], [100, 7]]))
        self.planted_in_cell(unit="bytes")
        self.planted_in_cell(p50_net=None)

    def test_counts(self):
        for counts in ({"offered": [1, 2, 3]}, {"offered": 4}, {"offered": [1, 2, 3, -4]}, {"offered": [1, 2, 3, 0.5]}):
            self.planted(lambda document: document["cells"][6].update(counts=counts))
        self.planted(lambda document: document["cells"][6].pop("counts"))
        self.planted(lambda document: document["cells"][7].update(unit="Mops/s"))
        self.planted_in_cell(counts={"offered": [1, 2, 3, 4]})

    def test_rounds(self):
        for change in ({"heap_calls": None}, {"operation": "pair"}, {"held_bytes": "many"}):
            self.planted(lambda document: document["cells"][3].update(change))
        self.planted_in_cell(heap_calls=0)
        self.planted_in_cell(held_bytes=16)
        self.planted_in_cell(operation="round")
        self.planted(lambda document: document["backends"][1].update(kind="again", beside=""))

    def test_several_threads(self):
        for change in ({"peak_bytes": None}, {"threads": 1}, {"threads": 8}):
            self.planted(lambda document: document["cells"][4].update(change))
        self.planted_in_cell(peak_bytes=500000)

    def test_wrong_curves(self):
        self.planted_in_cell(curve=[[0, 1], [50, 2], [99, 6]])
        self.planted_in_cell(curve=[[0, 1], [50, 3], [100, 7]])
        self.planted_in_cell(curve=[[0, 3], [50, 2], [100, 7]])

    def planted_in_verdict(self, **members):
        self.planted(lambda document: document["verdicts"][0].update(members))

    def test_verdicts(self):
        for name in VERDICT:
            self.planted(lambda document: document["verdicts"][0].pop(name))
        self.planted_in_verdict(outcome="tie")
        self.planted_in_verdict(figure="mean")
        self.planted_in_verdict(subject="ceiling")
        self.planted_in_verdict(subject="floor")
        self.planted_in_verdict(outcome="faster")
        self.planted_in_verdict(outcome="void")
        self.planted_in_verdict(low=0.9)
        self.planted_in_verdict(low=1.3)
        self.planted_in_cell(void=True)

    def planted_in_program(self, change):
        self.planted(lambda document: change(document["programs"][0]))

    def test_programs(self):
        for name in PROGRAM:
            self.planted_in_program(lambda program: program.pop(name))
        for name in PROGRAM["rows"][0]:
            self.planted_in_program(lambda program: program["rows"][0].pop(name))
        for i in range(3):
            mark = PROGRAM["rows"][i]["frontier"]
            self.planted_in_program(lambda program: program["rows"][i].update(frontier=not mark))
        self.planted_in_program(lambda program: program.update(missing="apt-get install lua5.4"))
        self.planted_in_program(lambda program: program.update(executable=""))
        self.planted_in_program(lambda program: program["rows"][0]["runs"].clear())
        self.planted_in_program(lambda program: program["rows"][0]["wall_s"].update(low=3))
        self.planted_in_program(lambda program: program["rows"][0].update(path="libc.so.6"))

    def test_names(self):
        self.planted_in_cell(suite="cold")
        self.planted_in_cell(backend="ceiling")
        self.planted(lambda document: document["cells"].append(document["cells"][0]))
        self.planted(lambda document: document["backends"][0].update(kind="friend"))
        self.planted(lambda document: document.update(schema="flatline.bench/2"))


if __name__ == "__main__":
    unittest.main()
