"""The client of a connection in each output: its driver and framework, and by what they are known."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import drivers_page
import pytest
from builder import Conn, Ex, build
from conftest import FIXTURES

import latpcap as package
from latpcap.capture import Capture
from latpcap.errors import NothingSelected
from latpcap.tables.privacy.pseudonyms import Pseudonyms, renaming
from latpcap.tables.recording import Recording
from latpcap.wireshark.facts import facts

Run = Callable[..., subprocess.CompletedProcess[bytes]]
GO = FIXTURES / "clients/go-sql-driver-mysql97.pcapng.zst"


def two() -> Capture:
    known = {"driver": "go-sql-driver/mysql", "driver_version": "1.9.3", "driver_known_by": "said"}
    gorm = {"framework": "GORM", "framework_known_by": "statements"}
    connections = [
        Conn([Ex(sql="select a from t")] * 3, application="shop", software=known | gorm),
        Conn([Ex(sql="select b from t")], client="10.0.0.1:40001", at_ms=100, software={"driver": "acme inc"}),
    ]
    return Capture(build(connections))


def test_a_driver_that_names_itself_is_in_the_table_and_the_result() -> None:
    capture = package.read(GO)
    [row] = capture.connections[["driver", "driver_known_by", "framework"]].to_dicts()
    assert row == {"driver": "go-sql-driver/mysql", "driver_known_by": "said", "framework": None}
    [connection] = capture.analyze().connections
    assert connection.driver == "go-sql-driver/mysql"


@pytest.mark.parametrize(
    ("asked", "found"), [("shop", [0]), ("GORM", [0]), ("go-sql-driver/*", [0]), ("!GORM", [1]), ("acme inc", [1])]
)
def test_an_application_is_selected_by_its_name_driver_or_framework(asked: str, found: list[int]) -> None:
    assert list(two().select(application=asked).connections.column("stream")) == found


def test_a_driver_that_nobody_has_selects_nothing() -> None:
    with pytest.raises(NothingSelected):
        two().select(application="psycopg")


def test_pseudonyms_hide_drivers_that_are_not_in_the_table() -> None:
    tables = two().recording.core
    hidden = Capture(Recording(tables, rename=renaming(tables, Pseudonyms())))
    assert list(hidden.connections.column("driver")) == ["go-sql-driver/mysql", "driver-1"]


def test_drivers_are_ranked() -> None:
    [row] = package.rank(GO, by="driver").to_dicts()
    assert row["driver"] == "go-sql-driver/mysql"
    assert row["round_trips"] == package.read(GO).analyze().summary.round_trips


def test_wireshark_shows_a_connections_client() -> None:
    lines = "".join(facts(two(), [])).splitlines()
    assert [line for line in lines if line.startswith("client")] == [
        "client\t0\tgo-sql-driver/mysql 1.9.3, GORM",
        "client\t1\tacme inc",
    ]


def test_the_page_of_drivers_is_made_of_the_table() -> None:
    """After a change of the table: `python tests/reference.py`."""
    assert drivers_page.PAGE.read_text() == drivers_page.page()


def test_the_table_of_connections_names_the_framework(latpcap: Run) -> None:
    shown = latpcap("table", "connections", FIXTURES / "clients/gorm-mysql.pcapng.zst").stdout.decode()
    head, _, row = shown.splitlines()
    for title, value in (("driver", "go-sql-driver/mysql"), ("framework", "GORM")):
        assert row[head.index(f"  {title} ") :].startswith(f"  {value} ")
