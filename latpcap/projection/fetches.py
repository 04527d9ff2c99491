"""Small fetch sizes: statements whose rows come a few at a time, and what larger fetches would save.

A cursor of R rows fetched f at a time waits ⌈R / f⌉ times; with f' rows at a time it would wait ⌈R / f'⌉ times
(docs/model.md C.9).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from arro3.core import Array

from latpcap.tables.recording import Recording
from latpcap.units import format_ms, format_s

__all__ = ["LARGER", "FetchSaving", "fetch_savings"]

LARGER = 100
"""Rows a fetch that the saving is told for."""
FEWEST = 10
"""Fetches of one statement below which nothing is said."""


@dataclass(frozen=True, slots=True)
class FetchSaving:
    """A statement that fetches few rows at a time."""

    statement: str
    fetches: int
    rows: int
    round_trips_saved: int
    """With `LARGER` rows a fetch."""

    def text(self, rtt_ms: float) -> str:
        """What the larger fetch would save at an RTT.

        >>> FetchSaving("select a from t", 2000, 20000, 1800).text(5)
        '2,000 fetches bring 10 rows each; 100 rows a fetch would save 1,800 round trips: 9 s at 5 ms.'
        """
        saved = format_s(self.round_trips_saved * rtt_ms / 1000)
        return (
            f"{self.fetches:,} fetches bring {self.rows / self.fetches:.3g} rows each; {LARGER} rows a fetch "
            f"would save {self.round_trips_saved:,} round trips: {saved} at {format_ms(rtt_ms)}."
        )


def fetch_savings(recording: Recording) -> Iterator[FetchSaving]:
    """The statements with small fetches, the dearest first."""
    exchanges = recording.exchanges
    fetching = exchanges.is_for("fetch") & (exchanges.round_trips > 0)
    statement = exchanges.fingerprint[fetching]
    rows = exchanges.rows.ints(0)[fetching]
    numbers, group = np.unique(statement, return_inverse=True)
    fetches = np.bincount(group, minlength=len(numbers))
    sums = np.bincount(group, rows, len(numbers))
    texts = recording.statement_texts
    found = [
        FetchSaving(_text(texts, int(number)), int(count), int(total), int(count) - math.ceil(total / LARGER))
        for number, count, total in zip(numbers, fetches, sums, strict=True)
        if count >= FEWEST and 0 < total < count * LARGER / 2
    ]
    return iter(sorted(found, key=lambda saving: -saving.round_trips_saved))


def _text(texts: Array, number: int) -> str:
    return str(texts[number].as_py()) if number >= 0 else "(unknown statement)"
