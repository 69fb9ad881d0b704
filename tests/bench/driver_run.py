"""One run of a driver, for the tests of what drivers promise."""

import json
import struct
import subprocess


class Series:
    def __init__(self, line, values, ticks_per_ns):
        self.line, self.values, self.ticks_per_ns = line, values, ticks_per_ns

    def ns(self):
        return [value / self.ticks_per_ns for value in self.values]

    def each(self):
        return [value / self.line["calls"] for value in self.values]


class Run:
    """One run of a driver: what it said, or how it ended."""

    def __init__(self, driver, work, processor=-1, preload=None, fault=None, seed=1):
        suite, size, calls, order, samples, load = work
        environment = {"PATH": "/usr/bin:/bin"}
        if preload:
            environment["LD_PRELOAD"] = str(preload)
        if fault:
            environment["FLATLINE_FAULT"] = fault
        command = [driver, suite, size, calls, order, samples, seed, processor, load]
        done = subprocess.run([str(word) for word in command], capture_output=True, env=environment, timeout=120)
        self.status, self.complaint = done.returncode, done.stderr.decode()
        self.series = {}
        if self.status == 0:
            line, _, rest = done.stdout.partition(b"\n")
            self.line = json.loads(line)
            for each in self.line["series"]:
                size = 8 * each["samples"]
                values = struct.unpack(f"={each['samples']}Q", rest[:size])
                self.series[each["operation"]] = Series(each, values, self.line["ticks_per_ns"])
                rest = rest[size:]
            assert rest == b"", "more samples than were announced"
