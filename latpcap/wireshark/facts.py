"""The plugin's facts, as lines of text: a kind, then its values, with tabs between them; an empty value is none.

```text
latpcap-facts  4                             what this is, and its version
capture        FIRST LAST                    between these times (ns since 1970) lie those of all packets
client         STREAM TEXT                   the driver and framework of a connection
note           FRAME SEVERITY TEXT           what limits the result, at the first packet that it is about
finding        KEY TEXT                      numbered from 1 in their order
range          FINDING STREAM FIRST LAST     packets that show it
text           TEXT                          of exchanges, numbered likewise
exchange       FRAME TIME STREAM …           (COLUMNS), in the order of `table exchanges`; texts by their numbers
```

An exchange stands at the packet that completes its request, as the comments of an annotated copy do. The plugin holds
the times against those of the packets, so that no other capture is shown with these facts. Texts come from captures:
they hold no control character, and thus no tab and no line's end, and the plugin takes them as data only. Lines of
exchanges are numbers alone, which Arrow writes column by column.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from arro3.core import Array, DataType
from arro3.core import Table as ArrowTable

from latpcap.capture import Capture
from latpcap.display import plain
from latpcap.findings import FindingResult, finding_results
from latpcap.findings.result import shown_ranges
from latpcap.projection.project import DEFAULT_LADDER_MS, headline_rtt_ms
from latpcap.report.text import printable
from latpcap.result.connections import client_of
from latpcap.tables.columnar.columns import Codes, codes, nullable, take
from latpcap.tables.columnar.table import ROWS_PER_WRITE, Table
from latpcap.wireshark.annotate import finding_text

FORMAT = ("latpcap-facts", 4)
COUNTS = ("response_frame", "response_end_frame", "round_trips", "rows", "retransmissions")
TIMES = ("service_ms", "client_ms", "loss_ms", "delta_ms", "response_ms")
TEXTS = ("command", "error", "statement")
COLUMNS = ("frame", "time", "stream", "exchange", "command", *COUNTS, *TIMES, "error", "statement")
"""The fields of an exchange."""
CLOCK_NOTES = {"clock-step", "clock-outlier", "clock-range"}
"""With these, times of exchanges are not those of the packets."""
MAX_TEXTS = 1 << 16

FindingFacts = tuple[str, FindingResult, Any]
"""A finding with the key that display filters call it by, and its ranges."""


def facts(capture: Capture, findings: Iterable[FindingFacts]) -> Iterator[str]:
    """Yield the lines; `findings` are those of the capture."""
    health = capture.measures.health
    is_timed = not CLOCK_NOTES & {note.code for note in health}
    told = headline_rtt_ms(DEFAULT_LADDER_MS, capture.measures.application.savings.base.baseline_ms)
    yield _line(*FORMAT)
    times = capture.captures[["first_time", "last_time"]].to_numpy().values()
    yield _line("capture", *(each.view(np.int64)[0] for each in times))
    yield from _clients(capture)
    yield from (_line("note", note.first_frame or 1, note.severity, note.message) for note in health)
    for number, (key, found, ranges) in enumerate(findings, start=1):
        yield _line("finding", key, finding_text(plain(found), told))
        for stream, first, last in zip(*(each.tolist() for each in ranges), strict=True):
            yield _line("range", number, stream, first, last)
    yield from _of_exchanges(capture.exchanges, is_timed=is_timed)


def _clients(capture: Capture) -> Iterator[str]:
    """The driver and framework of each connection that shows them."""
    columns = capture.connections[["stream", "driver", "driver_version", "framework"]]
    for stream, *names in zip(*(columns.column(name) for name in columns.column_names), strict=True):
        if client := client_of(*names):
            yield _line("client", stream, client)


def findings_of(capture: Capture) -> list[FindingFacts]:
    """The findings in the order of reports."""
    savings = capture.measures.application.savings
    told = headline_rtt_ms(DEFAULT_LADDER_MS, savings.base.baseline_ms)
    found = [*finding_results(savings, DEFAULT_LADDER_MS, told)]
    keys = keys_of([result.code for result, _ in found])
    ranges = (shown_ranges(savings.evidence, saving.finding) for _, saving in found)
    return [
        (key, result, (each.stream, each.first, each.last))
        for key, (result, _), each in zip(keys, found, ranges, strict=True)
    ]


def ports_of(capture: Capture) -> dict[str, set[int]]:
    """On which ports of servers each protocol was found."""
    connections = capture.recording.connections
    found: dict[str, set[int]] = {}
    for protocol, server in np.unique(np.stack((connections.protocol.codes, connections.server.codes)), axis=1).T:
        if protocol >= 0:
            port = int(connections.server.names[server].rpartition(":")[2])
            found.setdefault(connections.protocol.names[protocol], set()).add(port)
    return found


def keys_of(codes: list[str]) -> list[str]:
    """Return findings' keys: their code, with a number where there are several of it.

    >>> keys_of(["n+1", "aborted", "n+1"])
    ['n+1 1', 'aborted', 'n+1 2']
    """
    several, seen = Counter(codes), Counter[str]()
    keys = []
    for code in codes:
        seen[code] += 1
        keys.append(f"{code} {seen[code]}" if several[code] > 1 else code)
    return keys


def _of_exchanges(table: Table, *, is_timed: bool) -> Iterator[str]:
    ends = ("request_end_frame", "response_end_frame", "request_end_time", "response_end_time")
    rows = table[[*dict.fromkeys((*ends, *COLUMNS[2:]))]]
    texts = _NumberedTexts()
    for start in range(0, len(rows), ROWS_PER_WRITE):
        part = rows.slice(start, ROWS_PER_WRITE)
        texts.forget()
        coded = {name: codes(part.to_arrow(), name) for name in TEXTS}
        for each in coded.values():
            yield from texts.lines_of(each)
        yield _exchange_lines(part, {name: texts.numbers(each) for name, each in coded.items()}, is_timed=is_timed)


class _NumberedTexts:
    """The texts that were written, and their numbers."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._written = 0

    def lines_of(self, texts: Codes) -> Iterator[str]:
        """Yield the lines of those that are new."""
        for text in texts.names:
            if text not in self._numbers:
                self._written += 1
                self._numbers[text] = self._written
                yield _line("text", text)

    def numbers(self, texts: Codes) -> Array:
        """Return the number of each, null for none."""
        numbers = np.array([*(self._numbers[text] for text in texts.names), 0])[texts.codes]
        return nullable(numbers, numbers > 0)

    def forget(self) -> None:
        """Forget very many texts, for memory: one may then be written twice."""
        if len(self._numbers) > MAX_TEXTS:
            self._numbers.clear()


def _exchange_lines(part: Table, texts: dict[str, Array], *, is_timed: bool) -> str:
    """The exchanges that stand at a packet: that completes the request, or the last one of a response without."""
    from arro3.io import write_csv

    request, response = (part.column(f"{side}_end_frame").astype(float) for side in ("request", "response"))
    asked, answered = (part.column(f"{side}_end_time").view(np.int64) for side in ("request", "response"))
    at = np.where(np.isnan(request), response, request)
    shown = np.flatnonzero(~np.isnan(at))
    time = np.where(np.isnan(request), answered, asked)[shown]
    arrow = part.to_arrow()
    told: dict[str, Any] = {name: arrow.column(name).combine_chunks() for name in ("stream", "exchange", *COUNTS)}
    told |= {name: nullable(np.round(part.column(name), 6)) for name in TIMES} | texts
    told = {name: take(column, shown) for name, column in told.items()}
    told["frame"], told["time"] = nullable(at[shown].astype(np.int64)), nullable(time, np.full(len(shown), is_timed))
    kind = Array(["exchange"] * len(shown), DataType.string())
    buffer = io.BytesIO()
    columns = {"kind": kind, **{name: told[name] for name in COLUMNS}}
    write_csv(ArrowTable.from_pydict(columns), buffer, header=False, delimiter="\t")
    return buffer.getvalue().decode()


def _line(*values: object) -> str:
    return "\t".join(printable(str(value)) for value in values) + "\n"
