"""The RTTs of a recording, as columns of what the core estimates (`core/src/rtt/`)."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from latpcap import _core
from latpcap.rtt.baselines import Baselines
from latpcap.rtt.phases import PathChanges, Phases
from latpcap.tables.columnar.columns import Bools, Codes, Floats, Ints
from latpcap.tables.columnar.scratch import Scratch, spill
from latpcap.tables.connections import MISSING
from latpcap.tables.recording import Recording


class Paths(Struct, frozen=True):
    """The paths (one client host, one server endpoint) in the order of their first connection."""

    of_connection: Ints
    client: list[str]
    """Host, without the port: every connection has its own."""
    server: list[str]

    def __len__(self) -> int:
        return len(self.client)


class BehindProxy(Struct, frozen=True, eq=False):
    """The connection through a proxy that each of the last phases belongs to, which takes the network behind it too."""

    connection: Ints
    outer: Ints
    """The phase that it has on its way to the proxy."""
    server: Codes
    """Behind the proxy."""
    trips: Floats
    """How many round trips of the proxy one of the application takes."""
    is_far: Bools
    """A network of its own leads there: not where proxy and server are on one machine."""
    baseline: Floats
    """The RTT behind the proxy in ns, with the ends of its range; 0 on one machine."""
    low: Floats
    high: Floats
    round_trips: Floats
    """The round trips of the application."""

    @property
    def any_far(self) -> bool:
        """Some are farther away than the machine of the proxy."""
        return bool(self.is_far.any())


class Estimate(Struct, frozen=True, eq=False):
    """The RTTs of a recording."""

    core: _core.Rtts
    paths: Paths
    of_paths: Baselines
    """The RTT of each path; if it changed, of the period with most round trips."""
    of_connections: Baselines
    """The RTT of its phases."""
    phases: Phases
    of_phases: Baselines
    """The phase whose RTT divides each exchange's time; the last ones are `beyond`."""
    of_periods: Baselines
    of_exchanges: Ints
    """The phase of each exchange."""
    beyond: BehindProxy | None
    """Networks behind a proxy that passes exchanges on."""

    @classmethod
    def of(cls, core: _core.Rtts, scratch: Scratch | None = None) -> Estimate:
        """The core's RTTs as columns; long ones in `scratch`, where there is one."""
        of_paths, of_connections, of_phases, of_periods = (
            Baselines(*core.baselines(of)) for of in ("paths", "connections", "phases", "periods")
        )
        phases = Phases(PathChanges(*core.changes(MISSING)), *core.phases())
        of_exchanges, beyond = spill(scratch, core.of_exchanges()), _behind_proxy(core.beyond())
        return cls(
            core, Paths(*core.paths()), of_paths, of_connections, phases, of_phases, of_periods, of_exchanges, beyond
        )

    @property
    def each_baseline(self) -> Floats:
        """The baseline of each exchange in ns, NaN where it is unknown."""
        return self.of_phases.baseline[self.of_exchanges]

    @property
    def has_changed(self) -> bool:
        """A path did."""
        return len(self.phases.changes) > 0


def estimate_recording(recording: Recording, given_ms: float | None = None) -> Estimate:
    """The RTTs of a recording, where `given_ms` does not overrule them; of a window those of the whole."""
    return Estimate.of(recording.rtts(given_ms), recording.scratch)


def _behind_proxy(columns: tuple[Any, ...] | None) -> BehindProxy | None:
    if columns is None:
        return None
    connection, outer, server, names, *others = columns
    return BehindProxy(connection, outer, Codes(server, names), *others)
