"""The programs that capture: dumpcap, Wireshark's, and tcpdump; where they are, and how they are spoken to."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator

from msgspec import Struct

from latpcap.live.capturing.rights import is_root
from latpcap.verify.programs import installed

FOLDERS = ("/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin")
"""Folders of tools that PATH may lack."""
KERNEL_BUFFER_MIB = 64


class Tool(Struct, frozen=True):
    """A capturer and how it is spoken to."""

    path: str
    options: tuple[str, ...]
    before_filter: tuple[str, ...]
    is_running: str
    """Its words on standard error once it captures."""
    dropped: Callable[[str], int | None]
    """How many packets it has dropped, by what it said at its end."""
    is_pcap: bool
    """It writes pcap, not pcapng."""


def tools(*, one_interface: bool, ring: bool) -> Iterator[Tool]:
    """Yield installed tools that can do it."""
    if path := _found("dumpcap"):
        options = ("-p", "-q", "-B", str(KERNEL_BUFFER_MIB))
        yield Tool(path, options, ("-f",), "\nFile: ", _dropped_by_dumpcap, is_pcap=False)
    if one_interface and not ring and (path := _found("tcpdump")):
        same_user = ("-Z", "root") if is_root() and sys.platform == "linux" else ()
        quick = ("-p", "-n", "-U", "--immediate-mode", "--time-stamp-precision=nano")
        options = (*quick, "-B", str(KERNEL_BUFFER_MIB << 10), *same_user)
        yield Tool(path, options, ("--",), "listening on ", _dropped_by_tcpdump, is_pcap=True)


def _found(name: str) -> str | None:
    """Also where it may not be executed: then that is what the user must know."""
    search = os.pathsep.join([os.environ.get("PATH", os.defpath), *FOLDERS])
    return installed(name) or shutil.which(name, path=search) or shutil.which(name, mode=os.F_OK, path=search)


def _dropped_by_dumpcap(said: str) -> int | None:
    """The second of `Packets received/dropped on interface 'lo': 12/3 (…)`, of all interfaces."""
    lines = [line for line in said.splitlines() if line.startswith("Packets received/dropped on interface")]
    counts = [line.rpartition("': ")[2].partition(" ")[0].partition("/")[2] for line in lines]
    return sum(map(int, counts)) if counts and all(map(str.isdigit, counts)) else None


def _dropped_by_tcpdump(said: str) -> int | None:
    """The number before `packets dropped by kernel`, and before `by interface` where there is one."""
    lines = [line.split() for line in said.splitlines() if " dropped by " in line]
    counts = [words[0] for words in lines]
    return sum(map(int, counts)) if counts and all(map(str.isdigit, counts)) else None
