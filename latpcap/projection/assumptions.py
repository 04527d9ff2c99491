"""What the projection assumes, by name: the central case, and the two ends of the range.

How they were calibrated: docs/model.md C.6.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct, field
from msgspec.structs import replace

from latpcap.projection.job import Network, Waiting
from latpcap.projection.wake_up import MEANINGS, WakeUp
from latpcap.units import RttIs, counted, fibre_ms, format_bandwidth, format_given_ms

__all__ = ["ASSUMPTIONS", "CENTRAL", "OPTIMISTIC", "PESSIMISTIC", "Assumption", "Case", "Conditions"]

LESS_WORK, MORE_WORK = 0.7, 1.4
"""Client and server take this part of the time that they took themselves in the capture."""
LOSS_SIGMA = 2.0
"""Standard deviations of the number of lost packets, which is random (Poisson)."""
SLOW_GROWTH = 1.5
"""A window that is acknowledged grows to this multiple of itself (2: slow start)."""


class Assumption(Struct, frozen=True):
    """One named reason why the range is as wide as it is."""

    name: str
    case: str
    text: str


ASSUMPTIONS = (
    Assumption("baseline high", "optimistic", "the baseline RTT was at the high end of its range"),
    Assumption("baseline low", "pessimistic", "the baseline RTT was at the low end of its range"),
    Assumption(
        "mean RTT",
        "both",
        f"the mean RTT is within {MEANINGS['ping'].above:.0%} of the asked one; "
        f"up to {MEANINGS['handshake'].above:.0%} above an asked handshake",
    ),
    Assumption("own time", "both", f"client and server take {LESS_WORK:.0%} to {MORE_WORK:.0%} of the time they took"),
    Assumption("wake-up delay", "both", "hosts go on sooner the less they wait for each packet; or do not"),
    Assumption("loss", "both", f"the number of lost packets strays by {LOSS_SIGMA:g} standard deviations (`--loss`)"),
    Assumption("windows kept", "optimistic", "pauses do not make senders start slowly again"),
    Assumption("slow windows", "pessimistic", "TCP windows grow by half a round trip, not by doubling"),
    Assumption("side by side", "optimistic", "no connection waits for another one that is open"),
    Assumption("one after the other", "pessimistic", "what never ran at the same time waits for each other"),
)


ASKED: dict[RttIs, str] = {"ping": "pings", "handshake": "TCP handshakes", "in-stream": "the data itself"}


class Conditions(Struct, frozen=True):
    """What else is different at the other place."""

    bandwidth_bps: float | None = None
    """The bottleneck in bits a second; `None`: as much as the capture needed."""
    loss: float | None = None
    """The part of the packets that is lost, 0 to 1; `None`: what was lost in the capture stays as it was."""
    jitter_ms: float = 0.0
    """How far the RTT strays to either side of its mean."""
    connections: int | None = None
    """How many connections work at once, each as those of the capture did; `None`: as many as there were."""
    distance_km: float | None = None
    """Fibre whose least RTT is part of each RTT."""
    rtt_is: RttIs = "ping"
    """How the asked RTT was measured, or will be."""

    @property
    def text(self) -> str:
        """What is different, in words; empty where only the RTT is.

        >>> Conditions(34e6, 0.001, 3.0, 4).text
        '34 Mbit/s at the bottleneck, 0.1% of the packets lost, 3 ms of jitter, 4 connections'
        >>> Conditions(distance_km=1000, rtt_is="handshake").text
        '1,000 km of fibre (10 ms), RTTs as of TCP handshakes'
        """
        return ", ".join(self._different())

    @property
    def is_rtt_alone(self) -> bool:
        """Nothing but the RTT is different."""
        return not replace(self, distance_km=None, rtt_is="ping").text

    def _different(self) -> Iterator[str]:
        if self.bandwidth_bps is not None:
            yield f"{format_bandwidth(self.bandwidth_bps)} at the bottleneck"
        if self.loss is not None:
            yield f"{100 * self.loss:.4g}% of the packets lost"
        if self.jitter_ms:
            yield f"{format_given_ms(self.jitter_ms)} of jitter"
        if self.connections is not None:
            yield counted(self.connections, "connection")
        if self.distance_km is not None:
            yield f"{self.distance_km:,.6g} km of fibre ({format_given_ms(fibre_ms(self.distance_km))})"
        if self.rtt_is != "ping":
            yield f"RTTs as of {ASKED[self.rtt_is]}"


class Case(Struct, frozen=True):
    """One way in which things may be: who waits for whom, and on what network."""

    waiting: tuple[Waiting, ...]
    """The range takes the end of all of them."""
    network: Network
    learned: Network = field(default_factory=Network)
    """How the transfers of the capture are taken to have gone."""
    rtt: int = 0
    """Which end of what the asked RTT may mean: -1 the low one, 1 the high one."""
    work: float = 1.0
    """Own time of client and server ÷ what was observed."""
    jitter: float = 0.0
    """How much of the jitter is added to each RTT."""
    loss_sigma: float = 0.0
    """How many standard deviations more packets are lost than on average."""
    wake_up: WakeUp = field(default_factory=WakeUp)


ANY: tuple[Waiting, ...] = ("evidence", "independent", "chained")
CENTRAL = Case(("evidence",), Network(), wake_up=WakeUp(gained=1.0, lost=1.0, of_own=0.7))
OPTIMISTIC = Case(
    ANY,
    Network(restarts=False, baseline=1),
    Network(growth=SLOW_GROWTH),
    rtt=-1,
    work=LESS_WORK,
    loss_sigma=-LOSS_SIGMA,
    wake_up=WakeUp(lost=4.0, of_own=0.95, alone=True),
)
PESSIMISTIC = Case(
    ANY,
    Network(growth=SLOW_GROWTH, baseline=-1),
    rtt=1,
    work=MORE_WORK,
    jitter=1.0,
    loss_sigma=LOSS_SIGMA,
    wake_up=WakeUp(gained=3.0),
)
