"""What the sections of a report say where connections are timing only: what is missing, why, and what would help."""

from __future__ import annotations

from latpcap.measures.connecting import Connecting
from latpcap.measures.timing_only import TimingOnly, part_of
from latpcap.units import counted

__all__ = ["about_budget", "about_findings", "about_statements"]


def about_budget(hidden: TimingOnly | None, opened: Connecting | None) -> str:
    """Below the time budget: what encryption costs, and what it hides."""
    connecting = opened.text if opened else ""
    if hidden is None:
        return connecting
    return f"{connecting} {_counted_by_turns(hidden)}".strip()


def _counted_by_turns(hidden: TimingOnly) -> str:
    return (
        f"{counted(hidden.round_trips, 'round trip')} of {part_of(hidden.connections, hidden.of)} "
        f"{'is' if hidden.round_trips == 1 else 'are'} timing only: counted by direction changes."
    )


def about_statements(hidden: TimingOnly | None) -> str:
    """In the place of the statements, or below them."""
    return f"{hidden.text}{f': {hidden.advice}' if hidden.advice else ''}." if hidden else ""


def about_findings(hidden: TimingOnly | None) -> str:
    """Below the findings."""
    if hidden is None:
        return ""
    return (
        f"The statements of {part_of(hidden.connections, hidden.of)} are unknown, so patterns in statements (N+1, "
        "repeated queries, single-row inserts, small fetches, failing statements, …) could not be found; patterns in "
        "connections and times (a connection for each query, delayed acknowledgments, …) could."
    )
