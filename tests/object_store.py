"""S3 for tests: moto's server, in a process of its own."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.request import Request, urlopen

__all__ = ["Store", "free_port", "store"]

START_S = 120


class Store:
    """A server with one bucket, `captures`."""

    def __init__(self, port: int) -> None:
        self.endpoint = f"http://127.0.0.1:{port}"

    @property
    def environment(self) -> dict[str, str]:
        """Of a process that reads from it."""
        return {
            **{name: value for name, value in os.environ.items() if not name.startswith("AWS_")},
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": "tests",
            "AWS_SECRET_ACCESS_KEY": "hush",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def put(self, key: str, content: bytes) -> str:
        """Keep an object; its URL."""
        self._ask("PUT", f"captures/{key}", content)
        return f"s3://captures/{key}"

    def check_keys(self, *, yes: bool) -> None:
        """Whether it refuses keys that it does not know."""
        self._ask("POST", "moto-api/reset-auth", b"0" if yes else b"1000000000")

    def _ask(self, method: str, path: str, content: bytes = b"") -> None:
        headers = {"Content-Type": "application/octet-stream"}
        urlopen(Request(f"{self.endpoint}/{path}", content, headers, method=method)).close()


def free_port() -> int:
    """One that nobody listens on."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@contextmanager
def store() -> Iterator[Store]:
    """Start it, and end it."""
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            _wait(process, port)
            served = Store(port)
            served._ask("PUT", "captures")
            yield served
        finally:
            process.kill()


def _wait(process: subprocess.Popen[bytes], port: int) -> None:
    until = time.monotonic() + START_S
    while time.monotonic() < until:
        assert process.poll() is None, "moto's server has ended"
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise TimeoutError("moto's server does not start")
