"""The sections of a report, one subject a file: each is made of its part of the result, whatever the format."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from latpcap.report.section import Section, Sentence, sections_of
from latpcap.report.sections.budget import budget, purposes
from latpcap.report.sections.chattiness import chattiness
from latpcap.report.sections.connections import connections
from latpcap.report.sections.errors import errors
from latpcap.report.sections.findings import findings
from latpcap.report.sections.health import gates as gates_section
from latpcap.report.sections.health import health
from latpcap.report.sections.intervals import intervals
from latpcap.report.sections.opening import captures, cover, further, opening, sign_off, size_of, summary, title_of
from latpcap.report.sections.paths import paths, segments
from latpcap.report.sections.projection import projection
from latpcap.report.sections.statements import routes, statements
from latpcap.report.sections.taps import taps
from latpcap.report.text import MAX_LIST_ROWS
from latpcap.result.analysis import Analysis
from latpcap.result.checks.gates import Gates
from latpcap.result.verdict import has_note

__all__ = ["first_screen", "report", "sections"]

FIRST = ("cover", "verdict", "gates", "to-do", "elsewhere", "budget", "in-short")
"""The sections before the appendix of a report."""


@sections_of.register
def _analysis(result: Analysis) -> Iterator[Section]:
    return sections(result, is_signed=False)


def sections(
    result: Analysis, gates: Gates | None = None, most: int = MAX_LIST_ROWS, *, is_signed: bool = True
) -> Iterator[Section]:
    """Everything that is said of a capture, in its order; of a long list the first `most`.

    Unless `is_signed` it says how it was made only where it was given something to say of itself: hashes take time.
    """
    yield cover(result.sign_off)
    yield opening(result.selection, result.settings, result.verdict, "" if is_signed else title_of(result.captures))
    yield gates_section(gates)
    already = partial(has_note, result.verdict, files=[each.path for each in result.captures])
    yield health(result.health, already)
    yield budget(result)
    yield errors(result.errors, most)
    yield findings(result, most)
    yield projection(result.projection)
    yield purposes(result.purposes, result.waits)
    yield chattiness(result.chattiness)
    yield paths(result.paths, most)
    yield segments(result.paths, most)
    yield taps(result.taps, most)
    yield intervals(result.intervals)
    hidden = None if result.timing_only is None or already(result.timing_only.text) else result.timing_only
    yield statements(result.statements, hidden, most, result.projection, is_whole=is_signed)
    yield routes(result.routes, result.summary.round_trips, most)
    yield connections(result.connections, most)
    if is_signed or result.sign_off.is_asked:
        yield sign_off(result.sign_off)
        yield captures(result.captures, most)


def first_screen(result: Analysis, gates: Gates | None = None) -> Iterator[Section]:
    """The answer, what became of the gates, and where to go on."""
    yield cover(result.sign_off)
    yield opening(result.selection, result.settings, result.verdict, title_of(result.captures))
    yield gates_section(gates)
    yield further(result)


def report(result: Analysis, gates: Gates | None = None, most: int = MAX_LIST_ROWS) -> Iterator[Section]:
    """A report to hand on: first what decides, then where the time goes now and there, all else as an appendix."""
    titled = cover(result.sign_off, title_of(result.captures), size_of(result))
    made = {each.name: each for each in (*sections(result, gates, most), titled, *summary(result))}
    yield from (made.pop(name) for name in FIRST)
    yield Section("appendix", "Appendix", [Sentence("The evidence behind the first page.", "quiet")])
    yield from made.values()
