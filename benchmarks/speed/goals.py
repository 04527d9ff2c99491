"""What was aimed at beside what was measured; what is missed is said to be missed."""

from __future__ import annotations

from dataclasses import dataclass

from .compare import BULK, ONE, SIXTEEN, Met
from .cost import Cost
from .curves import PIPED_WAYS, Curves
from .parts import HELP, SMALL, Parts
from .programs import CORE, GOPACKET, LATPCAP_ITSELF, TSHARK, WALK
from .table import Rows, number, table


@dataclass(frozen=True)
class Goal:
    """A figure that should be at least (or at most) what was aimed at; None where it could not be measured."""

    what: str
    aim: float
    measured: float | None
    unit: str = ""
    at_most: bool = False

    @property
    def verdict(self) -> str:
        if self.measured is None:
            return "not measured"
        met = self.measured <= self.aim if self.at_most else self.measured >= self.aim
        return "met" if met else "**missed**"

    def row(self) -> tuple[str, ...]:
        bound = "≤" if self.at_most else "≥"
        measured = "–" if self.measured is None else f"{number(self.measured)}{self.unit}"
        return (self.what, f"{bound} {self.aim:g}{self.unit}", measured, self.verdict)


def shown(contests: dict[str, Met], parts: Parts, curves: Curves) -> str:
    rows: Rows = [("", "goal", "measured", "")]
    rows += [
        goal.row() for goal in (*of_peers(contests, parts), *of_core(contests), *of_parts(parts), *of_curves(curves))
    ]
    return table(rows)


def of_peers(contests: dict[str, Met], parts: Parts) -> list[Goal]:
    one = contests[ONE]
    running_s = one.runs[LATPCAP_ITSELF].median.wall_s - parts.start.wall_s
    after_start = one.runs[TSHARK].median.wall_s / running_s if TSHARK in one.runs else None
    return [
        Goal("whole command, N+1: as fast as tshark, times", 80, ratio(one, TSHARK, LATPCAP_ITSELF)),
        Goal("the same on 16 connections, 5 M packets", 200, ratio(contests[SIXTEEN], TSHARK, LATPCAP_ITSELF)),
        Goal("the same, bulk results", 150, ratio(contests[BULK], TSHARK, LATPCAP_ITSELF)),
        Goal("the same, N+1, after start-up", 150, after_start),
        Goal("the core, N+1: as fast as gopacket, times", 3, ratio(one, GOPACKET, CORE)),
    ]


def of_core(contests: dict[str, Met]) -> list[Goal]:
    one, bulk = contests[ONE], contests[BULK]
    return [
        Goal("the core, N+1: packets per second and processor", 10, rate(one, one.capture.packets / 1e6), " M"),
        Goal("the core, N+1: of the record walk's speed", 20, percent(ratio(one, WALK, CORE)), " %"),
        Goal("the core, bulk: bytes per second and processor", 5, rate(bulk, bulk.capture.bytes / 1e9), " GB"),
        Goal("the core, bulk: of the record walk's speed", 50, percent(ratio(bulk, WALK, CORE)), " %"),
    ]


def of_parts(parts: Parts) -> list[Goal]:
    return [
        Goal("analysis: of the core's processor time", 50, 100 * parts.analysis_cpu_s / parts.core.cpu_s, " %", True),
        Goal("the core on two processors: as fast as on one, times", 1.7, parts.speed_up),
        Goal(f"{HELP}: CPU", 80, milliseconds(parts.starting[HELP].median), " ms", True),
        Goal(f"{SMALL}: CPU", 200, milliseconds(parts.starting[SMALL].median), " ms", True),
    ]


def of_curves(curves: Curves) -> list[Goal]:
    core = curves.bytes_an_exchange(CORE) if curves.packets[0].core else None
    piped = {point.name: point.cost for point in curves.piped}
    in_memory, on_disk = (piped.get(way) for way in PIPED_WAYS)
    return [
        Goal("memory of the core: an exchange with its RTT samples", 100, core, " bytes", True),
        Goal("peak memory with replay: an exchange", 220, curves.bytes_an_exchange(LATPCAP_ITSELF), " bytes", True),
        Goal("peak memory of 10 GB through a pipe", 4.5, in_memory and in_memory.peak_mb / 1e3, " GB", True),
        Goal("the same with chunks on disk, without pages of files", 1, on_disk and on_disk.own_mb / 1e3, " GB", True),
        Goal("growth with packets: exponent of the processor time, 1 is linear", 1.1, curves.exponent, "", True),
    ]


def ratio(met: Met, of: str, to: str) -> float | None:
    return met.runs[of].times(met.runs[to]) if of in met.runs and to in met.runs else None


def percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def rate(met: Met, amount: float) -> float | None:
    return amount / met.runs[CORE].median.cpu_s if CORE in met.runs else None


def milliseconds(cost: Cost) -> float:
    return 1000 * cost.cpu_s
