"""A checked recording, as build servers hear of it: what became of the gates, and what was found."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from latpcap.findings import FindingResult
from latpcap.findings.registry import NO_FINDINGS
from latpcap.result.analysis import Analysis
from latpcap.result.captures import CaptureFile
from latpcap.result.checks.gates import Gates
from latpcap.tables.reading.sources import names


class Checked(Struct, frozen=True):
    """The contents of JUnit XML, SARIF and annotations."""

    version: str
    """latpcap's version."""
    captures: tuple[str, ...]
    """The names of the files."""
    gates: Gates
    findings: tuple[FindingResult, ...]
    """Sorted by severity and cost; that there is none is no finding here."""
    files: tuple[CaptureFile, ...] = ()
    """The captures, where more is known of them than their names."""


def checked(analysis: Analysis, gates: Gates, version: str) -> Checked:
    """Put together what became of `gates` and what was found."""
    findings = tuple(each for each in analysis.findings if each.code not in NO_FINDINGS)
    return Checked(version, tuple(each.path for each in analysis.captures), gates, findings, analysis.captures)


def checked_rows(captures: Iterable[str], gates: Gates, version: str) -> Checked:
    """Return `Checked` for a command of rows: it looks for no findings."""
    return Checked(version, tuple(names(list(captures))), gates, ())
