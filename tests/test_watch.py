"""Looking on while a recording is made: sums at any moment, the whole result at the end."""

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import latpcap
from latpcap._core import Progress
from latpcap.live.watch import Following, Watch
from latpcap.report.watching import line, screen
from latpcap.result.watching import Seen, WaitedFor
from test_sources import FIXTURES

WAITS_S = 20.0


def until(what: Callable[[], bool]) -> None:
    end = time.monotonic() + WAITS_S
    while not what():
        assert time.monotonic() < end, "it never came to that"
        time.sleep(0.01)


@pytest.mark.parametrize(
    "name", ["mysql/nplus1-300-client.pcapng", "postgresql/psycopg2-nplus1.pcapng", "firebird/python-nplus1.pcapng"]
)
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
    assert worst[0].text in set(exchanges["sql_fingerprint"])
