"""Notes that make a result less reliable: the core's notes, and what only the whole recording shows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from itertools import chain

import numpy as np
from arro3.core import Table
from msgspec import Struct
from msgspec.structs import force_setattr, replace

from latpcap.measures import health_frames
from latpcap.measures.budget import Budget, BudgetTimeline
from latpcap.measures.changed_paths import changed_paths
from latpcap.measures.connection_checks import connection_checks
from latpcap.measures.health_codes import ADVICE
from latpcap.measures.proxies import hidden_networks, on_proxy_ports
from latpcap.measures.proxy_legs import LegRoundTrips
from latpcap.measures.stalls import MIN_STALLS
from latpcap.measures.timing_only import part_of, timing_only, tls_readings
from latpcap.rtt import LOOPBACK, Baselines, Estimate, Method, Reason
from latpcap.tables.columnar import columns
from latpcap.tables.columnar.columns import Bools
from latpcap.tables.connections import MISSING
from latpcap.tables.recording import Recording
from latpcap.units import counted, format_ms, format_s, listed, percent, significant

MIN_SHARE = 0.01
"""Loss, unknown time or incomplete exchanges below this share of the runtime are not worth a warning."""
MIN_RTT_NS = 100_000
"""A shorter RTT is close to what hosts and clocks can resolve."""
TWO_RTTS = {
    Reason.SPLIT: "two RTTs fit {}: TCP handshake and data ACKs differ, about {} or {}",
    Reason.SPLIT_SYN: "two RTTs fit {}: about {} (TCP handshake or ACKs), or {} (all responses)",
}
"""The sentence where the evidence is divided; its last places are the ends of the first connection's range."""
MAX_CIPHERS = 3
"""Unsupported cipher suites that a note names."""
MAX_SERVERS = 2
"""Servers on the ports of proxies that a note names."""


SEVERITIES = ("error", "warning", "info")


class HealthNote(Struct, frozen=True):
    """One kind of problem: a code for scripts, a sentence for people; docs/health.md lists the codes."""

    code: str
    severity: str
    """`error`: figures are missing or wrong in part; `warning`: less sure; `info`: good to know."""
    message: str
    count: int
    first_frame: int | None = None
    """The first packet that it is about; null where it is about none, or nothing tells which."""
    effect: str = ""
    """Its effect on the numbers."""
    advice: str = ""
    """Advice."""

    def __post_init__(self) -> None:
        effect, advice = ADVICE.get(self.code, ("", ""))
        force_setattr(self, "effect", effect)
        force_setattr(self, "advice", advice)


def _of_some(code: str, severity: str, text: str, which: Bools, frame: int | None) -> HealthNote:
    """A note about some connections or exchanges; where it is not about all, its text names the first packet."""
    named = "" if frame is None or which.all() else f" (first: frame {frame})"
    return HealthNote(code, severity, f"{text}{named}", int(np.count_nonzero(which)), frame)


def by_severity(notes: Iterable[HealthNote]) -> tuple[HealthNote, ...]:
    """The notes by severity, then by their effect on the figures."""
    place = {code: number for number, code in enumerate(ADVICE)}
    return tuple(sorted(notes, key=lambda note: (SEVERITIES.index(note.severity), place.get(note.code, len(place)))))


def core_notes(recording: Recording) -> list[HealthNote]:
    """The notes of the core about its reading."""
    return [HealthNote(*note) for note in recording.notes]


def weighed_notes(recording: Recording, timeline: BudgetTimeline) -> Iterator[HealthNote]:
    """Yield the core's notes, those on held back packets with the weight that they have in the budget.

    They are no warning where they are few or took little, and none at all where no exchange waited for them: nobody
    waits for a server that pushes.
    """
    few = timeline.stalls < MIN_STALLS or timeline.budget.stall_s < MIN_SHARE * timeline.runtime_s
    for note in core_notes(recording):
        if note.code != "delayed-ack":
            yield note
        elif recording.exchange_column("stalled_ns").ints(0).any():
            yield replace(note, severity="info") if few else note


def notes_in(table: Table) -> list[HealthNote]:
    """The notes that a table of the core's holds."""
    return [HealthNote(*note) for note in columns.notes(table)]


def measured_notes(
    recording: Recording, rtt: Estimate, timeline: BudgetTimeline, budget: Budget, legs: LegRoundTrips | None = None
) -> list[HealthNote]:
    """The notes of the measures about their own reliability; `budget` is that of the result."""
    notes = (
        _about_baseline(recording, rtt.of_connections),
        _about_changes(recording, rtt),
        _about_proxies(recording, rtt, legs),
        _about_pacing(timeline),
        _about_reading(recording),
        _about_time(recording, timeline, budget),
        _about_selection(recording),
        _about_files(recording),
    )
    return list(chain.from_iterable(notes))


def _about_selection(recording: Recording) -> Iterator[HealthNote]:
    selected = recording.selected
    if selected is not None:
        text = f"selected: {selected.part}"
        yield HealthNote("selection", "info", text, selected.connections)


def _about_files(recording: Recording) -> Iterator[HealthNote]:
    """Files that are hardly one recording."""
    if not recording.gaps:
        return
    longest = max(recording.gaps, key=lambda gap: gap.end - gap.begin)
    before, after = (columns.texts(recording.captures_table, "path")[row] for row in (longest.before, longest.after))
    lasts = _long((longest.end - longest.begin) / 1e9)
    text = (
        f"gaps between files: nothing was recorded for {lasts} between {before} and {after}; rates refer to the "
        f"{_long(recording.recorded_s)} that were recorded"
    )
    yield HealthNote("files-apart", "warning", text, len(recording.gaps))


def _long(seconds: float) -> str:
    """A time that may be years, in a unit that can be grasped.

    >>> _long(90), _long(5400), _long(163_900_800)
    ('90.0 s', '1.50 h', '1,900 days')
    """
    if seconds < 3600:
        return format_s(seconds)
    return f"{significant(seconds / 3600)} h" if seconds < 2 * 86_400 else f"{significant(seconds / 86_400)} days"


def _about_baseline(recording: Recording, baselines: Baselines) -> Iterator[HealthNote]:
    total = len(baselines.method)

    def note(code: str, severity: str, which: Bools, says: str) -> Iterator[HealthNote]:
        if count := int(np.count_nonzero(which)):
            text, frame = says.format(part_of(count, total)), health_frames.of_connections(recording, which)
            yield _of_some(code, severity, text, which, frame)

    unknown = baselines.method == Method.UNKNOWN
    text = "the RTT of {} is unknown; give it with --rtt-baseline"
    yield from note("baseline-unknown", "error" if unknown.all() else "warning", unknown, text)
    text = "the RTT of {} is an upper bound: the fastest response"
    yield from note("baseline-upper-bound", "warning", baselines.reason == Reason.FLOOR, text)
    text = "the RTT of {} is that of the fastest responses, and may include server time that all of them share"
    yield from note("baseline-assumed", "info", baselines.reason == Reason.STEADY, text)
    for reason, text in TWO_RTTS.items():
        two = baselines.reason == reason
        if len(rows := np.flatnonzero(two)):
            ends = [format_ms(float(end[rows[0]]) / 1e6) for end in (baselines.low, baselines.high)]
            yield from note("baseline-either", "warning", two, text.format("{}", *ends))
    text = "all response times of {} shifted by the same amount at one moment: either the path or the server changed"
    yield from note("baseline-either", "warning", baselines.reason == Reason.SPLIT_CHANGE, text)
    local = baselines.position == LOOPBACK
    text = "client and server of {} run on one host and compete for its CPUs: "
    yield from note("loopback", "warning", local, f"{text}projections may be off by a third")
    text = "the RTT of {} is below 0.1 ms: too small to measure well, so the network's share is uncertain"
    yield from note("near-zero-baseline", "info", (baselines.baseline < MIN_RTT_NS) & ~local, text)


def _about_changes(recording: Recording, rtt: Estimate) -> Iterator[HealthNote]:
    if text := changed_paths(recording, rtt):
        later = recording.exchanges.begin >= rtt.phases.changes.time[0]
        frame = health_frames.of_exchanges(recording, later)
        yield HealthNote("path-changed", "info", text, len(rtt.phases.changes), frame)


def _about_proxies(recording: Recording, rtt: Estimate, legs: LegRoundTrips | None) -> Iterator[HealthNote]:
    known = set(legs.proxies if legs else ())
    if legs:
        yield HealthNote("proxy-legs", "info", legs.text, legs.inner_round_trips)
    found = [hidden for hidden in hidden_networks(recording, rtt) if hidden.sure and hidden.server not in known]
    if found:
        first = max(found, key=lambda hidden: hidden.answers)
        others = counted(len(found) - 1, "other server")
        text = f"{first.text} (likewise for {others})" if found[1:] else first.text
        yield HealthNote("proxy-likely", "warning", text, sum(hidden.answers for hidden in found))
    yield from _about_proxy_ports(recording, known | {hidden.server for hidden in found})


def _about_proxy_ports(recording: Recording, known: Set[str]) -> Iterator[HealthNote]:
    """Servers on the ports of proxies that nothing else has shown."""
    servers, proxies = recording.said("server"), on_proxy_ports(recording)
    which: Bools = (proxies.codes >= 0) & ~servers.where(known.__contains__)
    if which.any():
        rows = np.flatnonzero(which)[np.sort(np.unique(servers.codes[which], return_index=True)[1])]
        named = [f"{servers.name(row)} is a usual port of {proxies.name(row)}" for row in rows[:MAX_SERVERS]]
        others = f" (likewise {counted(len(rows) - len(named), 'other server')})" if len(rows) > len(named) else ""
        text = f"{listed(named)}{others}: a network behind it looks like service time"
        yield _of_some("proxy-port", "info", text, which, health_frames.of_connections(recording, which))


def _about_pacing(timeline: BudgetTimeline) -> Iterator[HealthNote]:
    messages, of = timeline.job.paced
    if messages:
        text = (
            f"{messages:,} of {counted(of, 'large message')} were spread evenly over a round trip: the sender paces "
            "its packets (BBR, a fair queue)"
        )
        yield HealthNote("paced-sender", "info", text, messages)


def _about_reading(recording: Recording) -> Iterator[HealthNote]:
    total = len(recording.connections)
    if hidden := timing_only(recording):
        which, text = recording.timing_only, hidden.text[0].lower() + hidden.text[1:]
        yield _of_some("encrypted", "info", text, which, health_frames.of_connections(recording, which))
    yield from _about_keys(recording)
    pushed = recording.connection_column("replication").values.astype(bool)
    if count := int(np.count_nonzero(pushed)):
        text = f"pushed data (replication, events) is not counted on {part_of(count, total)}"
        yield _of_some("replication", "info", text, pushed, health_frames.of_connections(recording, pushed))
    yield from _about_states(recording, total)
    if checks := connection_checks(recording):
        yield HealthNote("no-login", "info", checks.text, len(checks.rows), checks.first_frame)
    in_part = ~recording.exchanges.complete
    if partial := int(np.count_nonzero(in_part)):
        of = f"{partial:,} of {counted(len(in_part), 'exchange')}"
        was, its = ("was", "its") if partial == 1 else ("were", "their")
        text = f"{of} {was} captured only in part: {its} times are not used"
        severity = "warning" if partial > MIN_SHARE * len(in_part) else "info"
        frame = health_frames.of_exchanges(recording, in_part)
        yield _of_some("incomplete-exchanges", severity, text, in_part, frame)


def _about_states(recording: Recording, total: int) -> Iterator[HealthNote]:
    running = recording.said("state").where("running".__eq__)
    if count := int(np.count_nonzero(running)):
        text = f"the capture began in the middle of {part_of(count, total)}: logins and earlier prepares are unknown"
        yield _of_some("missing-handshake", "info", text, running, health_frames.of_connections(recording, running))
    lost = recording.connection_column("lost_bytes").values
    if count := int(lost.sum()):
        text = f"the capture lost {counted(count, 'byte')} that the receiver acknowledged"
        hit = ~recording.exchanges.complete & (lost > 0)[recording.exchanges.connection]
        frame = health_frames.of_exchanges(recording, hit) or health_frames.of_connections(recording, lost > 0)
        yield HealthNote("capture-loss", "warning", f"{text} (first: by frame {frame})", count, frame)
    yield from _about_retransmissions(recording)


def _about_retransmissions(recording: Recording) -> Iterator[HealthNote]:
    """Retransmissions, and how many of them replaced lost packets."""
    again, spurious, sent = _sent(recording)
    if again:
        lost = again - spurious
        text = f"{counted(again, 'packet')} {'was' if again == 1 else 'were'} sent again"
        if recording.period is not None:  # of a window only what was sent again is known
            lost = spurious = 0
        if spurious:
            text += f"{_some(spurious, again)} although the first copy had arrived"
        if lost and sent:
            text += f": at least {lost:,} of {counted(sent, 'packet')} with data {'was' if lost == 1 else 'were'} lost"
            text += f" ({percent(lost / sent)})"
        frame = health_frames.of_exchanges(recording, recording.exchanges.retransmissions > 0)
        text += "" if frame is None else f" (first: the exchange of frame {frame})"
        yield HealthNote("retransmissions", "info", text, again, frame)


def _sent(recording: Recording) -> tuple[int, int, int]:
    """Packets that were sent again, those of them whose first copy had arrived, and all with data."""
    again, spurious, sent = (
        int(recording.connection_column(name).values.sum())
        for name in ("retransmissions", "spurious_retransmissions", "data_packets")
    )
    return again, spurious, sent


def loss_share(recording: Recording) -> float | None:
    """The part of the packets with data that was lost, at least; `None` where it is not known."""
    again, spurious, sent = _sent(recording)
    return (again - spurious) / sent if sent and recording.period is None else None


def _some(part: int, whole: int) -> str:
    """`, 2 of them`; nothing where it is the only one.

    >>> _some(2, 7), _some(2, 2), _some(1, 1)
    (', 2 of them', ', all of them', '')
    """
    return "" if whole == 1 else ", all of them" if part == whole else f", {part:,} of them"


def _about_keys(recording: Recording) -> Iterator[HealthNote]:
    """The connections that the given keys did not open."""
    readings = tls_readings(recording)
    of = f"of {counted(sum(readings.values()), 'TLS connection')}"

    def note(code: str, reading: str, says: str) -> Iterator[HealthNote]:
        if count := readings.get(reading, 0):
            which = recording.said("tls_reading").where(reading.__eq__)
            text, frame = says.format(f"{count:,} {of}"), health_frames.of_connections(recording, which)
            yield _of_some(code, "warning", text, which, frame)

    yield from note("keys-missing", "no-secret", "the key log has no secret for {}")
    text = "the given secret fails to decrypt a record of {}: the rest is not read"
    yield from note("keys-wrong", "wrong-secret", text)
    text = "{} could be decrypted only up to a point: everything before it is read"
    yield from note("tls-interrupted", "interrupted", text)
    unsupported = recording.said("tls_reading").where("unsupported-suite".__eq__)
    ciphers = recording.said("tls_cipher").picked(np.flatnonzero(unsupported))
    named = ", ".join(sorted(name or "unknown" for name in set(ciphers.texts()))[:MAX_CIPHERS])
    verb = "uses" if np.count_nonzero(unsupported) == 1 else "use"
    yield from note("tls-suite-unsupported", "unsupported-suite", f"{{}} {verb} an unsupported cipher suite ({named})")


def _about_time(recording: Recording, timeline: BudgetTimeline, budget: Budget) -> Iterator[HealthNote]:
    if timeline.runtime_s <= 0:
        return
    loss, unknown = budget.loss_s / timeline.runtime_s, budget.unknown_s / timeline.runtime_s
    if loss > MIN_SHARE:
        took = f"{format_s(budget.loss_s)} ({percent(loss)} of the runtime)"
        text = f"lost packets took {took}{_probable(timeline)}"
        frame = health_frames.of_largest(recording, timeline.loss_ns)
        text += "" if frame is None else f"; longest wait: frame {frame}"
        yield HealthNote("loss", "warning", text, 1, frame)
    if unknown > MIN_SHARE:
        in_part = 2 * timeline.budget.unknown_s > budget.unknown_s
        why = "exchanges captured only in part" if in_part else "only one response was captured"
        text = f"{percent(unknown)} of the runtime may be network or server: {why}"
        which = ~recording.exchanges.complete if in_part else recording.exchanges.response != MISSING
        frame = health_frames.of_exchanges(recording, which)
        text += "" if frame is None else f" (first: frame {frame})"
        yield HealthNote("unknown-time" if in_part else "one-response", "warning", text, 1, frame)


def _probable(timeline: BudgetTimeline) -> str:
    """The part of the loss that shows only by the length of a wait."""
    waits = int(np.count_nonzero(timeline.probably_lost))
    if not waits:
        return ""
    probable_s = float(timeline.loss_ns.sum(where=timeline.probably_lost)) / 1e9
    which = f"{waits:,} {'wait' if waits == 1 else 'waits'} as long as a time-out"
    return f", {format_s(probable_s)} of it probably ({which}, without a retransmission in the capture)"
