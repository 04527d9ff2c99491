"""`latpcap findings`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from latpcap.cli.io import check_gates, flat, read_capture, warn, write
from latpcap.cli.options import fail_if_option, output_options, reading_options, rtt_option
from latpcap.cli.tables import FORMAT_OF_SUFFIX
from latpcap.errors import UsageError

__all__ = ["findings"]


@click.command()
@reading_options
@rtt_option
@fail_if_option
@output_options
def findings(
    rtt: tuple[list[float], ...],
    fail_if: tuple[Any, ...],
    file_format: str | None,
    output: str | None,
    **reading: Any,
) -> None:
    """Which patterns cost round trips, what fixes them, and which packets show it.

    \b
    latpcap findings capture.pcapng --rtt 15ms
    latpcap findings capture.pcapng --format jsonl
    latpcap findings nightly.pcapng --fail-if 'finding(n+1)'
    """
    chosen = file_format or FORMAT_OF_SUFFIX.get(Path(output).suffix if output else "", "table")
    if chosen == "parquet" and output is None and sys.stdout.isatty():
        raise UsageError("Parquet is no text: name a file with `-o findings.parquet`")
    capture = read_capture(reading, output)
    rtts = flat(rtt)
    warn(capture, reading["quiet"])
    if chosen == "table":
        from latpcap.report.terminal import findings_text

        write([findings_text(capture.analyze(rtts).findings)], output)
    else:
        write(capture.findings_at(rtts).encode(chosen), output)
    check_gates(fail_if, capture)
