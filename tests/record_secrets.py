"""Records tests/secrets/*.pcapng: a real server answers a script full of secrets, and says what it says of them.

python tests/record_secrets.py mariadb PORT
python tests/record_secrets.py postgresql PORT
python tests/record_secrets.py mariadb PORT HOST       encrypted, with NAME-tls.keys beside NAME-tls.pcapng

The server needs a superuser `acmeuser` with the password `hushlogin` and a database `acmeshop`.
Recorded with MariaDB 10.11 and PostgreSQL 15 and their own clients. Of an encrypted session the client writes the keys:
Debian's mariadb does when SSLKEYLOGFILE asks for it, psql needs a library that makes it (LATPCAP_PRELOAD, which
`benchmarks/keys/install.sh` builds).
"""

from __future__ import annotations

import os
import subprocess
import sys

from planted import Recorder, pcapng
from test_privacy import SECRETS

CLIENTS = {
    "mariadb": [
        "mariadb",
        "--force",
        "-h127.0.0.1",
        "-P{port}",
        "-uacmeuser",
        "--skip-ssl",
        "--local-infile=1",
        "acmeshop",
    ],
    "postgresql": ["psql", "-X", "-h127.0.0.1", "-p{port}", "-Uacmeuser", "acmeshop"],
}
SETTINGS = {"MYSQL_PWD": "hushlogin", "PGPASSWORD": "hushlogin", "PGSSLMODE": "disable", "PGGSSENCMODE": "disable"}


def main(name: str, port: int, host: str | None = None) -> None:
    recorder = Recorder(port, host or "127.0.0.1")
    command, settings, to = [part.format(port=recorder.port) for part in CLIENTS[name]], SETTINGS, SECRETS / name
    if host:
        to = SECRETS / f"{name}-tls"
        to.with_suffix(".keys").unlink(missing_ok=True)
        command = ["--ssl" if part == "--skip-ssl" else part for part in command]
        preload = {"LD_PRELOAD": os.environ["LATPCAP_PRELOAD"]} if "LATPCAP_PRELOAD" in os.environ else {}
        settings = settings | preload | {"PGSSLMODE": "require", "SSLKEYLOGFILE": str(to.with_suffix(".keys"))}
    with open(SECRETS / f"{name}.sql", "rb") as script:
        subprocess.run(command, stdin=script, capture_output=True, cwd=SECRETS, env=os.environ | settings, check=False)
    recorder.join()
    to.with_suffix(".pcapng").write_bytes(pcapng([recorder.talk]))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
