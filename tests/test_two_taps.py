"""One run captured at its client and at its server: both captures together say what the client's says."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from arro3.core import Table
from conftest import load_fixture

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


def test_a_tap_that_goes_on_when_the_other_has_ended_is_read_on(tmp_path: Path) -> None:
    client, server = path(RUNS[0], "client"), path(RUNS[0], "server")
    cut = tmp_path / "cut.pcapng"
    subprocess.run(["editcap", "-r", client, str(cut), "1-50"], check=True)
    assert len(exchanges(str(cut), server)) >= 20
