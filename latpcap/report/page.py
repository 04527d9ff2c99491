"""What an HTML report carries along: the sections, the job with any fixes over the RTT, the timeline, histograms.

Whatever grows with the recording is bounded here, and the page tells the bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import Any

import msgspec
from msgspec.structs import replace

from latpcap.display import plain
from latpcap.report.section import Say, Section, SectionPart, SectionTable
from latpcap.report.sections import sections
from latpcap.report.sections.budget import PARTS
from latpcap.result.checks.gates import Gates
from latpcap.result.page.exploration import Exploration
from latpcap.result.page.switches import Switch

__all__ = ["MOST", "embedded", "page_data"]

SCHEMA = "latpcap.report/2"

MOST = 200
"""Rows of a table."""
TEXT = 4000
"""Characters of one text."""
LISTS = frozenset({"connections", "frames"})
"""Of a finding; its first and last frame and its display filter say the same."""
WHOLE_TEXTS = frozenset({"display_filter"})
"""Texts that would be wrong if they were cut."""
ELSEWHERE = frozenset({"cover", "verdict", "elsewhere"})
"""Sections that stand in the page already, or follow the slider."""
FOLLOWING: dict[str, tuple[type[SectionPart], ...]] = {"findings": (Say,), "budget": (Say,), "minutes": (SectionTable,)}
"""Of these sections the page draws all but such parts by itself."""


def page_data(explored: Exploration, gates: Gates | None = None) -> dict[str, Any]:
    """Return all that the page shows."""
    switches, analysis = explored.switches, explored.analysis
    page: dict[str, Any] = bounded(
        {
            "schema": SCHEMA,
            "program": analysis.sign_off.program,
            "analysis": {
                name: plain(getattr(analysis, name)) for name in ("summary", "projection", "budget", "minutes")
            }
            | {"findings": _findings(explored), "timing_only": analysis.timing_only is not None},
            "parts": {name.removesuffix("_s"): [title, what] for name, (_, title, _, what) in PARTS.items()},
            "sections": embedded(_shown(sections(analysis, gates, MOST))),
            "asked_rtt_ms": explored.first_rtt_ms,
            "moving": plain(explored.moving),
            "lowest_rtt_ms": explored.lowest_rtt_ms,
            "highest_rtt_ms": explored.highest_rtt_ms,
            "switches": [_with_listed_statements(switch) for switch in switches.switches],
            "combined": switches.combined,
            "jobs": plain(switches.jobs),
            "timeline": explored.timeline,
            "histograms": explored.histograms,
        }
    )
    return page


def _shown(made: Iterable[Section]) -> Iterator[Section]:
    """The sections without what the page draws by itself."""
    for section in made:
        kinds = FOLLOWING.get(section.name, (SectionPart,))
        yield replace(section, parts=[part for part in section.parts if isinstance(part, kinds)])


def embedded(made: Iterable[Section], stand_elsewhere: frozenset[str] = ELSEWHERE) -> list[dict[str, Any]]:
    """Sections as the page's scripts take them, but for those that are empty or stand elsewhere."""
    shown = (section for section in made if section.parts and section.name not in stand_elsewhere)
    return [msgspec.to_builtins(replace(section, parts=[*map(_filled, section.parts)])) for section in shown]


def _filled(part: SectionPart) -> SectionPart:
    return part.filled() if isinstance(part, SectionTable) else part


def _findings(explored: Exploration) -> list[dict[str, Any]]:
    """The findings without the lists that grow with the recording, each with its part of what its fix saves."""
    return [
        {key: value for key, value in plain(finding).items() if key not in LISTS} | {"part": part}
        for finding, part in zip(explored.findings, explored.parts, strict=True)
    ]


def _with_listed_statements(switch: Switch) -> dict[str, Any]:
    """The switch with its parts of those statements that the page lists; it may have many more."""
    listed = tuple(takewhile(lambda part: part.statement < MOST, switch.statements))
    shortened: dict[str, Any] = plain(replace(switch, statements=listed))
    return shortened


def bounded(value: Any, name: str = "") -> Any:
    """`value` with texts cut to `TEXT` characters and unknown numbers as null, all the way down."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str):
        return value if name in WHOLE_TEXTS or len(value) <= TEXT else value[: TEXT - 1] + "…"
    if isinstance(value, dict):
        return {key: bounded(item, key) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return value if is_counts(value) else [bounded(item, name) for item in value]
    return value


def is_counts(value: list[Any] | tuple[Any, ...]) -> bool:
    """A list of whole numbers, which may be long: told by its ends, as the cells of a row differ."""
    return bool(value) and isinstance(value[0], int) and isinstance(value[-1], int)
