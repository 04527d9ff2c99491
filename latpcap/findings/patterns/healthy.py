"""Healthy: no pattern wastes round trips."""

from __future__ import annotations

from latpcap.findings.finding import Pattern

PATTERN = Pattern(
    code="healthy",
    fix="",
    title="Nothing to fix: no pattern wastes round trips",
    why="What waits for the network waits for answers that the program needs.",
    find=lambda _evidence, _value: iter(()),
)
