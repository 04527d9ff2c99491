"""latpcap: what the network costs a database application, and what it would cost at another round-trip time.

>>> import latpcap
>>> capture = latpcap.read("fixtures/mysql/nplus1-300-client.pcapng")  # doctest: +SKIP
>>> print(capture.analyze().summary.verdict)  # doctest: +SKIP
>>> capture.project(rtt_ms=[1, 5, 15, 50]).points  # doctest: +SKIP
"""

from __future__ import annotations

from typing import Any

from latpcap.capture import Capture, read
from latpcap.errors import CaptureError, LatpcapError, NoDatabaseTraffic, UsageError
from latpcap.measures.budget import Budget
from latpcap.projection.project import Projection
from latpcap.ranking import rank
from latpcap.result.analysis import Analysis
from latpcap.tables.pseudonyms import Pseudonyms
from latpcap.tables.table import Table

__all__ = [
    "Analysis",
    "Budget",
    "Capture",
    "CaptureError",
    "LatpcapError",
    "NoDatabaseTraffic",
    "Progress",
    "Projection",
    "Pseudonyms",
    "Table",
    "UsageError",
    "__version__",
    "rank",
    "read",
]


def __getattr__(name: str) -> Any:
    """The version and the core's `Progress`, looked up only when they are asked for."""
    if name == "__version__":
        from importlib.metadata import version

        return version("latpcap")
    if name == "Progress":
        from latpcap._core import Progress

        return Progress
    raise AttributeError(f"module `latpcap` has no attribute `{name}`")
