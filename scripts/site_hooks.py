"""What mkdocs needs to know of the manual, which is written to be read in the repository as well (mkdocs.yml).

Pages link to what lies outside of docs: the README, headers, examples, folders. Each of these becomes a page below
source/, with the file's text or the folder's list, and the links are changed to lead there. The sections of the site are
those of docs/index.md, so a page that the index does not name is refused.
"""
import pathlib
import posixpath
import re

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINK = re.compile(r"\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")
LANGUAGES = {".c": "c", ".h": "c", ".hpp": "cpp", ".cpp": "cpp", ".sh": "sh", ".py": "python"}


def repository_path(page):
    """The source of a page of the site, as a path in the repository."""
    if not page.startswith("source/"):
        return "docs/" + page
    path = page.removeprefix("source/")
    return path if (ROOT / path).exists() else path.removesuffix(".md")


def site_page(path):
    """The page of the site that is made from a file or folder of the repository."""
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return "source/" + (path if path.endswith(".md") else path + ".md")


def target_of(link, page):
    """The target of a link in a page, as a path in the repository; None if it is elsewhere."""
    path = posixpath.normpath(posixpath.join(posixpath.dirname(repository_path(page)), link))
    return path if "://" not in link and (ROOT / path).exists() else None


def text_of(path):
    """The page that is made from a file or folder outside of docs."""
    at = ROOT / path
    if at.is_dir():
        names = sorted(each.name for each in at.iterdir() if each.is_file())
        return "# %s\n\n" % path + "".join("- [%s](%s/%s)\n" % (name, at.name, name) for name in names)
    text = at.read_text(encoding="utf-8")
    if at.suffix == ".md":
        return text
    return "# %s\n\n````%s\n%s\n````\n" % (path, LANGUAGES.get(at.suffix, "text"), text.rstrip("\n"))


def has_links(path):
    return path.endswith(".md") or (ROOT / path).is_dir()


def name_of(title):
    """The text of a link as the name of a page: a capital is put at the start, commands stay as they are."""
    return title.replace("`", "") if title.startswith("`") else title[0].upper() + title[1:]


def on_config(config):
    sections, named = [{"The manual": "index.md"}], {"index.md"}
    for part in (ROOT / "docs/index.md").read_text(encoding="utf-8").split("\n## ")[1:]:
        pages = []
        for title, link, _ in LINK.findall(part):
            page = site_page(target_of(link, "index.md") or link)
            if page not in named:
                pages.append({name_of(title): page})
                named.add(page)
        sections.append({part.split("\n")[0]: pages})
    missing = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")} - named
    if missing:
        raise PluginError("docs/index.md names no %s: link to it there" % ", ".join(sorted(missing)))
    config["nav"] = sections
    return config


def on_files(files, config):
    ahead, seen = [file.src_uri for file in files.documentation_pages()], set()
    while ahead:
        page = ahead.pop()
        path = repository_path(page)
        text = text_of(path)
        for _, link, _ in LINK.findall(text):
            target = target_of(link, page)
            if target is None or target.startswith("docs/") or target in seen:
                continue
            seen.add(target)
            files.append(File(site_page(target), str(ROOT), config["site_dir"], config["use_directory_urls"]))
            if has_links(target):
                ahead.append(site_page(target))
    return files


def on_page_read_source(page, config):
    return text_of(repository_path(page.file.src_uri))


def on_page_markdown(markdown, page, config, files):
    def changed(link):
        target = target_of(link[2], page.file.src_uri)
        if target is None:
            return link[0]
        to = posixpath.relpath(site_page(target), posixpath.dirname(page.file.src_uri) or ".")
        return "[%s](%s%s)" % (link[1], to, link[3] or "")
    return LINK.sub(changed, markdown) if has_links(repository_path(page.file.src_uri)) else markdown
