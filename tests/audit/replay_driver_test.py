#!/usr/bin/env python3
"""Holds the drivers of replays to their promises: the recorded order across threads, each operation by its thread, a
time for each, and an end where the backend refuses.

    replay_driver_test.py ORDER_DRIVER POOL_DRIVER
"""
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import unittest

MARK = 0x31796c7065722d66
MOST = 0xffffffff
ORDER_DRIVER = POOL_DRIVER = None


def work(operations, classes):
    """The file: operations are (size, slot, thread, takes)."""
    threads = 1 + max(thread for _, _, thread, _ in operations)
    last = [max((i for i, each in enumerate(operations) if each[2] == thread), default=0) for thread in range(threads)]
    slots = 1 + max(slot for _, slot, _, _ in operations)
    return (struct.pack("<QQIIII", MARK, len(operations), threads, slots, len(classes), 0) +
            b"".join(struct.pack("<QQ", *each) for each in classes) +
            b"".join(struct.pack("<Q", each) for each in last) +
            b"".join(struct.pack("<QIHBB", size, slot, thread, takes, 0) for size, slot, thread, takes in operations))


def replay(driver, operations, classes):
    """The process's end, and the times that it wrote."""
    with tempfile.TemporaryDirectory() as folder:
        todo, times = pathlib.Path(folder, "operations"), pathlib.Path(folder, "times")
        todo.write_bytes(work(operations, classes))
        result = subprocess.run([driver, todo, times], capture_output=True, text=True, timeout=60, check=False)
        written = times.read_bytes() if times.exists() else b""
        return result, list(struct.iter_unpack("<II", written))


class ReplayDriver(unittest.TestCase):
    def test_keeps_the_recorded_order_across_threads(self):
        chosen = random.Random(1)
        threads = [0] + [chosen.randrange(4) for _ in range(999)]
        operations = [((i // 2 * 2 + 1 + i % 2) * 10 + thread, 0, thread, 1 - i % 2) for i, thread in enumerate(threads)]
        result, times = replay(ORDER_DRIVER, operations, [(16, 3)])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout.split()[2], "1000:0:0:4")
        self.assertEqual(len(times), 1000)

    def test_performs_threads_that_follow_each_other(self):
        operations = [((i + 1) * 10 + min(i // 2, 2), 0, min(i // 2, 2), 1 - i % 2) for i in range(10)]
        result, _ = replay(ORDER_DRIVER, operations, [(16, 3)])
        performed, wrong_order, _, begun = result.stdout.split()[2].split(":")  # an ended thread's number is used again
        self.assertEqual((performed, wrong_order, begun), ("10", "0", "3"), result.stderr)

    def test_times_each_call_and_the_first_writes_apart(self):
        operations = [(64, 0, 0, 1), (1 << 16, 1, 0, 1), (64, 0, 0, 0), (1 << 16, 1, 0, 0)]
        result, times = replay(POOL_DRIVER, operations, [(64, 1), (1 << 16, 1)])
        self.assertEqual(result.returncode, 0, result.stderr)
        rate, cost = (float(word) for word in result.stdout.split()[:2])
        self.assertGreater(rate, 0)
        self.assertGreater(cost, 0)
        self.assertTrue(all(0 < call < MOST for call, _ in times), times)
        self.assertTrue(all(written > 0 for _, written in times[:2]) and not any(written for _, written in times[2:]))

    def test_ends_where_the_backend_refuses(self):
        operations = [(64, 0, 0, 1), (64, 0, 0, 0), (64, 0, 0, 1), (64, 1, 0, 1)]
        result, _ = replay(POOL_DRIVER, operations, [(64, 1)])
        self.assertEqual(result.returncode, 3)
        self.assertIn("refused operation 4", result.stderr)

    def test_refuses_what_is_no_list_of_operations(self):
        with tempfile.TemporaryDirectory() as folder:
            todo = pathlib.Path(folder, "operations")
            todo.write_bytes(b"x" * 100)
            result = subprocess.run([POOL_DRIVER, todo, pathlib.Path(folder, "times")], capture_output=True, text=True,
                                    timeout=60, check=False)
        self.assertEqual(result.returncode, 2)
        self.assertIn("holds no operations", result.stderr)


if __name__ == "__main__":
    ORDER_DRIVER, POOL_DRIVER = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1])
