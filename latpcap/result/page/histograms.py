"""How the times of a page's histograms are distributed."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from latpcap.measures.charts import Deltas, binned
from latpcap.measures.statements import response_ns
from latpcap.tables.exchanges import Exchanges

QUANTILES = {"p50": 0.50, "p95": 0.95, "p99": 0.99, "max": 1.0}


class Distribution(Struct, frozen=True):
    """Some times: their histogram and their quantiles."""

    bins: Deltas
    total: int
    quantiles_ms: dict[str, float]


def distributions(exchanges: Exchanges, baseline_ms: float | None) -> dict[str, Distribution]:
    """Response times of exchanges that wait, and inter-query deltas; those that open a connection are left out."""
    working = ~exchanges.is_setup
    response, waits = response_ns(exchanges), exchanges.round_trips > 0
    return {
        "response": _distribution(response[working & waits & (response >= 0)], baseline_ms),
        "delta": _distribution(exchanges.delta[working & (exchanges.delta >= 0)], None),
    }


def _distribution(times_ns: NDArray[np.int64], mark_ms: float | None) -> Distribution:
    ordered, count = np.sort(times_ns), len(times_ns)
    ranks = {name: max(int(np.ceil(count * share)) - 1, 0) for name, share in QUANTILES.items() if count}
    return Distribution(
        binned(times_ns, mark_ms), count, {name: float(ordered[rank]) / 1e6 for name, rank in ranks.items()}
    )
