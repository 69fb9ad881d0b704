#!/usr/bin/env python3
"""Plants another figure in a copy of each page that scripts/certificate writes, and requires that it is noticed.

    certificate_test.py PROJECT
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

PROJECT = pathlib.Path(sys.argv[1])


def checked(root):
    return subprocess.run([sys.executable, "-B", str(PROJECT / "scripts/certificate"), "--root", str(root), "check"],
                          stdout=subprocess.DEVNULL).returncode


def main():
    missed = []
    for page, before, after in (("README.md", " memory accesses for an alloc", "1 memory accesses for an alloc"),
                                ("docs/proof.md", "| `flat_pool_free` | ", "| `flat_pool_free` | 1"),
                                ("tests/prove/limits/x86_64-gcc-O2.json", '"loads": ', '"loads": 1'), (None, "", "")):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for part in ("docs", "tests/prove/limits"):
                shutil.copytree(PROJECT / part, root / part)
            shutil.copy(PROJECT / "README.md", root)
            if page:
                text = (root / page).read_text()
                (root / page).write_text(text.replace(before, after, 1))
                if text == (root / page).read_text():
                    missed.append("%s no longer has `%s`" % (page, before))
            if checked(root) != (1 if page else 0):
                missed.append("a planted figure in %s" % page if page else "the pages as they are")
    print("\n".join("MISS " + each for each in missed))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
