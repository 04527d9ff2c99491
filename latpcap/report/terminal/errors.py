"""The errors: what failed, how often, and what the server said."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from latpcap.report.console import heading
from latpcap.report.text import TOP, printable, top
from latpcap.result.errors import ErrorResult, ErrorsResult
from latpcap.units import counted

__all__ = ["errors"]


def errors(errors: ErrorsResult) -> Iterator[RenderableType]:
    """The most frequent; nothing where nothing failed."""
    if not errors.found:
        return
    yield heading(top("Errors", len(errors.found)))
    yield Text(f"{errors.failed_of_all}: {counted(errors.round_trips, 'round trip')}")
    width = max(len(f"{each.count:,}") for each in errors.found[:TOP])
    for each in errors.found[:TOP]:
        yield from _error(each, width)


def _error(error: ErrorResult, width: int) -> Iterator[RenderableType]:
    yield Text.assemble((f"{error.count:>{width},} × {printable(error.code)}", "bold"), f"  {printable(error.message)}")
    yield Text(f"{' ' * width}   {printable(error.statement)}", no_wrap=True, overflow="ellipsis", style="dim")
