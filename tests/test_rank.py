"""`latpcap rank`: which of many captures is the chatty one, and what is said of those that cannot be ranked."""

from __future__ import annotations

import gc
import json
import re
import shutil
import struct
import subprocess
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from builder import Conn, Ex, build
from conftest import FIXTURES

import latpcap as package
from latpcap import Capture, CaptureError, UsageError, rank, read
from latpcap.cli import cli
from latpcap.ranking import Ranking
from latpcap.result.analysis import Measures
from latpcap.result.rank import RankRow, rank_rows, rank_table
from latpcap.result.rank_order import RANK_BY, RankOrder
from latpcap.tables.columnar.table import Table

Run = Callable[..., subprocess.CompletedProcess[bytes]]

CHATTY, THINKING, SLOW = (FIXTURES / "mysql" / f"{name}.pcapng" for name in ("pool-4", "think-time", "progress"))
NO_TRAFFIC = FIXTURES / "mysql/filtered.pcapng"


def rows_of(connections: list[Conn], by: str | None = None, **more: Any) -> list[dict[str, Any]]:
    measures = Capture(build(connections)).measures
    asked = RankOrder(by, **more)
    return rank_table(rank_rows(measures, "app.pcapng", asked), asked).to_dicts()


def queries(count: int, **more: Any) -> list[Ex]:
    return [Ex(client_ms=0.5, service_ms=1, **more) for _ in range(count)]


# --- files ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [[], ["--pseudonymise"]], ids=["", "pseudonymise"])
def test_the_name_of_a_file_steers_nothing_and_need_be_no_text(
    latpcap: Run, tmp_path: Path, options: list[str]
) -> None:
    folder = tmp_path / "acme\x1b[2J\u202e"
    folder.mkdir()
    for name in ("a\udcff.pcapng", "b\x9b31m.pcapng"):
        shutil.copy(CHATTY, folder / name)
    (folder / "c\udcff.pcapng").write_bytes(b"this is no capture, but text that is long enough to be looked at")
    for form in ("table", "csv", "json"):
        done = latpcap("rank", folder, "--format", form, *options)
        assert done.returncode == 0
        written = done.stdout.decode()
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", written)
        if options:
            assert "acme" not in written
            assert all(f"capture-{number}.pcapng" in written for number in (1, 2, 3))
            assert "capture-4" not in written


def test_the_first_is_the_one_to_which_the_rtt_adds_most_seconds() -> None:
    long = FIXTURES / "mysql/prepared-each.pcapng"  # 403 round trips in 5 s; the other has 48 in 66 ms
    rows = rank([CHATTY, long]).to_dicts()
    assert [Path(row["file"]).name for row in rows] == [long.name, CHATTY.name]
    assert rows[0]["share_per_ms"] < rows[1]["share_per_ms"]
    for row in rows:
        assert row["added_s"] == pytest.approx(row["projected_s"] - row["runtime_s"])


def test_a_row_says_who_holds_it_up_what_failed_and_what_was_lost() -> None:
    names = ("mysql/prepared-reused", "mysql/progress", "mysql/sql-errors", "mysql/nplus1-300-loss2")
    rows = {name: row for name in names for row in rank(FIXTURES / f"{name}.pcapng").to_dicts()}
    assert [rows[name]["bottleneck"] for name in names] == ["network", "server", "network", "network"]
    assert [rows[name]["errors"] for name in names] == [0, 0, 30, 0]
    lost = rows["mysql/nplus1-300-loss2"]["loss_share"]
    assert lost == pytest.approx(0.005, abs=0.001)
    assert rows["mysql/progress"]["loss_share"] == 0
    [held] = rows_of([Conn(exchanges=[Ex(client_ms=90, service_ms=1)] * 4)])
    assert held["bottleneck"] == "client"
    [idle] = rows_of([Conn(exchanges=[Ex(), Ex(client_ms=60_000)])])
    assert idle["bottleneck"] == "think"


@pytest.mark.parametrize(("rtt_ms", "bottleneck"), [(0.1, "server"), (15.0, "network")])
def test_who_holds_it_up_is_judged_where_it_is_projected_to(rtt_ms: float, bottleneck: str) -> None:
    [row] = rows_of([Conn(rtt_ms=0.1, exchanges=[Ex(sql="select a from t", service_ms=2)] * 40)], rtt_ms=rtt_ms)
    assert row["bottleneck"] == bottleneck


def test_the_errors_of_tasks_are_those_of_their_file() -> None:
    path = FIXTURES / "mysql/sql-errors.pcapng"
    assert sum(row["errors"] for row in rank(path, by="task").to_dicts()) == 30


def test_by_share_the_first_is_the_one_of_whose_runtime_a_millisecond_adds_most() -> None:
    table = rank([SLOW, THINKING, CHATTY], sort="share")
    assert [Path(file).name for file in table.column("file")] == [path.name for path in (CHATTY, THINKING, SLOW)]
    assert table.column("rank").tolist() == [1, 2, 3]


def test_a_row_is_what_analyze_says_of_its_file() -> None:
    [row] = rank(CHATTY, rtt_ms=30).to_dicts()
    result = read(CHATTY).analyze(30)
    assert row["seconds_per_ms"] == result.summary.seconds_per_ms
    assert row["share_per_ms"] * row["runtime_s"] == pytest.approx(result.summary.seconds_per_ms)
    assert (row["round_trips"], row["runtime_s"]) == (result.summary.round_trips, result.summary.runtime_s)
    assert row["network_share"] == result.summary.network_share
    assert row["projected_s"] == result.projection.points[0].runtime_s
    assert row["factor"] == pytest.approx(row["projected_s"] / row["runtime_s"])


def test_other_orders_are_by_seconds_and_by_round_trips() -> None:
    paths = [
        FIXTURES / "mysql" / f"{name}.pcapng" for name in ("pool-4", "prepared-each", "prepared-reused", "parallel-8")
    ]
    for sort, column in (("seconds", "seconds_per_ms"), ("round-trips", "round_trips")):
        values = rank(paths, sort=sort).column(column).tolist()
        assert values == sorted(values, reverse=True)


def test_the_worst_finding_is_named_but_no_mere_suggestion() -> None:
    table = rank([FIXTURES / "mysql/prepared-each.pcapng", SLOW])
    assert table.column("finding").tolist() == ["prepare-per-execute", None]


def test_what_cannot_be_ranked_comes_last_and_says_why(tmp_path: Path) -> None:
    (tmp_path / "notes.pcap").write_text("no capture at all")
    rows = rank([tmp_path / "notes.pcap", NO_TRAFFIC, CHATTY, tmp_path / "gone.pcap"]).to_dicts()
    assert [(row["rank"], Path(row["file"]).name) for row in rows] == [
        (1, "pool-4.pcapng"),
        (None, "notes.pcap"),
        (None, "filtered.pcapng"),
        (None, "gone.pcap"),
    ]
    reasons = [row["reason"] for row in rows]
    assert reasons[0] is None
    assert reasons[1].startswith("is not a capture file")
    assert reasons[2].startswith("1 TCP connection, none to a database; ")
    assert reasons[3] == "no such file"


def test_an_empty_capture_is_no_error_of_arithmetic(tmp_path: Path) -> None:
    (tmp_path / "empty.pcap").write_bytes(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262_144, 1))
    [row] = rank([tmp_path / "empty.pcap"]).to_dicts()
    assert row["reason"] == "no TCP connection, so no database traffic: it contains no packets"


def test_a_damaged_file_costs_only_itself(tmp_path: Path) -> None:
    whole = CHATTY.read_bytes()
    (tmp_path / "cut.pcapng").write_bytes(whole[: len(whole) // 2 + 3])
    (tmp_path / "noise.pcapng").write_bytes(whole[:2000] + bytes(range(256)) * 40)
    rows = {Path(row["file"]).name: row for row in rank([tmp_path, CHATTY, THINKING]).to_dicts()}
    alone = {Path(row["file"]).name: row for row in rank([CHATTY, THINKING]).to_dicts()}
    for name in ("pool-4.pcapng", "think-time.pcapng"):
        assert {**rows[name], "rank": None} == {**alone[name], "rank": None}
    assert rows["cut.pcapng"]["health"] or rows["cut.pcapng"]["reason"]


def test_without_an_rtt_there_is_no_rank_but_the_counts_stand() -> None:
    [row] = rows_of([Conn(handshake=False, exchanges=[Ex(answered=False)])])
    assert (row["rank"], row["share_per_ms"], row["round_trips"]) == (None, None, 1)
    assert row["reason"].startswith("no RTT is known: ")


def test_one_response_is_too_little_for_a_rank() -> None:
    [row] = rows_of([Conn(exchanges=[Ex(service_ms=1)])])
    assert row["rank"] is None
    assert "a single response" in row["reason"]


def test_nothing_that_waits_is_the_last_with_a_rank_not_without_one() -> None:
    asked = RankOrder()
    rows = [RankRow("b", share_per_ms=0.0, seconds_per_ms=0.0), RankRow("a", share_per_ms=0.1, seconds_per_ms=1.0)]
    assert rank_table([*rows, RankRow("c", reason="x")], asked).column("rank").tolist()[:2] == [1, 2]


# --- which files ----------------------------------------------------------------------------------------------------


def test_nothing_is_kept_of_a_capture_that_cannot_be_ranked(monkeypatch: pytest.MonkeyPatch) -> None:
    alive: list[weakref.ref[Any]] = []

    def watched(*given: Any, **more: Any) -> Capture:
        capture = read(*given, **more)
        alive.append(weakref.ref(capture))
        return capture

    monkeypatch.setattr("latpcap.ranking.read", watched)
    ranking = Ranking(RankOrder())
    ranking.add(str(NO_TRAFFIC))
    gc.collect()
    assert [each() for each in alive] == [None]
    assert ranking.failures == [4]


def test_a_directory_stands_for_the_captures_in_it_and_below(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    for name in ("a.pcapng", "inner/b.pcap0", "inner/without-suffix"):
        shutil.copy(CHATTY, tmp_path / name)
    (tmp_path / "README.md").write_text("which is no capture")
    files = [Path(file).name for file in rank(tmp_path).column("file")]
    assert files == ["a.pcapng", "b.pcap0", "without-suffix"]


def test_a_glob_is_its_files_and_no_file_counts_twice(tmp_path: Path) -> None:
    for name in ("a.pcapng", "b.pcapng"):
        shutil.copy(CHATTY, tmp_path / name)
    assert len(rank([str(tmp_path / "*.pcapng"), tmp_path / "a.pcapng", tmp_path])) == 2


def test_a_directory_without_captures_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="no capture in this directory"):
        rank(tmp_path)


def test_only_one_capture_is_in_memory_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[weakref.ref[Capture]] = []

    def watched(*args: Any, **options: Any) -> Capture:
        gc.collect()
        assert not any(reference() for reference in kept)
        capture = read(*args, **options)
        kept.append(weakref.ref(capture))
        return capture

    monkeypatch.setattr("latpcap.ranking.read", watched)
    assert len(rank([CHATTY, THINKING, SLOW], by="connection")) == 6
    assert len(kept) == 3


# --- within files ---------------------------------------------------------------------------------------------------


def test_a_group_is_what_analyze_says_of_its_connections_alone() -> None:
    one = Conn(exchanges=queries(40), user="ann", client="10.0.0.1:40000", rtt_ms=2)
    other = Conn(exchanges=queries(10), user="bob", client="10.0.0.3:40000", at_ms=20, rtt_ms=5)
    rows = {row["user"]: row for row in rows_of([one, other], by="user")}
    for name, connection in (("ann", one), ("bob", other)):
        summary = Capture(build([connection])).analyze(15).summary
        assert rows[name]["seconds_per_ms"] == pytest.approx(summary.seconds_per_ms)
        assert rows[name]["runtime_s"] == pytest.approx(summary.runtime_s)
        assert rows[name]["baseline_rtt_ms"] == pytest.approx(summary.baseline_rtt_ms)


def test_the_runtime_of_a_group_is_its_own_not_the_files() -> None:
    long = Conn(exchanges=[Ex(service_ms=900), *queries(2)], user="ann", client="10.0.0.1:40000")
    short = Conn(exchanges=queries(30), user="bob", client="10.0.0.1:40001", at_ms=100)
    rows = {row["user"]: row for row in rows_of([long, short], by="user")}
    assert rows["bob"]["rank"] == 1
    assert rows["bob"]["runtime_s"] == pytest.approx(0.001 + 0.002 * 30 + 0.0005 * 30, rel=0.05)


@pytest.mark.parametrize("by", ["application", "server"])
def test_what_is_ranked_by_a_name_is_what_is_selected_by_it(by: str) -> None:
    path = FIXTURES / "postgresql/several-applications.pcapng.zst"
    capture = read(path)
    for row in rank(path, by=by).to_dicts():
        summary = capture.select(**{by: row[by]}).analyze(15).summary
        assert row["seconds_per_ms"] == pytest.approx(summary.seconds_per_ms)
        assert (row["round_trips"], row["runtime_s"]) == (summary.round_trips, summary.runtime_s)
        assert row["network_share"] == pytest.approx(summary.network_share)


def test_what_a_millisecond_adds_to_a_program_is_what_it_counted() -> None:
    """A worker's statements, its login (MD5 waits twice, SCRAM three times) and its TCP handshake, one after the other.

    The batch has one connection; the shop six at once, of 72 statements each; each of two monitors six after another.
    """
    rows = rank(FIXTURES / "postgresql/several-applications.pcapng.zst", by="application").to_dicts()
    waits = {row["application"]: round(row["seconds_per_ms"] * 1000) for row in rows}
    assert waits == {"nightly-batch": 100 + 2 + 1, "shop-web": 72 + 3 + 1, "monitor": 6 * (1 + 3 + 1)}


@pytest.mark.parametrize("by", ["server", "application", "client", "user", "database", "connection"])
def test_groups_have_all_connections_and_round_trips_of_the_file(by: str) -> None:
    for path in (CHATTY, FIXTURES / "findings/orm-requests-pg.pcapng.zst", FIXTURES / "mysql/churn-20.pcapng"):
        rows, capture = rank(path, by=by), read(path)
        assert rows.column("connections").sum() == len(capture.connections)
        assert rows.column("round_trips").sum() == capture.exchanges.column("round_trips").sum()


def test_a_group_without_a_name_has_a_row() -> None:
    pair = [Conn(exchanges=queries(5), database=name, client=f"10.0.0.1:4{n}") for n, name in enumerate((None, "shop"))]
    assert {row["database"] for row in rows_of(pair, by="database")} == {None, "shop"}


def test_groups_keep_streams_and_waits_of_their_connections() -> None:
    connections = [Conn(exchanges=queries(n + 1), client=f"10.0.0.1:4000{n}") for n in range(5)]
    recording = build(connections)
    names = ["a", "b", "a", "b", "a"]
    parts = {name: measures.recording for name, measures in Measures(recording).of_each(names)}
    assert parts["a"].connections.stream.tolist() == [0, 2, 4]
    assert parts["b"].connections.stream.tolist() == [1, 3]
    assert parts["a"].exchanges.connection.tolist() == [0] + [1] * 3 + [2] * 5


def test_a_route_is_its_tasks_together() -> None:
    tagged = [
        *queries(5, tags="route='%2Flist'"),
        Ex(client_ms=3000, tags="route='%2Fshow'"),
        Ex(tags="route='%2Fshow'"),
    ]
    rows = {row["route"]: row for row in rows_of([Conn(exchanges=tagged)], by="route")}
    assert (rows["/list"]["round_trips"], rows["/show"]["round_trips"]) == (5, 2)
    assert rows["/show"]["runtime_s"] == pytest.approx(0.002)
    assert rows["/show"]["share_per_ms"] == pytest.approx(1.0)


def test_a_task_has_no_think_time_in_it() -> None:
    rows = rank(THINKING, by="task").to_dicts()
    assert [row["round_trips"] for row in rows] == [12, 10, 10]
    assert all(row["share_per_ms"] > 0.8 for row in rows)
    assert rows[0]["task"] == "1: 08:39:36.955 10.77.0.1"


def test_the_projection_of_a_task_is_the_straight_line_that_its_columns_give() -> None:
    for row in rank(THINKING, by="task", rtt_ms=50).to_dicts():
        line = row["runtime_s"] + row["seconds_per_ms"] * (50 - row["baseline_rtt_ms"])
        assert row["projected_s"] == pytest.approx(line)


# --- the command ----------------------------------------------------------------------------------------------------


def test_one_command_names_the_chatty_one(latpcap: Run) -> None:
    done = latpcap("rank", SLOW, THINKING, CHATTY)
    assert done.returncode == 0
    first = done.stdout.decode().splitlines()[0]
    assert first.startswith("3 captures (below ")
    assert "Worst: pool-4.pcapng, 66.0 ms today, 0.856 s at 15 ms." in first


@pytest.mark.parametrize(("sort", "share"), [("seconds", ""), ("share", " (+84.9%)")])
def test_what_is_ranked_by_a_millisecond_is_told_by_it_and_in_its_unit(latpcap: Run, sort: str, share: str) -> None:
    first, _, *rows = latpcap("rank", CHATTY, "--sort", sort).stdout.decode().splitlines()
    told = f"Worst: pool-4.pcapng, 66.0 ms today, and 56.0 ms more per millisecond of RTT{share}."
    assert told in first
    assert rows[1].split()[1:3] == ["0.790", "0.0560"], "both are seconds"


def test_figures_and_files_fit_80_columns(latpcap: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for more in ([], ["--sort", "seconds"], ["--by", "connection"], ["--by", "task"]):
        lines = latpcap("rank", CHATTY, THINKING, SLOW, *more).stdout.decode().splitlines()
        assert max(map(len, lines)) <= 80
    lines = latpcap("rank", CHATTY, THINKING, SLOW).stdout.decode().splitlines()
    rows = [line.split() for line in lines if re.match(r" ?\d+ +[\d.]+ +[\d.]+ ", line)]
    assert [row[-1] for row in rows] == ["pool-4.pcapng", "think-time.pcapng", "progress.pcapng"]


def test_a_long_name_of_a_file_goes_before_what_can_be_spared(
    latpcap: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    named = tmp_path / "the-nightly-batch-of-monday.pcapng"
    shutil.copy(CHATTY, named)
    assert named.name in latpcap("rank", tmp_path).stdout.decode()


def test_what_is_not_there_is_called_as_it_was_given(latpcap: Run) -> None:
    assert "nothere/: no such file" in latpcap("rank", "nothere/").stdout.decode()


@pytest.mark.parametrize(("paths", "status"), [([NO_TRAFFIC], 4), (["gone.pcap"], 3), (["gone.pcap", CHATTY], 0)])
def test_the_status_says_whether_any_file_could_be_read(latpcap: Run, paths: list[Path], status: int) -> None:
    done = latpcap("rank", *paths)
    assert done.returncode == status
    assert b"Not ranked (1)" in done.stdout


def test_every_format_has_the_same_rows(latpcap: Run) -> None:
    expected = rank([CHATTY, THINKING]).to_dicts()
    as_json = json.loads(latpcap("rank", CHATTY, THINKING, "--json").stdout)
    assert as_json["schema"] == "latpcap.rank/1"
    assert as_json["rows"] == expected
    lines = latpcap("rank", CHATTY, THINKING, "--format", "jsonl").stdout.splitlines()
    assert [json.loads(line) for line in lines] == expected
    csv = latpcap("rank", CHATTY, THINKING, "--format", "csv").stdout.decode().splitlines()
    assert csv[0].split(",")[:4] == ["rank", "file", "share_per_ms", "seconds_per_ms"]
    assert latpcap("rank", CHATTY, "--format", "parquet").stdout.startswith(b"PAR1")


def test_a_selection_holds_in_every_file(latpcap: Run) -> None:
    rows = json.loads(latpcap("rank", CHATTY, THINKING, "--stream", "1", "--json").stdout)["rows"]
    assert [row["connections"] for row in rows] == [1, None]
    assert rows[0]["round_trips"] == 12
    assert "no connection of stream" in rows[1]["reason"]


def test_a_limit_leaves_the_first(latpcap: Run) -> None:
    text = latpcap("rank", SLOW, THINKING, CHATTY, NO_TRAFFIC, "--limit", "2").stdout.decode()
    assert "3 captures" in text
    assert "Not ranked (1)" in text
    assert "pool-4" in text
    assert "think-time" in text
    assert "progress" not in text
    assert len(latpcap("rank", SLOW, THINKING, "--limit", "1", "--format", "jsonl").stdout.splitlines()) == 1


def test_pseudonyms_are_the_same_in_all_files_and_hide_their_names(latpcap: Run) -> None:
    done = latpcap("rank", CHATTY, THINKING, "gone.pcap", "--by", "client", "--pseudonymise", "--json")
    rows = json.loads(done.stdout)["rows"]
    assert {row["client"] for row in rows if row["rank"]} == {"client-1"}
    assert {row["file"] for row in rows} == {"capture-1.pcapng", "capture-2.pcapng", "capture-3.pcap"}
    for secret in (b"pool-4", b"fixtures", b"gone", b"10.77"):
        assert secret not in done.stdout


def test_a_ctrl_c_prints_what_is_ranked_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    from click.testing import CliRunner

    from latpcap.cli.shared import progress

    watch, seen = progress.watch, list[Any]()

    def interrupted(work: Any, **options: Any) -> Any:
        if seen:
            raise KeyboardInterrupt
        seen.append(work)
        return watch(work, **options)

    monkeypatch.setattr(progress, "watch", interrupted)
    done = CliRunner().invoke(cli, ["rank", str(CHATTY), str(THINKING)])
    assert done.exit_code == 130
    assert "pool-4.pcapng" in done.stdout
    assert "think-time" not in done.stdout
    assert "stopped after 1 of 2 files" in done.stderr


def test_nothing_is_ranked_by_what_there_is_not() -> None:
    for wrong in ({"by": "colour"}, {"sort": "beauty"}, {"rtt_ms": -1}, {"idle_s": float("nan")}):
        with pytest.raises(UsageError):
            rank(CHATTY, **wrong)
    with pytest.raises(UsageError):
        rank(3)


def test_rank_is_public_and_gives_a_table() -> None:
    assert "rank" in package.__all__
    assert isinstance(rank(CHATTY), Table)


# --- exchanges without a task -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["task", "route"])
def test_what_is_of_no_task_is_no_rows_finding_and_no_rows_error(by: str) -> None:
    refused = [Conn(exchanges=[Ex("authenticate", error="1045 (28000): no")], at_ms=9 * at) for at in range(12)]
    asked = RankOrder(by)
    for rows, finding, errors in ((slice(0, 0), "failing-logins", 12), (slice(None), None, 0)):
        measures = Capture(build(refused)).measures
        found = measures.tasks(asked.idle_s, "route" if by == "route" else "idle")
        found.of_exchange[rows] = -1
        [row] = rank_rows(measures, "app.pcapng", asked)
        assert (row.finding, row.errors) == (finding, errors)


def test_a_ranking_counts_connections_that_nobody_made(latpcap: Run) -> None:
    failed, refused = FIXTURES / "tcp/failed-connections.pcapng", FIXTURES / "mysql/refused.pcapng"
    errors = {Path(row["file"]).stem: row["errors"] for row in rank([failed, refused]).to_dicts()}
    assert errors == {"failed-connections": 9, "refused": 3}
    assert latpcap("rank", failed, "--fail-if", "errors > 8").returncode == 1


@pytest.mark.parametrize("by", ["server", "client", "connection"])
def test_so_does_one_of_groups_whose_failed(by: str) -> None:
    failed, refused = FIXTURES / "tcp/failed-connections.pcapng", FIXTURES / "mysql/refused.pcapng"
    rows = rank([failed, refused], by).to_dicts()
    errors = {name: sum(row["errors"] or 0 for row in rows if name in row["file"]) for name in ("failed", "refused")}
    assert errors == {"failed": 9, "refused": 3}
    assert all(row[by] for row in rows)
    assert {row["reason"] for row in rows if row["rank"] is None and not row["connections"]} != {None}


@pytest.mark.parametrize("by", RANK_BY)
def test_whatever_is_ranked_failures_without_a_database_count(by: str) -> None:
    assert sum(row["errors"] for row in rank(FIXTURES / "mysql/refused.pcapng", by).to_dicts()) == 3


def test_whoever_was_let_in_by_no_server_has_told_no_user() -> None:
    rows = rank(FIXTURES / "tcp/failed-connections.pcapng", "user").to_dicts()
    assert sum(row["errors"] for row in rows) == 9
    assert max(row["errors"] for row in rows if row["user"] is None) >= 5


def test_who_was_captured_at_the_rtt_already_is_named(latpcap: Run) -> None:
    """There the RTT adds nothing: a row far down may still be the slowest."""
    near, far = (FIXTURES / "mysql" / f"nplus1-1000-rtt{rtt}.pcapng.zst" for rtt in (1, 15))
    told = latpcap("rank", near, far, "--quiet").stdout.decode()
    assert "Captured at 15 ms or more already: nplus1-1000-rtt15.pcapng.zst. `--sort seconds` compares" in told
    assert "Captured at" not in latpcap("rank", near, far, "--rtt", "40ms", "--quiet").stdout.decode()
    assert "Captured at" not in latpcap("rank", near, far, "--sort", "seconds", "--quiet").stdout.decode()
