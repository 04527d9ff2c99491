"""MySQL's and PostgreSQL's clients: each capture shows the driver and framework that made it, or none."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from conftest import FIXTURES

import latpcap
from latpcap.protocols.drivers import setting

LABELS: dict[str, dict[str, dict[str, Any]]] = {
    "mysql": tomllib.loads((FIXTURES / "drivers-my.toml").read_text("utf-8")),
    "postgresql": tomllib.loads((FIXTURES / "drivers-pg.toml").read_text("utf-8")),
}
FOLDERS = {
    "mysql": ("programs/*-my.pcap.zst", "mysql/*.pcapng*", "keys/*.pcapng*"),
    "postgresql": ("programs/*-pg.pcap.zst", "postgresql/*.pcapng*"),
}
CAPTURES = {
    protocol: sorted(
        path
        for pattern in (*patterns, "clients/*.pcapng.zst", "drivers/*.pcapng.zst")
        for path in FIXTURES.glob(pattern)
    )
    for protocol, patterns in FOLDERS.items()
}
KINDS = ("driver", "framework")
MIN_SHOWN_SHARE = {"driver": 0.99, "framework": 0.7}
"""The least share of the captures whose label says that they show it."""
EVERY = [(protocol, name) for protocol, labels in LABELS.items() for name in labels]


def label(protocol: str, path: Path) -> str | None:
    """The longest beginning of the capture's name that has a label."""
    return max((name for name in LABELS[protocol] if path.name.startswith(name)), key=len, default=None)


@cache
def rows(protocol: str, path: Path) -> list[dict[str, Any]]:
    """The protocol's connections of the capture."""
    table = latpcap.read(path).connections[["protocol", *KINDS]]
    return [row for row in table.to_dicts() if row["protocol"] == protocol]


def shown(protocol: str, path: Path, kind: str) -> set[str]:
    return {row[kind] for row in rows(protocol, path) if row[kind]}


def captures(protocol: str, name: str) -> list[Path]:
    return [path for path in CAPTURES[protocol] if label(protocol, path) == name and rows(protocol, path)]


def right(protocol: str, name: str, kind: str) -> set[str]:
    names = LABELS[protocol][name].get(kind, [])
    return {names} if isinstance(names, str) else set(names)


@pytest.mark.parametrize(("protocol", "name"), EVERY)
def test_no_client_is_taken_for_another(protocol: str, name: str) -> None:
    assert captures(protocol, name)
    for path in captures(protocol, name):
        for kind in KINDS:
            assert shown(protocol, path, kind) <= right(protocol, name, kind), path.name


@pytest.mark.parametrize(("protocol", "name"), EVERY)
def test_a_client_that_shows_itself_is_recognised(protocol: str, name: str) -> None:
    for kind in LABELS[protocol][name].get("shown", ()):
        assert any(shown(protocol, path, kind) for path in captures(protocol, name)), kind


@pytest.mark.parametrize("kind", KINDS)
def test_most_captures_of_mysql_show_their_client(kind: str) -> None:
    labelled = [
        path
        for name, facts in LABELS["mysql"].items()
        if kind in facts.get("shown", ())
        for path in captures("mysql", name)
    ]
    unknown = [path.name for path in labelled if not shown("mysql", path, kind)]
    assert len(unknown) <= (1 - MIN_SHOWN_SHARE[kind]) * len(labelled), unknown


@pytest.mark.parametrize("protocol", LABELS)
def test_every_program_has_a_label(protocol: str) -> None:
    programs = [path for path in CAPTURES[protocol] if path.parent.name == "programs"]
    assert [path.name for path in programs if label(protocol, path) is None] == []


def test_a_drivers_savepoints_are_answered_by_its_setting_for_them() -> None:
    found = latpcap.read(FIXTURES / "clients/pyodbc-postgresql.pcapng.zst").analyze().findings
    [chatter] = [each for each in found if each.code == "session-chatter"]
    assert chatter.fix.endswith(
        "psqlODBC: `Protocol=7.4-1`: no savepoint around each statement, so a failed one rolls its transaction back."
    )


def test_a_setting_against_resets_of_the_session_is_none_against_rollbacks() -> None:
    """SQLAlchemy's pool rolls back, and sends no reset; that of MySQL's connector for Python resets."""
    kinds = ("reset", "rollback")
    found = {
        name: [kind for kind in kinds if setting("mysql", name, f"session-chatter/{kind}")]
        for name in ("SQLAlchemy", "mysql-connector-python")
    }
    assert found == {"SQLAlchemy": ["rollback"], "mysql-connector-python": ["reset"]}
