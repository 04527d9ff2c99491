"""`latpcap compare`: two captures of one job."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from latpcap.cli.shared.command import command
from latpcap.cli.shared.files import CAPTURE
from latpcap.cli.shared.gates import Gating, compared_options
from latpcap.cli.shared.io import result_format, tell_timing_only, write, write_result
from latpcap.cli.shared.options import RTT, json_option, output_option, two_captures_options
from latpcap.errors import UsageError

if TYPE_CHECKING:
    from latpcap.capture import Capture
    from latpcap.cli.shared.request import Request
    from latpcap.result.cover import Cover


@command(short_help="Two captures of one job: what changed, was the projection right?")
@click.argument("before", metavar="BEFORE", type=CAPTURE)
@click.argument("after", metavar="AFTER", type=CAPTURE)
@click.option(
    "--projected",
    is_flag=True,
    help="Compare AFTER with what BEFORE predicts for the RTT of AFTER: was the projection right?",
)
@click.option("--after-rtt", type=RTT, metavar="DURATION", help="RTT of AFTER, as --rtt-baseline is that of BEFORE.")
@two_captures_options
@compared_options
@json_option
@output_option
def compare(
    request: Request,
    before: str,
    after: str,
    projected: bool,
    after_rtt: float | None,
    gating: Gating,
    as_json: bool,
    output: str | None,
) -> None:
    """Show what changed between two captures of one job, and what explains the difference in runtime.

    With --projected, show instead how right the projection of BEFORE onto the RTT of AFTER was.

    \b
    latpcap compare before.pcapng after.pcapng
    latpcap compare lan.pcapng wan.pcapng --projected
    latpcap compare release-1.pcapng release-2.pcapng --json
    latpcap compare release-1.pcapng release-2.pcapng --fail-if 'round_trips > baseline + 10%'
    latpcap compare release-1.pcapng release-2.pcapng -o report.html
    """
    if projected:
        if gating.is_asked:
            raise UsageError("--fail-if and --ci judge what changed: leave --projected out")
        from latpcap.result.pairs.validation import validate

        chosen = result_format(as_json, output)
        pair = read_both(request, before, after, after_rtt, hashes=chosen != "terminal")
        write_result(validate(*pair), chosen, output)
        return
    chosen = result_format(as_json, output, "result", "comparison")
    hashes = chosen != "terminal" or gating.hashes
    write_pair(read_both(request, before, after, after_rtt, hashes=hashes), gating, chosen, output)


def write_pair(
    pair: tuple[Capture, Capture], gating: Gating, chosen: str, output: str | None, cover: Cover | None = None
) -> None:
    """Write what changed between two captures in the chosen format, and end with status 1 where a gate fails."""
    from latpcap.report import BEFORE_AFTER
    from latpcap.result.pairs.before_after import before_after
    from latpcap.result.pairs.comparison import compare as compared

    first, second = pair
    if chosen in BEFORE_AFTER:
        both = before_after(first.measures, second.measures, cover)
        gates = gating.judge(second, both.after, before=first)
        write([BEFORE_AFTER[chosen](both, gates)], output)
        gating.end(gates, second, both.after)
        return
    result = second.analyze()
    gates = gating.judge(second, result, before=first)
    write_result(compared(first.analyze(), result), chosen, output, gates)
    gating.end(gates, second, result)


def read_both(
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
