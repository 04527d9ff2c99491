"""Real python-oracledb against the scripted server, captured on loopback: what latpcap reads is what the client did.

Each case tells its calls as the client made them: command, SQL, rows, affected rows, error and round trips. The sum of
the round trips is checked a second time: the server counts how often its client waited.
"""

from __future__ import annotations

import asyncio
import shutil
import ssl
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

pytest.importorskip("latpcap._core", reason="the core is not built")
oracledb = pytest.importorskip("oracledb", reason="pip install oracledb cryptography")
pytest.importorskip("cryptography", reason="pip install oracledb cryptography")

from loopback import captured  # noqa: E402
from oracle.scripted_server import Profile, Server  # noqa: E402

import latpcap  # noqa: E402

pytestmark = pytest.mark.skipif(shutil.which("tcpdump") is None, reason="not installed: tcpdump")

ROWS = 20_000
BIG = "select id, name, created from big_table"


class Call(NamedTuple):
    command: str
    sql: str | None = None
    rows: int | None = None
    affected_rows: int | None = None
    error: str | None = None
    round_trips: int = 1


def connect(server: Server, **more: Any) -> Any:
    return oracledb.connect(
        user="scott", password="tiger", dsn=f"127.0.0.1:{server.port}/freepdb1", disable_oob=True, **more
    )


def one_row(connection: Any) -> list[Call]:
    sql = "select 1 from dual"
    connection.cursor().execute(sql).fetchall()
    return [Call("execute", sql, rows=1)]


def fetch_by_100(connection: Any) -> list[Call]:
    cursor = connection.cursor()
    cursor.arraysize, cursor.prefetchrows = 100, 2
    assert len(cursor.execute(BIG).fetchall()) == ROWS
    return [Call("execute", BIG, rows=2), *[Call("fetch", BIG, rows=100)] * 199, Call("fetch", BIG, rows=98)]


def fetch_many(connection: Any) -> list[Call]:
    cursor = connection.cursor()
    cursor.arraysize, cursor.prefetchrows = 1000, 0
    cursor.execute(BIG)
    fetched = 0
    while rows := cursor.fetchmany(1000):
        fetched += len(rows)
    assert fetched == ROWS
    return [Call("execute", BIG, rows=0), *[Call("fetch", BIG, rows=1000)] * 20, Call("fetch", BIG, rows=0)]


def n_plus_one(connection: Any) -> list[Call]:
    cursor = connection.cursor()
    inner = "select id, name from items where id = :1"
    outer = "select id from order_ids"
    for (number,) in cursor.execute(outer).fetchmany(50):
        assert len(connection.cursor().execute(inner, [number]).fetchall()) == 1
    first = [Call("execute", outer, rows=2), Call("fetch", outer, rows=100)]
    return [*first, Call("execute", inner, rows=1), *[Call("reexecute_fetch", inner, rows=1)] * 49]


def array_dml(connection: Any) -> list[Call]:
    sql = "insert into items (id, name) values (:1, :2)"
    cursor = connection.cursor()
    cursor.executemany(sql, [(number, f"name {number}") for number in range(500)])
    assert cursor.rowcount == 500
    cursor.execute(sql, [1, "one"])
    connection.commit()
    connection.rollback()
    return [
        Call("execute", sql, affected_rows=500),
        Call("reexecute", sql, affected_rows=1),
        Call("commit"),
        Call("rollback"),
    ]


def lobs(connection: Any) -> list[Call]:
    sql = "select id, doc, rawdoc from docs"
    for _, text, binary in connection.cursor().execute(sql):
        assert (len(text.read()), len(binary.read())) == (1100, 10_240)
    queries = [Call("execute", sql, rows=0), Call("execute", sql), Call("fetch", sql, rows=5)]
    return [*queries, *[Call("lob_read", sql)] * 10]


def procedure(connection: Any) -> list[Call]:
    connection.cursor().callproc("pkg.proc", [1, "x"])
    connection.cursor().execute("begin null; end;")
    return [Call("execute", "begin pkg.proc(:1,:2); end;"), Call("execute", "begin null; end;")]


def errors(connection: Any) -> list[Call]:
    missing, duplicate, later = (
        "select * from no_such_table",
        "insert into dup_key values (1)",
        "select id from breaks_later",
    )
    cursor = connection.cursor()
    cursor.arraysize = 100
    for sql in (missing, duplicate, later):
        with pytest.raises(oracledb.DatabaseError):
            cursor.execute(sql).fetchall()
    failed = [
        Call("execute", missing, error="ORA-00942", round_trips=2),
        Call("execute", duplicate, error="ORA-00001", round_trips=2),
    ]
    rows = [Call("execute", later, rows=2), Call("fetch", later, rows=100)]
    return [*failed, *rows, Call("fetch", later, error="ORA-01722", round_trips=2)]


def ping_and_ddl(connection: Any) -> list[Call]:
    connection.ping()
    connection.cursor().execute("create table t (id number)")
    return [Call("ping"), Call("execute", "create table t (id number)")]


def long_statement(connection: Any) -> list[Call]:
    connection.cursor().execute(f"select /* {'x' * 30_000} */ 1 from dual").fetchall()
    return [Call("execute", rows=1)]


def wide_and_repeated_rows(connection: Any) -> list[Call]:
    wide, repeated = "select id, txt from wide_table", "select status, id from status_rep"
    for sql in (wide, repeated):
        connection.cursor().execute(sql).fetchall()
    return [
        *(Call("execute", wide, rows=2), Call("fetch", wide, rows=98)),
        *(Call("execute", repeated, rows=2), Call("fetch", repeated, rows=100), Call("fetch", repeated, rows=100)),
        Call("fetch", repeated, rows=98),
    ]


CASES: list[Callable[[Any], list[Call]]] = [
    *(one_row, fetch_by_100, fetch_many, n_plus_one, array_dml, lobs, procedure, errors, ping_and_ddl, long_statement),
    wide_and_repeated_rows,
]
LOGON = {
    "19c": [Call("connect"), Call("protocol"), Call("data_types"), Call("authenticate"), Call("authenticate")],
    "23ai": [Call("connect"), Call("fast_authentication"), Call("authenticate")],
}
GOODBYE = [Call("logoff"), Call("disconnect", round_trips=0)]


def calls(capture: latpcap.Capture) -> list[Call]:
    return [
        Call(**{name: row[name] for name in Call._fields} | {"error": row["error"] and row["error"][:9]})
        for row in exchanges(capture)
    ]


def exchanges(capture: latpcap.Capture) -> list[dict[str, Any]]:
    return [{**row, "sql": row["statement"]} for row in capture.exchanges.to_dicts()]


def alike(call: Call) -> Call:
    """Without what the reports shorten: the longest statements."""
    return call._replace(sql=None) if call.sql and len(call.sql) > 1000 else call


def compare(path: Path, expected: list[Call], waits: int | None, keylog: Path | None = None) -> None:
    capture = latpcap.read(str(path), show_literals=True, keylog=keylog)
    seen = [alike(call) for call in calls(capture)]
    # Python rolls back before it says goodbye where a transaction may be open.
    assert [call for call in seen if call != Call("rollback")] == [
        call for call in expected if call != Call("rollback")
    ]
    trips = sum(call.round_trips for call in seen)
    assert waits is None or trips == waits


@pytest.mark.parametrize("profile", ["19c", "23ai"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_calls_are_those_of_the_client(case: Callable[[Any], list[Call]], profile: str, tmp_path: Path) -> None:
    path = tmp_path / "oracle.pcap"
    with Server(Profile(profile, bit_vectors=True)) as server:
        with captured(path, server.port), connect(server) as connection:
            expected = case(connection)
        compare(path, [*LOGON[profile], *expected, *GOODBYE], server.waits)


@pytest.fixture(scope="module")
def wallet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the certificate of a server of TCPS, where the client looks for whom it may trust."""
    if shutil.which("openssl") is None:
        pytest.skip("not installed: openssl")
    folder = tmp_path_factory.mktemp("wallet")
    made = ["-subj", "/CN=localhost", "-keyout", str(folder / "key.pem"), "-out", str(folder / "ewallet.pem")]
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", *made], check=True, capture_output=True)
    return folder


@pytest.mark.parametrize(("version", "handshake"), [("TLSv1_2", 2), ("TLSv1_3", 1)])
@pytest.mark.parametrize("profile", ["19c", "23ai"])
@pytest.mark.parametrize("case", [n_plus_one, errors], ids=lambda case: case.__name__)
def test_calls_inside_tls_are_read_with_the_keys_that_the_client_logs(
    case: Callable[[Any], list[Call]],
    profile: str,
    version: str,
    handshake: int,
    wallet: Path,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    path, keys = tmp_path / "oracle.pcap", tmp_path / "oracle.keys"
    monkeypatch.setenv("SSLKEYLOGFILE", str(keys))
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(wallet / "ewallet.pem", wallet / "key.pem")
    tls.maximum_version = ssl.TLSVersion[version]
    trusting = {"protocol": "tcps", "wallet_location": str(wallet), "ssl_server_dn_match": False, "disable_oob": True}
    with Server(Profile(profile, bit_vectors=True), tls=tls) as server:
        with (
            captured(path, server.port),
            oracledb.connect(
                user="scott", password="tiger", host="127.0.0.1", port=server.port, service_name="freepdb1", **trusting
            ) as connection,
        ):
            expected = case(connection)
        logon = [Call("tls", round_trips=handshake), *LOGON[profile]]
        compare(path, [*logon, *expected, *GOODBYE], server.waits + handshake, keys)


@pytest.mark.parametrize(
    ("profile", "round_trips"),
    [(Profile(resend=True), 2), (Profile(session_data_unit=512), 1)],
    ids=["resend", "small unit"],
)
def test_ways_to_connect(profile: Profile, round_trips: int, tmp_path: Path) -> None:
    path = tmp_path / "oracle.pcap"
    with Server(profile) as server:
        with captured(path, server.port), connect(server) as connection:
            expected = array_dml(connection)
        logon = [Call("connect", round_trips=round_trips), *LOGON["19c"][1:]]
        compare(path, [*logon, *expected, *GOODBYE], server.waits)


def test_a_pooled_session_is_released_without_waiting(tmp_path: Path) -> None:
    path = tmp_path / "oracle.pcap"
    with Server() as server:
        with (
            captured(path, server.port),
            connect(server, server_type="pooled", cclass="app", purity=oracledb.PURITY_SELF) as connection,
        ):
            one_row(connection)
        seen = calls(latpcap.read(str(path), show_literals=True))
        assert sum(call.round_trips for call in seen) == server.waits
        released = [call.round_trips for call in seen if call.command == "session_release"]
        assert released == [0]


async def pipeline(server: Server) -> list[Call]:
    connection = await oracledb.connect_async(
        user="scott", password="tiger", dsn=f"127.0.0.1:{server.port}/freepdb1", disable_oob=True
    )
    insert, select = "insert into items (id, name) values (:1, :2)", "select id, name from items"
    steps = oracledb.create_pipeline()
    for number in range(5):
        steps.add_execute(insert, [number, "x"])
    steps.add_fetchall(select)
    steps.add_commit()
    await connection.run_pipeline(steps)
    await connection.close()
    first = Call("execute", insert, affected_rows=1)
    rest = [*[first] * 4, Call("execute", select, rows=1), Call("commit"), Call("pipeline_end")]
    return [first, *(call._replace(round_trips=0) for call in rest)]


def test_a_pipeline_is_one_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "oracle.pcap"
    with Server(Profile("23ai")) as server:
        with captured(path, server.port):
            expected = asyncio.run(pipeline(server))
        compare(path, [*LOGON["23ai"], *expected, *GOODBYE], None)
