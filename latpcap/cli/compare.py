"""`latpcap compare` and `latpcap validate`: two captures of one job."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from latpcap.cli.shared.files import CAPTURE
from latpcap.cli.shared.gates import Gating, compared_options
from latpcap.cli.shared.io import result_format, tell_timing_only, write, write_result
from latpcap.cli.shared.options import RTT, json_option, output_option, sign_off_options, two_captures_options
from latpcap.cli.shared.verb import command, tell_formerly
from latpcap.errors import UsageError

if TYPE_CHECKING:
    from latpcap.capture import Capture
    from latpcap.cli.shared.request import Request
    from latpcap.result.cover import Cover


@command(short_help="Two captures of one job: what changed.")
@click.argument("before", metavar="BEFORE", type=CAPTURE)
@click.argument("after", metavar="AFTER", type=CAPTURE)
@two_captures_options
@sign_off_options
@compared_options
@json_option
@output_option
def compare(
    request: Request, before: str, after: str, cover: Cover, gating: Gating, as_json: bool, output: str | None
) -> None:
    """Two captures of one job: what changed, and what explains the difference in runtime.

    \b
    latpcap compare before.pcapng after.pcapng
    latpcap compare release-1.pcapng release-2.pcapng --json
    latpcap compare release-1.pcapng release-2.pcapng --fail-if 'round_trips > baseline + 10%'
    latpcap compare release-1.pcapng release-2.pcapng --customer ACME -o report.html
    """
    from latpcap.report import BEFORE_AFTER
    from latpcap.result.cover import Cover
    from latpcap.result.pairs.before_after import before_after
    from latpcap.result.pairs.comparison import compare as set_side_by_side

    chosen = result_format(as_json, output, "result", "comparison")
    if cover != Cover() and chosen not in BEFORE_AFTER:
        options = "--title, --customer, --note and --date"
        raise UsageError(f"{options} are of a report: name one with -o report.html or .md")
    first, second = _both(request, before, after, hashes=chosen != "terminal")
    if chosen in BEFORE_AFTER:
        both = before_after(first.measures, second.measures, cover)
        gates = gating.judge(second, both.after, before=first)
        write([BEFORE_AFTER[chosen](both, gates)], output)
        gating.end(gates, second, both.after)
        return
    result = second.analyze()
    gates = gating.judge(second, result, before=first)
    write_result(set_side_by_side(first.analyze(), result), chosen, output, gates)
    gating.end(gates, second, result)


@command(short_help="Was the projection right? Predicted against measured.")
@click.argument("base", metavar="BASE", type=CAPTURE)
@click.argument("other", metavar="OTHER", type=CAPTURE, required=False)
@click.option("--against", type=CAPTURE, hidden=True)
@click.option("--against-rtt", type=RTT, metavar="DURATION", help="RTT of OTHER, to override the measured one.")
@two_captures_options
@json_option
@output_option
def validate(
    request: Request,
    base: str,
    other: str | None,
    against: str | None,
    against_rtt: float | None,
    as_json: bool,
    output: str | None,
) -> None:
    """Project BASE onto the RTT of OTHER, a capture of the same job, and compare with the measured runtime.

    \b
    latpcap validate lan.pcapng wan.pcapng
    """
    from latpcap.result.pairs.validation import validate as check

    if against is not None:
        tell_formerly("validate BASE --against OTHER", "validate BASE OTHER")
    there = against or other
    if there is None or (against and other):
        raise click.UsageError("give two captures of one job: latpcap validate BASE OTHER")
    chosen = result_format(as_json, output)
    first, second = _both(request, base, there, against_rtt)
    write_result(check(first, second), chosen, output)


def _both(
    request: Request, first: str, second: str, rtt: float | None = None, *, hashes: bool = False
) -> tuple[Capture, Capture]:
    """Read both captures; under `--pseudonymise` a host has the same name in both. A key log may be of either."""
    from latpcap.tables.privacy.pseudonyms import Pseudonyms
    from latpcap.tables.reading.keys import key_log

    reading = request.reading
    names = Pseudonyms() if reading.pseudonymise else False
    keys = key_log(reading.keylog, memory=reading.memory, show_names=not names)
    one, other = (
        request.of((path,), rtt_baseline_ms=baseline, pseudonymise=names, keylog=keys).read(
            may_stop=False, hashes=hashes
        )
        for path, baseline in ((first, reading.rtt_baseline_ms), (second, rtt))
    )
    for capture, whose in ((one, "the first capture: "), (other, "the second capture: ")):
        tell_timing_only(capture, request.quiet, whose)
    return one, other
