#!/usr/bin/env python3
"""code_blocks.py PROJECT: every code block of the manual is part of a program that the tests build and run.

Looks at README.md, CONTRIBUTING.md and all pages in docs below PROJECT:
  c, cpp   the block stands, line for line, in a file of examples/ (which tests/docs runs), at whatever indentation
  sh       each line stands so in examples/*.sh, or is `make` with targets that the Makefile has
  text     drawings and output; not looked at
A fence with no language or another one is an error, so that no block escapes by its label.
Prints one line a mistake; ends with 1 if there is any, with 2 if it finds no block at all to look at.
"""

import pathlib
import re
import subprocess
import sys
import textwrap

FENCE = re.compile(r"^(\s*)(```+)\s*(\S*)\s*$")
SUFFIXES = {"c": (".c",), "cpp": (".cpp",), "sh": (".sh",)}


class Block:
    def __init__(self, path, line, language):
        self.path, self.line, self.language, self.lines = path, line, language, []


def blocks_of(path):
    """The fenced blocks of a page; the last one ends with the page if nobody closed it."""
    found, current, closing = [], None, None
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        fence = FENCE.match(line)
        if current is None:
            if fence:
                current, closing = Block(path, number, fence.group(3)), fence.group(2)
        elif fence and fence.group(2) == closing and not fence.group(3):
            found.append(current)
            current = None
        else:
            current.lines.append(line)
    return found + ([current] if current else [])


def dedented(lines):
    return textwrap.dedent("\n".join(line.rstrip() for line in lines)).split("\n")


def stands_in(block, source):
    """Whether the lines follow one another in the source, all moved by the same indentation."""
    size = len(block)
    return any(dedented(source[at:at + size]) == block for at in range(len(source) - size + 1))


def make_accepts(project, line):
    """Whether `line` is make with targets that exist; nothing is run."""
    words = line.split("#")[0].split()
    if not words or words[0] != "make":
        return False
    dry = subprocess.run(["make", "--dry-run", "-C", str(project), *words[1:]], capture_output=True, check=False)
    return dry.returncode == 0


def mistakes_in(block, project, sources):
    where = f"{block.path.relative_to(project)}:{block.line}"
    if block.language == "text":
        return []
    if block.language not in SUFFIXES:
        return [f"{where}: a block labelled '{block.language}': label it c, cpp, sh or text"]
    candidates = [lines for path, lines in sources if path.suffix in SUFFIXES[block.language]]
    if block.language == "sh":
        wanted = [[line.strip()] for line in block.lines if line.strip()]
        missing = [line[0] for line in wanted if not make_accepts(project, line[0])
                   and not any(stands_in(line, lines) for lines in candidates)]
        return [f"{where}: no script of examples/ has the line: {line}" for line in missing]
    if any(stands_in(dedented(block.lines), lines) for lines in candidates):
        return []
    return [f"{where}: no program of examples/ has these lines; quote one of them exactly"]


def main(arguments):
    if len(arguments) != 2:
        print("code_blocks.py: name the project's folder", file=sys.stderr)
        return 2
    project = pathlib.Path(arguments[1]).resolve()
    pages = [page for page in (project / "README.md", project / "CONTRIBUTING.md") if page.exists()]
    pages += sorted((project / "docs").rglob("*.md"))
    sources = [(path, path.read_text(encoding="utf-8").splitlines())
               for path in sorted((project / "examples").glob("*")) if path.suffix in (".c", ".cpp", ".sh")]
    blocks = [block for page in pages for block in blocks_of(page)]
    if not any(block.language in SUFFIXES for block in blocks):
        print(f"code_blocks.py: no code block below {project}: is that the project's folder?", file=sys.stderr)
        return 2
    mistakes = [mistake for block in blocks for mistake in mistakes_in(block, project, sources)]
    print("\n".join(mistakes) if mistakes else f"{len(blocks)} blocks on {len(pages)} pages, all from examples/")
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
