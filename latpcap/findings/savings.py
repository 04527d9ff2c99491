"""Savings of findings: the job replayed without what their fixes remove. One engine for every command and report.

A fix is replayed alone with all its findings at once, as `project --fix` makes it. Where it has several findings, they
share what it saves in the ratio of their round trips, so that they add up; their results say so (`estimated`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import numpy as np
from msgspec import Struct

from latpcap.findings.evidence import Evidence
from latpcap.findings.finding import Effect, Finding
from latpcap.findings.fixes import variant_of
from latpcap.findings.overlap import Claimed, saved_ns, share_out
from latpcap.findings.recognise import candidates, find
from latpcap.findings.unjudged import Unjudged, unjudged
from latpcap.projection.assumptions import CENTRAL
from latpcap.projection.basis import AS_IT_IS, Basis, Variant
from latpcap.tables.columnar import passes
from latpcap.tables.columnar.columns import Floats

CONNECT_ROUND_TRIPS = 2
"""A connection whose TCP handshake was not captured waited for that and for the server's greeting."""


class FixSet(Struct, frozen=True):
    """Fixes that are made together, and what is left of the job then."""

    made: tuple[Claimed, ...]
    """Candidates they are made for, each with what it removes that no other one counts."""
    variant: Variant

    @property
    def effects(self) -> list[Effect]:
        """Effects of the fixes."""
        return [candidate.effect for _, candidate in self.made]

    @property
    def round_trips_saved(self) -> int:
        """Whole round trips, TCP handshakes included."""
        return round(sum(map(_round_trips, self.effects)))

    def needs(self, names: Iterable[str]) -> tuple[str, ...]:
        """Fixes beyond `names` that had to be made with them."""
        needed = {fix for _, candidate in self.made for fix in candidate.needs}
        return tuple(sorted((needed & {pattern.fix for pattern, _ in self.made}) - set(names)))


class Saving(Struct, frozen=True):
    """The savings of one finding's fix when it is made alone."""

    finding: Finding
    round_trips: int
    """Round trips that it saves, with those of the fixes it needs and those that other findings save, too."""
    saved_s: Floats
    """At each asked RTT."""
    part: float
    """Its part of its fix's savings."""
    estimated: bool
    """Its share of what the fix saves with all its findings; otherwise replayed by itself."""


class Savings:
    """The findings of a recording, and what any of their fixes save."""

    def __init__(self, evidence: Evidence, base: Basis) -> None:
        """Look for nothing yet."""
        self.evidence = evidence
        self.base = base
        self._candidates: dict[tuple[tuple[str, int], ...], list[Claimed]] = {}
        self._findings: list[Finding] | None = None

    def findings(self) -> list[Finding]:
        """Recognised findings, roughly sorted by cost."""
        if self._findings is None:
            self._findings = find(self.evidence, self.claimed)
        return self._findings

    @cached_property
    def claimed(self) -> Sequence[Claimed]:
        """Candidates recognised, before they become findings: none where there is nothing to fix."""
        return share_out(self.evidence, self.candidates())

    @cached_property
    def unjudged(self) -> Unjudged | None:
        """The requests captured in part, which may be needless all the same."""
        return unjudged(self.evidence, self.claimed)

    def in_part(self, made: FixSet) -> tuple[int, int]:
        """Return how many round trips of what was captured in part stay, and how many of these may go all the same.

        A request that was lost right before or behind what the fixes remove may go with it.
        """
        evidence = self.evidence
        if self.unjudged is None:
            return 0, 0
        waits = np.flatnonzero(evidence.waits)
        gone = np.zeros(len(evidence.exchanges), bool)
        for effect in made.effects:
            gone[effect.rows] = True
        gone, lost, connection = (column[waits] for column in (gone, evidence.is_lost, evidence.exchanges.connection))
        goes = np.where(lost, -1, gone)
        before, behind = (
            passes.last_known(goes[step], connection[step])[step] for step in (slice(None), slice(None, None, -1))
        )
        stays = ~gone & ~evidence.exchanges.complete[waits]
        may_go = lost & ~gone & ((before == 1) | (behind == 1))
        opening = CONNECT_ROUND_TRIPS * self.unjudged.connections
        return int(np.count_nonzero(stays)) + opening, int(np.count_nonzero(may_go))

    def candidates(self, values: Mapping[str, int] | None = None) -> list[Claimed]:
        """Candidates of every pattern by itself; `values`: those of fixes that are not the usual ones."""
        key = tuple(sorted((values or {}).items()))
        if key not in self._candidates:
            self._candidates[key] = candidates(self.evidence, values)
        return self._candidates[key]

    def fix_set(self, names: Iterable[str], values: Mapping[str, int] | None = None) -> FixSet:
        """The fixes of these names made, with what they need."""
        made = share_out(self.evidence, self._chosen(set(names), values))
        if self.base.job is None or not made:
            return FixSet(tuple(made), AS_IT_IS)
        return FixSet(tuple(made), variant_of([each.effect for _, each in made], self.evidence))

    def savings(self, rtt_ms: Sequence[float], rank_ms: float | None = None) -> list[Saving]:
        """Savings of each finding at each of `rtt_ms`; suggestions come last.

        Sorted by cost at `rank_ms` (one of `rtt_ms`; default: the largest).
        """
        found = self.findings()
        fixes = list(dict.fromkeys(finding.fix_name for finding in found if finding.fix_name))
        sets = [self.fix_set([fix]) for fix in fixes]
        saved = zip(fixes, sets, self.saved_s(sets, rtt_ms), strict=True)
        savings = [each for fix, made, saved_s in saved for each in self._shared(fix, made, saved_s)]
        nothing = np.zeros(len(rtt_ms))
        savings += [Saving(finding, 0, nothing, 1.0, estimated=False) for finding in found if not finding.fix_name]
        order = {id(finding): place for place, finding in enumerate(found)}
        column = list(rtt_ms).index(max(rtt_ms) if rank_ms is None else rank_ms) if len(rtt_ms) else None

        def rank(saving: Saving) -> tuple[bool, float, int]:
            most = 0.0 if column is None else float(saving.saved_s[column])
            return saving.finding.suggestion, -most, order[id(saving.finding)]

        return sorted(savings, key=rank)

    def saved_s(self, sets: Sequence[FixSet], rtt_ms: Sequence[float]) -> list[Floats]:
        """Seconds that each set saves at each RTT; none where the baseline is unknown."""
        if self.base.job is None or not sets or not len(rtt_ms):
            return [np.zeros(len(rtt_ms)) for _ in sets]
        self.evidence.forget()
        asked = [(variant, rtt_ms) for variant in (AS_IT_IS, *(each.variant for each in sets))]
        [[as_it_is, *fixed]] = self.base.runtimes_of(asked, [CENTRAL])
        self.evidence.forget()
        return [np.maximum(as_it_is - each, 0.0) for each in fixed]

    def _shared(self, fix: str, made: FixSet, saved_s: Floats) -> list[Saving]:
        """The shares of one fix's findings in its savings."""
        mine = [finding for finding in self.findings() if finding.fix_name == fix]
        effects = [self._effects(finding, made) for finding in mine]
        weights = np.array([sum(saved_ns(self.evidence, effect) for effect in each) for each in effects])
        whole = float(weights.sum())
        parts = weights / whole if whole > 0 else np.full(len(mine), 1 / len(mine))
        return [
            Saving(finding, round(sum(map(_round_trips, each))), saved_s * part, float(part), estimated=len(mine) > 1)
            for finding, each, part in zip(mine, effects, parts, strict=True)
        ]

    @staticmethod
    def _effects(finding: Finding, made: FixSet) -> list[Effect]:
        """Effects of a finding's fix and of those it needs."""
        return [
            candidate.effect
            for pattern, candidate in made.made
            if candidate.shown is finding.shown or (pattern.fix in finding.needs and candidate.asked == finding.asked)
        ]

    def _chosen(self, names: set[str], values: Mapping[str, int] | None) -> list[Claimed]:
        """The candidates whose fixes are made: those that were found, or where all were dropped, these."""
        every = self.candidates(values)
        found = {(finding.code, *finding.asked) for finding in self.findings()}
        kept = [each for each in every if _key(each) in found]
        fixes = {pattern.fix for pattern, _ in kept}
        usable = [each for each in every if _key(each) in found or each[0].fix not in fixes]
        needed = {
            (fix, *candidate.asked) for pattern, candidate in usable if pattern.fix in names for fix in candidate.needs
        }
        return [
            (pattern, candidate)
            for pattern, candidate in usable
            if pattern.fix in names or (pattern.fix, *candidate.asked) in needed
        ]


def _key(claimed: Claimed) -> tuple[str, int, str]:
    pattern, candidate = claimed
    return pattern.code, *candidate.asked


def _round_trips(effect: Effect) -> float:
    return float(effect.saved.sum()) + len(effect.closed)
