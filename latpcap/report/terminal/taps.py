"""What two taps show together."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from latpcap.report.console import heading
from latpcap.report.taps import sentences
from latpcap.report.text import TOP, printable
from latpcap.result.taps import TapsResult

__all__ = ["taps"]


def taps(taps: tuple[TapsResult, ...]) -> Iterator[RenderableType]:
    """Each two taps of each path: how far apart they are, and what got lost between them."""
    if not taps:
        return
    yield heading("Between two taps")
    for each in taps[:TOP]:
        yield Text(printable(f"{each.client} → {each.server}: {each.client_tap} and {each.server_tap}"))
        yield from (Text(f"  {sentence}") for sentence in sentences(each))
    if len(taps) > TOP:
        yield Text(f"… and {len(taps) - TOP:,} more: latpcap sql 'select * from taps'", style="dim")
