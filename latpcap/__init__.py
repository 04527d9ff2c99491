"""latpcap: what the network costs a database application, and what it would cost at another round-trip time.

>>> import latpcap
>>> capture = latpcap.read("fixtures/mysql/nplus1-300-client.pcapng")  # doctest: +SKIP
>>> print(capture.analyze().text)  # doctest: +SKIP
>>> capture.project(rtt_ms=[1, 5, 15, 50]).points  # doctest: +SKIP
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False
"""As `typing` has it, which takes most of the time until a Ctrl-C finds latpcap ready (`__main__.py`)."""
if TYPE_CHECKING:
    from typing import Any

    from latpcap._core import Progress
    from latpcap.capture import Capture
    from latpcap.comparing import compare, validate
    from latpcap.errors import CaptureError, DiskFull, LatpcapError, NoDatabaseTraffic, UsageError
    from latpcap.live.calibrate import calibrate
    from latpcap.live.rehearse import rehearse
    from latpcap.measures.budget import Budget
    from latpcap.projection.project import Projection
    from latpcap.ranking import rank
    from latpcap.reading import read
    from latpcap.result.analysis import Analysis
    from latpcap.result.pairs.comparison import Comparison
    from latpcap.result.pairs.rehearsal import Rehearsal
    from latpcap.result.pairs.validation import Validation
    from latpcap.tables.columnar.table import Table
    from latpcap.tables.privacy.pseudonyms import Pseudonyms

__all__ = [
    "Analysis",
    "Budget",
    "Capture",
    "CaptureError",
    "Comparison",
    "DiskFull",
    "LatpcapError",
    "NoDatabaseTraffic",
    "Progress",
    "Projection",
    "Pseudonyms",
    "Rehearsal",
    "Table",
    "UsageError",
    "Validation",
    "__version__",
    "calibrate",
    "compare",
    "rank",
    "read",
    "record",
    "rehearse",
    "validate",
]

WHERE = {
    "__version__": "_core",
    "Analysis": "result.analysis",
    "Budget": "measures.budget",
    "Capture": "capture",
    "CaptureError": "errors",
    "Comparison": "result.pairs.comparison",
    "DiskFull": "errors",
    "LatpcapError": "errors",
    "NoDatabaseTraffic": "errors",
    "Progress": "_core",
    "Projection": "projection.project",
    "Pseudonyms": "tables.privacy.pseudonyms",
    "Rehearsal": "result.pairs.rehearsal",
    "Table": "tables.columnar.table",
    "UsageError": "errors",
    "Validation": "result.pairs.validation",
    "calibrate": "live.calibrate",
    "compare": "comparing",
    "rank": "ranking",
    "read": "reading",
    "record": "live.record",
    "rehearse": "live.rehearse",
    "validate": "comparing",
}
"""The module of each public name: `latpcap --help` must not wait for numpy."""


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for."""
    if name not in WHERE:
        raise AttributeError(f"module `latpcap` has no attribute `{name}`")
    value = globals()[name] = getattr(import_module(f"latpcap.{WHERE[name]}"), name)
    return value


def __dir__() -> list[str]:
    """List public names, imported or not, and nothing else: this is what the tab key shows."""
    return list(__all__)
