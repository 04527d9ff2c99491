"""Real clients against the scripted server, captured on loopback: what latpcap reads is what the client did.

The requests are those that the server was asked, in its order; the sum of the round trips is how often it counted its
clients waiting; rows and affected rows are what the program got.
"""

from __future__ import annotations

import datetime
import io
import shutil
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("latpcap._core", reason="the core is not built")
pytds = pytest.importorskip("pytds", reason="pip install python-tds")
pymssql = pytest.importorskip("pymssql", reason="pip install pymssql")

from loopback import captured  # noqa: E402
from sqlserver.script import BIG_ROWS  # noqa: E402
from sqlserver.scripted_server import ALL, LOGIN_ONLY, Server  # noqa: E402

import latpcap  # noqa: E402

pytestmark = pytest.mark.skipif(shutil.which("tcpdump") is None, reason="not installed: tcpdump")

BIG = "select id, name from big_table"
SETUP = ("prelogin", "login", "tls")


class Did:
    """What the program got of its statements."""

    def __init__(self) -> None:
        self.rows = self.affected = 0
        self.errors: list[str] = []

    def fetch(self, cursor: Any) -> list[Any]:
        rows = cursor.fetchall()
        self.rows += len(rows)
        return rows


def n_plus_one(connection: Any, did: Did) -> None:
    cursor = connection.cursor()
    cursor.execute("select id from order_ids")
    for (number,) in did.fetch(cursor):
        cursor.execute("select id, name from items where id = %s", (number,))
        did.fetch(cursor)


def large_results(connection: Any, did: Did) -> None:
    cursor = connection.cursor()
    for sql, rows in ((BIG, BIG_ROWS), ("select id, doc from wide_table", 20), ("select id from empty_table", 0)):
        cursor.execute(sql)
        assert len(did.fetch(cursor)) == rows


def changes(connection: Any, did: Did) -> None:
    cursor = connection.cursor()
    for number in range(20):
        cursor.execute("insert into items (id, name) values (%s, %s)", (number, f"name {number}"))
        did.affected += cursor.rowcount
    connection.commit()
    cursor.execute("update items set name = 'x'; delete from items where id = 7")
    did.affected += 2
    connection.rollback()


def many_in_one_text(connection: Any, did: Did) -> None:
    cursor = connection.cursor()
    cursor.execute("; ".join(["insert into items (id) values (1)"] * 100))
    did.affected += 100


def errors(connection: Any, did: Did) -> None:
    cursor = connection.cursor()
    for sql in ("select a from no_such_table", "insert into dup_key values (1)"):
        with pytest.raises(Exception, match=r"no_such_table|PRIMARY KEY"):
            cursor.execute(sql)
    did.errors = ["208", "2627"]


def procedures(connection: Any, did: Did) -> None:
    cursor = connection.cursor()
    for number in range(5):
        cursor.callproc("dbo.add_item", (number, "x" * 5_000))


def long_statement(connection: Any, did: Did) -> None:
    cursor = connection.cursor()
    cursor.execute(f"select /* {'x' * 30_000} */ 1")
    did.fetch(cursor)


CASES: list[Callable[[Any, Did], None]] = [
    *(n_plus_one, large_results, changes, many_in_one_text, errors, procedures, long_statement),
]


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    """A server's, with a certificate of its own."""
    x509 = pytest.importorskip("cryptography.x509")
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    key = rsa.generate_private_key(65_537, 2_048)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    begin = datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)
    built = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    dated = built.serial_number(7).not_valid_before(begin).not_valid_after(begin.replace(year=2044))
    folder = tmp_path_factory.mktemp("tls")
    pem = serialization.Encoding.PEM
    (folder / "certificate").write_bytes(dated.sign(key, hashes.SHA256()).public_bytes(pem))
    secret = key.private_bytes(pem, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption())
    (folder / "key").write_bytes(secret)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "certificate", folder / "key")
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.keylog_filename = str(folder / "keys")
    return context


def by_pymssql(server: Server, **more: Any) -> Any:
    return pymssql.connect("127.0.0.1", "ann", "top secret", "shop", port=str(server.port), **more)


def by_pytds(server: Server, **more: Any) -> Any:
    return pytds.connect("127.0.0.1", "shop", "ann", "top secret", port=server.port, **more)


DRIVERS = {"pymssql": by_pymssql, "python-tds": by_pytds}


def compare(path: Path, server: Server, did: Did, keylog: str | None = None) -> latpcap.Capture:
    capture = latpcap.read(str(path), show_literals=True, keylog=keylog)
    assert [connection.protocol for connection in capture.analyze().connections] == ["sqlserver"] * len(server.sessions)
    exchanges = capture.exchanges.to_dicts()
    assert sum(row["round_trips"] for row in exchanges) == server.waits
    assert [row["command"] for row in exchanges if row["command"] not in SETUP] == server.requests
    assert sum(row["rows"] or 0 for row in exchanges) == did.rows
    assert sum(row["affected_rows"] or 0 for row in exchanges) == did.affected
    assert [row["error"].split()[0] for row in exchanges if row["error"]] == did.errors
    return capture


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_requests_are_those_of_the_client(case: Callable[[Any, Did], None], driver: str, tmp_path: Path) -> None:
    path, did = tmp_path / "sqlserver.pcap", Did()
    with Server() as server, captured(path, server.port), DRIVERS[driver](server) as connection:
        case(connection, did)
    compare(path, server, did)


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_connection_for_every_query(driver: str, tmp_path: Path) -> None:
    path, did = tmp_path / "sqlserver.pcap", Did()
    with Server() as server, captured(path, server.port):
        for _ in range(5):
            with DRIVERS[driver](server) as connection:
                long_statement(connection, did)
    compare(path, server, did)


def test_bulk_loads_are_one_request(tmp_path: Path) -> None:
    path, did = tmp_path / "sqlserver.pcap", Did()
    with Server() as server, captured(path, server.port), by_pytds(server) as connection:
        rows = "".join(f"{number}\tname\n" for number in range(100))
        connection.cursor().copy_to(io.StringIO(rows), "items", columns=["id", "name"])
        did.affected += 100
    capture = compare(path, server, did)
    loaded = [row["statement"] for row in capture.exchanges.to_dicts() if row["command"] == "bulk_load"]
    assert loaded
    assert all(statement.upper().startswith("INSERT BULK") for statement in loaded)


def test_a_time_out_is_an_attention_in_the_same_round_trip(tmp_path: Path) -> None:
    path, _did = tmp_path / "sqlserver.pcap", Did()
    with Server() as server, captured(path, server.port), by_pytds(server, timeout=0.5) as connection:
        cursor = connection.cursor()
        with pytest.raises(pytds.TimeoutError):
            cursor.execute("waitfor delay '1:00'")
    capture = latpcap.read(str(path))
    exchanges = capture.exchanges.to_dicts()
    assert [row["round_trips"] for row in exchanges if row["command"] == "batch"][-1] == 1
    assert sum(row["round_trips"] for row in exchanges) == server.waits
    assert server.requests[-1] == "attention"


@pytest.mark.parametrize("case", [n_plus_one, large_results, changes], ids=lambda case: case.__name__)
def test_sessions_of_one_connection_wait_each_for_itself(case: Callable[[Any, Did], None], tmp_path: Path) -> None:
    path, did = tmp_path / "sqlserver.pcap", Did()
    with Server() as server, captured(path, server.port), by_pytds(server, use_mars=True) as connection:
        case(connection, did)
    compare(path, server, did)


def test_a_result_that_is_not_read_to_its_end_stops_no_other_session(tmp_path: Path) -> None:
    path, did = tmp_path / "sqlserver.pcap", Did()
    with Server() as server, captured(path, server.port), by_pytds(server, use_mars=True) as connection:
        outer, inner = connection.cursor(), connection.cursor()
        outer.execute(BIG)
        for _ in range(10):
            assert outer.fetchone() is not None
            inner.execute("select id, name from items")
            did.fetch(inner)
        did.rows += 10 + len(outer.fetchall())
    assert did.rows == 10 + BIG_ROWS
    exchanges = compare(path, server, did).exchanges.to_dicts()
    assert [row["round_trips"] for row in exchanges if row["statement"] == "select id, name from items"] == [1] * 10


@pytest.mark.parametrize("encryption", [LOGIN_ONLY, ALL])
@pytest.mark.parametrize("case", [n_plus_one, large_results], ids=lambda case: case.__name__)
def test_round_trips_inside_tls_need_no_keys(
    case: Callable[[Any, Did], None], encryption: str, tls: ssl.SSLContext, tmp_path: Path
) -> None:
    path, did = tmp_path / "sqlserver.pcap", Did()
    with Server(encryption, tls) as server, captured(path, server.port), by_pymssql(server) as connection:
        case(connection, did)
    if encryption == LOGIN_ONLY:
        compare(path, server, did)
        return
    exchanges = latpcap.read(str(path)).exchanges.to_dicts()
    assert sum(row["round_trips"] for row in exchanges) == server.waits
    compare(path, server, did, tls.keylog_filename)
