"""Statements as two programs print them, made comparable; and how a difference names one without showing it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TypeVar

HIDDEN = "latpcap shows no secret: all else of the statement is the same"
CUT = "the snap length cut the packet: Wireshark shows nothing of a message that it cannot see whole"
UNASKED = "the capture begins behind what it answers: latpcap pairs no answer without its request"
HOLE = "the capture misses packets of the connection: Wireshark loses its place in the stream"

Own = TypeVar("Own")
Other = TypeVar("Other")

MAX_COMPARED_CHARS = 30_000
"""Characters of a statement that are compared: of long ones both programs keep only the beginning."""

ESCAPED = re.compile(r"\\(?:[abefnrtv\\]|x[0-9a-fA-F]{2}|[0-7]{3})")
"""How tshark writes what is not printable."""
MASKED = re.compile(r"\*\*\*|\?\+?|(?<=\))\+")
"""The text in place of a secret, and of the literals of a statement that speaks of one."""
COMMENT = re.compile(r"/\*.*?\*/|\s+")
MAX_TAIL_CHARS = 20
"""Characters behind a statement that are compared if its end is not."""
NOT_PLAIN = re.compile(r"[^!-~]+")


def comparable(statement: str) -> str:
    r"""Return `statement` with one blank for whatever is not printable ASCII, however it was written.

    >>> comparable("select\n 'é'"), comparable(r"select\n '\xe9'")
    ("select ' '", "select ' '")
    """
    return NOT_PLAIN.sub(" ", ESCAPED.sub(" ", statement[: 2 * MAX_COMPARED_CHARS])).strip()[:MAX_COMPARED_CHARS]


def is_shown_in_part(statement: str, shown: str) -> bool:
    r"""Does `shown` end where something that is no text begins in `statement`? For Wireshark a NUL ends a text.

    >>> is_shown_in_part("select 'a\N{REPLACEMENT CHARACTER}b'", "select 'a"), is_shown_in_part("select 12", "select 1")
    (True, False)
    """
    whole, part = comparable(statement), comparable(shown)
    begins = whole.startswith(part) and whole[len(part) : len(part) + 1] in ("", " ")
    return begins and "\N{REPLACEMENT CHARACTER}" in statement


def is_masked(statement: str, shown: str) -> bool:
    """Whether `statement` is what Wireshark shows but for secrets, which latpcap never shows.

    >>> is_masked("set password = '***', a = 1", "set password = 'x', a = 1"), is_masked("select '***'", "select 1")
    (True, False)
    """
    first, *others = MASKED.split(_words(statement))
    rest = _words(shown)
    if not others or not rest.startswith(first):
        return False
    rest = rest[len(first) :]
    *between, last = others
    for part in between:
        found = rest.find(part)
        if found < 0:
            return False
        rest = rest[found + len(part) :]
    is_cut = max(len(comparable(statement)), len(comparable(shown))) >= MAX_COMPARED_CHARS
    return rest.endswith(last) or (is_cut and last[:MAX_TAIL_CHARS] in rest)


def _words(statement: str) -> str:
    """Return a statement as a fingerprint has it, but for literals."""
    return COMMENT.sub("", comparable(statement)).lower().rstrip(";")


def described(statement: str, length: int | None = None) -> str:
    """A statement without its literals, which stay private: its first word and length.

    >>> described("select * from t where id = 7")
    'a `select` of 28 characters'
    """
    word = re.match(r"\W*([A-Za-z]{1,12})", statement)
    return f"a `{word[1].lower() if word else '?'}` of {length or len(statement):,} characters"


def paired(
    own: Iterable[tuple[int, str, Own]], others: Iterable[tuple[int, str, Other]]
) -> tuple[list[Own], list[Other], int]:
    """Pair statements of the same stream and text; return what is left on each side, and how many pairs there are."""
    waiting: dict[tuple[int, str], list[Own]] = {}
    for stream, text, thing in own:
        waiting.setdefault((stream, comparable(text)), []).append(thing)
    pairs, left = 0, []
    for stream, text, other in others:
        same = waiting.get((stream, comparable(text)))
        if same:
            same.pop()
            pairs += 1
        else:
            left.append(other)
    return [thing for things in waiting.values() for thing in things], left, pairs
