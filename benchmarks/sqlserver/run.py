"""One job by the clients of SQL Server, in each kind of encryption, against the scripted server of `tests/sqlserver/`.

    benchmarks/sqlserver/run.py FOLDER          captures, and a table: who counts how many waits, rows and changes

Three count the waits: the server, the client's system calls (`fixtures/recorder/truth.py`), latpcap. `FOLDER` must have
what `README.md` says how to make. Needs root (tcpdump) and strace.
"""

from __future__ import annotations

import re
import shutil
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent.parent / part) for part in ("tests", "fixtures")]

from loopback import captured  # noqa: E402
from recorder import truth  # noqa: E402
from sqlserver.scripted_server import ALL, LOGIN_ONLY, NONE, STRICT, Server  # noqa: E402

import latpcap  # noqa: E402

OPENING = {"prelogin", "login", "tls", "authenticate"}
HIDDEN_PATH = re.compile(r"<((?:\\x[0-9a-f]{2})+)>")


def commands(folder: Path, port: int, mode: str) -> Iterator[tuple[str, list[str], str]]:
    """Each client with the kinds of encryption that it is asked for."""
    certificate, every = folder / "certificate", f"{NONE} {LOGIN_ONLY} {ALL} {STRICT}"
    python = [sys.executable, str(HERE / "job.py")]
    yield "pymssql", [*python, "pymssql", str(port)], f"{NONE} {LOGIN_ONLY} {ALL}"
    yield "python-tds", [*python, "python-tds", str(port)], NONE
    yield "python-tds-mars", [*python, "python-tds-mars", str(port)], NONE
    encrypt = {NONE: "disable", LOGIN_ONLY: "false", ALL: "true", STRICT: "strict"}[mode]
    trust = f"certificate={certificate}.pem" if mode == STRICT else "TrustServerCertificate=true"
    url = f"sqlserver://ann:secret@127.0.0.1:{port}?database=shop&encrypt={encrypt}&{trust}"
    yield "go-mssqldb", [str(folder / "job"), url], every
    yield "tedious", ["node", str(folder / "job.js"), str(port), str(mode == ALL).lower()], f"{NONE} {ALL}"
    encrypt = {ALL: "true", STRICT: "strict"}.get(mode, "false")
    url = f"jdbc:sqlserver://127.0.0.1:{port};databaseName=shop;encrypt={encrypt};trustServerCertificate=true"
    url += f";serverCertificate={certificate}.pem" if mode == STRICT else ""
    java = ["java", "-cp", f"{folder}:{next(folder.glob('mssql-jdbc-*.jar'), '')}", "Job"]
    yield "mssql-jdbc", [*java, url], every
    yield "mssql-jdbc-cursor", [*java, f"{url};selectMethod=cursor"], NONE


def context(folder: Path, mode: str) -> ssl.SSLContext:
    pem, key = folder / "certificate.pem", folder / "key.pem"
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"]
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", *names, "-keyout", str(key), "-out", str(pem)]
    subprocess.run(made, check=True, capture_output=True)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(pem, key)
    tls.set_alpn_protocols(["tds/8.0"])
    if mode != STRICT:
        tls.maximum_version = ssl.TLSVersion.TLSv1_2
    return tls


def system_calls(log: Path, port: int) -> int:
    """Waits of the client, by its system calls."""
    truth.PORT, truth.PORT6 = f"sin_port=htons({port})", f"sin6_port=htons({port})"
    with log.open(errors="replace") as lines:
        shown = (HIDDEN_PATH.sub(lambda path: f"<TCP:[{path[1]}]>", line) for line in lines)
        return sum(socket.round_trips for socket in truth.follow(truth.calls(shown)))


def run(folder: Path, name: str, mode: str) -> str:
    path, log = folder / f"{name}-{mode}.pcap", folder / "system-calls"
    tls = context(folder, mode)
    keys = path.with_suffix(".keys")
    tls.keylog_filename = str(keys)
    trace = ["-y" if word == "-yy" else word for word in truth.STRACE]
    with Server(mode, tls) as server, captured(path, server.port):
        command = next(command for each, command, _ in commands(folder, server.port, mode) if each == name)
        done = subprocess.run([*trace, "-o", str(log), *command], capture_output=True, text=True, check=False)
    if done.returncode:
        return f"| {name} | {mode} | {done.stderr.strip().splitlines()[0][:80]} |"
    blind = latpcap.read(str(path)).exchanges.to_dicts()
    opened = mode in (ALL, STRICT)
    rows = latpcap.read(str(path), keylog=str(keys)).exchanges.to_dicts() if opened else blind
    requests = [row["command"] for row in rows if row["command"] not in OPENING]
    waits = sum(row["round_trips"] for row in blind), sum(row["round_trips"] for row in rows)
    seen = sum(row["rows"] or 0 for row in rows), sum(row["affected_rows"] or 0 for row in rows)
    program = done.stdout.split()
    same = "same" if requests == server.requests else f"{len(requests)}, not {len(server.requests)}"
    calls = system_calls(log, server.port)
    cells = (name, mode, server.waits, calls, *waits, *program, *seen, same)
    return "| " + " | ".join(map(str, cells)) + " |"


def main(folder: Path) -> None:
    shutil.copy(HERE / "job.js", folder)
    print(
        "| client | TLS | server | system calls | latpcap | with keys | rows | changes | latpcap's | latpcap's | requests |"
    )
    print("|---|---|--:|--:|--:|--:|--:|--:|--:|--:|---|")
    for mode in (NONE, LOGIN_ONLY, ALL, STRICT):
        for name, _, modes in commands(folder, 0, mode):
            if mode in modes.split():
                print(run(folder, name, mode), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
