"""Every output format, for every command that can print it: one file here, and one line in `FORMATS`.

```text
result   what a command found: an analysis, a projection, a comparison, a validation, a verification
report   a whole analysis, to hand on: its file's name says which format
rows     a table
```
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from latpcap.errors import UsageError
from latpcap.result.analysis import Measures
from latpcap.tables.files import FILE_FORMATS
from latpcap.tables.table import Table

__all__ = ["FORMATS", "Format", "format_of", "formats_of", "report_to"]


@dataclass(frozen=True, slots=True)
class Format:
    """How something is written: called with a result or a table, it returns its text or its pieces.

    For a report it is called with the measures, the RTTs (ms) and the target runtime (s) that were asked for.
    """

    of: str
    """`result`, `report` or `rows`."""
    render: Callable[..., Any]
    suffixes: tuple[str, ...] = ()
    is_text: bool = True

    def __call__(self, *what: Any) -> Any:
        """Render it."""
        return self.render(*what)


def _by(*modules: str) -> Callable[[Any], Any]:
    """`render` of the first of `modules`, imported when it is needed; the others register what else it renders."""

    def render(what: Any) -> Any:
        first, *_ = [import_module(f"latpcap.report.{module}") for module in modules]
        return first.render(what)

    return render


def _html(measures: Measures, rtt_ms: Sequence[float] | None, within_s: float | None) -> str:
    """The page projects by itself onto any RTT and any target."""
    from latpcap.report import html
    from latpcap.result.exploration import explore

    return html.render(explore(measures, rtt_ms))


def _markdown(measures: Measures, rtt_ms: Sequence[float] | None, within_s: float | None) -> str:
    from latpcap.report import markdown

    return markdown.render(measures.analyze(rtt_ms, within_s))


def _rows(name: str) -> Callable[[Table], Iterator[bytes]]:
    return lambda table: table.encode(name)


FORMATS = {
    "terminal": Format("result", _by("terminal", "pairs", "verification")),
    "json": Format("result", _by("jsonout")),
    "html": Format("report", _html, (".html", ".htm")),
    "markdown": Format("report", _markdown, (".md", ".markdown")),
    "table": Format("rows", _by("rows")),
    **{name: Format("rows", _rows(name), each.suffixes, each.is_text) for name, each in FILE_FORMATS.items()},
}


def formats_of(kind: str) -> list[str]:
    """The formats that write `kind`."""
    return [name for name, each in FORMATS.items() if each.of == kind]


def format_of(kind: str, path: str | Path | None) -> str | None:
    """The format that writes `kind` to a file of this name; `None` where its suffix says none."""
    suffix = Path(path or "").suffix.lower()
    return next((name for name in formats_of(kind) if suffix in FORMATS[name].suffixes), None)


def report_to(path: str | Path) -> Format:
    """The format of a report that is written to `path`."""
    name = format_of("report", path)
    if name is None:
        raise UsageError(f"{path}: a report is .html or .md; for tables and JSON there are other commands")
    return FORMATS[name]
