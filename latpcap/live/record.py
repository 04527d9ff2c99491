"""`latpcap.record()`: what a block of code, or a process, asks of databases while it is recorded."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Unpack

from latpcap.errors import NoDatabaseTraffic, RecordingError, UsageError
from latpcap.live.capture_scope import watched
from latpcap.live.capturing.capturer import ANY, Capturer
from latpcap.live.capturing.folder import Folder
from latpcap.live.capturing.ring import Ring
from latpcap.live.recorder import Recorded, Recorder
from latpcap.quantities import several, tcp_port
from latpcap.report import check_capture_name

if TYPE_CHECKING:
    from latpcap.capture import Capture
    from latpcap.reading import ReadOptions
    from latpcap.result.analysis import Analysis

MAX_HEADER_BYTES = 100
"""Bytes of a packet that hold all headers: link (SLL2: 20), IPv6 (40) and TCP with the options of a SYN (40)."""
REASONS = (
    "A client of the same machine may use a Unix socket (MySQL's `localhost`, psql without -h: write 127.0.0.1), "
    "a server may have another port or address (--port, --server), and encrypted connections that were open before "
    "show no protocol (--decode-as PORT=opaque counts their round trips)"
)


def record(
    port: int | Iterable[int] = (),
    *,
    server: str | Iterable[str] = (),
    relay: str | Iterable[str] = (),
    pid: int | None = None,
    output: str | os.PathLike[str] | None = None,
    force: bool = False,
    privacy: bool = False,
    recorder: Recorder | None = None,
    **reading: Unpack[ReadOptions],
) -> Session:
    """Record what a block of code asks of databases, on these ports or servers (`"db.example:5432"`).

    Without any it is the usual ports of databases; with `pid` the servers that this process and its children are
    connected to; with `relay` (`"15432:db.example:5432"`), which needs no rights, what connects to that port of this
    machine. `output` keeps the recording (pcapng), which otherwise goes with the session; it replaces an older one only
    with `force`. `privacy` records the first
    100 bytes of packets, headers and little more, by which round trips are counted. Another `recorder` may do it. All
    else is what `latpcap.read` takes.

    Raises `RecordingError` where packets cannot be recorded: without the right to, or without dumpcap and tcpdump.

    >>> with latpcap.record(port=5432) as session:  # doctest: +SKIP
    ...     load_orders()
    >>> assert session.round_trips <= 20  # doctest: +SKIP
    """
    _check_reading(reading)
    if recorder is not None:
        return Session(recorder, reading)
    folder = Folder() if output is None else None
    path = folder.path / "recording.pcapng" if folder is not None else Path(output or "")
    if not force:
        check_unused(path)
    asked = [tcp_port(each) for each in several(port)], several(server), several(relay)
    recorder, ports = recorder_of(path, *asked, pid, privacy=privacy)
    if privacy:
        reading.setdefault("decode_as", by_turns(ports))
    return Session(recorder, reading, folder)


def check_unused(output: str | os.PathLike[str]) -> None:
    """Refuse a file that holds something: a recording cannot be made again."""
    if os.path.isfile(output) and os.path.getsize(output):
        raise UsageError(f"{output}: already exists: name another file, or remove it")


def _check_reading(reading: ReadOptions) -> None:
    """Refuse what `latpcap.read` does not know before the block runs: it is read only afterwards."""
    from latpcap.reading import ReadOptions

    if unknown := set(reading) - set(ReadOptions.__annotations__):
        raise TypeError(f"record() got an unexpected keyword argument '{min(unknown)}'")


def recorder_of(
    path: Path,
    ports: Sequence[int] = (),
    servers: Sequence[str] = (),
    relays: Sequence[str] = (),
    pid: int | None = None,
    *,
    interfaces: Sequence[str] = (),
    privacy: bool = False,
    ring: Ring | None = None,
    marks: int | None = None,
) -> tuple[Recorder, tuple[int, ...]]:
    """Who records what these ask for, and the ports of its servers; on all interfaces where nobody knows better."""
    check_capture_name(path)
    snap_length = MAX_HEADER_BYTES if privacy else None
    if relays:
        from latpcap.live.relay import Relay, Route

        if ports or servers or pid is not None or interfaces or ring:
            raise UsageError(
                "--relay records what connects to it: leave --port, --server, --pid, --interface, --ring out"
            )
        routes = [Route.of(text) for text in relays]
        return Relay(routes, path, snap_length=snap_length), tuple(route.server.port for route in routes)
    what = watched(ports, servers, pid)
    capturer = Capturer(
        path,
        capture_filter=what.capture_filter,
        where=what.text,
        interfaces=interfaces or what.interfaces or (ANY,),
        snap_length=snap_length,
        ring=ring,
        marks=marks,
    )
    return capturer, what.ports


def nothing_seen(error: NoDatabaseTraffic, recorded: Recorded) -> NoDatabaseTraffic:
    """Return the error with what was recorded, and why the client usually used something else."""
    message = str(error)
    for name in (str(recorded.path), "file object"):  # which is how a recording that still grows is read
        message = message.replace(name, "the recording")
    message = f"{message} (recorded: {recorded.where})"
    return NoDatabaseTraffic(f"{message}. {REASONS}" if error.let_in else message, let_in=error.let_in)


def by_turns(ports: Iterable[int]) -> dict[int, str]:
    """`decode_as` for a recording of headers: round trips are counted by who sends when."""
    return dict.fromkeys(ports, "opaque")


class Session:
    """A recording that runs while its block does; then what it has recorded."""

    def __init__(self, recorder: Recorder, reading: ReadOptions, folder: Folder | None = None) -> None:
        """Use `latpcap.record`. The folder goes with the session."""
        self._folder = folder
        self._recorder = recorder
        self._reading = reading
        self._recorded: Recorded | None = None
        self._began = False

    def __enter__(self) -> Session:
        if self._began:
            raise UsageError("a session records one block: call `latpcap.record` again for the next")
        self._began = True
        self._recorder.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        at_once = isinstance(error, KeyboardInterrupt)
        self._recorded = self._recorder.stop(at_once=at_once)

    def __repr__(self) -> str:
        return f"<latpcap.record of {self._recorder.where}: {'recorded' if self._recorded else 'not ended'}>"

    @property
    def path(self) -> Path:
        """The recording: a pcapng, readable at any time, whole after the block."""
        return self._recorder.path

    @property
    def recorded(self) -> Recorded:
        """Facts of the recording: its files, dropped packets, and why it ended if that was too soon."""
        if self._recorded is None:
            raise UsageError("the recording has not ended: use this after the `with` block")
        return self._recorded

    @cached_property
    def capture(self) -> Capture:
        """The recording as `latpcap.read` gives it; `RecordingError` where it ended too soon."""
        from latpcap.reading import read

        if self.recorded.trouble:
            raise RecordingError(self.recorded.trouble)
        return read([str(path) for path in self.recorded.paths], **self._reading)

    @cached_property
    def analysis(self) -> Analysis:
        """The whole result; `NoDatabaseTraffic` where the block asked no database on what was recorded."""
        capture = self.capture
        try:
            return capture.analyze()
        except NoDatabaseTraffic as error:
            raise nothing_seen(error, self.recorded) from None

    @property
    def round_trips(self) -> int:
        """How often the block waited for a database."""
        return self.analysis.summary.round_trips
