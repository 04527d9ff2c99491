"""The accuracy table (`benchmarks/accuracy`) over three recordings of one job: 1,001 queries at 0, 1 and 15 ms."""

import math
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "fixtures" / "mysql"
FILES = {0.0: "nplus1-1000", 1.0: "nplus1-1000-rtt1", 15.0: "nplus1-1000-rtt15"}


@pytest.fixture(scope="module")
def table():
    sys.path.insert(0, str(ROOT / "benchmarks" / "accuracy"))
    try:
        import table

        yield table
    finally:
        sys.path.pop(0)


def run(rtt_ms, capture, total_s=1.0, **more):
    about = {"workload": "nplus1", "protocol": "mysql", "driver": "pymysql", "kind": "stop and wait"}
    return about | {"rtt_ms": rtt_ms, "capture": capture, "capture_server": None, "total_s": total_s} | more


def rows(table, files):
    return list(table.compare(FOLDER, {rtt: [run(rtt, f"{name}.pcapng.zst")] for rtt, name in files.items()}))


def test_every_direction_between_the_recordings_is_a_row(table):
    found = {(row.from_ms, row.to_ms) for row in rows(table, FILES)}
    assert found == {(0, 1), (0, 15), (1, 15), (15, 1)}


def test_the_projection_is_asked_for_the_rtt_that_the_target_shows(table):
    row = next(row for row in rows(table, FILES) if (row.from_ms, row.to_ms) == (1, 15))
    assert 15 < row.target_ms < 15.6
    assert row.same_job
    assert abs(row.in_stream.error_pct) < 5


def recording(table, found):
    import csv
    import io

    from kept import Recording

    return Recording("awake", list(csv.DictReader(io.StringIO(table.as_csv(found)))), [], [])


def test_another_job_is_told_and_not_counted(table):
    found = recording(table, rows(table, {1.0: "nplus1-1000-rtt1", 15.0: "nplus1-10k"}))
    assert found.at("in-stream") == []
    assert "2 of them another job" in table.page.page({"awake": found}, named="")


def test_the_page_says_what_the_echo_gives_only_where_there_is_one(table):
    runs = {rtt: [run(rtt, f"{FILES[rtt]}.pcapng.zst", echo_ms=rtt + 1)] for rtt in (1.0, 15.0)}
    with_echo = recording(table, list(table.compare(FOLDER, runs)))
    assert "# At the link's echo" in table.page.page({"awake": with_echo}, named="")
    assert "# At the link's echo" not in table.page.page({"awake": recording(table, rows(table, FILES))}, named="")


def test_kept_facts_make_the_same_page(table, tmp_path, monkeypatch):
    import kept

    monkeypatch.setattr(kept, "FACTS", tmp_path)
    found = rows(table, FILES)
    kept.keep("awake.csv", table.as_csv(found))
    again = kept.load("awake")
    assert table.page.page({"awake": again}, named="") == table.page.page({"awake": recording(table, found)}, named="")


def test_the_median_run_counts_of_those_during_which_no_cpu_stood_still(table):
    runs = [run(1, "a", 9.0), run(1, "b", 1.0, still_s=0.5), run(1, "c", 8.0), run(1, "d", 10.0)]
    assert table.median_run(runs)["capture"] == "a"
    assert table.median_run(runs[1:2])["capture"] == "b"


def test_a_transfers_own_queue_does_not_count_as_rtt(table):
    import numpy as np
    from facts import quick_mean

    assert quick_mean(np.array([1.0, 1.1, 7.0])) == pytest.approx(1.05)


def compared(table, **changes):
    """The comparison of the recordings' table with itself, but for `changes` to the pair from 1 to 15 ms."""
    import compare
    import kept

    def read(**changed):
        texts = (dict(row) for row in recording(table, rows(table, FILES)).rows)
        typed = [kept.typed(row) for row in texts]
        return [row | changed if (row["from_ms"], row["to_ms"]) == (1, 15) else row for row in typed]

    return compare, [compare.Pair(old, new) for old, new in zip(read(), read(**changes), strict=True)]


def test_two_versions_that_project_the_same_are_equal(table):
    compare, pairs = compared(table)
    assert not any("!" in line for line in compare.classes(pairs))
    assert {pair.worse_pct for pair in pairs} == {0}


def test_a_class_that_another_version_projects_worse_is_marked(table):
    compare, pairs = compared(table, error_pct=-30.0, inside=False)
    lines = {line.split("|")[1].strip(): line for line in compare.classes(pairs)}
    assert lines["1 → 15 ms"].count("!") == 3
    assert "!" not in lines["15 → 1 ms"]
    assert max(pair.worse_pct for pair in pairs) > 25


def test_what_lies_outside_costs_more_than_width(table):
    from scores import score_pct

    assert score_pct(9, 11, 10) == pytest.approx(20)
    assert score_pct(9, 11, 12) == pytest.approx(100 * (2 + 40 * 1) / 12)


def test_a_run_without_an_echo_has_no_projection_onto_one(table):
    found = rows(table, FILES)
    assert all(math.isnan(row.echo.error_pct) and not row.echo.inside for row in found)


def test_a_run_is_projected_onto_its_links_echo_too(table):
    runs = {rtt: [run(rtt, f"{FILES[rtt]}.pcapng.zst", echo_ms=rtt + 1)] for rtt in (1.0, 15.0)}
    row = next(row for row in table.compare(FOLDER, runs) if row.to_ms == 15)
    assert row.echo.predicted_s > row.in_stream.predicted_s + 0.5
    assert row.echo.score_pct > row.in_stream.score_pct


def test_two_captures_that_tell_the_same_return(table):
    from scores import there_and_back

    known = [table.columns(row) for row in rows(table, FILES)]
    ((pair, off),) = there_and_back(known)
    assert (pair["from_ms"], pair["to_ms"]) == (1, 15)
    assert abs(off) < 5


def test_constants_are_tested_on_the_workload_they_were_not_fitted_on(table):
    from scores import left_out

    known = [{"workload": name, "value": value} for name, value in (("a", 1), ("a", 2), ("b", 10))]

    def fit(rows):
        return sum(row["value"] for row in rows)

    def tested(by, rows):
        return [row | {"by": by} for row in rows]

    assert [row["by"] for row in left_out(known, fit, tested)] == [10, 10, 3]


def test_a_crowd_that_ran_is_compared_with_the_rate_projected(table, tmp_path):
    import crowds

    capture = str(FOLDER / f"{FILES[1.0]}.pcapng.zst")
    runs = [
        {"workload": "nplus1", "rtt_ms": 1.0, "clients": 1, "tps": 900.0, "capture": capture},
        {"workload": "nplus1", "rtt_ms": 1.0, "clients": 4, "tps": 3600.0, "capture": None},
    ]
    (row,) = crowds.rows(tmp_path, runs)
    assert (row["clients"], row["of_clients"]) == (1, 4)
    assert row["low_per_s"] < row["predicted_per_s"] < row["high_per_s"]
    assert "| nplus1 | 1.0 ms | 1 → 4 |" in table.page.crowds([{name: str(value) for name, value in row.items()}], [])
