"""Results in a notebook, as HTML; everything that a capture contains is escaped.

Nothing needs a network. The report's page is a document of its own, within a frame that may do nothing but run the
page's own scripts: neither's style reaches the other, and the page cannot reach the notebook.
"""

from __future__ import annotations

import base64

from msgspec.structs import replace

from latpcap.display import as_html
from latpcap.errors import UsageError
from latpcap.measures.budget import Budget
from latpcap.measures.charts import Deltas, Timeline
from latpcap.projection.by_connections import ProjectionGrid
from latpcap.projection.project import Projection
from latpcap.report import report_to
from latpcap.report.markup import fragment, parts_of
from latpcap.report.plot import as_svg
from latpcap.report.section import Column, SectionTable, sections_of
from latpcap.report.sections.budget import budget_parts
from latpcap.report.sections.by_connections import by_connections
from latpcap.report.sections.chattiness import chattiness
from latpcap.report.sections.projection import projection
from latpcap.result.analysis import Analysis, Measures
from latpcap.result.chattiness import Chattiness
from latpcap.units import format_given_ms
from latpcap.verify.result import Verification

__all__ = ["page_within", "render", "render_budget", "render_deltas", "render_projection", "render_timeline"]


DELTAS = (Column("inter-query delta"), Column("exchanges", "count"))
LANES = (
    Column("connection", "id"),
    *(Column(title, "ms") for title in ("from s", "to s")),
    *(Column(title, "count") for title in ("exchanges", "round trips")),
)
MOST_POINTS = 20
"""Rows of a projection."""
FEWEST_DRAWN = 2
"""Points of a curve."""
MOST_OF_A_PAGE = 1_000_000
"""Characters: a notebook keeps what it shows."""


def page_within(measures: Measures) -> str:
    """Return the report's page in a frame; what is said on it where it is too large for a notebook."""
    page: str = report_to("report.html")(measures, None, None)
    inner = page.translate({ord(sign): f"&#{ord(sign)};" for sign in "&<>'"})
    if len(inner) > MOST_OF_A_PAGE:
        return f"{render(measures.analyze())}<p>The whole report: <code>capture.report('report.html')</code></p>"
    style = "width:100%;height:80vh;min-height:30rem;border:1px solid #8888;border-radius:4px;background:#fff"
    return f"<iframe sandbox='allow-scripts' title='latpcap: report' style='{style}' srcdoc='{inner}'></iframe>"


@as_html.register(Analysis)
@as_html.register(Verification)
def render(result: object) -> str:
    """Return what is said of it in any format."""
    return f"<div>{''.join(map(fragment, sections_of(result)))}</div>"


@as_html.register
def render_chattiness(result: Chattiness) -> str:
    """Return the ratios and what each is made of."""
    return fragment(chattiness(result))


@as_html.register
def render_grid(grid: ProjectionGrid) -> str:
    """Return a row for each number of connections at each RTT."""
    return fragment(by_connections(grid))


@as_html.register
def render_budget(result: Budget) -> str:
    """Return the parts and their shares."""
    return parts_of(budget_parts(result))


@as_html.register
def render_drawn(projection: Projection) -> str:
    """Return the runtimes at the asked RTTs, and a chart of them where what draws it is installed."""
    return _drawn(projection) + render_projection(projection)


def _drawn(projection: Projection) -> str:
    """As an image, in which nothing runs; nothing where there is no curve."""
    if projection.baseline_rtt_ms is None or len(projection.points) < FEWEST_DRAWN:
        return ""
    try:
        image = base64.b64encode(as_svg(projection).encode()).decode()
    except UsageError:
        return ""
    return f"<img alt='runtime over RTT' src='data:image/svg+xml;base64,{image}'>"


def render_projection(found: Projection) -> str:
    """Return the runtimes at the first of the asked RTTs."""
    left = len(found.points) - MOST_POINTS
    more = f"<p>and {left:,} more RTTs</p>" if left > 0 else ""
    return parts_of(projection(replace(found, points=found.points[:MOST_POINTS])).parts) + more


@as_html.register
def render_deltas(deltas: Deltas) -> str:
    """Return the histogram as rows."""
    pairs = zip(deltas.edges_ms, deltas.edges_ms[1:], deltas.counts, strict=False)
    rows = [(f"{format_given_ms(low)} to {format_given_ms(high)}", count) for low, high, count in pairs if count]
    return parts_of([SectionTable(DELTAS, rows)])


@as_html.register
def render_timeline(timeline: Timeline) -> str:
    """Return a row a connection: when it was busy, and how often it waited."""
    lanes: dict[int, list[float]] = {}
    for each in timeline.intervals:
        lane = lanes.setdefault(each.stream, [each.start_s, 0.0, 0, 0])
        lane[1:] = [max(lane[1], each.end_s), lane[2] + each.exchanges, lane[3] + each.round_trips]
    shown = parts_of([SectionTable(LANES, [(stream, *lane) for stream, lane in lanes.items()])])
    left = timeline.connections - len(lanes)
    return shown + (f"<p>and {left:,} connections that waited less</p>" if left else "")
