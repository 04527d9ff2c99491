"""The findings: which patterns cost the round trips, what fixes them, what that saves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from latpcap.findings import FindingResult, FixesTogether
from latpcap.findings.frames import short_filter
from latpcap.findings.unjudged import Unjudged
from latpcap.measures.timing_only import TimingOnly, part_of
from latpcap.report.section import Column, Entry, Line, Section, Sentence
from latpcap.report.text import top
from latpcap.result.analysis import Analysis
from latpcap.units import counted, format_given_ms, format_s, listed, percent

FINDINGS = (
    Column("severity", "text", least=8, name="severity"),
    Column("code", "text", least=16, name="code"),
    Column("saves round trips", "count", name="round_trips_saved"),
    Column("saves s now", "s", optional=True, name="saved_at_baseline_s"),
    Column("first frame", "count", optional=True, name="first_frame"),
    Column("finding", "text", least=40, name="title"),
)


def findings(result: Analysis, most: int) -> Section:
    """Show the costliest, what their fixes save at once, and which could not be looked for."""
    headline_rtt_ms = result.projection.headline_rtt_ms
    shown = [finding_entry(each, headline_rtt_ms) for each in result.findings[:most]]
    hidden = [Sentence(text, "missing")] if (text := missing_patterns(result.timing_only, result.unjudged)) else []
    last = [*together(result.fixes_together, headline_rtt_ms), *hidden, *explained(result.findings[:most])]
    parts = [*_order(result), *shown, *last]
    return Section("findings", top("Findings", len(result.findings), most), parts)


def _order(result: Analysis) -> Iterator[Sentence]:
    """Say what several are ordered by."""
    if len(result.findings) > 1:
        told = result.projection.headline_rtt_ms
        there = "" if told is None else f", then by the seconds that each fix saves at {format_given_ms(told)}"
        yield Sentence(f"Ordered by severity{there}.", "quiet")


def listed_findings(
    found: Sequence[FindingResult],
    fixes: FixesTogether | None,
    headline_rtt_ms: float | None,
    missing: str,
) -> Iterator[Section]:
    """Every finding with where it is, what all fixes save at once, and which could not be looked for."""
    for each in found:
        entry, lines = finding_entry(each, headline_rtt_ms), tuple(_filter(each, detail=False))
        shown = tuple(line for line in entry.lines if not line.detail)
        yield Section("finding", "", [replace(entry, lines=(*shown, *lines))])
    yield Section("together", "", [*together(fixes, headline_rtt_ms)])
    yield Section("hidden", "", [Sentence(missing)] if missing else [])
    yield Section("explained", "", [*explained(found)])


def explained(found: Sequence[FindingResult]) -> Iterator[Sentence]:
    """Yield the command that explains the findings."""
    codes = {each.code for each in found} - {"healthy"}
    if codes:
        code = codes.pop() if len(codes) == 1 else "CODE"
        yield Sentence(f"`latpcap explain {code}` shows the rule, an example and the fixes, client by client.", "quiet")


def finding_entry(found: FindingResult, headline_rtt_ms: float | None) -> Entry:
    """A finding: what is wrong, what the fix saves, which statement, what the fix is, and where to look."""
    lines = (
        Line(found.why, detail=True),
        Line(f"saves {saved}" if (saved := _saved(found, headline_rtt_ms)) else "", key="saves"),
        Line(found.statement or "", "statement", kind="code"),
        Line(found.fix, "fix"),
        Line(_where(found), detail=True),
        *_filter(found),
    )
    return Entry(found.title, found.severity, found.severity, found.code, tuple(line for line in lines if line.text))


def together(fixes: FixesTogether | None, headline_rtt_ms: float | None) -> Iterator[Sentence]:
    """Say what all fixes save at once: not the sum, where some of them remove the same waits."""
    if fixes is None or headline_rtt_ms is None:
        return
    seconds = fixes.saved_s[f"{headline_rtt_ms:g}"]
    there = format_given_ms(headline_rtt_ms)
    yield Sentence(f"All fixes together ({listed(fixes.fixes)}) save {format_s(seconds)} at {there}.")


def _where(found: FindingResult) -> str:
    """How many exchanges in which frames, and what shows the job without them."""
    first, last = found.first_frame, found.last_frame
    frames = "" if first is None or last is None else f" in frames {first} to {last}"
    tried = f"; in a terminal: `latpcap project CAPTURE --fix {found.fix_name}`" if found.fix_name else ""
    return f"{counted(found.exchanges, 'exchange')}{frames}{tried}" if found.exchanges else ""


def _filter(found: FindingResult, *, detail: bool = True) -> Iterator[Line]:
    text, more = short_filter(found.display_filter, found.frames)
    more += found.frames_left_out
    if text:
        yield Line(text, "in Wireshark", kind="copied", detail=detail, whole=found.display_filter)
    if more:
        told = f"… {more:,} more (`latpcap findings CAPTURE --columns display_filter`)"
        yield Line(told, kind="quiet", detail=detail)


def _saved(found: FindingResult, headline_rtt_ms: float | None) -> str:
    """Say what the fix saves, at the baseline and at the RTT of the verdict."""
    if not found.fix_name:
        return ""
    times = []
    if found.saved_at_baseline_s is not None:
        times.append(f"{format_s(found.saved_at_baseline_s)} here")
    if headline_rtt_ms is not None:
        times.append(f"{format_s(found.saved_s[f'{headline_rtt_ms:g}'])} at {format_given_ms(headline_rtt_ms)}")
    trips = counted(found.round_trips_alone, "round trip") if found.round_trips_alone else ""
    besides = f" (includes the {listed(found.needs)} fix)" if found.needs else ""
    about = f" (share of the `{found.fix_name}` fix)" if found.estimated else ""
    return ": ".join(filter(None, (trips, ", ".join(times) + besides + about)))


def missing_patterns(hidden: TimingOnly | None, unknown: Unjudged | None) -> str:
    """Say which patterns could not be looked for, or not everywhere."""
    return hidden_patterns(hidden) or _in_part(unknown)


def hidden_patterns(hidden: TimingOnly | None) -> str:
    """Which patterns could not be looked for."""
    if hidden is None:
        return ""
    return f"Encrypted ({part_of(hidden.connections, hidden.of)}): only connection and timing problems were checked."


def _in_part(unknown: Unjudged | None) -> str:
    """Say of how much it is not known whether it is needless, and why."""
    if unknown is None or not unknown.round_trips:
        return ""
    trips = f"{counted(unknown.round_trips, 'round trip')} ({percent(unknown.share)})"
    return f"{trips} in no finding might be avoidable; the capture does not show it: {unknown.text}."
