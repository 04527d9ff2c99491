"""An analysis for people: the verdict first, then what limits it, then the figures; one section a file.

Works at 80 columns, without colour (the budget's bar then shows letters) and without Unicode.
"""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from latpcap.report.console import parts_of, print_renderables, render
from latpcap.report.network import network_in_all
from latpcap.report.terminal.budget import PARTS, budget, purposes
from latpcap.report.terminal.chattiness import chattiness
from latpcap.report.terminal.connections import connections
from latpcap.report.terminal.errors import errors, errors_text
from latpcap.report.terminal.findings import findings, findings_text
from latpcap.report.terminal.health import health
from latpcap.report.terminal.minutes import minutes
from latpcap.report.terminal.paths import paths
from latpcap.report.terminal.projection import budget_parts, projection_parts, what_if_parts
from latpcap.report.terminal.routes import routes
from latpcap.report.terminal.selection import selection
from latpcap.report.terminal.settings import settings
from latpcap.report.terminal.sign_off import cover, sign_off
from latpcap.report.terminal.statements import statements
from latpcap.report.terminal.taps import taps
from latpcap.report.text import printable
from latpcap.report.timing_only import about_budget
from latpcap.result.analysis import Analysis

__all__ = [
    "PARTS",
    "budget_parts",
    "errors_text",
    "findings_text",
    "print_renderables",
    "projection_parts",
    "render",
    "selection",
    "settings",
]
__all__ += ["what_if_parts"]


def _network(result: Analysis) -> Iterator[RenderableType]:
    if text := network_in_all(result):
        yield Text(text, style="dim")


@parts_of.register
def _analysis(result: Analysis) -> Iterator[RenderableType]:
    yield from cover(result.sign_off)
    yield from selection(result.selection)
    yield from settings(result.settings)
    first, *others = result.summary.verdict.split("\n")
    yield Text(printable(first), style="bold")
    yield from (Text(printable(line)) for line in others)
    yield from health(result.health)
    yield from budget(result.budget)
    yield from _network(result)
    if text := about_budget(result.timing_only, result.connecting):
        yield Text(text, style="dim")
    yield from errors(result.errors)
    yield from findings(result.findings, result.fixes_together, result.projection.told_rtt_ms, result.timing_only)
    yield from projection_parts(result.projection)
    yield from purposes(result.purposes)
    yield from chattiness(result.chattiness)
    yield from paths(result.paths)
    yield from taps(result.taps)
    yield from minutes(result.minutes)
    yield from statements(result.statements, result.timing_only)
    yield from routes(result.routes)
    yield from connections(result.connections)
    yield from sign_off(result.sign_off, result.captures)
