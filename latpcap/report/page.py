"""The moving parts of an HTML report: the job with any fixes over the RTT, and the timeline.

Whatever grows with the recording is bounded here.
"""

from __future__ import annotations

import math
from itertools import takewhile
from typing import Any

from msgspec.structs import replace

from latpcap.report.sections.budget import PARTS
from latpcap.result.page.exploration import Exploration
from latpcap.result.page.switches import Switch
from latpcap.result.pairs.before_after import BeforeAfter

SCHEMA = "latpcap.report/3"
OF_BOTH = "latpcap.report-of-both/1"
MAX_TABLE_ROWS = 200
"""Rows of a table."""


def page_data(explored: Exploration) -> dict[str, Any]:
    """Return what the page draws, and changes with its slider."""
    switches, analysis = explored.switches, explored.analysis
    return {
        "schema": SCHEMA,
        **{name: getattr(analysis, name) for name in ("summary", "projection", "budget")},
        "findings_parts": explored.parts,
        "parts": {name.removesuffix("_s"): title for name, (_, title, *_) in PARTS.items()},
        "asked_rtt_ms": explored.first_rtt_ms,
        "moving": explored.moving,
        "lowest_rtt_ms": explored.lowest_rtt_ms,
        "highest_rtt_ms": explored.highest_rtt_ms,
        "switches": [_with_listed_statements(switch) for switch in switches.switches],
        "combined": switches.combined,
        "jobs": switches.jobs,
        "timeline": explored.timeline,
    }


def data_of_both(result: BeforeAfter) -> dict[str, Any]:
    """Return the curves of two captures of one job."""
    sides = zip((result.before, result.after), result.curves, strict=True)
    names = ("baseline_rtt_ms", "runtime_s")
    return {
        "schema": OF_BOTH,
        "headline_rtt_ms": result.before.projection.headline_rtt_ms,
        "sides": [{"curve": curve} | {name: getattr(each.summary, name) for name in names} for each, curve in sides],
    }


def _with_listed_statements(switch: Switch) -> Switch:
    """The switch with its parts of those statements that the page lists; it may have many more."""
    return replace(switch, statements=tuple(takewhile(lambda part: part.statement < MAX_TABLE_ROWS, switch.statements)))


SIGNIFICANT_DIGITS = 7
"""Digits of a fraction that are kept."""
PORTABLE_DIGITS = 12
"""The mathematics of all systems agrees in this many digits."""


def rounded(value: float) -> float | None:
    """A fraction with `SIGNIFICANT_DIGITS` digits; what is unknown is null."""
    settled = float(f"{value:.{PORTABLE_DIGITS}g}")  # a half is then one on each system
    return float(f"{settled:.{SIGNIFICANT_DIGITS}g}") if math.isfinite(value) else None
