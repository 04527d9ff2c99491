"""Rows and columns for a terminal: figures keep their whole width, the last column takes the room that is left.

rich's own table shrinks every column alike, which cuts figures at 80 columns; here columns that can be spared go first.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from msgspec import Struct
from msgspec.structs import replace
from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Span, Text

from latpcap.report.section import Column

GAP_CELLS = 2
MIN_TEXT_CELLS = 9
"""A last text with fewer cells says nothing."""


class Grid(Struct, frozen=True):
    """A table; its last column takes the room that is left, and wants `Column.least` cells: it is cut, or folds."""

    headings: Sequence[Column]
    rows: Sequence[Sequence[str]]
    """The cells of each, one a heading."""
    show_header: bool = True
    below: Sequence[str] = ()
    """For each row what stands below its last cell."""

    @property
    def width(self) -> int:
        """The cells that it takes with nothing cut."""
        return sum(self._widths()) + GAP_CELLS * (len(self.headings) - 1)

    def settled(self) -> list[Column]:
        """The headings with the widths that these rows need: for further rows in line with them."""
        return [replace(heading, least=width) for heading, width in zip(self.headings, self._widths(), strict=True)]

    def _widths(self) -> list[int]:
        return [
            max([cell_len(heading.title), heading.least, *(cell_len(row[column]) for row in self.rows)])
            for column, heading in enumerate(self.headings)
        ]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw the lines."""
        widths = self._widths()
        shown = self._shown(widths, options.max_width)
        *kept, last = shown
        self._cut(widths, shown, options.max_width)
        room = options.max_width - sum(widths[column] + GAP_CELLS for column in kept)
        widths[last] = min(widths[last], max(room, cell_len(self.headings[last].title)))
        if self.show_header:
            yield self._line([heading.title for heading in self.headings], shown, widths, bold=True)
            yield Text(
                "─" * min(sum(widths[column] + GAP_CELLS for column in shown) - GAP_CELLS, options.max_width),
                style="dim",
            )
        for row, below in zip_longest(self.rows, self.below, fillvalue=""):
            first, *more = self._folded(row[last], widths[last], console)
            yield self._line([*row[:last], first], shown, widths)
            yield from (self._line([*[""] * last, part], shown, widths) for part in more)
            if below:
                yield Text(" " * (options.max_width - room) + below, style="dim", no_wrap=True, overflow="ellipsis")

    def _cut(self, widths: list[int], shown: Sequence[int], width: int) -> None:
        """Cut those that may be cut, until the last of the columns has what it wants."""
        over = self._needed(widths, shown) - width
        for column in shown[:-1]:
            if (cuts := self.headings[column].cuts) and over > 0:
                cut = min(over, max(widths[column] - cuts, 0))
                widths[column] -= cut
                over -= cut

    def _needed(self, widths: list[int], shown: Sequence[int]) -> int:
        """The cells of these columns, with no more for a last text than it wants."""
        *kept, last = shown
        wanted = self.headings[last].least if self.headings[last].is_text else widths[last]
        return sum(widths[each] + GAP_CELLS for each in kept) + min(wanted, widths[last])

    def _narrowest(self, widths: list[int], shown: Sequence[int]) -> int:
        """The cells of these columns where each text is cut as far as it may be."""
        *kept, last = shown
        least = (
            max(MIN_TEXT_CELLS, cell_len(self.headings[last].title)) if self.headings[last].is_text else widths[last]
        )
        cuts = (min(widths[each], self.headings[each].cuts or widths[each]) + GAP_CELLS for each in kept)
        return sum(cuts) + min(least, widths[last])

    def _folded(self, text: str, width: int, console: Console) -> list[str]:
        """The lines of a last cell."""
        if not self.headings[-1].folds or cell_len(text) <= width:
            return [text]
        return [line.plain.rstrip() for line in Text(text).wrap(console, width)]

    def _shown(self, widths: list[int], width: int) -> list[int]:
        """The columns that fit: spared from the right are optional ones until the last has what it wants.

        Then others, but for the first and a text that is last: no figure is cut.
        """
        shown = list(range(len(widths)))
        for column in reversed(shown[:-1]):
            if self._needed(widths, shown) > width and self.headings[column].optional:
                shown.remove(column)
        others = shown[1:-1] if self.headings[-1].is_text else shown[1:]
        for column in reversed(others):
            if self._narrowest(widths, shown) > width:
                shown.remove(column)
        return shown

    def _line(self, cells: Sequence[str], shown: list[int], widths: list[int], *, bold: bool = False) -> Text:
        parts, spans, end = list[str](), list[Span](), 0
        for column in shown:
            heading, width = self.headings[column], widths[column]
            text = _fitted(cells[column], width)
            padding = " " * (width - cell_len(text))
            before, after = (padding, "") if not heading.is_text else ("", padding)
            parts += (before, text, after, " " * GAP_CELLS)
            if bold:
                spans.append(Span(end + len(before), end + len(before) + len(text), "bold"))
            end += len(padding) + len(text) + GAP_CELLS
        line = Text("".join(parts), no_wrap=True, overflow="crop", spans=spans)
        line.rstrip()
        return line


def _fitted(text: str, width: int) -> str:
    return text if cell_len(text) <= width else set_cell_size(text, width - 1) + "…"
