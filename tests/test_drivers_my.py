"""MySQL's clients: each capture's driver and framework are those of the program that made it, or unknown."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from conftest import FIXTURES

import latpcap

LABELS: dict[str, dict[str, Any]] = tomllib.loads((FIXTURES / "drivers-my.toml").read_text("utf-8"))
CAPTURES = sorted(
    path
    for pattern in (
        "programs/*-my.pcap.zst",
        "mysql/*.pcapng*",
        "clients/*.pcapng.zst",
        "drivers/*.pcapng.zst",
        "keys/*.pcapng*",
    )
    for path in FIXTURES.glob(pattern)
)
MIN_RECOGNISED_SHARE = {"driver": 0.99, "framework": 0.7}
"""Of the captures that the table's drivers and frameworks made."""


def label(path: Path) -> str | None:
    """The longest beginning of the capture's name that has a label."""
    return max((name for name in LABELS if path.name.startswith(name)), key=len, default=None)


@cache
def rows(path: Path) -> list[dict[str, Any]]:
    """MySQL's connections of the capture."""
    table = latpcap.read(path).connections[["protocol", "driver", "framework"]]
    return [row for row in table.to_dicts() if row["protocol"] == "mysql"]


def shown(path: Path, kind: str) -> set[str]:
    """The drivers or frameworks that they show."""
    return {row[kind] for row in rows(path) if row[kind]}


def captures(name: str) -> list[Path]:
    return [path for path in CAPTURES if label(path) == name and rows(path)]


def right(name: str, kind: str) -> set[str]:
    names = LABELS[name].get(kind, [])
    return {names} if isinstance(names, str) else set(names)


@pytest.mark.parametrize("name", LABELS)
def test_no_client_is_taken_for_another(name: str) -> None:
    assert captures(name)
    for path in captures(name):
        for kind in MIN_RECOGNISED_SHARE:
            assert shown(path, kind) <= right(name, kind), path.name


@pytest.mark.parametrize("kind", MIN_RECOGNISED_SHARE)
def test_most_captures_show_their_client(kind: str) -> None:
    labelled = [path for name, facts in LABELS.items() if kind in facts["shown"] for path in captures(name)]
    unknown = [path.name for path in labelled if not shown(path, kind)]
    assert len(unknown) <= (1 - MIN_RECOGNISED_SHARE[kind]) * len(labelled), unknown


def test_every_program_of_mysql_has_a_label() -> None:
    assert [path.name for path in CAPTURES if path.name.endswith("-my.pcap.zst") and label(path) is None] == []
