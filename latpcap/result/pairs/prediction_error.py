"""Why a run at another RTT took longer or shorter than predicted, as far as the two recordings tell."""

from __future__ import annotations

from collections.abc import Iterator

from latpcap.result.analysis import Analysis, Summary
from latpcap.result.pairs.validation import MAX_CHANGE, Validation
from latpcap.units import format_ms

MIN_ERROR = 0.05
"""A smaller difference of the runtimes needs no reason."""
MIN_HOST_SHARE = 0.5
"""Hosts are the reason if they have at least this share of the difference."""
MAX_REST_EXTRA_MS = 1.0
"""A round trip that takes more longer does not only follow a longer rest."""


def reasons(today: Analysis, there: Analysis, found: Validation) -> Iterator[str]:
    """Yield the differences beside the RTT, a sentence each."""
    if abs(found.error) < MIN_ERROR and found.inside:
        return
    before, after = today.summary, there.summary
    apart = before.effective_round_trips / after.effective_round_trips - 1 if after.effective_round_trips else 0.0
    if min(_beside(before), _beside(after)) > 1 and abs(apart) > MAX_CHANGE and (apart > 0) == (found.error > 0):
        yield (
            f"{after.effective_round_trips:,.0f} of {after.round_trips:,} round trips ran in sequence, in today's run "
            f"{before.effective_round_trips:,.0f}: concurrent work overlaps differently at that RTT, but the "
            "projection keeps today's order"
        )
    longer_s = found.measured_s - found.predicted_s
    hosts_s = there.budget.service_s + there.budget.client_s - today.budget.service_s - today.budget.client_s
    each_ms = 1e3 * hosts_s / max(after.round_trips, 1)
    if longer_s > 0 and hosts_s > MIN_HOST_SHARE * longer_s and each_ms < MAX_REST_EXTRA_MS:
        yield (
            f"client and server took {format_ms(each_ms)} longer for each round trip than in today's run: usually "
            "because their caches are cold and their processors asleep after a longer wait"
        )


def _beside(summary: Summary) -> int:
    """How many connections there are that may run side by side; none where windows decide, not who waits for whom."""
    waits = summary.round_trips + 2 * summary.connections
    return summary.connections if summary.effective_round_trips <= waits else 0
