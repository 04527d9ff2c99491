"""Three lines in plain words: what the network cost, what it would cost elsewhere, and what else to know."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from latpcap.measures.budget import Budget
from latpcap.measures.health import HealthNote
from latpcap.measures.purposes import PURPOSES, PurposeResult
from latpcap.projection.basis import Basis
from latpcap.projection.project import Point, Projection
from latpcap.units import format_ms, format_s

__all__ = ["PART_NAMES", "TYPICAL_RTT_MS", "Doubt", "verdict"]

TYPICAL_RTT_MS = 15.0
"""The RTT of the verdict when none was asked for: two sites of one country."""

MIN_BESIDE = 0.3
"""The share of round trips beside the statements from which on the verdict mentions them."""

PART_NAMES = {
    "network_s": "waiting for the network",
    "service_s": "the server",
    "transfer_s": "transferring data",
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


def verdict(
    base: Basis,
    budget: Budget,
    round_trips: int,
    purposes: Sequence[PurposeResult],
    projection: Projection,
    health: Sequence[HealthNote],
    doubt: Doubt | None = None,
    *,
    asked: bool,
) -> str:
    """Return the verdict; `asked` says that the user chose the projection's RTTs."""
    cost = _cost(base, round_trips, projection, doubt)
    if round_trips == 0:
        return f"{cost}\n{_worst(health)}".rstrip()
    largest = "" if doubt else _largest(budget)
    besides = " ".join(filter(None, (_beside_statements(purposes, round_trips), largest, _worst(health))))
    return "\n".join((cost, _elsewhere(base, projection, asked, doubt), besides)).rstrip()


def _cost(base: Basis, round_trips: int, projection: Projection, doubt: Doubt | None) -> str:
    trips = f"{round_trips:,} round trip{'' if round_trips == 1 else 's'}"
    runtime = format_s(base.runtime_s)
    if round_trips == 0:
        return f"No request waited for an answer in {runtime}: nothing waited for the network."
    if doubt is Doubt.CLOCK:
        return f"{trips}; {doubt.value}."
    if projection.baseline_rtt_ms is None:
        return f"{trips} in {runtime}; the RTT of this capture is unknown, so their cost is, too."
    if doubt is not None:
        return f"{trips} in {runtime}; {doubt.value}."
    aside = ", counted once where they ran side by side," if base.effective_round_trips < 0.95 * round_trips else ""
    share = base.network_s / base.runtime_s if base.runtime_s > 0 else 0.0
    at = format_ms(projection.baseline_rtt_ms)
    verb = "is" if round_trips == 1 else "are"
    return f"{trips} at {at}{aside} {verb} {format_s(base.network_s)} of {runtime} ({share:.0%})."


def _elsewhere(base: Basis, projection: Projection, asked: bool, doubt: Doubt | None) -> str:
    if doubt is Doubt.CLOCK:
        return "All seconds below rest on that clock: capture again while it is left alone."
    if projection.baseline_rtt_ms is None or projection.seconds_per_ms is None:
        return "No projection without it: give the RTT between client and server with --rtt-baseline."
    point = _telling_point(projection, asked)
    if point is None or point.runtime_s is None or point.optimistic_s is None or point.pessimistic_s is None:
        return f"Each extra millisecond of RTT adds {format_s(projection.seconds_per_ms)}."
    return (
        f"At {format_ms(point.rtt_ms)} this takes about {format_s(point.runtime_s)} "
        f"(optimistic {format_s(point.optimistic_s)}, pessimistic {format_s(point.pessimistic_s)}); "
        f"each extra millisecond adds {format_s(projection.seconds_per_ms)}."
    )


def _beside_statements(purposes: Sequence[PurposeResult], round_trips: int) -> str:
    """Where most round trips run no statement, say what they do."""
    first = purposes[0]
    if first.purpose in {"statements", "setup", "unreadable", "others"} or first.round_trips < MIN_BESIDE * round_trips:
        return ""
    return f"{first.round_trips:,} of the round trips {PURPOSES[first.purpose]}."


def _telling_point(projection: Projection, asked: bool) -> Point | None:
    """The largest RTT that was asked for; on the default ladder the one nearest above a typical distance."""
    if asked or projection.baseline_rtt_ms is None:
        return max(projection.points, key=lambda point: point.rtt_ms, default=None)
    least = max(TYPICAL_RTT_MS, 2 * projection.baseline_rtt_ms)
    return next((point for point in projection.points if point.rtt_ms >= least), projection.points[-1])


def _largest(budget: Budget) -> str:
    parts = sorted(((seconds, name) for name, seconds in budget.parts().items() if seconds > 0), reverse=True)
    total = sum(seconds for seconds, _ in parts)
    if total == 0:
        return "There is no time to explain."
    shares = [f"{PART_NAMES[name]} ({seconds / total:.0%})" for seconds, name in parts[:2] if seconds >= 0.1 * total]
    return f"Most time goes to {', then '.join(shares)}."


def _worst(health: Sequence[HealthNote]) -> str:
    for severity in ("error", "warning"):
        for note in health:
            if note.severity == severity:
                return f"Warning: {note.message.rstrip('.')}."
    return ""
