"""A real server, a client that logs its keys, each kind of cipher suite: what was sealed is what the client did."""

from __future__ import annotations

import shutil
import ssl
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from loopback import captured
from mariadb_server import PASSWORD, ROWS, SQL, WRONG, free_port, mariadb, needs_server_and_capture, tls

pymysql = pytest.importorskip("pymysql")

import latpcap  # noqa: E402

pytestmark = needs_server_and_capture
ACCOUNT = "sealed"

SUITES = {
    "ECDHE-RSA-AES128-GCM-SHA256": "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
    "ECDHE-RSA-CHACHA20-POLY1305": "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
    "ECDHE-RSA-AES128-SHA": "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA",
    "ECDHE-RSA-AES256-SHA384": "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA384",
    "DHE-RSA-AES128-CCM": "TLS_DHE_RSA_WITH_AES_128_CCM",
    "DHE-RSA-AES256-CCM8": "TLS_DHE_RSA_WITH_AES_256_CCM_8",
}
"""OpenSSL's names and IANA's."""


@pytest.fixture(scope="module")
def server() -> Iterator[int]:
    """The port of one that speaks TLS, whatever is asked for."""
    home = Path(tempfile.mkdtemp(prefix="latpcap-mariadb-"))  # the folders of pytest are root's alone
    port = free_port()
    try:
        with mariadb(home, port, [ACCOUNT], *tls(home), "--ssl-cipher=ALL:@SECLEVEL=0"):
            yield port
    finally:
        shutil.rmtree(home)


def work(port: int, keys: Path, suite: str) -> int:
    """The job of the other clients; how many rows came."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.keylog_filename = str(keys)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(f"{suite}:@SECLEVEL=0")
    rows = 0
    login = {"host": "127.0.0.1", "port": port, "user": ACCOUNT, "password": PASSWORD, "database": "live"}
    with pymysql.connect(**login, ssl=context) as database, database.cursor() as cursor:
        for sql in SQL:
            cursor.execute(sql)
            rows += len(cursor.fetchall())
        with pytest.raises(pymysql.err.ProgrammingError):
            cursor.execute(WRONG)
    return rows


@pytest.mark.parametrize("suite", SUITES)
def test_what_a_suite_seals_is_what_the_client_did(server: int, tmp_path: Path, suite: str) -> None:
    path, keys = tmp_path / "tls.pcap", tmp_path / "tls.keys"
    with captured(path, server):
        assert work(server, keys, suite) == ROWS
    capture = latpcap.read(path, keylog=keys, show_literals=True)
    (connection,) = capture.connections.to_dicts()
    assert (connection["tls_cipher"], connection["timing_only"]) == (SUITES[suite], False)
    asked = [row for row in capture.exchanges.to_dicts() if row["statement"] in {*SQL, WRONG}]
    assert [row["statement"] for row in asked] == [*SQL, WRONG]
    assert sum(row["rows"] or 0 for row in asked) == ROWS
    assert [row["statement"] for row in asked if row["error_code"]] == [WRONG]
