"""latpcap and its peers on the same capture, in turn; and how near both are to what reading a file takes at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .captures import Capture, capture
from .cost import Runs, in_turn
from .programs import FAST, LATPCAP_ITSELF, TSHARK
from .table import Rows, number, table
from .traffic.kinds import Wish


@dataclass(frozen=True)
class Contest:
    """A capture that all read, and how often; tshark, who takes minutes for some, in the first rounds only."""

    name: str
    kind: str
    wish: Wish
    rounds: int
    of_tshark: int


ONE, SIXTEEN, BULK = "N+1", "N+1 on 16 connections", "bulk results"
CONTESTS = (
    Contest(ONE, "nplus1", Wish(1_000_000), 5, 3),
    Contest(SIXTEEN, "nplus1", Wish(5_000_000, connections=16), 3, 1),
    Contest(BULK, "bulk", Wish(1_000_000), 5, 1),
    Contest("bulk results in rows of 200 bytes", "bulk", Wish(500_000, row_bytes=200), 3, 1),
    Contest("PostgreSQL, extended", "postgresql", Wish(1_000_000), 3, 1),
    Contest("short connections", "short", Wish(1_000_000), 3, 1),
    Contest("Firebird", "firebird", Wish(500_000), 3, 1),
    Contest("TNS", "tns", Wish(500_000), 3, 1),
)


@dataclass(frozen=True)
class Met:
    """What came out of a contest."""

    contest: Contest
    capture: Capture
    runs: dict[str, Runs]


def compared(folder: Path, share: float) -> dict[str, Met]:
    """All contests, on captures of `share` of their packets."""
    met = {}
    for contest in CONTESTS:
        made = capture(folder, contest.kind, contest.wish.times(share))
        if made:
            met[contest.name] = Met(contest, made, raced(contest, made))
    return met


def raced(contest: Contest, made: Capture) -> dict[str, Runs]:
    commands = {name: program.command(made.path) for name, program in FAST.items() if program.reads(contest.kind)}
    in_turn({"cat": commands["cat"]}, lambda _: 1)  # fills the file cache
    return in_turn(commands, lambda name: contest.of_tshark if name == TSHARK else contest.rounds)


def shown(met: Sequence[Met]) -> str:
    return "\n".join(contest_shown(each) for each in met)


def contest_shown(met: Met) -> str:
    made, ours = met.capture, met.runs[LATPCAP_ITSELF]
    rows: Rows = [
        ("", "runs", "wall s", "CPU s", "peak MB", "M packets/s", "GB/s", "wall ÷ latpcap's", "CPU ÷ latpcap's")
    ]
    for name, runs in met.runs.items():
        cost = runs.median
        rows.append(
            (
                name,
                str(len(runs.costs)),
                *(number(value) for value in (cost.wall_s, cost.cpu_s, cost.peak_mb)),
                number(made.packets / cost.wall_s / 1e6),
                number(made.bytes / cost.wall_s / 1e9),
                number(runs.times(ours)),
                number(runs.times(ours, "cpu_s")),
            )
        )
    title = (
        f"**{met.contest.name}**: {made.packets:,} packets, {made.queries:,} queries, "
        f"{many(made.connections, 'connection')}, {made.bytes / 1e6:,.0f} MB\n"
    )
    return f"{title}\n{table(rows)}"


def many(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"
