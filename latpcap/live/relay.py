"""A recording TCP relay as a recorder: it needs no rights, but the application must connect to it.

It forwards and writes in threads of the core's own (`link/src/relay/`), and ends with this process at the latest.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from latpcap import _core
from latpcap.errors import RecordingError, UsageError, reason, unwritten
from latpcap.live.recorder import Recorded
from latpcap.live.server import MAX_LOOKUP_S, Address, Server, addresses, written
from latpcap.tables.writing.outputs import written as written_to
from latpcap.units import counted

HERE = "127.0.0.1"
WRITTEN = re.compile(
    r"(?:(?:\[(?P<bracketed>[^\]\s]+)\]|(?P<host>[^:\[\]\s]+)):)?(?P<port>[0-9]{1,5}):(?P<server>\[.+|[^:]+:[0-9]+)"
)
ABSENT_HEADER_BYTES = 26
"""No packet of a relay has an Ethernet header or TCP timestamps, so this much less of each is kept."""


class Route(Struct, frozen=True):
    """From where to where."""

    host: str
    """The address to listen on."""
    port: int
    """0: any that is free."""
    server: Server

    @classmethod
    def of(cls, text: str) -> Route:
        """Parse `text`; raises `UsageError`.

        >>> Route.of("15432:db:5432").host, str(Route.of("[::1]:15432:[fd00::5]:5432").server)
        ('127.0.0.1', '[fd00::5]:5432')
        """
        found = WRITTEN.fullmatch(text.strip()) if isinstance(text, str) else None
        if found is None or int(found["port"]) > 65535:
            raise UsageError(f"`{text}` is not a relay: write [BIND:]PORT:HOST:PORT, as in 15432:db.example:5432")
        return cls(found["bracketed"] or found["host"] or HERE, int(found["port"]), Server.of(found["server"]))


class Relay:
    """Records what passes between the applications that connect to it and their servers."""

    def __init__(
        self,
        routes: Sequence[Route],
        path: str | os.PathLike[str],
        *,
        snap_length: int | None = None,
        rtt_ms: float | None = None,
        jitter_ms: float = 0.0,
        bits_per_second: int = 0,
        seed: int = 0,
    ) -> None:
        """`snap_length` cuts packets as a capturer's does; an RTT, its jitter and a bottleneck are added to the way.

        The same `seed` gives the same jitter.
        """
        self._routes = tuple(routes)
        self._path = Path(path)
        self._snap_length = 0 if snap_length is None else max(snap_length - ABSENT_HEADER_BYTES, 1)
        self._rtt_ms, self._jitter_ms, self._bits_per_second = rtt_ms, jitter_ms, bits_per_second
        self._seed = seed
        self._running: _core.Relay | None = None
        self._recorded: Recorded | None = None

    @property
    def path(self) -> Path:
        """The pcapng: readable at any time, whole once `stop` has returned."""
        return self._path

    @property
    def where(self) -> str:
        """Name what is recorded, for people."""
        listens = self.addresses if self._running else [(route.host, route.port) for route in self._routes]
        ways = (f"{written(*at)} to {route.server}" for at, route in zip(listens, self._routes, strict=True))
        return f"relayed connections from {', '.join(ways)}"

    @property
    def addresses(self) -> list[tuple[str, int]]:
        """Addresses it listens on, by route: there the applications connect."""
        return self._started().addresses

    def start(self) -> None:
        """Return once all that passes is recorded; raise `RecordingError` where that cannot be."""
        _none_leads_back(self._routes)
        routes = [((each.host, each.port), (each.server.host, each.server.port)) for each in self._routes]
        with written_to(self._path, private=True) as file:
            try:
                self._running = _core.Relay(
                    routes,
                    file.name,
                    snap_length=self._snap_length,
                    rtt_ms=self._rtt_ms,
                    jitter_ms=self._jitter_ms,
                    bits_per_second=self._bits_per_second,
                    seed=self._seed,
                )
            except OSError as error:
                if error.filename is not None:
                    raise unwritten(self._path, error) from None
                raise RecordingError(reason(error)) from None

    def flush(self) -> None:
        """Return when all that passed so far is in the file."""
        self._started().flush()

    def stop(self, *, at_once: bool = False) -> Recorded:
        """End the recording after its last packet, or `at_once`; what was recorded so far is kept. May be repeated."""
        if self._recorded is None:
            where = self.where
            did = self._started().stop(at_once=at_once)
            problems = tuple(_often(problem, count) for problem, count in did.problems.items())
            trouble = did.ended and f"the recording ended early, while forwarding continued: {did.ended}"
            self._recorded = Recorded((self._path,), where, did.dropped, trouble, problems)
        return self._recorded

    def _started(self) -> _core.Relay:
        if self._running is None:
            raise RecordingError("the relay was not started")
        return self._running


def _none_leads_back(routes: Sequence[Route]) -> None:
    """Refuse a route to where the relay listens itself: each connection would open another one, without an end."""
    listens = [at for route in routes for at in addresses(Server(route.host, route.port), MAX_LOOKUP_S)]
    for route in routes:
        if any(_is_met(at, by) for at in addresses(route.server, MAX_LOOKUP_S) for by in listens):
            raise UsageError(
                f"{route.server} leads back to the relay, which listens there: "
                "give the server's address, or another port"
            )


def _is_met(server: Address, listens: Address) -> bool:
    if server.port != listens.port:
        return False
    return server.ip == listens.ip or (server.is_here and (server.ip.is_unspecified or listens.ip.is_unspecified))


def _often(problem: str, count: int) -> str:
    return problem if count == 1 else f"{problem} ({counted(count, 'time')})"
