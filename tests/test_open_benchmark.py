"""The open benchmark (`benchmarks/open`): scorer, baselines, checks, and latpcap on the recording that is kept."""

import csv
import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).resolve().parents[1]
RUN = {"workload": "job", "rtt_ms": 1.0, "statements": 5, "rows": 9, "echo_ms": 1.1, "total_s": 2.0, "runtime_s": 2.0}
RUN |= {"load": 0.0, "still_s": 0.0}


@pytest.fixture(scope="module")
def bench():
    places = [str(ROOT / "benchmarks" / part) for part in ("open", "accuracy")]
    sys.path[:0] = places
    try:
        import machine
        import manifest
        import open_jobs
        import predictors
        import record_jobs
        import score

        names = {
            "machine": machine,
            "manifest": manifest,
            "jobs": open_jobs,
            "predictors": predictors,
            "record": record_jobs,
            "score": score,
        }
        yield SimpleNamespace(**names)
    finally:
        for place in places:
            sys.path.remove(place)


@pytest.fixture(scope="module")
def asked(bench):
    return list(bench.manifest.pairs(bench.manifest.kept(bench.manifest.AWAKE), bench.jobs.HELD_OUT))


@pytest.fixture(scope="module")
def scored(bench, asked):
    """From one RTT to the longer ones."""
    up = [pair for pair in asked if pair.from_ms == 1 and pair.to_ms > 1]
    return {name: bench.score.rows(up, said) for name, said in bench.predictors.predictions(up).items()}


def test_every_kind_of_work_is_held_out(bench, asked):
    assert {pair.job["kind"] for pair in asked} == set(bench.jobs.KINDS)


def test_the_truth_is_what_the_capture_shows(bench, asked):
    import latpcap

    for pair in asked[:20]:
        runs = {run["link_ms"]: run for run in pair.job["runs"]}
        shown = latpcap.read(pair.capture).analyze().summary.runtime_s
        assert shown == pytest.approx(runs[pair.from_ms]["runtime_s"], abs=1e-6)


def test_nearly_all_runs_lie_in_their_range(scored):
    rows = scored["latpcap"]
    assert len(rows) > 40
    assert sum(row["inside"] for row in rows) >= 0.9 * len(rows)


@pytest.mark.parametrize("name", ["round-trips", "bandwidth", "linear-programme"])
def test_each_baseline_is_beaten(scored, name):
    def cost(rows):
        return sum(row["score_pct"] for row in rows) / len(rows)

    assert cost(scored["latpcap"]) < cost(scored[name])


def test_a_right_prediction_costs_nothing(bench, asked):
    said = [bench.score.Prediction(pair.id, pair.measured_s) for pair in asked]
    assert all(row["inside"] and row["score_pct"] == 0 for row in bench.score.rows(asked, said))


def test_a_missing_pair_is_as_wrong_as_can_be(bench, asked):
    assert bench.score.missing(asked, []) == len(asked)
    (row,) = bench.score.rows(asked[:1], [])
    assert (row["error_pct"], row["inside"]) == (-100, False)


def test_predictions_survive_their_file(bench, tmp_path):
    said = [bench.score.Prediction("a:1:15", 1.5, 1.25, 2.0), bench.score.Prediction("b:1:15", 3.0)]
    path = tmp_path / "tool.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([bench.score.COLUMNS, *(each.cells() for each in said)])
    with path.open(newline="") as file:
        assert [bench.score.Prediction.read(line) for line in csv.DictReader(file)] == said


def shown(bench, *waits, rtt_s=0.001):
    found = [bench.predictors.Wait(*wait) for wait in waits]
    return bench.predictors.Shown(max(wait.answered for wait in found), rtt_s, 0, found)


def test_the_makespan_grows_by_the_round_trips_of_the_longest_path(bench):
    one_after_the_other = shown(bench, (0, 0.0, 0.001, 1), (0, 0.002, 0.004, 1), (0, 0.004, 0.006, 2))
    assert one_after_the_other.makespan_s(0.01) == pytest.approx(0.006 + 4 * 0.01)
    side_by_side = shown(bench, (0, 0.0, 0.002, 1), (1, 0.0, 0.002, 1), (1, 0.002, 0.004, 1))
    assert side_by_side.makespan_s(0.01) == pytest.approx(0.004 + 2 * 0.01)


def test_what_is_sent_without_waiting_costs_one_round_trip_together(bench):
    pipeline = shown(bench, (0, 0.0, 0.002, 1), (0, 0.0005, 0.003, 0), (0, 0.001, 0.004, 0))
    assert pipeline.makespan_s(0.01) == pytest.approx(0.004 + 0.01)


def test_the_splits_share_no_driver_and_no_seed(bench):
    for seed in range(20):
        drawn = bench.jobs.drawn(seed)
        halves = [[each for each in drawn if each[0] == split] for split in (bench.jobs.DEV, bench.jobs.HELD_OUT)]
        drivers, commands = ([{each[part] for each in half} for half in halves] for part in (1, 2))
        assert not drivers[0] & drivers[1]
        assert not {job.command for job in commands[0]} & {job.command for job in commands[1]}
        assert {job.kind for job in commands[0]} == {job.kind for job in commands[1]} == set(bench.jobs.KINDS)


def test_another_seed_holds_out_other_drivers(bench):
    held_out = {
        frozenset(driver for split, driver, _ in bench.jobs.drawn(seed) if split == bench.jobs.HELD_OUT)
        for seed in range(20)
    }
    assert len(held_out) > 15


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({}, []),
        ({"rows": 8}, ["5 statements and 8 rows, 5 and 9 in its other runs"]),
        ({"echo_ms": 1.5}, ["a ping took 1.500 ms, 1.100 ms in the other runs"]),
        ({"total_s": 2.5}, ["2.500 s by the client's clock, 2.000 s in the capture"]),
        ({"load": 0.5}, ["other programs used 0.50 of a processor"]),
        ({"still_s": 0.2}, ["a processor stood still for 0.200 s"]),
    ],
)
def test_a_run_that_says_nothing_about_its_job_is_thrown_away(bench, change, reason):
    assert list(bench.record.faults(RUN | change, 1.1, (5, 9))) == reason


@pytest.fixture
def recording(bench, tmp_path):
    """One job at three RTTs, the first on loopback, on a machine whose rest curve is known."""
    runs = [
        {"link_ms": link_ms, "ping_ms": link_ms + 0.1, "runtime_s": 1 + link_ms, "capture": "caps/none"}
        for link_ms in (bench.manifest.LOOPBACK_MS, 1.0, 15.0)
    ]
    job = {"id": "job", "split": "dev", "kind": "bulk", "runs": runs}
    (tmp_path / "manifest.json").write_text(json.dumps({"seed": 7, "rests": [[1, 0.05], [5, 0.4]], "jobs": [job]}))
    return tmp_path


def test_loopback_is_a_start_and_no_target(bench, recording):
    asked = list(bench.manifest.pairs(recording))
    assert [pair.id for pair in asked] == ["job:0:1", "job:0:15", "job:1:15", "job:15:1"]
    assert asked[0].rests == [[1, 0.05], [5, 0.4]]


def test_scores_are_told_by_both_rtts(bench, recording):
    scored = bench.score.rows(bench.manifest.pairs(recording), [])
    titles = [title for title, _ in bench.score.rtt_pairs(scored)]
    assert titles == ["loopback → 1 ms", "loopback → 15 ms", "1 → 15 ms", "15 → 1 ms"]
    assert [(title, len(group)) for title, group in bench.score.starts(scored)] == [
        ("loopback → longer", 2),
        ("1 → longer", 1),
        ("15 → shorter", 1),
    ]
    assert len(dict(bench.score.classes(scored))["to a longer RTT"]) == 3


def test_a_finished_recording_is_not_begun_again(bench, recording):
    with pytest.raises(SystemExit, match="recorded already"):
        bench.record.head_of(recording, 8, (1.0,))


def test_a_recording_goes_on_with_its_seed(bench, recording):
    begun = json.loads((recording / "manifest.json").read_text())
    del begun["jobs"]
    (recording / "manifest.json").write_text(json.dumps(begun))
    assert bench.record.head_of(recording, 8, (1.0,))["seed"] == 7


def test_the_machine_is_described(bench):
    about = bench.machine.described()
    assert about["count"] == os.cpu_count()
    assert about["virtual"] in (True, False, None)
    assert about["load"] >= 0


def test_where_the_curve_is_known_latpcap_predicts_without_and_with_it(bench, asked):
    names = bench.predictors.LATPCAP, bench.predictors.CURVE
    without, known = (
        bench.predictors.predictions([replace(asked[0], rests=rests)]) for rests in (None, [[1, 0.05], [5, 0.4]])
    )
    assert [name in without for name in names] == [True, False]
    assert [name in known for name in names] == [True, True]
    assert known[names[0]] == without[names[0]]
    assert known[names[1]][0].predicted_s != known[names[0]][0].predicted_s
