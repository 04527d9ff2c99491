"""How far away a server is: the RTT, the options that say so, and what was measured."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from latpcap.report.console import parts_of
from latpcap.report.grid import Grid, Heading
from latpcap.report.text import ms, printable
from latpcap.result.calibration import Calibration, Series
from latpcap.units import counted, format_given_ms, format_ms, significant

__all__ = ["facts", "summary"]

TITLES = ("count", "least ms", "median ms", "most ms", "deviation ms")


@parts_of.register
def _calibration(result: Calibration) -> Iterator[RenderableType]:
    yield Text(printable(summary(result)), style="bold")
    yield Text(f"To project onto it: latpcap project CAPTURE {result.options}")
    yield Text()
    yield Grid((Heading("measured", "left"), *map(Heading, TITLES)), [_row(each) for each in result.series])
    yield Text()
    yield from (Text(printable(line)) for line in (*facts(result), *result.notes))


def summary(result: Calibration) -> str:
    """Return the RTT in one sentence."""
    about = f"{significant(result.low_ms)} to {significant(result.high_ms)} ms"
    made = counted(result.connections, "connection")
    return f"{result.server}: RTT {format_ms(result.rtt_ms)} ({about}), from {made}: {result.reason}."


def _row(series: Series) -> tuple[str, ...]:
    figures = (series.least_ms, series.median_ms, series.most_ms, series.deviation_ms)
    return (series.name, f"{series.count:,}", *map(ms, figures))


def facts(result: Calibration) -> Iterator[str]:
    """Yield what else was measured, a sentence each."""
    if result.is_uneven:
        yield f"The path varies: its RTT deviates by {format_ms(result.jitter_ms)}."
    else:
        yield f"The RTT deviates by {format_ms(result.jitter_ms)}, no more than hosts add."
        yield from _waking(result)
    if result.path_mtu is not None:
        yield f"Path MTU {result.path_mtu:,} bytes as far as this system knows; segments hold {result.mss:,}."


def _waking(result: Calibration) -> Iterator[str]:
    """What hosts take to wake up; a path that varies hides it."""
    if result.wake_up_ms is None:
        return
    takes = f"{format_ms(result.wake_up_ms)} longer" if result.wake_up_ms > 0 else "no longer"
    yield f"After a pause of {format_given_ms(result.pause_ms)} a handshake takes {takes} than at once."
