"""Results in a notebook, as HTML; everything that a capture contains is escaped.

Nothing needs a network. The report's page is a document of its own, within a frame that may do nothing but run the
page's own scripts: neither's style reaches the other, and the page cannot reach the notebook.
"""

from __future__ import annotations

import base64
import html
from collections.abc import Iterable

from latpcap.display import as_html
from latpcap.errors import UsageError
from latpcap.findings import FindingResult
from latpcap.measures.budget import Budget
from latpcap.measures.health import HealthNote
from latpcap.measures.views import Deltas, Timeline
from latpcap.projection.project import Projection
from latpcap.report import report_to
from latpcap.report.chattiness import chattiness_rows
from latpcap.report.plot import as_svg
from latpcap.report.timing_only import about_findings
from latpcap.result.analysis import Analysis, Measures
from latpcap.result.chattiness import Chattiness
from latpcap.units import format_given_ms, significant
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


@as_html.register
def render(result: Analysis) -> str:
    """Return the verdict, what limits it, the budget, chattiness, findings and the projection."""
    verdict = "".join(f"<p>{html.escape(line)}</p>" for line in result.summary.verdict.split("\n"))
    notes = "".join(f"<li>{_note(note)}</li>" for note in result.health)
    unread = about_findings(result.timing_only)
    parts = (
        render_budget(result.budget),
        render_chattiness(result.chattiness),
        render_findings(result.findings) + (f"<p>{html.escape(unread)}</p>" if unread else ""),
        render_projection(result.projection),
    )
    return f"<div>{verdict}<ul>{notes}</ul>{''.join(parts)}</div>"


@as_html.register
def render_chattiness(chattiness: Chattiness) -> str:
    """Return the ratios and what each is made of."""
    return _table(("ratio", "value", "from"), chattiness_rows(chattiness))


def render_findings(findings: Iterable[FindingResult]) -> str:
    """Return a row a finding."""
    rows = [
        (found.severity, found.title, found.fix, f"{found.round_trips_saved:,}", _seconds(_most(found.saved_s)))
        for found in findings
    ]
    return _table(("severity", "finding", "fix", "round trips saved", "seconds at the farthest RTT"), rows)


@as_html.register
def render_budget(budget: Budget) -> str:
    """Return the parts and their shares."""
    parts = budget.parts()
    total = sum(parts.values()) or 1.0
    rows = [
        (name.removesuffix("_s").replace("setup", "set-up"), f"{seconds:,.3f}", f"{seconds / total:.1%}")
        for name, seconds in parts.items()
        if seconds > 0
    ]
    return _table(("part", "seconds", "share"), rows)


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


def render_projection(projection: Projection) -> str:
    """Return the runtimes at the asked RTTs."""
    if projection.baseline_rtt_ms is None:
        return "<p>The runtime at another RTT is unknown, because the baseline RTT is.</p>"
    points = [
        *([] if projection.now is None else [("now", projection.now)]),
        *(("", each) for each in projection.points[:MOST_POINTS]),
    ]
    rows = [
        (
            f"{name} {significant(point.rtt_ms) if name else f'{point.rtt_ms:g}'}".strip(),
            *map(_figure, (point.runtime_s, point.factor, point.optimistic_s, point.pessimistic_s)),
        )
        for name, point in points
    ]
    within = "" if projection.within is None else projection.within.text
    left = len(projection.points) - MOST_POINTS
    more = f"and {left:,} more RTTs" if left > 0 else ""
    said = (more, projection.range_text, projection.guess_text, within)
    told = "".join(f"<p>{html.escape(text)}</p>" for text in said if text)
    return _table(("RTT ms", "runtime s", "× now", "optimistic s", "pessimistic s"), rows) + told


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


@as_html.register
def render_verification(result: Verification) -> str:
    """Return latpcap's and Wireshark's counts."""
    from latpcap.report.verification import render_html

    return render_html(result)


def _note(note: HealthNote) -> str:
    text = html.escape(f"{note.severity}: {note.message}")
    return f"{text}<br><small>{html.escape(f'{note.effect}; to do: {note.advice}')}</small>" if note.effect else text


def _most(saved_s: dict[str, float]) -> float | None:
    return saved_s[max(saved_s, key=float)] if saved_s else None


def _figure(value: float | None) -> str:
    return "" if value is None else significant(value)


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:,.3f}"


def _table(headers: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = "".join(f"<th>{html.escape(header)}</th>" for header in headers)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
