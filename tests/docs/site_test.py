#!/usr/bin/env python3
"""site_test.py MKDOCS PROJECT: the manual's web site is built without a warning, each of its links leads to a page
of it and to a place on that page, and nothing is loaded from another site. Planted mistakes are found."""
import html.parser
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import urllib.parse

PROJECT = pathlib.Path(sys.argv.pop()).resolve()
MKDOCS = sys.argv.pop()


class Page(html.parser.HTMLParser):
    """The places that links of other pages can lead to, its links, and what is loaded to show it."""

    def __init__(self, path):
        super().__init__()
        self.places, self.links, self.loaded = set(), [], []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        has = dict(attributes)
        self.places |= {has[name] for name in ("id", "name") if has.get(name)}
        if tag == "a" and "href" in has:
            self.links.append(has["href"])
        if "src" in has:
            self.loaded.append(has["src"])
        if tag == "link" and has.get("rel") in ("stylesheet", "icon", "shortcut icon", "preload", "preconnect"):
            self.loaded.append(has["href"])


def mistakes_of(site):
    pages = {path: Page(path) for path in site.rglob("*.html") if path.name != "404.html"}  # its links need a server
    for path, page in pages.items():
        for link in page.links + page.loaded:
            to = urllib.parse.urlsplit(link)
            if to.scheme or to.netloc:
                if link in page.loaded:
                    yield "%s loads %s" % (path.relative_to(site), link)
                continue
            target = (path.parent / urllib.parse.unquote(to.path)).resolve() if to.path else path
            if not target.is_file():
                yield "%s: %s leads nowhere" % (path.relative_to(site), link)
            elif to.fragment and target in pages and urllib.parse.unquote(to.fragment) not in pages[target].places:
                yield "%s: there is no %s" % (path.relative_to(site), link)


class Site(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def build(self, project):
        return subprocess.run([MKDOCS, "build", "--strict", "--config-file", str(project / "mkdocs.yml"), "--site-dir",
                               str(self.folder / "site")], capture_output=True, text=True)

    def project_with(self, **pages):
        """A copy of the project whose pages of docs are changed: name and text."""
        project = self.folder / "project"
        project.mkdir()
        for each in PROJECT.iterdir():
            if each.name in ("docs", "scripts"):
                shutil.copytree(each, project / each.name)
            elif each.name != "build":
                (project / each.name).symlink_to(each)
        (project / "mkdocs.yml").unlink()
        shutil.copy(PROJECT / "mkdocs.yml", project)
        for name, text in pages.items():
            (project / "docs" / (name + ".md")).write_text(text, encoding="utf-8")
        return project

    def test_leads_nowhere_wrong(self):
        built = self.build(PROJECT)
        self.assertEqual(built.returncode, 0, built.stderr)
        self.assertNotIn("WARNING", built.stderr)
        site = self.folder / "site"
        self.assertEqual(list(mistakes_of(site)), [])
        self.assertTrue((site / "source/include/flatline/pool.h.html").exists())

        (site / "planted.html").write_text("<a href='heap.html#nowhere'></a><a href='no.html'></a>"
                                           "<script src='https://example.org/a.js'></script>", encoding="utf-8")
        self.assertEqual(list(mistakes_of(site)), ["planted.html: there is no heap.html#nowhere",
                                                   "planted.html: no.html leads nowhere",
                                                   "planted.html loads https://example.org/a.js"])

    def test_refuses_a_link_to_no_page(self):
        built = self.build(self.project_with(pool="# The pool\n\nSee [that](nowhere.md).\n"))
        self.assertNotEqual(built.returncode, 0)
        self.assertIn("nowhere.md", built.stderr)

    def test_refuses_a_page_that_no_reader_finds(self):
        built = self.build(self.project_with(forgotten="# Forgotten\n"))
        self.assertNotEqual(built.returncode, 0)
        self.assertIn("docs/index.md names no forgotten.md", built.stderr)


if __name__ == "__main__":
    unittest.main()
