"""dumpcap, else tcpdump, as a recorder: who may capture packets, records them into one file or a ring of files.

The capturer writes to a file that latpcap has opened, and is ended by a guard should latpcap be killed: a recording is
readable, and nobody goes on with it, however it ends.
"""

from __future__ import annotations

import mmap
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import IO, Any

from latpcap.errors import DiskFull, LatpcapError, RecordingError, UsageError
from latpcap.live.capturing.rights import how_to_be_allowed
from latpcap.live.capturing.ring import Ring
from latpcap.live.capturing.tools import Tool, tools
from latpcap.live.recorder import Recorded
from latpcap.tables.writing.outputs import written

ANY = "any"
"""All interfaces at once."""
WHICH = (
    "name the network interface, `--interface NAME`, as only Linux records all of them at once; `dumpcap -D` lists "
    "them, with that of connections within this machine; without any rights: `--relay`"
)
MAX_START_S = 20.0
MIN_QUIET_S = 0.5
"""All packets are in the file if none has come for this long; the kernel hands them to dumpcap at least every 250
ms."""
MAX_FLUSH_S = 2.0
"""The end is awaited no longer than this where packets of others never cease."""
MAX_MARK_S = 5.0
"""A mark is in the file within this time, unless a busy kernel dropped it."""
MARK_BYTES = 32
STILL_TALKED = (
    f"packets still arrived {MAX_FLUSH_S:.0f} s after the end, from other clients of the same servers or from child "
    "processes of the command: those until then count, later ones are not recorded"
)
MAX_STOP_S = 10.0
"""The capturer writes what it has within this time."""
GUARD = (
    [sys.executable, "-c", "import os, sys; sys.stdin.read(); os.kill(int(sys.argv[1]), 15)"]
    if sys.platform == "win32"
    else ["/bin/sh", "-c", 'read -r _; kill -TERM "$1"', "sh"]
)
"""Waits for its standard input to end, as it does when latpcap has ended in whatever way."""


class Capturer:
    """Records the packets of `ports` and `hosts` on these interfaces."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        capture_filter: str,
        where: str,
        interfaces: Sequence[str] = (ANY,),
        snap_length: int | None = None,
        ring: Ring | None = None,
        marks: int | None = None,
        prefix: Sequence[str] = (),
    ) -> None:
        """`capture_filter` is one of libpcap's; `where` says the same to people; `snap_length` cuts packets.

        `marks`: a UDP port of this machine to which `flush` sends what it waits for; nobody needs to listen there.
        `prefix` runs a command in the network that the interfaces are of, where that is another one.
        """
        self._path = Path(path)
        self._filter = capture_filter if marks is None else f"({capture_filter}) or (udp port {marks})"
        self._marks = marks
        self._where = where
        self._interfaces = tuple(interfaces)
        self._snap_length = snap_length
        self._ring = ring
        self._prefix = tuple(prefix)
        self._tool: Tool | None = None
        self._running: _Running | None = None
        self._recorded: Recorded | None = None

    @property
    def path(self) -> Path:
        """The pcapng: readable at any time, whole once `stop` has returned."""
        return self._path

    @property
    def where(self) -> str:
        """Name what is recorded, for people."""
        return self._where

    def start(self) -> None:
        """Return once all that passes is recorded; raise `RecordingError` where that cannot be."""
        self._check_interfaces()
        refused = []
        available = list(tools(one_interface=len(self._interfaces) == 1, ring=self._ring is not None))
        for tool in reversed(available) if self._marks else available:  # tcpdump hands packets on at once
            try:
                with nullcontext() if self._names_itself else written(self._path, private=True) as file:
                    self._running = _Running(tool, self._arguments(tool), file)
                self._tool = tool
                return
            except _MayNotCapture as error:
                refused.append(error)
            except LatpcapError:
                if self._running is not None:  # the recording could not take its name
                    self._running.end()
                raise
        if not refused:
            raise RecordingError(
                "neither dumpcap nor tcpdump is installed; dumpcap comes with Wireshark (Debian, Ubuntu: "
                "`sudo apt install tshark`); without them: `--relay`"
            )
        raise RecordingError(str(refused[0]))

    @property
    def _names_itself(self) -> bool:
        """The capturer opens its files: a ring; and on Windows, where a file that is open takes no other name."""
        return self._ring is not None or sys.platform == "win32"

    def _check_interfaces(self) -> None:
        if sys.platform != "linux":
            if ANY in self._interfaces:
                raise RecordingError(WHICH)
            return  # dumpcap says what it does not know
        unknown = set(self._interfaces) - {name for _, name in socket.if_nameindex()} - {ANY}
        if unknown and not self._prefix:
            known = ", ".join(name for _, name in socket.if_nameindex())
            raise RecordingError(f"{min(unknown)}: no such network interface; there are {known}")

    def _arguments(self, tool: Tool) -> list[str]:
        interfaces = [word for name in self._interfaces for word in ("-i", name)]
        snap = [] if self._snap_length is None else ["-s", str(self._snap_length)]
        to = ["-w", str(self._path.absolute()) if self._names_itself else "-"]
        ring = self._ring.options() if self._ring else ()
        return [
            *self._prefix,
            tool.path,
            *tool.options,
            *interfaces,
            *snap,
            *to,
            *ring,
            *tool.before_filter,
            self._filter,
        ]

    def flush(self) -> None:
        """Return when all that passed so far is in the file: a datagram of our own, sent now, is in it."""
        if self._running is None:
            raise RecordingError("the recording was not started")
        if self._marks is None:
            self._running.wait_until_quiet(self._size, MIN_QUIET_S)
            return
        mark, before = os.urandom(MARK_BYTES), self._size()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.sendto(mark, ("127.0.0.1", self._marks))
        self._running.wait_for(mark, self._path, max(before - MARK_BYTES, 0))

    def stop(self, *, at_once: bool = False) -> Recorded:
        """End the recording after its last packet, or `at_once`; what was recorded so far is kept. May be repeated."""
        if self._recorded is None:
            if self._running is None or self._tool is None:
                raise RecordingError("the recording was not started")
            is_quiet = at_once or self._running.wait_until_quiet(self._size, MAX_FLUSH_S)
            trouble = self._running.end()
            dropped = self._tool.dropped(self._running.output())
            if not self._ring and self._tool.is_pcap and trouble is None:
                trouble = _as_pcapng(self._path, dropped or 0)
            problems = () if is_quiet else (STILL_TALKED,)
            self._recorded = Recorded(tuple(self._paths()), self._where, dropped, trouble, problems)
        return self._recorded

    def _paths(self) -> list[Path]:
        return self._ring.files(self._path) if self._ring else [self._path]

    def _size(self) -> int:
        sizes = []
        for path in self._paths():
            with suppress(FileNotFoundError):
                sizes.append(path.stat().st_size)
        return sum(sizes)


# --- a capturer at work ----------------------------------------------------------------------------------------------


class _MayNotCapture(Exception):
    """Not this user, with this tool; says what to do."""


class _Running:
    """The process of a capturer, and its guard."""

    def __init__(self, tool: Tool, arguments: list[str], output: IO[bytes] | None) -> None:
        """Return once it captures."""
        self._name = Path(tool.path).name
        self._said: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (kept while it runs)
        self._last_words = ""
        try:
            self._process = self._begin(arguments, output)
        except BaseException:
            self._said.close()
            raise
        self._guard = subprocess.Popen(
            [*GUARD, str(self._process.pid)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            self._wait_until_ready(tool)
        except BaseException:
            self.end()
            raise

    def _begin(self, arguments: list[str], output: IO[bytes] | None) -> subprocess.Popen[bytes]:
        """In a session of its own: a Ctrl-C is for the command that is recorded."""
        options: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stderr": self._said, "start_new_session": True}
        if sys.platform == "win32":
            options["creationflags"] = subprocess.CREATE_NEW_PROCESS_GROUP
        try:
            return subprocess.Popen(arguments, stdout=subprocess.DEVNULL if output is None else output, **options)
        except PermissionError:
            raise _MayNotCapture(how_to_be_allowed(arguments[0])) from None

    def _wait_until_ready(self, tool: Tool) -> None:
        end = time.monotonic() + MAX_START_S
        while tool.is_running not in self.output():
            if self._process.poll() is not None:
                said = self.output()
                if any(word in said.lower() for word in ("permission", "not permitted")):
                    raise _MayNotCapture(how_to_be_allowed(tool.path))
                raise RecordingError(self._why(said))
            if time.monotonic() > end:
                raise RecordingError(
                    f"{self._name} did not start within {MAX_START_S:.0f} s: {self._why(self.output())}"
                )
            time.sleep(0.005)

    def output(self) -> str:
        """The capturer's output on standard error."""
        if self._said.closed:
            return self._last_words
        if not os.fstat(self._said.fileno()).st_size:
            return ""
        with mmap.mmap(self._said.fileno(), 0, access=mmap.ACCESS_READ) as said:  # where it goes on is the capturer's
            return said[:].decode(errors="replace")

    def _why(self, said: str) -> str:
        """The line that tells of what went wrong."""
        lines = [line.strip() for line in said.splitlines() if line.strip()]
        if "no space left" in said.lower():
            return f"{self._name}: no space left on the disk"
        own = [line for line in lines if line.startswith(f"{self._name}: ")]
        return own[0] if own else lines[-1] if lines else f"{self._name} ended without a message"

    def wait_until_quiet(self, size: Callable[[], int], at_most_s: float) -> bool:
        """Wait until no packet has come for a while, as the kernel passes them on in heaps; false where they go on."""
        now = time.monotonic()
        end, quiet_since, before = now + at_most_s, now, size()
        while self._process.poll() is None and (now := time.monotonic()) < quiet_since + MIN_QUIET_S:
            if now >= end:
                return False
            time.sleep(0.02)
            if (after := size()) != before:
                quiet_since, before = now, after
        return True

    def wait_for(self, mark: bytes, path: Path, place: int) -> None:
        """Wait until the file holds this behind that place; not for ever, as a busy kernel may drop it."""
        end = time.monotonic() + MAX_MARK_S
        while self._process.poll() is None and time.monotonic() < end:
            with open(path, "rb") as file:
                file.seek(place)
                if mark in file.read():
                    return
            time.sleep(0.001)

    def end(self) -> str | None:
        """End the capturer and its guard; return what was wrong where the capturer had ended before."""
        before = self._process.poll()
        if before is None:
            _ask_to_end(self._process)
            try:
                self._process.wait(MAX_STOP_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        if guard := getattr(self, "_guard", None):
            guard.kill()
            guard.wait()
            guard.stdin.close()
        self._last_words = self.output()
        self._said.close()
        if before is None and self._process.returncode == 0:
            return None
        if before is None and sys.platform == "win32":
            return f"{self._name} could not be stopped: its last packets may be missing"
        if self._process.returncode == 0:
            return f"{self._name} was ended by another program: later packets are not recorded"
        if self._process.returncode < 0:
            name = signal.Signals(-self._process.returncode).name
            return f"{self._name} was ended by {name}: later packets are not recorded"
        return f"{self._why(self.output())}: later packets are not recorded"


def _ask_to_end(process: subprocess.Popen[bytes]) -> None:
    """It writes what it has; what Windows calls terminating would not let it, and is left where there is no console."""
    if sys.platform == "win32":
        with suppress(OSError):
            process.send_signal(signal.CTRL_BREAK_EVENT)
            return
    process.terminate()


# --- pcap to pcapng --------------------------------------------------------------------------------------------------


def _as_pcapng(path: Path, dropped: int) -> str | None:
    """Write the file again as pcapng, with the capturer's counter; return why where that was not possible."""
    from latpcap import _core

    try:
        with written(path, private=True) as file:
            _core.annotate([str(path)], iter(()), file.name)
            file.seek(0, os.SEEK_END)
            file.write(_core.pcapng_statistics(time.time_ns(), dropped))
    except (OSError, UsageError, DiskFull, _core.CaptureError) as error:
        return f"the recording stays a pcap, as it could not be written as pcapng: {error}"
    return None
