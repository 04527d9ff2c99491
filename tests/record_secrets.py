"""Records tests/secrets/*.pcapng: a real server answers a script full of secrets, and says what it says of them.

python tests/record_secrets.py mariadb PORT
python tests/record_secrets.py postgresql PORT

The server on loopback needs a superuser `acmeuser` with the password `hushlogin` and a database `acmeshop`.
Recorded with MariaDB 10.11 and PostgreSQL 15 and their own clients, without TLS.
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


def main(name: str, port: int) -> None:
    recorder = Recorder(port)
    command = [part.format(port=recorder.port) for part in CLIENTS[name]]
    with open(SECRETS / f"{name}.sql", "rb") as script:
        subprocess.run(command, stdin=script, capture_output=True, cwd=SECRETS, env=os.environ | SETTINGS, check=False)
    recorder.join()
    (SECRETS / f"{name}.pcapng").write_bytes(pcapng([recorder.talk]))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
