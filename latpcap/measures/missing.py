"""Exchanges of which a packet is missing in the capture, given the times that they had as far as others tell.

A request without its answer, or an answer without its request, waited like its siblings, between the packets before and
after it; where there is none, all that time, since nobody knows what of it the client took. A job is replayed with all
the round trips that it made. What was measured stays as it is.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from latpcap.tables.columnar.columns import Bools, Floats, Ints
from latpcap.tables.columnar.quantiles import Grouped
from latpcap.tables.recording import MISSING, Exchanges

__all__ = ["ExchangeTimes", "times"]


class ExchangeTimes(Struct, frozen=True):
    """First and last packet of each exchange's request and response; `MISSING` where nothing tells."""

    request: Ints
    request_end: Ints
    response: Ints
    response_end: Ints


def times(exchanges: Exchanges, connections: int) -> ExchangeTimes:
    """The times of all exchanges, those of packets that were not captured filled in."""
    seen = ExchangeTimes(exchanges.request, exchanges.request_end, exchanges.response, exchanges.response_end)
    waits = ~exchanges.complete & (exchanges.round_trips > 0)
    if not waits.any():
        return seen
    waits &= exchanges.wait.where("own".__eq__)
    no_answer = waits & (seen.request_end != MISSING) & (seen.response == MISSING) & ~_is_last(exchanges)
    no_request = waits & (seen.request == MISSING) & (seen.response != MISSING) & ~exchanges.is_first
    if not (no_answer.any() or no_request.any()):
        return seen
    usual = _usual(exchanges, connections)
    return _with_requests(_with_answers(seen, no_answer, no_request, usual), no_request, usual)


def _is_last(exchanges: Exchanges) -> Bools:
    """The last of its connection: nothing shows that it was answered at all."""
    last: Bools = np.diff(exchanges.connection, append=-1) != 0
    return last


def _usual(exchanges: Exchanges, connections: int) -> Floats:
    """What each exchange would wait as its siblings on the connection (else on any) do at the median; NaN for none."""
    waited = exchanges.waited
    rows = np.flatnonzero(exchanges.complete & (exchanges.round_trips == 1) & (waited >= 0))
    if not len(rows):
        return np.full(len(exchanges), np.nan)
    usual = Grouped.of(exchanges.connection[rows], waited[rows], connections).quantile(0.5)
    usual = np.where(np.isnan(usual), np.median(waited[rows]), usual)
    each: Floats = usual[exchanges.connection] * exchanges.round_trips
    return each


def _with_answers(seen: ExchangeTimes, no_answer: Bools, no_request: Bools, usual: Floats) -> ExchangeTimes:
    """Answers came before what follows them was sent."""
    rows = np.flatnonzero(no_answer)
    begin = np.where(seen.request == MISSING, seen.response, seen.request)[rows + 1]
    sent = seen.request_end[rows]
    room = begin - sent - np.where(no_request[rows + 1], np.nan_to_num(usual[rows + 1]), 0.0)
    response, response_end = seen.response.copy(), seen.response_end.copy()
    known = begin != MISSING
    came = sent + np.clip(np.fmin(usual[rows], room), 0, np.maximum(begin - sent, 0)).astype(np.int64)
    response[rows[known]] = response_end[rows[known]] = came[known]
    return ExchangeTimes(seen.request, seen.request_end, response, response_end)


def _with_requests(seen: ExchangeTimes, no_request: Bools, usual: Floats) -> ExchangeTimes:
    """Requests were sent after the answer before them had come."""
    rows = np.flatnonzero(no_request)
    before = np.maximum(seen.response_end, seen.request_end)[rows - 1]
    answered = seen.response[rows]
    earliest = np.where(before == MISSING, answered, np.minimum(before, answered))
    request, request_end = seen.request.copy(), seen.request_end.copy()
    sent = np.fmax(answered - np.nan_to_num(usual[rows], nan=np.inf), earliest).astype(np.int64)
    request[rows] = request_end[rows] = sent
    return ExchangeTimes(request, request_end, seen.response, seen.response_end)
