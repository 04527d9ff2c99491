"""Charts of what a notebook shows (extra `notebook`): small ones, made with Altair.

Altair's own way to show a chart fetches a library from the network. A chart from here shows itself as SVG instead,
drawn by vl-convert, until the user chooses another way with `altair.renderers.enable`.
"""

from __future__ import annotations

import io
from functools import cache
from importlib.util import find_spec
from typing import Any

from latpcap.display import as_chart
from latpcap.errors import UsageError
from latpcap.measures.budget import Budget
from latpcap.measures.charts import Deltas, Timeline
from latpcap.projection.by_connections import ProjectionGrid
from latpcap.projection.project import Projection
from latpcap.result.minutes import MinutesResult
from latpcap.units import format_given_ms

__all__ = ["as_svg", "plot_budget", "plot_deltas", "plot_grid", "plot_minutes", "plot_projection", "plot_timeline"]

COLOURS = {
    "network": "#c0392b",
    "service": "#e0a800",
    "transfer": "#2980b9",
    "stall": "#34495e",
    "client": "#27ae60",
    "think": "#8e9eab",
    "setup": "#8e44ad",
    "loss": "#e67e22",
    "unknown": "#bdc3c7",
}
"""The parts of the budget."""


def _altair() -> Any:
    try:
        import altair
    except ImportError:
        raise UsageError("plots need Altair: pip install 'latpcap[notebook]'") from None
    return altair


def as_svg(result: Any) -> str:
    """Return the chart of a result as SVG; `UsageError` where what draws it is not installed."""
    if not _draws():
        raise UsageError("SVG needs vl-convert: pip install 'latpcap[notebook]'")
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
def plot_projection(projection: Projection) -> Any:
    """Return a chart of the runtime over the RTT, with the range between optimistic and pessimistic."""
    altair = _altair()
    points = [
        {"rtt": point.rtt_ms, "runtime": point.runtime_s, "low": point.optimistic_s, "high": point.pessimistic_s}
        for point in projection.points
    ]
    base = altair.Chart({"values": points}).encode(x=altair.X("rtt:Q", title="RTT (ms)"))
    band = base.mark_area(opacity=0.3).encode(y=altair.Y("low:Q", title="runtime (s)"), y2="high:Q")
    return still(band + base.mark_line(point=True).encode(y="runtime:Q"))


@as_chart.register
def plot_grid(grid: ProjectionGrid) -> Any:
    """Return a chart of the throughput over the connections: a line and its range for each RTT."""
    altair = _altair()
    rows = [
        {
            "connections": cell.connections,
            "rtt": format_given_ms(cell.rtt_ms),
            "throughput": cell.throughput_per_s,
            "low": cell.pessimistic_per_s,
            "high": cell.optimistic_per_s,
            "runtime": cell.runtime_s,
        }
        for cell in grid.cells
    ]
    base = altair.Chart({"values": rows}).encode(
        x=altair.X("connections:Q", title="connections"),
        color=altair.Color("rtt:N", sort=list(dict.fromkeys(row["rtt"] for row in rows)), title="RTT"),
    )
    band = base.mark_area(opacity=0.2).encode(y=altair.Y("low:Q", title="statements a second"), y2="high:Q")
    figures = [altair.Tooltip(f"{name}:Q", format=",.3s") for name in ("throughput", "low", "high", "runtime")]
    tooltip = ["connections:Q", "rtt:N", *figures]
    return still(band + base.mark_line(point=True).encode(y="throughput:Q", tooltip=tooltip))


@as_chart.register
def plot_budget(budget: Budget) -> Any:
    """Return one bar over the runtime, a colour a part."""
    altair = _altair()
    parts = {name.removesuffix("_s"): seconds for name, seconds in budget.parts().items() if seconds > 0}
    rows = [{"part": part, "seconds": seconds, "order": order} for order, (part, seconds) in enumerate(parts.items())]
    scale = altair.Scale(domain=list(parts), range=[COLOURS[part] for part in parts])
    return still(
        altair.Chart({"values": rows})
        .mark_bar()
        .encode(
            x=altair.X("seconds:Q", title="seconds", stack="zero"),
            color=altair.Color("part:N", scale=scale, title=None),
            order="order:Q",
            tooltip=["part:N", altair.Tooltip("seconds:Q", format=",.3f")],
        )
        .properties(width=560, height=40)
    )


@as_chart.register
def plot_deltas(deltas: Deltas) -> Any:
    """Return a histogram over a logarithmic axis, with the baseline RTT as a line."""
    altair = _altair()
    pairs = zip(deltas.edges_ms, deltas.edges_ms[1:], deltas.counts, strict=False)
    rows = [{"from": low, "to": high, "exchanges": count} for low, high, count in pairs]
    x = altair.X("from:Q", scale=altair.Scale(type="log"), title="inter-query delta (ms)")
    bars = altair.Chart({"values": rows}).mark_bar().encode(x=x, x2="to:Q", y="exchanges:Q")
    if deltas.baseline_rtt_ms is not None and rows:
        line = altair.Chart({"values": [{"rtt": deltas.baseline_rtt_ms}]})
        bars += line.mark_rule(color=COLOURS["network"], strokeWidth=2).encode(x="rtt:Q")
    return still(bars.properties(width=560, height=160))


@as_chart.register
def plot_minutes(result: MinutesResult) -> Any:
    """Return lines over time: the RTT, as measured and as counted, and what responses took."""
    altair = _altair()
    names = {
        "rtt_min_ms": ("RTT measured", COLOURS["network"]),
        "baseline_ms": ("RTT counted", COLOURS["loss"]),
        "response_p50_ms": ("response p50", COLOURS["transfer"]),
        "response_p95_ms": ("response p95", COLOURS["service"]),
    }
    rows = [
        {"start": row.start, "what": title, "ms": getattr(row, name)}
        for row in result.rows
        for name, (title, _) in names.items()
    ]
    scale = altair.Scale(domain=[title for title, _ in names.values()], range=[colour for _, colour in names.values()])
    return still(
        altair.Chart({"values": rows})
        .mark_line(point={"size": 12})
        .encode(
            x=altair.X("start:T", title="time (UTC)", scale=altair.Scale(type="utc")),
            y=altair.Y("ms:Q", title="ms"),
            color=altair.Color("what:N", scale=scale, title=None),
            tooltip=["start:T", "what:N", altair.Tooltip("ms:Q", format=",.3f")],
        )
        .properties(width=560, height=200)
    )


@as_chart.register
def plot_timeline(timeline: Timeline) -> Any:
    """Return bars over time, one lane a connection; it can be zoomed and moved."""
    altair = _altair()
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
        .mark_bar(color=COLOURS["transfer"], stroke=COLOURS["transfer"], strokeWidth=0.5)  # the shortest stay visible
        .encode(
            x=altair.X("start:Q", title="seconds since the first packet"),
            x2="end:Q",
            y=altair.Y("stream:O", title="connection (tcp.stream)"),
            tooltip=["stream:O", "start:Q", "end:Q", "exchanges:Q", "round trips:Q"],
        )
        .properties(width=560)
        .interactive(bind_y=False)
    )
