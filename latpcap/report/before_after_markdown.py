"""Two captures of one job as Markdown: what changed, why, and what both would take elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from latpcap.display import plain
from latpcap.report.markdown import captures_of, cell_of, code_of, cover_of, gates_of, sign_off_of, table, text_of
from latpcap.report.terminal import PARTS
from latpcap.report.text import TOP, number, printable
from latpcap.report.timing_only import about_findings
from latpcap.result.analysis import Analysis
from latpcap.result.before_after import BeforeAfter, FindingChange
from latpcap.result.comparison import Comparison
from latpcap.result.gates import Gates
from latpcap.units import counted, format_given_ms, format_ms, format_s, percent, significant

__all__ = ["render"]


def render(result: BeforeAfter, gates: Gates | None = None) -> str:
    """Return the Markdown."""
    both = result.before, result.after
    sections = (
        cover_of(result.after.sign_off),
        [f"**{text_of(result.comparison.explanation)}**"],
        gates_of(gates),
        _figures(*both),
        _budget(result.comparison),
        _elsewhere(*both),
        _findings(result),
        _statements(result.comparison),
        _errors(result.comparison),
        *(_made(when, analysis) for when, analysis in zip(("Before", "After"), both, strict=True)),
    )
    return "\n\n".join("\n".join(lines) for section in sections if (lines := list(section))) + "\n"


def _figures(before: Analysis, after: Analysis) -> Iterator[str]:
    old, new = before.summary, after.summary
    counts = {
        "round trips": (old.round_trips, new.round_trips),
        "exchanges": (old.exchanges, new.exchanges),
        "database connections": (old.connections, new.connections),
        "errors": (before.errors.failures, after.errors.failures),
    }
    yield "## The figures\n"
    rows = [("runtime s", number(old.runtime_s), number(new.runtime_s), _signed(new.runtime_s - old.runtime_s, number))]
    rows += [(name, f"{was:,}", f"{now:,}", _signed(now - was, "{:,}".format)) for name, (was, now) in counts.items()]
    rows += [
        ("baseline RTT", _known(old.baseline_rtt_ms, format_ms), _known(new.baseline_rtt_ms, format_ms), ""),
        ("the network's share", _known(old.network_share, percent), _known(new.network_share, percent), ""),
    ]
    yield from table(("", "before", "after", "difference"), rows, left=(0,))


def _budget(comparison: Comparison) -> Iterator[str]:
    yield "## Where the time went\n"
    yield from table(
        ("part", "before s", "after s", "difference s"),
        (
            (
                PARTS[each.name][1],
                number(each.before_s),
                number(each.after_s),
                _signed(each.after_s - each.before_s, number),
            )
            for each in comparison.budget
            if each.before_s or each.after_s
        ),
        left=(0,),
    )


def _elsewhere(before: Analysis, after: Analysis) -> Iterator[str]:
    yield "## At the same round-trip time\n"
    if before.projection.baseline_rtt_ms is None or after.projection.baseline_rtt_ms is None:
        yield "Unknown, because the baseline RTT of one of the captures is; give it with `--rtt-baseline`."
        return
    rows = []
    for old, new in zip(before.projection.points, after.projection.points, strict=True):
        was, now = old.runtime_s or 0.0, new.runtime_s or 0.0
        ranges = [
            f"{significant(each.optimistic_s or 0)} to {significant(each.pessimistic_s or 0)}" for each in (old, new)
        ]
        ratio = f"× {significant(now / was)}" if was else ""
        cells = (significant(was), ranges[0], significant(now), ranges[1], _signed(now - was, significant), ratio)
        rows.append((format_given_ms(old.rtt_ms), *cells))
    titles = ("RTT", "before s", "range s", "after s", "range s", "difference s", "after ÷ before")
    yield from table(titles, rows)
    yield from (
        f"\n{text_of(text)}" for text in dict.fromkeys((before.projection.range_text, after.projection.range_text))
    )


def _findings(result: BeforeAfter) -> Iterator[str]:
    hidden = {"Before": result.before.timing_only, "After": result.after.timing_only}
    if not result.findings and not any(hidden.values()):
        return
    yield "## Findings\n"
    for each in result.findings:
        saving = "; ".join(_savings(each, result))
        yield f"- {each.change}: {text_of(each.latest.title)}{f' ({saving})' if saving else ''}"
        if each.latest.statement:
            yield f"  - statement: {code_of(each.latest.statement)}"
        if each.after is not None:
            yield f"  - fix: {text_of(each.after.fix)}"
    for when, what in hidden.items():
        if what:
            yield f"\n{when}: {text_of(about_findings(what))}"


def _savings(change: FindingChange, result: BeforeAfter) -> Iterator[str]:
    """What the fix saves in either."""
    told = result.before.projection.told_rtt_ms
    for when, found in (("before", change.before), ("after", change.after)):
        if found is not None and found.round_trips_saved:
            seconds = found.saved_s.get(f"{told:g}") if told is not None else None
            beside = "" if told is None or seconds is None else f", {format_s(seconds)} at {format_given_ms(told)}"
            whose = f"{when} " if change.change == "remaining" else ""
            yield f"{whose}{counted(found.round_trips_saved, 'round trip')} to save{beside}"


def _statements(comparison: Comparison) -> Iterator[str]:
    count = len(comparison.statements)
    if count:
        shown = f"the {TOP} that changed most of {count:,}" if count > TOP else f"{count:,}"
        yield f"## Statements that changed ({shown}; {comparison.unchanged:,} did not)\n"
        yield from table(
            ("change", "ran before", "after", "round trips before", "after", "statement"),
            (
                (
                    each.change,
                    *(f"{value:,}" for value in (each.executions_before, each.executions_after)),
                    *(f"{value:,}" for value in (each.round_trips_before, each.round_trips_after)),
                    cell_of(printable(each.text)),
                )
                for each in comparison.statements[:TOP]
            ),
            left=(0, 5),
        )


def _errors(comparison: Comparison) -> Iterator[str]:
    if comparison.errors:
        yield "## Errors\n"
        rows = (
            (text_of(each.code), each.kind, f"{each.before:,}", f"{each.after:,}") for each in comparison.errors[:TOP]
        )
        yield from table(("code", "what failed", "before", "after"), rows, left=(0, 1))


def _made(when: str, analysis: Analysis) -> Iterator[str]:
    """Of what it is, under headings that say of which capture."""
    for line in (*sign_off_of(analysis.sign_off), "", *captures_of(plain(analysis.captures))):
        yield line.replace("## ", f"## {when}: ", 1) if line.startswith("## ") else line


def _known(value: float | None, show: Callable[[float], str]) -> str:
    return "unknown" if value is None else show(value)


def _signed(difference: float, show: Callable[[float], str]) -> str:
    """With its sign, but for what rounds to nothing."""
    text = show(abs(difference))
    if not any(digit in text for digit in "123456789"):
        return text
    return f"{'+' if difference > 0 else '−'}{text}"
