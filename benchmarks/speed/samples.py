"""Peers that are too slow for a million packets: fewer, twice and four times as many; scaled only where that is linear."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from .captures import Capture, capture
from .cost import Failed, Runs, repeated
from .programs import PACKETS, SLOW, Program
from .table import Rows, number, table
from .traffic.kinds import Wish

ROUNDS = 2
ALIKE = 0.2
"""So much may the second half's time a packet differ from the first's where growth counts as linear."""


@dataclass(frozen=True)
class Sample:
    """The runs of one program on three captures of the classic."""

    captures: list[Capture]
    runs: list[Runs]

    @property
    def slopes_us(self) -> tuple[float, float]:
        """Microseconds a packet, from the first capture to the second and from there to the third."""
        packets = [each.packets for each in self.captures]
        seconds = [each.median.wall_s for each in self.runs]
        pairs = ((0, 1), (1, 2))
        first, second = (1e6 * (seconds[b] - seconds[a]) / (packets[b] - packets[a]) for a, b in pairs)
        return first, second

    @property
    def linear(self) -> bool:
        first, second = self.slopes_us
        return abs(second / first - 1) <= ALIKE

    def scaled_s(self, packets: int) -> float:
        """What so many packets would take: the largest capture's time, and the rest at its last slope."""
        return self.runs[-1].median.wall_s + (packets - self.captures[-1].packets) * self.slopes_us[1] / 1e6


def sampled(folder: Path, share: float) -> dict[str, Sample]:
    found = {}
    for name, program in SLOW.items():
        if program.here:
            try:
                found[name] = sample(folder, name, program, share)
            except Failed as error:  # one that crashes ends no measurement of an hour's quarter
                print(f"{name} is left out: {error}", file=sys.stderr)
    return found


def sample(folder: Path, name: str, program: Program, share: float) -> Sample:
    wishes = [Wish(max(1_000, round(PACKETS[name] * share)) * times) for times in (1, 2, 4)]
    captures = [made for wish in wishes if (made := capture(folder, "nplus1", wish))]
    return Sample(captures, [repeated(program.command(made.path), ROUNDS) for made in captures])


def shown(samples: dict[str, Sample], packets: int, ours_s: float) -> str:
    rows: Rows = [
        ("", "packets", "wall s", "µs a packet", "peak MB", f"{packets:,} packets: s", "wall ÷ latpcap's"),
    ]
    for name, each in samples.items():
        scaled_s = each.scaled_s(packets)
        rows.append(
            (
                name,
                ", ".join(f"{made.packets:,}" for made in each.captures),
                ", ".join(number(runs.median.wall_s) for runs in each.runs),
                ", ".join(number(slope) for slope in each.slopes_us),
                number(each.runs[-1].median.peak_mb),
                number(scaled_s) if each.linear else "– (not linear)",
                number(scaled_s / ours_s) if each.linear else "–",
            )
        )
    return table(rows)
