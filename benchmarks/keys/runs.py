"""The runs: which client, against which server, inside which TLS, and how each is asked for its keys."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
from recorder import lab

FOLDER = Path(__file__).resolve().parent
BUILT = lab.LAB / "keys-clients"
"""What `install.sh` made."""

Command = tuple[list[str], dict[str, str]]
"""A command line and the environment that makes it write its key log."""


class Run(msgspec.Struct, frozen=True):
    client: str
    """The job's word for it."""
    tls: str = "clear"
    special: str = ""
    """What is not usual about it, in the file's name."""
    settings: dict[str, str] = {}
    """Environment of the job."""
    host: str = lab.DEBIANS

    @property
    def name(self) -> str:
        return "-".join(filter(None, [self.client, self.tls.lower().replace(".", ""), self.special]))

    @property
    def port(self) -> int:
        return 5432 if self.client.startswith(("asyncpg", "pg", "postgresql", "psql", "psycopg", "tokio")) else 3306

    def command(self, keys: Path) -> Command:
        argv, environment = CLIENTS[self.client](self, keys)
        return argv, environment | {"TLS": self.tls, "LATPCAP_HOST": self.host} | self.settings


def python(run: Run, keys: Path) -> Command:
    return [str(BUILT / "venv/bin/python"), str(FOLDER / "job.py"), run.client], {"SSLKEYLOGFILE": str(keys)}


def node(run: Run, keys: Path) -> Command:
    logging = {"NODE_OPTIONS": f"--tls-keylog={keys}"} if run.tls != "clear" else {}
    return ["node", str(FOLDER / "job.js"), run.client], {"NODE_PATH": str(BUILT / "node/node_modules"), **logging}


def java(run: Run, keys: Path) -> Command:
    """With the agent; the version of TLS is for the driver that has no setting of its own."""
    jars = [BUILT / "java/job.jar", *sorted((BUILT / "java/lib").glob("*.jar"))]
    agent = next((BUILT / "java/lib").glob("extract-tls-secrets-*.jar"))
    version = run.tls.replace("clear", "TLSv1.3")
    words = [f"-javaagent:{agent}={keys}", f"-Djdk.tls.client.protocols={version}"]
    if version == "TLSv1.2":  # so that the server gives the id that the agent logs, if it ever does: Wireshark needs it
        words.append("-Djdk.tls.client.enableSessionTicketExtension=false")
    words += run.settings.get("JAVA", "").split()
    return ["java", *words, "-cp", ":".join(map(str, jars)), "Job", run.client.removesuffix("-jdbc")], {}


def built(run: Run, keys: Path) -> Command:
    language = "go" if run.client in ("go-sql-driver", "pgx") else "rust/debug"
    return [str(BUILT / language / "job"), run.client], {"SSLKEYLOGFILE": str(keys)}


def preloaded(run: Run, keys: Path) -> Command:
    """A client without any setting, which uses OpenSSL as a shared library."""
    name = run.client.removesuffix("-preloaded")
    argv, environment = {"psql": psql, "mariadb-cli": mariadb_cli}.get(name, unprepared)(run, name)
    return argv, environment | {"SSLKEYLOGFILE": str(keys), "LD_PRELOAD": str(BUILT / "keylog.so")}


def unprepared(run: Run, name: str) -> Command:
    if name == "sqlx-mysql":
        return [str(BUILT / "rust/debug/job"), name], {}
    return [str(BUILT / "venv/bin/python"), str(FOLDER / "job.py"), name], {}


def psql(run: Run, name: str) -> Command:
    mode = (
        "disable"
        if run.tls == "clear"
        else f"require ssl_min_protocol_version={run.tls} ssl_max_protocol_version={run.tls}"
    )
    place = f"host={run.host} user=lab password=labpw dbname=lab gssencmode=disable sslmode={mode}"
    return [str(FOLDER / "job.sh"), "psql", "-XAtq", place], {}


def mariadb_cli(run: Run, name: str) -> Command:
    mode = (
        ["--skip-ssl"] if run.tls == "clear" else ["--ssl", "--skip-ssl-verify-server-cert", f"--tls-version={run.tls}"]
    )
    login = ["--no-defaults", f"-h{run.host}", "-ulab", "-plabpw"]
    return [str(FOLDER / "job.sh"), "mariadb", *login, *mode, "-fN", "lab"], {}


CLIENTS: dict[str, Callable[[Run, Path], Command]] = {
    "pymysql": python,
    "connector-python": python,
    "asyncpg": python,
    "psycopg": python,
    "psycopg-direct": python,
    "pg8000": python,
    "mysql2": node,
    "mariadb": node,
    "pg": node,
    "mysql-jdbc": java,
    "mariadb-jdbc": java,
    "postgresql-jdbc": java,
    "go-sql-driver": built,
    "pgx": built,
    "tokio-postgres": built,
    "psql-preloaded": preloaded,
    "mariadb-cli-preloaded": preloaded,
    "mysqlclient-preloaded": preloaded,
    "psycopg2-preloaded": preloaded,
    "connector-python-preloaded": preloaded,
    "sqlx-mysql-preloaded": preloaded,
}

NOT_ASKED = {
    ("mysqlclient-preloaded", "TLSv1.2"),
    ("psycopg2-preloaded", "TLSv1.2"),
    ("sqlx-mysql-preloaded", "TLSv1.2"),
}
"""They have no setting for the version of TLS."""

SUITES = {
    "aes128-gcm": "ECDHE-RSA-AES128-GCM-SHA256",
    "chacha20": "ECDHE-RSA-CHACHA20-POLY1305",
    "cbc-sha-etm": "ECDHE-RSA-AES128-SHA",
    "cbc-sha256-etm": "ECDHE-RSA-AES128-SHA256",
    "cbc-sha384-etm": "ECDHE-RSA-AES256-SHA384",
    "rsa-cbc-sha-etm": "AES256-SHA",
}
"""Of TLS 1.2, by what the run's name calls them. Between two OpenSSLs a CBC suite is encrypt-then-mac; Java and Go know mac-then-encrypt."""


def runs() -> Iterator[Run]:
    for client in CLIENTS:
        host = lab.NEWEST if client == "psycopg-direct" else lab.DEBIANS
        yield from (
            Run(client, tls, host=host) for tls in ("clear", "TLSv1.2", "TLSv1.3") if (client, tls) not in NOT_ASKED
        )
    for client in ("pymysql", "asyncpg"):
        yield from (Run(client, "TLSv1.2", special, {"CIPHERS": suite}) for special, suite in SUITES.items())
    for client in ("mysql2", "pg"):
        yield Run(client, "TLSv1.3", "chacha20", {"CIPHERS": "TLS_CHACHA20_POLY1305_SHA256"})
        yield Run(client, "TLSv1.3", "aes128-gcm", {"CIPHERS": "TLS_AES_128_GCM_SHA256"})
    cbc = "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA"
    yield Run("mysql-jdbc", "TLSv1.2", "cbc-sha256", {"MORE": f"&tlsCiphersuites={cbc}256"})
    yield Run(
        "mariadb-jdbc",
        "TLSv1.2",
        "cbc-sha384",
        {"MORE": "&enabledSslCipherSuites=TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA384"},
    )
    yield Run("go-sql-driver", "TLSv1.2", "cbc-sha", {"CIPHER": cbc})
    yield Run("pgx", "TLSv1.2", "cbc-sha", {"CIPHER": cbc})
    yield Run("tokio-postgres", "TLSv1.3", "chacha20", {"CIPHER": "TLS13_CHACHA20_POLY1305_SHA256"})
    for tls in ("clear", "TLSv1.2", "TLSv1.3"):
        yield Run("go-sql-driver", tls, "two-sessions", {"SESSIONS": "2"})
    yield Run("mysql-jdbc", "TLSv1.2", "tickets", {"JAVA": "-Djdk.tls.client.enableSessionTicketExtension=true"})
    for client in ("mysql-jdbc", "postgresql-jdbc"):
        yield Run(
            client, "TLSv1.3", "key-update", {"JAVA": f"-Djava.security.properties={FOLDER / 'keylimits.security'}"}
        )


RUNS = list(runs())


def handshakes(path: Path) -> list[str]:
    """What each server's hello agreed to, as tshark reads it: `TLSv1.3 TLS_AES_256_GCM_SHA384`, once for each kind."""
    argv = ["tshark", "-d", "tcp.port==5432,pgsql", "-r", str(path), "-Y", "tls.handshake.type == 2", "-O", "tls"]
    if "direct" in path.name:
        argv[2] = "tcp.port==5432,tls"
    text = subprocess.run(argv, check=True, capture_output=True, text=True).stdout
    suites = re.findall(r"Handshake Protocol: Server Hello$.*?Cipher Suite: (\w+)", text, re.DOTALL | re.MULTILINE)
    return sorted({f"{'TLSv1.2' if '_WITH_' in suite else 'TLSv1.3'} {suite}" for suite in suites})


def injected(path: Path, keys: Path) -> None:
    """Put the secrets into the capture."""
    whole = path.with_suffix(".injected")
    subprocess.run(["editcap", "--inject-secrets", f"tls,{keys}", str(path), str(whole)], check=True)
    whole.replace(path)
