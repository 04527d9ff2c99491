"""How it was computed: the sentences of the page that have numbers in them."""

from __future__ import annotations

from latpcap.result.analysis import Analysis
from latpcap.result.page.exploration import Exploration
from latpcap.units import format_given_ms, format_ms

__all__ = ["method"]


def method(explored: Exploration) -> dict[str, str]:
    """What stands in the places of the page's section."""
    return {
        "METHODRTT": _baseline(explored.analysis),
        "METHODGRID": _grid(explored),
        "METHODTIMELINE": f"{_timeline(explored.timeline['stretch_us'])} {_histograms(explored.histograms)}",
    }


def _baseline(analysis: Analysis) -> str:
    summary = analysis.summary
    if summary.baseline_rtt_ms is None:
        return "No RTT could be measured."
    mean = "on a path that changed the mean over its round trips, each with the RTT of its time"
    median = "the median over the connections, each counted by its round trips"
    changed = any(note.code == "path-changed" for note in analysis.health)
    return (
        f"The baseline RTT is {format_ms(summary.baseline_rtt_ms)}, {mean if changed else median}. "
        f"The runtime grows by {summary.effective_round_trips:,.0f} effective round trips: "
        "TCP handshakes counted too, work side by side counted once."
    )


def _grid(explored: Exploration) -> str:
    if not explored.switches.jobs:
        return "none, as the RTT of the capture is unknown"
    count = len(explored.switches.jobs[0].curve.rtt_ms)
    ends = (format_given_ms(float(f"{end:.3g}")) for end in (explored.lowest_rtt_ms, explored.highest_rtt_ms))
    return f"{count:,} round-trip times from {' to '.join(ends)}"


def _timeline(interval_us: float) -> str:
    if not interval_us:
        return "The timeline draws every exchange."
    return (
        f"The timeline of so many exchanges is summed over intervals of {format_given_ms(interval_us / 1000)} for each "
        "lane; an exchange counts in each interval for the part of it that lies there, and nothing shorter than that "
        "can be distinguished."
    )


def _histograms(histograms: dict[str, object]) -> str:
    return (
        f"Histograms have {histograms['bins_per_decade']} bins for each power of ten over all exchanges; those that "
        "open a connection are left out, and so are responses without a wait."
    )
