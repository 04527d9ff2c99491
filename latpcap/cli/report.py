"""`latpcap report`."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from latpcap.cli.io import flat, in_seconds, read_capture, warn, write
from latpcap.cli.options import Duration, reading_options, rtt_option
from latpcap.errors import UsageError

if TYPE_CHECKING:
    from latpcap.capture import Capture

__all__ = ["report"]

Render = Callable[["Capture", list[float] | None, float | None], str]


@click.command()
@reading_options
@rtt_option
@click.option("--within", type=Duration(), metavar="DURATION", help="Find the largest RTT that meets this runtime.")
@click.option("-o", "--output", required=True, metavar="FILE", help="The file to write: .html or .md.")
def report(rtt: tuple[list[float], ...], within: float | None, output: str, **reading: Any) -> None:
    """Write the whole result to hand on: a page for the browser, or Markdown for a ticket or a mail.

    \b
    latpcap report capture.pcapng -o report.html
    latpcap report capture.pcapng --rtt 15ms -o report.md
    """
    render = _renderer(output)
    capture = read_capture(reading, output)
    text = render(capture, flat(rtt), in_seconds(within))
    warn(capture, reading["quiet"])
    write([text], output)


def _renderer(output: str) -> Render:
    """How the file's name says that the report is written."""
    suffix = Path(output).suffix.lower()
    if suffix not in RENDERERS:
        raise UsageError(f"{output}: a report is .html or .md; for tables and JSON there are other commands")
    if suffix in HTML and find_spec("latpcap.report.html") is None:
        raise UsageError(f"{output}: this latpcap has no HTML report; write a .md")
    return RENDERERS[suffix]


def _html(capture: Capture, rtt_ms: list[float] | None, within_s: float | None) -> str:
    from importlib import import_module

    text: str = import_module("latpcap.report.html").render(capture.measures, rtt_ms)
    return text


def _markdown(capture: Capture, rtt_ms: list[float] | None, within_s: float | None) -> str:
    from latpcap.report import markdown

    return markdown.render(capture.analyze(rtt_ms, within_s))


HTML = (".html", ".htm")
RENDERERS: dict[str, Render] = {**dict.fromkeys(HTML, _html), ".md": _markdown, ".markdown": _markdown}
