"""What makes a result less reliable: the core's notes, and what only the whole recording shows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

import numpy as np
from arro3.core import Table
from msgspec import Struct
from msgspec.structs import force_setattr

from latpcap.measures.budget import Budget, BudgetTimeline
from latpcap.measures.changed_paths import changed_paths
from latpcap.measures.legs import LegRoundTrips
from latpcap.measures.proxies import hidden_networks
from latpcap.measures.timing_only import KEYS_PAGE, part_of, timing_only, tls_readings
from latpcap.rtt import LOOPBACK, Baselines, Estimate, Method, Reason
from latpcap.tables.columnar import columns
from latpcap.tables.columnar.columns import Bools
from latpcap.tables.recording import Recording
from latpcap.units import counted, format_ms, format_s, percent, significant

__all__ = ["ADVICE", "BY_SEVERITY", "HealthNote", "by_severity", "core_notes", "measured_notes", "notes_in"]

NOTABLE_SHARE = 0.01
"""Loss or unknown time below this share of the runtime is not worth a note; so few exchanges in part no warning."""
NEAR_ZERO_NS = 100_000
NAMED_CIPHERS = 3
"""Unsupported cipher suites named in a note."""


ADVICE: dict[str, tuple[str, str]] = {
    # the file
    "file-cut": ("everything after that is missing", "capture or copy the file again if that matters"),
    "file-damaged": ("the unreadable part is left out", "copy the file again, or repair it (`pcapfix`)"),
    "file-unreadable": ("everything after that is missing", "check the disk or the network share"),
    "stopped": ("the result covers the packets before that", "read the capture again to the end if that matters"),
    "unknown-interface": ("these packets are left out", "write the file again: `editcap IN OUT`"),
    "unknown-link-type": ("these packets are left out", "capture on an Ethernet, cooked or raw IP interface"),
    "encrypted-packets": (
        "these packets are left out",
        "capture behind the access point or switch that decrypts, or decrypt the file first (`airdecap-ng`)",
    ),
    "other-secrets": ("none: they decrypt no database connection", "nothing"),
    "malformed-packets": ("these packets are left out", "capture again, or copy the file again"),
    "snap-length": (
        "statements and rows in the missing part are unknown; times are correct where the packets show them",
        "capture whole packets: `-s 0`",
    ),
    "capture-drops": (
        "exchanges with a dropped packet are incomplete, and some may be missing",
        "capture less (`port 3306`) into a larger buffer (`-B 64`)",
    ),
    # what the capture saw
    "capture-loss": (
        "exchanges that lost a part are incomplete; exchanges that were lost whole are not counted",
        "capture less (`port 3306`) into a larger buffer (`-B 64`)",
    ),
    "one-direction": (
        "response times are unknown: no exchange has a duration",
        "mirror both directions of the port, or capture on the host itself",
    ),
    "duplicate-packets": ("none: each packet is counted once", "capture on one interface, or mirror one port"),
    "reordered": ("none: TCP streams are reordered by sequence number", "nothing, unless there are many"),
    "offloaded": (
        "none on round trips and times; the capture shows fewer packets and slow-start rounds than the wire",
        "nothing; for packet counts capture on a mirror port, or `ethtool -K eth0 tso off gro off`",
    ),
    "missing-handshake": (
        "no handshake RTT, no login, no text of statements prepared earlier",
        "start the capture before the application",
    ),
    "relayed": (
        "round trips, RTT and times are correct; TCP's windows, losses and pacing on large transfers are not visible, "
        "so the projection's range is wider",
        "nothing; for jobs that move much data capture packets: `latpcap record` with capture permission",
    ),
    "proxy-header": (
        "the capture measures the path from the proxy to the server, not from the client",
        "capture between client and proxy, too",
    ),
    # limits
    "too-many-connections": (
        "further connections are left out",
        "give more with --memory, or filter the capture to the database's port",
    ),
    "too-many-exchanges": (
        "the result covers the packets before that; everything later is missing",
        "give more with --memory, or split the capture",
    ),
    "too-many-samples": (
        "the baseline RTT uses the samples before that; counts are correct",
        "give more with --memory",
    ),
    "too-many-unrecognised": (
        "they are classified by port, or not counted",
        "give more with --memory, or filter the capture to the database's port",
    ),
    "too-many-unfinished": (
        "these exchanges are incomplete, and those within the discarded bytes are not counted",
        "give more with --memory, or filter the capture to the database's port",
    ),
    "too-many-statements": ("further statements share one text; times are correct", "split the capture"),
    "too-many-unanswered": (
        "these exchanges and the ones after them are incomplete",
        "check that the capture has both directions",
    ),
    "too-many-errors": ("further errors share one text; times are correct", "split the capture"),
    "too-many-waiting": (
        "exchanges with missing packets are incomplete",
        "capture less (`port 3306`) into a larger buffer (`-B 64`)",
    ),
    "key-log-damaged": (
        "connections whose secrets are on these lines stay timing only",
        "copy the key log again after the client has ended; a line is incomplete while it is being written",
    ),
    "too-many-keys": (
        "connections whose secrets were dropped stay timing only",
        "give more with --memory, or a key log of these connections only",
    ),
    "too-much-inflated": (
        "the contents of these compressed packets are missing: their exchanges are incomplete",
        "nothing if the capture is a decompression bomb; otherwise split it",
    ),
    "too-many-fragments": ("the contents of these datagrams are missing", "filter the capture to the database's port"),
    # the clock
    "clock-backwards": (
        "packets are put back in order; where the clock was set, `clock-step` reports it",
        "`reordercap IN OUT` sorts the packets",
    ),
    "clock-outlier": (
        "an exchange that begins or ends with this packet has no time",
        "nothing; if there are many, check the clock of the capturing machine",
    ),
    "clock-step": (
        "exchanges in progress are incomplete; later times are corrected by the senders' TCP timestamps (without "
        "these, to leave no gap), and differ from the file's",
        "capture again with a clock that is slewed, not stepped (NTP)",
    ),
    "coarse-clock": (
        "each time is off by up to the clock's resolution: no RTT below it can be measured",
        "capture with a finer clock, or give the RTT with --rtt-baseline",
    ),
    # the path and the hosts
    "retransmissions": ("their time is counted as loss", "nothing, unless `loss` or `timeouts` is reported, too"),
    "timeouts": (
        "these waits depend on the sender's timer, not only on the RTT; the projection keeps them",
        "find the cause of packet loss: duplex mismatch, full queue, bad cable",
    ),
    "loss": ("the projection keeps this time unchanged", "find the cause of packet loss"),
    "zero-window": (
        "transfers waited for a program to read its data; a faster network does not shorten that",
        "look for a client that fetches slowly, or processes each row while it reads",
    ),
    "delayed-ack": (
        "these waits are the acknowledging host's timer (40 ms or more), not distance",
        "set TCP_NODELAY in the driver, or write each request in one piece",
    ),
    "refused": (
        "no database connection was made: they count as errors, with the time that clients lost, and nowhere else",
        "check address and port, and whether the server runs",
    ),
    "unanswered": (
        "no database connection was made: they count as errors, with the time that clients lost, and nowhere else",
        "check address, port and firewalls",
    ),
    # reading
    "selection": ("figures cover this part only; notes about files cover whole files", "nothing"),
    "no-database-traffic": (
        "there is nothing to count",
        "capture where the database's packets pass; name an unusual port with --decode-as PORT=PROTOCOL",
    ),
    "unrecognised": (
        "these connections are not counted",
        "name the protocol with --decode-as, or capture the connections from their beginning",
    ),
    "other-database": (
        "these connections are not counted",
        "with --decode-as PORT=opaque their round trips and times are counted, without statements",
    ),
    "encrypted": (
        "timing only: no statements, rows or errors; round trips are counted by direction changes, so requests that "
        "are sent without waiting may count as one",
        f"give the client's keys with --keylog ({KEYS_PAGE}), capture behind the TLS end point, or switch encryption "
        "off for the test",
    ),
    "keys-missing": (
        "these connections stay timing only",
        f"log the keys of all clients, from before they connect; not every driver logs resumed sessions ({KEYS_PAGE})",
    ),
    "keys-wrong": (
        "from that record on these connections are timing only; everything before it is correct",
        "use the complete key log of the same run; lost or cut packets have the same effect",
    ),
    "tls-interrupted": (
        "from there on these connections are timing only; everything before it is correct",
        "capture without loss: missing bytes may hide a key change",
    ),
    "tls-suite-unsupported": (
        "these connections stay timing only",
        "let client or server use AES-GCM, ChaCha20-Poly1305 or AES-CBC for the measurement",
    ),
    "replication": ("pushed data is not counted", "nothing"),
    "unreadable": (
        "the part in between is counted by direction changes, and its times are not used",
        "capture the connection from its beginning, without loss",
    ),
    "estimated-rows": ("row counts may be off", "capture the connection from its beginning"),
    "implausible-rows": ("these rows are not counted", "compare with the client's own counts"),
    "incomplete-exchanges": ("they count as round trips, but their times are not used", "see the notes above"),
    "unknown-time": (
        "this time is assigned to neither network nor service",
        "capture without loss, from the beginning",
    ),
    "one-response": (
        "it bounds the RTT from above, but does not show what of it was the network",
        "capture more of the work, or give the RTT with --rtt-baseline",
    ),
    # the baseline RTT
    "baseline-unknown": ("no network share and no projection", "give the RTT with --rtt-baseline"),
    "baseline-upper-bound": (
        "the network's share and the projection are upper bounds",
        "start the capture before the application, or give the RTT with --rtt-baseline",
    ),
    "baseline-assumed": (
        "if the server takes the same time for each response, that time is counted as network",
        "start the capture before the application, or give the RTT with --rtt-baseline",
    ),
    "baseline-either": (
        "the network's share depends on which one is right; its range covers both",
        "give the RTT with --rtt-baseline, as measured by `ping` or `latpcap calibrate`",
    ),
    "proxy-likely": (
        "part of the service time may be network behind the proxy, which a faster server does not shorten; the "
        "projection changes only the path from the application to the proxy, unless the RTT includes both",
        "also capture at the proxy, on both sides of it (one file is enough), or between proxy and server",
    ),
    "proxy-legs": (
        "figures are the application's, over both networks; connections and paths of both sides are listed",
        "nothing; `--rtt` is the RTT between proxy and server, `--move` moves any of them",
    ),
    "path-changed": (
        "each round trip is costed at the RTT of its time; the overall RTT is the mean over all waits",
        "look for a fail-over, a VPN or congestion at that time; `latpcap minutes` shows the RTT over time",
    ),
    "paced-sender": (
        "at another RTT their transfers take as many round trips; captures below 2 ms do not show pacing, so a "
        "projection to a longer RTT is too short by up to half a round trip for each large message",
        "nothing; to project to a longer RTT capture above 2 ms, or switch the sender to CUBIC",
    ),
    "files-apart": (
        "the gaps between files are think time; runtime and projection include them, rates do not",
        "give files of one recording; compare others with `latpcap compare`, or rank them with `latpcap rank`",
    ),
    "loopback": ("network and service time are hard to separate", "capture between two machines"),
    "near-zero-baseline": ("small RTT errors become large in the projection", "give the RTT with --rtt-baseline"),
}
"""What each code does to the numbers, and what to do."""


BY_SEVERITY = (
    # there are no figures, or not of all
    *("no-database-traffic", "one-direction", "baseline-unknown", "file-unreadable", "file-damaged", "file-cut"),
    *("too-many-exchanges", "too-many-connections", "too-many-unrecognised", "too-many-unfinished"),
    *("too-many-unanswered", "too-many-waiting", "too-many-fragments", "too-much-inflated"),
    # times are wrong
    *("clock-step", "coarse-clock", "files-apart"),
    # exchanges are missing
    *("capture-drops", "capture-loss", "unreadable", "incomplete-exchanges", "snap-length"),
    # the network's share is less sure
    *(
        "proxy-likely",
        "path-changed",
        "baseline-either",
        "baseline-upper-bound",
        "baseline-assumed",
        "unknown-time",
        "one-response",
        "loopback",
        "near-zero-baseline",
        "too-many-samples",
    ),
    # what the network did, which the figures allow for
    *("timeouts", "loss", "delayed-ack", "zero-window", "retransmissions", "paced-sender"),
    # something is left out
    *("malformed-packets", "encrypted-packets", "unknown-interface", "unknown-link-type"),
    *("unrecognised", "other-database", "refused", "unanswered", "too-many-statements", "too-many-errors"),
    *("keys-wrong", "keys-missing", "tls-interrupted", "tls-suite-unsupported", "key-log-damaged", "too-many-keys"),
    *("implausible-rows", "estimated-rows", "clock-outlier", "clock-backwards", "encrypted", "missing-handshake"),
    # good to know
    *(
        "stopped",
        "selection",
        "relayed",
        "proxy-header",
        "proxy-legs",
        "replication",
        "offloaded",
        "duplicate-packets",
        "reordered",
    ),
    *("other-secrets",),
)
"""The codes by their effect on the figures: of two warnings, the first one here comes first."""

SEVERITIES = ("error", "warning", "info")


class HealthNote(Struct, frozen=True):
    """One kind of problem: a code for scripts, a sentence for people; docs/health.md lists the codes."""

    code: str
    severity: str
    """`error`: figures are missing or wrong in part; `warning`: less sure; `info`: good to know."""
    message: str
    count: int
    effect: str = ""
    """What it does to the numbers."""
    advice: str = ""
    """What to do."""

    def __post_init__(self) -> None:
        effect, advice = ADVICE.get(self.code, ("", ""))
        force_setattr(self, "effect", effect)
        force_setattr(self, "advice", advice)


def by_severity(notes: Iterable[HealthNote]) -> tuple[HealthNote, ...]:
    """The notes by severity, then by their effect on the figures."""
    place = {code: number for number, code in enumerate(BY_SEVERITY)}
    return tuple(sorted(notes, key=lambda note: (SEVERITIES.index(note.severity), place.get(note.code, len(place)))))


def core_notes(recording: Recording) -> list[HealthNote]:
    """What the core noticed while it read."""
    return [HealthNote(*note) for note in recording.notes]


def notes_in(table: Table) -> list[HealthNote]:
    """The notes that a table of the core's holds."""
    return [HealthNote(*note) for note in columns.notes(table)]


def measured_notes(
    recording: Recording, rtt: Estimate, timeline: BudgetTimeline, budget: Budget, legs: LegRoundTrips | None = None
) -> list[HealthNote]:
    """What the measures themselves say about their reliability; `budget` is that of the result."""
    notes = (
        _about_baseline(rtt.of_connections),
        _about_changes(recording, rtt),
        _about_proxies(recording, rtt, legs),
        _about_pacing(timeline),
        _about_reading(recording),
        _about_time(timeline, budget),
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
        f"there are gaps between files: nothing was recorded for {lasts} between {before} and {after}; "
        f"{_long(recording.recorded_s)} of the runtime were recorded, and rates refer to these"
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


def _about_baseline(baselines: Baselines) -> Iterator[HealthNote]:
    total = len(baselines.method)
    if unknown := int((baselines.method == Method.UNKNOWN).sum()):
        text = f"the RTT of {part_of(unknown, total)} is unknown; give it with --rtt-baseline"
        yield HealthNote("baseline-unknown", "error" if unknown == total else "warning", text, unknown)
    if bounded := int((baselines.reason == Reason.FLOOR).sum()):
        text = f"the RTT of {part_of(bounded, total)} is an upper bound, taken from the fastest responses"
        yield HealthNote("baseline-upper-bound", "warning", text, bounded)
    if assumed := int((baselines.reason == Reason.STEADY).sum()):
        text = (
            f"the RTT of {part_of(assumed, total)} is taken from the fastest responses, "
            "which assumes that the server does not take the same time for each"
        )
        yield HealthNote("baseline-assumed", "info", text, assumed)
    if len(two := np.flatnonzero(np.isin(baselines.reason, (Reason.SPLIT, Reason.SPLIT_SYN)))):
        ends = " or ".join(format_ms(float(end[two[0]]) / 1e6) for end in (baselines.low, baselines.high))
        text = f"the RTT of {part_of(len(two), total)} is ambiguous, about {ends}: the handshake (and acknowledgments "
        text += "that agree) shows a shorter one than all responses do"
        yield HealthNote("baseline-either", "warning", text, len(two))
    if either := int((baselines.reason == Reason.SPLIT_CHANGE).sum()):
        text = f"all response times of {part_of(either, total)} shifted by the same amount at one moment"
        yield HealthNote("baseline-either", "warning", f"{text}: either the path or the server changed", either)
    local = baselines.position == LOOPBACK
    if shared := int(local.sum()):
        text = (
            f"client and server of {part_of(shared, total)} run on one machine and share its processors: "
            "a projection from this capture can be off by a third"
        )
        yield HealthNote("loopback", "warning", text, shared)
    if tiny := int(((baselines.baseline < NEAR_ZERO_NS) & ~local).sum()):
        text = f"the RTT of {part_of(tiny, total)} is below 0.1 ms, close to what hosts and clocks can resolve"
        yield HealthNote("near-zero-baseline", "info", text, tiny)


def _about_changes(recording: Recording, rtt: Estimate) -> Iterator[HealthNote]:
    if text := changed_paths(recording, rtt):
        yield HealthNote("path-changed", "info", text, len(rtt.phases.changes))


def _about_proxies(recording: Recording, rtt: Estimate, legs: LegRoundTrips | None) -> Iterator[HealthNote]:
    known = legs.proxies if legs else ()
    if legs:
        yield HealthNote("proxy-legs", "info", legs.text, legs.inner_round_trips)
    found = [hidden for hidden in hidden_networks(recording, rtt) if hidden.sure and hidden.server not in known]
    if found:
        first = max(found, key=lambda hidden: hidden.answers)
        others = counted(len(found) - 1, "other server")
        text = f"{first.text} (likewise for {others})" if found[1:] else first.text
        yield HealthNote("proxy-likely", "warning", text, sum(hidden.answers for hidden in found))


def _about_pacing(timeline: BudgetTimeline) -> Iterator[HealthNote]:
    messages, of = timeline.job.core.paced
    if messages:
        text = (
            f"{messages:,} of {counted(of, 'large message')} were spread evenly over the round trip: the "
            "sender paces its packets (BBR, a fair queue)"
        )
        yield HealthNote("paced-sender", "info", text, messages)


def _about_reading(recording: Recording) -> Iterator[HealthNote]:
    total = len(recording.connections)
    if hidden := timing_only(recording):
        yield HealthNote("encrypted", "info", hidden.text[0].lower() + hidden.text[1:], hidden.connections)
    yield from _about_keys(recording)
    pushed = int(np.count_nonzero(recording.connection_column("replication").values))
    if pushed:
        text = f"data that the server pushes (replication, events) is not counted on {part_of(pushed, total)}"
        yield HealthNote("replication", "info", text, pushed)
    yield from _about_states(recording, total)
    partial = int(np.count_nonzero(~recording.exchanges.complete))
    if partial:
        of = f"{partial:,} of {counted(len(recording.exchanges), 'exchange')}"
        text = f"{of} {'was' if partial == 1 else 'were'} captured only in part: these times are not used"
        text += _first(recording, ~recording.exchanges.complete)
        severity = "warning" if partial > NOTABLE_SHARE * len(recording.exchanges) else "info"
        yield HealthNote("incomplete-exchanges", severity, text, partial)


def _about_states(recording: Recording, total: int) -> Iterator[HealthNote]:
    if running := int(np.count_nonzero(recording.said("state").where("running".__eq__))):
        text = f"the capture began in the middle of {part_of(running, total)}: logins and earlier prepares are unknown"
        yield HealthNote("missing-handshake", "info", text, running)
    lost = int(recording.connection_column("lost_bytes").values.sum())
    if lost:
        text = f"the capture lost {counted(lost, 'byte')} that the receiver acknowledged"
        yield HealthNote("capture-loss", "warning", text, lost)
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
            text += f"{_some(spurious, again)} though the first copy had arrived"
        if lost and sent:
            text += f": at least {lost:,} of {counted(sent, 'packet')} with data {'was' if lost == 1 else 'were'} lost"
            text += f" ({percent(lost / sent)})"
        text += _first(recording, recording.exchanges.retransmissions > 0)
        yield HealthNote("retransmissions", "info", text, again)


def _first(recording: Recording, rows: Bools) -> str:
    """Where in the capture the first of these exchanges is: its request, else its response."""
    for name in ("request_frame", "response_frame"):
        frames = columns.column(recording.exchange_columns(name), name).ints(0)[rows]
        if (known := frames[frames > 0]).size:
            return f" (first: the exchange of frame {known.min()})"
    return ""


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
    """What the keys that were given did not open."""
    readings = tls_readings(recording)
    total = sum(readings.values())
    of = f"of {counted(total, 'TLS connection')}"
    if missing := readings.get("no-secret", 0):
        text = f"the key log has no secret for {missing:,} {of}"
        yield HealthNote("keys-missing", "warning", text, missing)
    if wrong := readings.get("wrong-secret", 0):
        text = f"the given secret does not decrypt a record of {wrong:,} {of}: the rest is not read"
        yield HealthNote("keys-wrong", "warning", text, wrong)
    if interrupted := readings.get("interrupted", 0):
        text = f"{interrupted:,} {of} could be decrypted only up to a point: everything before it is read"
        yield HealthNote("tls-interrupted", "warning", text, interrupted)
    if unsupported := readings.get("unsupported-suite", 0):
        ciphers = recording.said("tls_cipher").picked(
            np.flatnonzero(recording.said("tls_reading").where("unsupported-suite".__eq__))
        )
        named = ", ".join(sorted(name or "unknown" for name in set(ciphers.texts()))[:NAMED_CIPHERS])
        text = f"{unsupported:,} {of} {'uses' if unsupported == 1 else 'use'} an unsupported cipher suite ({named})"
        yield HealthNote("tls-suite-unsupported", "warning", text, unsupported)


def _about_time(timeline: BudgetTimeline, budget: Budget) -> Iterator[HealthNote]:
    if timeline.runtime_s <= 0:
        return
    loss, unknown = budget.loss_s / timeline.runtime_s, budget.unknown_s / timeline.runtime_s
    if loss > NOTABLE_SHARE:
        took = f"{format_s(budget.loss_s)} ({percent(loss)} of the runtime)"
        text = f"lost packets took {took}{_probable(timeline)}, and the projection keeps that time"
        yield HealthNote("loss", "warning", text, 1)
    if unknown > NOTABLE_SHARE:
        in_part = 2 * timeline.budget.unknown_s > budget.unknown_s
        why = "exchanges in part" if in_part else "a single response was captured"
        text = f"{percent(unknown)} of the runtime cannot be divided: {why}"
        yield HealthNote("unknown-time" if in_part else "one-response", "warning", text, 1)


def _probable(timeline: BudgetTimeline) -> str:
    """The part of the loss that shows only by the length of a wait."""
    waits = int(np.count_nonzero(timeline.probably_lost))
    if not waits:
        return ""
    probable_s = float(timeline.loss_ns.sum(where=timeline.probably_lost)) / 1e9
    which = f"{waits:,} {'wait' if waits == 1 else 'waits'} as long as a time-out"
    return f", {format_s(probable_s)} of it probably ({which}; the lost packet never passed the capture point)"
