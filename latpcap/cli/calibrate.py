"""`latpcap calibrate`."""

from __future__ import annotations

import click

from latpcap.cli.shared.io import result_format, teller, write_result
from latpcap.cli.shared.options import ROOM, Duration, json_option, output_option
from latpcap.cli.shared.verb import command

__all__ = ["calibrate"]

ASKED = ("mysql", "postgresql", "oracle", "firebird", "none")


@command(short_help="The RTT to a server, without a capture: handshakes and greetings.", without=ROOM)
@click.argument("server", metavar="HOST:PORT")
@click.option(
    "--protocol", type=click.Choice(ASKED), help="What it speaks, where its port does not tell; none: handshakes only."
)
@click.option(
    "--connections",
    type=click.IntRange(1, 10),
    default=10,
    show_default=True,
    metavar="N",
    help="How many are made, ten at most: MySQL counts each towards max_connect_errors.",
)
@click.option("--timeout", type=Duration(), default="15s", show_default=True, metavar="DURATION",
              help="What all of it may take.")  # fmt: skip
@json_option
@output_option
def calibrate(
    server: str,
    protocol: str | None,
    connections: int,
    timeout: float,
    as_json: bool,
    quiet: bool,
    output: str | None,
) -> None:
    """Measure the RTT to a server that can be reached, but not yet run on: the --rtt to project onto.

    Makes at most ten connections, without a login: TCP handshakes, timed by the system itself, and the least that the
    database answers to (MySQL's greeting, PostgreSQL's SSLRequest). What that leaves at the server is said before.

    \b
    latpcap calibrate db.example:5432
    latpcap calibrate 10.0.0.5:3306 --connections 3
    latpcap calibrate [fd00::1]:15432 --protocol postgresql --json
    """
    chosen = result_format(as_json, output)

    from latpcap.live.calibrate import calibrate as measure

    measured = measure(server, protocol=protocol, connections=connections, timeout_s=timeout / 1000, say=teller(quiet))
    write_result(measured, chosen, output)
