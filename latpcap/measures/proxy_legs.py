"""Both sides of a proxy in one capture: its exchanges with the server lie within those of the application.

```text
application ──request──► proxy ──the same statement──► server        one exchange of the application over two networks
            ◄──────────        ◄──────────────────────
```

Which these are: `core/src/legs/`. See docs/proxies.md.
"""

from __future__ import annotations

from msgspec import Struct

from latpcap import _core
from latpcap.rtt import Estimate, estimate_recording
from latpcap.tables.columnar.columns import Bools
from latpcap.tables.part.selected import only
from latpcap.tables.recording import Recording
from latpcap.units import counted, listed


class LegRoundTrips(Struct, frozen=True):
    """How the round trips on both sides of proxies go together."""

    round_trips: int
    """The round trips of all of them, on both sides."""
    inner_round_trips: int
    proxies: tuple[str, ...]
    servers: tuple[str, ...]
    is_far: bool = True
    """The way from there to the servers is a network of its own."""
    own_round_trips: int = 0
    """The round trips behind the proxies that run statements which no application has sent."""
    own_statements: tuple[str, ...] = ()
    """The most frequent of these statements."""

    @property
    def text(self) -> str:
        """How both counts go together."""
        ours = self.round_trips - self.inner_round_trips
        named = ", ".join(self.own_statements)
        own = f"; the proxy adds {counted(self.own_round_trips, 'round trip')} of its own ({named})" if named else ""
        return (
            f"the capture has both sides of a proxy: {ours:,} of {counted(self.round_trips, 'round trip')} are the "
            f"application's, which {listed(self.proxies)} forwards to {listed(self.servers)}{own}"
        )


class Legs(Struct, frozen=True, eq=False):
    """Which exchange of the application goes on to a server behind the proxy."""

    core: _core.Legs
    counts: LegRoundTrips
    is_inner: Bools
    """Whether each connection is one of the proxy's with a server."""


def joined_legs(recording: Recording) -> Legs | None:
    """The legs of a proxy's exchanges, where some are certain."""
    core = recording.legs
    if core is None:
        return None
    (round_trips, inner_round_trips, own_round_trips), (proxies, servers) = core.round_trips, core.names
    counts = LegRoundTrips(
        round_trips=round_trips,
        inner_round_trips=inner_round_trips,
        proxies=tuple(proxies),
        servers=tuple(servers),
        own_round_trips=own_round_trips,
        own_statements=tuple(recording.statements[each] for each in core.own_statements),
    )
    return Legs(core, counts, core.is_inner())


def application(recording: Recording, rtt: Estimate, legs: Legs, given_ms: float | None) -> tuple[Recording, Estimate]:
    """The connections of the application alone, whose round trips take both networks where a proxy passes them on."""
    ours = only(recording, recording.connections.stream[~legs.is_inner])
    estimate = estimate_recording(ours, given_ms)
    return ours, Estimate.of(legs.core.application(rtt.core, estimate.core), ours.scratch)
