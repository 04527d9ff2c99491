"""The result in a notebook: the verdict, the budget and the projection as HTML."""

from __future__ import annotations

import html
from collections.abc import Iterable

from latpcap.analysis import Analysis
from latpcap.health import HealthNote

__all__ = ["render"]


def render(result: Analysis) -> str:
    """Return the result as HTML; everything that a capture contains is escaped."""
    verdict = "".join(f"<p>{html.escape(line)}</p>" for line in result.summary.verdict.split("\n"))
    notes = "".join(f"<li>{_note(note)}</li>" for note in result.health)
    budget = [(name.removesuffix("_s"), f"{seconds:,.3f}") for name, seconds in result.budget.parts().items()]
    points = [
        (
            f"{point.rtt_ms:g}",
            *(_seconds(value) for value in (point.runtime_s, point.optimistic_s, point.pessimistic_s)),
        )
        for point in result.projection.points
    ]
    findings = [
        (found.severity, found.title, found.fix, f"{found.round_trips_saved:,}", _seconds(_most(found.saved_s)))
        for found in result.findings
    ]
    return (
        f"<div>{verdict}<ul>{notes}</ul>"
        + _table(("part", "seconds"), budget)
        + _table(("severity", "finding", "fix", "round trips saved", "seconds at the farthest RTT"), findings)
        + _table(("RTT ms", "runtime s", "optimistic s", "pessimistic s"), points)
        + "</div>"
    )


def _note(note: HealthNote) -> str:
    told = html.escape(f"{note.severity}: {note.message}")
    return f"{told}<br><small>{html.escape(f'{note.effect}; to do: {note.advice}')}</small>" if note.effect else told


def _most(saved_s: dict[str, float]) -> float | None:
    return saved_s[max(saved_s, key=float)] if saved_s else None


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:,.3f}"


def _table(headers: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = "".join(f"<th>{html.escape(header)}</th>" for header in headers)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
