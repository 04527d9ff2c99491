"""PostgreSQL's clients: each capture's driver and framework are those of the program that made it, or unknown."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from conftest import FIXTURES

import latpcap

LABELS: dict[str, dict[str, Any]] = tomllib.loads((FIXTURES / "drivers-pg.toml").read_text("utf-8"))
CAPTURES = sorted(
    path
    for pattern in ("programs/*-pg.pcap.zst", "postgresql/*.pcapng*", "clients/*.pcapng.zst", "drivers/*.pcapng.zst")
    for path in FIXTURES.glob(pattern)
)


def label(path: Path) -> str | None:
    """The longest beginning of the capture's name that has a label."""
    return max((name for name in LABELS if path.name.startswith(name)), key=len, default=None)


@cache
def shown(path: Path) -> tuple[frozenset[str], frozenset[str]]:
    """The drivers and frameworks that PostgreSQL's connections of the capture show."""
    table = latpcap.read(path).connections
    rows = table[["protocol", "driver", "framework"]].to_dicts()
    ours = [row for row in rows if row["protocol"] == "postgresql"]
    return (
        frozenset(row["driver"] for row in ours if row["driver"]),
        frozenset(row["framework"] for row in ours if row["framework"]),
    )


def captures(name: str) -> list[Path]:
    return [path for path in CAPTURES if label(path) == name]


@pytest.mark.parametrize("name", LABELS)
def test_no_client_is_taken_for_another(name: str) -> None:
    driver, framework = LABELS[name]["driver"], LABELS[name].get("framework")
    right = {driver} if isinstance(driver, str) else set(driver)
    assert captures(name)
    for path in captures(name):
        drivers, frameworks = shown(path)
        assert drivers <= right, path.name
        assert frameworks <= {framework}, path.name


@pytest.mark.parametrize("name", [name for name, facts in LABELS.items() if "shown" in facts])
def test_a_client_that_shows_itself_is_recognised(name: str) -> None:
    every = [shown(path) for path in captures(name)]
    for kind, place in (("driver", 0), ("framework", 1)):
        if kind in LABELS[name]["shown"]:
            assert any(found[place] for found in every), kind


def test_every_capture_of_postgresql_has_a_label() -> None:
    of_others = ("mysql", "mariadb")
    assert [path.name for path in CAPTURES if label(path) is None and not any(o in path.name for o in of_others)] == []


def test_a_drivers_savepoints_are_answered_by_its_setting_for_them() -> None:
    found = latpcap.read(FIXTURES / "clients/pyodbc-postgresql.pcapng.zst").analyze().findings
    [chatter] = [each for each in found if each.code == "session-chatter"]
    assert chatter.fix.endswith(
        "psqlODBC: `Protocol=7.4-1`: no savepoint around each statement, so a failed one fails its transaction."
    )
