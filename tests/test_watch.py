"""Looking on while a recording is made: sums at any moment, the whole result at the end."""

import io
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from conftest import FIXTURES

import latpcap
from latpcap._core import Progress
from latpcap.live.watch import GrowingFile, Watch
from latpcap.report.watching import line, screen
from latpcap.result.watching import WaitedFor, WatchedSoFar

WAITS_S = 20.0


def until(what: Callable[[], bool]) -> None:
    end = time.monotonic() + WAITS_S
    while not what():
        assert time.monotonic() < end, "it never came to that"
        time.sleep(0.01)


def packets(path: Path) -> int:
    """As far as the file is written."""
    return int(latpcap.read(path).captures.to_pandas()["packets"].sum())


@pytest.mark.parametrize("name", ["mysql/nplus1-300-client.pcapng", "firebird/fbclient3-nplus1.pcapng"])
def test_the_sums_are_those_of_the_whole(name: str) -> None:
    progress = Progress(live=True)
    capture = latpcap.read(str(FIXTURES / name), progress=progress)
    exchanges = capture.exchanges.to_pandas()
    total = progress.total
    assert total.round_trips <= exchanges["round_trips"].sum()
    assert total.round_trips >= exchanges["round_trips"].sum() - 1  # what the end of the recording ended
    packets, connections, last_ns = progress.read_so_far
    assert packets == sum(capture.captures.to_pandas()["packets"])
    assert connections >= len(capture.connections)
    assert last_ns > 0
    worst = progress.worst(3)
    assert [each.waited_ns for each in worst] == sorted((each.waited_ns for each in worst), reverse=True)
    assert worst[0].text in set(exchanges["fingerprint"])


def test_each_packet_is_seen_as_soon_as_it_is_written(tmp_path: Path) -> None:
    whole = (FIXTURES / "mysql/nplus1-300-client.pcapng").read_bytes()
    growing = tmp_path / "growing.pcapng"
    growing.touch()
    following = GrowingFile(growing)
    watch = Watch(lambda progress: latpcap.read(following, progress=progress))
    seen = []
    with open(growing, "ab", buffering=0) as file:
        for part in (whole[: len(whole) // 2], whole[len(whole) // 2 :]):
            file.write(part)
            written = packets(growing)
            until(lambda written=written: watch.seen().packets == written)
            seen.append(watch.seen())
    following.end()
    with closing(following):
        result = watch.result().analyze().summary
    assert 100 < seen[0].round_trips < 200
    assert seen[1].round_trips >= result.round_trips - 1
    assert seen[1].worst[0].executions == 300
    assert seen[1].connections == 1


def test_a_capture_that_cannot_be_read_is_told_when_its_result_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "no.pcapng"
    path.write_bytes(b"nonsense" * 10)
    watch = Watch(lambda progress: latpcap.read(str(path), progress=progress))
    with pytest.raises(latpcap.CaptureError):
        watch.result()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that stands still at its last value."""
    times = [time.monotonic()]
    monkeypatch.setattr("latpcap.live.watch.time.monotonic", lambda: times[-1])
    return times


def watched() -> Watch:
    """A watch that has read all there is."""
    watch = Watch(lambda progress: latpcap.read(str(FIXTURES / "mysql/nplus1-300-client.pcapng"), progress=progress))
    watch.result()
    return watch


def test_the_rate_is_that_of_the_last_seconds(clock: list[float]) -> None:
    watch = watched()
    clock.append(clock[0] + 4)
    seen = watch.seen()
    assert seen.round_trips_per_s == seen.round_trips / 4
    clock.append(clock[0] + 100)
    watch.seen()
    clock.append(clock[0] + 110)
    assert watch.seen().round_trips_per_s == 0


def test_the_first_moment_has_no_rate(clock: list[float]) -> None:
    """What came before the first look came in a heap: no time has passed that it could be divided by."""
    watch = watched()
    clock.append(clock[0] + 0.2)
    seen = watch.seen()
    assert seen.round_trips > 300
    assert (seen.round_trips_per_s, seen.per_ms_share) == (None, None)
    assert "a second" not in line(seen)


SEEN = WatchedSoFar(
    seconds=12.0,
    packets=5000,
    connections=2,
    executions=1250,
    round_trips=1204,
    waited_s=1.84,
    errors=1,
    round_trips_per_s=96.0,
    worst=(WaitedFor("select * from item where id = ?", 1200, 1200, 1.8), WaitedFor("", 4, 0, 0.0)),
)


def test_a_line_tells_the_sums() -> None:
    told = "1,204 round trips, 96 a second now · waited 1.84 s · 1,250 exchanges · 2 connections · 1 error"
    assert line(SEEN) == told


def test_the_screen_tells_what_a_further_millisecond_costs_and_the_worst_statements() -> None:
    from rich.console import Console

    console = Console(width=140, record=True, file=io.StringIO())
    console.print(screen(SEEN, "watching TCP port 5432 on lo\x1b[31m", "q or Ctrl-C: the full report"))
    text = console.export_text()
    assert "\x1b" not in text
    assert (
        "each further millisecond of RTT: 1.20 s so far, one after the other, at the present rate 9.6% of the time"
        in text
    )
    assert "   1.80        1,200     1.50  select * from item where id = ?" in text
    assert "(further statements)" in text
