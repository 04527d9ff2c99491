"""The documentation as a site: each page has its place in it, and each command a page."""

from __future__ import annotations

from pathlib import Path

import click
import docs_site
import pytest
from conftest import ROOT

from latpcap.cli import cli


def pages(nav: docs_site.Nav) -> list[str]:
    return [page for _, to in nav for page in ([to] if isinstance(to, str) else pages(to))]


def test_each_page_has_one_place_in_the_four_parts() -> None:
    nav = docs_site.navigation([])
    there = sorted(page for page in pages(nav) if page.startswith("docs/"))
    assert there == sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md"))
    assert [title for title, _ in nav[2:]] == list(docs_site.PARTS)


def test_what_a_page_leads_to_is_a_file() -> None:
    """A folder is a page on GitHub and nothing on the site."""
    assert [path for path in docs_site.reached(ROOT / "README.md") if not path.is_file()] == []


@pytest.mark.parametrize("command", cli.commands.values(), ids=lambda command: command.name)
def test_the_page_of_a_command_explains_all_its_options(command: click.Command) -> None:
    page = docs_site.command_page(command)
    explained = [line.split("`")[1] for line in page.splitlines() if line.startswith("| `")]
    for option in command.get_params(docs_site.context_of(command)):
        if isinstance(option, click.Option) and not option.hidden:
            assert any(option.opts[-1] in term for term in explained)
    assert "\n    " not in page  # which would be code


def test_help_is_shown_as_it_stands() -> None:
    assert docs_site.escaped("a_b > `c_d` [x]") == r"a\_b \> `c_d` \[x\]"


def test_the_pages_are_laid_out_as_in_the_repository(tmp_path: Path) -> None:
    docs_site.stage(tmp_path)
    assert (tmp_path / "pages" / "docs" / "model.md").read_bytes() == (ROOT / "docs" / "model.md").read_bytes()
    assert (tmp_path / "pages" / "benchmarks" / "results" / "speed.md").read_text().startswith("---\nsearch:")
    assert 'nav = [{ "latpcap" = "README.md" }' in (tmp_path / "zensical.toml").read_text()
