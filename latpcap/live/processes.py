"""The servers that a running process and its children are connected to, as Linux tells them in /proc."""

from __future__ import annotations

import ipaddress
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from latpcap.errors import RecordingError, UsageError
from latpcap.live.server import Server

ESTABLISHED, LISTENING = "01", "0A"


def servers_of(pid: int) -> list[Server]:
    """The servers that the process, its children and theirs have connected to: a prefork master leaves that to these.

    What has connected to the process is none of them.
    """
    if sys.platform != "linux":
        raise RecordingError("--pid needs Linux: name the servers (--server, --port)")
    process = Path(f"/proc/{pid}")
    if not process.is_dir():
        raise UsageError(f"--pid {pid}: no such process")
    try:
        if os.readlink(process / "ns/net") != os.readlink("/proc/self/ns/net"):
            inside = f"sudo nsenter --target {pid} --net latpcap record …"
            raise UsageError(
                f"--pid {pid}: it runs in another network namespace (a container): record there: `{inside}`"
            )
        own = set(_sockets(process / "fd")).union(*(_sockets_of_child(child) for child in _below(pid)))
    except PermissionError:
        raise RecordingError(f"--pid {pid}: only its user and root may read its sockets: use sudo") from None
    rows = [row for table in ("tcp", "tcp6") for row in _rows(process / "net" / table)]
    serves = {_port(row[1]) for row in rows if row[3] == LISTENING}
    ours = (row for row in rows if row[3] == ESTABLISHED and row[9] in own and _port(row[1]) not in serves)
    return list(dict.fromkeys(Server(_host(row[2]), _port(row[2])) for row in ours))


def _below(pid: int) -> Iterator[int]:
    """Its children, their children, and so on."""
    children: dict[int, list[int]] = {}
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parent = (process / "stat").read_text().rpartition(") ")[2].split()[1]
            children.setdefault(int(parent), []).append(int(process.name))
    found = [pid]
    for each in found:
        found += children.get(each, ())
    yield from found[1:]


def _sockets_of_child(child: int) -> Iterator[str]:
    with suppress(FileNotFoundError):  # it has ended meanwhile
        yield from _sockets(Path(f"/proc/{child}/fd"))


def _sockets(folder: Path) -> Iterator[str]:
    """The inodes of the sockets among the open files."""
    for each in folder.iterdir():
        with suppress(FileNotFoundError):
            target = os.readlink(each)
            if target.startswith("socket:["):
                yield target.removeprefix("socket:[").removesuffix("]")


def _rows(table: Path) -> list[list[str]]:
    """Rows of /proc/net/tcp: number, local, remote, state, …, inode."""
    try:
        return [line.split() for line in table.read_text().splitlines()[1:]]
    except OSError:
        return []


def _port(endpoint: str) -> int:
    return int(endpoint.rpartition(":")[2], 16)


def _host(endpoint: str) -> str:
    """The address, which stands there in words of 32 bits, each in the order of the machine.

    >>> _host("0100007F:0CEA")
    '127.0.0.1'
    """
    words = endpoint.rpartition(":")[0]
    packed = b"".join(int(words[at : at + 8], 16).to_bytes(4, sys.byteorder) for at in range(0, len(words), 8))
    if len(packed) == 4:
        return socket.inet_ntop(socket.AF_INET, packed)
    address = ipaddress.IPv6Address(packed)
    return str(address.ipv4_mapped or address)
