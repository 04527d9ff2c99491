"""The projection as an Altair chart (extra `notebook`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from latpcap.errors import UsageError

if TYPE_CHECKING:
    from latpcap.projection import Projection

__all__ = ["plot_projection"]


def plot_projection(projection: Projection) -> Any:
    """Return a chart of the runtime over the RTT, with the range between optimistic and pessimistic."""
    try:
        import altair
    except ImportError:
        raise UsageError("plots need Altair: install `latpcap[notebook]`") from None
    points = [
        {"rtt": point.rtt_ms, "runtime": point.runtime_s, "low": point.optimistic_s, "high": point.pessimistic_s}
        for point in projection.points
    ]
    base = altair.Chart({"values": points}).encode(x=altair.X("rtt:Q", title="RTT (ms)"))
    band = base.mark_area(opacity=0.3).encode(y=altair.Y("low:Q", title="runtime (s)"), y2="high:Q")
    return band + base.mark_line(point=True).encode(y="runtime:Q")
