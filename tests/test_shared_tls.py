"""What TLS in captures of other projects says without keys, beside what Wireshark says of the same handshakes.

Exchanges and round trips were read from the records once, by hand. The captures are not part of the repository: where
they are absent, each test says so and skips.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import latpcap

Find = Callable[[str], Path]

RDS = "C=US,ST=Washington,L=Seattle,O=Amazon.com,OU=RDS,CN="
HOST = "database-1.cyx4x7yvdoay.us-east-1.rds.amazonaws.com"
AES_GCM = "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"

# capture, stream, version, cipher suite, server name, certificate's subject
FACTS = [
    (
        "mysql/arkime-arkime__mysql-tls.pcap", 0, "TLSv1.1", "TLS_RSA_WITH_AES_256_CBC_SHA", None,
        "CN=MySQL_Server_5.7.12_Auto_Generated_Server_Certificate",
    ),
    (
        "mysql/zeek-zeek__encrypted.pcap", 0, "TLSv1.1", "TLS_DHE_RSA_WITH_AES_256_CBC_SHA", None,
        "O=Internet Widgits Pty Ltd,ST=Some-State,C=AU",
    ),
    (
        "mysql/zeek-zeek__tls-12-amazon-rds.pcap", 0, "TLSv1.2", AES_GCM, None,
        RDS + "free-mysql-database.cyx4x7yvdoay.us-east-1.rds.amazonaws.com",
    ),
    ("mysql/zeek-zeek__tls-13-amazon-rds.pcap", 0, "TLSv1.3", "TLS_AES_256_GCM_SHA384", None, None),
    ("mysql/ntop-nDPI__mysql.pcapng", 1, "TLSv1.3", "TLS_AES_256_GCM_SHA384", None, None),
    (
        "postgresql/OISF-suricata-verify__pgsql-upgrade-tls__input.pcap", 0, "TLSv1.2",
        "TLS_DHE_RSA_WITH_AES_256_GCM_SHA384", None, "CN=ubuntu",
    ),
    ("postgresql/ntop-nDPI__pgsql2.pcapng", 0, "TLSv1.3", "TLS_AES_256_GCM_SHA384", None, None),
    ("postgresql/zeek-zeek__psql-aws-ssl-preferred.pcap", 0, "TLSv1.2", AES_GCM, HOST, RDS + HOST),
    ("postgresql/zeek-zeek__psql-aws-ssl-require.pcap", 0, "TLSv1.2", AES_GCM, HOST, RDS + HOST),
    ("postgresql/zeek-zeek__psql-aws-ssl-require-15432.pcap", 0, "TLSv1.2", AES_GCM, HOST, RDS + HOST),
]  # fmt: skip

# capture, stream → the round trips of set-up by command, and of what follows
ROUND_TRIPS = {
    ("mysql/arkime-arkime__mysql-tls.pcap", 0): ({"tls": 1}, 0),  # it ends with the server's first flight
    ("mysql/zeek-zeek__encrypted.pcap", 0): ({"tls": 2, "authenticate": 1}, 0),
    ("mysql/zeek-zeek__tls-12-amazon-rds.pcap", 0): ({"tls": 2, "authenticate": 1}, 1),
    ("mysql/zeek-zeek__tls-13-amazon-rds.pcap", 0): ({"tls": 1, "authenticate": 1}, 2),
    ("mysql/ntop-nDPI__mysql.pcapng", 1): ({"tls": 1, "authenticate": 2}, 1),  # the whole password is asked for
    # The answer to the wish for TLS is a round trip, too.
    ("postgresql/OISF-suricata-verify__pgsql-upgrade-tls__input.pcap", 0): ({"tls": 3, "authenticate": 1}, 0),
    ("postgresql/ntop-nDPI__pgsql2.pcapng", 0): ({"tls": 3, "authenticate": 0}, 0),  # HelloRetryRequest
    ("postgresql/zeek-zeek__psql-aws-ssl-preferred.pcap", 0): ({"tls": 3, "authenticate": 2}, 1),
    ("postgresql/zeek-zeek__psql-aws-ssl-require.pcap", 0): ({"tls": 3, "authenticate": 2}, 1),
    ("postgresql/zeek-zeek__psql-aws-ssl-require-15432.pcap", 0): ({"tls": 3, "authenticate": 2}, 1),
}

SUITES = {
    "0x0035": "TLS_RSA_WITH_AES_256_CBC_SHA",
    "0x0039": "TLS_DHE_RSA_WITH_AES_256_CBC_SHA",
    "0x009f": "TLS_DHE_RSA_WITH_AES_256_GCM_SHA384",
    "0x1302": "TLS_AES_256_GCM_SHA384",
    "0xc030": AES_GCM,
}
VERSIONS = {"0x0302": "TLSv1.1", "0x0303": "TLSv1.2", "0x0304": "TLSv1.3"}


def wireshark(path: Path, stream: int, kind: int, *fields: str) -> list[str]:
    """The fields of the last handshake message of this type."""
    only = f"tcp.stream == {stream} && tls.handshake.type == {kind}"
    command = ["tshark", "-r", str(path), "-d", "tcp.port==15432,pgsql", "-Y", only, "-T", "fields"]
    command += [part for field in fields for part in ("-e", field)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return lines[-1].split("\t") if lines else []


@pytest.mark.parametrize(("name", "stream", "version", "cipher", "host", "subject"), FACTS)
def test_a_handshake_says_what_wireshark_says(
    shared_capture: Find, name: str, stream: int, version: str, cipher: str, host: str | None, subject: str | None
) -> None:
    path = shared_capture(name)
    row = next(row for row in latpcap.read(path).connections.to_dicts() if row["stream"] == stream)
    told = (row["tls_version"], row["tls_cipher"], row["server_name"], row["certificate_subject"])
    assert told == (version, cipher, host, subject)
    assert (row["encryption"], row["timing_only"], row["tls_resumed"]) == ("tls", True, False)
    assert wireshark(path, stream, 1, "tls.handshake.extensions_server_name") == [host or ""]
    fields = ("version", "extensions.supported_version", "ciphersuite")
    if chosen := wireshark(path, stream, 2, *(f"tls.handshake.{field}" for field in fields)):
        legacy, supported, suite = chosen
        assert (VERSIONS[supported or legacy], SUITES[suite]) == (version, cipher)
    else:
        assert name.endswith("ssl-preferred.pcap"), "Wireshark does not put this ServerHello's segments together"
    certificates = wireshark(path, stream, 11, "tls.handshake.certificate")
    if subject and any(certificates):
        value = subject.split(",")[-1 if subject.startswith("C=US") else 0].split("=")[1]
        assert value.encode().hex() in certificates[0].split(",")[0]


@pytest.mark.parametrize(("name", "stream"), ROUND_TRIPS)
def test_round_trips_are_counted_without_keys(shared_capture: Find, name: str, stream: int) -> None:
    setup, rest = ROUND_TRIPS[name, stream]
    rows = [row for row in latpcap.read(shared_capture(name)).exchanges.to_dicts() if row["stream"] == stream]
    counted = {command: sum(row["round_trips"] for row in rows if row["command"] == command) for command in setup}
    assert counted == setup
    assert sum(row["round_trips"] for row in rows if row["purpose"] != "setup") == rest
