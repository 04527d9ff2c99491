"""`rehearse()`: a command run with its database farther away, and what had been predicted for that."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from latpcap.errors import CommandFailed, UsageError, unwritten
from latpcap.live import job
from latpcap.live.capturing.capturer import Capturer
from latpcap.live.capturing.folder import Folder
from latpcap.live.host_curve import measure_host
from latpcap.live.link import network
from latpcap.live.link.network_paths import Link, NetworkPath, Relayed
from latpcap.live.rehearsal import Plan, run_rehearsal
from latpcap.live.relay import Route
from latpcap.live.server import MAX_LOOKUP_S, Server, addresses
from latpcap.projection.assumptions import Conditions
from latpcap.quantities import Duration, Rtts, bits_per_s, milliseconds, rtts_ms, several, share, tcp_port
from latpcap.reading import read
from latpcap.report.jsonout import dump
from latpcap.report.markdown import document
from latpcap.report.sections.rehearsal import rehearsal
from latpcap.result.pairs.rehearsal import Rehearsal
from latpcap.tables.writing.outputs import write
from latpcap.units import counted, format_given_ms, listed

MAX_SEED = (1 << 32) - 1
HANDSHAKE_COUNT = 3
"""Connections opened to measure how far away a server is if today's recording does not show it; MySQL counts each as
failed."""


def rehearse(
    command: Sequence[str],
    *,
    rtt_ms: Rtts,
    server: str | Sequence[str] = (),
    port: int | Sequence[int] = (),
    loss: float | str | None = None,
    jitter_ms: Duration = 0.0,
    bandwidth_bps: float | str | None = None,
    relay: str | Sequence[str] = (),
    runs: int = 1,
    seed: int | None = None,
    recording: str | Path | None = None,
    folder: str | Path | None = None,
    decode_as: Mapping[int, str] | None = None,
    say: Callable[[str], object] | None = None,
) -> Rehearsal:
    """Run `command` as things are, then with its database at each RTT of `rtt_ms`; return predicted beside measured.

    THE COMMAND RUNS ONCE FOR TODAY'S NETWORK AND ONCE FOR EACH RTT, times `runs`, and writes to the database each time.

    `server` (`"HOST:PORT"`) is what is farther away, by default whatever database the first run talks to, on `port` if
    that is given. `loss`, `jitter_ms` and `bandwidth_bps` are the link's; losses and jitter are other ones each time,
    unless a `seed` is given. `relay` (`"15432:db:5432"`) delays what is said through it, without any rights: the
    command connects to its port. `recording` is a capture of a run as things are, instead of one. `folder`, new or
    empty, keeps the recordings. `say` is told what is about to happen.

    >>> latpcap.rehearse(["python", "job.py"], rtt_ms="15ms").rtts[0].validation.error  # doctest: +SKIP

    Raises `CommandFailed` where the command fails, `RecordingError` where nothing can be recorded, `UsageError`.
    """
    conditions = Conditions(
        bandwidth_bps=None if bandwidth_bps is None else bits_per_s(bandwidth_bps),
        loss=None if loss is None else share(loss),
        jitter_ms=milliseconds(jitter_ms),
    )
    asked = list(dict.fromkeys(rtts_ms(rtt_ms) or ()))
    if not asked or runs < 1:
        raise UsageError("a rehearsal needs an RTT and at least one run")
    if seed is not None and not 0 <= seed <= MAX_SEED:
        raise UsageError(f"a seed is a number from 0 to {MAX_SEED}, not {seed}")
    if relay and (server or port):
        raise UsageError("--relay names the servers: leave out --server and --port")
    if isinstance(command, str) or not command:
        raise UsageError('the command is a list of words: ["python", "job.py"]')
    job.find(command)
    reading = partial(read, decode_as=dict(decode_as or {}))
    routes = [Route.of(each) for each in several(relay)]
    servers = [at for each in several(server) for at in _addresses(each)] or [str(route.server) for route in routes]
    ports = [tcp_port(each) for each in several(port)]
    begins = secrets.randbelow(MAX_SEED + 1) if seed is None else seed
    curve = measure_host(*network.ADDRESSES)
    way: NetworkPath = (
        Relayed(routes, conditions, seed=begins, curve=curve)
        if routes
        else Link(_today(servers, ports), conditions, seed=begins, curve=curve)
    )
    if recording is not None and not servers:
        servers = list(dict.fromkeys(path.server for path in reading(recording).analyze().paths))
    plan = Plan(
        command=tuple(command),
        rtt_ms=asked,
        runs=runs,
        servers=servers,
        recording=None if recording is None else Path(recording),
        now_ms=None if recording is None else max(_away_ms(each) for each in servers),
        conditions=conditions,
    )
    tell = say or (lambda line: None)
    with _kept_in(folder, say) as into:
        tell(_announced(plan))
        result = run_rehearsal(plan, way, into, tell=tell, read=reading)
        if folder is not None:
            write(into / "rehearsal.json", [dump(result.parts())])
            write(into / "rehearsal.md", [document(rehearsal(result))])
    return result


def _addresses(server: str) -> Iterator[str]:
    """Every address that the command may find the server at."""
    yield from map(str, addresses(Server.of(server), MAX_LOOKUP_S))


def _away_ms(server: str) -> float:
    """How far away a server is from here, now."""
    from latpcap.live.calibrate import calibrate

    return calibrate(server, protocol="none", connections=HANDSHAKE_COUNT).rtt_ms


def _today(servers: Sequence[str], ports: Sequence[int]) -> Callable[[Path], Capturer]:
    """Who records a run as things are: all TCP, unless servers or ports were named."""
    hosts = [Server.of(each) for each in servers]
    parts = [f"(host {each.host} and tcp port {each.port})" for each in hosts] or [f"tcp port {each}" for each in ports]
    where = listed([*map(str, hosts)] or [f"TCP port {each}" for each in ports] or ["all TCP"])
    return lambda into: Capturer(into, capture_filter=" or ".join(parts) or "tcp", where=where)


def _announced(plan: Plan) -> str:
    """Said before anything is run."""
    times = plan.runs * (len(plan.rtt_ms) + (plan.recording is None))
    today = "" if plan.recording is not None else "on today's network and "
    return (
        f"the command runs {counted(times, 'time')}, {today}at {listed(map(format_given_ms, plan.rtt_ms))}; "
        "it writes to the database each time"
    )


@contextmanager
def _kept_in(folder: str | Path | None, say: Callable[[str], object] | None) -> Iterator[Path]:
    """A folder for the recordings: the one that was named, else one that goes, unless somebody is told where it is."""
    own = Folder() if folder is None else None
    into = own.path if own is not None else _fresh(Path(folder or ""))
    try:
        yield into
    except CommandFailed as failed:
        kept = f"; the recordings so far are in {_left(into, own)}" if any(into.iterdir()) else ""
        raise CommandFailed(f"{failed}{kept}", failed.exit_status) from None
    except KeyboardInterrupt:
        if say is not None:
            so_far = any(into.iterdir())
            say(f"the recordings so far are in {_left(into, own)}" if so_far else "nothing was recorded")
        raise
    finally:
        if own is not None:
            own.remove()


def _left(into: Path, own: Folder | None) -> Path:
    return into if own is None else own.keep()


def _fresh(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise UsageError(f"{folder}: is not empty: name a new or empty folder")
    except OSError as error:
        raise unwritten(folder, error) from None
    return folder
