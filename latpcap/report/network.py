"""What all waiting for the network adds up to, beside a table that has a part of it in set-up."""

from __future__ import annotations

from latpcap.result.analysis import Analysis
from latpcap.units import format_s, percent_range

__all__ = ["network_in_all"]


def network_in_all(result: Analysis) -> str:
    """A sentence; nothing where set-up has no part in it that can be seen, or where it is not known."""
    summary, within = result.summary, result.budget.network_s
    if summary.network_s is None or format_s(summary.network_s) == format_s(within):
        return ""
    share, low, high = summary.network_share or 0.0, summary.network_share_low or 0.0, summary.network_share_high or 0.0
    return (
        f"Including {format_s(summary.network_s - within)} of round trips in set-up, the network takes "
        f"{format_s(summary.network_s)} ({percent_range(share, low, high)})."
    )
