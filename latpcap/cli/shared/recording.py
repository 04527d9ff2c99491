"""The common parts of commands that record: what to record, into which file, and what went wrong meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click
from msgspec import Struct

from latpcap.cli.shared.files import OUTPUT
from latpcap.cli.shared.io import teller
from latpcap.cli.shared.options import (
    DURATION,
    Quantity,
    all_of,
    decode_as_option,
    gathered,
    in_seconds,
    recording_target_options,
    requesting,
)
from latpcap.quantities import tcp_port

if TYPE_CHECKING:
    from latpcap.live.capturing.folder import Folder
    from latpcap.live.capturing.ring import Ring
    from latpcap.live.recorder import Recorded, Recorder

Command = TypeVar("Command", bound=Callable[..., Any])


class RecordingRequest(Struct, frozen=True):
    """The things to record, for how long, and where to keep them and the result."""

    output: str | None
    ports: tuple[int, ...]
    servers: tuple[str, ...]
    relays: tuple[str, ...]
    pid: int | None
    interfaces: tuple[str, ...]
    duration_s: float | None
    result: str | None

    @property
    def says_what(self) -> bool:
        """Whether anything was said of what to record, beside --duration."""
        return any((self.output, self.ports, self.servers, self.relays, self.pid, self.interfaces))

    def check(self) -> None:
        """Refuse a recording that would be called as something else, or replace one, before anything runs."""
        from latpcap.live.record import check_unused
        from latpcap.report import check_capture_name

        if self.output:
            check_capture_name(self.output, f"; for the result there is `--report {self.output}`")
            check_unused(self.output)


def _recording(duration: float | None, **given: Any) -> RecordingRequest:
    return RecordingRequest(duration_s=in_seconds(duration), **given)


def database_options(*, port: str, server: str, relay: str) -> Callable[[Command], Command]:
    """Which databases are meant by a command that asks none itself; each text says what becomes of them."""
    return all_of(
        click.option("--port", "ports", type=Quantity("port", tcp_port), multiple=True, metavar="PORT", help=port),
        click.option("--server", "servers", multiple=True, metavar="HOST:PORT", help=server),
        click.option("--relay", "relays", multiple=True, metavar="[BIND:]PORT:HOST:PORT", help=relay),
    )


def recording_options(
    verb: str, *reading: Callable[[Any], Any], pid: str, duration: str
) -> Callable[[Command], Command]:
    """Return options of what to record (`verb` is what the command does), where to, and what is made of it.

    `reading` is what else the command takes for that.
    """
    recording = gathered(
        "recording",
        _recording,
        click.option(
            "-o",
            "--output",
            type=OUTPUT,
            metavar="FILE",
            help="Keep the recording as pcapng, in a new file; by default it is removed.",
        ),
        database_options(
            port=f"{verb} this TCP port; repeatable. By default the usual ports of databases.",
            server=f"{verb} this server, on the interface that leads to it; repeatable.",
            relay="Record without root: listen on PORT, forward to HOST:PORT, and record that; repeatable.",
        ),
        click.option("--pid", type=click.IntRange(min=1), metavar="PID", help=pid),
        click.option(
            "--interface", "interfaces", multiple=True, metavar="NAME", help=f"{verb} this interface; repeatable."
        ),
        click.option("--duration", type=DURATION, metavar="DURATION", help=duration),
        click.option(
            "--report",
            "result",
            type=OUTPUT,
            metavar="FILE",
            help="Write the result to FILE (.html, .md, .json, .txt) instead of showing it.",
        ),
    )
    return all_of(recording, requesting(decode_as_option, *reading), recording_target_options)


def new_recorder(
    recording: RecordingRequest,
    folder: Folder,
    *,
    privacy: bool = False,
    ring: Ring | None = None,
    measures_host: bool = False,
) -> tuple[Recorder, tuple[int, ...]]:
    """Who records what was asked for, into `folder` unless it is kept, and the ports of its servers.

    `measures_host`: before it starts, how much later this host answers after a rest.
    """
    from pathlib import Path

    from latpcap.live.host_curve import CurveRecorder, measure_host
    from latpcap.live.record import recorder_of

    recorder, ports = recorder_of(
        Path(recording.output) if recording.output else folder.path / "recording.pcapng",
        recording.ports,
        recording.servers,
        recording.relays,
        recording.pid,
        interfaces=recording.interfaces,
        privacy=privacy,
        ring=ring,
    )
    return CurveRecorder(recorder, measure_host) if measures_host else recorder, ports


def tell_problems(recorded: Recorded) -> None:
    """Warn of what went wrong while it was recorded."""
    say = teller(quiet=False)
    for problem in (*recorded.problems, *filter(None, [recorded.trouble])):
        say(f"warning: {problem}")
