"""Blocks that nobody touches turn the ranking of two pools over: shown by a cache simulator, which counts alike
wherever it runs.

usage: untouched_blocks_test.py UNTOUCHED_BLOCKS
"""

import pathlib
import re
import subprocess
import sys
import unittest

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
CACHES = ["--I1=32768,8,64", "--D1=32768,8,64", "--LL=1048576,16,64"]  # bytes, ways, bytes of a line


def count(name, text):
    return int(re.search(rf"{name}:\s+([\d,]+)", text).group(1).replace(",", ""))


def cost(design, touch):
    """Cycles by the usual estimate of cachegrind's users: 1 an instruction, 10 a miss of the first, 100 of the last."""
    result = subprocess.run(["valgrind", "--tool=cachegrind", "--cache-sim=yes", *CACHES,
                             "--cachegrind-out-file=/dev/null", str(PROGRAM), design, touch],
                            capture_output=True, text=True, check=True, timeout=300)
    said = result.stderr
    return count(r"I\s+refs", said) + 10 * count(r"D1\s+misses", said) + 100 * count(r"LLd misses", said)


def turns_over(costs):
    """Whether the cheaper of two designs is another one once blocks are touched."""
    cheaper = {touch: min(("list", "bitmap"), key=lambda design: costs[design, touch])
               for touch in ("untouched", "touched")}
    return cheaper["untouched"] != cheaper["touched"]


class UntouchedBlocks(unittest.TestCase):
    def test_the_ranking_turns_over_once_blocks_are_touched(self):
        costs = {(design, touch): cost(design, touch)
                 for design in ("list", "bitmap") for touch in ("untouched", "touched")}
        print({f"{design}, {touch}": f"{cycles:,}" for (design, touch), cycles in costs.items()})
        self.assertTrue(turns_over(costs))
        self.assertLess(costs["bitmap", "untouched"], costs["list", "untouched"])
        self.assertLess(costs["list", "touched"], costs["bitmap", "touched"])

    def test_a_ranking_that_stays_is_not_called_turned(self):
        self.assertFalse(turns_over({("list", "untouched"): 1, ("bitmap", "untouched"): 2,
                                     ("list", "touched"): 3, ("bitmap", "touched"): 4}))

    def test_wrong_arguments_are_refused(self):
        self.assertEqual(subprocess.run([str(PROGRAM), "list"], capture_output=True, check=False).returncode, 2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
