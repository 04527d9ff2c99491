"""`latpcap compare` and `latpcap validate`: two captures of one job."""

from __future__ import annotations

from typing import Any

import click

from latpcap.cli.files import CAPTURE
from latpcap.cli.gates import compared_options, gating_of
from latpcap.cli.io import read_capture, result_format, tell_timing_only, write, write_result
from latpcap.cli.options import Rtt, json_option, output_option, sign_off_options, two_captures_options
from latpcap.errors import UsageError

__all__ = ["compare", "validate"]


@click.command(short_help="Two captures of one job: what was added, what is gone.")
@click.argument("before", metavar="BEFORE", type=CAPTURE)
@click.argument("after", metavar="AFTER", type=CAPTURE)
@two_captures_options
@sign_off_options
@compared_options
@json_option
@output_option
def compare(
    before: str,
    after: str,
    title: str | None,
    customer: str | None,
    notes: tuple[str, ...],
    date: str | None,
    as_json: bool,
    output: str | None,
    **reading: Any,
) -> None:
    """Two captures of one job: what was added, what is gone, what explains the difference.

    \b
    latpcap compare before.pcapng after.pcapng
    latpcap compare release-1.pcapng release-2.pcapng --json
    latpcap compare release-1.pcapng release-2.pcapng --fail-if 'round_trips > baseline + 10%'
    latpcap compare release-1.pcapng release-2.pcapng --customer ACME -o report.html
    """
    from latpcap.report import BEFORE_AFTER
    from latpcap.result.before_after import before_after
    from latpcap.result.comparison import compare as set_side_by_side
    from latpcap.result.signoff import Cover

    chosen = result_format(as_json, output, "result", "comparison")
    cover = Cover(title, customer, notes, date)
    if cover != Cover() and chosen not in BEFORE_AFTER:
        raise UsageError("--title, --customer, --note and --date are of a report: name one with -o report.html or .md")
    gating = gating_of(reading, before)
    first, second = _both(before, after, reading)
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


@click.command(short_help="Was the projection right? Predicted against measured.")
@click.argument("base", metavar="BASE", type=CAPTURE)
@click.option(
    "--against", "other", required=True, type=CAPTURE, metavar="OTHER", help="A capture of the same job at another RTT."
)
@click.option("--against-rtt", type=Rtt(), metavar="DURATION", help="The RTT of OTHER, where you know it better.")
@two_captures_options
@json_option
@output_option
def validate(
    base: str, other: str, against_rtt: float | None, as_json: bool, output: str | None, **reading: Any
) -> None:
    """Predicted against measured: project BASE onto the RTT of OTHER, and see how right that is.

    \b
    latpcap validate lan.pcapng --against wan.pcapng
    """
    from latpcap.result.validation import validate as check

    chosen = result_format(as_json, output)
    first, second = _both(base, other, reading, against_rtt)
    write_result(check(first, second), chosen, output)


def _both(first: str, second: str, reading: dict[str, Any], rtt: float | None = None) -> Any:
    """Read both captures; under `--pseudonymise` a host has the same name in both. A key log may be of either."""
    from latpcap.tables.keys import key_log

    given = reading.pop("rtt_baseline", None)
    names = reading["pseudonymise"]
    if names:
        from latpcap.tables.pseudonyms import Pseudonyms

        reading["pseudonymise"] = Pseudonyms()
    reading["keylog"] = key_log(reading["keylog"], memory=reading["memory"], show_names=not names)
    both = tuple(
        read_capture({**reading, "captures": (path,), "rtt_baseline": baseline}, may_stop=False)
        for path, baseline in ((first, given), (second, rtt))
    )
    for capture, whose in zip(both, ("the first capture: ", "the second capture: "), strict=True):
        tell_timing_only(capture, reading["quiet"], whose)
    return both
