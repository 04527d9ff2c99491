"""Every capture against a second opinion: `latpcap.verify` finds no difference from Wireshark but those listed here.

What a reason rests on is tested with `latpcap.verify`; here each difference is one that somebody has looked at.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from unittest.mock import patch

import pytest
from conftest import FIXTURES, SHARED, load_fixture
from sharkd import Sharkd

import latpcap
from latpcap import _core
from latpcap.tables.columnar.table import Table
from latpcap.verify import Verification, compare, dissect, mysql, network, ours, postgresql, responses, sqlserver
from latpcap.verify.texts import HIDDEN
from latpcap.verify.wireshark import DISSECTORS

Find = Callable[[str], Path]
Compared = Callable[[Path], Verification]


def names(folder: str) -> list[str]:
    """The shared captures in a folder; the folder itself, where it is absent, so that the test says so and skips."""
    return [f"{folder}/{path.name}" for path in sorted((SHARED / folder).glob("*"))] or [folder]


OURS = sorted(f"fixtures/{path.parent.name}/{path.stem}" for path in FIXTURES.glob("*/*.toml"))
MYSQL = [name for name in OURS if name.startswith("fixtures/mysql/")] + names("mysql")
ALL = [*OURS, *names("formats"), *names("mysql"), *names("postgresql")]


@pytest.fixture
def capture(request: pytest.FixtureRequest, shared_capture: Find) -> Path:
    """The file that a test is parametrised with."""
    name: str = request.param
    return load_fixture(name.removeprefix("fixtures/")).path if name in OURS else shared_capture(name)


of_all = pytest.mark.parametrize("capture", ALL, indirect=True)
of_mysql = pytest.mark.parametrize("capture", MYSQL, indirect=True)


@pytest.fixture(scope="module")
def compared(sharkd: Sharkd) -> Compared:
    """Of each capture once; tshark, which takes long to start, is needed where a database speaks that it reads, too."""

    @cache
    def compared(path: Path) -> Verification:
        seen = ours.read([str(path)], {})
        if any(seen.ports.get(protocol) for protocol in DISSECTORS):
            return compare([str(path)], seen)
        with patch("latpcap.verify.dissect", lambda paths, ports, streams, keys, check: sharkd.dissection(path)):
            return compare([str(path)], seen)

    return compared


def test_sharkd_says_what_tshark_says(sharkd: Sharkd) -> None:
    path = load_fixture("firebird/fbclient3-nplus1").path
    assert sharkd.dissection(path) == dissect([str(path)], {})


TIMES, RTT = "first and last time", "initial RTT"
COMMANDS, STATEMENTS, ANSWERS = "MySQL commands", "MySQL statements", "PostgreSQL answers"
RESPONSES = "MySQL response times"

EXPLAINED: dict[str, dict[str, dict[str, int]]] = {
    "sqlcmd-login.pcapng": {RTT: {network.CAPTURED_TWICE: 1}},
    "odbc-mars-tls.pcapng": {"SQL Server answers": {sqlserver.SEALED: 1}},
    "python-tds-bulk.pcapng": {"SQL Server batches": {sqlserver.NUMBERED_ON: 1}},
    "compressed-zlib.pcapng": {COMMANDS: {mysql.COMPRESSED: 2}, STATEMENTS: {mysql.COMPRESSED: 1}},
    "mid-compressed.pcapng": {COMMANDS: {mysql.COMPRESSED: 37}, STATEMENTS: {mysql.COMPRESSED: 35}},
    "large-statement.pcapng.zst": {COMMANDS: {mysql.LONG: 3}},
    "local-infile.pcapng": {COMMANDS: {mysql.CONTENT: 2}},
    "mysql97-cext-attributes.pcapng": {STATEMENTS: {mysql.ATTRIBUTES: 22}},
    "mysql97-cli-infile.pcapng": {COMMANDS: {mysql.CONTENT: 1}},
    "mysql97-cli-zstd.pcapng": {COMMANDS: {mysql.COMPRESSED: 25}, STATEMENTS: {mysql.COMPRESSED: 23}},
    "mysql97-jdbc-attributes.pcapng": {STATEMENTS: {mysql.ATTRIBUTES: 21}},
    "mysql97-pure-attributes.pcapng": {STATEMENTS: {mysql.ATTRIBUTES: 23}},
    "mysql97-pure-zlib.pcapng": {COMMANDS: {mysql.COMPRESSED: 4}, STATEMENTS: {mysql.COMPRESSED: 2}},
    "mysql97-sha2-rsa.pcapng": {COMMANDS: {mysql.LOGIN: 5}},
    "lost-request.pcapng": {COMMANDS: {mysql.REQUEST_LOST: 1}},
    "snap96-nplus1.pcapng": {STATEMENTS: {mysql.CUT: 301}},
    "snap96-prepared.pcapng": {STATEMENTS: {mysql.CUT: 101}},
    "nplus1-300-loss2.pcapng": {RESPONSES: {responses.TROUBLED: 2}},
    "refused.pcapng": {RTT: {network.BY_RST: 3}},
    "failed-connections.pcapng": {RTT: {network.BY_RST: 3}},
    "port-reuse.pcapng": {RTT: {network.PORT_AGAIN: 4}},
    "psycopg2-terminated.pcapng": {ANSWERS: {postgresql.FATAL: 1}},
    "killed-pg.pcapng.zst": {ANSWERS: {postgresql.FATAL: 1}},
    "sqldb-postgresql.pcapng.zst": {"PostgreSQL statements": {postgresql.IN_SQL: 5}},
    "logical-replication.pcapng": {ANSWERS: {postgresql.REPLICATION: 1}},
    "arkime-arkime__no-syn-ack.pcap": {RTT: {network.NO_SYN_ACK: 2}},
    "seladb-PcapPlusPlus__raw_ip.pcap": {RTT: {network.NO_SYN_ACK: 2}},
    "seladb-PcapPlusPlus__mysql.pcapng": {COMMANDS: {mysql.LOGIN: 1}},
    "seladb-PcapPlusPlus__postgres.pcapng": {ANSWERS: {postgresql.HOLE: 1}},
    "seladb-PcapPlusPlus__pcapng-example.pcapng": {TIMES: {network.TOP_BIT: 2}, RTT: {network.BY_RST: 1}},
    "seladb-PcapPlusPlus__pcapng-example.pcapng.zst": {TIMES: {network.TOP_BIT: 2}, RTT: {network.BY_RST: 1}},
    "zeek-zeek__gre-aruba.pcap": {RTT: {network.NO_SYN_ACK: 17}},
    "zeek-zeek__mysql8-navicat-login-failed.pcap": {COMMANDS: {mysql.LOGIN: 1}, RTT: {network.CAPTURED_TWICE: 1}},
    "zeek-zeek__mysql-9.0.0-query-attributes.pcap": {STATEMENTS: {mysql.ATTRIBUTES: 1}},
    "zeek-zeek__psql-login-no-role.pcap": {RTT: {network.CAPTURED_TWICE: 1}},
    "failing-my.pcapng.zst": {STATEMENTS: {HIDDEN: 20}},
    "failing-pg.pcapng.zst": {"PostgreSQL statements": {HIDDEN: 11}},
    "mysql97-cli-errors.pcapng": {STATEMENTS: {HIDDEN: 10}},
    "sql-errors.pcapng": {STATEMENTS: {HIDDEN: 20}},
    "OISF-suricata-verify__pgsql-bug-5579__input.pcap": {"PostgreSQL statements": {HIDDEN: 2}},
    "ntop-nDPI__pgsql.pcap": {"PostgreSQL statements": {HIDDEN: 2}},
}
"""Reasons by file and measure, and how often each holds."""


@of_all
def test_wireshark_sees_the_same_but_for_what_is_known(compared: Compared, capture: Path) -> None:
    result = compared(capture)
    assert [each for measure in result.measures for each in measure.differences if each.reason is None] == []
    explained = {measure.name: dict(measure.reasons()) for measure in result.measures if measure.differences}
    assert explained == EXPLAINED.get(capture.name, {})


@of_all
def test_each_measure_adds_up(compared: Compared, capture: Path) -> None:
    for measure in compared(capture).measures:
        assert measure.equal <= min(measure.latpcap, measure.wireshark)
        assert measure.equal + measure.explained >= max(measure.latpcap, measure.wireshark)


def test_what_is_compared_is_there(compared: Compared) -> None:
    """An empty comparison would agree, too."""
    measures = {measure.name: measure for measure in compared(load_fixture("mysql/all-commands").path).measures}
    assert measures[COMMANDS].equal > 20
    assert measures[RESPONSES].equal > 15
    measures = {measure.name: measure for measure in compared(load_fixture("postgresql/psql-nplus1-100").path).measures}
    assert measures["PostgreSQL statements"].equal > 100
    assert measures[ANSWERS].equal > 100
    assert measures["PostgreSQL response times"].equal > 100


@pytest.mark.parametrize("content", [b"To be, or not to be\n" * 9, b"%PDF-1.7\n", b"\xd4\xc3\xb2\xa1\2\0"])
def test_what_wireshark_refuses_is_refused_in_one_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(content)
    done = subprocess.run(["tshark", "-n", "-r", str(path)], capture_output=True, check=False)
    assert done.returncode != 0
    with pytest.raises(latpcap.CaptureError) as error:
        latpcap.read(path)
    assert str(error.value).startswith(f"{path}: ")
    assert "\n" not in str(error.value)


@of_mysql
def test_what_cannot_be_read_is_encrypted(capture: Path) -> None:
    recording = _core.read([str(capture)])
    encrypted = {row["stream"] for row in Table(recording.connections()).to_dicts() if row["encryption"]}
    rows = Table(recording.exchanges()).to_dicts()
    assert {row["stream"] for row in rows if row["command"] == "unreadable"} <= encrypted
