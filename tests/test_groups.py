"""A group costs what its rows cost, and says what an analysis of it alone says: `rank --by`, `scan`, datasets."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arro3.core import Array, DataType
from conftest import FIXTURES
from test_client_groups import moved

import latpcap
from latpcap import Capture, read
from latpcap.result.rank import RankRow, rank_rows
from latpcap.result.rank_order import RankOrder
from latpcap.scan import ScanOptions, part, reduce
from latpcap.tables.columnar import columns
from latpcap.tables.columnar.scratch import Scratch
from latpcap.tables.dataset import file_plan
from latpcap.tables.dataset.manifest import of_folder
from latpcap.tables.part import groups
from latpcap.tables.part.groups import names_of, some_groups
from latpcap.work.dataset_parts import saved
from latpcap.work.local import Threads

SEVERAL = ("postgresql/several-applications", "mysql/pool-4", "proxies/pgbouncer-transactions")
RTT_MS = 15.0


def captures() -> dict[str, Any]:
    """Captures of several clients, servers, users, databases and applications."""
    paths = {path.name.partition(".")[0]: path for name in SEVERAL for path in FIXTURES.glob(f"{name}.pcapng*")}
    names = ("mysql/churn-20", "mysql/pool-4", "mysql/think-time")
    return {**paths, "hosts": [moved(name, number) for number, name in enumerate(names * 3)]}


@pytest.mark.parametrize("name", captures())
@pytest.mark.parametrize("by", ["client", "server", "user", "database", "application"])
def test_the_row_of_a_group_is_what_is_said_of_it_alone(name: str, by: str) -> None:
    capture = read(captures()[name])
    rows = [row for row in ranked(capture, by) if row.name is not None and row.name.isprintable()]
    for row in rows:
        alone = capture.select(**{by: row.name})
        [of_it] = ranked(alone)
        assert told(row) == told(of_it)
        analysis = alone.analyze([RTT_MS])
        assert (row.round_trips, row.exchanges) == (analysis.summary.round_trips, analysis.summary.exchanges)
        assert row.runtime_s == pytest.approx(analysis.summary.runtime_s)
        if row.reason is None:
            assert row.projected_s == pytest.approx(analysis.projection.points[0].runtime_s)
            assert row.baseline_rtt_ms == pytest.approx(analysis.projection.baseline_rtt_ms)
            assert row.network_share == analysis.summary.network_share


def ranked(capture: Capture, by: str | None = None) -> list[RankRow]:
    return [*rank_rows(capture.measures, "a.pcapng", RankOrder(by, rtt_ms=RTT_MS))]


def told(row: RankRow) -> dict[str, Any]:
    """All but its name; a shorter sum in another order of floats may differ in the last digit."""
    values = {name: getattr(row, name) for name in row.__struct_fields__ if name != "name"}
    return {name: round(value, 9) if isinstance(value, float) else value for name, value in values.items()}


def test_groups_that_are_looked_at_some_at_a_time_say_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    capture = read(captures()["hosts"])
    whole = ranked(capture, "client")
    monkeypatch.setattr(groups, "MAX_EXCHANGES", 150)
    names = groups.names_of(capture.recording, "client")
    assert len([*groups.arranged(capture.recording, names)]) > 2
    assert ranked(capture, "client") == whole


@pytest.mark.parametrize("block", [20, 150, 1_000])
def test_groups_of_a_recording_that_does_not_fit_in_memory_say_the_same(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, block: int
) -> None:
    capture = read(captures()["hosts"])
    whole = ranked(capture, "client")
    capture.recording.scratch = Scratch(str(tmp_path), 1 << 30)
    monkeypatch.setattr(groups, "MIN_BLOCK_ROWS", block)
    monkeypatch.setattr(groups, "MAX_PASSES", 1_000)
    parts = [len({*of_part}) for _, of_part in some_groups(capture.recording, names_of(capture.recording, "client"))]
    assert len(parts) > 1 or block == 1_000
    assert sum(parts) == len(whole)
    assert sorted(map(told, ranked(capture, "client")), key=str) == sorted(map(told, whole), key=str)


def test_what_becomes_numpy_does_not_grow_with_the_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = [work(monkeypatch, number) for number in (4, 8, 16)]
    assert counts[0]["groups"] < counts[1]["groups"] < counts[2]["groups"]
    assert {count["batches"] for count in counts} == {1}, "RTTs are estimated for all of a batch at once"
    more = [after["columns"] - before["columns"] for before, after in pairwise(counts)]
    assert max(more) <= 0.02 * counts[0]["columns"]


def work(monkeypatch: pytest.MonkeyPatch, number: int) -> Counter[str]:
    """What a ranking of so many groups does."""
    done: Counter[str] = Counter()
    capture = read([moved("mysql/churn-20", each) for each in range(number)])
    with monkeypatch.context() as patched:
        for module, name, what in ((columns, "_view", "columns"), (groups, "GroupBatch", "batches")):
            patched.setattr(module, name, counting(getattr(module, name), done, what))
        done["groups"] = len(ranked(capture, "client"))
    return done


def counting(function: Any, done: Counter[str], what: str) -> Any:
    def counted(*given: Any) -> Any:
        done[what] += 1
        return function(*given)

    return counted


# --- datasets of many servers -----------------------------------------------------------------------------------------


@pytest.fixture
def many(tmp_path: Path) -> list[str]:
    """Captures of seven servers."""
    paths = [tmp_path / f"{number}.pcapng" for number in range(7)]
    for number, path in enumerate(paths):
        path.write_bytes(moved("mysql/churn-20" if number % 3 else "mysql/pool-4", number))
    return [str(path) for path in paths]


def test_small_servers_share_files(many: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_plan, "MAX_FILES", 5)
    whole = read(many)
    whole.save(tmp_path / "saved")
    saved_capture = read(tmp_path / "saved")
    assert max(files(tmp_path / "saved").values()) <= 5
    assert saved_capture.analyze().to_dict() == whole.analyze().to_dict()
    assert saved_capture.connections.to_dicts() == whole.connections.to_dicts()
    servers = sorted(set(whole.connections.column("server")))
    shared = [server for server in servers if not has_folder(tmp_path / "saved", server)]
    assert len(servers) == 7
    assert len(shared) == 3
    for server in servers:
        asked = {"server": server}
        assert saved_capture.select(**asked).analyze().to_dict() == whole.select(**asked).analyze().to_dict()


def files(folder: Path) -> Counter[str]:
    """How many each table has."""
    return Counter(file.table for part in of_folder(str(folder)).parts for file in part.files)


def has_folder(dataset: Path, server: str) -> bool:
    return any(dataset.glob(f"exchanges/*/server={server.replace(':', '%3A')}"))


def test_each_row_says_its_server_also_where_several_share_a_file(
    many: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import duckdb

    monkeypatch.setattr(file_plan, "MAX_FILES", 3)
    read(many).save(tmp_path / "saved")
    servers = {row["stream"]: row["server"] for row in read(many).connections.to_dicts()}
    for table in ("exchanges", "connections"):
        pattern = f"{tmp_path}/saved/{table}/*/*/*.parquet"
        asked = f"select stream, server_address from read_parquet('{pattern}', hive_partitioning = true)"
        found = duckdb.sql(asked).fetchall()
        assert len(found) == len(getattr(read(many), table))
        assert all(servers[stream] == server for stream, server in found)


def test_parts_share_the_room_for_files(many: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_plan, "MAX_FILES", 6)
    saved(many, ScanOptions(), Threads(1), 3, str(tmp_path / "saved"))
    assert max(files(tmp_path / "saved").values()) <= 6
    assert reduce([part([str(tmp_path / "saved")])]).json() == reduce([part(many)]).json()


def test_days_beyond_the_last_of_many_lie_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_plan, "MAX_DAYS", 3)
    day_ns = 86_400_000_000_000
    of_stream = columns.Codes(np.zeros(1, np.int64), ["10.0.0.2:3306"])
    found = file_plan.Places(of_stream, np.array([0, 1])).files(np.zeros(9, np.int64), np.arange(9) * day_ns)
    assert [(day, len(rows)) for day, _, rows in found] == [(0, 1), (1, 1), (2, 7)]


@pytest.mark.parametrize("server", ["10.0.0.1", "x\n:1", ""])
def test_a_shared_file_with_a_server_that_is_none_is_refused(
    many: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: str
) -> None:
    monkeypatch.setattr(file_plan, "MAX_FILES", 3)
    monkeypatch.setattr(
        file_plan.Places, "servers_of", lambda self, stream: Array([server] * len(stream), DataType.string())
    )
    read(many).save(tmp_path / "saved")
    with pytest.raises(latpcap.CaptureError, match="damaged"):
        read(tmp_path / "saved").analyze()
