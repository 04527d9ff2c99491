"""The clients of SQL Server, Oracle and Firebird: who each connection's is, as `fixtures/drivers-other.toml` knows."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import FIXTURES, SHARED, read_fixture

import latpcap

TRUTH = tomllib.loads((FIXTURES / "drivers-other.toml").read_text(encoding="utf-8"))
PROTOCOLS = "sqlserver", "oracle", "firebird"
NAMES = {f"{protocol}/{name}": driver for protocol in PROTOCOLS for name, driver in TRUTH[protocol].items()}


def found(capture: latpcap.Capture, column: str = "driver") -> set[str]:
    """Return what the connections say; one of events, or one that was redirected, says nothing."""
    return {value for value in capture.connections.column(column) if value}


def test_each_fixture_has_its_client() -> None:
    files = {f"{protocol}/{path.stem}" for protocol in PROTOCOLS for path in (FIXTURES / protocol).glob("*.toml")}
    assert files == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_the_driver_is_recognised(name: str) -> None:
    assert found(read_fixture(name)) == ({NAMES[name]} - {""})


@pytest.mark.parametrize("name", NAMES)
def test_the_framework_is_recognised(name: str) -> None:
    assert found(read_fixture(name), "framework") == ({TRUTH["frameworks"].get(name, "")} - {""})


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("sqlserver/jdbc-batch", "12.10"),
        ("sqlserver/odbc-arrays", "18.6.2.1"),
        ("oracle/python-oracledb-nplus1", "26.1.0"),
        ("oracle/node-oracledb-nplus1", "26.0.0"),
        ("oracle/jdbc-nplus1", "23.5.0.24.07"),
        ("firebird/jaybird5-nplus1", "5.0.6"),
        ("firebird/fbclient3-nplus1", "3.0.11.33637"),
    ],
)
def test_the_version_is_the_drivers(name: str, version: str) -> None:
    assert found(read_fixture(name), "driver_version") == {version}


def captures() -> list[str]:
    return sorted(
        f"{folder}/{path.name}"
        for folder in ("firebird", "tns")
        for path in (SHARED / folder).glob("*.pcap")
        if any(f"{folder}/{path.name}".startswith(begin) for begin in TRUTH["shared"])
    )


@pytest.mark.parametrize("name", captures() or ["firebird/fb3-fbc3-nplus1.pcap"])
def test_captures_of_known_clients(name: str, shared_capture: Callable[[str], Path]) -> None:
    """Wrong is worse than unknown: what the encrypted ones leave in clear fits several clients."""
    fitting = max((begin for begin in TRUTH["shared"] if name.startswith(begin)), key=len)
    driver = TRUTH["shared"][fitting]
    assert found(latpcap.read(str(shared_capture(name)))) == ({driver} - {""})
