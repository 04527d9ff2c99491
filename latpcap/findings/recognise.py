"""From the evidence to the findings: every pattern looks, then they share out the round trips."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from latpcap.findings.evidence import Evidence
from latpcap.findings.finding import Candidate, Effect, Finding, Pattern
from latpcap.findings.overlap import Claimed, weighted_round_trips
from latpcap.findings.registry import HEALTHY, PATTERNS
from latpcap.findings.unjudged import Unjudged, unjudged
from latpcap.units import counted

MAX_FINDINGS = 100
"""The costliest findings with a fix that are kept. Findings without a fix are few, and all stay."""
MAX_SITES = 5
"""Places in the code that a finding names."""
MIN_READABLE_SHARE = 0.9
"""A recording is called healthy only if at least this share of its round trips is readable."""


def candidates(evidence: Evidence, values: Mapping[str, int] | None = None) -> list[Claimed]:
    """Candidates of every pattern by itself; `values`: the value of a fix (rows a fetch, …) by its name."""
    return [
        (pattern, candidate)
        for pattern in PATTERNS
        for candidate in pattern.find(evidence, (values or {}).get(pattern.fix))
        if pattern.fix == "" or _saves(candidate.effect)
    ]


def find(evidence: Evidence, claimed: Sequence[Claimed]) -> list[Finding]:
    """The findings of what was `claimed`, roughly sorted by cost; where nothing was, that all is well."""
    if not claimed and _is_legible(evidence, unjudged(evidence, claimed)):
        claimed = [(HEALTHY, candidate) for candidate in HEALTHY.find(evidence, None)]
    total = float(evidence.timeline.effective.sum())
    return [_finding(evidence, pattern, candidate, total) for pattern, candidate in _most(claimed)]


def _most(claimed: Sequence[Claimed]) -> list[Claimed]:
    """The first that are promised to save anything, and all others, in their order."""
    fixes = [number for number, (pattern, _) in enumerate(claimed) if pattern.fix]
    room = max(MAX_FINDINGS - (len(claimed) - len(fixes)), 0)
    left_out = frozenset(fixes[room:])
    return [each for number, each in enumerate(claimed) if number not in left_out]


def _saves(effect: Effect) -> bool:
    return bool(effect.saved.sum() > 0 or effect.stall_ns.sum() > 0 or len(effect.closed))


def _is_legible(evidence: Evidence, unknown: Unjudged | None) -> bool:
    if unknown and unknown.is_much:
        return False
    trips = evidence.exchanges.round_trips
    unreadable = evidence.exchanges.command.where({"unreadable", "unknown"}.__contains__)
    unreadable |= evidence.exchanges.is_execution & (evidence.exchanges.fingerprint < 0)
    worked = (evidence.is_execution | evidence.is_fetch).any()
    return bool(worked and trips.sum() > 0 and trips[unreadable].sum() <= (1 - MIN_READABLE_SHARE) * trips.sum())


def _finding(evidence: Evidence, pattern: Pattern, candidate: Candidate, total: float) -> Finding:
    fingerprint = evidence.text(candidate.fingerprint) if candidate.fingerprint >= 0 else None
    sites = _sites(evidence, candidate)
    return Finding(
        code=pattern.code,
        fix_name=pattern.fix,
        title=_title(pattern, candidate),
        why=f"{pattern.why} {_in_part(evidence, candidate)}".rstrip(),
        fix=f"{candidate.fix} {_asked_by(sites)}".rstrip(),
        share=_share(evidence, candidate.effect, total) if candidate.share is None else candidate.share,
        suggestion=pattern.suggestion or (pattern.fix == "" and candidate.share is None),
        fingerprint=fingerprint,
        statement=candidate.statement if fingerprint is None else fingerprint,
        shown=candidate.shown,
        effect=candidate.effect,
        facts={**candidate.facts, "sites": sites} if sites else candidate.facts,
        needs=candidate.needs,
        statement_id=candidate.fingerprint,
        place=candidate.place,
    )


def _in_part(evidence: Evidence, candidate: Candidate) -> str:
    """Say how much of a finding was captured in part."""
    count = int(np.count_nonzero(~evidence.exchanges.complete[candidate.shown]))
    was = "was" if count == 1 else "were"
    return f"{count:,} of {counted(len(candidate.shown), 'exchange')} {was} captured in part." if count else ""


def _sites(evidence: Evidence, candidate: Candidate) -> dict[str, int]:
    """The places in the code that its statements come from, as their comments say, and how often each."""
    places, of_exchange = evidence.sites
    numbers = of_exchange[candidate.shown] if places else candidate.shown[:0]
    counts = np.bincount(numbers[numbers >= 0], minlength=len(places))
    most = np.argsort(-counts, kind="stable")[:MAX_SITES]
    return {places[number]: int(counts[number]) for number in most.tolist() if counts[number]}


def _asked_by(sites: Mapping[str, int]) -> str:
    return f"Issued by {', '.join(f'{site} × {count:,}' for site, count in sites.items())}." if sites else ""


def _title(pattern: Pattern, candidate: Candidate) -> str:
    title = pattern.title.format_map(dict(candidate.facts))
    return f"{title} ({candidate.place})" if candidate.place else title


def _share(evidence: Evidence, effect: Effect, total: float) -> float:
    share = weighted_round_trips(evidence, effect) / total if total > 0 else 0.0
    runtime_ns = evidence.timeline.runtime_s * 1e9
    return max(share, float(effect.stall_ns.sum()) / runtime_ns if runtime_ns > 0 else 0.0)
