#!/usr/bin/env python3
"""names.py finds a name that is planted twice, and lets pass what is one meaning."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parent / "names.py"


class Names(unittest.TestCase):
    def found(self, **files):
        """What the script says of a project with these files. In a name two lines stand for a dot, one for a slash."""
        with tempfile.TemporaryDirectory() as folder:
            for name, text in {"src_core_pool__h": "struct flat_pool {};\n", **files}.items():
                path = pathlib.Path(folder, name.replace("__", ".").replace("_", "/"))
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            done = subprocess.run([sys.executable, "-B", str(SCRIPT), folder], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0 if done.stdout == "each name has one meaning\n" else 1, done.stderr)
            return done.stdout

    def test_a_macro(self):
        one = "#define STEP 4 /* bytes */\n"
        self.assertIn("STEP means more than one thing: src/core/heap.h, src/malloc/runs.c",
                      self.found(src_core_heap__h=one, src_malloc_runs__c="#define STEP 5\n"))
        self.assertIn("one meaning", self.found(src_core_heap__h=one, src_malloc_runs__c="#define STEP 4\n"))
        self.assertIn("one meaning", self.found(src_core_heap__h=one + "#undef STEP\n#define STEP 5\n"))
        self.assertIn("one meaning", self.found(src_core_heap__c=one, src_malloc_runs__c="#define STEP 5\n"))
        self.assertIn("one meaning", self.found(src_core_heap__h=one, src_malloc_runs__c="// #define STEP 5\n"))

    def test_a_function(self):
        inline = "static inline int is_live(int state) {\n    return state;\n}\n"
        self.assertIn("is_live means", self.found(src_core_heap__h=inline, src_malloc_states__h=inline))
        self.assertIn("is_live means",
                      self.found(src_core_heap__h=inline, src_malloc_a__c="ALWAYS_INLINE int is_live(int a) {\n"))

    def test_a_function_that_others_call(self):
        one = "void flat_unmap(char *mapping,\n                size_t size) {\n}\n"
        self.assertIn("flat_unmap means",
                      self.found(src_os_map__c=one, src_malloc_mapping__c="bool flat_unmap(void) {\n"))
        self.assertIn("one meaning", self.found(src_os_map__c=one, src_malloc_mapping__c="    flat_unmap(at, 1);\n"))
        self.assertIn("one meaning", self.found(src_os_map__c=one, src_os_map__h="void flat_unmap(char *, size_t);\n"))

    def test_a_type(self):
        self.assertIn("Plan means",
                      self.found(src_plan_plan__hpp="struct Plan {\n", src_cli_text__cpp="class Plan final {\n"))
        self.assertIn("flat_pool means", self.found(src_os_pool__h="typedef struct flat_pool {\n"))
        self.assertIn("one meaning",
                      self.found(src_plan_plan__hpp="struct Plan;\n", src_cli_text__hpp="struct Plan {\n"))
        self.assertIn("one meaning",
                      self.found(src_bench_driver_a__h="struct Plan {\n", src_core_b__h="struct Plan {\n"))

    def test_nothing_there(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, "-B", str(SCRIPT), folder], capture_output=True)
            self.assertEqual(done.returncode, 2)


if __name__ == "__main__":
    unittest.main()
