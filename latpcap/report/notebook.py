"""Results in a notebook, as HTML; everything that a capture contains is escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable

from latpcap.display import as_html
from latpcap.findings import FindingResult
from latpcap.measures.budget import Budget
from latpcap.measures.health import HealthNote
from latpcap.measures.views import Deltas, Timeline
from latpcap.projection.project import Projection
from latpcap.report.chattiness import chattiness_rows
from latpcap.report.timing_only import about_findings
from latpcap.result.analysis import Analysis
from latpcap.result.chattiness import Chattiness
from latpcap.units import format_given_ms, significant
from latpcap.verify.result import Verification

__all__ = ["render", "render_budget", "render_deltas", "render_projection", "render_timeline"]


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
def render_projection(projection: Projection) -> str:
    """Return the runtimes at the asked RTTs."""
    if projection.baseline_rtt_ms is None:
        return "<p>The runtime at another RTT is unknown, because the baseline RTT is.</p>"
    points = [
        *([] if projection.now is None else [("now", projection.now)]),
        *(("", each) for each in projection.points),
    ]
    rows = [
        (
            f"{name} {significant(point.rtt_ms) if name else f'{point.rtt_ms:g}'}".strip(),
            *map(_figure, (point.runtime_s, point.factor, point.optimistic_s, point.pessimistic_s)),
        )
        for name, point in points
    ]
    within = "" if projection.within is None else projection.within.text
    said = (projection.range_text, projection.guess_text, within)
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
