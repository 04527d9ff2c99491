"""The result as one HTML file: opens from disk, loads nothing, and answers for any RTT in the page itself.

```text
assets/page.html     the page with {{PLACES}} for what follows
assets/page.css      how it looks, on a screen and on paper
assets/*.js          modules, read alone in an editor; here one after the other in one inline module
assets/uplot/        the charts (MIT)
JSON                 the data, in a script element that is never run
```

Texts of a capture reach the document only as `textContent`, or escaped. The content security policy names the hashes
of the page's own style and scripts, so that nothing else runs and nothing is fetched.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from latpcap.display import plain
from latpcap.measures.health import HealthNote
from latpcap.report.method import method
from latpcap.report.page import MOST, bounded, embedded, is_counts, page_data
from latpcap.report.section import Say, Section
from latpcap.report.sections.both import both
from latpcap.report.sections.opening import opening
from latpcap.report.text import printable
from latpcap.result.analysis import Analysis
from latpcap.result.captures import CaptureFile
from latpcap.result.checks.gates import Gates
from latpcap.result.page.exploration import Exploration
from latpcap.result.pairs.before_after import BeforeAfter
from latpcap.result.signoff import SignOff
from latpcap.units import counted, format_s

__all__ = ["MODULES", "MODULES_OF_BOTH", "render", "render_both"]

MODULES = (
    *("dom", "format", "model", "state", "copying", "charts", "theme", "stacking", "table", "parts"),
    *("what_if", "curve", "fixes", "budget", "findings", "statements"),
    *("lanes", "timeline", "minutes", "histograms", "printing", "address", "sections", "main"),
)
"""The modules in the order in which they need each other."""

MODULES_OF_BOTH = (
    *("dom", "format", "model", "charts", "theme", "stacking", "table", "parts"),
    *("both_curves", "printing", "sections", "before_after"),
)
"""Those of the page of two captures."""

SIGNIFICANT = 7
"""Digits of a fraction that are kept."""


def render(explored: Exploration, gates: Gates | None = None) -> str:
    """Return the page of a recording, and of what became of the gates."""
    analysis = explored.analysis
    places = {
        "TITLE": html.escape(printable(analysis.sign_off.title) or _title(analysis.captures)),
        "COVER": cover(analysis.sign_off),
        "META": html.escape(printable(_meta(analysis))),
        "VERDICT": said(opening(analysis.selection, analysis.settings, analysis.summary.verdict)),
        "TRUST": _trust(analysis.health),
        **{name: html.escape(text) for name, text in method(explored).items()},
    }
    return assembled("page.html", MODULES, page_data(explored, gates), places)


def render_both(result: BeforeAfter, gates: Gates | None = None) -> str:
    """Return the page of two captures of one job."""
    told, sides = result.after.sign_off, (result.before, result.after)
    verdict, *others = [each for each in both(result, gates, MOST) if each.name != "cover"]
    data = {
        "sides": [
            {"told_rtt_ms": each.projection.told_rtt_ms, "curve": plain(curve)}
            | {name: getattr(each.summary, name) for name in ("baseline_rtt_ms", "runtime_s")}
            for each, curve in zip(sides, result.curves, strict=True)
        ],
        "sections": embedded(others, stand_elsewhere=frozenset()),
        "program": told.program,
    }
    places = {
        "TITLE": html.escape(printable(told.title) or " → ".join(_title(each.captures) for each in sides)),
        "COVER": cover(told),
        "META": html.escape(printable(" → ".join(map(_of_side, sides)))),
        "VERDICT": said(verdict),
    }
    return assembled("before_after.html", MODULES_OF_BOTH, bounded(data), places)


def assembled(template: str, modules: tuple[str, ...], data: dict[str, Any], places: dict[str, str]) -> str:
    """Return the page `template` with its style, its script of `modules`, its data and what stands in its places."""
    style = _asset("uplot/uPlot.min.css") + _asset("page.css")
    charts, script = _charts(), _script(modules)
    made = places | {
        "POLICY": _policy(style, charts, script),
        "PROGRAM": html.escape(data["program"]),
        "STYLE": style,
        "CHARTS": charts,
        "DATA": _json(data),
        "SCRIPT": script,
    }
    return re.sub(r"\{\{([A-Z]+)\}\}", lambda place: made[place[1]], _asset(template))


def cover(told: SignOff) -> str:
    """For whom, of when, and what else somebody wanted said: below the title."""
    whom = f"For {told.customer}" if told.customer else ""
    return note(", ".join(filter(None, (whom, told.date))), "cover") + "".join(map(note, told.notes))


def _title(captures: Sequence[CaptureFile]) -> str:
    first, *others = [re.split(r"[/\\]", each.path)[-1] for each in captures] or ["capture"]
    return printable(first) + (f" and {len(others):,} more" if others else "")


def _meta(analysis: Analysis) -> str:
    """When, and how much: below the title."""
    first = min((each.first_time for each in analysis.captures if each.first_time), default=None)
    summary = analysis.summary
    parts = (
        f"{first[:10]} {first[11:19]} UTC" if first else "",
        counted(sum(each.packets for each in analysis.captures), "packet"),
        counted(summary.connections, "database connection"),
        counted(summary.exchanges, "exchange"),
        f"runtime {format_s(summary.runtime_s)}",
    )
    return " · ".join(filter(None, parts))


def _of_side(analysis: Analysis) -> str:
    selected = analysis.selection.text if analysis.selection else ""
    parts = (
        _title(analysis.captures),
        counted(analysis.summary.exchanges, "exchange"),
        selected,
        analysis.settings.text,
    )
    return ", ".join(filter(None, parts))


def _trust(notes: Sequence[HealthNote]) -> str:
    """Below the verdict, where something limits the trust in it."""
    counts = Counter(note.severity for note in notes)
    words = [counted(counts[severity], severity) for severity in ("error", "warning") if counts[severity]]
    about = f"{' and '.join(words)} about the capture itself"
    return f'<p class="note" id="trust"><a href="#health">{html.escape(about)}</a></p>\n' if words else ""


def said(section: Section) -> str:
    """A section's sentences as paragraphs: readable where no script runs."""
    texts = ((part.text, part.tone) for part in section.parts if isinstance(part, Say))
    return "\n".join(note(text, "note" if tone == "quiet" else "") for text, tone in texts)


def note(text: str, kind: str = "note") -> str:
    """A paragraph beside the figures; nothing where there is nothing to say."""
    named = f' class="{kind}"' if kind else ""
    return f"<p{named}>{html.escape(printable(text))}</p>\n" if text else ""


def _policy(style: str, *scripts: str) -> str:
    hashes = " ".join(map(_hash, scripts))
    return f"default-src 'none'; style-src {_hash(style)}; script-src {hashes}; base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def _asset(name: str) -> str:
    return (files("latpcap.report") / "assets" / name).read_text("utf-8")


@cache
def _charts() -> str:
    """The charts' library with its licence in the place of its banner, which names an address."""
    library = re.sub(r"^/\*!.*?\*/\n", "", _asset("uplot/uPlot.iife.min.js"))
    return f"/*! uPlot\n{_asset('uplot/LICENSE')}\n*/\n{library}"


@cache
def _script(modules: tuple[str, ...]) -> str:
    return "\n".join(_module(name, _asset(f"{name}.js")) for name in modules)


def _module(name: str, text: str) -> str:
    r"""A module as a function's scope: its imports come from the scopes before it, its exports are what it returns.

    >>> print(_module("sums", 'import { one } from "./ones.js";\nexport const two = one + one;\n'))
    const $sums = (() => {
    const { one } = $ones;
    const two = one + one;
    return { two };
    })();
    """
    exports = re.findall(r"^export (?:const|function) (\w+)", text, flags=re.MULTILINE)
    text = re.sub(r'^import (\{.*\}) from "\./(\w+)\.js";$', r"const \1 = $\2;", text, flags=re.MULTILINE)
    text = re.sub(r"^export ", "", text, flags=re.MULTILINE)
    return f"const ${name} = (() => {{\n{text}return {{ {', '.join(exports)} }};\n}})();"


def _json(data: dict[str, Any]) -> str:
    """JSON that cannot end its script element, open a comment in it or break a line."""
    text = json.dumps(_rounded(data), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.translate({ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"})


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{SIGNIFICANT}g}")
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return value if is_counts(value) else [_rounded(item) for item in value]
    return value
