"""What two taps show together."""

from __future__ import annotations

from latpcap.report.section import Entry, Line, Say, Section
from latpcap.report.taps import sentences
from latpcap.result.taps import TapsResult

__all__ = ["taps"]


def taps(found: tuple[TapsResult, ...], most: int) -> Section:
    """Each two taps of each path: how far apart they are, and what got lost between them."""
    shown = [
        Entry(
            f"{each.client} → {each.server}: {each.client_tap} and {each.server_tap}",
            lines=tuple(map(Line, sentences(each))),
        )
        for each in found[:most]
    ]
    left = len(found) - len(shown)
    more = [Say(f"… and {left:,} more: latpcap sql 'select * from taps'", "quiet")] if left else []
    return Section("taps", "Between two taps", [*shown, *more])
