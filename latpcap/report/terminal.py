"""The result for people: the verdict first, then what limits it, then the figures.

Works at 80 columns, without colour (the budget's bar then shows letters) and without Unicode.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import singledispatch
from io import StringIO

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.text import Text

from latpcap.findings import FindingResult, FixesTogether
from latpcap.findings.what_if import FixResult, WhatIf
from latpcap.measures.budget import Budget
from latpcap.measures.health import HealthNote
from latpcap.measures.purposes import PURPOSES, PurposeResult
from latpcap.measures.routes import RouteResult
from latpcap.projection.project import Projection
from latpcap.report.grid import Grid, Heading
from latpcap.report.text import TOP, ascii_only, number, printable, top
from latpcap.result.analysis import Analysis, ConnectionResult, PathResult, StatementResult
from latpcap.units import format_s

__all__ = ["findings_text", "parts_of", "print_renderables", "projection_parts", "render", "what_if_parts"]

SAVINGS = 3
SEVERITIES = {"high": "bold red", "medium": "yellow", "low": "cyan", "info": "dim"}

PARTS = {
    "network_s": ("N", "network", "red", "round trips at the baseline RTT"),
    "service_s": ("S", "service", "yellow", "the server works"),
    "transfer_s": ("T", "transfer", "cyan", "long requests and responses"),
    "client_s": ("C", "client", "green", "the application works"),
    "think_s": ("P", "think", "blue", "long pauses, kept as they are"),
    "setup_s": ("U", "setup", "magenta", "TCP, TLS, authentication"),
    "loss_s": ("L", "loss", "bright_red", "retransmissions"),
    "unknown_s": ("?", "unknown", "bright_black", "cannot be divided"),
}
"""Letter in the bar, name, colour, what it is."""


def render(result: object) -> str:
    """Return the result as text for standard output, with colour where that is a terminal."""
    return print_renderables(parts_of(result))


@singledispatch
def parts_of(result: object) -> Iterator[RenderableType]:
    """What is printed of a result; each kind is registered where it is written."""
    raise TypeError(f"{type(result).__name__} has no text")


def print_renderables(parts: Iterable[RenderableType], width: int | None = None) -> str:
    """Return rich renderables as text that standard output can take, `width` cells wide: by default as the terminal."""
    page = StringIO()
    console = Console(file=page, force_terminal=_on_terminal(), highlight=False, markup=False, emoji=False, width=width)
    for part in parts:
        console.print(part)
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return page.getvalue() if encoding.lower().startswith("utf") else ascii_only(page.getvalue())


def _on_terminal() -> bool:
    return sys.stdout is not None and sys.stdout.isatty()


@parts_of.register
def _analysis(result: Analysis) -> Iterator[RenderableType]:
    first, *others = result.summary.verdict.split("\n")
    yield Text(printable(first), style="bold")
    yield from (Text(printable(line)) for line in others)
    yield from _health(result.health)
    yield from _budget(result.budget)
    yield from _purposes(result.purposes)
    yield from _findings(result.findings, result.fixes_together)
    yield from projection_parts(result.projection)
    yield from _paths(result.paths)
    yield from _statements(result.statements)
    yield from _routes(result.routes)
    yield from _connections(result.connections)


def _heading(text: str) -> Text:
    return Text(f"\n{text}", style="bold underline" if _on_terminal() else "")


# --- health ---------------------------------------------------------------------------------------------------------


def _health(notes: Iterable[HealthNote]) -> Iterator[RenderableType]:
    styles = {"error": "bold red", "warning": "yellow", "info": "dim"}
    shown = sorted(notes, key=lambda note: ["error", "warning", "info"].index(note.severity))
    if shown:
        yield _heading("Health")
    for note in shown:
        yield Text.assemble((f"{note.severity}: ", styles[note.severity]), printable(note.message), f" [{note.code}]")
        if note.effect and note.severity != "info":
            yield Text(f"  {note.effect}; to do: {note.advice}", style="dim")


# --- budget ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class StackedBar:
    """A bar over the whole width, cut into parts: letters on their colour, so that it can do without."""

    parts: list[tuple[str, str, float]]
    """Letter, colour and share of each; the shares sum to 1, and each gets at least a cell."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw the bar."""
        width, bar, reached = options.max_width, Text(), 0.0
        for letter, colour, share in self.parts:
            reached += share
            bar.append(letter * max(round(reached * width) - len(bar), 1), style=f"black on {colour}")
        bar.truncate(width)
        yield bar


def _budget(budget: Budget) -> Iterator[RenderableType]:
    parts = {name: seconds for name, seconds in budget.parts().items() if seconds > 0}
    total = sum(parts.values())
    if total <= 0:
        return
    yield _heading("Where the time went")
    yield StackedBar([(PARTS[name][0], PARTS[name][2], seconds / total) for name, seconds in parts.items()])
    yield Grid(
        (Heading("part", "left"), Heading("", "left"), Heading("seconds"), Heading("share %"), Heading("what", "left")),
        [
            (PARTS[name][1], PARTS[name][0], f"{seconds:,.3f}", f"{100 * seconds / total:.1f}", PARTS[name][3])
            for name, seconds in parts.items()
        ],
    )


def _purposes(purposes: tuple[PurposeResult, ...]) -> Iterator[RenderableType]:
    if len(purposes) < 2:
        return
    total = sum(purpose.round_trips for purpose in purposes)
    yield _heading("What the round trips do")
    yield Grid(
        (Heading("purpose", "left"), Heading("round trips"), Heading("share %"), Heading("they", "left")),
        [
            (item.purpose, f"{item.round_trips:,}", f"{100 * item.round_trips / total:.1f}", PURPOSES[item.purpose])
            for item in purposes
        ],
    )


# --- projection -----------------------------------------------------------------------------------------------------


def projection_parts(projection: Projection) -> Iterator[RenderableType]:
    """The projection's table, and the latency budget where one was asked for."""
    yield _heading("At another RTT")
    if projection.baseline_rtt_ms is None:
        yield Text("unknown, because the baseline RTT is; give it with --rtt-baseline")
        return
    titles = ("RTT ms", "runtime s", "optimistic s", "pessimistic s", "statements/s")
    yield Grid(
        [Heading(title) for title in titles],
        [
            (
                f"{point.rtt_ms:,g}",
                *map(number, (point.runtime_s, point.optimistic_s, point.pessimistic_s, point.throughput_per_s)),
            )
            for point in projection.points
        ],
    )
    yield Text(f"from {projection.baseline_rtt_ms:.3g} ms, the baseline RTT of this capture", style="dim")
    if projection.conditions.connections is not None:
        yield Text(_limit(projection.capacity_per_s))
    if projection.within is not None:
        yield Text(projection.within.text)
    farthest = max((point.rtt_ms for point in projection.points), default=projection.baseline_rtt_ms)
    for saving in projection.fetches[:SAVINGS]:
        yield Text(f"{printable(saving.statement)[:60]}: {saving.text(farthest)}")


def _limit(capacity_per_s: float | None) -> str:
    if capacity_per_s is None:
        return "The capture does not show the server at its limit: more connections are taken to be served as well."
    return f"The server was at its limit: {capacity_per_s:,.0f} answers per second, whatever the number of connections."


def what_if_parts(changed: WhatIf | None) -> Iterator[RenderableType]:
    """The runtimes with fixes: as is, each, all; and what to do."""
    if changed is None:
        return
    yield _heading("With fixes")
    rtt = max(changed.as_is_s, key=float)
    as_is = ("as is", "", changed.as_is_s, changed.as_is_optimistic_s[rtt], changed.as_is_pessimistic_s[rtt])
    fixed = (
        (
            _with_needs(each),
            f"{each.round_trips_saved:,}",
            each.runtime_s,
            each.optimistic_s[rtt],
            each.pessimistic_s[rtt],
        )
        for each in (*changed.fixes, changed.all_fixes)
    )
    yield Grid(
        (
            *(Heading("fix", "left"), Heading("trips saved")),
            *(Heading(f"{rtt} ms, s") for rtt in changed.as_is_s),
            Heading(f"range at {rtt} ms"),
        ),
        [
            (name, trips, *map(number, runtimes.values()), f"{number(least)} to {number(most)}")
            for name, trips, runtimes, least, most in (as_is, *fixed)
        ],
    )
    if changed.left_out:
        yield Text(f"`all` leaves out {', '.join(changed.left_out)}, a suggestion: name it to try it.", style="dim")
    yield Text(changed.answer, style="bold")


def _with_needs(fixed: FixResult) -> str:
    return f"{fixed.name} (with {', '.join(fixed.needs)})" if fixed.needs else fixed.name


# --- findings -------------------------------------------------------------------------------------------------------


def _findings(findings: tuple[FindingResult, ...], together: FixesTogether | None) -> Iterator[RenderableType]:
    if not findings:
        return
    yield _heading(top("Findings", len(findings)))
    for finding in findings[:TOP]:
        yield from _finding(finding)
    yield from _together(together)


def _finding(finding: FindingResult) -> Iterator[RenderableType]:
    style = SEVERITIES[finding.severity]
    yield Text.assemble((f"{finding.severity}: ", style), printable(finding.title), f" [{finding.code}]")
    if saved := _saved(finding):
        yield Text(f"  saves {saved}")
    if finding.statement:
        yield Text(f"  {printable(finding.statement)}", no_wrap=True, overflow="ellipsis", style="dim")
    if finding.fix:
        yield Text(f"  {printable(finding.fix)}")


def _together(together: FixesTogether | None) -> Iterator[RenderableType]:
    """What all fixes save at once: not the sum, where some of them remove the same waits."""
    if together is None or not together.saved_s:
        return
    rtt, seconds = max(together.saved_s.items(), key=lambda item: float(item[0]))
    yield Text(f"Together {', '.join(together.fixes)} save {format_s(seconds)} at {rtt} ms.")


def findings_text(findings: Iterable[FindingResult], together: FixesTogether | None) -> str:
    """Every finding whole, and what all fixes save at once.

    The display filter of a finding's packets stands on one line however long: it is there to be copied.
    """
    shown = [
        print_renderables(_finding(finding)) + (f"  {finding.display_filter}\n" if finding.display_filter else "")
        for finding in findings
    ]
    return "\n".join(filter(None, (*shown, print_renderables(_together(together)))))


def _saved(finding: FindingResult) -> str:
    """What the fix saves, at the baseline and at the farthest RTT."""
    if not finding.fix_name:
        return ""
    times = []
    if finding.saved_at_baseline_s is not None:
        times.append(f"{format_s(finding.saved_at_baseline_s)} here")
    if finding.saved_s:
        rtt, seconds = max(finding.saved_s.items(), key=lambda item: float(item[0]))
        times.append(f"{format_s(seconds)} at {rtt} ms")
    trips = f"{finding.round_trips_alone:,} round trips" if finding.round_trips_alone else ""
    besides = f" (with {', '.join(finding.needs)}, which it needs)" if finding.needs else ""
    about = " (its share of what the fix saves)" if finding.estimated else ""
    return ": ".join(filter(None, (trips, ", ".join(times) + besides + about)))


PLACES = {"unknown": "at an unknown place", "between": "on the way", "loopback": "on one machine"}
"""Where a capture was taken; else at the client or at the server."""


def _paths(paths: tuple[PathResult, ...]) -> Iterator[RenderableType]:
    """How far apart the hosts are, and how that is known; in words for the path with most connections."""
    if not paths or paths[0].rtt.baseline_ms is None:
        return
    yield _heading("How the RTT is known")
    if len(paths) > 1:
        yield Grid(
            (
                *map(Heading, ("RTT ms", "low", "high")),
                *(Heading(title, optional=True) for title in ("connections", "samples")),
                Heading("from", "left", optional=True),
                Heading("client → server", "left", least=40),
            ),
            [_path_row(path) for path in paths[:TOP]],
        )
    rtt = paths[0].rtt
    measured = {
        "handshake": rtt.handshake_ms,
        "in-stream": rtt.in_stream_median_ms,
        "fastest responses": rtt.response_floor_ms,
    }
    figures = ", ".join(f"{name} {value:.3g} ms" for name, value in measured.items() if value is not None)
    place = PLACES.get(rtt.position, f"at the {rtt.position}")
    between = "" if rtt.low_ms is None or rtt.high_ms is None else f", {rtt.low_ms:.3g} to {rtt.high_ms:.3g} ms"
    whose = f"{paths[0].client} → {paths[0].server}"
    yield Text(printable(f"{whose}: {rtt.baseline_ms:.3g} ms{between}, from {_count(rtt.samples, 'sample')}"))
    yield Text(f"{rtt.method}: {rtt.reason} ({figures}; captured {place})")


def _path_row(path: PathResult) -> tuple[str, ...]:
    rtt = path.rtt
    return (
        *map(_ms, (rtt.baseline_ms, rtt.low_ms, rtt.high_ms)),
        f"{path.connections:,}",
        f"{rtt.samples:,}",
        f"{rtt.method}, {rtt.position}",
        printable(f"{path.client} → {path.server}"),
    )


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}" + ("" if number == 1 else "s")


# --- statements and connections -------------------------------------------------------------------------------------


def _statements(statements: tuple[StatementResult, ...]) -> Iterator[RenderableType]:
    yield _heading(top("Statements", len(statements)))
    yield Grid(
        (
            *map(Heading, ("network s", "service s", "runs", "round trips", "p50 ms")),
            Heading("p95 ms", optional=True),
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
        _ms(statement.response_ms["p50"]),
        _ms(statement.response_ms["p95"]),
        printable(statement.fingerprint) if statement.fingerprint else f"({printable(statement.text)})",
    )


def _routes(routes: tuple[RouteResult, ...]) -> Iterator[RenderableType]:
    if not routes:
        return
    yield _heading(top("Routes", len(routes)))
    yield Grid(
        (
            *map(Heading, ("network s", "service s", "runs", "round trips", "distinct")),
            Heading("route", "left", least=30),
        ),
        [
            (
                number(each.network_s),
                number(each.service_s),
                f"{each.executions:,}",
                f"{each.round_trips:,}",
                f"{each.distinct_statements:,}",
                printable(each.route),
            )
            for each in routes[:TOP]
        ],
    )


def _connections(connections: tuple[ConnectionResult, ...]) -> Iterator[RenderableType]:
    yield _heading(top("Connections", len(connections)))
    yield Grid(
        (
            *map(Heading, ("stream", "round trips", "RTT ms")),
            Heading("from", "left", optional=True),
            Heading("client → server", "left", least=40),
        ),
        [_connection_row(each) for each in sorted(connections, key=lambda each: -each.round_trips)[:TOP]],
    )


def _connection_row(connection: ConnectionResult) -> tuple[str, ...]:
    state = "" if connection.state == "complete" else f", {connection.state}"
    return (
        f"{connection.stream}",
        f"{connection.round_trips:,}",
        _ms(connection.rtt.baseline_ms),
        f"{connection.rtt.method}, {connection.rtt.position}",
        printable(f"{connection.client} → {connection.server} {connection.protocol}{state}"),
    )


def _ms(value: float | None) -> str:
    return "" if value is None else f"{value:,.3f}"
