"""Paths to a database: as it is, over a link that delays packets, or through a relay that holds back what is said."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from latpcap.errors import RecordingError, UsageError
from latpcap.live import job
from latpcap.live.capturing.capturer import Capturer
from latpcap.live.host_curve import CurveRecorder
from latpcap.live.link import network
from latpcap.live.recorder import Recorder
from latpcap.live.relay import Relay, Route
from latpcap.projection.assumptions import Conditions
from latpcap.result.pairs.rehearsal import CongestionControls
from latpcap.tables.host_curve import HostCurve

ANYWHERE = "127.0.0.1:1"


class CommandRun(Struct, frozen=True):
    """How one run of the command ended."""

    status: int
    """Its exit status."""
    packets: int | None = None
    """How many crossed the link; `None` where there was none."""
    ends: CongestionControls | None = None
    problems: tuple[str, ...] = ()
    """Problems on the way to a server, a line each."""


class NetworkPath(Protocol):
    """How a database is made farther away, and what is said to it recorded."""

    kind: str
    """`link` or `relay`."""
    goes_on: bool
    """Behind the link the way goes on, as long as it is today, in a TCP connection of its own."""
    seed: int | None
    """The seed of its first run's random numbers, with each further run's the next number; `None`: it has none."""

    def run(self, command: Sequence[str], into: Path, servers: Sequence[str], link_ms: float | None) -> CommandRun:
        """Run the command with `servers` that much farther away (`None`: as things are), recorded into a pcapng."""


class Link:
    """A network of the command's own, in which every packet to the servers crosses a link."""

    kind = "link"
    goes_on = True

    def __init__(
        self,
        today: Callable[[Path], Recorder],
        conditions: Conditions,
        congestion_control: str = "",
        *,
        seed: int = 0,
        curve: HostCurve | None = None,
    ) -> None:
        """`today` makes the recorder of a run as things are; both ends use this machine's own congestion control.

        Each recording says how much later this host answers after a rest: its `curve`.

        Raises `RecordingError` where no such network can be made, so that no command is run in vain.
        """
        self._today = today
        self._conditions = conditions
        self.seed = seed if conditions.loss or conditions.jitter_ms else None
        self._seeds = count(seed)
        self._congestion_control = congestion_control
        self._curve = curve
        with network.Network([ANYWHERE], self._asked(0, seed), congestion_control):
            pass

    def run(self, command: Sequence[str], into: Path, servers: Sequence[str], link_ms: float | None) -> CommandRun:
        """Run the command, with `servers` that much farther away (`None`: as things are)."""
        if link_ms is None:
            return recorded(self._today(into), command, self._curve)
        with network.Network(servers, self._asked(link_ms, next(self._seeds)), self._congestion_control) as far:
            where = f"the job's packets to {', '.join(servers)}"
            inside = far.prefix(may_capture=True)
            capturer = Capturer(into, capture_filter="tcp", where=where, interfaces=[network.INTERFACE], prefix=inside)
            ran = recorded(capturer, [*far.prefix(), *command], self._curve)
            if failure := far.failure():
                raise RecordingError(f"the link has failed: {failure}")
            there, back = far.counts()
        ends = CongestionControls(far.congestion_control, far.congestion_control)
        return replace(ran, packets=there.received + back.received, ends=ends)

    def _asked(self, link_ms: float, seed: int) -> network.LinkConditions:
        asked = self._conditions
        return network.LinkConditions(
            rtt_ms=link_ms,
            jitter_ms=asked.jitter_ms,
            loss=asked.loss or 0.0,
            bits_per_second=round(asked.bandwidth_bps or 0),
            seed=seed,
        )


def recorded(recorder: Recorder, command: Sequence[str], curve: HostCurve | None = None) -> CommandRun:
    """Run the command under a recording that lost nothing, at whose end the host's `curve` stands.

    Whoever ends it wants no further run: `KeyboardInterrupt` where the command took that for no failure.
    """
    recorder = CurveRecorder(recorder, lambda: curve)
    recorder.start()
    try:
        ended = job.run(command)
    except BaseException:
        recorder.stop(at_once=True)
        raise
    done = recorder.stop()
    if ended.interrupted and not ended.status:
        raise KeyboardInterrupt
    if done.trouble is not None:
        raise RecordingError(done.trouble)
    if done.dropped:
        raise RecordingError(f"{done.dropped:,} packets were not recorded: this machine was too busy; try again")
    return CommandRun(ended.status, problems=done.problems)


class Relayed:
    """A relay, which the command connects to, holds back what is said."""

    kind = "relay"
    goes_on = False

    def __init__(
        self, routes: Sequence[Route], conditions: Conditions, *, seed: int = 0, curve: HostCurve | None = None
    ) -> None:
        """Each route is from where the command connects to a server; a relay loses nothing."""
        if conditions.loss:
            raise UsageError("a relay cannot lose packets: --loss needs a link, which needs root or user namespaces")
        self._routes = routes
        self._conditions = conditions
        self._curve = curve
        self.seed = seed if conditions.jitter_ms else None
        self._seeds = count(seed)

    def run(self, command: Sequence[str], into: Path, servers: Sequence[str], link_ms: float | None) -> CommandRun:
        """Run the command, with what it says held back for that long (`None`: not at all)."""
        asked = self._conditions if link_ms is not None else Conditions()
        relay = Relay(
            self._routes,
            into,
            rtt_ms=link_ms,
            jitter_ms=asked.jitter_ms,
            bits_per_second=round(asked.bandwidth_bps or 0),
            seed=0 if link_ms is None else next(self._seeds),
        )
        return recorded(relay, command, self._curve)
