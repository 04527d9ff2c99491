"""Findings over the labelled corpus and every other fixture whose findings are clear: precision and recall of each."""

from __future__ import annotations

import tomllib
from collections import Counter
from functools import cache

import pytest
from conftest import FIXTURES, analysed

pytest.importorskip("latpcap._core", reason="the core is not built")

from latpcap.findings.registry import HEALTHY, NO_FINDINGS, PATTERNS

RATE = 0.95
CODES = [*(pattern.code for pattern in PATTERNS), HEALTHY.code]
ELSEWHERE = {"statement-cycle"}
"""Codes of patterns that are younger than the corpus: the catalogues of programs show them."""


@cache
def labelled() -> dict[str, frozenset[str]]:
    """Every fixture with labels, by its name: its own `findings`, or what `findings.toml` says of older ones."""
    own = {
        f"findings/{path.stem}": frozenset(tomllib.loads(path.read_text())["findings"])
        for path in (FIXTURES / "findings").glob("*.toml")
    }
    others = tomllib.loads((FIXTURES / "findings.toml").read_text())
    return own | {name: frozenset(labels) for name, labels in others["fixtures"].items()}


@cache
def told(name: str) -> Counter[str]:
    """The codes that latpcap tells of a fixture; that nothing is to be fixed is one, whatever the network takes."""
    codes = (each.code for each in analysed(name).findings)
    return Counter(HEALTHY.code if code in NO_FINDINGS else code for code in codes)


def wrong() -> list[str]:
    return [
        f"{name}: {sorted(told(name))} instead of {sorted(labels)}"
        for name, labels in labelled().items()
        if set(told(name)) != labels
    ]


@pytest.mark.parametrize("code", [code for code in CODES if code not in ELSEWHERE])
def test_each_finding_is_right_and_misses_nothing(code: str) -> None:
    names = labelled()
    wanted = {name for name, labels in names.items() if code in labels}
    found = {name for name in names if code in told(name)}
    right = len(wanted & found)
    assert wanted, f"no capture of the corpus shows {code}"
    assert right >= RATE * len(found), f"false: {sorted(found - wanted)}"
    assert right >= RATE * len(wanted), f"missed: {sorted(wanted - found)}"


def test_the_corpus_holds_both_servers_and_is_small() -> None:
    captures = list((FIXTURES / "findings").glob("*.pcapng.zst"))
    assert sum(path.stat().st_size for path in captures) < 1_500_000
    servers = {
        tomllib.loads(path.with_name(f"{path.name.split('.')[0]}.toml").read_text())["server"] for path in captures
    }
    assert len(servers) >= 2


def table() -> str:
    """Precision and recall of each finding; docs/findings.md says what they come to."""
    rows = ["| finding | captures that show it | reported | right | precision | recall |", "|---|--:|--:|--:|--:|--:|"]
    names = labelled()
    for code in CODES:
        wanted = {name for name, labels in names.items() if code in labels}
        found = {name for name in names if code in told(name)}
        right = len(wanted & found)
        rows.append(
            f"| {code} | {len(wanted)} | {len(found)} | {right} "
            f"| {right / max(len(found), 1):.2f} | {right / max(len(wanted), 1):.2f} |"
        )
    return "\n".join(rows)


if __name__ == "__main__":
    print(table())
    print("\n".join(wrong()))
