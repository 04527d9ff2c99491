"""`latpcap watch`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import click

from latpcap.cli.analyze import write_analysis
from latpcap.cli.screen import look_on
from latpcap.cli.shared.command import command
from latpcap.cli.shared.files import CAPTURE
from latpcap.cli.shared.gates import Gating, gate_options
from latpcap.cli.shared.io import result_format
from latpcap.cli.shared.options import Target, keylog_option
from latpcap.cli.shared.recording import RecordingRequest, new_recorder, recording_options, tell_problems
from latpcap.cli.shared.status import INTERRUPTED_STATUS
from latpcap.errors import NoDatabaseTraffic, UsageError

if TYPE_CHECKING:
    from latpcap._core import Progress
    from latpcap.capture import Capture
    from latpcap.cli.shared.request import Request
    from latpcap.live.recorder import Recorder
    from latpcap.live.watch import Watch


@command(short_help="A live view: rate, round trips, worst statements; then the full report.")
@click.argument("capture", required=False, type=CAPTURE)
@recording_options(
    "Watch",
    keylog_option,
    pid="Watch the servers that this process and its children are connected to.",
    duration="Watch for this long instead of until q or Ctrl-C.",
)
@gate_options
def watch(capture: str | None, recording: RecordingRequest, request: Request, target: Target, gating: Gating) -> None:
    """Show live database traffic: its rate, round trips, the statements that cost most waiting, and the cost of a
    further millisecond. `q` or Ctrl-C ends with the full report.

    Packets come from dumpcap or tcpdump, from a relay, or from CAPTURE, a file that is read once or `-` for a pipe.

    \b
    latpcap watch
    latpcap watch --port 5432 -o app.pcapng
    latpcap watch --relay 15432:db.example:5432
    ssh db.example tcpdump -i eth0 -w - port 3306 | latpcap watch -
    """  # noqa: D205 (click shows the first paragraph as one)
    from latpcap.tables.reading.sources import packets

    if capture is not None and recording.says_what:
        raise UsageError(f"{capture} is watched as it was recorded: leave out the options that choose what to record")
    files = [] if capture is None else [*packets(capture)]
    result = recording.result
    chosen = result_format(False, result, "result", "report")
    if capture is not None:
        watched = _watched_capture(files, request, recording.duration_s)
        write_analysis(watched, gating, chosen, result, target, quiet=request.quiet)
        return
    with _recorder(recording, request) as recorder:
        watched = _watched(recorder, request, recording.duration_s)
        write_analysis(watched, gating, chosen, result, target, quiet=request.quiet)


def _read_to_the_end(watch: Watch) -> Capture:
    """Read what was watched; a further Ctrl-C ends that without a word."""
    try:
        return watch.result()
    except KeyboardInterrupt:
        raise click.exceptions.Exit(INTERRUPTED_STATUS) from None


@contextmanager
def _recorder(recording: RecordingRequest, request: Request) -> Iterator[Recorder]:
    """Yield a recorder, not started yet."""
    from latpcap.live.capturing.folder import Folder

    recording.check()
    with Folder(request.reading.temp_folder) as folder:
        yield new_recorder(recording, folder, measures_host=recording.output is not None)[0]


def _watched_capture(files: list[str], request: Request, duration_s: float | None) -> Capture:
    """Show what a capture holds until that ends; then the whole of it."""
    from latpcap.live.watch import Watch

    with closing(Watch(_reader(files, request))) as watch:
        look_on(watch, "watching the capture", duration_s, quiet=request.quiet)
        watch.progress.stop()
        return _read_to_the_end(watch)


def _watched(recorder: Recorder, request: Request, duration_s: float | None) -> Capture:
    """Show what is recorded until that ends; then the whole recording."""
    from latpcap.live.record import nothing_seen
    from latpcap.live.recorder import ended_now
    from latpcap.live.watch import GrowingFile, Watch

    recorder.start()
    try:
        with closing(GrowingFile(recorder.path)) as following, closing(Watch(_reader(following, request))) as watch:
            try:
                look_on(watch, f"watching {recorder.where}", duration_s, quiet=request.quiet)
                recorded = ended_now(recorder)
            except KeyboardInterrupt:
                raise click.exceptions.Exit(INTERRUPTED_STATUS) from None
            finally:
                following.end()
            tell_problems(recorded)
            whole = _read_to_the_end(watch)
            _ = whole.measures
            return whole
    except NoDatabaseTraffic as error:
        raise nothing_seen(error, recorder.stop()) from None
    finally:
        recorder.stop(at_once=True)


def _reader(source: Any, request: Request) -> Callable[[Progress], Capture]:
    from latpcap.reading import read

    return lambda progress: read(source, progress=progress, **request.reading.options)
