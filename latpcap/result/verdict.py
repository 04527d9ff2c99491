"""Three or four lines in plain words: what the network cost, what it would cost elsewhere, what stands out, a warning.

Each sentence is a function of the facts that returns nothing where it has nothing to say. To add one: its function,
what it needs as a field of `Facts`, and its place in `STANDS_OUT`, which ends after `MOST` sentences: the first ones
win.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from latpcap.measures.budget import Budget
from latpcap.measures.health import HealthNote
from latpcap.measures.purposes import PURPOSES, PurposeResult
from latpcap.projection.basis import Basis
from latpcap.projection.project import Point, Projection
from latpcap.result.chattiness import Chattiness, chattiness_in_words
from latpcap.result.errors import ErrorsResult, said_of_errors
from latpcap.units import counted, format_given_ms, format_ms, format_s, percent

__all__ = ["PART_NAMES", "TYPICAL_RTT_MS", "Doubt", "Facts", "verdict"]

TYPICAL_RTT_MS = 15.0
"""The RTT of the verdict when none was asked for: two sites of one country."""

MOST = 3
"""Sentences of the verdict's third line: more are not read."""

MIN_BESIDE = 0.3
"""The share of round trips beside the statements from which on the verdict mentions them."""

PART_NAMES = {
    "network_s": "waiting for the network",
    "service_s": "the server",
    "transfer_s": "transferring data",
    "stall_s": "Nagle's algorithm and delayed ACKs",
    "client_s": "the application between its requests",
    "think_s": "think time",
    "setup_s": "setting up connections",
    "loss_s": "lost packets",
    "unknown_s": "what cannot be divided",
}


class Doubt(Enum):
    """Why the network's share of the runtime cannot be told."""

    CLOCK = "the capture's clock was set meanwhile, so what they cost in seconds is not known"
    FEW_RESPONSES = "one response is too little to tell what part of it was the network"
    NO_RESPONSE = "no response was captured whole, so what part of it was the network is not known"


@dataclass(frozen=True, slots=True)
class Facts:
    """What the sentences speak of."""

    base: Basis
    budget: Budget
    round_trips: int
    purposes: Sequence[PurposeResult]
    chattiness: Chattiness
    projection: Projection
    health: Sequence[HealthNote]
    errors: ErrorsResult
    doubt: Doubt | None
    asked: bool
    """The user chose the projection's RTTs."""

    @property
    def runtime(self) -> str:
        """How long it took."""
        return format_s(self.base.runtime_s)


def verdict(facts: Facts) -> str:
    """Return the verdict."""
    lines = (_refused(facts), _cost(facts), _elsewhere(facts), _stands_out(facts), _warning(facts))
    return "\n".join(filter(None, lines))


# --- the lines ------------------------------------------------------------------------------------------------------


def _refused(facts: Facts) -> str:
    """Where nobody came in, no other line means much."""
    if not facts.errors.all_logins_failed:
        return ""
    return f"{said_of_errors(facts.errors)} No statement ran: all time below is that of refused logins."


def _cost(facts: Facts) -> str:
    base, projection = facts.base, facts.projection
    trips = counted(facts.round_trips, "round trip")
    if facts.round_trips == 0:
        return f"No request waited for an answer in {facts.runtime}: nothing waited for the network."
    if facts.doubt is Doubt.CLOCK:
        return f"{trips}; {facts.doubt.value}."
    if projection.baseline_rtt_ms is None:
        return f"{trips} in {facts.runtime}; the RTT of this capture is unknown, so their cost is, too."
    if facts.doubt is not None:
        return f"{trips} in {facts.runtime}; {facts.doubt.value}."
    once = base.effective_round_trips < 0.95 * facts.round_trips
    aside = ", counted once where they ran side by side," if once else ""
    share = base.network_s / base.runtime_s if base.runtime_s > 0 else 0.0
    at = format_ms(projection.baseline_rtt_ms)
    verb = "is" if facts.round_trips == 1 else "are"
    return f"{trips} at {at}{aside} {verb} {format_s(base.network_s)} of {facts.runtime} ({percent(share)})."


def _elsewhere(facts: Facts) -> str:
    projection = facts.projection
    if facts.round_trips == 0:
        return ""
    if facts.doubt is Doubt.CLOCK:
        return "All seconds below rest on that clock: capture again while it is left alone."
    if projection.baseline_rtt_ms is None or projection.seconds_per_ms is None:
        return "No projection without it: give the RTT between client and server with --rtt-baseline."
    point = _telling_point(projection, facts.asked)
    if point is None or point.runtime_s is None or point.optimistic_s is None or point.pessimistic_s is None:
        return f"Each extra millisecond of RTT adds {format_s(projection.seconds_per_ms)}."
    return (
        f"At {format_given_ms(point.rtt_ms)} this takes about {format_s(point.runtime_s)} "
        f"(optimistic {format_s(point.optimistic_s)}, pessimistic {format_s(point.pessimistic_s)}); "
        f"each extra millisecond adds {format_s(projection.seconds_per_ms)}."
    )


def _telling_point(projection: Projection, asked: bool) -> Point | None:
    """The largest RTT that was asked for; on the default ladder the one nearest above a typical distance."""
    if asked or projection.baseline_rtt_ms is None:
        return max(projection.points, key=lambda point: point.rtt_ms, default=None)
    least = max(TYPICAL_RTT_MS, 2 * projection.baseline_rtt_ms)
    return next((point for point in projection.points if point.rtt_ms >= least), projection.points[-1])


def _stands_out(facts: Facts) -> str:
    return " ".join(list(_sentences(facts))[:MOST])


def _sentences(facts: Facts) -> Iterator[str]:
    return filter(None, (sentence(facts) for sentence in STANDS_OUT))


def _warning(facts: Facts) -> str:
    for severity in ("error", "warning"):
        for note in facts.health:
            if note.severity == severity:
                return f"Warning: {note.message.rstrip('.')}."
    return ""


# --- what stands out ------------------------------------------------------------------------------------------------


def _failures(facts: Facts) -> str:
    """How many statements and logins failed."""
    return "" if facts.errors.all_logins_failed else said_of_errors(facts.errors)


def _beside_statements(facts: Facts) -> str:
    """Where most round trips run no statement, say what they do."""
    first = next(iter(facts.purposes), None)
    if first is None or first.purpose in {"statements", "setup", "unreadable", "others"}:
        return ""
    if first.round_trips < MIN_BESIDE * facts.round_trips:
        return ""
    return f"{first.round_trips:,} of the round trips {PURPOSES[first.purpose]}."


def _largest(facts: Facts) -> str:
    """The two largest parts of the runtime."""
    if facts.doubt or facts.round_trips == 0:
        return ""
    parts = sorted(((seconds, name) for name, seconds in facts.budget.parts().items() if seconds > 0), reverse=True)
    total = sum(seconds for seconds, _ in parts)
    if total == 0:
        return "There is no time to explain."
    shares = [
        f"{PART_NAMES[name]} ({percent(seconds / total)})" for seconds, name in parts[:2] if seconds >= 0.1 * total
    ]
    return f"Most time goes to {', then '.join(shares)}."


def _chattiness(facts: Facts) -> str:
    """What the round trips were made for, where they take time."""
    return chattiness_in_words(facts.chattiness)


STANDS_OUT: tuple[Callable[[Facts], str], ...] = (_failures, _beside_statements, _largest, _chattiness)
"""In the order in which they are said: what a reader must not miss first."""
