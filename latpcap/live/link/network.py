"""The network of a job that is rehearsed: the way to its database is slow, all else is as ever.

What it is made of: `link/src/network/mod.rs`. It is Linux's, and needs root or user namespaces.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from msgspec import Struct
from msgspec.structs import asdict

from latpcap.errors import RecordingError, UsageError, reason

if TYPE_CHECKING:
    from latpcap._core import Counts, JobNetwork

INTERFACE = "delayed"
"""The job's network interface on which its packets from and to the servers pass, and no others."""
ADDRESSES = ("198.18.0.1", "198.18.0.2", "2001:2::1", "2001:2::2")
"""A rehearsed job's own, by the slow way and by all others (`link/src/network/routes.rs`)."""
INSTEAD = "; or use the relay"
"""Advice that needs no network of its own, told with most of what the system lacks."""
CONGESTION_CONTROL = Path("/proc/sys/net/ipv4/tcp_congestion_control")
MAX_STOP_S = 10.0
"""The process that keeps the namespaces ends within this time."""


class LinkConditions(Struct, frozen=True, kw_only=True):
    """Conditions of the link: RTT and jitter of both ways together, loss and bandwidth of each."""

    rtt_ms: float
    jitter_ms: float = 0.0
    loss: float = 0.0
    """0 to 1."""
    bits_per_second: int = 0
    """0: no bottleneck."""
    queue_bytes: int | None = None
    seed: int = 0
    """The seed of the random numbers of loss and jitter."""


class Network:
    """A network in which these servers (`ADDRESS:PORT`, `[ADDRESS]:PORT`) are farther away by a link.

    ```python
    with Network(["127.0.0.1:5432"], LinkConditions(rtt_ms=15)) as network:
        subprocess.run([*network.prefix(), "python", "job.py"])
        there, back = network.counts()
    ```

    A server that is away by itself is farther away by the link. Its end takes along whatever still runs in it.
    """

    def __init__(self, servers: Sequence[str], conditions: LinkConditions, congestion_control: str = "") -> None:
        """`congestion_control` is that of both ends of the link, by default this machine's own."""
        self._servers = list(servers)
        self._conditions = conditions
        self.congestion_control = congestion_control
        self._keeper: subprocess.Popen[bytes] | None = None
        self._network: JobNetwork | None = None
        self._files = (0, 0)

    def __enter__(self) -> Self:
        """Make it; `RecordingError` says why it cannot be made here, and what to do."""
        if sys.platform != "linux":
            raise RecordingError(f"a network of namespaces needs Linux{INSTEAD}")
        import resource

        from latpcap._core import JobNetwork

        self._files = resource.getrlimit(resource.RLIMIT_NOFILE)
        # A connection takes two files here, and the job may have as many connections as files.
        resource.setrlimit(resource.RLIMIT_NOFILE, (self._files[1], self._files[1]))
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            self.congestion_control = self.congestion_control or CONGESTION_CONTROL.read_text().strip()
            with ours:
                with theirs:
                    self._keeper = _keep(theirs, self._servers, self.congestion_control)
                self._network = JobNetwork(ours.detach())
            self.set(self._conditions)
        except OSError as error:
            self.close()
            why = reason(error).removesuffix(INSTEAD)
            raise RecordingError(f"no network for the job: {why}{INSTEAD}") from None
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it."""
        self.close()

    def prefix(self, *, may_capture: bool = False) -> list[str]:
        """Words before a command that run it in this network; `may_capture` also without root."""
        network, user = self._made().namespaces
        files = f"/proc/{os.getpid()}/fd/"
        user_path = "" if user is None else f"{files}{user}"
        limits = ["x" if may_capture else "", str(self._files[0])]
        return [
            sys.executable,
            "-P",
            "-m",
            "latpcap.live.link.namespace_command",
            f"{files}{network}",
            user_path,
            *limits,
        ]

    def set(self, conditions: LinkConditions) -> None:
        """Change the link, for packets to come."""
        self._made().set(**asdict(conditions))

    def counts(self) -> tuple[Counts, Counts]:
        """Traffic on the link from the job to its servers, and back."""
        return self._made().counts()

    def failure(self) -> str | None:
        """Why it does not work any more: somebody has ended a part of it."""
        if self._keeper is not None and self._keeper.poll() is not None:
            return "the process that keeps the job's namespaces was killed"
        return self._made().failure

    def close(self) -> int:
        """End what still runs in it, then the network; return how many processes there were. May be repeated."""
        left = 0
        if self._network is not None:
            left = self._network.end()
            self._network = None
        if self._keeper is not None:
            try:
                self._keeper.wait(MAX_STOP_S)
            except subprocess.TimeoutExpired:
                self._keeper.kill()
                self._keeper.wait()
            self._keeper = None
        if sys.platform == "linux" and any(self._files):
            import resource

            resource.setrlimit(resource.RLIMIT_NOFILE, self._files)
        return left

    def _made(self) -> JobNetwork:
        if self._network is None:
            raise UsageError("the network exists within a `with` statement only")
        return self._network


def _keep(end: socket.socket, servers: Sequence[str], congestion_control: str) -> subprocess.Popen[bytes]:
    """In a session of its own: a Ctrl-C is for the job."""
    number = end.fileno()
    arguments = [sys.executable, "-P", "-m", "latpcap.live.link.namespaces", str(number), congestion_control, *servers]
    try:
        return subprocess.Popen(arguments, stdin=subprocess.DEVNULL, pass_fds=[number], start_new_session=True)
    except OSError as error:
        raise OSError(f"this user cannot run {sys.executable}: {error.strerror}") from None
