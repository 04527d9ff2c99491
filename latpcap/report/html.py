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
from functools import cache
from importlib.resources import files
from typing import Any

from latpcap.display import plain
from latpcap.measures.timing_only import TimingOnly
from latpcap.report.network import network_in_all
from latpcap.report.page import page_data
from latpcap.report.text import printable
from latpcap.report.timing_only import about_budget, about_findings, about_statements
from latpcap.result.exploration import Exploration
from latpcap.result.gates import Gates
from latpcap.result.signoff import SignOff

__all__ = ["MODULES", "assembled", "cover", "gate_rows", "note", "render"]

MODULES = (
    *("dom", "format", "model", "state", "copying", "charts", "theme", "stacking", "parts"),
    *("what_if", "curve", "fixes", "budget", "chattiness", "findings", "sorting", "errors", "statements", "routes"),
    *("lanes", "timeline", "minutes", "histograms", "paths", "connections", "health", "method", "printing", "address"),
    *("gates", "signoff", "sections", "main"),
)
"""The modules in the order in which they need each other."""

SIGNIFICANT = 7
"""Digits of a fraction that are kept."""


def render(explored: Exploration, gates: Gates | None = None) -> str:
    """Return the page of a recording, and of what became of the gates."""
    data = page_data(explored) | {"gates": gate_rows(gates)}
    told = explored.analysis.sign_off
    places = {
        "TITLE": html.escape(printable(told.title) or _title(data["analysis"])),
        "COVER": cover(told),
        "VERDICT": _selection(data["analysis"]["selection"]) + _verdict(data["analysis"]["summary"]["verdict"]),
        "NETWORK": html.escape(network_in_all(explored.analysis)),
        "HIDDENBUDGET": note(about_budget(explored.analysis.timing_only, explored.analysis.connecting)),
        "HIDDENFINDINGS": _missing(explored.analysis.timing_only),
        "HIDDENSTATEMENTS": note(about_statements(explored.analysis.timing_only)),
    }
    return assembled("page.html", MODULES, data, places)


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


def gate_rows(gates: Gates | None) -> list[dict[str, Any]]:
    """What became of each gate."""
    rows: list[dict[str, Any]] = plain(gates.gates) if gates else []
    return rows


def cover(told: SignOff) -> str:
    """For whom, of when, and what else somebody wanted said: below the title."""
    whom = f"For {told.customer}" if told.customer else ""
    return note(", ".join(filter(None, (whom, told.date))), "cover") + "".join(map(note, told.notes))


def _title(result: dict[str, Any]) -> str:
    paths = [re.split(r"[/\\]", capture["path"])[-1] for capture in result["captures"]]
    more = len(paths) - 1 + result["captures_rest"]["count"]
    return printable(paths[0] if paths else "capture") + (f" and {more:,} more" if more else "")


def _selection(selected: dict[str, Any] | None) -> str:
    """What the page is of, where that is not all."""
    return note(f"Selected: {selected['text']}") if selected else ""


def note(text: str, kind: str = "note") -> str:
    """A paragraph beside the figures; nothing where there is nothing to say."""
    return f'<p class="{kind}">{html.escape(printable(text))}</p>\n' if text else ""


def _missing(hidden: TimingOnly | None) -> str:
    """Why findings are missing, and what would show them."""
    return note(f"{about_statements(hidden)} {about_findings(hidden)}", "missing") if hidden else ""


def _verdict(text: str) -> str:
    """The verdict's lines as paragraphs: readable where no script runs."""
    return "\n".join(f"<p>{html.escape(printable(line))}</p>" for line in text.split("\n") if line)


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
        return value if value and isinstance(value[0], int) else [_rounded(item) for item in value]
    return value
