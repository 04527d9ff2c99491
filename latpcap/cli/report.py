"""`latpcap report`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from latpcap.cli.analyze import write_analysis
from latpcap.cli.compare import read_both, write_pair
from latpcap.cli.shared.command import command
from latpcap.cli.shared.files import CAPTURE
from latpcap.cli.shared.gates import GateReports, Gating
from latpcap.cli.shared.io import result_format
from latpcap.cli.shared.options import Target, output_option, reading_options, sign_off_options, target_options
from latpcap.errors import UsageError

if TYPE_CHECKING:
    from latpcap.cli.shared.request import Request
    from latpcap.result.cover import Cover


@command(short_help="Write a page to hand on: HTML or Markdown.")
@reading_options
@target_options
@sign_off_options
@click.option(
    "--before", type=CAPTURE, metavar="CAPTURE", help="An earlier capture of the job: the page shows what changed."
)
@output_option
def report(request: Request, target: Target, cover: Cover, before: str | None, output: str | None) -> None:
    """Write a page to hand on: .html with a slider for the RTT, .md for a ticket or an email; .json and .txt, too.

    \b
    latpcap report capture.pcapng -o report.html
    latpcap report capture.pcapng --rtt 15ms --within 60s -o report.md
    latpcap report capture.pcapng --title 'Nightly job' --customer ACME --date today -o report.html
    latpcap report after.pcapng --before before.pcapng -o report.html
    """
    if output is None:
        raise UsageError("name the page: -o report.html or -o report.md")
    nothing = Gating((), GateReports())
    if before is None:
        chosen = result_format(False, output, "result", "report")
        capture = request.read(hashes=True)
        write_analysis(capture, nothing, chosen, output, target, quiet=request.quiet, cover=cover)
        return
    if target != Target(None, {}, None):
        raise UsageError("--rtt, --move and --within are of one capture: leave --before out")
    if len(request.captures) != 1:
        raise UsageError("--before compares two captures: name one beside it")
    chosen = result_format(False, output, "comparison")
    pair = read_both(request, before, request.captures[0], hashes=True)
    write_pair(pair, nothing, chosen, output, cover)
