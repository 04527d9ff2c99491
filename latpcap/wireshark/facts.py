"""What the plugin shows, as lines of text: a kind, then its values, with tabs between them; an empty value is none.

```text
latpcap-facts  1                             what this is, and its version
capture        FIRST LAST                    between these times lie those of all packets
note           SEVERITY TEXT                 what limits the result
finding        KEY TEXT                      numbered from 1 in their order
range          FINDING STREAM FIRST LAST     packets that show it
statement      TEXT                          numbered likewise
exchange       FRAME TIME STREAM …           (COLUMNS), in the order of `latpcap exchanges`
```

An exchange stands at the packet that completes its request, as the comments of `latpcap annotate` do. The plugin holds
the times against those of the packets, so that no other capture is shown with these facts. Texts come from captures:
they hold no control character, and thus no tab and no line's end, and the plugin takes them as data only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import numpy as np

from latpcap.capture import Capture
from latpcap.display import plain
from latpcap.findings import FindingResult, finding_results
from latpcap.findings.result import shown_ranges
from latpcap.projection.project import DEFAULT_LADDER_MS, told_rtt_ms
from latpcap.report.text import printable
from latpcap.tables.columnar.table import Table
from latpcap.wireshark.annotate import finding_text

FORMAT = ("latpcap-facts", 1)
COUNTS = ("response_frame", "response_end_frame", "round_trips", "rows", "retransmissions")
TIMES = ("service_ms", "client_ms", "loss_ms", "delta_ms", "response_ms")
NAMES = ("stream", "exchange", "command", *COUNTS, *TIMES, "error")
COLUMNS = ("frame", "time", *NAMES, "statement")
"""What is told of an exchange; the statement by its number."""
CLOCK_NOTES = {"clock-step", "clock-outlier"}
"""With these, times of exchanges are not those of the packets."""
ROWS_AT_ONCE = 4_096
KNOWN_STATEMENTS = 1 << 16
"""Of more, one may be written twice: their texts could take more memory than there is."""

FindingFacts = tuple[str, FindingResult, Any]
"""A finding with the key that display filters call it by, and its ranges."""


def facts(capture: Capture, findings: Iterable[FindingFacts]) -> Iterator[str]:
    """Yield the lines; `findings` are those of the capture."""
    health = capture.measures.health
    is_timed = not CLOCK_NOTES & {note.code for note in health}
    told = told_rtt_ms(DEFAULT_LADDER_MS, capture.measures.application.savings.base.baseline_ms)
    yield _line(*FORMAT)
    times = capture.captures[["first_time", "last_time"]].to_numpy().values()
    yield _line("capture", *(_seconds(each.view(np.int64)[0]) for each in times))
    yield from (_line("note", note.severity, note.message) for note in health)
    for number, (key, found, ranges) in enumerate(findings, start=1):
        yield _line("finding", key, finding_text(plain(found), told))
        for stream, first, last in zip(*(each.tolist() for each in ranges), strict=True):
            yield _line("range", number, stream, first, last)
    yield from _of_exchanges(capture.exchanges, is_timed=is_timed)


def findings_of(capture: Capture) -> list[FindingFacts]:
    """The findings in the order of reports."""
    savings = capture.measures.application.savings
    told = told_rtt_ms(DEFAULT_LADDER_MS, savings.base.baseline_ms)
    found = [*finding_results(savings, DEFAULT_LADDER_MS, told)]
    keys = keys_of([result.code for result, _ in found])
    ranges = (shown_ranges(savings.evidence, saving.finding) for _, saving in found)
    return [
        (key, result, (each.stream, each.first, each.last))
        for key, (result, _), each in zip(keys, found, ranges, strict=True)
    ]


def keys_of(codes: list[str]) -> list[str]:
    """What tells findings apart: their code, with a number where there are several of it.

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
    rows = table[[*dict.fromkeys((*ends, *NAMES, "statement"))]]
    known: dict[str, int] = {}
    written = 0
    for start in range(0, len(rows), ROWS_AT_ONCE):
        part = rows.slice(start, ROWS_AT_ONCE)
        frames, times = _places(part)
        values = [_texts(part, name) for name in NAMES]
        for frame, time, statement, *row in zip(frames, times, part.column("statement"), *values, strict=True):
            if not frame:
                continue
            if statement and statement not in known:
                if len(known) == KNOWN_STATEMENTS:
                    known.clear()
                known[statement] = written = written + 1
                yield _line("statement", statement)
            yield _line("exchange", frame, time if is_timed else "", *row, known.get(statement, ""))


def _places(part: Table) -> tuple[list[str], list[str]]:
    """The packet that completes each request, or the last one of a response without; and the packet's time."""
    request, response = (part.column(f"{side}_end_frame").astype(float) for side in ("request", "response"))
    asked, answered = (part.column(f"{side}_end_time").view(np.int64) for side in ("request", "response"))
    times = np.where(np.isnan(request), answered, asked)
    frames = np.where(np.isnan(request), response, request).tolist()
    return [f"{frame:.0f}" if frame == frame else "" for frame in frames], [*map(_seconds, times.tolist())]


def _texts(part: Table, name: str) -> list[str]:
    values = part.column(name).tolist()
    if name in TIMES:
        return [repr(round(value, 6)) if value == value else "" for value in values]
    if values and isinstance(values[0], float):
        return [f"{value:.0f}" if value == value else "" for value in values]
    return ["" if value is None else str(value) for value in values]


def _seconds(time_ns: int) -> str:
    """A moment in seconds since 1970, to the nanosecond.

    >>> _seconds(1_700_000_000_000_000_001), _seconds(-1)
    ('1700000000.000000001', '-0.000000001')
    """
    seconds, ns = divmod(abs(int(time_ns)), 10**9)
    return f"{'-' if time_ns < 0 else ''}{seconds}.{ns:09}"


def _line(*values: object) -> str:
    return "\t".join(chain(printable(str(value)) for value in values)) + "\n"
