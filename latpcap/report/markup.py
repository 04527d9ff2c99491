"""Any section as HTML, for a page and for a notebook: whatever a capture contains is escaped.

What moves on a page, `assets/*.js` finds by the names of sections, lines (`data-line`) and columns (`data-name`). A
figure that is drawn there has an empty element to stand in.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from latpcap.report.section import (
    Bar,
    Chart,
    Column,
    Drawn,
    Entry,
    Labelled,
    Line,
    Piece,
    Row,
    Section,
    SectionPart,
    SectionTable,
    Sentence,
    written,
)
from latpcap.report.text import printable
from latpcap.units import percent

MAX_TEXT_CHARS = 4000
"""Characters of one text."""
MAX_UNFOLDED_CHARS = 140
"""Longer code is folded."""
LONG_CELLS = 20
"""A column of at least this many cells is long."""
ADDRESS = re.compile(
    r"(?<![\w.])(?:\[[0-9a-fA-F:.]{2,45}\]|(?=[\w-]*[A-Za-z.])[\w.-]{1,60}):\d{1,5}(?!\w)|\b(?:\d{1,3}\.){3}\d{1,3}\b"
)
TONES = {"strong": "strong", "quiet": "note", "missing": "missing"}


def fragment(section: Section, *, whole: bool = False) -> str:
    """Return a section; where it is not `whole`, without what needs room."""
    if not section.parts:
        return ""
    title = f"<h4>{text_of(section.title)}</h4>" if section.title else ""
    return title + parts_of(section.parts, whole=whole)


def parts_of(parts: Iterable[SectionPart], *, whole: bool = False) -> str:
    """Return parts one after the other; entries that follow each other are one list."""
    shown = parts if whole else map(_short, filter(_is_short, parts))
    return "\n".join(
        f'<ul class="entries">{"".join(map(_html, group))}</ul>' if is_list else "\n".join(map(_html, group))
        for is_list, group in groupby(shown, lambda part: isinstance(part, Entry))
    )


def _is_short(part: SectionPart) -> bool:
    """It needs neither room nor the page's style and scripts."""
    return not isinstance(part, Bar | Chart | Drawn) and not getattr(part, "detail", False)


def text_of(text: str | None) -> str:
    """Return a text, inert: what stands between `backticks` is code, and addresses are not broken.

    >>> text_of("see `IN (…)` of <10.0.0.1:5432>")
    'see <code>IN (…)</code> of &lt;<span class="address">10.0.0.1:5432</span>&gt;'
    """
    pieces = _cut(text).split("`")
    if len(pieces) % 2 == 0:  # one of them is no pair
        pieces[-2:] = ["`".join(pieces[-2:])]
    return "".join(f"<code>{html.escape(each)}</code>" if at % 2 else _plain(each) for at, each in enumerate(pieces))


def _plain(text: str) -> str:
    said, at = "", 0
    for found in ADDRESS.finditer(text):
        said += f'{html.escape(text[at : found.start()])}<span class="address">{html.escape(found[0])}</span>'
        at = found.end()
    return said + html.escape(text[at:])


def _cut(text: str | None) -> str:
    said = printable(text)
    return said if len(said) <= MAX_TEXT_CHARS else f"{said[: MAX_TEXT_CHARS - 1]}…"


def _short(part: SectionPart) -> SectionPart:
    """A part without those columns that need room or the page's style."""
    return (
        part.filled(lambda column: not column.detail and column.kind != "key")
        if isinstance(part, SectionTable)
        else part
    )


def _html(part: SectionPart) -> str:
    match part:
        case Sentence():
            return _sentence(part)
        case Labelled():
            return _labelled(part)
        case Entry():
            return _entry(part)
        case SectionTable():
            return _table(part)
        case Bar():
            return _bar(part)
        case Chart() | Drawn():
            return f'<figure class="plot" id="{part.name}-figure"></figure>'
    raise TypeError(f"{type(part).__name__} is no part of a section")


def _sentence(part: Sentence) -> str:
    if part.tone == "head":
        return f"<h3>{text_of(part.text)}</h3>"
    kind = TONES.get(part.tone)
    return f'<p class="{kind}">{text_of(part.text)}</p>' if kind else f"<p>{text_of(part.text)}</p>"


def _labelled(part: Labelled) -> str:
    label = f"<b>{text_of(part.label)}</b> " if part.label else ""
    text = f"<code>{html.escape(_cut(part.text))}</code>" if part.is_code else text_of(part.text)
    return f'<p class="{"labelled" if label else "further"}">{label}{text}</p>'


def _entry(part: Entry) -> str:
    tone = f' class="tone-{html.escape(part.tone)}"' if part.tone else ""
    lead = f"<strong>{text_of(part.lead)}:</strong> " if part.lead else ""
    code = f' <span class="code">{html.escape(printable(part.code))}</span>' if part.code else ""
    return f"<li{tone}>{lead}{text_of(part.text)}{code}{''.join(map(_line, part.lines))}</li>"


def _line(line: Line) -> str:
    copied = f' data-copy="{html.escape(printable(line.whole))}"' if line.whole else ""
    name = f' data-line="{line.key}"' if line.key else ""
    if line.kind in ("code", "copied"):
        told = f' tabindex="0" aria-label="{html.escape(line.name)}"{copied}'
        return f'<pre class="sql"{told}>{html.escape(_cut(line.text))}</pre>'
    said = f"{line.name}: " if line.name else ""
    kind = "second quiet" if line.kind == "quiet" else "second"
    return f'<span class="{kind}"{name}>{html.escape(said)}{text_of(line.text)}</span>'


# --- figures ----------------------------------------------------------------------------------------------------------


def _bar(part: Bar) -> str:
    """As SVG, whose lengths are attributes: the page's policy allows no style that is not its own."""
    shares = [(piece, percent(piece.share)) for piece in part.pieces]
    words = ", ".join(f"{piece.title} {share}" for piece, share in shares)
    keys = "".join(f"{_swatch(piece)} {html.escape(piece.title)} {share}" for piece, share in shares)
    label = html.escape(f"{part.title}: {words}" if part.title else words)
    title = f'<span class="bar-title">{text_of(part.title)} <small>{keys}</small></span>'
    return f'<div class="bar-row">{title}<svg class="bar" role="img" aria-label="{label}">{_pieces(part)}</svg></div>'


def _swatch(piece: Piece) -> str:
    return f'<span class="swatch part-{piece.name}" data-part="{piece.name}"></span>'


def _pieces(bar: Bar) -> str:
    drawn, at = "", 0.0
    for piece in bar.pieces:
        wide = 100 * piece.share * bar.width
        drawn += f'<rect class="part-{piece.name}" x="{at:.3f}%" width="{wide:.3f}%" height="100%"/>'
        at += wide
    return drawn


# --- tables -----------------------------------------------------------------------------------------------------------

Place = tuple[int, Column, tuple[tuple[int, Column], ...]]
"""A column with its place in the rows, and those that stand in its cells, too."""


def _table(part: SectionTable) -> str:
    table = part.filled()
    places = list(_places(table.columns))
    head = "".join(f"<th{_head(column, more)}>{html.escape(_title(column))}</th>" for _, column, more in places)
    body = "".join(f"<tr>{_row(places, row)}</tr>" for row in table.rows)
    foot = "" if table.foot is None else f"<tfoot><tr>{_row(places, table.foot)}</tr></tfoot>"
    label = f' aria-label="{html.escape(printable(part.caption))}"' if part.caption else ""
    drawn = f"<table{label}><thead><tr>{head}</tr></thead><tbody>{body}</tbody>{foot}</table>"
    return f'<div class="scroller">{drawn}</div>'


def _places(columns: Sequence[Column]) -> Iterator[Place]:
    """Yield columns, the row's name first, each with those that belong in its cell: below it, or as its colour."""
    beside: list[Place] = []
    for at, column in enumerate(columns):
        if beside and (column.below or column.kind == "key"):
            place, first, more = beside[-1]
            beside[-1] = (place, first, (*more, (at, column)))
        else:
            beside.append((at, column, ()))
    yield from sorted(beside, key=lambda each: not each[1].heads)


def _title(column: Column) -> str:
    return column.full or column.title


def _head(column: Column, more: Sequence[tuple[int, Column]]) -> str:
    name = f' data-name="{column.name}"' if column.name else ""
    spare = (
        f' data-spare="{1 + (not column.detail)}"' if (column.detail or column.optional) and not column.heads else ""
    )
    sort = "" if column.kind == "figures" else f' data-sort="{"text" if column.is_text else "number"}"'
    return f' scope="col"{_kind(column, more)}{name}{sort}{spare}'


def _kind(column: Column, more: Sequence[tuple[int, Column]]) -> str:
    if not column.is_text:
        return ""
    if column.folds or column.least > LONG_CELLS or column.kind == "code":
        return ' class="text long"'
    return ' class="text double"' if any(below.below for _, below in more) else ' class="text"'


def _row(places: Sequence[Place], row: Row) -> str:
    cells = []
    for number, (at, column, more) in enumerate(places):
        tag, scope = ("td", "") if number else ("th", ' scope="row"')
        value = f' data-value="{row[at]:.9g}"' if column.name and isinstance(row[at], int | float) else ""
        said = _with(_cell(column, row[at]), [(below, row[place]) for place, below in more])
        cells.append(f"<{tag}{scope}{_kind(column, more)}{value}>{said}</{tag}>")
    return "".join(cells)


def _with(said: str, more: Sequence[tuple[Column, Any]]) -> str:
    for column, value in more:
        if isinstance(value, Piece):
            said = f"{_swatch(value)} {said}"
        elif value:
            said += f'<span class="second">{_cell(column, value)}</span>'
    return said


def _cell(column: Column, value: Any) -> str:
    """A value; a long statement unfolds, and a list of one text in a column of code is no code."""
    if column.kind == "key":
        return ""
    if column.kind != "code" or not isinstance(value, str):
        return text_of(written(column, value))
    code = _cut(value)
    if len(code) <= MAX_UNFOLDED_CHARS:
        return f'<code class="sql">{html.escape(code)}</code>' if code else ""
    return (
        f'<details class="sql"><summary>{html.escape(code[:MAX_UNFOLDED_CHARS])}…</summary>'
        f"<pre>{html.escape(code)}</pre></details>"
    )
