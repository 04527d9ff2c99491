"""`latpcap rehearse`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import click

from latpcap.cli.shared.command import command as a_command
from latpcap.cli.shared.files import CAPTURE, OUTPUT_FOLDER
from latpcap.cli.shared.gates import RowGating, row_gate_options
from latpcap.cli.shared.io import teller, write_result
from latpcap.cli.shared.options import ROOM, RTT_LIST, decode_as_option, flat, json_option, link_options
from latpcap.cli.shared.recording import database_options

STDOUT, STDERR = 1, 2


@a_command(
    short_help="Run a job at another RTT, and check the projection against it.",
    context_settings={"allow_interspersed_args": False},
    without=ROOM,
)
@click.argument("command", nargs=-1, required=True, metavar="-- COMMAND...", type=click.UNPROCESSED)
@click.option(
    "--rtt",
    type=RTT_LIST,
    multiple=True,
    required=True,
    metavar="LIST",
    help="RTTs to run the command at: 15ms or 5ms,15ms,50ms or metro,region; repeatable.",
)
@database_options(
    server="Server to move farther away; by default every database that the first run connects to; repeatable.",
    port="Move the servers that the first run connects to on this port; repeatable.",
    relay="Add the delay in a relay that listens on PORT and forwards to HOST:PORT; the command must connect to PORT. "
    "Needs no root; exact for stop-and-wait work only; repeatable.",
)
@link_options
@click.option(
    "--runs",
    type=click.IntRange(min=1),
    default=1,
    metavar="N",
    show_default=True,
    help="Runs at each RTT and today, in alternating order; the result shows the median.",
)
@click.option(
    "--seed",
    hidden=True,  # the result names it
    type=int,
    metavar="N",
    help="Seed of the random numbers of --loss and --jitter; each further run takes the next number. By default it is "
    "random, and the result names it.",
)
@click.option(
    "--from",
    "recording",
    type=CAPTURE,
    metavar="CAPTURE",
    help="Predict from this recording of today's run instead of making one.",
)
@decode_as_option
@row_gate_options
@json_option
@click.option(
    "-o",
    "--output",
    "folder",
    type=OUTPUT_FOLDER,
    metavar="FOLDER",
    help="Keep the recordings here, with the result as rehearsal.json and rehearsal.md.",
)
def rehearse(
    command: tuple[str, ...],
    rtt: tuple[list[float], ...],
    servers: tuple[str, ...],
    ports: tuple[int, ...],
    loss: float | None,
    jitter: float,
    bandwidth: float | None,
    relays: tuple[str, ...],
    runs: int,
    seed: int | None,
    recording: str | None,
    decode_as: tuple[tuple[int, str], ...],
    as_json: bool,
    folder: str | None,
    quiet: bool,
    gating: RowGating,
) -> None:
    """Run COMMAND on today's network, and again with its database at each RTT of --rtt.

    The result shows the runtimes predicted from today's run beside the measured ones.

    COMMAND RUNS ONCE FOR TODAY'S NETWORK AND ONCE FOR EACH RTT (times --runs), AND WRITES TO THE DATABASE EACH TIME:
    rehearse only a job that may be repeated. Only the path to the database is longer; everything else is reached as
    usual.

    \b
    latpcap rehearse --rtt 15ms -- python job.py
    latpcap rehearse --rtt 5ms,15ms,50ms --runs 3 -o rehearsed -- ./nightly.sh
    latpcap rehearse --rtt 15ms --relay 15432:127.0.0.1:5432 -- psql -h 127.0.0.1 -p 15432 -f job.sql
    latpcap rehearse --rtt 50ms --from today.pcapng --server 10.0.0.5:3306 -- java -jar batch.jar
    latpcap rehearse --rtt 15ms --fail-if 'runtime > 60s' -- python job.py
    """
    from latpcap.live.rehearse import rehearse as run
    from latpcap.result.pairs.rehearsal import rehearsed_rows

    gating.judge(rehearsed_rows([]))  # a condition that cannot be judged is refused before the command is run

    with _output_to_error() if as_json else nullcontext():
        result = run(
            command,
            rtt_ms=flat(rtt) or [],
            server=servers,
            port=ports,
            loss=loss,
            jitter_ms=jitter,
            bandwidth_bps=bandwidth,
            relay=relays,
            runs=runs,
            seed=seed,
            recording=recording,
            folder=folder,
            decode_as=dict(decode_as),
            say=None if quiet else teller(quiet),
        )
    judged = gating.judge(result.table(), "recording")
    write_result(result, "json" if as_json else "terminal", None, judged)
    gating.end_of(judged, (each.told.recording for each in result.rtts))


@contextmanager
def _output_to_error() -> Iterator[None]:
    """Send what the command prints to standard error: standard output is JSON, and nothing else."""
    own = os.dup(STDOUT)
    os.dup2(STDERR, STDOUT)
    try:
        yield
    finally:
        os.dup2(own, STDOUT)
        os.close(own)
