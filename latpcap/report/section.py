"""The parts of a report, whatever its format: sections of sentences, lists, tables and charts.

A section is made once from the result (`report/sections/`, one subject a file). A format draws any section and knows no
subject: `terminal.py`, `markdown.py`, `markup.py` (HTML). What is only of use where there is room (`detail`) the
terminal leaves out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import singledispatch
from importlib import import_module
from typing import Any, Literal, get_args

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from latpcap.report.local_time import local
from latpcap.report.text import DECIMALS, decimals_of, number, printable
from latpcap.units import format_ratio, percent, significant

Text = Literal["text", "code", "key", "short", "name", "clock", "day", "local", "moment"]
"""Kinds of columns that are read from the left."""
Figure = Literal[
    "any", "figures", "id", "count", "ms", "s", "percent", "share", "rise", "ratio", "figure", "bytes", "part", "frames"
]
Kind = Text | Figure
"""The kind of a column's values.

`figures` are ready to be shown, `short` is cut, `key` is the piece of a bar that the row is of, `figure` has three
digits. In a column of `code` a list of one text is no code: what ran without a statement.
"""
FRAMES = ("request_frame", "response_frame")
"""Columns that one of `frames` shows: `47→52`."""
Row = Sequence[Any]


class Column(Struct, frozen=True):
    """A column of a table: its heading, what its values are, and whether it can be spared."""

    title: str
    kind: Kind = "text"
    optional: bool = False
    """Spared where a terminal is narrow, and where no row has a value."""
    detail: bool = False
    """Only where there is room."""
    heads: bool = False
    """Names its row: comes first where there is room for all."""
    below: bool = False
    """Stands below the column before it, where that reads well."""
    least: int = 0
    """Cells of a terminal that it wants."""
    cuts: int = 0
    """Cells of a terminal that it is cut to before the last column gets fewer than it wants; none: it is not cut."""
    folds: bool = False
    full: str = ""
    """Its heading where it stands alone: `p95 ms` beside `p50 ms` is one of the client's time."""
    name: str = ""
    """By what a page finds it whose values follow the reader's choice."""
    decimals: int = DECIMALS
    """The most that a time has."""

    def settled(self, values: Iterable[Any]) -> Column:
        """Return the column with the decimals that these values need, where they are times."""
        if self.kind not in ("ms", "s"):
            return self
        known = (float(value) for value in values if value is not None and value != "" and value == value)
        return replace(self, decimals=decimals_of(known))

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of a table of rows that it shows."""
        return FRAMES if self.kind == "frames" else (self.name,)

    def says(self, value: Any) -> bool:
        """There is a value; a figure that is not known is one."""
        return bool(value) if self.is_text else value != ""

    @property
    def is_text(self) -> bool:
        """It is read from the left."""
        return self.kind in get_args(Text)


class SectionPart(Struct, frozen=True):
    """One after the other they make a section."""


class Sentence(SectionPart, frozen=True):
    """A sentence; `code` stands between backticks."""

    text: str
    tone: Literal["", "strong", "quiet", "head", "missing"] = ""
    detail: bool = False


class Labelled(SectionPart, frozen=True):
    """A line behind a label; without one it goes on with the line before."""

    label: str
    text: str
    is_code: bool = False


class Line(Struct, frozen=True):
    """Another fact about an entry."""

    text: str
    name: str = ""
    """Its name, where the text does not show it."""
    kind: Literal["text", "quiet", "code", "copied"] = "text"
    """Its kind; `copied` stands on one line however long it is."""
    detail: bool = False
    key: str = ""
    """By what a page finds it whose text follows the reader's choice."""
    whole: str = ""
    """All of it, where the text is the beginning: to be copied."""


class Entry(SectionPart, frozen=True):
    """One of a list: `lead: text [code]`, and lines below it."""

    text: str
    lead: str = ""
    tone: str = ""
    """How grave it is: decides the colour."""
    code: str = ""
    lines: tuple[Line, ...] = ()


class SectionTable(SectionPart, frozen=True):
    """Rows of values, one a column."""

    columns: Sequence[Column]
    rows: Sequence[Row]
    caption: str = ""
    foot: Row | None = None
    """The sum of the rows that are not shown."""
    detail: bool = False

    def filled(self, keep: Callable[[Column], bool] = bool) -> SectionTable:
        """The columns that `keep` keeps, but for those that can be spared and that no row fills."""
        places = [
            place
            for place, column in enumerate(self.columns)
            if keep(column) and not (column.optional and not any(map(column.says, (row[place] for row in self.rows))))
        ]
        foot = None if self.foot is None else [self.foot[place] for place in places]
        rows = [[row[place] for place in places] for row in self.rows]
        columns = [self.columns[place].settled(row[place] for row in self.rows) for place in places]
        return SectionTable(columns, rows, self.caption, foot)


class Piece(Struct, frozen=True):
    """A part of a bar, and of a table's column of keys."""

    name: str
    title: str
    letter: str
    """A letter in place of colour."""
    colour: str
    share: float
    """The part of the bar; all sum to 1."""


class Bar(SectionPart, frozen=True):
    """One bar, cut into pieces."""

    pieces: Sequence[Piece]
    title: str = ""
    width: float = 1.0
    """The part of the room that it takes."""
    seconds: float = 0.0
    """The sum of all pieces."""


Style = Literal["line", "dashed", "dots", "bars"]
"""How a line of a chart is drawn."""


class ChartLine(Struct, frozen=True):
    """One line of a chart: a value at each place, and maybe its range; bars reach to the next place."""

    name: str
    axis: str
    """The quantity and its unit; lines that share it share a panel."""
    kind: Kind
    values: Sequence[float | None]
    low: Sequence[float | None] = ()
    high: Sequence[float | None] = ()
    colour: str = ""
    """By its name in the page's style; none where no one line is meant."""
    style: Style = "line"


class Chart(SectionPart, frozen=True):
    """Lines over one axis."""

    name: str
    title: str
    axis: str
    kind: Literal["time", "ms", "count"]
    """The kind of its places."""
    places: Sequence[Any]
    """Places; bars have one more than values: the last end."""
    lines: tuple[ChartLine, ...]
    is_log: bool = False
    mark: float | None = None
    """A place to point at."""

    @property
    def legend_lines(self) -> list[ChartLine]:
        """The lines that say something."""
        return [line for line in self.lines if any(line.values)]


class Drawn(SectionPart, frozen=True):
    """A part that only a page draws: it follows the reader's choice, or can be zoomed."""

    name: str


class Section(Struct, frozen=True):
    """A part of a report with a heading."""

    name: str
    """By what a link finds it."""
    title: str
    parts: Sequence[SectionPart]
    level: int = 2


SUBJECTS = ("", ".both", ".calibration", ".method", ".rehearsal", ".verification")
"""The modules of `report/sections` that register what is said of a result."""


@singledispatch
def sections_of(result: object) -> Iterable[Section]:
    """Return a result's sections, or none; each kind is registered where its sections are made."""
    for subject in SUBJECTS:
        import_module(f"latpcap.report.sections{subject}")
    registered = sections_of.dispatch(type(result))
    return () if registered is sections_of.dispatch(object) else registered(result)


def table_of(
    columns: Sequence[Column],
    rows: Iterable[Mapping[str, Any]],
    caption: str = "",
    foot: Mapping[str, Any] | None = None,
) -> SectionTable:
    """A table of rows that have their values by the names of the columns; the foot has some of them."""
    values = [[row[column.name] for column in columns] for row in rows]
    sums = [foot.get(column.name) for column in columns] if foot else None
    return SectionTable(columns, values, caption, sums)


MAX_CELLS = 60
"""Cells that a `short` text gets on a terminal."""
NONE = "–"
"""Who is not known by name."""
WRITERS: dict[Kind, Callable[[Any], str]] = {
    **dict.fromkeys(("code", "figures", "name"), printable),
    **dict.fromkeys(("text", "any"), lambda value: any_text(value)),
    "short": lambda value: short(any_text(value)),
    "key": lambda piece: piece.letter,
    "id": str,
    **dict.fromkeys(("count", "bytes"), lambda figure: f"{int(figure):,}"),
    "percent": lambda share: f"{100 * share:.1f}",
    "share": percent,
    "rise": lambda share: rise(share),
    "ratio": format_ratio,
    "figure": significant,
    "part": lambda is_whole: "" if is_whole else "part",
    "clock": lambda moment: str(moment.astype("datetime64[ms]")).partition("T")[2],
    "day": lambda moment: str(moment.astype("datetime64[ms]")).replace("T", " "),
    "local": local,
    "moment": lambda moment: str(np.datetime_as_string(moment, unit="s")).replace("T", " "),
}


def any_text(value: Any) -> str:
    """A value of a column of which nothing more is known; nothing for none."""
    if value is None or value != value:
        return ""
    if isinstance(value, np.datetime64):
        return f"{np.datetime_as_string(value, unit='ns')}Z"
    return f"{value:.9g}" if isinstance(value, float | np.floating) else printable(str(value))


def rise(share: float | None) -> str:
    """Return the increase in per cent; nothing where it is not known."""
    return "" if share is None else f"+{significant(100 * share)}%"


def short(text: str) -> str:
    """The text as far as a column takes it."""
    return text if len(text) <= MAX_CELLS else f"{text[: MAX_CELLS - 1]}…"


def written(column: Column, value: Any) -> str:
    """The value as people read it, without markup; nothing for none, be it NaN or NaT."""
    if isinstance(value, list):
        return f"({printable(value[0])})"
    if value is None or value != value or value == "":
        return NONE if column.kind == "name" else ""
    return number(value, column.decimals) if column.kind in ("ms", "s") else WRITERS[column.kind](value)
