"""The costliest statements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from latpcap.measures.timing_only import TimingOnly
from latpcap.report.console import heading
from latpcap.report.grid import Grid, Heading
from latpcap.report.text import TOP, ms, number, printable, top
from latpcap.report.timing_only import about_statements
from latpcap.result.statements import StatementResult

__all__ = ["statements"]

PACE = ("delta p50 ms", "p95 ms", "client p50 ms", "p95 ms")


def statements(
    statements: Sequence[StatementResult], timing_only: TimingOnly | None = None
) -> Iterator[RenderableType]:
    """What each statement cost, and why there may be none."""
    yield heading(top("Statements", len(statements)))
    if text := about_statements(timing_only):
        yield Text(printable(text), style="dim")
    yield Grid(
        (
            *map(Heading, ("network s", "service s", "runs", "round trips", "p50 ms")),
            *(Heading(title, optional=True) for title in ("p95 ms", "share %", *PACE)),
            Heading("statement", "left", least=40),
        ),
        [_statement_row(statement) for statement in statements[:TOP]],
    )


def _statement_row(statement: StatementResult) -> tuple[str, ...]:
    return (
        number(statement.network_s),
        number(statement.service_s),
        f"{statement.executions:,}" if statement.executions else "",
        f"{statement.round_trips:,}",
        ms(statement.response_ms["p50"]),
        ms(statement.response_ms["p95"]),
        "" if statement.share is None else f"{100 * statement.share:.1f}",
        *(ms(times[name]) for times in (statement.delta_ms, statement.client_ms) for name in ("p50", "p95")),
        printable(statement.fingerprint) if statement.fingerprint else f"({printable(statement.text)})",
    )
