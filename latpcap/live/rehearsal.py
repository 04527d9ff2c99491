"""A job run again with its database farther away, beside what its run of today predicts for that.

```text
today ──────────────► recording ──► projection onto each RTT ─┐
at each RTT asked for ► recording ► what it took ─────────────┴► Rehearsal
```

The runs change their order from round to round (today, 5, 15; 15, 5, today; …), so that what changes with time
(a cache that fills, a machine that gets busy) does not look like the RTT's doing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from latpcap.capture import Capture
from latpcap.errors import CommandFailed, NoDatabaseTraffic, UsageError
from latpcap.live.link.network_paths import CommandRun, NetworkPath
from latpcap.live.standard_input import StandardInput
from latpcap.projection.assumptions import Conditions
from latpcap.reading import read
from latpcap.result.analysis import Analysis
from latpcap.result.pairs.rehearsal import RecordedRun, Rehearsal, headline_path, rehearsal
from latpcap.units import format_given_ms, format_ms, listed

REACHED = (
    "does the command use a database there? MySQL's and PostgreSQL's `localhost` may be a Unix socket, without a link: "
    "give the command 127.0.0.1; another server or port: --server HOST:PORT"
)


class Plan(Struct, frozen=True):
    """The runs to make."""

    command: Sequence[str]
    rtt_ms: Sequence[float]
    runs: int = 1
    servers: Sequence[str] = ()
    """Servers to be farther away; none: whatever today's recording shows."""
    recording: Path | None = None
    """A recording of today's run, where there is one already."""
    now_ms: float | None = None
    """How far away the servers are today; `None`: as the recording says."""
    conditions: Conditions = Conditions()

    def rounds(self) -> Iterator[tuple[int, float | None]]:
        """The number of the round and the RTT of each run, one after the other; no RTT: as things are today."""
        asked = [*([None] if self.recording is None else []), *dict.fromkeys(self.rtt_ms)]
        for number in range(1, self.runs + 1):
            yield from ((number, rtt_ms) for rtt_ms in (asked if number % 2 else reversed(asked)))


class MeasuredPath(Struct, frozen=True):
    """The way to the database, by today's first recording."""

    servers: tuple[str, ...]
    rtt_ms: float


def run_rehearsal(
    plan: Plan,
    way: NetworkPath,
    folder: Path,
    *,
    tell: Callable[[str], object] = lambda line: None,
    read: Callable[..., Capture] = read,
) -> Rehearsal:
    """Run all of `plan`, recorded into `folder`, and set what was predicted beside what was measured."""
    runs: list[RecordedRun] = []
    now, ends = None, None
    if plan.recording is not None:
        runs.append(RecordedRun(plan.recording.name, read(plan.recording).analyze()))
        now = _today(plan, runs[0].found)
    standard_input = StandardInput()
    for number, target_rtt_ms in plan.rounds():
        tell(f"running the command {_at(target_rtt_ms)}" + (f", {number} of {plan.runs}" if plan.runs > 1 else ""))
        into = folder / f"{'today' if target_rtt_ms is None else f'{target_rtt_ms:g}ms'}-{number}.pcapng"
        link_ms = None if target_rtt_ms is None or now is None else target_rtt_ms - now.rtt_ms
        standard_input.rewind()
        ran = way.run(plan.command, into, plan.servers if now is None else now.servers, link_ms)
        _check(ran, target_rtt_ms)
        behind_ms = now.rtt_ms if now is not None and target_rtt_ms is not None and way.goes_on else 0.0
        runs.append(RecordedRun(into.name, _found(into, behind_ms, read, ran.problems), target_rtt_ms, link_ms))
        now, ends = now or _today(plan, runs[0].found), ran.ends or ends

    def project(recording: str, rtt_ms: Sequence[float], knows_hosts: bool) -> Analysis:
        capture = read(plan.recording) if plan.recording is not None else _of_the_command(read(folder / recording))
        if not knows_hosts:
            for measures in (capture.measures, capture.measures.application):
                measures.recording.host_curve = None
        return capture.measures.analyze(rtt_ms, None, replace(plan.conditions, rtt_is="in-stream"))

    return rehearsal(
        [run for run in runs if run.target_rtt_ms is None],
        [run for run in runs if run.target_rtt_ms is not None],
        project,
        way=way.kind,
        servers=plan.servers if now is None else now.servers,
        conditions=plan.conditions,
        seed=way.seed,
        ends=ends,
    )


def _check(ran: CommandRun, target_rtt_ms: float | None) -> None:
    """A run is compared only where the command did its work, over the way that is rehearsed."""
    if ran.status:
        raise CommandFailed(
            f"the command ended with status {ran.status} {_at(target_rtt_ms)}: nothing is compared", ran.status
        )
    if ran.packets == 0:
        raise NoDatabaseTraffic(f"no packet of the command crossed the link {_at(target_rtt_ms)}: {REACHED}")


def _found(path: Path, behind_ms: float, read: Callable[..., Capture], problems: Sequence[str]) -> Analysis:
    """Analyze a recording; behind the link's end, whence the data are acknowledged, the way may go on."""
    try:
        found = _of_the_command(read(path)).analyze()
    except NoDatabaseTraffic as error:
        message = str(error).replace(str(path), "the recording")
        reasons = [*problems, message, *([REACHED] if error.let_in else [])]
        raise NoDatabaseTraffic("; ".join(reasons), let_in=error.let_in) from None
    rtt = headline_path(found).rtt
    link_ms = rtt.baseline_ms if rtt.in_stream_median_ms is None else rtt.in_stream_median_ms
    if link_ms is None or not behind_ms:
        return found
    return read(path, rtt_baseline_ms=link_ms + behind_ms).analyze()


def _of_the_command(capture: Capture) -> Capture:
    """Without the connections that were open before the command began: those are somebody else's."""
    connections = capture.measures.connections()
    own = [each.stream for each in connections if each.connect_ms is not None or each.rtt.handshake_ms is not None]
    return capture.select(stream=",".join(map(str, own))) if 0 < len(own) < len(connections) else capture


def _today(plan: Plan, found: Analysis) -> MeasuredPath:
    """The path to the servers; refuses what no link can do, before the command is run again."""
    servers = plan.servers or dict.fromkeys(path.server for path in found.paths)
    rtt_ms = found.summary.baseline_rtt_ms if plan.now_ms is None else plan.now_ms
    if rtt_ms is None:
        raise UsageError("today's RTT is unknown, because the command sent too little: no projection")
    if nearer := [asked for asked in plan.rtt_ms if asked <= rtt_ms]:
        asked = listed(map(format_given_ms, nearer))
        raise UsageError(
            f"the RTT to the database is already {format_ms(rtt_ms)}, and a link cannot reduce it to {asked}"
        )
    return MeasuredPath(tuple(servers), rtt_ms)


def _at(target_rtt_ms: float | None) -> str:
    return "on today's network" if target_rtt_ms is None else f"at {format_given_ms(target_rtt_ms)}"
