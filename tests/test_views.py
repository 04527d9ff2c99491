"""What a notebook shows: charts, HTML, and what it says where a library is missing."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import pairwise
from typing import Any

import pytest
from conftest import load_fixture, read_fixture

import latpcap
from latpcap.measures.charts import MAX_EXCHANGES


@pytest.fixture(scope="module")
def nplus1() -> latpcap.Capture:
    return read_fixture("mysql/nplus1-300-client")


def views(capture: latpcap.Capture) -> dict[str, Any]:
    return {
        "budget": capture.analyze().budget,
        "projection": capture.project(rtt_ms=[1, 15], within_s=60),
        "deltas": capture.deltas,
        "timeline": capture.timeline,
    }


def test_every_delta_is_in_one_bin(nplus1: latpcap.Capture) -> None:
    deltas = nplus1.deltas
    known = nplus1.exchanges.column("delta_ms")
    assert sum(deltas.counts) == (known == known).sum()
    assert len(deltas.edges_ms) == len(deltas.counts) + 1
    low, high = deltas.edges_ms[0], deltas.edges_ms[-1]
    assert low <= known[known == known].min() <= known[known == known].max() <= high
    assert deltas.quantiles_ms["max"] == known[known == known].max()
    peak = deltas.counts.index(max(deltas.counts))
    assert deltas.edges_ms[peak] < 1.28 < deltas.edges_ms[peak + 1]  # the median delta
    assert deltas.baseline_rtt_ms == nplus1.analyze().summary.baseline_rtt_ms


def test_a_timeline_has_every_exchange_once(nplus1: latpcap.Capture) -> None:
    intervals = nplus1.timeline.intervals
    assert len(intervals) == 305
    assert sum(each.round_trips for each in intervals) == 303
    assert all(each.start_s <= each.end_s for each in intervals)
    assert [each.start_s for each in intervals] == sorted(each.start_s for each in intervals)


def test_a_long_timeline_is_few_intervals() -> None:
    capture = read_fixture("mysql/nplus1-10k")
    intervals = capture.timeline.intervals
    assert len(capture.exchanges) > MAX_EXCHANGES > 400 >= len(intervals)
    assert sum(each.exchanges for each in intervals) == len(capture.exchanges)
    assert all(before.end_s < after.start_s for before, after in pairwise(intervals))


@pytest.mark.parametrize("name", ["budget", "projection", "deltas", "timeline"])
@pytest.mark.parametrize("fixture_name", ["mysql/parallel-8", "mysql/login-wrong-password", "mysql/mid-text"])
def test_everything_shows_and_plots_itself(name: str, fixture_name: str) -> None:
    pytest.importorskip("altair")
    view = views(read_fixture(fixture_name))[name]
    assert view._repr_html_().startswith("<")
    assert json.loads(view.plot().to_json())["$schema"]


def test_the_whole_public_interface_shows_itself(nplus1: latpcap.Capture) -> None:
    for shown in (nplus1, nplus1.analyze(), *nplus1.tables().values(), *views(nplus1).values()):
        assert shown._repr_html_().startswith("<")


@pytest.mark.parametrize(
    ("library", "call", "message"),
    [
        ("altair", "capture.timeline.plot()", 'plots need Altair: pip install "latpcap[notebook]"'),
        ("pandas", "capture.exchanges.to_pandas()", 'pandas is not installed: pip install "latpcap[notebook]"'),
        ("polars", "capture.exchanges.to_polars()", 'polars is not installed: pip install "latpcap[notebook]"'),
        ("duckdb", "capture.sql('select 1')", 'SQL needs DuckDB: pip install "latpcap[sql]"'),
    ],
)
def test_a_missing_library_is_named_with_its_extra(library: str, call: str, message: str) -> None:
    path = load_fixture("mysql/sql-errors").path
    code = f"""
import sys
sys.modules[{library!r}] = None
import latpcap
capture = latpcap.read({str(path)!r})
try:
    {call}
except latpcap.UsageError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout.decode() == f"{message}\n"


def test_dataframes_and_duckdb_read_a_table_as_it_is(nplus1: latpcap.Capture) -> None:
    duckdb, polars = pytest.importorskip("duckdb"), pytest.importorskip("polars")
    exchanges = nplus1.exchanges
    assert polars.DataFrame(exchanges)["round_trips"].sum() == 303
    assert exchanges.to_pandas()["round_trips"].sum() == 303
    with duckdb.connect(":memory:") as connection:
        assert connection.sql("select sum(round_trips) from exchanges").fetchall() == [(303,)]
