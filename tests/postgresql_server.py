"""A PostgreSQL server of a test's own."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from loopback import wait_until
from mariadb_server import running

BIN = max(Path("/usr/lib/postgresql").glob("*/bin"), default=Path("/usr/bin"))
OWNER = "postgres"
USER = "tester"


def is_installed() -> bool:
    return (BIN / "initdb").exists()


@contextmanager
def postgresql(port: int) -> Iterator[str]:
    """A server on loopback that lets `USER` in without a password; yields the URL of its database.

    Its folder is not pytest's: only root may enter that, and PostgreSQL refuses to run as root.
    """
    with tempfile.TemporaryDirectory(prefix="latpcap-postgresql-") as folder:
        home = Path(folder)
        as_owner = _as_owner(home)
        lean = {"listen_addresses": "127.0.0.1", "unix_socket_directories": folder, "fsync": "off", "jit": "off"}
        options = [word for name, value in lean.items() for word in ("-c", f"{name}={value}")]
        initdb = [BIN / "initdb", "-D", home / "data", "-U", USER, "--auth=trust", "-E", "UTF8", "--locale=C"]
        subprocess.run([*as_owner, *initdb, "--no-sync"], check=True, capture_output=True, cwd=folder)
        command = [*as_owner, BIN / "postgres", "-D", home / "data", "-p", str(port), *options]
        with open(home / "log", "wb") as log, running(command, stdout=log, stderr=log, cwd=folder):
            wait_until(lambda: b"ready to accept connections" in (home / "log").read_bytes())
            yield f"postgresql+psycopg://{USER}@127.0.0.1:{port}/postgres"


def _as_owner(home: Path) -> list[str]:
    if os.geteuid() != 0:
        return []
    owner = pwd.getpwnam(OWNER)
    shutil.chown(home, OWNER, OWNER)
    return ["setpriv", f"--reuid={owner.pw_uid}", f"--regid={owner.pw_gid}", "--clear-groups"]
