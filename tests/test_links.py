"""Every page that another page, or the code, refers to is there, and so is the heading that the link names."""

import os
import re
from collections import Counter
from pathlib import Path

import drivers_page
import pytest
from docs_site import links, reached

ROOT = Path(__file__).resolve().parents[1]
NOT_OURS = {".venv", ".git", "target", "node_modules", "build", "dist", ".mypy_cache", ".ruff_cache", ".pytest_cache"}
SOURCES = {".py", ".rs", ".js", ".toml", ".sh", ".ipynb", ".html"}
FENCED = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"(?<![\w./-])(?:docs|benchmarks|fixtures)/(?:[\w-]+/)*[\w-]+\.md\b")
"""A page of this repository, named in the text of a program."""
SECTION = re.compile(r"docs/model\.md,? (C\.\d+)")


def files(suffixes: set[str]) -> list[Path]:
    found: list[Path] = []
    for folder, inside, names in os.walk(ROOT):
        inside[:] = set(inside) - NOT_OURS  # never walked: a build has some ten thousand files
        found += [path for name in names if (path := Path(folder, name)).suffix in suffixes and path.is_file()]
    return sorted(found)


PAGES = files({".md"})


def anchors(page: Path) -> set[str]:
    """What GitHub calls the headings of a page."""
    found: Counter[str] = Counter()
    names = set()
    for heading in re.findall(r"^#{1,6} +(.+)$", FENCED.sub("", page.read_text()), re.MULTILINE):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        slug = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        names.add(f"{slug}-{found[slug]}" if found[slug] else slug)
        found[slug] += 1
    return names


def broken(page: Path, link: str) -> bool:
    target, _, anchor = link.partition("#")
    path = (page.parent / target).resolve() if target else page
    return not path.exists() or bool(anchor and path.suffix == ".md" and anchor not in anchors(path))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_each_link_of_a_page_leads_to_a_page_and_a_heading(page):
    assert [link for link in links(page) if broken(page, link)] == []


def test_each_page_that_a_program_names_is_there():
    named = {(str(path.relative_to(ROOT)), name) for path in files(SOURCES) for name in NAMED.findall(path.read_text())}
    assert {(path, name) for path, name in named if not (ROOT / name).exists()} == set()
    assert ("latpcap/measures/health_codes.py", "docs/health.md") in named


def test_each_section_of_the_model_that_a_program_names_is_there():
    sections = set(re.findall(r"^## (C\.\d+)", (ROOT / "docs" / "model.md").read_text(), re.MULTILINE))
    assert {name for path in files(SOURCES) for name in SECTION.findall(path.read_text())} <= sections


def test_each_page_for_readers_can_be_reached_from_the_readme():
    assert set((ROOT / "docs").rglob("*.md")) - reached(ROOT / "README.md") == set()


def test_the_pages_for_readers_stay_short():
    """The page that is made of the table of drivers is looked up, not read."""
    pages = {*(ROOT / "docs").rglob("*.md")} - {drivers_page.PAGE}
    assert sum(len(page.read_text().split()) for page in pages) <= 42_000


@pytest.mark.parametrize("link", ["no.md", "README.md#no-such-heading", "#no"])
def test_a_link_that_leads_nowhere_is_noticed(link):
    assert broken(ROOT / "README.md", link)
