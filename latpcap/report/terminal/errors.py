"""The errors: what failed, how often, and what the server said."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from rich.console import RenderableType
from rich.text import Text

from latpcap.report.console import heading, print_renderables
from latpcap.report.text import TOP, printable, top
from latpcap.result.errors import ErrorResult, ErrorsResult
from latpcap.units import counted, format_s, listed

__all__ = ["errors", "errors_text"]


def errors(errors: ErrorsResult) -> Iterator[RenderableType]:
    """The most frequent; nothing where nothing failed."""
    if not errors.found:
        return
    yield heading(top("Errors", len(errors.found)))
    yield Text(f"{errors.text}: {counted(errors.round_trips, 'round trip')}")
    width = max(len(f"{each.count:,}") for each in errors.found[:TOP])
    for each in errors.found[:TOP]:
        yield from _error(each, width)


def errors_text(found: Sequence[ErrorResult]) -> str:
    """Each error whole: what the server said of which statement, what it took, and where it is in Wireshark."""
    width = max((len(f"{each.count:,}") for each in found), default=0)
    parts = ((*_error(each, width, is_whole=True), _cost(each, width)) for each in found)
    return print_renderables(chain.from_iterable(parts))


def _error(error: ErrorResult, width: int, *, is_whole: bool = False) -> Iterator[RenderableType]:
    yield Text.assemble((f"{error.count:>{width},} × {printable(error.code)}", "bold"), f"  {printable(error.message)}")
    asked = f"{' ' * width}   {printable(error.statement)}"
    yield Text(asked, style="dim") if is_whole else Text(asked, no_wrap=True, overflow="ellipsis", style="dim")


def _cost(error: ErrorResult, width: int) -> RenderableType:
    frame = "" if error.first_frame is None else f"; first in frame {error.first_frame:,}"
    whose = f" of {listed(map(printable, error.users))}" if error.kind == "login" and error.users else ""
    failed = counted(error.count, error.kind) if error.kind in ("statement", "login") else "failed"
    trips = counted(error.round_trips, "round trip")
    return Text(f"{' ' * width}   {failed}{whose}, {trips}, {format_s(error.seconds)}{frame}")
