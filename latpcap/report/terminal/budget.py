"""Where the time went, as a bar and as figures; and what the round trips do."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.text import Text

from latpcap.measures.budget import Budget
from latpcap.measures.purposes import PURPOSES, PurposeResult
from latpcap.report.console import heading
from latpcap.report.grid import Grid, Heading
from latpcap.report.text import number

__all__ = ["PARTS", "budget", "purposes"]

PARTS = {
    "network_s": ("N", "network", "red", "round trips at the baseline RTT"),
    "service_s": ("S", "service", "yellow", "the server works"),
    "transfer_s": ("T", "transfer", "cyan", "long requests and responses"),
    "stall_s": ("A", "stall", "bright_magenta", "Nagle and delayed ACK, with its round trip"),
    "client_s": ("C", "client", "green", "the application works"),
    "think_s": ("P", "think", "blue", "long pauses, kept as they are"),
    "setup_s": ("U", "set-up", "magenta", "TCP, TLS, authentication"),
    "loss_s": ("L", "loss", "bright_red", "retransmissions"),
    "unknown_s": ("?", "unknown", "bright_black", "cannot be divided"),
}
"""Letter in the bar, name, colour, what it is."""


NAMES = {"setup": "set-up"}
"""Purposes as people are told of them, where the filterable value is spelled otherwise."""

MAX_BAR = 100
"""Cells of the bar where there is room for more."""


class StackedBar(Struct, frozen=True):
    """A bar over the width, cut into parts: letters on their colour, so that it can do without."""

    parts: list[tuple[str, str, float]]
    """Letter, colour and share of each; the shares sum to 1, and each gets at least a cell."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw the bar."""
        width, bar, reached = min(options.max_width, MAX_BAR), Text(), 0.0
        for letter, colour, share in self.parts:
            reached += share
            bar.append(letter * max(round(reached * width) - len(bar), 1), style=f"black on {colour}")
        bar.truncate(width)
        yield bar


def budget(budget: Budget) -> Iterator[RenderableType]:
    """The parts of the runtime."""
    parts = {name: seconds for name, seconds in budget.parts().items() if seconds > 0}
    total = sum(parts.values())
    if total <= 0:
        return
    yield heading("Where the time went")
    yield StackedBar([(PARTS[name][0], PARTS[name][2], seconds / total) for name, seconds in parts.items()])
    yield Grid(
        (Heading("part", "left"), Heading("", "left"), Heading("seconds"), Heading("share %"), Heading("what", "left")),
        [
            (PARTS[name][1], PARTS[name][0], number(seconds), f"{100 * seconds / total:.1f}", PARTS[name][3])
            for name, seconds in parts.items()
        ],
    )


def purposes(purposes: tuple[PurposeResult, ...]) -> Iterator[RenderableType]:
    """What the round trips are for, where they are for several things."""
    if len(purposes) < 2:
        return
    total = sum(purpose.round_trips for purpose in purposes)
    yield heading("What the round trips do")
    yield Grid(
        (Heading("purpose", "left"), Heading("round trips"), Heading("share %"), Heading("they", "left")),
        [
            (
                NAMES.get(item.purpose, item.purpose),
                f"{item.round_trips:,}",
                f"{100 * item.round_trips / total:.1f}",
                PURPOSES[item.purpose],
            )
            for item in purposes
        ],
    )
