"""Every output format, for every command that can print it: one file here, and one line in `FORMATS`.

```text
result   what a command found: an analysis, a projection, a comparison, a validation, a verification, a calibration
report   a whole analysis, to hand on
comparison   two captures of one job, to hand on
rows     a table
```

What a file's name ends with says which format it is; see docs/command-line.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from latpcap.errors import UsageError
from latpcap.tables.writing.files import FILE_FORMATS

if TYPE_CHECKING:
    from pathlib import Path

    from latpcap.result.analysis import Measures
    from latpcap.result.checks.gates import Gates
    from latpcap.tables.columnar.table import Table

__all__ = [
    "BEFORE_AFTER",
    "CAPTURES",
    "FORMATS",
    "GATE_FORMATS",
    "Format",
    "check_capture_name",
    "chosen_format",
    "formats_of",
    "report_to",
]


class Format(Struct, frozen=True):
    """How something is written: called with a result or a table, it returns its text or its pieces.

    For a report it is called with the measures, what became of the gates, and what `Measures.analyze` takes.
    """

    of: tuple[str, ...]
    """`result`, `report`, `rows`: what it writes."""
    render: Callable[..., Any]
    suffixes: tuple[str, ...] = ()
    is_text: bool = True

    def __call__(self, *what: Any) -> Any:
        """Render it."""
        return self.render(*what)


def _by(module: str, render: str = "render") -> Callable[..., Any]:
    """A function of the module, which is imported when it is needed."""
    return lambda *what: getattr(import_module(f"latpcap.report.{module}"), render)(*what)


def _report(name: str, made: Callable[..., Any]) -> Callable[..., str]:
    """A report in a format of what is `made` of the measures and of what was asked for."""

    def render(measures: Measures, gates: Gates | None = None, *asked: Any) -> str:
        text: str = _by(name)(made(measures, *asked), gates)
        return text

    return render


def _explored(measures: Measures, *asked: Any) -> Any:
    """The page projects by itself onto any RTT."""
    from latpcap.result.page.exploration import explore

    return explore(measures, *asked)


def _analyzed(measures: Measures, *asked: Any) -> Any:
    return measures.analyze(*asked)


def _rows(name: str) -> Callable[[Table], Iterator[bytes]]:
    return lambda table: table.encode(name)


FORMATS = {
    "terminal": Format(("result",), _by("terminal"), (".txt",)),
    "table": Format(("rows",), _by("rows"), (".txt",)),
    "json": Format(("result", "rows"), _by("jsonout"), (".json",)),
    "html": Format(("report", "comparison"), _report("html", _explored), (".html", ".htm")),
    "markdown": Format(("report", "comparison"), _report("markdown", _analyzed), (".md", ".markdown")),
    **{name: Format(("rows",), _rows(name), each.suffixes, each.is_text) for name, each in FILE_FORMATS.items()},
}


BEFORE_AFTER = {name: _by(name, "render_both") for name in ("html", "markdown")}
"""How two captures of one job are handed on: of `latpcap.result.pairs.before_after`, and what became of gates."""

GATE_FORMATS = {name: _by(f"checks.{name}") for name in ("junit", "sarif", "github")}
"""How build servers hear of gates and findings: what `latpcap.result.checks.gate_report` makes."""

COMPRESSED = (".gz", ".zst", ".lz4")
CAPTURES = (".pcap", ".pcapng", ".cap", *COMPRESSED)
"""The ends of captures' names: no format of ours."""


def formats_of(kind: str) -> list[str]:
    """The formats that write `kind`."""
    return [name for name, each in FORMATS.items() if kind in each.of]


def report_to(path: str | Path) -> Format:
    """The format of a report that is written to `path`."""
    name = _named(formats_of("report"), path)
    if name is None:
        raise UsageError(f"{path}: a report is .html or .md; for tables and JSON there are other commands")
    return FORMATS[name]


def check_capture_name(path: str | Path, instead: str = "") -> None:
    """Refuse the name of a capture, a pcapng, that says something else; `instead` is what else it may have meant."""
    suffix = _suffixes(path)[-1]
    if suffix in COMPRESSED:
        raise UsageError(f"{path}: a pcapng is written there, and not compressed: name it .pcapng")
    if any(suffix in each.suffixes for each in FORMATS.values()):
        raise UsageError(f"{path}: a pcapng is written there: name it .pcapng{instead}")


def chosen_format(kinds: Sequence[str], path: str | Path | None, asked: str | None = None) -> str:
    """The format of `kinds` that was asked for, else the one that the output's name says, else the first.

    A name that says another format than the one asked for, or none of these, is a mistake: `UsageError`.
    """
    possible = [name for kind in kinds for name in formats_of(kind)]
    suffix = _suffixes(path)[-1]
    named = _named(possible, path)
    if asked is None:
        if suffix and named is None:
            raise UsageError(f"{path}: {_what_is_written(possible, str(path))}")
        return named or possible[0]
    meant = [name for name, each in FORMATS.items() if suffix in each.suffixes]
    if suffix != ".txt" and meant and asked not in meant:
        raise UsageError(f"{path}: {suffix} is for {meant[0]}, and {asked} was asked for")
    return asked


def _suffixes(path: str | Path | None) -> list[str]:
    """Return how a file's name ends, in lower case: one suffix at least, which may be empty."""
    from pathlib import Path

    return [each.lower() for each in Path(path or "").suffixes] or [""]


def _named(possible: Sequence[str], path: str | Path | None) -> str | None:
    suffix = _suffixes(path)[-1]
    return next((name for name in possible if suffix in FORMATS[name].suffixes), None)


def _what_is_written(possible: Sequence[str], path: str) -> str:
    """Say what to write instead, and which command writes files that end so."""
    *_, suffix = suffixes = _suffixes(path)
    *first, last = dict.fromkeys(FORMATS[name].suffixes[0] for name in possible)
    kinds = {kind for each in FORMATS.values() if suffix in each.suffixes for kind in each.of}
    others = {"report": "`latpcap report` writes", "rows": "tables such as `latpcap table exchanges` write"}
    elsewhere = [f"; {by} {suffix}" for kind, by in others.items() if kind in kinds]
    elsewhere += ["; for a PDF, print the .html page"] if suffix == ".pdf" and ".html" in (*first, last) else []
    capture = "a capture is never overwritten; " if any(each in CAPTURES[:3] for each in suffixes) else ""
    return f"{capture}name a file that ends with {', '.join(first)} or {last}{''.join(elsewhere)}"
