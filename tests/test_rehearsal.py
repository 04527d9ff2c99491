"""A rehearsal: what was predicted for other RTTs, beside what the job took when it was run at them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

import pytest
from builder import Conn, Ex, build, build_awake

from latpcap import Capture
from latpcap.capture import CaptureOptions
from latpcap.errors import CommandFailed, NoDatabaseTraffic, UsageError
from latpcap.live.link import network, network_paths
from latpcap.live.link.network_paths import CommandRun, NetworkPath
from latpcap.live.rehearsal import Plan, run_rehearsal
from latpcap.live.rehearse import rehearse
from latpcap.live.standard_input import StandardInput
from latpcap.projection.assumptions import Conditions
from latpcap.report import FORMATS
from latpcap.report.markdown import document
from latpcap.report.sections.rehearsal import rehearsal
from latpcap.report.text import number
from latpcap.result.checks.row_gates import judge_rows, parse_row_gate
from latpcap.result.pairs.rehearsal import CongestionControls, Rehearsal
from latpcap.tables.recording import Recording


def job(rtt_ms: float, service_ms: float = 1, round_trips: int = 100) -> Recording:
    statements = [Ex(sql="select ?", service_ms=service_ms) for _ in range(round_trips)]
    return build_awake([Conn(rtt_ms=rtt_ms, exchanges=statements)])


class Wire:
    """A way on which what a run would be recorded as is known beforehand."""

    kind = "link"
    seed: int | None = None

    def __init__(
        self, recordings: Callable[[float], Recording], *, today_ms: float = 0.1, goes_on: bool = False
    ) -> None:
        self.goes_on = goes_on
        self.ran: list[tuple[str, float | None]] = []
        self.ends = [CommandRun(0, 10, CongestionControls("cubic", "bbr"))]
        self._recordings = recordings
        self._today_ms = today_ms
        self._recorded: dict[str, Recording] = {}

    def run(self, command: Sequence[str], into: Path, servers: Sequence[str], link_ms: float | None) -> CommandRun:
        self.ran.append((into.name, link_ms))
        rtt_ms = (link_ms or 0) + (0 if link_ms is not None and self.goes_on else self._today_ms)
        self._recorded[into.name] = self._recordings(rtt_ms)
        return self.ends.pop() if len(self.ends) > 1 else self.ends[0]

    def read(self, path: Path, rtt_baseline_ms: float | None = None) -> Capture:
        return Capture(self._recorded[path.name], CaptureOptions(rtt_baseline_ms=rtt_baseline_ms))


def rehearsed(wire: Wire, rtt_ms: Sequence[float] = (5, 15), runs: int = 1) -> Rehearsal:
    return run_rehearsal(Plan(["job"], rtt_ms, runs), wire, Path(), read=wire.read)


def test_each_rtt_is_predicted_from_today_and_compared_with_its_own_run() -> None:
    result = rehearsed(Wire(job))
    assert [each.target_rtt_ms for each in result.rtts] == [5, 15]
    for each in result.rtts:
        assert each.validation is not None
        assert each.validation.error == pytest.approx(0, abs=0.02)
        assert each.told.baseline_ms == pytest.approx(each.target_rtt_ms)
        assert (
            each.typical_host_s or 0
        ) > 1.005 * each.validation.predicted_s  # a typical host answers later behind a rest
    assert "2 of 2 runtimes inside their range" in result.text
    said = (
        r"At 5 ms: predicted [0-9.]+ m?s, measured [0-9.]+ m?s \(([0-9.]+% \w+er|no difference), inside the range\)\."
    )
    assert re.match(said, rehearsed(Wire(job), [5]).text), result.text
    assert result.ends == CongestionControls("cubic", "bbr")


def test_a_link_adds_only_what_is_missing_to_the_rtt() -> None:
    wire = Wire(job, today_ms=2)
    result = rehearsed(wire)
    assert wire.ran == [("today-1.pcapng", None), ("5ms-1.pcapng", 3), ("15ms-1.pcapng", 13)]
    assert [each.link_ms for each in result.rtts] == [3, 13]
    assert "acknowledged at the far end of the link" in FORMATS["terminal"](result)
    assert "far end" not in FORMATS["terminal"](rehearsed(Wire(job)))


def test_what_lies_behind_the_link_counts_to_the_rtt() -> None:
    """The recording shows the link's 3 ms; that the answers take 2 ms more is not the server's doing."""

    def recorded(rtt_ms: float) -> Recording:
        return job(2) if rtt_ms == 2 else job(rtt_ms, service_ms=3)

    (there,) = rehearsed(Wire(recorded, today_ms=2, goes_on=True), [5]).rtts
    assert there.told.baseline_ms == pytest.approx(5)
    assert there.validation is not None
    assert there.validation.error == pytest.approx(0, abs=0.02)


def test_nothing_brings_a_database_nearer() -> None:
    wire = Wire(job, today_ms=7)
    with pytest.raises(UsageError, match=r"is already 7\.00 ms, .* cannot reduce it to 5 ms"):
        rehearsed(wire)
    assert len(wire.ran) == 1


def test_the_order_of_the_runs_alternates_and_the_median_is_told() -> None:
    service = iter((1, 1, 2, 3, 1, 1, 1, 1, 1))
    wire = Wire(lambda rtt_ms: job(rtt_ms, next(service)))
    result = rehearsed(wire, runs=3)
    assert [name.removesuffix(".pcapng") for name, _ in wire.ran] == [
        *("today-1", "5ms-1", "15ms-1"),
        *("15ms-2", "5ms-2", "today-2"),
        *("today-3", "5ms-3", "15ms-3"),
    ]
    far = result.rtts[1]
    assert far.told.recording == "15ms-1.pcapng"
    assert (far.fastest_s, far.slowest_s) == (far.runs[2].runtime_s, far.runs[1].runtime_s)


def test_another_job_gets_no_verdict() -> None:
    result = rehearsed(Wire(lambda rtt_ms: job(rtt_ms, round_trips=100 if rtt_ms < 10 else 130)))
    near, far = result.rtts
    assert near.validation is not None
    assert (far.validation, far.largest_error) == (None, None)
    assert "100 round trips against 130" in (far.no_verdict or "")
    assert "No verdict at 15 ms" in result.text


def test_the_part_that_was_predicted_worst_is_named() -> None:
    (there,) = rehearsed(Wire(lambda rtt_ms: job(rtt_ms, service_ms=1 if rtt_ms < 1 else 3)), [5]).rtts
    assert there.largest_error is not None
    assert there.largest_error.name == "service_s"
    assert there.largest_error.measured_s == pytest.approx(0.3)


def test_where_the_rtt_strays_the_prediction_is_for_the_one_that_was_asked_for() -> None:
    """The one handshake was 3 ms faster than the waits are on average."""
    wire = Wire(lambda rtt_ms: job(rtt_ms) if rtt_ms < 1 else job(rtt_ms - 3, service_ms=4))
    plan = Plan(["job"], [15], conditions=Conditions(jitter_ms=4))
    (there,) = run_rehearsal(plan, wire, Path(), read=wire.read).rtts
    assert there.validation is not None
    assert there.validation.target_rtt_ms == 15
    assert there.validation.error == pytest.approx(0, abs=0.02)


def test_hosts_that_wake_up_late_are_named() -> None:
    (there,) = rehearsed(Wire(lambda rtt_ms: job(rtt_ms, service_ms=1 if rtt_ms < 1 else 1.6)), [5]).rtts
    (why,) = there.reasons
    assert why.startswith("client and server took 0.600 ms longer for each round trip than in today's run")


def test_a_job_that_takes_what_was_predicted_needs_no_reason() -> None:
    assert [each.reasons for each in rehearsed(Wire(job)).rtts] == [(), ()]


def test_what_overlaps_otherwise_than_today_is_named() -> None:
    """Two processes: where nothing takes time, the first has ended before the second one has begun."""

    def two(rtt_ms: float) -> Recording:
        statements = [Ex(sql="select ?", service_ms=0.1) for _ in range(100)]
        after_ms = 60 if rtt_ms < 1 else 20
        starts = {"10.0.0.1:40000": 0, "10.0.0.1:40001": after_ms}
        return build([Conn(statements, rtt_ms, at_ms, client) for client, at_ms in starts.items()])

    result = rehearsed(Wire(two), [5])
    (why,) = result.rtts[0].reasons
    assert "ran in sequence, in today's run" in why
    assert f"5 ms: {why}." in " ".join(FORMATS["terminal"](result).split())


def test_a_command_that_fails_is_not_compared() -> None:
    wire = Wire(job)
    wire.ends = [CommandRun(3, 10), CommandRun(0, 10)]
    with pytest.raises(CommandFailed, match="status 3 at 5 ms") as failed:
        rehearsed(wire)
    assert failed.value.exit_status == 3


def test_a_run_that_crosses_no_link_is_refused() -> None:
    wire = Wire(job)
    wire.ends = [CommandRun(0, 0), CommandRun(0, 10)]
    with pytest.raises(NoDatabaseTraffic, match=r"at 5 ms.*127\.0\.0\.1"):
        rehearsed(wire)


def test_each_run_reads_the_same_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "input").write_text("before\nthe input\n")
    with open(tmp_path / "input", buffering=1) as file:
        os.lseek(file.fileno(), len("before\n"), os.SEEK_SET)
        standard_input = StandardInput(file.fileno())
        for _ in range(2):
            standard_input.rewind()
            assert os.read(file.fileno(), 100) == b"the input\n"


def test_a_pipe_that_one_run_would_empty_is_refused() -> None:
    reading, writing = os.pipe()
    StandardInput(reading).rewind()
    os.write(writing, b"once")
    with pytest.raises(UsageError, match=r"standard input is a pipe.*< FILE"):
        StandardInput(reading)
    os.close(reading)
    os.close(writing)


def test_each_rtt_is_a_row_that_gates_may_judge() -> None:
    result = rehearsed(Wire(lambda rtt_ms: job(rtt_ms, round_trips=100 if rtt_ms < 10 else 130)))
    near, far = result.table()
    assert (near["rtt_ms"], near["round_trips"], far["predicted_s"]) == (5, 100, None)
    (gate,) = judge_rows([parse_row_gate("runtime > 1s")], result.table(), ["recording"]).gates
    assert (gate.failed, gate.text) == (True, "it is 2.10 s in 15ms-1.pcapng")


class Unlinked:
    """A network of a job that is none; it keeps what it was asked for."""

    asked: ClassVar[list[int]] = []

    def __init__(
        self, servers: Sequence[str], conditions: network.LinkConditions, congestion_control: str = ""
    ) -> None:
        self.asked.append(conditions.seed)
        self.congestion_control = congestion_control

    def __enter__(self) -> Unlinked:
        return self

    def __exit__(self, *ended: object) -> None: ...

    def prefix(self, *, may_capture: bool = False) -> list[str]:
        return []

    def failure(self) -> None: ...

    def counts(self) -> tuple[SectionContents, SectionContents]:
        return SectionContents(), SectionContents()


class SectionContents:
    received = 1


def seeds(way: NetworkPath, runs: Sequence[float | None]) -> None:
    for link_ms in runs:
        way.run(["job"], Path("kept.pcapng"), [], link_ms)


def test_each_run_over_the_link_has_random_numbers_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "Network", Unlinked)
    monkeypatch.setattr(network_paths, "recorded", lambda *_: CommandRun(0))
    monkeypatch.setattr(Unlinked, "asked", [])
    link = network_paths.Link(lambda into: None, Conditions(loss=0.01), "cubic", seed=7)  # type: ignore[arg-type,return-value]
    seeds(link, [None, 5, 15, 15, 5, None])
    assert (link.seed, Unlinked.asked[1:]) == (7, [7, 8, 9, 10])  # the first was the trial whether one can be made
    assert network_paths.Link(lambda into: None, Conditions(), "cubic", seed=7).seed is None  # type: ignore[arg-type,return-value]


def test_each_run_through_a_delaying_relay_has_a_jitter_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[float | None, int]] = []
    monkeypatch.setattr(
        network_paths, "Relay", lambda routes, into, **told: asked.append((told["rtt_ms"], told["seed"]))
    )
    monkeypatch.setattr(network_paths, "recorded", lambda *_: CommandRun(0))
    relayed = network_paths.Relayed([], Conditions(jitter_ms=1), seed=7)
    seeds(relayed, [None, 5, 15])
    assert (relayed.seed, asked) == (7, [(None, 0), (5, 7), (15, 8)])
    assert network_paths.Relayed([], Conditions(bandwidth_bps=1e6), seed=7).seed is None


def test_the_seed_of_a_link_that_loses_is_told_and_no_other() -> None:
    wire = Wire(job)
    assert "--seed" not in FORMATS["terminal"](rehearsed(wire))
    wire.seed = 4711
    result = run_rehearsal(Plan(["job"], [5], conditions=Conditions(loss=0.01)), wire, Path(), read=wire.read)
    assert result.seed == 4711
    assert "1% of the packets lost; `--seed 4711` repeats the random numbers" in FORMATS["terminal"](result)


@pytest.mark.parametrize("seed", [-1, 1 << 32])
def test_a_seed_is_a_number_of_32_bits(seed: int) -> None:
    with pytest.raises(UsageError, match=r"a seed is a number from 0 to 4294967295, not"):
        rehearse(["true"], rtt_ms=5, seed=seed)


@pytest.mark.parametrize("runs", [1, 3])
def test_every_report_has_a_row_for_each_rtt(runs: int) -> None:
    result = rehearsed(Wire(job), runs=runs)
    shown, markdown = FORMATS["terminal"](result), document(rehearsal(result))
    told = json.loads("".join(part if isinstance(part, str) else part.decode() for part in FORMATS["json"](result)))
    assert told["schema"] == "latpcap.rehearsal/1"
    for each in told["rtts"]:
        assert number(each["validation"]["predicted_s"]) in shown
        assert number(each["told"]["runtime_s"]) in markdown
    assert "cubic at the client, bbr at the server" in shown
