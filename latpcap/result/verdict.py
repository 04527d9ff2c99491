"""The answer on one screen: what the network costs now and elsewhere, why, what to do, and what limits the trust.

A note is a function of the facts that returns nothing where it has nothing to say. To add one: its function, what it
needs as a field of `Facts`, and its place in `NOTES`, of which the first ones are shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from itertools import islice
from typing import Literal

from msgspec import Struct

from latpcap.findings import FindingResult, FixesTogether
from latpcap.findings.registry import NO_FINDINGS
from latpcap.measures.budget import Budget
from latpcap.measures.health import HealthNote
from latpcap.measures.health_codes import ABOUT_NETWORK
from latpcap.measures.lock_waits import LockWaits
from latpcap.measures.proxy_legs import LegRoundTrips
from latpcap.measures.purposes import PURPOSES, PurposeResult
from latpcap.measures.push_waits import PushWaits
from latpcap.measures.rests import ReadCurve
from latpcap.measures.timing_only import TimingOnly
from latpcap.measures.waits import Waits
from latpcap.projection.basis import Basis
from latpcap.projection.project import Point, Projection
from latpcap.result.errors import ErrorsResult, said_of_errors
from latpcap.result.parties import Parties
from latpcap.units import capitalised, counted, format_given_ms, format_ms, format_s, listed, percent_range, text_range

SHAPES = ((2, 2, 3), (2, 1, 3), (1, 2, 3), (1, 1, 3), (1, 1, 2))
"""Causes with their fix, further causes and notes: the first of these that fits on a screen is shown."""

MAX_ROWS = 22
"""Rows of a terminal of 80 columns and 24 rows that are not the prompt's or the last line's."""

ROW_CHARS = 66
"""The text that a row holds beside its label, on average."""

MAX_WARNINGS = 2
"""Health warnings among the notes."""

LABEL_CELLS = 8
"""The width of the labels' column in text."""

SENTENCE_END = re.compile(r"(?<=[.]) (?=[A-Z`])")

MAX_FIX_CHARS = 230
"""A fix ends with the last sentence that fits; its first one is shown in any case."""

MAX_RTTS = 3
"""RTTs that have a line each; of more, one is shown."""

MIN_PART = 0.05
"""The share of the runtime from which on a part of it is shown."""

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
    "network_s": "network",
    "service_s": "server",
    "transfer_s": "data transfer",
    "stall_s": "Nagle and delayed ACKs",
    "client_s": "application",
    "think_s": "think time",
    "setup_s": "connecting",
    "loss_s": "packet loss",
    "unknown_s": "unknown",
}
BEHIND_PROXY = "server or network behind a proxy"
"""The server's part where a proxy is likely."""
WAITS_FOR_LOCKS = "server (mostly lock waits)"
"""The server's part where most of it is that."""
NOTIFIED = "waits for notifications"
STEPS = {
    "timeouts": "packet-loss",
    "loss": "packet-loss",
    "zero-window": "window-bound",
    "delayed-ack": "delayed-ack",
    "proxy-likely": "",
}
"""Health notes with something to do, and the finding that says it where there is one."""
LOCK_FINDINGS = {"failing-statements", "slow-server"}
"""Findings that say what to do about locks."""
FEWER_LOCKS = "keep transactions short, and take locks in a fixed order"


class ShareUnknown(Enum):
    """Why the network's share of the runtime is unknown."""

    CLOCK = "the clock was set during the capture: capture again"
    FEW_RESPONSES = "a single response does not show it"
    NO_RESPONSE = "no response was captured whole"


class VerdictLine(Struct, frozen=True):
    """One line of the answer."""

    label: str
    """`NOW`, the RTT of the projection, `WITHIN`, `WHY`, `DO`, `ALSO`, `ALL`, `NOTE`; empty where the line before it
    goes on."""
    text: str
    kind: Literal["text", "code", "head"] = "text"
    """A statement is `code`; what the answer is about is the `head`."""


class Step(Struct, frozen=True):
    """Something to do that no finding is about."""

    code: str
    """The health note's, or `lock-waits`."""
    text: str
    advice: str


class Facts(Struct, frozen=True):
    """The facts that the lines are made of."""

    base: Basis
    parties: Parties
    connections: int
    findings: Sequence[FindingResult]
    steps: Sequence[Step]
    fixes_together: FixesTogether | None
    budget: Budget
    waits: Waits
    round_trips: int
    purposes: Sequence[PurposeResult]
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
    def there(self) -> Point | None:
        """The point of the projection that the lines are about, where its runtime is known."""
        told = self.projection.headline_rtt_ms
        points = self.projection.points if self.doubt is None and self.base.runtime_s > 0 else ()
        return next((point for point in points if point.rtt_ms == told and point.runtime_s is not None), None)


def verdict(facts: Facts) -> tuple[VerdictLine, ...]:
    """Return the answer, as much of it as fits on a screen."""
    figures = (*_subject(facts), *_now(facts), *_there(facts))
    shown = [(*figures, *_why(facts, causes, further), *_notes(facts, notes)) for causes, further, notes in SHAPES]
    return next((lines for lines in shown if sum(map(_rows, lines)) <= MAX_ROWS), shown[-1])


def _rows(line: VerdictLine) -> int:
    """Return about how many rows of a terminal a line takes: a statement is cut to one."""
    return 1 if line.kind == "code" else -(-len(line.text) // ROW_CHARS)


def as_text(lines: Sequence[VerdictLine]) -> str:
    """Return the answer as text, the labels in a column."""
    return "\n".join(line.text if line.kind == "head" else f"{line.label:<{LABEL_CELLS}}{line.text}" for line in lines)


# --- the lines ------------------------------------------------------------------------------------------------------


def _subject(facts: Facts) -> Iterator[VerdictLine]:
    """Yield the connections, both their ends, and the RTT."""
    who = facts.parties
    rtt_ms = facts.projection.baseline_rtt_ms
    rtt = "RTT unknown" if rtt_ms is None else f"RTT {format_ms(rtt_ms)}"
    parts = (counted(facts.connections, "connection"), who.servers, who.clients, rtt)
    yield VerdictLine("", ", ".join(filter(None, parts)), "head")


def _now(facts: Facts) -> Iterator[VerdictLine]:
    """Yield the runtime as captured and its parts."""
    runtime = format_s(facts.base.runtime_s)
    if facts.round_trips == 0 and (facts.doubt or facts.waits.count == 0):
        yield VerdictLine("NOW", f"{runtime}: no request waits for an answer, so there is nothing to measure")
        return
    unknown = _unknown(facts)
    yield VerdictLine("NOW", f"{runtime}: {f'network unknown ({unknown})' if unknown else _parts(facts)}")


def _unknown(facts: Facts) -> str:
    """Return why the network's share is unknown."""
    if facts.doubt is not None:
        return facts.doubt.value
    if facts.projection.baseline_rtt_ms is None:
        return "the RTT is unknown: give it with --rtt-baseline"
    if facts.base.runtime_s <= 0:
        return "no time passes in this capture"
    return "" if facts.waits.shared_s > 0 else "the capture's clock is too coarse for the RTT"


def _parts(facts: Facts) -> str:
    """Return the shares of the runtime: the network's with its range, then the largest others."""
    runtime_s = facts.base.runtime_s
    seconds = facts.budget.parts()
    ends = (end / runtime_s for end in facts.waits.range_s)
    share, _, between = percent_range(facts.waits.shared_s / runtime_s, *ends).partition(", ")
    network = f"network {share}{f' ({between})' if between else ''}"
    return ", ".join((network, *_shares(seconds, _names_now(facts), but="network_s")))


def _shares(seconds: Mapping[str, float], names: Mapping[str, str], but: str = "") -> list[str]:
    """Return the parts that are large enough to be shown, the largest first."""
    total = sum(seconds.values())
    ordered = sorted(((each, name) for name, each in seconds.items() if name != but), reverse=True)
    return [f"{names[name]} {each / total:.0%}" for each, name in ordered if each >= MIN_PART * total > 0]


def _names_now(facts: Facts) -> dict[str, str]:
    """Return what the parts are called, with what most of one is."""
    names, seconds = dict(PART_NAMES), facts.budget.parts()
    for part in ("client_s", "think_s"):
        if getattr(facts.pushes, part) > seconds[part] / 2:
            names[part] = f"{names[part]} ({NOTIFIED})"
    if any(note.code == "proxy-likely" for note in facts.health):
        names["service_s"] = BEHIND_PROXY
    elif facts.locks.is_most_of(seconds["service_s"]):
        names["service_s"] = WAITS_FOR_LOCKS
    return names


def _there(facts: Facts) -> Iterator[VerdictLine]:
    """Yield the runtime at the RTT of the projection, and what a millisecond costs."""
    point, projection = facts.there, facts.projection
    if facts.doubt is ShareUnknown.CLOCK or facts.round_trips == 0:
        return
    for each in _points_there(facts):
        yield VerdictLine(format_given_ms(each.rtt_ms), _elsewhere(each, _shares_there(facts) if each is point else []))
    per_ms = projection.seconds_per_ms if point is None else projection.headline_seconds_per_ms
    cost = "" if per_ms is None else f": each millisecond of RTT costs {format_s(per_ms)}"
    who = counted(facts.connections, "connection")
    beside = f" on {who}, partly at the same time" if facts.waits.overlap else ""
    yield VerdictLine("", f"{facts.waits.counts(facts.round_trips)}{beside}{cost}")
    if projection.conditions.text and point is not None:
        yield VerdictLine("", f"there: {projection.conditions.text}")
    if projection.guess_text:
        yield VerdictLine("", projection.guess_text)
    if projection.within is not None:
        yield VerdictLine("WITHIN", projection.within.text)


def _points_there(facts: Facts) -> list[Point]:
    """Return the points of other RTTs that have a line: all of a few, else the one that the lines are about."""
    if facts.there is None:
        return []
    elsewhere = [each for each in facts.projection.points if each is facts.there or not each.of_capture]
    return elsewhere if len(elsewhere) <= MAX_RTTS else [facts.there]


def _shares_there(facts: Facts) -> list[str]:
    """Return the largest part of the runtime at the RTT that the lines are about."""
    there = facts.projection.headline_budget
    return _shares({} if there is None else there.parts(), _names_now(facts))[:1]


def _elsewhere(point: Point, shares: Sequence[str]) -> str:
    """Return the runtime at another RTT with its range, and how many times as long that is."""
    if point.of_capture:
        return "the RTT of the capture: the runtime there is that of now"
    times = "" if point.factor is None else f"{_ratio(point.factor)} times as long"
    others = filter(None, (_between(point.optimistic_s, point.pessimistic_s), times, *shares))
    return f"{format_s(point.runtime_s or 0.0)} {', '.join(others)}"


def _between(low_s: float | None, high_s: float | None) -> str:
    """Return a range in parentheses; its unit stands once.

    >>> _between(14.71, 16.5), _between(0.0913, 0.12), _between(None, 1)
    ('(14.7 to 16.5 s)', '(91.3 ms to 0.120 s)', '')
    """
    if low_s is None or high_s is None:
        return ""
    return f"({text_range(format_s(low_s), format_s(high_s))})"


def _ratio(value: float) -> str:
    """Return a ratio with two digits.

    >>> [_ratio(each) for each in (0.5213, 1.064, 7.96, 28.1, 1037.2)]
    ['0.52', '1.1', '8.0', '28', '1,037']
    """
    return f"{value:,.0f}" if value >= 9.95 else f"{value:.1f}" if value >= 1 else f"{value:.2g}"


# --- causes -----------------------------------------------------------------------------------------------------------


def _why(facts: Facts, causes: int, further: int) -> Iterator[VerdictLine]:
    """Yield the findings that cost most, with their fixes, and what all fixes save together."""
    for found in facts.findings[:causes]:
        yield VerdictLine("WHY", _title(found))
        if found.statement:
            yield VerdictLine("", found.statement, "code")
        if found.fix:
            yield VerdictLine("DO", _first_sentences(found.fix))
        if saves := _saves(facts, found):
            yield VerdictLine("", f"saves {saves}")
    for found in facts.findings[causes : causes + further]:
        saves = _saves(facts, found)
        yield VerdictLine("ALSO", f"{_title(found)}{f': saves {saves}' if saves else ''}")
    for step in [each for each in facts.steps if each.code != "proxy-likely"][:1]:  # that one is a note
        yield VerdictLine("ALSO", note_sentence(f"{step.text}: {step.advice}", facts.files))
    yield from _all_fixes(facts)


def _title(found: FindingResult) -> str:
    """Return what is wrong, with the code that `latpcap explain` takes."""
    return found.title if found.code in NO_FINDINGS else f"{found.title} [{found.code}]"


def _saves(facts: Facts, found: FindingResult) -> str:
    """Return the round trips that a fix saves, and the runtime without and with it."""
    if not found.fix_name:
        return ""
    told = facts.projection.headline_rtt_ms
    saved_s = 0.0 if told is None else found.saved_s[f"{told:g}"]
    trips = counted(found.round_trips_alone, "round trip") if found.round_trips_alone else ""
    needs = f" (includes the {listed(found.needs)} fix)" if found.needs else ""
    share = f" (share of the `{found.fix_name}` fix)" if found.estimated else ""
    return ": ".join(filter(None, (trips, _shorter(facts, saved_s)))) + needs + share


def _shorter(facts: Facts, saved_s: float) -> str:
    """Return the runtime without and with a fix; nothing where none is projected.

    Savings are those of all servers at that RTT, so nothing is taken from a runtime where only some are moved.
    """
    point = facts.there
    if point is None or point.runtime_s is None or facts.projection.conditions.moved:
        return ""
    left = format_s(max(point.runtime_s - saved_s, 0.0))
    return f"{format_s(point.runtime_s)} → {left} at {format_given_ms(point.rtt_ms)}"


def _all_fixes(facts: Facts) -> Iterator[VerdictLine]:
    """Yield what all fixes save at once: less than their sum where they remove the same waits."""
    told, together = facts.projection.headline_rtt_ms, facts.fixes_together
    if together is None or told is None:
        return
    if saved := _shorter(facts, together.saved_s[f"{told:g}"]):
        yield VerdictLine("ALL", f"the fixes together ({listed(together.fixes)}): {saved}")


def _first_sentences(text: str) -> str:
    """Return the sentences at the beginning that fit.

    >>> _first_sentences("Join them. Or do not."), len(_first_sentences("It is so. " * 40))
    ('Join them. Or do not.', 229)
    """
    first, *others = SENTENCE_END.split(text.strip())
    for sentence in others:
        if len(first) + 1 + len(sentence) > MAX_FIX_CHARS:
            break
        first = f"{first} {sentence}"
    return first


# --- notes ------------------------------------------------------------------------------------------------------------


def _notes(facts: Facts, most: int) -> Iterator[VerdictLine]:
    """Yield what a reader has to know to trust the figures."""
    said = (text for note in NOTES for text in note(facts) if text)
    yield from (VerdictLine("NOTE", note_sentence(text, facts.files)) for text in islice(said, most))


def steps(
    findings: Sequence[FindingResult], health: Sequence[HealthNote], locks: LockWaits, budget: Budget
) -> tuple[Step, ...]:
    """Return what is to be done about locks, packets and proxies where no finding says it."""
    found = {each.code for each in findings}
    rows = list[Step]()
    is_long = locks.seconds >= MIN_PART * sum(budget.parts().values()) > 0
    if locks.is_most_of(budget.service_s) and is_long and not found & LOCK_FINDINGS:
        rows.append(Step("lock-waits", f"statements wait {format_s(locks.seconds)} for locks", FEWER_LOCKS))
    for note in health:
        if note.severity != "info" and STEPS.get(note.code, note.code) not in found and note.code in STEPS:
            rows.append(Step(note.code, note.message, note.advice))
    return tuple(rows)


def has_note(lines: Sequence[VerdictLine], message: str, files: Sequence[str]) -> bool:
    """Return whether the answer holds a message already."""
    begin = note_sentence(message, files).rstrip(".")
    return any(line.label == "NOTE" and line.text.startswith(begin) for line in lines)


def note_sentence(text: str, files: Sequence[str]) -> str:
    """Return a note as a sentence. A file is called by its name without its folders."""
    begins = text if text.startswith(tuple(files)) else capitalised(text)
    for path in files:
        begins = begins.replace(path, re.split(r"[/\\]", path)[-1] or path)
    return f"{begins.rstrip('.')}."


def _refused(facts: Facts) -> str:
    """Return that no login succeeded."""
    return "No statement ran: all figures are about refused logins." if facts.errors.all_logins_failed else ""


def _warnings(facts: Facts) -> Iterator[str]:
    """Return the gravest health notes about the capture."""
    grave = (note for note in facts.health if note.severity != "info" and note.code not in ABOUT_NETWORK)
    return (note.message for note in islice(grave, MAX_WARNINGS))


def _timing_only(facts: Facts) -> str:
    """Say that most of it could not be read, and what would help."""
    hidden = facts.timing_only
    if hidden is None or hidden.round_trips < MIN_HIDDEN * facts.round_trips:
        return ""
    return f"{hidden.text}{f'; {hidden.advice}' if hidden.advice else ''}."


def _proxied(facts: Facts) -> str:
    """Say that each exchange is in the capture twice, if both sides of a proxy are."""
    if facts.proxied is None:
        return ""
    moves = facts.projection.conditions.moved
    stays = moves or not facts.proxied.is_far
    asked = "" if stays else f"; --rtt means the path to {listed(facts.proxied.servers)}"
    return f"{facts.proxied.text}{asked}."


def _failures(facts: Facts) -> str:
    """Return how many statements and logins failed, unless a finding that is shown says so."""
    said = said_of_errors(facts.errors)
    shown = facts.findings[:2]
    return "" if any(found.title.startswith(said.partition(":")[0]) for found in shown) else said


def _beside_statements(facts: Facts) -> str:
    """Say what most round trips do, where they run no statement."""
    first = next(iter(facts.purposes), None)
    if first is None or first.round_trips < 2 or first.purpose in {"statements", "setup", "unreadable", "others"}:
        return ""
    if first.round_trips < MIN_BESIDE * facts.round_trips:
        return ""
    return f"{first.round_trips:,} of {counted(facts.round_trips, 'round trip')} only {PURPOSES[first.purpose]}."


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
    return f"{counted(held, 'packet')} held back by Nagle's algorithm: each also costs one RTT."


def _rested(facts: Facts) -> str:
    """How much later hosts answer after a rest."""
    known = [curve for curve in facts.rests if curve is not None and curve.is_known]
    extra_ms = sum(curve.extra_ms[-1] for curve in known)
    waited_s = facts.base.runtime_s - facts.budget.client_s - facts.budget.think_s
    if not known or extra_ms * facts.round_trips < MIN_RESTED * waited_s * 1000:
        return ""
    hosts = ("clients", "servers")[facts.rests.index(known[0])] if len(known) == 1 else "hosts"
    rest_ms = max(curve.full_from_ms for curve in known)
    return f"{hosts.capitalize()} that were idle for {rest_ms:g} ms or more add {extra_ms:.2g} ms to a round trip."


def _changed_path(facts: Facts) -> str:
    """The RTT changed, so the first line's is an average."""
    changed = next((note.message for note in facts.health if note.code == "path-changed"), "")
    return f"{capitalised(changed)}." if changed else ""


def _only(note: Callable[[Facts], str]) -> Callable[[Facts], Iterator[str]]:
    """Return a note as a sequence of one."""
    return lambda facts: iter((note(facts),))


NOTES: tuple[Callable[[Facts], Iterator[str]], ...] = (
    *map(_only, (_refused, _proxied, _timing_only, _failures, _changed_path)),
    _warnings,
    *map(_only, (_beside_statements, _timer, _held_back, _rested)),
)
"""In this order: what a reader must not miss comes first."""
