"""`latpcap watch`."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from latpcap.cli.analyze import write_analysis
from latpcap.cli.gates import gate_options, gating_of
from latpcap.cli.io import read_options, result_format
from latpcap.cli.options import PATH, Duration, keylog_option, move_option, recording_options, rtt_option
from latpcap.errors import NoDatabaseTraffic, UsageError

if TYPE_CHECKING:
    from latpcap._core import Progress
    from latpcap.capture import Capture
    from latpcap.live.recorder import Recorder
    from latpcap.live.watch import Watch

__all__ = ["watch"]

REFRESH_S = 0.25
LINE_S = 5.0
"""Where nobody sees a terminal, a line every so often."""


@click.command(short_help="Look on while it happens: rate, round trips, worst statements; then the full report.")
@click.argument("capture", required=False, type=PATH)
@click.option("-o", "--output", type=PATH, metavar="FILE", help="Keep the recording, a pcapng; else it is removed.")
@click.option("--port", "ports", type=click.IntRange(1, 65535), multiple=True, metavar="PORT", help="Watch this port.")
@click.option("--server", "servers", multiple=True, metavar="HOST:PORT", help="Watch this server; repeatable.")
@click.option("--pid", type=click.IntRange(min=1), metavar="PID", help="Watch the servers this process talks to.")
@click.option("--interface", "interfaces", multiple=True, metavar="NAME", help="Watch there; repeatable.")
@click.option(
    "--relay",
    "relays",
    multiple=True,
    metavar="[BIND:]PORT:HOST:PORT",
    help="Watch what connects to PORT here, and goes on to HOST:PORT; needs no rights.",
)
@click.option("--duration", type=Duration(), metavar="DURATION", help="Watch so long, not until q or Ctrl-C.")
@click.option(
    "--report",
    "result",
    type=PATH,
    metavar="FILE",
    help="Write the full report to FILE (.html, .md, .json, .txt) instead of showing it.",
)
@recording_options
@keylog_option
@rtt_option
@move_option
@click.option("--within", type=Duration(), metavar="DURATION", help="Find the largest RTT that meets this runtime.")
@gate_options
def watch(
    capture: str | None,
    output: str | None,
    ports: tuple[int, ...],
    servers: tuple[str, ...],
    pid: int | None,
    interfaces: tuple[str, ...],
    relays: tuple[str, ...],
    duration: float | None,
    result: str | None,
    **options: Any,
) -> None:
    """Show what passes between applications and databases while it does: the rate, round trips, the statements that
    are waited for longest, and what a further millisecond costs. `q` or Ctrl-C ends that with the full report.

    Packets come from dumpcap or tcpdump, from a relay, or from CAPTURE, a file that is read once or `-` for a pipe.

    \b
    latpcap watch
    latpcap watch --port 5432 -o app.pcapng
    latpcap watch --relay 15432:db.example:5432
    ssh db.example tcpdump -i eth0 -w - port 3306 | latpcap watch -
    """  # noqa: D205 (click shows the first paragraph as one)
    records = (output, ports, servers, pid, interfaces, relays)
    if capture is not None and any(records):
        raise UsageError(f"{capture} is watched as it was recorded: leave out what says what to record")
    chosen = result_format(False, result, "result", "report")
    options["captures"] = [] if capture is None else [capture]
    gating = gating_of(options, result)
    with _recording(records, options) as recorder:
        whole = _watched(capture, recorder, duration, options)
        write_analysis(whole, gating, chosen, result, options)


@contextmanager
def _recording(records: tuple[Any, ...], options: dict[str, Any]) -> Iterator[Recorder | None]:
    """What records, not started yet; `None` where there is a capture."""
    from latpcap.live.record import recorder_of, temporary_folder
    from latpcap.tables import sources

    output, ports, servers, pid, interfaces, relays = records
    if options["captures"]:
        yield None
        return
    sources.check_output(output, ())
    folder = temporary_folder(options["temp_folder"])
    try:
        path = Path(output) if output else folder / "recording.pcapng"
        yield recorder_of(path, ports, servers, relays, pid, interfaces=interfaces)[0]
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _watched(
    capture: str | None, recorder: Recorder | None, duration: float | None, options: dict[str, Any]
) -> Capture:
    """Show what is seen until that ends; then the whole recording."""
    from latpcap.live.record import nothing_seen
    from latpcap.live.watch import Following, Watch
    from latpcap.report.text import printable

    if recorder is None:
        watch = Watch(_reader(capture, options))
        _look_on(watch, "watching the capture", duration, options)
        watch.progress.stop()
        return watch.result()
    recorder.start()
    try:
        following = Following(recorder.path)
        watch = Watch(_reader(following, options))
        _look_on(watch, f"watching {recorder.where}", duration, options)
    except BaseException:
        recorder.stop(at_once=True)
        raise
    recorded = recorder.stop()
    for warning in (*recorded.problems, *filter(None, [recorded.trouble])):
        click.echo(f"latpcap: warning: {printable(warning)}", err=True)
    following.end()
    with closing(following):
        try:
            whole = watch.result()
            _ = whole.measures
            return whole
        except NoDatabaseTraffic as error:
            raise nothing_seen(error, recorded) from None


def _reader(source: Any, options: dict[str, Any]) -> Callable[[Progress], Capture]:
    from latpcap.capture import read

    return lambda progress: read(source, progress=progress, **read_options(options))


# --- the screen -------------------------------------------------------------------------------------------------------


def _look_on(watch: Watch, where: str, duration: float | None, options: dict[str, Any]) -> None:
    """Return when it has ended, after Ctrl-C or `q`, or after so long."""
    end = None if duration is None else time.monotonic() + duration / 1000
    sees = sys.stderr is not None and sys.stderr.isatty() and not options["quiet"]
    try:
        (_screen if sees else _lines)(watch, where, end, options["quiet"])
    except KeyboardInterrupt:
        if not options["quiet"]:
            click.echo("latpcap: that was all; Ctrl-C again ends without a report", err=True)


def _goes_on(watch: Watch, end: float | None, seconds: float) -> bool:
    left = seconds if end is None else min(seconds, end - time.monotonic())
    return left > 0 and not watch.wait(left)


def _lines(watch: Watch, where: str, end: float | None, quiet: bool) -> None:
    from latpcap.report.text import printable
    from latpcap.report.watching import line

    def say(text: str) -> None:
        if not quiet:
            click.echo(f"latpcap: {printable(text)}", err=True)

    say(f"{where}; Ctrl-C ends that with the full report")
    while _goes_on(watch, end, LINE_S):
        say(line(watch.seen()))


def _screen(watch: Watch, where: str, end: float | None, quiet: bool) -> None:
    from rich.console import Console
    from rich.live import Live

    from latpcap.report.watching import screen

    def now() -> Any:
        return screen(watch.seen(), where, hint)

    with _keys() as pressed, Live(console=Console(stderr=True), auto_refresh=False, transient=True) as live:
        hint = "q or Ctrl-C: the full report" if pressed else "Ctrl-C: the full report"
        live.update(now(), refresh=True)
        while _goes_on(watch, end, REFRESH_S) and not (pressed and pressed("q")):
            live.update(now(), refresh=True)


@contextmanager
def _keys() -> Iterator[Callable[[str], bool] | None]:
    """Tell whether a key was pressed, without Enter; `None` where there is no keyboard."""
    try:
        import termios
        import tty

        keyboard = sys.stdin.fileno()
        before = termios.tcgetattr(keyboard)
    except (ImportError, OSError, ValueError, AttributeError, termios.error):
        yield None
        return
    tty.setcbreak(keyboard)
    try:
        yield lambda key: key in _typed(keyboard)
    finally:
        with suppress(termios.error):
            termios.tcsetattr(keyboard, termios.TCSADRAIN, before)


def _typed(keyboard: int) -> str:
    """What was typed since; a terminal that is gone has nothing."""
    import os
    from select import select

    typed = b""
    while select([keyboard], [], [], 0)[0]:
        try:
            more = os.read(keyboard, 64)
        except OSError:
            break
        if not more:
            break
        typed += more
    return typed.decode(errors="replace")
