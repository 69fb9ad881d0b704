#!/usr/bin/env python3
"""code_blocks.py itself, on small projects with a planted mismatch each."""

import contextlib
import io
import pathlib
import tempfile
import unittest

import code_blocks

PROGRAM = "int main(void) {\n    int a = 1;\n    return a - 1;\n}\n"
SCRIPT = "set -e\nls docs\n"


class CodeBlocks(unittest.TestCase):
    def run_on(self, page):
        """The status and the output for a project with one page."""
        with tempfile.TemporaryDirectory() as folder:
            project = pathlib.Path(folder)
            (project / "examples").mkdir()
            (project / "examples" / "one.c").write_text(PROGRAM, encoding="utf-8")
            (project / "examples" / "two.sh").write_text(SCRIPT, encoding="utf-8")
            (project / "Makefile").write_text("bench:\n\ttrue\n", encoding="utf-8")
            (project / "README.md").write_text(page, encoding="utf-8")
            output = io.StringIO()
            with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
                status = code_blocks.main(["code_blocks.py", folder])
            return status, output.getvalue()

    def test_accepts_a_whole_program(self):
        self.assertEqual(self.run_on(f"```c\n{PROGRAM}```\n")[0], 0)

    def test_accepts_part_of_a_program_at_another_indentation(self):
        self.assertEqual(self.run_on("```c\nint a = 1;\nreturn a - 1;\n```\n")[0], 0)

    def test_notices_one_changed_character(self):
        status, output = self.run_on("```c\nint a = 2;\n```\n")
        self.assertEqual(status, 1)
        self.assertIn("README.md:1", output)

    def test_notices_a_line_left_out(self):
        self.assertEqual(self.run_on("```c\nint main(void) {\n    return a - 1;\n}\n```\n")[0], 1)

    def test_notices_changed_relative_indentation(self):
        self.assertEqual(self.run_on("```c\nint a = 1;\n  return a - 1;\n```\n")[0], 1)

    def test_notices_c_that_stands_only_in_a_script(self):
        self.assertEqual(self.run_on("```c\nls docs\n```\n")[0], 1)

    def test_accepts_commands_of_scripts_and_make_targets(self):
        self.assertEqual(self.run_on("```sh\nmake bench\nls docs\n```\n")[0], 0)

    def test_notices_a_command_that_nothing_runs(self):
        self.assertEqual(self.run_on("```sh\nls examples\n```\n")[0], 1)

    def test_notices_a_make_target_that_does_not_exist(self):
        self.assertEqual(self.run_on("```sh\nmake benchmark\n```\n")[0], 1)

    def test_notices_blocks_that_hide_behind_their_label(self):
        for label in ("", "C", "bash", "console"):
            self.assertEqual(self.run_on(f"```c\nint a = 1;\n```\n\n```{label}\nint b;\n```\n")[0], 1, label)

    def test_leaves_text_alone(self):
        self.assertEqual(self.run_on("```c\nint a = 1;\n```\n\n```text\n[ a | b ]\n```\n")[0], 0)

    def test_notices_a_block_that_is_never_closed(self):
        self.assertEqual(self.run_on("```c\nint a = 2;\n")[0], 1)

    def test_fails_where_there_is_nothing_to_look_at(self):
        self.assertEqual(self.run_on("no code\n")[0], 2)


if __name__ == "__main__":
    unittest.main()
