"""What is made of the code or of pages: `python tests/reference.py` writes all of it anew.

A table stands in its page between `<!-- made of code: NAME -->` and `<!-- end -->`, in hand-written text. The
page of drivers (`drivers_page.py`) and the texts that `latpcap explain` prints (`explained.py`) are made as a whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path

import drivers_page
import explained

from latpcap.cli.explain import TOPICS
from latpcap.cli.shared.status import EXIT_STATUS
from latpcap.findings.finding import Pattern
from latpcap.findings.patterns.healthy import NETWORK_BOUND
from latpcap.findings.registry import HEALTHY, PATTERNS
from latpcap.measures.error_classes import CLASSES
from latpcap.measures.health_rules import RULES

ROOT = Path(__file__).resolve().parents[1]
MEASURED = ROOT / "latpcap" / "projection" / "measured.json"
ACCURACY = ROOT / "docs" / "accuracy.md"
PART = re.compile(r"(<!-- made of code: ([^>]+) -->\n).*?(<!-- end -->)", re.DOTALL)
PAGES = (
    *(ROOT / "docs" / f"{name}.md" for name in ("accuracy", "command-line", "errors", "findings", "health")),
    ROOT / "README.md",
)


def page(path: Path) -> str:
    """Return a page with its tables made anew."""
    return PART.sub(lambda part: f"{part[1]}{TABLES[part[2]]()}\n{part[3]}", path.read_text("utf-8"))


def table(heads: Iterable[str], rows: Iterable[Iterable[str]], right: int = 0) -> str:
    """Return a Markdown table whose last `right` columns hold numbers."""
    titles = list(heads)
    marks = ["---"] * (len(titles) - right) + ["--:"] * right
    return "\n".join([_line(titles), f"|{'|'.join(marks)}|", *map(_line, rows)])


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |".replace("|  |", "| |")


def findings() -> str:
    """Return each finding's rule and the fixes that `--fix` takes."""
    rows = ((f"`{each.code}`", each.rule, _fixes(each)) for each in (*PATTERNS, HEALTHY, NETWORK_BOUND))
    return table(("code", "rule", "`--fix`"), rows)


def _fixes(pattern: Pattern) -> str:
    values = [*filter(None, pattern.choices), *([str(pattern.usual)] if pattern.usual else [])]
    return ", ".join(f"`{pattern.fix}={each}`" for each in values) or (f"`{pattern.fix}`" if pattern.fix else "")


def health(first: str, last: str) -> Callable[[], str]:
    """Return what makes the table of the notes from `first` to `last`, in the order of the rules."""

    def rows() -> str:
        codes = list(RULES)
        named = codes[codes.index(first) : codes.index(last) + 1]
        return table(("code", "seen when"), ((f"`{code}`", RULES[code]) for code in named))

    return rows


def categories() -> str:
    """Return what each category of errors means."""
    return table(("category", "what it means"), ((f"`{name}`", meaning) for name, meaning in CLASSES.items()))


def statuses() -> str:
    """Return what each exit status means."""
    return table(("status", "meaning"), EXIT_STATUS.items())


def coverage() -> str:
    """Return how many measured runs lay in the range of their projection, by kind of work."""
    rows = [(kind, *(_held(each[way]) for way in ("longer", "shorter"))) for kind, each in _measured().items()]
    total = ("all", *(_held(_total(way)) for way in ("longer", "shorter")))
    return table(("kind of work", "inside, to a longer RTT", "to a shorter RTT"), [*rows, total], right=2)


def accuracy() -> str:
    """Return README's sentences about projections: the range from `measured.json`, the error from docs/accuracy.md."""
    waits = _measured()["stop and wait"]["longer"]
    median, p90 = re.findall(r"^\| to a longer RTT \| (\S+ %) \| (\S+ %)", ACCURACY.read_text("utf-8"), re.MULTILINE)[0]
    return (
        f"- **Projections** were compared with real runs over links of 0.5 to 50 ms. The measured runtime lay in the "
        f"stated range\n  in {_held(_total('longer'))} runs at a longer RTT ({_held(waits)} for jobs that wait for one "
        f"answer after the other), in\n  {_held(_total('shorter'))} at a shorter one. On a machine as it is the median "
        f"error to a longer RTT is {median}, nine of ten are\n  within {p90}. All tables, and where it misses: "
        f"[docs/accuracy.md](docs/accuracy.md)."
    )


def _measured() -> dict[str, dict[str, dict[str, int]]]:
    found: dict[str, dict[str, dict[str, int]]] = json.loads(MEASURED.read_text("utf-8"))
    return found


def _total(way: str) -> dict[str, int]:
    return {key: sum(each[way][key] for each in _measured().values()) for key in ("inside", "pairs")}


def _held(counts: dict[str, int]) -> str:
    return f"{100 * counts['inside'] / counts['pairs']:.0f} % of {counts['pairs']:,}"


TABLES: dict[str, Callable[[], str]] = {
    "findings": findings,
    "categories": categories,
    "exit statuses": statuses,
    "coverage": coverage,
    "accuracy": accuracy,
    **{
        f"health notes, {first} to {last}": health(first, last)
        for first, last in (
            ("file-cut", "capture-drops"),
            ("capture-loss", "proxy-header"),
            ("clock-backwards", "coarse-clock"),
            ("path-changed", "delayed-ack"),
            ("no-database-traffic", "other-database"),
            ("selection", "one-response"),
            ("too-many-connections", "too-many-fragments"),
            ("baseline-unknown", "near-zero-baseline"),
        )
    },
}
"""What makes each part of a page, by the name in its marker."""


if __name__ == "__main__":
    for each in PAGES:
        each.write_text(page(each), "utf-8")
    drivers_page.PAGE.write_text(drivers_page.page(), "utf-8")
    for topic in TOPICS:
        explained.page(topic).write_text(explained.as_text(topic), "utf-8")
