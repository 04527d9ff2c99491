"""`Selection`: which connections, and which time, of a recording somebody asks for.

What is given for one option is alternatives (*or*), different options must all hold (*and*); `!` before a value leaves
out what it names. Names are as the database has them, with `*`, `?` and `[abc]` as in a shell; streams, addresses and
times: docs/tables.md.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import accumulate
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from latpcap.errors import UsageError
from latpcap.tables.columnar.columns import Bools
from latpcap.tables.part.endpoints import Endpoints
from latpcap.tables.part.time_bounds import Moment, moment, written

STREAMS = re.compile(r"(\d{1,10})(?:\s*(?:-|\.\.)\s*(\d{1,10}))?")


class ValuePattern(Struct, frozen=True):
    """One value of an option."""

    text: str
    """As it was given, without the `!`."""
    negated: bool
    matches: Callable[[str], bool]


class Condition(Struct, frozen=True):
    """The condition of one option on a connection."""

    name: str
    patterns: tuple[ValuePattern, ...]

    def holds(self, hits: Sequence[Bools]) -> Bools:
        """For each connection: what is hit by one that was asked for, and by none that is left out.

        `hits` says of each pattern which connections it names; one without a name is hit by none.
        """
        asked = [hit for pattern, hit in zip(self.patterns, hits, strict=True) if not pattern.negated]
        left_out = [hit for pattern, hit in zip(self.patterns, hits, strict=True) if pattern.negated]
        named = np.logical_or.reduce(asked) if asked else np.ones(len(hits[0]), bool)
        holds: Bools = named & ~np.logical_or.reduce(left_out) if left_out else named
        return holds


class Selected(Struct, frozen=True):
    """The selection in the words in which it is shown, and how much of the captures it is."""

    conditions: tuple[str, ...]
    """All of them hold: `user app or batch`, `server 10.0.0.5:3306`, `from 14:05`."""
    start: str | None
    """The window in UTC, where there is one, as far as the selected connections reach."""
    end: str | None
    connections: int
    total_connections: int
    exchanges: int
    total_exchanges: int
    part: str
    """How much that is: `3 of 16 connections, 120 of 900 exchanges`."""
    text: str
    """All of it in one line."""


class Selection(Struct, frozen=True):
    """Conditions as they were given; empty ones hold for everything."""

    stream: tuple[str, ...] = ()
    client: tuple[str, ...] = ()
    server: tuple[str, ...] = ()
    user: tuple[str, ...] = ()
    database: tuple[str, ...] = ()
    application: tuple[str, ...] = ()
    protocol: tuple[str, ...] = ()
    start: str | None = None
    end: str | None = None

    @classmethod
    def of(cls, **given: Any) -> Selection:
        """Take texts, numbers or several of these for each condition; raises `UsageError` where one cannot be read."""
        known = set(cls.__struct_fields__)
        if unknown := sorted(given.keys() - known):
            raise UsageError(f"nothing is selected by `{unknown[0]}`: there are {', '.join(sorted(known))}")
        start, end = (None if given.get(name) is None else written(given[name]) for name in ("start", "end"))
        conditions = {name: tuple(_texts(given[name])) for name in PARSERS if given.get(name) is not None}
        selection = replace(cls(start=start, end=end), **conditions)
        _ = [*selection.conditions, selection.first, selection.last]  # what cannot be read is refused here
        return selection

    def __bool__(self) -> bool:
        return any(getattr(self, name) for name in self.__struct_fields__)

    @property
    def conditions(self) -> Iterator[Condition]:
        """Conditions on connections."""
        for name, parse in PARSERS.items():
            if given := getattr(self, name):
                texts = _joined(given) if name == "stream" else given
                yield Condition(name, tuple(_pattern(text, parse) for text in texts))

    @property
    def first(self) -> Moment | None:
        """From when on."""
        return None if self.start is None else moment(self.start)

    @property
    def last(self) -> Moment | None:
        """Until when."""
        return None if self.end is None else moment(self.end)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str | int):
        yield str(value)
    elif isinstance(value, Iterable):
        for each in value:
            yield from _texts(each)
    else:
        raise UsageError(f"{value!r} selects nothing: give a text, a number or several of these")


def _joined(streams: Sequence[str]) -> Iterator[str]:
    """Join the streams asked for, and those left out: a thousand numbers cost no more than one."""
    asked = [text for text in streams if not text.startswith("!")]
    left_out = [text.removeprefix("!") for text in streams if text.startswith("!")]
    if asked:
        yield ",".join(asked)
    if left_out:
        yield "!" + ",".join(left_out)


def _pattern(text: str, parse: Callable[[str], Callable[[str], bool]]) -> ValuePattern:
    negated = text.startswith("!")
    bare = text.removeprefix("!").strip()
    if not bare:
        raise UsageError("an empty text selects nothing: give a name, or leave out the option")
    return ValuePattern(bare, negated, parse(bare))


def _streams(text: str) -> Callable[[str], bool]:
    """`0,3-5`."""
    ranges = []
    for part in text.split(","):
        found = STREAMS.fullmatch(part.strip())
        if not found or int(found[2] or found[1]) < int(found[1]):
            raise UsageError(f"`{text}` are not streams: write Wireshark's numbers (tcp.stream) as 0,3-5")
        ranges.append((int(found[1]), int(found[2] or found[1])))
    ranges.sort()
    lows, reach = [low for low, _ in ranges], list(accumulate((high for _, high in ranges), max))

    def matches(stream: str) -> bool:
        at = bisect_right(lows, int(stream))
        return at > 0 and int(stream) <= reach[at - 1]

    return matches


def _name(text: str) -> Callable[[str], bool]:
    if not any(sign in text for sign in "*?["):
        return text.__eq__
    return lambda name: name == text or fnmatchcase(name, text)


def _endpoint(text: str) -> Callable[[str], bool]:
    return Endpoints.of(text).matches


PARSERS: dict[str, Callable[[str], Callable[[str], bool]]] = {
    "stream": _streams,
    "client": _endpoint,
    "server": _endpoint,
    "user": _name,
    "database": _name,
    "application": _name,
    "protocol": _name,
}
"""How each condition's values are read: into a question about a connection's stream, endpoint or name."""
