"""The result as Markdown, to paste into a ticket or a mail: GitHub's flavour, and readable as it stands.

Statements stand in code spans. What else a capture contains stays as it is but where it would become a link, an image,
HTML, a mention or another column: addresses and mentions then stand in code spans, too, and a character that means
something where it stands is written as an entity. There are no backslashes, which people read who see the source.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from latpcap.report.section import Column, Entry, Labelled, Section, SectionPart, SectionTable, Sentence, written
from latpcap.report.sections import report
from latpcap.report.sections.both import both
from latpcap.report.text import printable
from latpcap.result.analysis import Analysis
from latpcap.result.checks.gates import Gates
from latpcap.result.pairs.before_after import BeforeAfter

MAX_STATEMENT = 300

CODE = re.compile(
    r"""
    (?: `[^`]+`                                # our own sentences have code in them
    | (?:https?|ftp):// [^\s`]+ | www\. [^\s`]+ | (?:mailto|xmpp): [^\s`]+
    | [^\s@`]{1,64} @ [^\s@`]{1,255}
    | (?<!\w) @ \w [\w/-]*
    | (?<![\w&]) \# \d+ )+
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""Text to write as code: code, and what GitHub makes links of: addresses, people and issues."""
ACTIVE = re.compile(
    r"""
    [`\[|~$]                               # code, links, images and footnotes, cells, what is struck out, formulas
    | \\ (?=[!-/:-@\[-`{-~]|$)             # an escape
    | \* (?!\s) | (?<=\S) \*              # emphasis
    | (?<![^\W_]) _ | _ (?![^\W_])        # likewise: not within a word
    | < (?=[A-Za-z/!?])                   # HTML
    | & (?=\#|\w+;)                       # an entity
    | ^ (?:[-+>\#=:] | \*)                # a list, a quotation, a heading
    | ^ \d{1,9} [.)] (?=\s|$)             # a numbered list
    """,
    re.VERBOSE,
)
"""Text that means something in GitHub's Markdown where it stands (CommonMark 0.31, GFM 0.29)."""


def render(result: Analysis, gates: Gates | None = None) -> str:
    """Return the result as Markdown, and what became of the gates."""
    return document(report(result, gates))


def render_both(result: BeforeAfter, gates: Gates | None = None) -> str:
    """Return two captures of one job as Markdown."""
    return document(both(result, gates))


def document(parts: Iterable[Section]) -> str:
    """Return sections as a document."""
    return "\n\n".join(block for section in parts for block in _blocks(section)) + "\n"


# --- sections -------------------------------------------------------------------------------------------------------


def _blocks(section: Section) -> Iterator[str]:
    """The heading and the parts; entries that follow each other are one list."""
    blocks = [
        "\n".join(map(_drawn, group)) if is_list else "\n\n".join(filter(None, map(_drawn, group)))
        for is_list, group in groupby(section.parts, lambda part: isinstance(part, Entry))
    ]
    if section.title and (any(blocks) or section.level == 1):
        yield f"{'#' * section.level} {text_of(section.title)}"
    yield from filter(None, blocks)


def _drawn(part: SectionPart) -> str:
    """A part as it stands by itself; bars and lines say nothing that their tables do not."""
    match part:
        case Sentence(text, tone):
            said = text_of(text)
            return f"**{said}**" if tone == "strong" else f"### {said}" if tone == "head" else said
        case Labelled(label, text, is_code):
            said = code_of(text) if is_code else text_of(text)
            return f"**{text_of(label)}** {said}" if label else said
        case Entry():
            return "\n".join(_entry(part))
        case SectionTable():
            return "\n".join(_table(part.filled(lambda column: column.kind != "key")))
    return ""


def _entry(entry: Entry) -> Iterator[str]:
    lead = f"{text_of(entry.lead)}: " if entry.lead else ""
    code = f" ({text_of(entry.code)})" if entry.code else ""
    yield f"- {lead}{text_of(entry.text)}{code}"
    for line in entry.lines:
        text = code_of(line.text) if line.kind in ("code", "copied") else text_of(line.text)
        yield f"  - {f'{line.name}: ' if line.name else ''}{text}"


def _table(part: SectionTable) -> Iterator[str]:
    rows = [*part.rows, *([] if part.foot is None else [part.foot])]
    left = [place for place, column in enumerate(part.columns) if column.is_text]
    cells = ([_cell(column, value) for column, value in zip(part.columns, row, strict=True)] for row in rows)
    yield f"| {' | '.join(column.full or column.title for column in part.columns)} |"
    yield f"|{'|'.join('---' if column in left else '---:' for column in range(len(part.columns)))}|"
    yield from (f"| {' | '.join(row)} |" for row in cells)


def _cell(column: Column, value: Any) -> str:
    if column.kind == "code" and isinstance(value, str):
        return cell_of(value) if value else ""
    text = written(column, value)
    return f"+{text_of(text[1:])}" if text.startswith("+") and not column.is_text else text_of(text)


# --- Markdown -------------------------------------------------------------------------------------------------------


def text_of(text: str | None) -> str:
    """Return `text` as plain Markdown text: it shows as it is, and does nothing.

    >>> text_of("<b> a_b | [x](y), 3 < 4: see `IN (…)`")
    '&lt;b> a_b &#124; &#91;x](y), 3 < 4: see `IN (…)`'
    >>> text_of("ask @ann of www.example.org")
    'ask `@ann` of `www.example.org`'
    """
    line, said, at = printable(text).strip(), [], 0
    for found in CODE.finditer(line):
        said += [_inert(line, at, found.start()), _in_cell(re.sub("`([^`]+)`", r"\1", found[0]))]
        at = found.end()
    return "".join((*said, _inert(line, at, len(line))))


def _inert(line: str, at: int, end: int) -> str:
    parts = []
    for found in ACTIVE.finditer(line, at, end):
        before, special = found[0][:-1], found[0][-1]
        parts += [line[at : found.start()], before, ENTITIES.get(special, f"&#{ord(special)};")]
        at = found.end()
    return "".join((*parts, line[at:end]))


ENTITIES = {"<": "&lt;", ">": "&gt;", "&": "&amp;"}


def code_of(text: str) -> str:
    """Return `text` as a code span.

    >>> code_of("select `a`")
    '`` select `a` ``'
    """
    return _span(printable(text).strip())


def _span(line: str) -> str:
    fence = "`" * (max(map(len, re.findall("`+", line)), default=0) + 1)
    is_padded = line.startswith(" ") and line.endswith(" ") and line.strip(" ")
    space = " " if line.startswith("`") or line.endswith("`") or is_padded or not line else ""
    return f"{fence}{space}{line}{space}{fence}"


def _in_cell(code: str) -> str:
    """A code span that fits into a cell: bars would end that, and stand between spans."""
    return "".join(
        BAR * len(part) if part.startswith("|") else _span(part) for part in re.split(r"(\|+)", code) if part
    )


BAR = "&#124;"


def cell_of(statement: str) -> str:
    """Return a statement as a code span that fits into a cell: cut, and no bar of it ends the cell.

    >>> cell_of("select a || b")
    '`select a `&#124;&#124;` b`'
    """
    cut = statement if len(statement) <= MAX_STATEMENT else f"{statement[:MAX_STATEMENT]}…"
    return _in_cell(printable(cut).strip())
