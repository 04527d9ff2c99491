"""`latpcap calibrate`."""

from __future__ import annotations

import click

from latpcap.cli.shared.command import command
from latpcap.cli.shared.io import result_format, teller, write_result
from latpcap.cli.shared.options import DURATION, ROOM, Choice, json_option, output_option
from latpcap.protocols import NAMES


@command(short_help="The RTT to a server, without a capture: handshakes and greetings.", without=ROOM)
@click.argument("server", metavar="HOST:PORT")
@click.option(
    "--protocol",
    "spoken",
    type=Choice([*NAMES, "none"]),
    help="Protocol of the server, if its port does not tell; `none` measures handshakes only.",
)
@click.option(
    "--connections",
    type=click.IntRange(1, 10),
    default=10,
    show_default=True,
    metavar="N",
    help="Number of connections, ten at most: MySQL counts each towards max_connect_errors.",
)
@click.option("--timeout", type=DURATION, default="15s", show_default=True, metavar="DURATION",
              help="Time limit of the whole measurement.")  # fmt: skip
@json_option
@output_option
def calibrate(
    server: str,
    spoken: str | None,
    connections: int,
    timeout: float,
    as_json: bool,
    quiet: bool,
    output: str | None,
) -> None:
    """Measure the RTT to a server that is where the database would go: a value for --rtt.

    Makes at most ten connections without a login: TCP handshakes, timed by the operating system, and the shortest
    message that the database answers (MySQL's greeting, PostgreSQL's SSLRequest). Standard error first says which
    traces that leaves at the server.

    \b
    latpcap calibrate db.example:5432
    latpcap calibrate 10.0.0.5:3306 --connections 3
    latpcap calibrate [fd00::1]:15432 --protocol postgresql --json
    """
    chosen = result_format(as_json, output)

    from latpcap.live.calibrate import calibrate as measure

    measured = measure(server, protocol=spoken, connections=connections, timeout_s=timeout / 1000, say=teller(quiet))
    write_result(measured, chosen, output)
