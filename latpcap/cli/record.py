"""`latpcap record`."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from latpcap.cli.analyze import write_analysis
from latpcap.cli.gates import gate_options, gating_of
from latpcap.cli.io import INTERRUPTED, read_capture, result_format
from latpcap.cli.options import (
    PATH,
    Duration,
    Quantity,
    move_option,
    recording_options,
    rtt_option,
)
from latpcap.errors import LatpcapError, NoDatabaseTraffic, UsageError
from latpcap.units import counted

if TYPE_CHECKING:
    from latpcap.capture import Capture
    from latpcap.live.recorder import Recorded, Recorder
    from latpcap.live.ring import Ring

__all__ = ["record"]


def _ring(text: str) -> Ring:
    from latpcap.live.ring import parse_ring

    return parse_ring(text)


@click.command(
    short_help="Run a command, record what it asks of databases, analyse that.",
    context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False},
)
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[--] [COMMAND]...")
@click.option("-o", "--output", type=PATH, metavar="FILE", help="Keep the recording, a pcapng; else it is removed.")
@click.option(
    "--port",
    "ports",
    type=click.IntRange(1, 65535),
    multiple=True,
    metavar="PORT",
    help="Record this TCP port; repeatable. By default the usual ports of databases.",
)
@click.option(
    "--server",
    "servers",
    multiple=True,
    metavar="HOST:PORT",
    help="Record this server, on the interface that leads to it; repeatable.",
)
@click.option(
    "--relay",
    "relays",
    multiple=True,
    metavar="[BIND:]PORT:HOST:PORT",
    help="Without any rights: listen on PORT, pass everything on to HOST, and record it; repeatable.",
)
@click.option(
    "--pid",
    type=click.IntRange(min=1),
    metavar="PID",
    help="Record the servers that this process is connected to, until it ends or Ctrl-C.",
)
@click.option("--interface", "interfaces", multiple=True, metavar="NAME", help="Record there; repeatable.")
@click.option(
    "--duration", type=Duration(), metavar="DURATION", help="Without a command: record so long, not until Ctrl-C."
)
@click.option(
    "--ring",
    type=Quantity("ring", _ring),
    metavar="NxSIZE",
    help="Keep the last N files of this size each, with dumpcap's numbers in their names: 10x100MB.",
)
@click.option(
    "--privacy",
    is_flag=True,
    help="Record the first 100 bytes of packets, headers and little more, and count by who sends when: no statements.",
)
@click.option(
    "--keylog",
    is_flag=True,
    help="Have the command log its TLS secrets (SSLKEYLOGFILE, Node's --tls-keylog) and put them into FILE.",
)
@click.option(
    "--report",
    "result",
    type=PATH,
    metavar="FILE",
    help="Write the result to FILE (.html, .md, .json, .txt) instead of showing it.",
)
@recording_options
@rtt_option
@move_option
@click.option("--within", type=Duration(), metavar="DURATION", help="Find the largest RTT that meets this runtime.")
@gate_options
def record(
    command: tuple[str, ...],
    output: str | None,
    ports: tuple[int, ...],
    servers: tuple[str, ...],
    relays: tuple[str, ...],
    pid: int | None,
    interfaces: tuple[str, ...],
    duration: float | None,
    ring: Ring | None,
    privacy: bool,
    keylog: bool,
    result: str | None,
    **options: Any,
) -> None:
    """Run COMMAND with its terminal untouched, record its packets with dumpcap or tcpdump, and analyse them.

    The result goes to standard error, as standard output is the command's. The exit status is that of the command;
    where that is 0, it is that of the analysis. Without a command: until Ctrl-C, --duration or the end of --pid.

    \b
    latpcap record -- python job.py
    latpcap record -o job.pcapng --server db.example:5432 --rtt 15ms -- ./nightly.sh
    latpcap record --port 5432 --fail-if 'round_trips > 500' -- make test
    latpcap record --relay 15432:db.example:5432 -- ./job --port 15432
    latpcap record --pid 4711 --duration 60s -o service.pcapng
    latpcap record --port 3306 --ring 10x100MB -o /var/tmp/app.pcapng
    """
    if not (command or output or ports or servers or relays or pid or duration):
        raise UsageError("what is to be recorded? Write `latpcap record -- COMMAND`, or --port, --server or --pid")
    _check(command, output, pid, duration, ring, keylog, result)
    chosen = result_format(False, result, "result", "report")
    options["captures"] = []
    gating = gating_of(options, result)

    from latpcap.live import job
    from latpcap.live.record import by_turns, recorder_of
    from latpcap.report.text import printable

    if command:
        job.find(command)
    say = _say(options["quiet"])
    with _folder(options["temp_folder"]) as folder:
        path = Path(output) if output else folder / "recording.pcapng"
        keys = folder / "keys" if keylog else None
        recorder, of_servers = recorder_of(
            path, ports, servers, relays, pid, interfaces=interfaces, privacy=privacy, ring=ring
        )
        if privacy:
            options["decode_as"] = by_turns(of_servers) | dict(options["decode_as"])
        status, recorded = _recorded(recorder, command, keys, duration, pid, say, kept=bool(output))
        say(_told(recorded, output))
        for warning in (*recorded.problems, *filter(None, [recorded.trouble])):
            click.echo(f"latpcap: warning: {printable(warning)}", err=True)

        def analyse() -> None:
            reading = {**options, "captures": [str(each) for each in recorded.paths], "keylog": ()}
            capture = _read(reading, keys, path, recorded, say)
            write_analysis(capture, gating, chosen, result, options)

        with redirect_stdout(sys.stderr) if command else redirect_stdout(sys.stdout):
            _end(analyse, status)


def _check(
    command: Sequence[str],
    output: str | None,
    pid: int | None,
    duration: float | None,
    ring: Ring | None,
    keylog: bool,
    result: str | None,
) -> None:
    """Refuse what does not go together, before anything runs."""
    from latpcap.tables import sources

    if not sys.platform.startswith("linux"):
        raise UsageError("`latpcap record` needs Linux: capture with dumpcap here, and `latpcap analyze` the file")
    if command and (pid is not None or duration is not None):
        raise UsageError("--pid and --duration record what runs already: leave the command out")
    if keylog and not command:
        raise UsageError("--keylog is told to a command when it starts: a process that runs cannot be told any more")
    if ring and (not output or keylog):
        raise UsageError("--ring keeps files: name them with -o app.pcapng, and leave --keylog out")
    for path in (output, result):
        sources.check_output(path, ())
    if output and result and os.path.abspath(output) == os.path.abspath(result):
        raise UsageError(f"{result}: each output needs a file of its own")


def _say(quiet: bool) -> Callable[[str], None]:
    from latpcap.report.text import printable

    def say(text: str) -> None:
        if not quiet:
            click.echo(f"latpcap: {printable(text)}", err=True)

    return say


@contextmanager
def _folder(within: str | None) -> Iterator[Path]:
    from latpcap.live.record import temporary_folder

    folder = temporary_folder(within)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _recorded(
    recorder: Recorder,
    command: Sequence[str],
    keys: Path | None,
    duration: float | None,
    pid: int | None,
    say: Callable[[str], None],
    *,
    kept: bool,
) -> tuple[int, Recorded]:
    """Record while the command runs, or until somebody ends it; return the command's status, too."""
    from latpcap.live import job, keylog, until

    status = 0
    recorder.start()
    try:
        if command:
            environment = keylog.told_to_log(keys, os.environ) if keys else None
            status = job.run(command, environment).status
        else:
            say(f"recording {recorder.where}; Ctrl-C ends that")
            until.wait(None if duration is None else duration / 1000, pid)
        return status, recorder.stop()
    except KeyboardInterrupt:
        path = recorder.stop(at_once=True).path
        say(f"ended at once; what was recorded is in {path}" if kept else "ended at once, and nothing is kept")
        raise click.exceptions.Exit(INTERRUPTED) from None


def _told(recorded: Recorded, output: str | None) -> str:
    """Where the recording is, in a line."""
    if output is None:
        return f"recorded {recorded.where}; -o FILE.pcapng keeps the recording"
    files = recorded.paths
    into = str(files[0]) if len(files) == 1 else f"{len(files)} files, the last of them {files[-1]}"
    return f"recorded {recorded.where} into {into}"


def _read(
    reading: dict[str, Any], keys: Path | None, path: Path, recorded: Recorded, say: Callable[[str], None]
) -> Capture:
    """Read what was recorded, and put the secrets into it that open some of it."""
    from latpcap.live.keylog import embed
    from latpcap.live.record import nothing_seen
    from latpcap.tables.keys import key_log

    logged = None
    if keys is not None:
        if keys.exists() and keys.stat().st_size:
            logged = reading["keylog"] = key_log(str(keys), memory=reading["memory"])
        else:
            say("the command logged no TLS secret: it encrypts nothing, or needs another setting (docs/keys.md)")
    try:
        capture = read_capture(reading, None)
        recording = capture.measures.recording.core
    except NoDatabaseTraffic as error:
        raise nothing_seen(error, recorded) from None
    if logged is not None:
        count = embed(logged, recording, path)
        say(f"{path} holds the secrets of {counted(count, 'TLS session')}: whoever has the file can read them")
    return capture


def _end(analyse: Callable[[], None], status: int) -> None:
    """Analyse, and end with the command's status; where that is 0, with that of the analysis."""
    from latpcap.report.text import printable

    try:
        analyse()
    except LatpcapError as error:
        if status == 0:
            raise
        click.echo(f"latpcap: {printable(str(error))}", err=True)
    except click.exceptions.Exit as error:
        if status == 0:
            raise
        raise click.exceptions.Exit(status) from error
    if status:
        raise click.exceptions.Exit(status)
