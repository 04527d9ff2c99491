"""Connections of which only times are known: how many, why, and how what they say can be read.

What they cost is known as for any other: round trips, times, sizes. Statements, rows and errors are not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from latpcap.tables.recording import Recording
from latpcap.units import counted, listed

EXPLAIN_KEYS = "`latpcap explain keys`"
"""The command that says how to get keys, client by client."""

WITHOUT_KEYS = frozenset({"wire encryption"})
"""Encryption whose keys no client logs."""
OPAQUE = "unknown protocol"


class TimingOnly(Struct, frozen=True):
    """The part of a recording that is timing only."""

    connections: int
    of: int
    """All its connections."""
    round_trips: int
    kinds: dict[str, int]
    """How many of each: by TLS version, `wire encryption`, or `unknown protocol`."""
    text: str
    """The consequence, in a sentence."""
    advice: str
    """How to read them, where that can be."""


def timing_only(recording: Recording) -> TimingOnly | None:
    """Return the part of the `recording` that is timing only; `None` where all was read."""
    hidden = recording.timing_only
    count, total = int(np.count_nonzero(hidden)), len(hidden)
    if count == 0:
        return None
    kinds = Counter(_kinds(recording))
    trips = recording.exchanges.round_trips[hidden[recording.exchanges.connection]]
    verb = "is" if count == 1 else "are"
    return TimingOnly(
        connections=count,
        of=total,
        round_trips=int(trips.sum()),
        kinds=dict(kinds.most_common()),
        text=(
            f"Timing only: {part_of(count, total)} {verb} {_what(kinds)}, so statements, rows and errors are unknown"
        ),
        advice=_advice(recording, kinds),
    )


def tls_readings(recording: Recording) -> dict[str, int]:
    """How many connections that speak TLS were read, or why not; the words are those of `layers/tls/facts.rs`."""
    readings = recording.said("tls_reading")
    counts = np.bincount(readings.codes[readings.codes >= 0], minlength=len(readings.names))
    return {name: int(count) for name, count in zip(readings.names, counts, strict=True) if count}


def part_of(count: int, total: int) -> str:
    """A number of connections out of all.

    >>> part_of(1, 1), part_of(2, 2), part_of(3, 3), part_of(1, 3)
    ('the connection', 'both connections', 'all 3 connections', '1 of 3 connections')
    """
    if count == total:
        return {1: "the connection", 2: "both connections"}.get(total, f"all {total:,} connections")
    return f"{count:,} of {total:,} connections"


def _kinds(recording: Recording) -> Iterator[str]:
    """The encryption that hides each connection."""
    rows = np.flatnonzero(recording.timing_only)
    encryption, version = recording.said("encryption").picked(rows), recording.said("tls_version").picked(rows)
    for encrypted, spoken in zip(encryption.texts(), version.texts(), strict=True):
        if encrypted == "tls":
            yield spoken or "TLS"
        else:
            yield encrypted or OPAQUE


def _what(kinds: Counter[str]) -> str:
    """`encrypted (TLSv1.3)`, or how many are what."""
    encrypted = [name for name, _ in kinds.most_common() if name != OPAQUE]
    named = [name if len(kinds) == 1 else f"{kinds[name]:,} {name}" for name in encrypted]
    of_unknown = "of an unknown protocol" if len(kinds) == 1 else f"{kinds[OPAQUE]:,} of an unknown protocol"
    parts = ([f"encrypted ({listed(named)})"] if named else []) + ([of_unknown] if OPAQUE in kinds else [])
    return " or ".join(parts)


def _advice(recording: Recording, kinds: Counter[str]) -> str:
    readings = tls_readings(recording)
    parts = []
    if readings.get("no-keys"):
        parts.append(f"to see statements, pass the client's TLS key log: --keylog FILE ({EXPLAIN_KEYS})")
    if lost := sum(readings.get(word, 0) for word in ("no-secret", "wrong-secret", "unsupported-suite", "interrupted")):
        parts.append(f"the given keys do not decrypt {counted(lost, 'connection')}: see health")
    if any(name in WITHOUT_KEYS for name in kinds):
        parts.append(f"wire encryption has no key log: switch it off for the measurement ({EXPLAIN_KEYS})")
    return "; ".join(parts)
