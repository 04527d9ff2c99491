"""The workloads of SQL Server's clients, in each kind of encryption, against the scripted server of `tests/sqlserver/`.

    benchmarks/sqlserver/run.py FOLDER [CLIENT …]      a table: who counts how many waits, rows and changes

Three count the waits: the server, the client's system calls (`fixtures/recorder/truth.py`), latpcap without keys; rows,
changes and requests are the program's and the server's. `FOLDER` must have what `README.md` says how to make. Needs root
(tcpdump) and strace. A server that runs already on the port `SQLSERVER_PORT` (`babelfish.sh`) counts nothing itself.
"""

from __future__ import annotations

import os
import re
import ssl
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent.parent / part) for part in ("tests", "fixtures")]

from loopback import captured  # noqa: E402
from recorder import truth  # noqa: E402
from sqlserver.scripted_server import ALL, LOGIN_ONLY, NONE, STRICT, Server  # noqa: E402

import latpcap  # noqa: E402

OPENING = {"prelogin", "login", "tls", "authenticate"}
HIDDEN_PATH = re.compile(r"<((?:\\x[0-9a-f]{2})+)>")
HOST = os.environ.get("SQLSERVER", "127.0.0.1")
EVERY = f"{NONE} {LOGIN_ONLY} {ALL} {STRICT}"
WORKLOADS = "n_plus_one prepared cursor_fetch batch transactions connect_per_query"


@dataclass(frozen=True)
class Client:
    """How it is started, in which kinds of encryption, and what it can do."""

    command: tuple[str, ...]
    modes: str = NONE
    workloads: str = WORKLOADS


def python(name: str, modes: str = NONE, workloads: str = WORKLOADS) -> tuple[str, Client]:
    command = "{folder}/py/bin/python", str(HERE / "job.py"), name, "{workload}", "{port}", "{mode}"
    return name, Client(command, modes, workloads)


def node(name: str, modes: str, workloads: str) -> tuple[str, Client]:
    return name, Client(("node", "{folder}/node/job.js", name, "{workload}", "{port}", "{mode}"), modes, workloads)


def java(name: str, url: str, modes: str = NONE, workloads: str = WORKLOADS) -> tuple[str, Client]:
    started = "java", "-XX:TieredStopAtLevel=1", "-cp", "{folder}/java/*:{folder}/java", "Job", "{workload}", url
    return name, Client(started, modes, workloads)


def go(name: str, modes: str, workloads: str) -> tuple[str, Client]:
    url = "sqlserver://ann:top%20secret@{host}:{port}?database=shop&encrypt={go}&{trust}"
    return name, Client(("{folder}/go/job", name, "{workload}", url), modes, workloads)


JDBC = (
    "jdbc:sqlserver://{host}:{port};databaseName=shop;encrypt={jdbc};trustServerCertificate=true;{certificate};{bulk}"
)
SEALED = f"{NONE} {LOGIN_ONLY} {ALL}"
PLAIN = "n_plus_one cursor_fetch batch transactions connect_per_query"
"""Of a mapper that prepares nothing by itself."""
CLIENTS = dict([
    python("pymssql", SEALED, f"{WORKLOADS} bulk"),
    python("python-tds", SEALED, f"{WORKLOADS} bulk"),
    python("python-tds-mars", NONE, f"{WORKLOADS} mars"),
    python("mssql-python", EVERY),
    python("odbc", EVERY, f"{WORKLOADS} bulk"),
    python("odbc-mars", SEALED, f"{WORKLOADS} bulk mars"),
    python("odbc-encrypted", NONE, "cursor_fetch"),
    python("freetds", SEALED),
    python("sqlalchemy-pymssql", NONE, f"{WORKLOADS} bulk"),
    python("sqlalchemy-pytds", NONE, f"{WORKLOADS} bulk"),
    java("mssql-jdbc", JDBC, EVERY, f"{WORKLOADS} bulk"),
    java("mssql-jdbc-cursor", JDBC + ";selectMethod=cursor"),
    java("jtds", "jdbc:jtds:sqlserver://{host}:{port}/shop"),
    java("jtds-cursor", "jdbc:jtds:sqlserver://{host}:{port}/shop;useCursors=true"),
    node("tedious", f"{NONE} {ALL} {STRICT}", f"{WORKLOADS} bulk"),
    node("mssql", f"{NONE} {ALL}", f"{PLAIN} prepared bulk"),
    node("knex", f"{NONE} {ALL}", PLAIN),
    node("sequelize", f"{NONE} {ALL}", PLAIN),
    go("go-mssqldb", EVERY, f"{WORKLOADS} bulk"),
    go("gorm", f"{NONE} {ALL}", WORKLOADS),
])  # fmt: skip


def command(client: Client, workload: str, folder: Path, port: int, mode: str) -> list[str]:
    certificate = folder / "certificate.pem"
    words = {
        "host": HOST, "folder": folder, "workload": workload, "port": port, "mode": mode,
        "go": {NONE: "disable", LOGIN_ONLY: "false", ALL: "true", STRICT: "strict"}[mode],
        "trust": f"certificate={certificate}" if mode == STRICT else "TrustServerCertificate=true",
        "jdbc": {ALL: "true", STRICT: "strict"}.get(mode, "false"),
        "certificate": f"serverCertificate={certificate}" if mode == STRICT else "",
        "bulk": "useBulkCopyForBatchInsert=true" if workload == "bulk" else "",
    }  # fmt: skip
    return [word.format_map(words) for word in client.command]


def context(folder: Path, mode: str) -> ssl.SSLContext:
    pem, key = folder / "certificate.pem", folder / "key.pem"
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"]
    if not pem.exists():
        kind = ["-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", str(key), "-out", str(pem)]
        made = ["openssl", "req", *kind, *names]
        subprocess.run(made, check=True, capture_output=True)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(pem, key)
    tls.set_alpn_protocols(["tds/8.0"])
    if mode != STRICT:
        tls.maximum_version = ssl.TLSVersion.TLSv1_2
    return tls


@dataclass(frozen=True)
class Real:
    """A server that is none of ours, and does not say what it has counted."""

    port: int
    waits: None = None
    rows: None = None
    changes: None = None
    requests: None = None

    def __enter__(self) -> Real:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def serving(mode: str, keys: Path, folder: Path) -> Server | Real:
    if port := os.environ.get("SQLSERVER_PORT"):
        return Real(int(port))
    tls = context(folder, mode)
    tls.keylog_filename = str(keys)
    return Server(mode, tls)


def system_calls(log: Path, port: int) -> int:
    """Waits of the client, by its system calls."""
    truth.PORT, truth.PORT6 = f"sin_port=htons({port})", f"sin6_port=htons({port})"
    with log.open(errors="replace") as lines:
        shown = (HIDDEN_PATH.sub(lambda path: f"<TCP:[{path[1]}]>", line) for line in lines)
        return sum(socket.round_trips for socket in truth.follow(truth.calls(shown)))


def run(folder: Path, name: str, workload: str, mode: str) -> str:
    path = folder / "captures" / f"{name}-{workload}-{mode}.pcap"
    path.parent.mkdir(exist_ok=True)
    keys, log = path.with_suffix(".keys"), path.with_suffix(".calls")
    trace = ["-y" if word == "-yy" else word for word in truth.STRACE]
    environment = os.environ | dict.fromkeys(("CERTIFICATE", "NODE_EXTRA_CA_CERTS"), str(folder / "certificate.pem"))
    with serving(mode, keys, folder) as server, captured(path, server.port):
        asked = [*trace, "-o", str(log), *command(CLIENTS[name], workload, folder, server.port, mode)]
        done = subprocess.run(asked, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        return f"| {name} | {workload} | {mode} | {(done.stderr.strip().splitlines() or ['?'])[-1][:90]} |"
    blind = latpcap.read(str(path)).exchanges.to_dicts()
    opened = mode in (ALL, STRICT) and keys.exists()
    rows = latpcap.read(str(path), keylog=str(keys)).exchanges.to_dicts() if opened else blind
    requests = [row["command"] for row in rows if row["command"] not in OPENING]
    waits = sum(row["round_trips"] for row in blind), sum(row["round_trips"] for row in rows)
    seen = [sum(row[what] or 0 for row in rows) for what in ("rows", "affected_rows")]
    calls, program = system_calls(log, server.port), list(map(int, done.stdout.split()))
    told = [server.rows, server.changes] if server.requests is not None else program
    asked_so = server.requests is None or sorted(requests) == sorted(server.requests)
    good = {server.waits, calls, *waits} - {None} == {calls} and asked_so and (seen == told or "unreadable" in requests)
    number = len(requests) if asked_so else f"{len(requests)}, not {len(server.requests or ())}"
    cells = name, workload, mode, server.waits, calls, *waits, *program, *told, *seen, number, "" if good else "differs"
    return "| " + " | ".join("" if cell is None else str(cell) for cell in cells) + " |"


def main(folder: Path, only: list[str]) -> None:
    head = "client workload TLS server system-calls latpcap with-keys rows changes server's ~ latpcap's ~ requests ~"
    print(f"| {' | '.join(head.replace('~', '').split(' '))} |\n|---|---|---{'|--:' * 11}|---|")
    for name, client in CLIENTS.items():
        for mode in client.modes.split():
            for workload in client.workloads.split():
                if not only or name in only:
                    print(run(folder, name, workload, mode), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), sys.argv[2:])
