"""What limits the trust in a result: the core's notes, and what only the whole recording shows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from latpcap import columns
from latpcap.budget import Timeline
from latpcap.recording import Recording
from latpcap.rtt import LOOPBACK, R_FLOOR, UNKNOWN, Baselines

__all__ = ["HealthNote", "core_notes", "measured_notes"]

NOTABLE_SHARE = 0.01
"""Loss or unknown time below this share of the runtime is not worth a note."""
NEAR_ZERO_NS = 100_000


@dataclass(frozen=True, slots=True)
class HealthNote:
    """One kind of trouble: a code for scripts, a sentence for people."""

    code: str
    severity: str
    message: str
    count: int


def core_notes(recording: Recording) -> list[HealthNote]:
    """What the core noticed while it read."""
    table = recording.notes_table
    told = (columns.texts(table, name) for name in ("code", "severity", "message"))
    counts = columns.column(table, "count").values
    return [
        HealthNote(code or "", severity or "", message or "", int(count))
        for code, severity, message, count in zip(*told, counts, strict=True)
    ]


def measured_notes(recording: Recording, baselines: Baselines, timeline: Timeline) -> list[HealthNote]:
    """What the measures themselves say about their trustworthiness."""
    return [*_about_baseline(baselines), *_about_reading(recording), *_about_time(timeline)]


def _about_baseline(baselines: Baselines) -> Iterator[HealthNote]:
    total = len(baselines.method)
    if unknown := int((baselines.method == UNKNOWN).sum()):
        text = f"no RTT is known of {_part(unknown, total)}; give it with --rtt-baseline"
        yield HealthNote("baseline-unknown", "error" if unknown == total else "warning", text, unknown)
    if bounded := int((baselines.reason == R_FLOOR).sum()):
        text = f"the RTT of {_part(bounded, total)} is an upper bound, the fastest responses"
        yield HealthNote("baseline-upper-bound", "warning", text, bounded)
    local = baselines.position == LOOPBACK
    if shared := int(local.sum()):
        text = (
            f"client and server of {_part(shared, total)} are one machine and share its processors: "
            "a projection from there can be wrong by a third"
        )
        yield HealthNote("loopback", "warning", text, shared)
    if tiny := int(((baselines.baseline < NEAR_ZERO_NS) & ~local).sum()):
        text = f"the RTT of {_part(tiny, total)} is below 0.1 ms, about what hosts and clocks can resolve"
        yield HealthNote("near-zero-baseline", "info", text, tiny)


def _about_reading(recording: Recording) -> Iterator[HealthNote]:
    table = recording.all_connections_table
    total = len(recording.connections)
    encrypted = [value for value in columns.texts(table, "encryption") if value is not None]
    if encrypted:
        kinds = ", ".join(sorted(set(encrypted)))
        text = f"statements are hidden by encryption ({kinds}) on {_part(len(encrypted), total)}"
        yield HealthNote("encrypted", "info", text, len(encrypted))
    pushed = int(np.count_nonzero(columns.column(table, "replication").values))
    if pushed:
        text = f"what the server pushes (replication, events) is not counted on {_part(pushed, total)}"
        yield HealthNote("replication", "info", text, pushed)
    yield from _about_states(recording, total)
    partial = int(np.count_nonzero(~recording.exchanges.complete))
    if partial:
        text = f"{partial:,} of {len(recording.exchanges):,} exchanges were captured in part; their times are not used"
        yield HealthNote("incomplete-exchanges", "warning", text, partial)


def _about_states(recording: Recording, total: int) -> Iterator[HealthNote]:
    table = recording.all_connections_table
    states = [columns.texts(table, "state")[row] for row in recording.database_rows]
    if refused := states.count("refused"):
        text = f"the server refused {_part(refused, total)}: nothing listens on that port"
        yield HealthNote("refused", "warning", text, refused)
    if unanswered := states.count("unanswered"):
        text = f"nobody answered {_part(unanswered, total)}: a firewall drops the packets, or there is no such host"
        yield HealthNote("unanswered", "warning", text, unanswered)
    if running := states.count("running"):
        text = f"the capture began in the middle of {_part(running, total)}: logins and earlier prepares are unknown"
        yield HealthNote("missing-handshake", "info", text, running)
    lost = int(columns.column(table, "lost_bytes").values[recording.database_rows].sum())
    if lost:
        text = f"{lost:,} bytes were acknowledged but never captured: the capture lost packets"
        yield HealthNote("capture-loss", "warning", text, lost)
    retransmissions = int(columns.column(table, "retransmissions").values[recording.database_rows].sum())
    if retransmissions:
        text = f"{retransmissions:,} packets were sent again"
        yield HealthNote("retransmissions", "info", text, retransmissions)


def _part(count: int, total: int) -> str:
    """So many connections out of all.

    >>> _part(1, 1), _part(3, 3), _part(1, 3)
    ('the connection', 'all 3 connections', '1 of 3 connections')
    """
    if count == total:
        return "the connection" if total == 1 else f"all {total:,} connections"
    return f"{count:,} of {total:,} connections"


def _about_time(timeline: Timeline) -> Iterator[HealthNote]:
    if timeline.runtime_s <= 0:
        return
    loss, unknown = timeline.budget.loss_s / timeline.runtime_s, timeline.budget.unknown_s / timeline.runtime_s
    if loss > NOTABLE_SHARE:
        text = f"retransmissions took {loss:.0%} of the runtime, and the projection keeps them"
        yield HealthNote("loss", "warning", text, 1)
    if unknown > NOTABLE_SHARE:
        text = f"{unknown:.0%} of the runtime belongs to exchanges that were captured in part"
        yield HealthNote("unknown-time", "warning", text, 1)
