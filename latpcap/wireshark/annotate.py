"""Findings and exchanges as packet comments: OUT.pcapng opens in Wireshark with what latpcap knows beside the packets.

What limits the result stands at the first packet that it is about, an exchange at the packet that completes its
request; a finding's text at its first packet, and a short mark where each of its other exchanges begins. Statements
appear in no comment: Wireshark shows them, where it may.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from heapq import merge
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct

from latpcap import _core
from latpcap.display import plain
from latpcap.errors import CaptureError, UsageError, unwritten
from latpcap.report import check_capture_name
from latpcap.report.text import printable
from latpcap.result.analysis import Analysis
from latpcap.tables.columnar.table import MAX_PASSES, Table
from latpcap.tables.reading import sources
from latpcap.tables.writing import outputs
from latpcap.units import counted, format_given_ms, format_ms, format_s

ROWS_PER_BATCH = 4_096
FRAMES_PER_BATCH = 1_000
MAX_COMMENTS = 1_000
"""Comments of a packet: one of 64 KB may complete 13,000 requests."""
MARKED = "latpcap: "
"""How each comment begins: `frame.comment contains "latpcap"` shows all in Wireshark."""


class Annotated(Struct, frozen=True):
    """The written copy."""

    packets: int
    """Packets with comments."""
    secrets: int
    """Blocks with decryption secrets that the captures hold."""
    sessions: int
    """TLS sessions whose secrets were added from the key log."""
    embedded: bool
    """Secrets were kept and added; else dropped."""

    @property
    def text(self) -> str:
        """Describe it in words.

        >>> Annotated(12, 1, 0, embedded=False).text
        '12 packets with comments; 1 block of decryption secrets was dropped (--embed-keys keeps it)'
        >>> Annotated(12, 0, 3, embedded=True).text
        '12 packets with comments; secrets of 3 TLS sessions were added: whoever has the file can read what it hides'
        """
        told = f"{counted(self.packets, 'packet')} with comments"
        blocks = f"{counted(self.secrets, 'block')} of decryption secrets {'was' if self.secrets == 1 else 'were'}"
        if not self.embedded:
            keeps = "it" if self.secrets == 1 else "them"
            return f"{told}; {blocks} dropped (--embed-keys keeps {keeps})" if self.secrets else told
        added = f"secrets of {counted(self.sessions, 'TLS session')} were added"
        what = [f"{blocks} kept"] * (self.secrets > 0) + [added] * (self.sessions > 0)
        if not what:
            return f"{told}; no secrets were embedded: none name a session of the captures by its client's random"
        return f"{told}; {' and '.join(what)}: whoever has the file can read what it hides"


def annotate(
    captures: Any,
    output: str | Path,
    result: Analysis,
    exchanges: Table,
    *,
    force: bool = False,
    embed_keys: bool = False,
    keylog: Any = None,
    recording: Any = None,
    progress: Any = None,
) -> Annotated:
    """Write `captures` (a path, a glob or a list of these) again as pcapng, with comments; return what was written.

    `result` and `exchanges` are what latpcap made of them. An existing file is written over only with `force`, and one
    of the captures never. Blocks with decryption secrets are dropped unless `embed_keys` asks for them; then
    those secrets of `keylog` that open a session of the `recording` (a `latpcap._core.Recording`) become one more.
    """
    paths = sources.on_disk(sources.resolve(captures))
    check_output(output, paths, force=force)
    try:
        with outputs.written(output, private=embed_keys, captures=paths) as file:
            done = _core.annotate(
                paths,
                comments(result, exchanges),
                file.name,
                embed_keys=embed_keys,
                keylog=keylog,
                recording=recording,
                progress=progress,
            )
    except OSError as error:
        raise unwritten(output, error) from None
    except _core.CaptureError as error:
        raise CaptureError(str(error)) from None
    return Annotated(*done, embedded=embed_keys)


def check_output(output: str | Path, paths: Sequence[str], *, force: bool = False) -> None:
    """Refuse what cannot be written, or must not be written over."""
    if not paths or "-" in paths:
        raise UsageError("the captures are read twice: give files, not a pipe or packets")
    outputs.check([output], [("capture", path) for path in paths])
    check_capture_name(output)
    if os.path.exists(output) and not force:
        raise UsageError(f"{output}: already exists; name another file, or add --force to write over it")


def comments(result: Analysis, exchanges: Table) -> Iterator[list[tuple[int, list[str]]]]:
    """Yield the comments, batch by batch, in the order of the frames: of each notes, then findings, then exchanges."""
    found = sorted([*_of_health(result), *_of_findings(result)], key=itemgetter(0))
    of_frames = groupby(merge(found, _of_exchanges(exchanges), key=itemgetter(0)), key=itemgetter(0))
    told = ((frame, _of_one([text for _, text in texts])) for frame, texts in of_frames)
    while batch := list(islice(told, FRAMES_PER_BATCH)):
        yield batch


def _of_one(texts: list[str]) -> list[str]:
    """The comments of a frame: a packet may complete any number of requests."""
    more = len(texts) - MAX_COMMENTS
    told = texts[:MAX_COMMENTS] + [f"{more:,} more exchanges end here"] * (more > 0)
    return [MARKED + printable(text) for text in told]


def _of_health(result: Analysis) -> Iterator[tuple[int, str]]:
    """Yield what limits the trust in the result, at the first packet of each, else at that of the capture."""
    return ((note.first_frame or 1, f"{note.severity}: {note.message}") for note in result.health)


def _of_findings(result: Analysis) -> Iterator[tuple[int, str]]:
    told = result.projection.headline_rtt_ms
    for finding in plain(result.findings):
        first = finding.get("first_frame")
        if first is None:
            continue
        filtered = finding.get("display_filter")
        yield (
            first,
            f"finding {finding_text(finding, told)}" + (f" Show its packets with: {filtered}" if filtered else ""),
        )
        for interval in finding.get("frames", ()):
            if interval["first"] != first:
                yield interval["first"], f"part of finding {finding['code']} (see frame {first})"


def finding_text(finding: dict[str, Any], headline_rtt_ms: float | None) -> str:
    """Describe a finding beside a packet: its title, its fix and what that saves."""
    trips, seconds = (
        finding.get("round_trips_saved", 0),
        finding.get("saved_s", {}).get(f"{headline_rtt_ms or 0:g}", 0.0),
    )
    saved = f" ({format_s(seconds)} at {format_given_ms(headline_rtt_ms or 0)})" if seconds > 0 else ""
    gain = f" It would save {counted(trips, 'round trip')}{saved}." if trips else ""
    return f"{finding['code']}: {finding['title']}. {finding['fix']}{gain}"


def _of_exchanges(table: Table) -> Iterator[tuple[int, str]]:
    """A line for each exchange at the frame that completes its request, in the order of the frames."""
    ends = (table.column(f"{name}_end_frame").astype(float) for name in ("request", "response"))
    frames = np.where(np.isnan(request_end := next(ends)), next(ends), request_end)
    order = np.argsort(frames, kind="stable")[: int(np.count_nonzero(~np.isnan(frames)))]
    names = (
        *("stream", "exchange", "command", "error_code", "retransmissions", "loss_ms", "complete", "round_trips"),
        *("service_ms", "rows"),
    )
    rows = table[[*names, "request_time", "response_end_time"]][order]
    step = max(ROWS_PER_BATCH, -(-len(order) // MAX_PASSES))
    for begin in range(0, len(order), step):
        some = rows.slice(begin, step)  # made by one way through the table
        for start in range(0, len(some), ROWS_PER_BATCH):
            part = some.slice(start, ROWS_PER_BATCH)
            of_part = frames[order[begin + start : begin + start + len(part)]]
            values = (part.column(name).tolist() for name in names)
            yield from zip(of_part.astype(np.int64).tolist(), map(_fact, _took_ms(part), *values), strict=True)


def _took_ms(table: Table) -> list[float]:
    """First packet of each request → last one of its response; NaN where one of them is not known."""
    begins, ends = (table.column(name).view(np.int64) for name in ("request_time", "response_end_time"))
    missing = np.iinfo(np.int64).min
    took: list[float] = np.where((begins != missing) & (ends != missing), (ends - begins) / 1e6, np.nan).tolist()
    return took


def _fact(
    took_ms: float,
    stream: int,
    exchange: int,
    command: str,
    error_code: str | None,
    retransmissions: int,
    loss_ms: float,
    complete: bool,
    round_trips: int,
    service_ms: float,
    rows: float,
) -> str:
    """One exchange in a line, what went wrong first; a NaN is a number that is not known."""
    facts = [f"error {error_code}"] if error_code else []
    if retransmissions:
        facts.append(counted(retransmissions, "retransmission"))
    if loss_ms > 0:
        facts.append(f"{'loss' if retransmissions else 'probably loss'} {format_ms(loss_ms)}")
    if not complete:
        facts.append("captured in part")
    facts.append(counted(round_trips, "round trip"))
    if took_ms == took_ms:
        facts.append(format_ms(took_ms))
    if service_ms == service_ms:
        facts.append(f"service {format_ms(service_ms)}")
    if rows == rows:
        facts.append(counted(int(rows), "row"))
    return f"exchange {exchange} of stream {stream}, {command}: {', '.join(facts)}"
