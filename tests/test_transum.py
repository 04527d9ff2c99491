"""Request and response spread beside those of Wireshark's TRANSUM, which pairs requests and responses by turns."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from conftest import load_fixture, read_fixture

FRAMES = ("firstreq", "lastreq", "firstrsp", "lastrsp")
SPREADS = ("reqspread", "rspspread")


@pytest.mark.parametrize(
    ("name", "equal"),
    [
        ("mysql/nplus1-300-client", 303),
        ("mysql/large-statement", 4),
        ("mysql/large-row", 4),
        ("postgresql/psycopg2-transactions", 150),
    ],
)
def test_the_spreads_are_transums_where_both_see_the_same_packets(name: str, equal: int) -> None:
    theirs = told_by_transum(name)
    ours = {}
    for row in read_fixture(name).exchanges.to_dicts():
        frames = tuple(row[f"{place}_frame"] for place in ("request", "request_end", "response", "response_end"))
        if frames in theirs:
            ours[frames] = (row["request_spread_ms"], row["response_spread_ms"])
    assert len(ours) == equal
    assert ours == {frames: pytest.approx(theirs[frames], abs=1e-3) for frames in ours}


def told_by_transum(name: str) -> dict[tuple[int, ...], tuple[float, ...]]:
    """The spreads in ms, by the first and last frames of request and response."""
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed")
    command = ["tshark", "-2", "--enable-protocol", "transum", "-o", "transum.tcp_port_ranges:3306,5432"]
    fields = [part for field in (*FRAMES, *SPREADS) for part in ("-e", f"transum.{field}")]
    command += ["-r", str(load_fixture(name).path), "-Y", "transum", "-T", "fields", *fields]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = (line.split("\t") for line in told.splitlines())
    return {
        tuple(map(int, row[:4])): tuple(float(spread) * 1000 for spread in row[4:6]) for row in rows if all(row[:6])
    }
