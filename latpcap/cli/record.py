"""`latpcap record`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from typing import TYPE_CHECKING

import click

from latpcap.cli.analyze import write_analysis
from latpcap.cli.shared.command import command as a_command
from latpcap.cli.shared.gates import Gating, gate_options
from latpcap.cli.shared.io import result_format, teller
from latpcap.cli.shared.options import Quantity, Target
from latpcap.cli.shared.recording import RecordingRequest, new_recorder, recording_options, tell_problems
from latpcap.cli.shared.status import INTERRUPTED_STATUS
from latpcap.errors import LatpcapError, NoDatabaseTraffic, UsageError
from latpcap.units import counted

if TYPE_CHECKING:
    from pathlib import Path

    from latpcap._core import KeyLog
    from latpcap.capture import Capture
    from latpcap.cli.shared.request import Request
    from latpcap.live.capturing.ring import Ring
    from latpcap.live.recorder import Recorded, Recorder


def _ring(text: str) -> Ring:
    from latpcap.live.capturing.ring import parse_ring

    return parse_ring(text)


@a_command(
    short_help="Run a command, record its database traffic, and analyse it.",
    context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False},
)
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[--] [COMMAND]...")
@recording_options(
    "Record",
    pid="Record the servers that this process and its children are connected to, until it ends or Ctrl-C.",
    duration="Without a command: record for this long instead of until Ctrl-C.",
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
    help="Record only the first 100 bytes of packets (the headers and little more): round trips are counted by "
    "direction changes, and statements are not read.",
)
@click.option(
    "--keylog",
    "logs_keys",
    is_flag=True,
    help="Have the command log its TLS secrets (SSLKEYLOGFILE, Node's --tls-keylog) and put them into FILE.",
)
@gate_options
def record(
    command: tuple[str, ...],
    recording: RecordingRequest,
    request: Request,
    target: Target,
    gating: Gating,
    ring: Ring | None,
    privacy: bool,
    logs_keys: bool,
) -> None:
    """Run COMMAND, record its packets with dumpcap or tcpdump, and analyse them.

    Standard input and output belong to the command; the result goes to standard error. The exit status is the
    command's or, if that is 0, the analysis's. Without a command latpcap records until Ctrl-C, --duration or the end
    of --pid.

    \b
    latpcap record -- python job.py
    latpcap record -o job.pcapng --server db.example:5432 --rtt 15ms -- ./nightly.sh
    latpcap record --port 5432 --fail-if 'round_trips > 500' -- make test
    latpcap record --relay 15432:db.example:5432 -- ./job --port 15432
    latpcap record --pid 4711 --duration 60s -o service.pcapng
    latpcap record --port 3306 --ring 10x100MB -o /var/tmp/app.pcapng
    """
    _check(command, ring, logs_keys, recording)
    chosen = result_format(False, recording.result, "result", "report")

    from latpcap.live import job
    from latpcap.live.capturing.folder import Folder
    from latpcap.live.record import by_turns

    if command:
        job.find(command)
    say = teller(request.quiet)
    with Folder(request.reading.temp_folder) as folder:
        keys = folder.path / "keys" if logs_keys else None
        recorder, ports = new_recorder(recording, folder, privacy=privacy, ring=ring, measures_host=ring is None)
        if privacy:
            request = request.of((), decode_as=by_turns(ports) | dict(request.reading.decode_as))
        status, recorded = _recorded(recorder, command, keys, recording, say)
        say(_told(recorded, recording.output))
        tell_problems(recorded)

        def analyse() -> None:
            capture = _read(recorded, keys, request, say, is_kept=recording.output is not None)
            write_analysis(capture, gating, chosen, recording.result, target, quiet=request.quiet)

        with redirect_stdout(sys.stderr if command else sys.stdout):
            _end(analyse, status)


def _check(command: Sequence[str], ring: Ring | None, logs_keys: bool, recording: RecordingRequest) -> None:
    """Refuse what does not go together, before anything runs."""
    told = (recording.output, recording.ports, recording.servers, recording.relays, recording.pid, recording.duration_s)
    if not (command or any(told)):
        raise UsageError("nothing to record: give a command (`latpcap record -- COMMAND`), --port, --server or --pid")
    if command and (recording.pid is not None or recording.duration_s is not None):
        raise UsageError("--pid and --duration record what is already running: leave out the command")
    if logs_keys and not command:
        raise UsageError("--keylog is set when a command starts; it cannot be set for a running process")
    if ring and (not recording.output or logs_keys):
        raise UsageError("--ring keeps files: name them with -o app.pcapng, and leave --keylog out")
    recording.check()


def _recorded(
    recorder: Recorder, command: Sequence[str], keys: Path | None, asked: RecordingRequest, say: Callable[[str], None]
) -> tuple[int, Recorded]:
    """Record while the command runs, or until somebody ends it; return the command's status, too."""
    from latpcap.live import interruption, job, keylog
    from latpcap.live.recorder import ended_now

    recorder.start()
    try:
        if command:
            environment = keylog.told_to_log(keys, os.environ) if keys else None
            status = job.run(command, environment).status
            return status, recorder.stop()
        say(f"recording {recorder.where}; Ctrl-C stops it")
        interruption.wait(asked.duration_s, asked.pid)
        return 0, ended_now(recorder)
    except KeyboardInterrupt:
        path = recorder.stop(at_once=True).path
        kept = asked.output is not None
        say(f"ended at once; what was recorded is in {path}" if kept else "ended at once, and nothing is kept")
        raise click.exceptions.Exit(INTERRUPTED_STATUS) from None


def _told(recorded: Recorded, output: str | None) -> str:
    """Say where the recording is, in a line."""
    if output is None:
        return f"recorded {recorded.where}; -o FILE.pcapng keeps the recording"
    files = recorded.paths
    into = str(files[0]) if len(files) == 1 else f"{len(files)} files, the last of them {files[-1]}"
    return f"recorded {recorded.where} into {into}"


def _read(
    recorded: Recorded, keys: Path | None, request: Request, say: Callable[[str], None], *, is_kept: bool
) -> Capture:
    """Read what was recorded, and put the secrets that open some of it into a recording that is kept."""
    from latpcap.live.keylog import embed
    from latpcap.live.record import nothing_seen

    log = None if keys is None else _logged(keys, request.reading.memory)
    if keys is not None and log is None:
        say("the command logged no TLS secret: it uses no TLS, or needs another setting (`latpcap explain keys`)")
    try:
        capture = request.of([str(each) for each in recorded.paths], keylog=log or ()).read()
        if is_kept and len(recorded.paths) == 1 and not sum(capture.captures.column("packets").tolist()):
            say(f"no packet was recorded, and {recorded.path} is removed")
            recorded.path.unlink(missing_ok=True)
        recording = capture.measures.recording.core
    except NoDatabaseTraffic as error:
        raise nothing_seen(error, recorded) from None
    if log is not None and is_kept:
        count = embed(log, recording, recorded.path)
        say(_embedded(recorded.path, count))
    return capture


def _embedded(path: Path, sessions: int) -> str:
    if sessions == 0:
        return f"{path} holds no TLS secret, as the log names its sessions by no client random, as Java's may be"
    return f"{path} holds the secrets of {counted(sessions, 'TLS session')}: whoever has the file can read them"


def _logged(keys: Path, memory: int) -> KeyLog | None:
    """The secrets that the command has logged; `None` where there is no file, or nothing but its heading."""
    from latpcap.tables.reading.keys import key_log

    try:
        return key_log(str(keys), memory=memory)
    except UsageError:
        return None


def _end(analyse: Callable[[], None], status: int) -> None:
    """Analyse, and end with the command's status; where that is 0, with that of the analysis."""
    try:
        analyse()
    except LatpcapError as error:
        if status == 0:
            raise
        teller(quiet=False)(str(error))
    except click.exceptions.Exit as error:
        if status == 0:
            raise
        raise click.exceptions.Exit(status) from error
    if status:
        raise click.exceptions.Exit(status)
