"""Three or four lines in plain words: what the network cost, what it would cost elsewhere, what stands out, a warning.

Each sentence is a function of the facts that returns nothing where it has nothing to say. To add one: its function,
what it needs as a field of `Facts`, and its place in `STANDS_OUT`, which ends after `MOST` sentences: the first ones
win.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from enum import Enum

from msgspec import Struct

from latpcap.measures.budget import Budget
from latpcap.measures.health import HealthNote
from latpcap.measures.legs import LegRoundTrips
from latpcap.measures.lock_waits import LockWaits
from latpcap.measures.purposes import PURPOSES, PurposeResult
from latpcap.measures.push_waits import PushWaits
from latpcap.measures.rests import ReadCurve
from latpcap.measures.timing_only import TimingOnly
from latpcap.measures.waits import Waits
from latpcap.projection.basis import Basis
from latpcap.projection.project import Projection
from latpcap.result.chattiness import Chattiness, chattiness_in_words
from latpcap.result.errors import ErrorsResult, said_of_errors
from latpcap.units import counted, format_given_ms, format_ms, format_s, listed, percent, percent_range

MOST = 3
"""Sentences of the verdict's third line: more are not read."""

SIDE_BY_SIDE = 0.98
"""Overlap is mentioned where it leaves less than this part of the time."""

MIN_BESIDE = 0.3
"""The share of round trips beside the statements from which on the verdict mentions them."""

MIN_HIDDEN = 0.1
"""The share of round trips that are timing only from which on the verdict says so."""

MIN_HELD = 0.05
"""Packets held back, as a share of the round trips, from which on the verdict mentions their waits."""

MIN_RESTED = 0.05
"""The verdict names idle hosts from this share of the waiting on that they take for all round trips."""

MIN_TIMED = 0.5
"""A timer sets the pace of a job from this share of its round trips, and of its runtime, on."""

PART_NAMES = {
    "network_s": "waiting for the network",
    "service_s": "the server",
    "transfer_s": "transferring data",
    "stall_s": "Nagle's algorithm and delayed ACKs",
    "client_s": "the application between requests",
    "think_s": "think time",
    "setup_s": "setting up connections",
    "loss_s": "lost packets",
    "unknown_s": "partly captured exchanges",
}
BEHIND_PROXY = "the server or the network behind a proxy"
"""Where a proxy is likely."""
WAITS_FOR_LOCKS = "the server, mostly lock waits"
"""Where most of its time is that."""
REST_OF_SETUP = "connection set-up, apart from its round trips"
"""Where its network part is included in the network."""


class ShareUnknown(Enum):
    """Why the network's share of the runtime is unknown."""

    CLOCK = "the clock was set during the capture, so their cost in seconds is unknown"
    FEW_RESPONSES = "a single response does not show how much of its time was network"
    NO_RESPONSE = "no response was captured whole, so the network's share is unknown"


class Facts(Struct, frozen=True):
    """The facts that the sentences are made of."""

    base: Basis
    budget: Budget
    waits: Waits
    round_trips: int
    purposes: Sequence[PurposeResult]
    chattiness: Chattiness
    projection: Projection
    health: Sequence[HealthNote]
    errors: ErrorsResult
    doubt: ShareUnknown | None
    timing_only: TimingOnly | None
    proxied: LegRoundTrips | None
    locks: LockWaits
    pushes: PushWaits
    rests: tuple[ReadCurve | None, ReadCurve | None]
    """How much later idle clients and idle servers go on."""
    files: Sequence[str]
    """The paths of the captures."""

    @property
    def runtime(self) -> str:
        """The runtime, formatted."""
        return format_s(self.base.runtime_s)


def verdict(facts: Facts) -> str:
    """Return the verdict."""
    lines = (_refused(facts), _cost(facts), _elsewhere(facts), _stands_out(facts), _warning(facts))
    return "\n".join(filter(None, lines))


# --- the lines ------------------------------------------------------------------------------------------------------


def _refused(facts: Facts) -> str:
    """If every login failed, no other line means much."""
    if not facts.errors.all_logins_failed:
        return ""
    return f"{said_of_errors(facts.errors)} No statement ran: every figure below is about refused logins."


def _cost(facts: Facts) -> str:
    base, projection = facts.base, facts.projection
    trips = counted(facts.round_trips, "round trip")
    if facts.round_trips == 0 and (facts.doubt or facts.waits.count == 0):
        return (
            f"The capture ({facts.runtime}) holds no request that waits for an answer, so there is nothing to measure."
        )
    if facts.doubt is ShareUnknown.CLOCK:
        return f"{trips}; {facts.doubt.value}."
    if projection.baseline_rtt_ms is None:
        whose = "its" if facts.round_trips == 1 else "their"
        return f"{trips} in {facts.runtime}; the RTT is unknown, and so is {whose} cost."
    if facts.doubt is not None:
        return f"{trips} in {facts.runtime}; {facts.doubt.value}."
    if facts.waits.shared_s <= 0 or base.runtime_s <= 0:
        why = (
            "the capture's clock is too coarse for the RTT" if base.runtime_s > 0 else "no time passes in this capture"
        )
        return f"{trips} in {facts.runtime}: {why}, so the network's share is unknown."
    ends = (seconds / base.runtime_s for seconds in facts.waits.range_s)
    share, _, between = percent_range(facts.waits.shared_s / base.runtime_s, *ends).partition(", ")
    answer = f"{share} of the {facts.runtime} is network{f' ({between})' if between else ''}"
    return f"{answer[:1].upper()}{answer[1:]}: {_product(facts)}."


def _product(facts: Facts) -> str:
    """How many waits, how long each, and the seconds in all: the product of the first two is the third."""
    waits = facts.waits
    things = [
        counted(waits.round_trips, "round trip") if facts.round_trips else "",
        counted(waits.handshakes, "TCP handshake") if waits.handshakes else "",
        counted(waits.greetings, "greeting") if waits.greetings else "",
        counted(waits.hang_ups, "wait for the server's FIN", "waits for the server's FIN") if waits.hang_ups else "",
    ]
    if waits.round_trips < facts.round_trips:
        things[0] = f"{waits.round_trips:,} of {counted(facts.round_trips, 'round trip')}"
    counts = [thing for thing in things if thing]
    what = f"({' + '.join(counts)})" if counts[1:] else counts[0]
    alone, shared = format_s(waits.alone_s), format_s(waits.shared_s)
    if waits.shared_s < SIDE_BY_SIDE * waits.alone_s:
        return f"{what} × {_each(waits)} = {alone} in sequence, {shared} with overlap"
    return f"{what} × {_each(waits)} = {shared}"


def _each(waits: Waits) -> str:
    """How long each wait was: the RTT, or on average where some connections are nearer or some waits shorter."""
    seconds = waits.shared_s if waits.shared_s >= SIDE_BY_SIDE * waits.alone_s else waits.alone_s
    mean = format_ms(1000 * seconds / waits.count)
    least, most = map(format_ms, waits.baselines_ms or (math.nan, math.nan))
    if mean == least == most:
        return mean
    known = f"the RTT is {most}" if least == most else f"RTTs of {least} to {most}"
    return f"{mean} on average ({known})"


def _elsewhere(facts: Facts) -> str:
    projection = facts.projection
    if facts.round_trips == 0:
        return ""
    if facts.doubt is ShareUnknown.CLOCK:
        return "All times below are based on that clock: capture again with the clock left alone."
    if projection.baseline_rtt_ms is None or projection.seconds_per_ms is None:
        return "No projection without the RTT: give it with --rtt-baseline."
    point = next((point for point in projection.points if point.rtt_ms == projection.told_rtt_ms), None)
    added = f"Each extra millisecond of RTT adds {format_s(projection.seconds_per_ms)}"
    if facts.base.runtime_s <= 0:
        return f"{added}; no runtime can be projected."
    if (
        facts.doubt
        or point is None
        or point.runtime_s is None
        or point.optimistic_s is None
        or point.pessimistic_s is None
    ):
        return f"{added}."
    if point.of_capture:
        return f"{point.of_capture}: {format_s(point.runtime_s)}; {added[:1].lower()}{added[1:]}."
    return (
        f"At {format_given_ms(point.rtt_ms)}: about {format_s(point.runtime_s)} "
        f"(optimistic {format_s(point.optimistic_s)}, pessimistic {format_s(point.pessimistic_s)}); "
        f"each extra millisecond adds {format_s(projection.seconds_per_ms_there or 0.0)}."
        f"{projection.guess_text and ' '}{projection.guess_text}"
    )


def _stands_out(facts: Facts) -> str:
    return " ".join(list(_sentences(facts))[:MOST])


def _sentences(facts: Facts) -> Iterator[str]:
    return filter(None, (sentence(facts) for sentence in STANDS_OUT))


def _warning(facts: Facts) -> str:
    """The most severe note, which comes first. A file is called by its name without its folders."""
    worst = next(iter(facts.health), None)
    if worst is None or worst.severity == "info":
        return ""
    message = worst.message.rstrip(".")
    for path in facts.files:
        message = message.replace(path, re.split(r"[/\\]", path)[-1] or path)
    return f"Warning: {message}."


# --- what stands out ------------------------------------------------------------------------------------------------


def _timing_only(facts: Facts) -> str:
    """Where most of it could not be read, and what would help."""
    hidden = facts.timing_only
    if hidden is None or hidden.round_trips < MIN_HIDDEN * facts.round_trips:
        return ""
    return f"{hidden.text}{f'; {hidden.advice}' if hidden.advice else ''}."


def _proxied(facts: Facts) -> str:
    """Where the capture has both sides of a proxy, each exchange is in it twice."""
    if facts.proxied is None:
        return ""
    moves = facts.projection.conditions.moved
    stays = moves or not facts.proxied.is_far
    asked = "" if stays else f"; --rtt means the path to {listed(facts.proxied.servers)}"
    return f"{facts.proxied.text}{asked}."


def _failures(facts: Facts) -> str:
    """How many statements and logins failed."""
    return "" if facts.errors.all_logins_failed else said_of_errors(facts.errors)


def _beside_statements(facts: Facts) -> str:
    """Where most round trips run no statement, say what they do."""
    first = next(iter(facts.purposes), None)
    if first is None or first.round_trips < 2 or first.purpose in {"statements", "setup", "unreadable", "others"}:
        return ""
    if first.round_trips < MIN_BESIDE * facts.round_trips:
        return ""
    return f"{first.round_trips:,} of the round trips {PURPOSES[first.purpose]}."


def _largest(facts: Facts) -> str:
    """The two largest parts of the runtime, all waiting for the network in one, as in the first line."""
    if facts.doubt or facts.round_trips == 0:
        return ""
    found = facts.budget.parts()
    waits_within_setup = facts.base.network_s - found["network_s"]
    found |= {"network_s": facts.base.network_s, "setup_s": found["setup_s"] - waits_within_setup}
    parts = sorted(((seconds, name) for name, seconds in found.items() if seconds > 0), reverse=True)
    total = sum(seconds for seconds, _ in parts)
    names = PART_NAMES | ({"setup_s": REST_OF_SETUP} if waits_within_setup > 0 else {})
    for part in ("client_s", "think_s"):
        if getattr(facts.pushes, part) > found[part] / 2:
            names |= {part: f"{names[part]}, mostly waits for notifications"}
    if any(note.code == "proxy-likely" for note in facts.health):
        names |= {"service_s": BEHIND_PROXY}
    elif facts.locks.is_most_of(found["service_s"]):
        names |= {"service_s": WAITS_FOR_LOCKS}
    shares = [f"{names[name]} ({percent(seconds / total)})" for seconds, name in parts[:2] if seconds >= 0.1 * total]
    return f"Most time goes to {', then '.join(shares)}." if shares else ""


def _timer(facts: Facts) -> str:
    """Say that a timer sets the pace, where it starts most requests and the job waits for it most of the time."""
    requests, interval_ms = facts.base.timer
    budget, timed_s = facts.budget, requests * interval_ms / 1000
    waits = budget.client_s + budget.think_s >= MIN_TIMED * facts.base.runtime_s
    sets_pace = MIN_TIMED * facts.base.runtime_s <= timed_s <= facts.base.runtime_s / MIN_TIMED
    if requests < MIN_TIMED * facts.round_trips or not (waits and sets_pace):
        return ""
    return f"A timer sets the pace: it starts a request every {format_ms(interval_ms)}."


def _held_back(facts: Facts) -> str:
    """Why an extra millisecond adds more than the waits of the first line."""
    held = facts.base.timeline.stalls
    if held == 0 or held < MIN_HELD * facts.round_trips or facts.base.job is None:
        return ""
    packets, wait = counted(held, "packet"), "waits" if held == 1 else "wait"
    return f"{packets} held back by Nagle's algorithm also {wait} for a round trip each."


def _rested(facts: Facts) -> str:
    """How much later hosts answer after a rest."""
    known = [curve for curve in facts.rests if curve is not None and curve.is_known]
    extra_ms = sum(curve.extra_ms[-1] for curve in known)
    waited_s = facts.base.runtime_s - facts.budget.client_s - facts.budget.think_s
    if not known or extra_ms * facts.round_trips < MIN_RESTED * waited_s * 1000:
        return ""
    hosts = ("clients", "servers")[facts.rests.index(known[0])] if len(known) == 1 else "hosts"
    rest_ms = max(curve.full_from_ms for curve in known)
    return f"{hosts.capitalize()} that were idle for {rest_ms:g} ms or more take {extra_ms:.2g} ms longer a round trip."


def _chattiness(facts: Facts) -> str:
    """What the round trips were made for, where they take time."""
    return chattiness_in_words(facts.chattiness)


def _changed_path(facts: Facts) -> str:
    """The RTT changed, so the first line's is an average."""
    changed = next((note.message for note in facts.health if note.code == "path-changed"), "")
    return f"{changed[:1].upper()}{changed[1:]}." if changed else ""


STANDS_OUT: tuple[Callable[[Facts], str], ...] = (
    _proxied,
    _timing_only,
    _failures,
    _changed_path,
    _beside_statements,
    _largest,
    _timer,
    _held_back,
    _rested,
    _chattiness,
)
"""In this order: what a reader must not miss comes first."""
