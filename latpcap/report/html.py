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
from latpcap.report.page import MAX_TABLE_ROWS, data_of_both, page_data, rounded
from latpcap.report.section import Chart, Drawn, Labelled, Section, SectionPart, Sentence
from latpcap.report.sections import report
from latpcap.report.sections.both import both
from latpcap.report.sections.method import drawn, method
from latpcap.result.checks.gates import Gates
from latpcap.result.page.exploration import Exploration
from latpcap.result.pairs.before_after import BeforeAfter
from latpcap.result.signoff import SignOff

BEFORE = "connections"
"""The section that follows the drawing of the exchanges."""


def render(explored: Exploration, gates: Gates | None = None) -> str:
    """Return the page of a recording, and of what became of the gates."""
    analysis = replace(explored.analysis, findings=explored.findings)
    made = (
        other
        for section in report(analysis, gates, MAX_TABLE_ROWS)
        for other in (*(drawn(explored) if section.name == BEFORE else ()), section)
    )
    sections = [*made]
    sections.insert(-2, method(explored))
    kicker = "What the distance to the database costs"
    return _assembled(kicker, analysis.sign_off, sections, "main", page_data(explored))


def render_both(result: BeforeAfter, gates: Gates | None = None) -> str:
    """Return the page of two captures of one job."""
    kicker = "Before and after: what the distance to the database costs"
    sections = both(result, gates, MAX_TABLE_ROWS)
    return _assembled(kicker, result.after.sign_off, sections, "before_after", data_of_both(result))


def _assembled(kicker: str, told: SignOff, sections: Iterable[Section], main: str, data: dict[str, Any]) -> str:
    """Return the page with its style, the script `main` with all that it needs, its data and its sections."""
    style = _asset("uplot/uPlot.min.css") + _asset("page.css")
    cover, verdict, *others = (each for each in sections if each.parts)
    data["charts"] = [part for each in others for part in each.parts if isinstance(part, Chart)]
    charts, script = _charts(), _script(main)
    what_if, dial = parts_of([Drawn("what-if")], whole=True), _asset("what_if.html") if data.get("jobs") else ""
    places = {
        "POLICY": _policy(style, charts, script) + ("; img-src data:" if told.logo else ""),
        "PROGRAM": html.escape(told.program),
        "STYLE": style,
        "TITLE": html.escape(cover.title),
        "KICKER": kicker,
        "LOGO": _logo(told),
        "COVER": parts_of(cover.parts, whole=True),
        "SECTIONS": _section(verdict) + _links(others) + "".join(map(_section, others)).replace(what_if, dial),
        "CHARTS": charts,
        "DATA": _json(data),
        "SCRIPT": script,
    }
    return re.sub(r"\{\{([A-Z]+)\}\}", lambda place: places[place[1]], _asset("page.html"))


def _section(section: Section) -> str:
    """A section; the verdict is all that one sees first, and what leads to the others stands below it."""
    name, is_verdict = section.name, section.name == "verdict"
    said = [part for part in section.parts if is_verdict and _is_answer(part)]
    kind = ' class="unseen"' if is_verdict else ' class="part"' if name == "appendix" else ""
    title = "Verdict" if is_verdict else text_of(section.title)
    answer = f'<div class="verdict">\n{parts_of(said)}\n</div>\n' if said else ""
    others = parts_of([part for part in section.parts if part not in said], whole=True)
    heading = f'<h2 id="{name}-title"{kind}>{title}</h2>'
    return f'<section id="{name}" aria-labelledby="{name}-title">\n{heading}\n{answer}{others}\n</section>\n'


def _is_answer(part: SectionPart) -> bool:
    return isinstance(part, Labelled) or (isinstance(part, Sentence) and part.tone != "quiet")


def _links(sections: Iterable[Section]) -> str:
    links = "".join(f'<a href="#{each.name}">{text_of(each.title)}</a>' for each in sections)
    return f'<nav aria-label="Sections" id="sections" class="sections">{links}</nav>\n'


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
def _script(main: str) -> str:
    return "\n".join(_module(name, _asset(f"{name}.js")) for name in modules(main))


def modules(name: str) -> list[str]:
    """Return the names of a script's modules in the order in which they need each other."""
    needed = re.findall(r'^import .* from "\./(\w+)\.js";$', _asset(f"{name}.js"), flags=re.MULTILINE)
    return [*dict.fromkeys(each for module in needed for each in modules(module)), name]


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
    text = json.dumps(plain(data, rounded), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.translate({ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"})
