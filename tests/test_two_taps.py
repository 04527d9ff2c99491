"""One run captured at its client and at its server: both captures together say what the client's says."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path
from typing import Any

import pytest
from arro3.core import Table
from conftest import load_fixture
from test_client_groups import moved, set_back

import latpcap
from latpcap import _core

RUNS = (
    "mysql/nplus1-300",
    "postgresql/psycopg2-cursor10-2000",
    "postgresql/psycopg3-pipeline-all",
    "firebird/fbclient3-nplus1-100",
)
OF_PACKETS = {"request_frame", "request_end_frame", "response_frame", "response_end_frame"}


def path(run: str, side: str) -> str:
    return str(load_fixture(f"{run}-{side}").path)


def exchanges(*paths: str) -> list[dict[str, Any]]:
    """Every exchange but for the frames' numbers, which count all files."""
    table = Table.from_arrow(_core.read(list(paths)).exchanges())
    rows = table.to_struct_array().to_pylist()
    return [{name: value for name, value in row.items() if name not in OF_PACKETS} for row in rows]


@pytest.mark.parametrize("run", RUNS)
def test_both_taps_together_say_what_the_client_s_says(run: str) -> None:
    client, server = path(run, "client"), path(run, "server")
    alone = exchanges(client)
    assert alone != exchanges(server), "the times at the server are others"
    assert exchanges(client, server) == exchanges(server, client) == alone


@pytest.mark.parametrize("run", RUNS)
def test_every_packet_of_the_other_tap_counts_as_seen_twice(run: str) -> None:
    client, server = path(run, "client"), path(run, "server")
    both = latpcap.read([client, server])
    [note] = [row for row in both.health.to_dicts() if row["code"] == "duplicate-packets"]
    _, of_server = both.captures.column("packets")
    assert note["count"] == of_server
    assert both.analyze().summary.round_trips == latpcap.read(client).analyze().summary.round_trips


COUNTS = ("round trips", "exchanges", "loss")


def edited(capture: str, folder: Path, *options: str, only: str = "1-99999") -> str:
    """These of its packets, as editcap's options change them."""
    made = folder / f"{len([*folder.iterdir()])}.pcapng"
    subprocess.run(["editcap", "-r", *options, capture, str(made), only], check=True)
    return str(made)


def told(*paths: str) -> dict[str, float]:
    analysis = latpcap.read(list(paths)).analyze()
    facts, budget = analysis.summary, analysis.budget
    found = {"round trips": facts.round_trips, "exchanges": facts.exchanges, "runtime": facts.runtime_s}
    return found | {"network": budget.network_s, "loss": budget.loss_s}


@pytest.mark.parametrize("apart", ["0.02", "0.2", "-0.02", "-0.2"])
def test_clocks_that_differ_make_no_retransmissions(tmp_path: Path, apart: str) -> None:
    """By more than a few packets take: who saw the connection first tells it."""
    client, server = path(RUNS[0], "client"), path(RUNS[0], "server")
    other = edited(server, tmp_path, "-t", apart)
    assert told(client, other) == pytest.approx(told(other if apart[0] == "-" else client))
    codes = {row["code"] for row in latpcap.read([client, other]).health.to_dicts()}
    assert codes == {"duplicate-packets"}


@pytest.mark.parametrize("apart", ["0", "0.01", "-0.01"])
@pytest.mark.parametrize("run", RUNS)
def test_what_the_first_tap_missed_is_taken_from_the_other_one(tmp_path: Path, run: str, apart: str) -> None:
    """A tenth of the packets of whichever saw the connection first."""
    files = [path(run, "client"), edited(path(run, "server"), tmp_path, "-t", apart)]
    first = 1 if apart[0] == "-" else 0
    whole = told(files[first])
    files[first] = without(files[first], tmp_path, random.Random(run))
    both = told(*files)
    assert told(files[first]) != pytest.approx(whole), "that tap alone does not know"
    assert [both[name] for name in COUNTS[:2]] == [whole[name] for name in COUNTS[:2]]
    assert both["runtime"] == pytest.approx(whole["runtime"], rel=0.01, abs=0.002)


def without(capture: str, folder: Path, chance: random.Random) -> str:
    """All but a tenth of its packets; the first and the last are there."""
    count = sum(latpcap.read(capture).captures.column("packets"))
    made = folder / "lossy.pcapng"
    left_out = chance.sample(range(4, count - 6), count // 10)
    subprocess.run(["editcap", capture, str(made), *map(str, left_out)], check=True)
    return str(made)


@pytest.mark.parametrize("apart", ["-0.02", "-0.1"])
def test_a_tap_that_begins_in_the_middle_with_a_clock_behind_changes_no_count(tmp_path: Path, apart: str) -> None:
    client, server = path(RUNS[0], "client"), path(RUNS[0], "server")
    late = edited(server, tmp_path, "-t", apart, only="300-700")
    both, whole = told(client, late), told(client)
    assert [both[name] for name in COUNTS] == [whole[name] for name in COUNTS]


def test_a_clock_that_was_set_at_one_of_two_machines_leaves_the_times_of_the_other(tmp_path: Path) -> None:
    machines = []
    for number in (1, 2):
        capture, plain = tmp_path / f"{number}.pcapng", tmp_path / f"{number}.pcap"
        capture.write_bytes(moved("mysql/churn-20", number))
        subprocess.run(["editcap", "-F", "nsecpcap", capture, plain], check=True)
        machines.append(plain.read_bytes())
    was_set = set_back(machines[1], seconds=10)
    both = latpcap.read([machines[0], was_set])
    assert "clock-step" in both.health.column("code")
    assert times_at("10.77.1.1", both) == times_at("10.77.1.1", latpcap.read(machines[0]))


def times_at(client: str, capture: latpcap.Capture) -> list[list[Any]]:
    """When its requests began, and how long their answers took."""
    clients = dict(zip(*(capture.connections.column(name) for name in ("stream", "client")), strict=True))
    rows = [row for row in capture.exchanges.to_dicts() if clients[row["stream"]].startswith(f"{client}:")]
    return [[row[name] for name in ("request_time", "response_end_time")] for row in rows]


def test_a_tap_that_begins_later_changes_nothing(tmp_path: Path) -> None:
    client, server = path(RUNS[0], "client"), path(RUNS[0], "server")
    late = edited(server, tmp_path, only="100-700")
    assert told(client, late) == pytest.approx(told(client), rel=0.003, abs=0.001)


def test_a_tap_that_goes_on_when_the_other_has_ended_is_read_on(tmp_path: Path) -> None:
    client, server = path(RUNS[0], "client"), path(RUNS[0], "server")
    whole, both = told(client), told(edited(client, tmp_path, only="1-310"), server)
    assert [both[name] for name in COUNTS] == [whole[name] for name in COUNTS]
    assert both["runtime"] == pytest.approx(whole["runtime"], abs=0.002)


@pytest.mark.parametrize("each", ["7", "50"])
def test_packets_that_were_captured_twice_may_cross_a_ring_s_files(tmp_path: Path, each: str) -> None:
    """Both at one time, one in either file: these are no two taps."""
    whole = load_fixture("mysql/doubled").path
    plain = tmp_path / "plain.pcapng"
    plain.write_bytes(subprocess.run(["zstd", "-qdc", whole], capture_output=True, check=True).stdout)
    subprocess.run(["editcap", "-c", each, str(plain), str(tmp_path / "ring.pcapng")], check=True)
    ring = told(*map(str, sorted(tmp_path.glob("ring_*"))))
    assert ring == pytest.approx(told(str(whole)), rel=0.02)
    assert [ring[name] for name in COUNTS] == [told(str(whole))[name] for name in COUNTS]
