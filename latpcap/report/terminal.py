"""Sections for a terminal: at 80 columns, without colour (bars then show letters) and without Unicode, too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import singledispatch
from typing import Any

from msgspec import Struct
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.text import Text

from latpcap.findings import FindingResult, FixesTogether
from latpcap.findings.frames import short_filter
from latpcap.measures.timing_only import TimingOnly
from latpcap.report.console import heading, print_renderables
from latpcap.report.destination import going_to
from latpcap.report.grid import Grid
from latpcap.report.local_time import first_packet
from latpcap.report.section import (
    Bar,
    Chart,
    Column,
    Drawn,
    Entry,
    Piece,
    Section,
    SectionTable,
    Sentence,
    sections_of,
    written,
)
from latpcap.report.sections.errors import error_entries
from latpcap.report.sections.findings import finding_entry, hidden_patterns, together
from latpcap.report.text import printable
from latpcap.result.analysis import Analysis
from latpcap.result.errors import ErrorResult
from latpcap.units import format_ms

__all__ = [
    "document",
    "drawn",
    "errors_text",
    "findings_text",
    "grid",
    "render",
    "sparkline",
]

STYLES = {
    "strong": "bold",
    "quiet": "dim",
    "missing": "dim",
    "error": "bold red",
    "warning": "yellow",
    "info": "dim",
    "high": "bold red",
    "medium": "yellow",
    "low": "cyan",
    "failed": "bold red",
}
BLOCKS = "▁▂▃▄▅▆▇█"
MAX_BAR = 100
"""Cells of the bar where there is room for more."""


def render(result: object) -> str:
    """Return the result as text for where it goes."""
    return print_renderables(_all_of(result))


def _all_of(result: object) -> Iterator[RenderableType]:
    for section in sections_of(result):
        yield from drawn(section)
        if section.name == "verdict" and isinstance(result, Analysis):
            yield from _when(result)


def _when(result: Analysis) -> Iterator[RenderableType]:
    if here := first_packet(each.first_time for each in result.captures):
        yield Text(here, style="dim")


def document(sections: Iterable[Section]) -> str:
    """Return sections as text for where it goes."""
    return print_renderables(part for section in sections for part in drawn(section))


def drawn(section: Section) -> Iterator[RenderableType]:
    """What is printed of a section."""
    if section.level == 1:
        yield from _cover(section)
    elif section.parts:
        if section.title:
            yield heading(printable(section.title))
        for part in section.parts:
            yield from _part(part)


def _cover(section: Section) -> Iterator[RenderableType]:
    if section.title:
        yield Text(printable(section.title), style="bold")
    for part in section.parts:
        yield from _part(part)
    if section.title or section.parts:
        yield Text()


@singledispatch
def _part(part: Any) -> Iterator[RenderableType]:
    raise TypeError(f"{type(part).__name__} is no part of a section")


@_part.register
def _say(part: Sentence) -> Iterator[RenderableType]:
    if not part.detail:
        yield Text(printable(part.text), style=STYLES.get(part.tone, ""))


@_part.register
def _entry(part: Entry) -> Iterator[RenderableType]:
    lead = [(f"{printable(part.lead)}: ", STYLES.get(part.tone, ""))] if part.lead else []
    code = f" [{printable(part.code)}]" if part.code else ""
    yield Text.assemble(*lead, printable(part.text), code)
    for line in part.lines:
        if not line.detail:
            text, style = f"  {printable(line.text)}", "" if line.kind == "text" else "dim"
            cut = line.kind == "code"
            yield Text(text, no_wrap=True, overflow="ellipsis", style=style) if cut else Text(text, style=style)


@_part.register
def _table(part: SectionTable) -> Iterator[RenderableType]:
    if not part.detail:
        yield grid(part)


@_part.register
def _drawn(part: Drawn) -> Iterator[RenderableType]:
    yield from ()


@_part.register
def _bar(part: Bar) -> Iterator[RenderableType]:
    if part.title:
        yield Text(printable(part.title), style="dim")
    yield StackedBar(part.pieces, part.width)


@_part.register
def _chart(part: Chart) -> Iterator[RenderableType]:
    """Lines of blocks over the time; charts over anything else have their values in a table."""
    columns = (Column("what"), Column("least", "figures"), Column("most", "figures"), Column("over time"))
    rows = []
    for line in part.told:
        write = format_ms if line.kind == "ms" else "{:,}".format
        known = [value for value in line.values if value is not None]
        rows.append((printable(line.name), write(min(known)), write(max(known)), sparkline(line.values)))
    if part.kind == "time":
        yield Grid(columns, rows)


def sparkline(values: Sequence[float | None]) -> str:
    """Return a block for each value, from none (a space) and 0 to the highest.

    >>> sparkline([0, 5.0, None, 5.1, 20])
    '▁▃ ▃█'
    """
    highest = max((value for value in values if value is not None), default=0.0)
    return "".join(" " if value is None else BLOCKS[_height(value, highest)] for value in values).rstrip()


def _height(value: float, highest: float) -> int:
    return min(round(value / highest * (len(BLOCKS) - 1)), len(BLOCKS) - 1) if highest > 0 else 0


def grid(table: SectionTable) -> Grid:
    """The table without what needs room; what stands below a cell is below its row."""
    whole = table.filled(lambda column: not column.detail)
    below = [place for place, column in enumerate(whole.columns) if column.below]
    beside = [place for place, column in enumerate(whole.columns) if not column.below]
    rows = [[written(column, value) for column, value in zip(whole.columns, row, strict=True)] for row in whole.rows]
    return Grid(
        [whole.columns[place] for place in beside],
        [[row[place] for place in beside] for row in rows],
        below=[" ".join(row[place] for place in below) for row in rows] if below else (),
        among=whole.among,
    )


class StackedBar(Struct, frozen=True):
    """A bar over the width, cut into parts: letters on their colour, so that it can do without."""

    pieces: Sequence[Piece]
    """Each gets at least a cell."""
    width: float

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw the bar."""
        width, bar, reached = round(self.width * min(options.max_width, MAX_BAR)), Text(), 0.0
        for piece in self.pieces:
            reached += piece.share
            bar.append(piece.letter * max(round(reached * width) - len(bar), 1), style=f"black on {piece.colour}")
        bar.truncate(width)
        yield bar


# --- what single commands print ---------------------------------------------------------------------------------------


def errors_text(found: Sequence[ErrorResult]) -> str:
    """Each error whole."""
    return print_renderables(part for entry in error_entries(found) for part in _part(entry))


def findings_text(
    findings: Iterable[FindingResult],
    fixes: FixesTogether | None,
    told_rtt_ms: float | None,
    *,
    whole_filters: bool = False,
    timing_only: TimingOnly | None = None,
) -> str:
    """Every finding whole, what all fixes save at once, and which could not be looked for.

    The display filter of a finding's packets stands on one line however long: it is there to be copied. Unless they are
    wanted whole, it shows the first ranges of frames.
    """
    shown = [
        print_renderables(_part(finding_entry(found, told_rtt_ms)))
        + "".join(f"  {line}\n" for line in _filter(found, whole_filters))
        for found in findings
    ]
    hidden = [Sentence(text)] if (text := hidden_patterns(timing_only)) else []
    below = (
        print_renderables(part for say in said for part in _part(say))
        for said in (together(fixes, told_rtt_ms), hidden)
    )
    return "\n".join(filter(None, (*shown, *below)))


def _filter(found: FindingResult, whole: bool) -> Iterator[str]:
    text, more = (found.display_filter, 0) if whole else short_filter(found.display_filter, found.frames)
    more += found.frames_left_out
    if text:
        yield text
    if more:
        yield f"{'…' if going_to().takes_unicode else '...'} {more:,} more (`--columns display_filter`, `annotate`)"
