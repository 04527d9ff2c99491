"""A capture's statements beside those that its server counted, by their text."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from servers import SectionContents

import latpcap

TOKEN = re.compile(r"'(?:[^'\\]|\\.|'')*'|\$\d+|\d+(?:\.\d+)?|[\w@]+|\S")
LITERAL = re.compile(r"'.*'|\$?\d.*", re.DOTALL)
LIST = re.compile(r"\( (?:\?|\. \. \.) (?:, (?:\?|\. \. \.) )*\)")


@dataclass
class WatchedSoFar:
    """What a capture shows of one statement."""

    runs: int = 0
    service_ms: float = 0.0
    """Of its runs."""
    spread_ms: float = 0.0
    """From the first to the last packet of their responses."""
    beside: Counter[str] = field(default_factory=Counter)
    """Commands that belong to it without running it: prepares, fetches, …"""
    beside_ms: float = 0.0

    def add(self, row: dict[str, Any]) -> None:
        """One exchange that runs it."""
        self.runs += 1
        self.service_ms += row["service_ms"] or 0.0
        self.spread_ms += row["response_spread_ms"] or 0.0


@dataclass(frozen=True)
class Row:
    """One statement or command: what the capture shows, and what the server counted; either may be missing."""

    text: str
    seen: WatchedSoFar | None
    counted: SectionContents | None


def normal(text: str) -> str:
    """The text of a statement as either side writes it: without quotes of names, literals, case and blanks.

    >>> normal("SELECT `salary` FROM `pay` WHERE `emp` = ? ")
    'select salary from pay where emp = ?'
    >>> normal('select salary from "pay" where emp=$1 and id in ($2,$3)')
    'select salary from pay where emp = ? and id in ( ? )'
    """
    words = TOKEN.findall(re.sub(r"[`\"]", "", text).strip().rstrip(";").lower())
    return LIST.sub("( ? )", " ".join("?" if LITERAL.fullmatch(word) else word for word in words))


def seen(capture: latpcap.Capture) -> dict[str, WatchedSoFar]:
    """What the capture shows of each statement."""
    found: dict[str, WatchedSoFar] = defaultdict(WatchedSoFar)
    for row in capture.exchanges.to_dicts():
        if row["statement"] is None:
            continue
        statement = found[normal(row["statement"])]
        if row["purpose"] == "execute":
            statement.add(row)
        else:
            statement.beside[row["command"]] += 1
            statement.beside_ms += row["service_ms"] or 0.0
    return dict(found)


def seen_commands(capture: latpcap.Capture) -> dict[str, WatchedSoFar]:
    """What the capture shows of each command."""
    found: dict[str, WatchedSoFar] = defaultdict(WatchedSoFar)
    for row in capture.exchanges.to_dicts():
        found[row["command"]].add(row)
    return dict(found)


def counted(statements: Sequence[SectionContents]) -> dict[str, SectionContents]:
    """What the server counted, by normal text: a server may count one text more than once."""
    sums: dict[str, SectionContents] = {}
    for each in statements:
        text = normal(each.text)
        before = sums.get(text, SectionContents(text, 0, 0.0))
        sums[text] = SectionContents(text, before.runs + each.runs, before.service_ms + each.service_ms)
    return sums


def join(
    capture: latpcap.Capture, statements: Sequence[SectionContents], commands: Sequence[SectionContents] = ()
) -> Iterator[Row]:
    """Every statement of either side, the longest first, then the commands that the server counted."""
    ours, theirs = seen(capture), counted(statements)
    rows = [Row(text, ours.get(text), theirs.get(text)) for text in ours | theirs]
    yield from sorted(rows, key=_longest, reverse=True)
    by_command = seen_commands(capture)
    yield from (Row(f"all {each.text}", by_command.get(each.text), each) for each in commands)


def _longest(row: Row) -> float:
    return max(row.counted.service_ms if row.counted else 0.0, row.seen.service_ms if row.seen else 0.0)
