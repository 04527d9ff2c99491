"""The comparison of two taps, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from latpcap.report.section import Entry, Line, Section, Sentence
from latpcap.result.taps import AtTap, TapsDirection, TapsResult
from latpcap.units import counted, format_ms

MIN_DISTANCE_MS = 0.001
"""Taps that see a packet within this time have no network between them."""


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
    more = [Sentence(f"… and {left:,} more: latpcap sql 'select * from taps'", "quiet")] if left else []
    return Section("taps", "Between two taps", [*shown, *more])


def sentences(taps: TapsResult) -> Iterator[str]:
    """Yield what is sure first, then what holds if the clocks agree, then what got lost."""
    if taps.round_trip_ms is None:
        yield "Packets passed in one direction only: the delay between the taps and their clock offset are unknown"
    elif _are_one(taps):
        yield "All times are identical: both files are the same capture, not two taps"
        return
    else:
        least = format_ms(taps.round_trip_min_ms or 0.0)
        yield f"RTT between the taps: {format_ms(taps.round_trip_ms)}, minimum {least} (independent of their clocks)"
    yield from _ways(taps)
    yield from _answers(taps)
    yield from _lost(taps)


def _are_one(taps: TapsResult) -> bool:
    return all(
        abs(way.min_ms or 0.0) + abs(way.p95_ms or 0.0) < MIN_DISTANCE_MS for way in (taps.request, taps.response)
    )


def _ways(taps: TapsResult) -> Iterator[str]:
    told = [
        f"{name} {_signed(way.median_ms)} "
        f"({_signed(way.min_ms)} to {_signed(way.p95_ms)}, {counted(way.packets, 'packet')})"
        for name, way in (("requests", taps.request), ("responses", taps.response))
        if way.median_ms is not None and way.min_ms is not None and way.p95_ms is not None
    ]
    known = {"same": "One way, by one clock", "unknown": "One way, if the clocks agree"}
    yield f"{known.get(taps.clocks, 'One way, by clocks that disagree')}: {', '.join(told)}"
    if taps.offset_ms is None or taps.clocks == "same":
        return
    drift = "" if taps.drift_ppm is None else f", and gains {taps.drift_ppm:+.3g} µs a second"
    if early := _early(taps):
        yield f"{early} arrive before they were sent: the clocks differ, so only the sum of both directions is reliable"
    yield f"If both directions take equally long, the clock at the server's tap is {_ahead(taps.offset_ms)}{drift}"


def _early(taps: TapsResult) -> str:
    early = [
        name
        for name, way in (("requests", taps.request), ("responses", taps.response))
        if taps.clocks == "differ" and (way.min_ms or 0.0) < 0
    ]
    return " and ".join(early).capitalize()


def _ahead(offset_ms: float) -> str:
    return f"{format_ms(abs(offset_ms))} {'ahead' if offset_ms >= 0 else 'behind'}"


def _signed(value: float | None) -> str:
    return f"{'−' if (value or 0.0) < 0 else ''}{format_ms(abs(value or 0.0))}"


def _answers(taps: TapsResult) -> Iterator[str]:
    near, far = taps.at_client, taps.at_server
    if near.answer_median_ms is None or far.answer_median_ms is None:
        return
    yield (
        f"Responses began {format_ms(far.answer_median_ms)} after the request at the server's tap ({_p95(far)}), "
        f"{format_ms(near.answer_median_ms)} at the client's ({_p95(near)})"
    )


def _p95(tap: AtTap) -> str:
    return f"p95 {format_ms(tap.answer_p95_ms or 0.0)}"


def _lost(taps: TapsResult) -> Iterator[str]:
    ways = (("requests", taps.request), ("responses", taps.response))
    alone = [f"{_alone(way)} of the {name}" for name, way in ways if way.client_tap_only or way.server_tap_only]
    if alone:
        yield f"Seen by one tap only: {', '.join(alone)} (lost between the taps, or missed by a capture)"
    again = (taps.at_client.retransmissions, taps.at_server.retransmissions)
    if any(again):
        yield f"Sent again: {counted(again[0], 'packet')} at the client's tap, {again[1]:,} at the server's"
    if taps.reordered_packets:
        yield f"{counted(taps.reordered_packets, 'packet')} arrived in a different order at the second tap"
    if taps.joined_packets:
        yield f"{counted(taps.joined_packets, 'segment')} passed one tap in one piece and the other in several"


def _alone(way: TapsDirection) -> str:
    told = ((way.client_tap_only, "client's"), (way.server_tap_only, "server's"))
    return " and ".join(f"{count:,} by the {whose}" for count, whose in told if count)
