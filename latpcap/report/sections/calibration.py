"""How far away a server is: the RTT, the options that say so, and what was measured."""

from __future__ import annotations

from collections.abc import Iterator

from latpcap.report.section import Column, Row, Section, SectionTable, Sentence, sections_of
from latpcap.report.text import between
from latpcap.result.calibration import Calibration, Series
from latpcap.units import counted, format_given_ms, format_ms, listed

TOLD_RESTS_MS = (1, 5, 50)
COLUMNS = (
    *(Column("measured"), Column("count", "count")),
    *(Column(title, "ms") for title in ("least ms", "median ms", "most ms", "deviation ms")),
)


@sections_of.register
def _calibration(result: Calibration) -> Iterator[Section]:
    how = f"To project onto it: latpcap project CAPTURE {result.options}"
    yield Section("calibration", "", [Sentence(summary(result), "strong"), Sentence(how)])
    said = map(Sentence, (*facts(result), *result.notes))
    yield Section("measured", "Measured", [SectionTable(COLUMNS, [_row(each) for each in result.series]), *said])


def summary(result: Calibration) -> str:
    """Return the RTT in one sentence."""
    made = counted(result.connections, "connection")
    about = f"{between(result.low_ms, result.high_ms)} ms"
    return f"{result.server}: RTT {format_ms(result.rtt_ms)} ({about}), from {made}: {result.reason}."


def _row(series: Series) -> Row:
    return (series.name, series.count, series.min_ms, series.median_ms, series.max_ms, series.deviation_ms)


def facts(result: Calibration) -> Iterator[str]:
    """Yield what else was measured, a sentence each."""
    if result.is_uneven:
        yield f"The path varies: its RTT deviates by {format_ms(result.jitter_ms)}."
    else:
        yield f"The RTT deviates by {format_ms(result.jitter_ms)}, which is within the noise of the hosts."
        yield from _waking(result)
    yield from _resting(result)
    if result.path_mtu is not None:
        yield f"Path MTU {result.path_mtu:,} bytes, as known to this system; MSS {result.mss:,}."


def _resting(result: Calibration) -> Iterator[str]:
    """Say how much later this host answers after short and long rests."""
    if told := [each for each in result.rests if each.rest_ms in TOLD_RESTS_MS]:
        rests, extra = listed(f"{each.rest_ms:g}" for each in told), listed(format_ms(each.extra_ms) for each in told)
        yield f"After a rest of {rests} ms this host answers {extra} later."


def _waking(result: Calibration) -> Iterator[str]:
    """Say how long waking up takes; a path that varies hides it."""
    if result.wake_up_ms is None:
        return
    takes = f"{format_ms(result.wake_up_ms)} longer" if result.wake_up_ms > 0 else "no longer"
    yield f"After a pause of {format_given_ms(result.pause_ms)} a handshake takes {takes} than without one."
