"""The result as one HTML file: opens from disk, loads nothing, and answers for any RTT in the page itself.

```text
assets/page.html     the page with {{PLACES}} for what follows
assets/page.css      how it looks, on a screen and on paper
sections             as `markup.py` writes them: readable where no script runs
assets/*.js          modules, read alone in an editor; here one after the other in one inline module
assets/uplot/        the charts (MIT)
JSON                 what the scripts draw and change, in a script element that is never run
```

Texts of a capture reach the document only escaped, or as `textContent`. The content security policy names the hashes
of the page's own style and scripts, so that nothing else runs and nothing is fetched.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any

from msgspec.structs import replace

from latpcap.display import plain
from latpcap.report.markup import parts_of, text_of
from latpcap.report.page import MOST, data_of_both, page_data, rounded
from latpcap.report.section import Chart, Drawn, Section, Sentence
from latpcap.report.sections import report
from latpcap.report.sections.both import both
from latpcap.report.sections.method import drawn, method
from latpcap.result.checks.gates import Gates
from latpcap.result.page.exploration import Exploration
from latpcap.result.pairs.before_after import BeforeAfter
from latpcap.result.signoff import SignOff

MODULES = (
    *("dom", "format", "model", "state", "copying", "charts", "curves", "theme", "table", "parts"),
    *("what_if", "curve", "fixes", "budget", "findings", "statements"),
    *("lanes", "timeline", "drawn", "printing", "address", "main"),
)
"""The modules in the order in which they need each other."""

MODULES_OF_BOTH = (
    *("dom", "format", "model", "charts", "curves", "theme", "table"),
    *("both_curves", "printing", "before_after"),
)
"""Those of the page of two captures."""

BEFORE = "connections"
"""What a page draws of the exchanges stands before this section."""


def render(explored: Exploration, gates: Gates | None = None) -> str:
    """Return the page of a recording, and of what became of the gates."""
    analysis = replace(explored.analysis, findings=explored.findings)
    made = (
        other
        for section in report(analysis, gates, MOST)
        for other in (*(drawn(explored) if section.name == BEFORE else ()), section)
    )
    sections = [*made]
    sections.insert(-2, method(explored))
    kicker = "What the distance to the database costs"
    return _assembled(kicker, analysis.sign_off, sections, MODULES, page_data(explored))


def render_both(result: BeforeAfter, gates: Gates | None = None) -> str:
    """Return the page of two captures of one job."""
    kicker = "Before and after: what the distance to the database costs"
    sections = both(result, gates, MOST)
    return _assembled(kicker, result.after.sign_off, sections, MODULES_OF_BOTH, data_of_both(result))


def _assembled(
    kicker: str, told: SignOff, sections: Iterable[Section], modules: tuple[str, ...], data: dict[str, Any]
) -> str:
    """Return the page with its style, its script of `modules`, its data and its sections."""
    style = _asset("uplot/uPlot.min.css") + _asset("page.css")
    cover, *shown = (each for each in sections if each.parts)
    data["charts"] = [plain(part) for each in shown for part in each.parts if isinstance(part, Chart)]
    charts, script = _charts(), _script(modules)
    verdict, others = ([each for each in shown if (each.name == "verdict") == first] for first in (True, False))
    what_if, dial = parts_of([Drawn("what-if")], whole=True), _asset("what_if.html") if data.get("jobs") else ""
    places = {
        "POLICY": _policy(style, charts, script) + ("; img-src data:" if told.logo else ""),
        "PROGRAM": html.escape(told.program),
        "STYLE": style,
        "TITLE": html.escape(cover.title),
        "KICKER": kicker,
        "LOGO": _logo(told),
        "COVER": parts_of(cover.parts, whole=True),
        "SECTIONS": "".join(map(_section, verdict))
        + _links(others)
        + "".join(map(_section, others)).replace(what_if, dial),
        "CHARTS": charts,
        "DATA": _json(data),
        "SCRIPT": script,
    }
    return re.sub(r"\{\{([A-Z]+)\}\}", lambda place: places[place[1]], _asset("page.html"))


def _section(section: Section) -> str:
    """A section; the verdict is all that one sees first, and what leads to the others stands below it."""
    name, title = section.name, section.title
    if name != "verdict":
        kind = ' class="part"' if name == "appendix" else ""
        heading = f'<h2 id="{name}-title"{kind}>{text_of(title)}</h2>'
        return f'<section id="{name}" aria-labelledby="{name}-title">\n{heading}\n{_parts(section)}\n</section>\n'
    said = [part for part in section.parts if isinstance(part, Sentence) and part.tone != "quiet"]
    others = [part for part in section.parts if part not in said]
    return (
        '<section id="verdict" aria-labelledby="verdict-title">\n<h2 id="verdict-title" class="unseen">Verdict</h2>\n'
        f'<div class="verdict">\n{parts_of(said)}\n</div>\n{parts_of(others, whole=True)}\n</section>\n'
    )


def _links(sections: Iterable[Section]) -> str:
    links = "".join(f'<a href="#{each.name}">{text_of(each.title)}</a>' for each in sections)
    return f'<nav aria-label="Sections" id="sections" class="sections">{links}</nav>\n'


def _parts(section: Section) -> str:
    return parts_of(section.parts, whole=True)


def _logo(told: SignOff) -> str:
    """The author's picture, beside the title."""
    return (
        f'  <img class="logo" src="{html.escape(told.logo)}" alt="{html.escape(told.author or "")}">\n'
        if told.logo
        else ""
    )


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
    text = json.dumps(rounded(data), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.translate({ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"})
