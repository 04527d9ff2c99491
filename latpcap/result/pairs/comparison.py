"""Two captures of one job, side by side: what was added, what is gone, and what explains the difference.

The network's part of a budget is round trips × RTT, so its difference falls apart into two:
Δ(n·L) = (n₂ − n₁)·L₁ + n₂·(L₂ − L₁): what other round trips cost, and what the other RTT costs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from latpcap.display import Displayed
from latpcap.measures.timing_only import TimingOnly
from latpcap.result.analysis import Analysis
from latpcap.result.captures import CaptureFile
from latpcap.result.errors import ErrorsResult, of_all
from latpcap.result.settings import Settings
from latpcap.result.signoff import PROGRAM
from latpcap.result.statements import StatementResult
from latpcap.result.verdict import PART_NAMES
from latpcap.tables.columnar import passes
from latpcap.tables.columnar.columns import Ints
from latpcap.tables.columnar.texts import Texts
from latpcap.tables.columnar.values import Names, Numbers, Rows, Values, column_of
from latpcap.tables.part.selection import Selected
from latpcap.units import counted, format_ms, format_s, listed

MIN_CHANGE = 0.02
"""Parts that changed by less than this share of the larger runtime explain nothing."""

NAMES = {name: text for name, text in PART_NAMES.items() if name != "network_s"}
NAMES |= {"service_s": "the server", "client_s": "the application", "unknown_s": "exchanges that were captured in part"}
"""The parts that have nothing to do with the distance, as a sentence has them."""


class BudgetDifference(Struct, frozen=True):
    """One part of the time budget in both captures, in seconds."""

    name: str
    before_s: float
    after_s: float


class StatementChange(Struct, frozen=True):
    """One statement in both captures; `change` is added, gone or changed."""

    fingerprint: str | None
    text: str
    change: str
    executions_before: int
    executions_after: int
    round_trips_before: int
    round_trips_after: int


class ErrorChange(Struct, frozen=True):
    """One error code in both captures: how often it was the answer."""

    kind: str
    code: str
    before: int
    after: int


class Comparison(Displayed, Struct, frozen=True):
    """The differences between two captures of one job."""

    schema = "latpcap.comparison/1"

    runtime_before_s: float
    runtime_after_s: float
    round_trips_before: int
    round_trips_after: int
    baseline_before_ms: float | None
    baseline_after_ms: float | None
    network_share_before: float | None
    network_share_after: float | None
    budget: tuple[BudgetDifference, ...]
    statements: Sequence[StatementChange]
    """Statements that changed, the largest change of round trips first."""
    unchanged: int
    """Statements that ran as often and waited as often."""
    explanation: str
    selection_before: Selected | None
    """The compared part of each; null for all."""
    selection_after: Selected | None
    settings_before: Settings
    settings_after: Settings
    errors: tuple[ErrorChange, ...]
    """Failures in either, the largest change first."""
    timing_only_before: TimingOnly | None
    """The part of each that could not be read, nor compared by statement; null where all was."""
    timing_only_after: TimingOnly | None
    captures_before: tuple[CaptureFile, ...]
    captures_after: tuple[CaptureFile, ...]
    program: str
    """`latpcap` and its version."""


def compare(before: Analysis, after: Analysis) -> Comparison:
    """Set `after` against `before`."""
    changes, unchanged = _changes(before, after)
    old, new = before.budget.parts(), after.budget.parts()
    return Comparison(
        before.summary.runtime_s,
        after.summary.runtime_s,
        before.summary.round_trips,
        after.summary.round_trips,
        before.summary.baseline_rtt_ms,
        after.summary.baseline_rtt_ms,
        before.summary.network_share,
        after.summary.network_share,
        tuple(BudgetDifference(name, seconds, new[name]) for name, seconds in old.items()),
        changes,
        unchanged,
        " ".join((_explanation(before, after), *_failing(before.errors, after.errors), *_hidden(before, after))),
        before.selection,
        after.selection,
        before.settings,
        after.settings,
        tuple(_errors(before.errors, after.errors)),
        before.timing_only,
        after.timing_only,
        before.captures,
        after.captures,
        PROGRAM,
    )


def _hidden(before: Analysis, after: Analysis) -> Iterator[str]:
    """Count the connections with nothing to compare but round trips and times."""
    sides = ("before", before.timing_only), ("after", after.timing_only)
    hidden = [f"{each.connections:,} of {counted(each.of, 'connection')} {when}" for when, each in sides if each]
    if hidden:
        yield f"Timing only, so without statements to compare: {listed(hidden)}."


def _errors(before: ErrorsResult, after: ErrorsResult) -> Iterator[ErrorChange]:
    old, new = (Counter[tuple[str, str]](), Counter[tuple[str, str]]())
    for counts, errors in ((old, before), (new, after)):
        for each in errors.found:
            counts[each.kind, each.code] += each.count
    for kind, code in sorted(old | new, key=lambda key: (-abs(new[key] - old[key]), key)):
        yield ErrorChange(kind, code, old[kind, code], new[kind, code])


def _changes(before: Analysis, after: Analysis) -> tuple[Rows[StatementChange], int]:
    """The statements that changed, the largest change of round trips first, and how many others there are."""
    sides = before.statements, after.statements
    protocol, fingerprint, text = (
        Names.joined(*(_names(rows, name) for rows in sides)) for name in ("protocol", "fingerprint", "text")
    )
    of_each = passes.numbered(protocol.texts.first_like[protocol.rows], _numbers_of_texts(fingerprint, text))
    count, edge = int(of_each.max(initial=-1)) + 1, len(sides[0])
    old, new = _last_places(of_each[:edge], count), _last_places(of_each[edge:], count)
    (ran, runs), (waited, waits) = (
        [_counts(rows, name, places) for rows, places in zip(sides, (old, new), strict=True)]
        for name in ("executions", "round_trips")
    )
    different = (old < 0) | (new < 0) | (ran != runs) | (waited != waits)
    appeared = np.full(count, len(of_each))
    appeared[of_each[::-1]] = np.arange(len(of_each))[::-1]
    changed = np.flatnonzero(different)
    changed = changed[np.lexsort((appeared[changed], -np.abs(waits - waited)[changed]))]
    last = np.where(new >= 0, new + edge, old)[changed]
    change = np.where(old < 0, 0, np.where(new < 0, 1, 2))[changed]
    columns: dict[str, Values[Any]] = {
        "fingerprint": fingerprint.at(last),
        "text": text.at(last),
        "change": Names(Texts.listed(("added", "gone", "changed")), change),
        "executions_before": Numbers(ran[changed]),
        "executions_after": Numbers(runs[changed]),
        "round_trips_before": Numbers(waited[changed]),
        "round_trips_after": Numbers(waits[changed]),
    }
    return Rows(columns, StatementChange), count - len(changed)


def _names(statements: Sequence[StatementResult], name: str) -> Names:
    column = column_of(statements, name)
    return column if isinstance(column, Names) else Names.of(column)


def _numbers_of_texts(fingerprint: Names, text: Names) -> Ints:
    """Equal for statements with one fingerprint; for commands, which have none, with one name."""
    both = Names.joined(fingerprint, text)
    alike, says = both.texts.first_like, np.append(both.texts.sizes > 0, False)
    rows, names = np.split(both.rows, 2)
    return alike[np.where(says[rows], rows, names)]


def _last_places(of_each: Ints, count: int) -> Ints:
    """The last row of each statement; -1 for none."""
    places = np.full(count, -1)
    places[of_each] = np.arange(len(of_each))
    return places


def _counts(statements: Sequence[StatementResult], name: str, places: Ints) -> Ints:
    """One field of the statements at `places`; 0 where there is none."""
    column = column_of(statements, name)
    values = column.values if isinstance(column, Numbers) else np.array(column, np.int64)
    return np.append(values, 0)[places]


def _failing(before: ErrorsResult, after: ErrorsResult) -> Iterator[str]:
    """Say where more or fewer failed: a failure may be quick."""
    for (kind, ran, of), (_, runs, of_now) in zip(before.by_kind, after.by_kind, strict=True):
        if ran != runs:
            yield f"Failed: {of_all(kind, ran, of)} before, {of_all(kind, runs, of_now)} after."


def _explanation(before: Analysis, after: Analysis) -> str:
    """One sentence: how much slower or faster, and why, the largest reason first."""
    difference = after.summary.runtime_s - before.summary.runtime_s
    causes = sorted(_causes(before, after), key=lambda cause: -abs(cause[0]))
    least = MIN_CHANGE * max(after.summary.runtime_s, before.summary.runtime_s)
    reasons = [f"{_signed(seconds)} {text}" for seconds, text in causes if abs(seconds) >= least]
    if abs(difference) < least and not reasons:
        return "Both take the same time."
    verb = "slower" if difference > 0 else "faster"
    return f"{format_s(abs(difference))} {verb}: {'; '.join(reasons) or 'many small differences'}."


def _causes(before: Analysis, after: Analysis) -> list[tuple[float, str]]:
    old, new = (result.budget.parts() for result in (before, after))
    causes = [(new[name] - old[name], f"for {text}") for name, text in NAMES.items()]
    near, far = before.summary.baseline_rtt_ms, after.summary.baseline_rtt_ms
    total = new["network_s"] - old["network_s"]
    if near is None or far is None or after.summary.effective_round_trips == 0:
        return [*causes, (total, "waiting for the network")]
    trips = after.summary.effective_round_trips - before.summary.effective_round_trips
    by_trips = trips * near / 1000 if abs(trips) >= 1 else 0.0
    change = after.summary.round_trips - before.summary.round_trips
    more = f"{abs(change):,} {'more' if change >= 0 else 'fewer'} round trips"
    rtt = f"because the RTT is {format_ms(far)} instead of {format_ms(near)}"
    return [*causes, (by_trips, f"for {more} at {format_ms(near)}"), (total - by_trips, rtt)]


def _signed(seconds: float) -> str:
    return f"{'+' if seconds >= 0 else '−'}{format_s(abs(seconds))}"
