"""Two captures of one job as one HTML page: what changed, why, and what both would take elsewhere.

The page is made as that of one capture is (`html.py`): one file, inert texts, nothing loaded.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Any

from latpcap.display import plain
from latpcap.report.html import assembled, cover, gate_rows, note
from latpcap.report.page import STATEMENTS, bounded
from latpcap.report.text import printable
from latpcap.report.timing_only import about_findings
from latpcap.result.analysis import Analysis
from latpcap.result.before_after import BeforeAfter, FindingChange
from latpcap.result.gates import Gates
from latpcap.result.signoff import program

__all__ = ["MODULES", "render"]

MODULES = (
    *("dom", "format", "parts", "model", "charts", "theme", "stacking", "sorting", "signoff", "gates"),
    *("both_figures", "both_curves", "both_findings", "both_statements", "printing", "sections", "before_after"),
)
"""The modules in the order in which they need each other."""

SENTENCE = re.compile(r"(?<=\.) (?=[A-Z])")
"""Between two sentences of the explanation."""
FINDING = ("code", "title", "fix", "statement", "round_trips_saved", "saved_s", "severity")
"""What is shown of a finding."""


def render(result: BeforeAfter, gates: Gates | None = None) -> str:
    """Return the page."""
    told = result.after.sign_off
    both = {"before": result.before, "after": result.after}
    data = {
        "program": program(),
        "sides": [
            _side(analysis) | {"curve": plain(curve)}
            for analysis, curve in zip(both.values(), result.curves, strict=True)
        ],
        "findings": [_finding(each) for each in result.findings],
        "statements": plain(result.comparison.statements[:STATEMENTS]),
        "statements_rest": max(len(result.comparison.statements) - STATEMENTS, 0),
        "unchanged": result.comparison.unchanged,
        "errors": plain(result.comparison.errors[:STATEMENTS]),
        "gates": gate_rows(gates),
    }
    places = {
        "TITLE": html.escape(printable(told.title or " → ".join(map(_name, both.values())))),
        "COVER": cover(told),
        "VERDICT": "\n".join(
            f"<p>{html.escape(printable(sentence))}</p>" for sentence in SENTENCE.split(result.comparison.explanation)
        ),
        "HIDDENFINDINGS": "".join(_missing(result)),
    }
    return assembled("before_after.html", MODULES, bounded(data), places)


def _missing(result: BeforeAfter) -> Iterator[str]:
    """Why findings are missing on either side; once where it is the same on both."""
    sides = {"Before": result.before.timing_only, "After": result.after.timing_only}
    texts = {when: about_findings(hidden) for when, hidden in sides.items() if hidden}
    for text in dict.fromkeys(texts.values()):
        whens = [when for when, each in texts.items() if each == text]
        yield note(f"{' and '.join(whens).capitalize()}: {text}", "missing")


def _name(analysis: Analysis) -> str:
    first, *others = [each.path for each in analysis.captures] or ["capture"]
    return f"{first} and {len(others):,} more" if others else first


def _side(analysis: Analysis) -> dict[str, Any]:
    return {
        "name": _name(analysis),
        "selection": analysis.selection and analysis.selection.text,
        "settings": analysis.settings.text,
        "captures": plain(analysis.captures),
        "summary": plain(analysis.summary),
        "failures": analysis.errors.failures,
        "budget": plain(analysis.budget),
        "projection": plain(analysis.projection),
        "health": plain(analysis.health),
        "sign_off": plain(analysis.sign_off),
    }


def _finding(each: FindingChange) -> dict[str, Any]:
    sides = {"before": each.before, "after": each.after}
    return {"change": each.change} | {
        when: found and {name: plain(getattr(found, name)) for name in FINDING} for when, found in sides.items()
    }
