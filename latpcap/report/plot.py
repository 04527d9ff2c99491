"""The charts of sections for a notebook (extra `notebook`): small ones, made with Altair.

Altair's own way to show a chart fetches a library from the network. A chart from here shows itself as SVG instead,
drawn by vl-convert, until the user chooses another way with `altair.renderers.enable`.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from functools import cache, reduce
from importlib.resources import files
from importlib.util import find_spec
from itertools import zip_longest
from operator import and_
from typing import Any

from latpcap.display import Plottable, as_chart
from latpcap.errors import UsageError
from latpcap.measures.charts import Timeline
from latpcap.report.section import Bar, Chart, ChartLine, sections_of

WIDTH_PIXELS = 560


def _altair() -> Any:
    try:
        import altair
    except ImportError:
        raise UsageError('plots need Altair: pip install "latpcap[notebook]"') from None
    return altair


def as_svg(result: Any) -> str:
    """Return the chart of a result as SVG; `UsageError` where what draws it is not installed."""
    if not _draws():
        raise UsageError('SVG needs vl-convert: pip install "latpcap[notebook]"')
    drawn = io.StringIO()
    as_chart(result).save(drawn, format="svg")
    return drawn.getvalue()


@cache
def _draws() -> bool:
    return find_spec("vl_convert") is not None


def still(chart: Any) -> Any:
    """The chart, which shows itself without a network."""
    kind: Any = type(chart)
    object.__setattr__(chart, "__class__", _still(kind))  # Altair takes an attribute for a part of the chart
    return chart


@cache
def _still(kind: Any) -> Any:
    """A kind of chart of Altair's that uses its renderer `svg` in the place of `default`."""

    def show(chart: Any, include: Any = None, exclude: Any = None) -> Any:
        renderers = _altair().renderers
        if renderers.active != "default" or not _draws():
            return kind._repr_mimebundle_(chart, include, exclude)
        with renderers.enable("svg"):
            return kind._repr_mimebundle_(chart, include, exclude)

    def composed(operator: str) -> Any:
        """Charts side by side, one above the other or in one: all of them without a network."""
        return lambda chart, other: still(getattr(kind, operator)(chart, other))

    members = {name: composed(name) for name in ("__add__", "__and__", "__or__")}
    return type(kind.__name__, (kind,), {"_repr_mimebundle_": show, "__module__": kind.__module__, **members})


@as_chart.register
def plot(result: Plottable) -> Any:
    """Return what the sections of a result draw; an empty chart where that is nothing."""
    altair = _altair()
    parts = (part for section in sections_of(result) for part in section.parts if isinstance(part, Bar | Chart))
    drawn = next(parts, None)
    if isinstance(drawn, Bar):
        return still(_bar(drawn, altair))
    panels = dict.fromkeys(line.axis for line in drawn.legend_lines) if drawn else ()
    made = [
        _panel(drawn, [line for line in drawn.legend_lines if line.axis == axis], altair) for axis in panels if drawn
    ]
    return still(reduce(and_, made) if made else altair.Chart({"values": []}).mark_point())


@cache
def _colours() -> dict[str, str]:
    """Return the page's light colours."""
    style = (files("latpcap.report") / "assets" / "page.css").read_text("utf-8").partition("}")[0]
    return dict(re.findall(r"--([\w-]+): (#\w+);", style))


def _bar(bar: Bar, altair: Any) -> Any:
    """The pieces over the seconds that they take."""
    rows = [
        {"part": piece.title, "seconds": bar.seconds * piece.share, "order": place}
        for place, piece in enumerate(bar.pieces)
    ]
    colours = [_colours()[piece.name] for piece in bar.pieces]
    scale = altair.Scale(domain=[piece.title for piece in bar.pieces], range=colours)
    drawn = altair.Chart({"values": rows}).mark_bar()
    return drawn.encode(
        x=altair.X("seconds:Q", title="seconds", stack="zero"),
        color=altair.Color("part:N", scale=scale, title=None),
        order="order:Q",
        tooltip=["part:N", altair.Tooltip("seconds:Q", format=",.3f")],
    ).properties(width=WIDTH_PIXELS, height=40)


def _panel(chart: Chart, lines: list[ChartLine], altair: Any) -> Any:
    """Lines that share an axis, each with its range, and the place to point at."""
    rows = [row for line in lines for row in _rows(chart, line)]
    log = {"scale": altair.Scale(type="log")} if chart.is_log else {}
    utc = {"scale": altair.Scale(type="utc")} if chart.kind == "time" else {}
    kind = "T" if chart.kind == "time" else "Q"
    known = [_colours()[line.colour] for line in lines if line.colour]
    scale = {"scale": altair.Scale(domain=[line.name for line in lines], range=known)} if known else {}
    colour = altair.Color("line:N", sort=[line.name for line in lines], title=None, **scale)
    base = altair.Chart({"values": rows}).encode(
        x=altair.X(f"place:{kind}", title=chart.axis, **log, **utc),
        color=colour if len(lines) > 1 else altair.value(known[0] if known else "black"),
        tooltip=["line:N", f"place:{kind}", *(altair.Tooltip(f"{name}:Q", format=",.3~s") for name in FIGURES)],
    )
    layers = [_marked(base, line, kind) for line in lines]
    if any(line.low for line in lines):
        layers.insert(0, base.mark_area(opacity=0.2).encode(y=altair.Y("low:Q", title=lines[0].axis), y2="high:Q"))
    if chart.mark is not None:
        pointing = altair.Chart({"values": [{"at": chart.mark}]}).mark_rule(color=_colours()["network"], strokeWidth=2)
        layers.append(pointing.encode(x="at:Q"))
    return altair.layer(*layers).properties(width=WIDTH_PIXELS, height=200)


FIGURES = ("value", "low", "high")


def _rows(chart: Chart, line: ChartLine) -> Iterator[dict[str, Any]]:
    """The values of a line at their places."""
    columns = (chart.places[: len(line.values)], chart.places[1:], line.values, line.low, line.high)
    for row in zip_longest(*columns):
        yield {"line": line.name, "zero": 0} | dict(zip(("place", "to", *FIGURES), row, strict=True))


def _marked(base: Any, line: ChartLine, kind: str) -> Any:
    """One line of a panel, as it is to be drawn."""
    altair = _altair()
    mine = base.transform_filter(altair.FieldEqualPredicate(field="line", equal=line.name))
    drawn = {
        "line": lambda: mine.mark_line(point={"size": 12}),
        "dashed": lambda: mine.mark_line(strokeDash=[6, 5]),
        "dots": lambda: mine.mark_point(filled=True, size=20),
        "bars": lambda: mine.mark_rect().encode(x2=f"to:{kind}", y2="zero:Q"),
    }[line.style]()
    return drawn.encode(y=altair.Y("value:Q", title=line.axis))


@as_chart.register
def plot_timeline(timeline: Timeline) -> Any:
    """Return bars over time, one lane a connection; it can be zoomed and moved."""
    altair, colour = _altair(), _colours()["transfer"]
    rows = [
        {
            "stream": interval.stream,
            "start": interval.start_s,
            "end": interval.end_s,
            "exchanges": interval.exchanges,
            "round trips": interval.round_trips,
        }
        for interval in timeline.intervals
    ]
    return still(
        altair.Chart({"values": rows})
        .mark_bar(color=colour, stroke=colour, strokeWidth=0.5)  # the shortest stay visible
        .encode(
            x=altair.X("start:Q", title="seconds since the first packet"),
            x2="end:Q",
            y=altair.Y("stream:O", title="connection (tcp.stream)"),
            tooltip=["stream:O", "start:Q", "end:Q", "exchanges:Q", "round trips:Q"],
        )
        .properties(width=WIDTH_PIXELS)
        .interactive(bind_y=False)
    )
