#!/usr/bin/env python3
"""metrics_test.py METRICS: what flat_engine_metrics wrote, read by Prometheus's own client.

Exit status 77: the system's Python has no prometheus_client (Debian: python3-prometheus-client).
"""
import re
import sys
import unittest

try:
    from prometheus_client.parser import text_string_to_metric_families
except ImportError:
    sys.exit(77)

METRICS = sys.argv.pop(1)
LABEL = r'[a-z_]+="[^"]*"'


class Metrics(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with open(METRICS, encoding="utf-8") as file:
            cls.text = file.read()
        cls.families = list(text_string_to_metric_families(cls.text))

    def samples(self, name):
        return [sample for family in self.families for sample in family.samples if sample.name == name]

    def test_every_family_is_described_once_and_named_by_the_conventions(self):
        names = [family.name for family in self.families]
        self.assertEqual(len(names), len(set(names)))
        self.assertGreater(len(names), 20)
        for family in self.families:
            self.assertTrue(family.documentation.endswith("."), family.name)
            self.assertRegex(family.name, r"^flatline_engine_[a-z_]+$")
            self.assertIn(family.type, ("counter", "gauge", "histogram"), family.name)
            self.assertGreater(len(family.samples), 0, family.name)
        for line in self.text.splitlines():
            self.assertRegex(line, r'^(# (HELP|TYPE) [a-z_]+ .*|[a-z_]+(\{%s(,%s)*\})? [0-9.]+)$' % (LABEL, LABEL))
        for name in re.findall(r"# TYPE (\S+) counter", self.text):
            self.assertTrue(name.endswith("_total"), name)
        for name in re.findall(r"# TYPE (\S+) histogram", self.text):
            self.assertTrue(name.endswith("_seconds"), name)

    def test_buckets_are_cumulative_and_end_with_all(self):
        for name in ("waiting", "service", "sojourn"):
            for worker in ("0", "1"):
                of = [s for s in self.samples("flatline_engine_%s_seconds_bucket" % name)
                      if s.labels["worker"] == worker]
                limits = [float(sample.labels["le"]) for sample in of]
                counts = [sample.value for sample in of]
                self.assertEqual(limits, sorted(set(limits)))
                self.assertEqual(limits[-1], float("inf"))
                self.assertLessEqual(len(limits), 30)
                self.assertEqual(counts, sorted(counts))
                count, = [s.value for s in self.samples("flatline_engine_%s_seconds_count" % name)
                          if s.labels["worker"] == worker]
                self.assertEqual(counts[-1], count)
                self.assertGreater(count, 0)

    def test_types_have_their_names(self):
        types = {sample.labels["type"] for sample in self.samples("flatline_engine_service_estimate_seconds")}
        self.assertEqual(types, {"quote", "risk", "report"})

    def test_what_was_accepted_has_ended(self):
        accepted = sum(sample.value for sample in self.samples("flatline_engine_tasks_accepted_total"))
        ended = sum(sample.value for sample in self.samples("flatline_engine_tasks_ended_total"))
        self.assertEqual(accepted, ended)
        self.assertGreater(sum(sample.value for sample in self.samples("flatline_engine_refused_total")), 0)


if __name__ == "__main__":
    unittest.main()
