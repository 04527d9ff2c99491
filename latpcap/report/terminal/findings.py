"""The findings: which patterns cost the round trips, what fixes them, what that saves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import RenderableType
from rich.text import Text

from latpcap.findings import FindingResult, FixesTogether
from latpcap.findings.frames import short_filter
from latpcap.measures.timing_only import TimingOnly
from latpcap.report.console import heading, print_renderables
from latpcap.report.destination import going_to
from latpcap.report.text import TOP, printable, top
from latpcap.report.timing_only import about_findings
from latpcap.units import counted, format_given_ms, format_s, listed

__all__ = ["findings", "findings_text"]

SEVERITIES = {"high": "bold red", "medium": "yellow", "low": "cyan", "info": "dim"}


def findings(
    findings: tuple[FindingResult, ...],
    together: FixesTogether | None,
    told_rtt_ms: float | None,
    timing_only: TimingOnly | None = None,
) -> Iterator[RenderableType]:
    """The costliest, in short, and which could not be looked for."""
    if not findings and timing_only is None:
        return
    yield heading(top("Findings", len(findings)))
    for finding in findings[:TOP]:
        yield from _finding(finding, told_rtt_ms)
    yield from _together(together, told_rtt_ms)
    if text := about_findings(timing_only):
        yield Text(text, style="dim")


def _finding(finding: FindingResult, told_rtt_ms: float | None) -> Iterator[RenderableType]:
    style = SEVERITIES[finding.severity]
    yield Text.assemble((f"{finding.severity}: ", style), printable(finding.title), f" [{finding.code}]")
    if saved := _saved(finding, told_rtt_ms):
        yield Text(f"  saves {saved}")
    if finding.statement:
        yield Text(f"  {printable(finding.statement)}", no_wrap=True, overflow="ellipsis", style="dim")
    if finding.fix:
        yield Text(f"  {printable(finding.fix)}")


def _together(together: FixesTogether | None, told_rtt_ms: float | None) -> Iterator[RenderableType]:
    """What all fixes save at once: not the sum, where some of them remove the same waits."""
    if together is None or told_rtt_ms is None:
        return
    seconds = together.saved_s[f"{told_rtt_ms:g}"]
    yield Text(f"Together {listed(together.fixes)} save {format_s(seconds)} at {format_given_ms(told_rtt_ms)}.")


def findings_text(
    findings: Iterable[FindingResult],
    together: FixesTogether | None,
    told_rtt_ms: float | None,
    *,
    whole_filters: bool = False,
    timing_only: TimingOnly | None = None,
) -> str:
    """Every finding whole, what all fixes save at once, and which could not be looked for.

    The display filter of a finding's packets stands on one line however long: it is there to be copied. Unless they are
    wanted whole, it shows the first ranges of frames.
    """
    shown = [
        print_renderables(_finding(finding, told_rtt_ms))
        + "".join(f"  {line}\n" for line in _filter(finding, whole_filters))
        for finding in findings
    ]
    hidden = [Text(text)] if (text := about_findings(timing_only)) else []
    below = (print_renderables(_together(together, told_rtt_ms)), print_renderables(hidden))
    return "\n".join(filter(None, (*shown, *below)))


def _filter(finding: FindingResult, whole: bool) -> Iterator[str]:
    text, more = (finding.display_filter, 0) if whole else short_filter(finding.display_filter, finding.frames)
    more += finding.frames_left_out
    if text:
        yield text
    if more:
        yield f"{'…' if going_to().takes_unicode else '...'} {more:,} more (`--filters`, `annotate`)"


def _saved(finding: FindingResult, told_rtt_ms: float | None) -> str:
    """What the fix saves, at the baseline and at the RTT of the verdict."""
    if not finding.fix_name:
        return ""
    times = []
    if finding.saved_at_baseline_s is not None:
        times.append(f"{format_s(finding.saved_at_baseline_s)} here")
    if told_rtt_ms is not None:
        times.append(f"{format_s(finding.saved_s[f'{told_rtt_ms:g}'])} at {format_given_ms(told_rtt_ms)}")
    trips = counted(finding.round_trips_alone, "round trip") if finding.round_trips_alone else ""
    besides = f" (with {', '.join(finding.needs)}, which it needs)" if finding.needs else ""
    about = " (one of several findings that this fix covers)" if finding.estimated else ""
    return ": ".join(filter(None, (trips, ", ".join(times) + besides + about)))
