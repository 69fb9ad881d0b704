#!/usr/bin/env python3
"""What `made_exports` writes is read back by decoders that know the formats and nothing of the project.

usage: exports_test.py MADE_EXPORTS [TEST]
"""
import gzip
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv[1]
VARINT, BYTES = 0, 2
# The fields of the messages of profile.proto that a profile may have here: name, and what it holds.
LINE = {1: ("function_id", "uint"), 2: ("line", "int")}
LABEL = {1: ("key", "int"), 2: ("str", "int")}
PROFILE = {
    1: ("sample_type", {1: ("type", "int"), 2: ("unit", "int")}),
    2: ("sample", {1: ("location_id", "packed"), 2: ("value", "packed"), 3: ("label", LABEL)}),
    3: ("mapping", {1: ("id", "uint"), 2: ("memory_start", "uint"), 3: ("memory_limit", "uint"),
                    4: ("file_offset", "uint"), 5: ("filename", "int"), 6: ("build_id", "int"),
                    7: ("has_functions", "uint"), 8: ("has_filenames", "uint"), 9: ("has_line_numbers", "uint"),
                    10: ("has_inline_frames", "uint")}),
    4: ("location", {1: ("id", "uint"), 2: ("mapping_id", "uint"), 3: ("address", "uint"), 4: ("line", LINE)}),
    5: ("function", {1: ("id", "uint"), 2: ("name", "int"), 3: ("system_name", "int"), 4: ("filename", "int"),
                     5: ("start_line", "int")}),
    6: ("string_table", "text"),
    10: ("duration_nanos", "int"),
    13: ("comment", "int"),
    14: ("default_sample_type", "int"),
}


def varint(data, at):
    number = shift = 0
    while True:
        number |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if not data[at - 1] & 128:
            return number, at


def signed(number):
    return number - (1 << 64) if number >> 63 else number


def decoded(data, fields):
    """A message: for each of its fields a list of what it holds."""
    message, at = {name: [] for name, _ in fields.values()}, 0
    while at < len(data):
        key, at = varint(data, at)
        name, kind = fields[key >> 3]
        if key & 7 == VARINT:
            number, at = varint(data, at)
            assert kind in ("int", "uint"), name
            message[name].append(signed(number) if kind == "int" else number)
            continue
        assert key & 7 == BYTES, "wire type %d" % (key & 7)
        length, at = varint(data, at)
        piece, at = data[at:at + length], at + length
        assert len(piece) == length, "cut off"
        if isinstance(kind, dict):
            message[name].append(decoded(piece, kind))
        elif kind == "text":
            message[name].append(piece.decode("utf-8"))
        else:
            place = 0
            while place < len(piece):
                number, place = varint(piece, place)
                message[name].append(signed(number))
    return message


def only(values):
    assert len(values) == 1, values
    return values[0]


class Profile:
    """A profile with its numbers resolved; it asserts what pprof checks when it loads one."""

    def __init__(self, path):
        raw = decoded(gzip.decompress(path.read_bytes()), PROFILE)
        self.texts = raw["string_table"]
        assert self.texts[0] == "" and len(set(self.texts)) == len(self.texts)
        self.types = [(self.text(each["type"]), self.text(each["unit"])) for each in raw["sample_type"]]
        self.default = self.text(raw["default_sample_type"])
        self.duration = only(raw["duration_nanos"])
        self.comment = self.text(raw["comment"])
        mappings, functions, locations = (self.by_id(raw[name]) for name in ("mapping", "function", "location"))
        self.program = self.text(mappings[1]["filename"]) if mappings else None
        self.locations = {}
        for number, location in locations.items():
            lines = [(self.text(functions[only(line["function_id"])]["name"]),
                      self.text(functions[only(line["function_id"])]["filename"]), only(line["line"]))
                     for line in location["line"]]
            assert lines
            self.locations[number] = self.text(mappings[only(location["mapping_id"])]["filename"]), lines
        self.symbolized = all(only(mapping[name]) == 1 for mapping in mappings.values() for name in
                              ("has_functions", "has_filenames", "has_line_numbers", "has_inline_frames"))
        self.samples = []
        for sample in raw["sample"]:
            assert len(sample["value"]) == len(self.types)
            labels = {self.text(label["key"]): self.text(label["str"]) for label in sample["label"]}
            stack = [self.locations[number] for number in sample["location_id"]]
            assert stack
            self.samples.append((labels, sample["value"], stack))

    def text(self, numbers):
        return self.texts[only(numbers)]

    @staticmethod
    def by_id(messages):
        found = {only(message["id"]): message for message in messages}
        assert len(found) == len(messages) and 0 not in found
        return found


class Exports(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        subprocess.run([PROGRAM, cls.folder], check=True, timeout=60)

    def files(self, ending):
        found = sorted(self.folder.glob("*" + ending))
        self.assertEqual(len(found), 14)
        return found

    def trace(self, path):
        return json.loads(path.read_bytes().decode("utf-8"))

    def test_a_profile_has_the_calls_by_stack_with_inlined_lines(self):
        profile = Profile(self.folder / "made.pb.gz")
        self.assertEqual(profile.types, [("calls", "count"), ("time", "nanoseconds"), ("worst", "nanoseconds"),
                                         ("space", "bytes")])
        self.assertEqual((profile.default, profile.duration), ("time", 4_250_000_000))
        self.assertEqual(profile.comment, "./render --fast")
        self.assertTrue(profile.symbolized)
        self.assertEqual(profile.program, "/home/a/render")
        self.assertEqual(len(profile.samples), 3)
        labels, values, stack = profile.samples[0]
        self.assertEqual(labels, {"operation": "operator new"})
        self.assertEqual(values, [700_000, 40_000_000, 2_000_000, 44_800_000])
        self.assertEqual(stack, [
            ("/home/a/render", [
                ("std::vector<float>::reserve(unsigned long)", "/usr/include/c++/12/vector.tcc", 79),
                ("mix", "/home/a/mix.cpp", 31),
                ("render(Frame&)", "/home/a/render.cpp", 123)]),
            ("/home/a/render", [("main", "/home/a/main.cpp", 7)]),
            ("/lib/x86_64-linux-gnu/libc.so.6", [("libc.so.6+0x27249", "", 0)])])
        self.assertEqual([sample[0]["operation"] for sample in profile.samples[1:]], ["free", "malloc"])

    def test_a_profile_has_each_function_and_address_once(self):
        profile = Profile(self.folder / "made.pb.gz")
        self.assertEqual(len(profile.locations), 4)

    def test_every_profile_can_be_read(self):
        for path in self.files(".pb.gz"):
            profile = Profile(path)
            self.assertEqual(len(profile.samples), 0 if path.name.startswith("empty") else 3, path.name)
            for _, values, _ in profile.samples:
                self.assertTrue(all(value >= 0 for value in values), (path.name, values))
        self.assertEqual(Profile(self.folder / "huge.pb.gz").samples[0][1][0], (1 << 63) - 1)

    def test_a_trace_has_an_event_for_each_slow_call_in_its_thread(self):
        events = self.trace(self.folder / "made.trace.json")["traceEvents"]
        named = {(each["name"], each["pid"], each["tid"]): each["args"]["name"] for each in events if each["ph"] == "M"}
        self.assertEqual(named, {("process_name", 100, 101): "render", ("thread_name", 100, 101): "render",
                                 ("thread_name", 100, 102): "worker"})
        calls = [each for each in events if each["ph"] == "X"]
        self.assertEqual([(each["name"], each["pid"], each["tid"], each["ts"], each["dur"]) for each in calls],
                         [("operator new", 100, 101, 1_500_000, 2000), ("free", 100, 102, 2_000_000, 12),
                          ("malloc", 100, 102, 2_500_000, 11)])
        self.assertEqual([each["args"]["cause"] for each in calls],
                         ["page fault", "system call read", "own work or the machine"])
        self.assertEqual(calls[0]["args"]["site"], "mix /home/a/mix.cpp:31")

    def test_a_profile_is_called_by_the_program_and_not_by_the_first_library(self):
        self.assertEqual(Profile(self.folder / "repeated.pb.gz").program, "/home/a/render")

    def test_of_the_calls_of_a_stall_the_slowest_has_the_stack(self):
        calls = [each for each in self.trace(self.folder / "repeated.trace.json")["traceEvents"] if each["ph"] == "X"]
        slowest, other = calls[0]["args"], calls[1]["args"]
        self.assertEqual(slowest["stack"][1:3], ["mix /home/a/mix.cpp:31", "render(Frame&) /home/a/render.cpp:123"])
        self.assertEqual(other["stack"], "at the slowest of these, at 1500000.000 us")
        self.assertEqual(other["site"], slowest["site"])

    def test_every_trace_can_be_read(self):
        for path in self.files(".trace.json"):
            for event in self.trace(path)["traceEvents"]:
                self.assertIn(event["ph"], ("M", "X"))
                if event["ph"] == "X":
                    self.assertTrue(all(isinstance(event[name], (int, float)) for name in ("ts", "dur")), event)
                    self.assertTrue(all(isinstance(event[name], int) for name in ("pid", "tid")), event)

    def test_folded_stacks_begin_at_the_root_and_end_with_the_ns_of_the_operation(self):
        self.assertEqual((self.folder / "made.folded").read_text().splitlines(), [
            "libc.so.6+0x27249;main;render(Frame&);mix;std::vector<float>::reserve(unsigned long);operator new 40000000",
            "work();free 20000000", "work();malloc 1000000"])

    def test_folded_stacks_have_one_line_each_whatever_the_names_are(self):
        for path in self.files(".folded"):
            if path.name.startswith("empty"):
                self.assertEqual(path.read_bytes(), b"")
                continue
            lines = path.read_bytes().decode("utf-8").split("\n")
            self.assertEqual(lines.pop(), "")
            frames = sorted(len(re.fullmatch(r"(.*) \d+", line)[1].split(";")) for line in lines)
            # Those of one name are the same stack: 2 frames. With the names as they were: 2, 2 and 6.
            self.assertEqual(frames, [2, 6] if path.name.startswith("named") else [2, 2, 6], path.name)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *("Exports." + test for test in sys.argv[2:])], verbosity=2)
