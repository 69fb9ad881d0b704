#!/usr/bin/env python3
"""links.py PROJECT: every relative link of the manual leads to a file or folder of the project, and to a heading of it.

Ends with 1 and one line a mistake if not, with 2 if there is no link at all.
"""

import pathlib
import re
import sys

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def anchors(page):
    """The names that headings of a page go by in links."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def mistake_in(page, link):
    target, _, anchor = link.partition("#")
    to = page if not target else page.parent / target
    if not to.exists():
        return f"{page}: {link} leads nowhere"
    if anchor and anchor not in anchors(to):
        return f"{page}: {to} has no heading for {link}"
    return None


def main(project):
    pages = [*project.glob("*.md"), *(project / "docs").rglob("*.md")]
    links = [(page, link) for page in pages for link in LINK.findall(page.read_text(encoding="utf-8"))
             if "://" not in link]
    if not links:
        print(f"links.py: no link below {project}: is that the project's folder?", file=sys.stderr)
        return 2
    mistakes = [mistake for page, link in links if (mistake := mistake_in(page, link))]
    print("\n".join(mistakes) if mistakes else f"{len(links)} links, all of which lead somewhere")
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
