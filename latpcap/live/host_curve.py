"""Measuring how much later this host answers after a rest, and writing that behind a recording."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path

from msgspec.structs import replace

from latpcap import _core
from latpcap.errors import ServerUnreachable
from latpcap.live.recorder import Recorded, Recorder
from latpcap.live.server import Server, addresses
from latpcap.tables.host_curve import HostCurve

OF_LINUX_V4, OF_LINUX_V6 = Path("/proc/net/fib_trie"), Path("/proc/net/if_inet6")
LOCAL = re.compile(r"\|-- (\S+)\n(?:\s+/\d+ .*\n)*?\s+/32 host LOCAL")
FAR_AWAY = ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1"))
"""Addresses of documentation, to which nothing is sent: the system says which one of its own it would use."""
MAX_LOOKUP_S = 1.0
"""This host's own name is resolved within this time, or not at all."""


MAX_SCANNED_BYTES = 1 << 20
"""In so much of a recording this host's addresses are looked for: no other ones are written into it."""


def measure_host(*also: str) -> HostCurve | None:
    """Return the curve of this host, which has these addresses `also`; `None` where it cannot be measured."""
    try:
        rests_ms, extra_ms = _core.measure_rests()
    except OSError:
        return None
    return HostCurve(tuple(rests_ms), tuple(extra_ms), frozenset((*own_addresses(), *also)))


def own_addresses() -> set[str]:
    """Return the addresses of this host: all of them on Linux, elsewhere those of its name and its default route."""
    found = {"127.0.0.1", "::1"}
    with suppress(OSError):
        found.update(LOCAL.findall(OF_LINUX_V4.read_text()))
        lines = OF_LINUX_V6.read_text().splitlines()
        found.update(socket.inet_ntop(socket.AF_INET6, bytes.fromhex(line.split()[0])) for line in lines)
    return found if len(found) > 2 else found | {*_of_name(), *_of_route()}


def _of_name() -> Iterator[str]:
    with suppress(ServerUnreachable):
        yield from (str(each.ip) for each in addresses(Server(socket.gethostname(), 0), MAX_LOOKUP_S))


def _of_route() -> Iterator[str]:
    for family, far_away in FAR_AWAY:
        with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as tried:
            tried.connect((far_away, 9))
            yield str(tried.getsockname()[0]).partition("%")[0]  # which link it is on is no part of it


class CurveRecorder:
    """A recorder at the end of whose recording the host's curve stands."""

    def __init__(self, recorder: Recorder, measure: Callable[[], HostCurve | None]) -> None:
        """`measure` is called before the recording starts."""
        self._recorder = recorder
        self._measure = measure
        self._curve: HostCurve | None = None
        self._recorded: Recorded | None = None

    @property
    def path(self) -> Path:
        """The pcapng: readable at any time, whole once `stop` has returned."""
        return self._recorder.path

    @property
    def where(self) -> str:
        """Name what is recorded, for people."""
        return self._recorder.where

    def start(self) -> None:
        """Measure; return once all that passes is recorded."""
        self._curve = self._measure()
        self._recorder.start()

    def flush(self) -> None:
        """Return when all that passed so far is in the file."""
        self._recorder.flush()

    def stop(self, *, at_once: bool = False) -> Recorded:
        """End the recording, with the curve where it is whole. May be repeated."""
        if self._recorded is None:
            self._recorded = _with_curve(self._recorder.stop(at_once=at_once), self._curve)
        return self._recorded


def _with_curve(recorded: Recorded, curve: HostCurve | None) -> Recorded:
    """Write the curve behind the last packet, unless the recording ended too soon."""
    if curve is None or recorded.trouble is not None:
        return recorded
    try:
        with open(recorded.path, "r+b", buffering=0) as file:
            hosts = _recorded_addresses(curve.addresses, file.read(MAX_SCANNED_BYTES))
            block = _core.pcapng_host_curve(curve.rests_ms, curve.extra_ms, hosts)
            end = file.seek(0, 2)
            if file.write(block) < len(block):
                file.truncate(end)
    except OSError as error:
        problem = f"this host's wake-up times could not be written: {error.strerror}"
        return replace(recorded, problems=(*recorded.problems, problem))
    return recorded


def _recorded_addresses(known: Iterable[str], packets: bytes) -> list[str]:
    """Return those of loopback, and of the others those that packets are from or to."""
    addresses = sorted(map(ip_address, known), key=lambda each: (each.version, each))
    return [str(each) for each in addresses if each.is_loopback or each.packed in packets]
