"""`latpcap explain` says what the pages say, and no output sends a reader to a page that an installation lacks."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import explained
import pytest
from conftest import FIXTURES

from latpcap import cli
from latpcap.cli.explain import TOPICS
from latpcap.findings.patterns.healthy import NETWORK_BOUND
from latpcap.findings.registry import HEALTHY, PATTERNS
from latpcap.measures.error_classes import CLASSES
from latpcap.measures.health_codes import ADVICE
from latpcap.protocols.drivers import Setting, table

Run = Callable[..., subprocess.CompletedProcess[bytes]]

EVERY_PATTERN = (*PATTERNS, HEALTHY, NETWORK_BOUND)
PAGES = {page.name for page in (explained.ROOT / "docs").rglob("*.md")} - {"report.md"}
"""`-o report.md` is a report's usual name."""


def pages_named(text: str) -> list[str]:
    return [*re.findall(r"\bdocs/", text), *PAGES.intersection(re.findall(r"[\w-]+\.md", text))]


def said(*arguments: str, latpcap: Run) -> str:
    return " ".join(latpcap("explain", *arguments).stdout.decode().split())


@pytest.mark.parametrize("topic", TOPICS)
def test_the_text_of_a_topic_is_its_page(topic: str) -> None:
    """After a change of the page: `python tests/reference.py`."""
    assert explained.page(topic).read_text() == explained.as_text(topic)


@pytest.mark.parametrize("pattern", EVERY_PATTERN, ids=lambda pattern: pattern.code)
def test_a_finding_is_explained(pattern, latpcap: Run) -> None:  # type: ignore[no-untyped-def]
    shown = said(pattern.code, latpcap=latpcap)
    assert all(text in shown for text in (pattern.why, pattern.example, pattern.is_not))
    for fix in pattern.fixes.values():
        assert (fix if isinstance(fix, str) else fix.general) in shown
    assert pages_named(shown) == []


def test_codes_of_all_kinds_are_explained(latpcap: Run) -> None:
    listed = said(latpcap=latpcap)
    for code in (*(each.code for each in EVERY_PATTERN), *ADVICE, *CLASSES, *TOPICS):
        assert code in listed
    for code in (*ADVICE, *CLASSES):
        shown = said(code, latpcap=latpcap)
        assert code in shown
        assert pages_named(shown) == []


def test_a_note_is_explained_by_its_effect_its_rule_and_what_to_do(latpcap: Run) -> None:
    shown = said("no-login", latpcap=latpcap)
    parts = ("Health note no-login", "Effect on the figures: these", "Recognised by Connections closed", "To do Let")
    assert [part for part in parts if part not in shown] == []
    assert sorted(parts, key=shown.index) == list(parts)


def test_a_code_of_two_kinds_is_explained_as_both(latpcap: Run) -> None:
    shown = said("delayed-ack", latpcap=latpcap)
    assert "Finding delayed-ack" in shown
    assert "Health note delayed-ack" in shown


def test_the_settings_of_clients_are_those_of_the_table(latpcap: Run) -> None:
    shown = {pattern.code: said(pattern.code, latpcap=latpcap) for pattern in PATTERNS if pattern.fix}
    for client in (*table().drivers, *table().frameworks):
        for setting in client.settings:
            code = {"row-by-row-update": "row-by-row-dml"}.get(setting.pattern, setting.pattern.partition("/")[0])
            assert " ".join(setting.advice.split()) in shown[code], (client.name, setting.pattern)


def test_every_setting_is_of_a_kind_that_a_finding_asks_for() -> None:
    keys = {fix.key for each in EVERY_PATTERN for fix in each.fixes.values() if not isinstance(fix, str)}
    settings: list[tuple[str, Setting]] = [
        (client.name, each) for client in (*table().drivers, *table().frameworks) for each in client.settings
    ]
    assert [(name, each.pattern) for name, each in settings if each.pattern not in keys] == []


def test_a_wrong_code_is_told_with_the_nearest_ones(latpcap: Run) -> None:
    done = latpcap("explain", "nplus1")
    assert done.returncode == 2
    assert done.stderr.decode().startswith("latpcap: nothing is called `nplus1`; did you mean `n+1`?")
    assert done.stderr.decode().count("\n") == 1
    assert latpcap("explain", "\x1b[31mx").stderr.decode().count("\x1b") == 0


# --- no output names a page that an installation lacks ---------------------------------------------------------------


@pytest.mark.parametrize("name", [*cli.cli.commands, None])
def test_no_help_names_a_page(name: str | None, latpcap: Run) -> None:
    arguments = ["--help"] if name is None else [name, "--help", "--all"]
    assert pages_named(latpcap(*arguments).stdout.decode()) == []


@pytest.mark.parametrize("name", ["mysql/tls12-nplus1-50.pcapng", "findings/failing-my.pcapng.zst"])
@pytest.mark.parametrize("suffix", ["txt", "md", "html", "json"])
def test_no_report_names_a_page(name: str, suffix: str, tmp_path: Path, latpcap: Run) -> None:
    latpcap("analyze", FIXTURES / name, "-v", "-o", tmp_path / f"report.{suffix}")
    text = (tmp_path / f"report.{suffix}").read_text()
    assert suffix == "json" or "latpcap explain" in text
    assert pages_named(text) == []


def test_no_text_of_the_program_names_a_page() -> None:
    """Comments and docstrings may: only those who have the sources read them."""
    named = []
    for path in sorted((explained.ROOT / "latpcap").rglob("*.py")):
        tree = ast.parse(path.read_text())
        alone = {id(each.value) for each in ast.walk(tree) if isinstance(each, ast.Expr)}
        texts = (each for each in ast.walk(tree) if isinstance(each, ast.Constant) and id(each) not in alone)
        named += [(path.name, text) for text in (each.value for each in texts) if "docs/" in str(text)]
    for path in sorted((explained.ROOT / "core/src").rglob("*.rs")):
        named += [(path.name, text) for text in re.findall(r'"[^"\n]*\bdocs/[^"\n]*"', path.read_text())]
    assert named == []
