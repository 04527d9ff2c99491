"""Results in a notebook, as HTML; everything that a capture contains is escaped.

Nothing needs a network. The report's page is a document of its own, within a frame that may do nothing but run the
page's own scripts: neither's style reaches the other, and the page cannot reach the notebook.
"""

from __future__ import annotations

import base64
import html
from collections.abc import Iterable

from msgspec.structs import replace

from latpcap.display import as_html
from latpcap.errors import UsageError
from latpcap.measures.budget import Budget
from latpcap.measures.charts import Deltas, Timeline
from latpcap.projection.by_connections import ProjectionGrid
from latpcap.projection.project import Projection
from latpcap.report import report_to
from latpcap.report.plot import as_svg
from latpcap.report.section import Entry, Say, Section, SectionPart, SectionTable, sections_of, written
from latpcap.report.sections.budget import budget_parts
from latpcap.report.sections.by_connections import by_connections
from latpcap.report.sections.chattiness import chattiness
from latpcap.report.sections.projection import projection
from latpcap.report.text import printable
from latpcap.result.analysis import Analysis, Measures
from latpcap.result.chattiness import Chattiness
from latpcap.units import format_given_ms
from latpcap.verify.result import Verification

__all__ = ["page_within", "render", "render_budget", "render_deltas", "render_projection", "render_timeline"]


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


def fragment(section: Section) -> str:
    """Return a section as HTML; everything in it is escaped."""
    title = f"<h4>{html.escape(section.title)}</h4>" if section.title and section.parts else ""
    return title + "".join(map(_part, section.parts))


def _part(part: SectionPart) -> str:
    match part:
        case Say(text, _, False):
            return f"<p>{_text(text)}</p>"
        case Entry(text, lead):
            below = "".join(f"<br><small>{_text(line.text)}</small>" for line in part.lines)
            return f"<p>{_text(f'{lead}: {text}' if lead else text)}{below}</p>"
        case SectionTable(_, _, _, _, False):
            shown = part.filled(lambda column: not column.detail and column.kind != "key")
            rows = ([written(*each) for each in zip(shown.columns, row, strict=True)] for row in shown.rows)
            return _table([column.full or column.title for column in shown.columns], rows)
    return ""


def _text(text: str) -> str:
    return html.escape(printable(text))


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
    return "".join(map(_part, budget_parts(result)))


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
    return "".join(map(_part, projection(replace(found, points=found.points[:MOST_POINTS])).parts)) + more


@as_html.register
def render_deltas(deltas: Deltas) -> str:
    """Return the histogram as rows."""
    pairs = zip(deltas.edges_ms, deltas.edges_ms[1:], deltas.counts, strict=False)
    rows = [(f"{format_given_ms(low)} to {format_given_ms(high)}", f"{count:,}") for low, high, count in pairs if count]
    return _table(("inter-query delta", "exchanges"), rows)


@as_html.register
def render_timeline(timeline: Timeline) -> str:
    """Return a row a connection: when it was busy, and how often it waited."""
    lanes: dict[int, list[float]] = {}
    for each in timeline.stretches:
        lane = lanes.setdefault(each.stream, [each.start_s, 0.0, 0, 0])
        lane[1:] = [max(lane[1], each.end_s), lane[2] + each.exchanges, lane[3] + each.round_trips]
    rows = [
        (f"{stream}", f"{start:.3f}", f"{end:.3f}", f"{exchanges:,}", f"{trips:,}")
        for stream, (start, end, exchanges, trips) in lanes.items()
    ]
    shown = _table(("connection", "from s", "to s", "exchanges", "round trips"), rows)
    left = timeline.connections - len(lanes)
    return shown + (f"<p>and {left:,} connections that waited less</p>" if left else "")


def _table(headers: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = "".join(f"<th>{html.escape(header)}</th>" for header in headers)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
