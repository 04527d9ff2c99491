"""Two captures of one job as a report to hand on: their comparison, both projections, and what became of the findings.

A finding is the same in both where it is the same pattern of the same statement, or of none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Literal, get_args

from msgspec import Struct

from latpcap.findings import FindingResult
from latpcap.findings.registry import NO_FINDINGS
from latpcap.projection.basis import AS_IT_IS
from latpcap.projection.curve import Curve, curves
from latpcap.result.analysis import Analysis, Measures
from latpcap.result.cover import Cover
from latpcap.result.page.exploration import MAX_RTT_MS, MIN_RTT_MS
from latpcap.result.pairs.comparison import Comparison, compare

Change = Literal["new", "remaining", "gone"]


class FindingChange(Struct, frozen=True):
    """One finding in both captures; of what is gone and of what is new, one side is null."""

    change: Change
    before: FindingResult | None
    after: FindingResult | None

    @property
    def latest(self) -> FindingResult:
        """As it is now, or was last."""
        found = self.after or self.before
        assert found is not None
        return found


class BeforeAfter(Struct, frozen=True):
    """Both captures, and what is different."""

    comparison: Comparison
    before: Analysis
    after: Analysis
    findings: tuple[FindingChange, ...]
    """Findings: new, remaining and gone; each sorted by cost."""
    curves: tuple[Curve | None, Curve | None]
    """The runtimes before and after over the same RTTs; `None` where the baseline RTT is unknown."""


def before_after(before: Measures, after: Measures, cover: Cover | None = None) -> BeforeAfter:
    """Set `after` against `before`, and project both onto the same RTTs; `cover` is what the report is given to say."""
    both = before, after
    first, second = (measures.analyze(cover=cover) for measures in both)
    baselines = [each.projection.baseline_rtt_ms for each in (first, second)]
    known = [rtt for rtt in baselines if rtt is not None]
    low_ms, high_ms = min([MIN_RTT_MS, *known]), max([MAX_RTT_MS, *known])
    asked_ms = sorted({point.rtt_ms for point in first.projection.points} | set(known))
    old, new = (_curve(measures, low_ms, high_ms, asked_ms) for measures in both)
    return BeforeAfter(compare(first, second), first, second, tuple(_changes(first, second)), (old, new))


def _curve(measures: Measures, low_ms: float, high_ms: float, asked_ms: Sequence[float]) -> Curve | None:
    base = measures.application.basis
    return None if base.job is None else curves(base, [AS_IT_IS], low_ms, high_ms, asked_ms)[0]


def _changes(before: Analysis, after: Analysis) -> Iterator[FindingChange]:
    old, new = _by_key(before), _by_key(after)
    pairs = [pair for key in dict.fromkeys((*new, *old)) for pair in zip_longest(old.get(key, ()), new.get(key, ()))]
    for change in get_args(Change):
        yield from (FindingChange(change, *pair) for pair in pairs if _change(*pair) == change)


def _by_key(analysis: Analysis) -> dict[tuple[str, str | None], list[FindingResult]]:
    """The findings of each pattern of each statement; that there is none is no finding here."""
    found: dict[tuple[str, str | None], list[FindingResult]] = {}
    for each in analysis.findings:
        if each.code not in NO_FINDINGS:
            found.setdefault((each.code, each.fingerprint), []).append(each)
    return found


def _change(before: FindingResult | None, after: FindingResult | None) -> Change:
    if before is None:
        return "new"
    return "gone" if after is None else "remaining"
