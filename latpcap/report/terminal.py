"""Sections for a terminal: at 80 columns, without colour (bars then show letters) and without Unicode, too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.text import Text

from latpcap.report.console import heading, print_renderables, wrapped
from latpcap.report.grid import Grid
from latpcap.report.local_time import first_packet
from latpcap.report.section import (
    Bar,
    Chart,
    Column,
    Drawn,
    Entry,
    Labelled,
    Piece,
    Section,
    SectionPart,
    SectionTable,
    Sentence,
    sections_of,
    written,
)
from latpcap.report.sections import first_screen
from latpcap.report.text import printable
from latpcap.result.analysis import Analysis
from latpcap.result.checks.gates import Gates
from latpcap.result.verdict import LABEL_CELLS
from latpcap.units import format_ms

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
ON_ONE_LINE: dict[str, Any] = {
    "code": {"no_wrap": True, "overflow": "ellipsis"},
    "copied": {"no_wrap": True, "overflow": "ignore"},
}
BLOCKS = "▁▂▃▄▅▆▇█"
MAX_BAR_CELLS = 100
"""Cells of the bar where there is room for more."""


def render(result: object) -> str:
    """Return the result as text for where it goes."""
    return print_renderables(_all_of(result))


def render_first_screen(result: Analysis, gates: Gates | None = None) -> str:
    """Return the answer and where to go on."""
    return print_renderables(_drawn_of(first_screen(result, gates), result))


def _all_of(result: object) -> Iterator[RenderableType]:
    yield from _drawn_of(sections_of(result), result)


def _drawn_of(sections: Iterable[Section], result: object) -> Iterator[RenderableType]:
    for section in sections:
        yield from drawn(section)
        if section.name == "verdict" and isinstance(result, Analysis):
            yield from _when(result)


def _when(result: Analysis) -> Iterator[RenderableType]:
    if here := first_packet(each.first_time for each in result.captures):
        yield Text(here, style="dim")


def document(sections: Iterable[Section]) -> str:
    """Return sections as text for where it goes."""
    return print_renderables(part for section in sections for part in drawn(section))


def listed(sections: Iterable[Section]) -> str:
    """Return sections without headings, with a line between them."""
    return "\n".join(filter(None, (document([section]) for section in sections)))


def drawn(section: Section) -> Iterator[RenderableType]:
    """Yield what is printed of a section."""
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


def _part(part: SectionPart) -> Iterator[RenderableType]:
    match part:
        case Sentence(detail=False):
            yield Text(printable(part.text), style=STYLES.get(part.tone, ""))
        case Labelled():
            yield LabelledText(part)
        case Entry():
            yield from _entry(part)
        case SectionTable(detail=False):
            yield grid(part)
        case Bar():
            if part.title:
                yield Text(printable(part.title), style="dim")
            yield StackedBar(part.pieces, part.width)
        case Chart(kind="time"):
            yield _over_time(part)
        case Chart() | Drawn():
            pass  # its values stand in a table, or it is for those who can choose and zoom


def _entry(entry: Entry) -> Iterator[Text]:
    lead = [(f"{printable(entry.lead)}: ", STYLES.get(entry.tone, ""))] if entry.lead else []
    code = f" [{printable(entry.code)}]" if entry.code else ""
    yield Text.assemble(*lead, printable(entry.text), code)
    for line in entry.lines:
        if not line.detail:
            style = "dim" if line.kind in ("quiet", "code") else ""
            yield Text(f"  {printable(line.text)}", style=style, **ON_ONE_LINE.get(line.kind, {}))


def _over_time(chart: Chart) -> Grid:
    """Lines of blocks."""
    columns = (Column("what"), Column("least", "figures"), Column("most", "figures"), Column("over time"))
    rows = []
    for line in chart.legend_lines:
        write = format_ms if line.kind == "ms" else "{:,}".format
        known = [value for value in line.values if value is not None]
        rows.append((printable(line.name), write(min(known)), write(max(known)), sparkline(line.values)))
    return Grid(columns, rows)


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
    )


class LabelledText(Struct, frozen=True):
    """A line behind its label, its further lines below its beginning; a statement is cut to one line."""

    part: Labelled

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw the line."""
        label, indent = f"{self.part.label:<{LABEL_CELLS}}", " " * LABEL_CELLS
        text = Text(printable(self.part.text), style="dim" if self.part.is_code else "")
        room = max(options.max_width - LABEL_CELLS, 20)
        if self.part.is_code:
            text.truncate(room, overflow="ellipsis")
        for place, line in enumerate(wrapped(text, console, room)):
            yield Text.assemble((indent if place else label, "bold"), line)


class StackedBar(Struct, frozen=True):
    """A bar over the width, cut into parts: letters on their colour, so that it can do without."""

    pieces: Sequence[Piece]
    """Each gets at least a cell."""
    width: float

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw the bar."""
        width, bar, reached = round(self.width * min(options.max_width, MAX_BAR_CELLS)), Text(), 0.0
        for piece in self.pieces:
            reached += piece.share
            bar.append(piece.letter * max(round(reached * width) - len(bar), 1), style=f"black on {piece.colour}")
        bar.truncate(width)
        yield bar
