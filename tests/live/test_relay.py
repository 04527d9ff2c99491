"""The relay between a real client and a real server counts what a capture beside it counts."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from loopback import captured
from mariadb_server import EACH, EMPLOYEES, PASSWORD, SQL, free_port, mariadb, needs_server_and_capture

pymysql = pytest.importorskip("pymysql")
connector = pytest.importorskip("mysql.connector")

import latpcap  # noqa: E402
from latpcap.live.relay import Relay, Route  # noqa: E402

pytestmark = [
    *needs_server_and_capture,
    pytest.mark.skipif(shutil.which("tshark") is None, reason="not installed: tshark"),
]


def with_pymysql(port: int) -> None:
    """A statement for each employee; then a connection for each."""
    for statements in (SQL, *([sql] for sql in SQL[:3])):
        account = {"user": "pymysql", "password": PASSWORD, "database": "live", "ssl_disabled": True}
        with pymysql.connect(host="127.0.0.1", port=port, **account) as database, database.cursor() as cursor:
            for sql in statements:
                cursor.execute(sql)
                cursor.fetchall()


def with_connector(port: int) -> None:
    """Prepared statements, through TLS."""
    account = {"user": "connector", "password": PASSWORD, "database": "live"}
    database = connector.connect(host="127.0.0.1", port=port, use_pure=True, **account)
    cursor = database.cursor(prepared=True)
    for emp in range(EMPLOYEES):
        cursor.execute(f"{EACH}%s", (emp,))
        cursor.fetchall()
    cursor.close()
    database.close()


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Path]]:
    """What the relay recorded, and what tcpdump saw between relay and server."""
    folder = tmp_path_factory.mktemp("relay")
    home = Path(tempfile.mkdtemp(prefix="latpcap-mariadb-"))
    port = free_port()
    try:
        with mariadb(home, port, ["pymysql", "connector"]), captured(folder / "captured.pcap", port):
            relay = Relay([Route.of(f"0:127.0.0.1:{port}")], folder / "relayed.pcapng")
            relay.start()
            with_pymysql(relay.addresses[0][1])
            with_connector(relay.addresses[0][1])
            recorded = relay.stop()
            assert (recorded.dropped, recorded.trouble, recorded.problems) == (0, None, ())
        yield folder / "relayed.pcapng", folder / "captured.pcap"
    finally:
        shutil.rmtree(home)


def told(path: Path) -> tuple[list[Any], list[Any]]:
    """Connections in the order of their opening, and exchanges in that of their requests."""
    capture = latpcap.read(path, show_literals=True)
    columns = ("protocol", "state", "encryption", "user", "round_trips")
    connections = [[row[name] for name in columns] for row in capture.connections.to_dicts()]
    columns = ("command", "fingerprint", "rows", "wait", "round_trips", "request_bytes", "response_bytes", "complete")
    return connections, [[row[name] for name in columns] for row in capture.exchanges.to_dicts()]


def test_connections_and_exchanges_are_those_of_a_capture(both: tuple[Path, Path]) -> None:
    relayed, seen = map(told, both)
    assert relayed == seen
    assert len(relayed[0]) == 5


def test_the_recording_says_that_it_is_a_relays(both: tuple[Path, Path]) -> None:
    codes = [{row["code"] for row in latpcap.read(path).health.to_dicts()} for path in both]
    assert ["relayed" in each for each in codes] == [True, False]


def test_wireshark_finds_nothing_wrong(both: tuple[Path, Path]) -> None:
    checks = ["-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE"]
    wrong = "tcp.analysis.flags || ip.checksum.status == 0 || tcp.checksum.status == 0 || _ws.malformed"
    command = ["tshark", "-r", str(both[0]), *checks, "-Y", wrong]
    assert subprocess.run(command, capture_output=True, check=True).stdout == b""
