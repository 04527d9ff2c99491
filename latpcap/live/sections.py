"""A recording under way, cut into sections: what each test cost is told as soon as it is over.

Each section is read by itself, so all of them together cost what the recording costs: the file's head (interfaces,
notes) and the packets since the last cut. Connections that were open before go on in the middle of their stream; what
the first section of a port showed of its protocol is known from there on.

```text
file      head | packets | packets | packets …
sections  head + packets · head + packets · head + packets …
```
"""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

from msgspec import Struct

from latpcap import _core, protocols
from latpcap.capture import Capture
from latpcap.errors import NoDatabaseTraffic
from latpcap.live.recorder import Recorder
from latpcap.measures.routes import parse_tags, site_of
from latpcap.reading import read
from latpcap.units import MAX_MS

N_PLUS_ONE = "n+1"
MIN_LOOP_ROUND_TRIPS = 6
"""Round trips below which no statement is run for each row of another one."""
MAX_THINK_S = MAX_MS / 1000
"""Nobody thinks within a section: a loop continues after any pause of its client (a debugger, a busy machine)."""


class StatementCount(Struct, frozen=True):
    """A statement, or what else was asked (`authenticate`), and how often."""

    text: str
    executions: int
    round_trips: int
    sites: tuple[str, ...] = ()
    """The places in the code (file and line, route) that its comments name, those that sent most of it first."""


class Failure(Struct, frozen=True):
    """An error that the database answered with."""

    code: str
    message: str
    count: int


class SectionContents(Struct, frozen=True):
    """Contents of a section."""

    round_trips: int = 0
    statements: tuple[StatementCount, ...] = ()
    """Sorted by cost."""
    failures: tuple[Failure, ...] = ()
    loops: tuple[str, ...] = ()
    """The statements of each N+1."""
    unread: int = 0
    """Round trips of encrypted connections: what they asked, errors and loops among them are unknown."""

    @property
    def errors(self) -> int:
        """How often the database answered with an error."""
        return sum(failure.count for failure in self.failures)


class Sections:
    """The sections of what a recorder writes."""

    def __init__(self, recorder: Recorder, keylog: str | None = None) -> None:
        """`recorder` has been started, or will be before the first section is asked for.

        With the keys that clients log to `keylog`, encrypted sections are read, too. TLS numbers its records from the
        handshake on, so all that was recorded before is read with such a section.
        """
        self._recorder = recorder
        self._keylog = keylog
        self._head = b""
        self._done = 0
        self._known: dict[int, str] = {}

    def so_far(self) -> SectionContents:
        """Return what the section holds that has begun with the last cut."""
        return self._counted(self._new()[0])

    def cut(self) -> SectionContents:
        """Return the same; the next section begins here."""
        content, self._head, self._done = self._new()
        return self._counted(content)

    def _new(self) -> tuple[bytes, bytes, int]:
        """The section, and the head and the place that the next one begins with."""
        self._recorder.flush()
        with open(self._recorder.path, "rb") as file:
            file.seek(self._done)
            data = file.read()
        head, length = _core.whole_part(self._head, data)
        content = b"" if length == len(head) - len(self._head) else self._head + data[:length]
        return content, head, self._done + length

    def _counted(self, content: bytes) -> SectionContents:
        if not content:
            return SectionContents()
        capture = read(content, decode_as=self._known, think_s=MAX_THINK_S)
        try:
            counted = _of(capture)
        except NoDatabaseTraffic:
            return SectionContents()
        self._learn(capture)
        return self._opened(capture) if counted.unread and self._has_keys() else counted

    def _has_keys(self) -> bool:
        return self._keylog is not None and os.path.exists(self._keylog) and os.path.getsize(self._keylog) > 0

    def _opened(self, section: Capture) -> SectionContents:
        """Read the section with the keys."""
        begin = min(each.first_time for each in section.files if each.first_time)
        return _of(read(self._recorder.path, keylog=self._keylog, think_s=MAX_THINK_S).select(start=begin))

    def _learn(self, capture: Capture) -> None:
        """The next section of a connection begins in mid-stream, where its protocol may not show."""
        for row in capture.connections[["server", "protocol", "timing_only"]]:
            port = int(str(row["server"]).rpartition(":")[2])
            is_read = row["protocol"] in protocols.NAMES and not row["timing_only"]
            self._known.setdefault(port, str(row["protocol"]) if is_read else "opaque")


def _of(capture: Capture) -> SectionContents:
    sites = _sites(capture)
    ran = [
        StatementCount(str(row["text"]), int(row["executions"]), int(row["round_trips"]), sites.get(row["text"], ()))
        for row in capture.statements[["text", "executions", "round_trips"]]
    ]
    round_trips = sum(each.round_trips for each in ran)
    hidden = sum(
        int(row["round_trips"]) for row in capture.connections[["timing_only", "round_trips"]] if row["timing_only"]
    )
    loops = capture.findings[["code", "statement"]] if round_trips >= MIN_LOOP_ROUND_TRIPS else ()
    return SectionContents(
        round_trips,
        tuple(sorted(ran, key=lambda each: (-each.round_trips, each.text))),
        tuple(
            Failure(str(row["code"]), str(row["message"]), int(row["count"]))
            for row in capture.errors
            if row["kind"] != "connection"
        ),
        tuple(str(row["statement"]) for row in loops if row["code"] == N_PLUS_ONE),
        hidden,
    )


def _sites(capture: Capture) -> dict[Any, tuple[str, ...]]:
    """The places in the code that the comments of each statement name."""
    named = {text: site_of(parse_tags(text)) for text in capture.recording.tag_texts}
    if not any(named.values()):
        return {}
    counts: dict[Any, Counter[str]] = {}
    for row in capture.exchanges[["fingerprint", "tags"]]:
        if site := named.get(str(row["tags"])):
            counts.setdefault(row["fingerprint"], Counter())[site] += 1
    return {text: tuple(site for site, _ in sites.most_common()) for text, sites in counts.items()}
