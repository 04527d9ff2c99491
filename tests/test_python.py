"""A session in Python: what one tries first works, shows little, and keeps integers integers."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builder import Conn, Ex, build
from conftest import load_fixture, read_fixture
from msgspec import Struct

import latpcap
from latpcap import Capture, Table, UsageError

NESTED = "findings/nested-my"
SCREEN = 24 * 100
"""Characters."""


@pytest.fixture
def capture() -> Capture:
    return read_fixture(NESTED)


# --- tables are like dataframes -------------------------------------------------------------------------------------


def test_a_table_has_a_head_and_a_tail(capture: Capture) -> None:
    exchanges = capture.exchanges
    assert [len(exchanges.head()), len(exchanges.tail()), len(exchanges.head(3)), len(exchanges.tail(99))] == [
        *(5, 5, 3),
        len(exchanges),
    ]
    assert exchanges.head(1)["exchange"][0] == 0
    assert exchanges.tail(1)["exchange"][0] == len(exchanges) - 1


def test_a_slice_of_a_table_is_a_table(capture: Capture) -> None:
    exchanges = capture.exchanges
    assert isinstance(exchanges[10:20], Table)
    assert exchanges[10:20]["exchange"].tolist() == list(range(10, 20))
    assert exchanges[-3:]["exchange"].tolist() == [31, 32, 33]
    assert exchanges[9:0:-4]["exchange"].tolist() == [9, 5, 1]
    assert len(exchanges[50:60]) == 0


def test_a_column_is_an_array_and_several_are_a_table(capture: Capture) -> None:
    exchanges = capture.exchanges
    assert exchanges["response_ms"].dtype == np.float64
    assert exchanges[["command", "response_ms"]].columns == ["command", "response_ms"]
    assert exchanges.shape == (34, len(exchanges.columns))
    with pytest.raises(UsageError, match="no column `wrong`: there are stream, exchange"):
        exchanges[["stream", "wrong"]]


def test_the_response_time_is_what_statements_sum_up(capture: Capture) -> None:
    exchanges, statements = capture.exchanges, capture.statements
    for row in statements:
        equal = {"statement": row["fingerprint"]} if row["fingerprint"] else {"command": row["text"]}
        response_ms = exchanges.filter(**equal)["response_ms"]
        assert np.nanmax(response_ms, initial=-1) == (row["response_max_ms"] if row["response_max_ms"] else -1)


def test_a_row_is_a_dictionary_and_rows_can_be_gone_through(capture: Capture) -> None:
    exchanges = capture.exchanges
    assert exchanges[-1]["command"] == "quit"
    assert [row["exchange"] for row in exchanges] == list(range(34))
    with pytest.raises(IndexError):
        exchanges[34]


def test_rows_are_filtered_by_truths_and_by_values(capture: Capture) -> None:
    exchanges = capture.exchanges
    slow = exchanges[exchanges["response_ms"] > 1.2]
    assert 0 < len(slow) < len(exchanges)
    assert len(exchanges.filter(exchanges["response_ms"] > 1.2, command="query")) <= len(slow)
    assert set(exchanges.filter(command="query")["command"]) == {"query"}
    assert set(exchanges.filter(request_frame=None)["command"]) == {"connect"}
    assert len(exchanges.filter(command="nothing")) == len(exchanges.filter(command="nothing").filter()) == 0


@pytest.mark.parametrize("key", [3.5, np.array([0.5]), object(), [["a"]]])
def test_what_is_no_place_in_a_table_is_refused(capture: Capture, key: Any) -> None:
    with pytest.raises(UsageError, match="a column's name, a row's number"):
        capture.exchanges[key]
    with pytest.raises(UsageError, match="a boolean array of length 34"):
        capture.exchanges.filter([1, 2])


def test_an_arrow_table_has_the_same_types(capture: Capture) -> None:
    assert capture.exchanges.to_arrow().schema.field("request_frame").type.bit_width == 32


# --- dataframes -----------------------------------------------------------------------------------------------------

WHOLE = ("frame", "packet", "bytes", "rows", "round_trips", "executions", "exchanges", "stream", "cancels", "count")


@pytest.mark.parametrize("name", ["findings/nested-my", "findings/failing-pg", "postgresql/psycopg2-tls"])
def test_counts_and_frame_numbers_stay_integers_in_pandas(name: str) -> None:
    pytest.importorskip("pandas")
    for table in read_fixture(name).tables().values():
        for column, kind in table.to_pandas().dtypes.items():
            if any(str(column) == word or str(column).endswith(f"_{word}") for word in WHOLE):
                assert kind.kind in "iu", (table.name, column, kind)


def test_the_types_of_a_dataframe_do_not_depend_on_what_is_missing() -> None:
    pandas = pytest.importorskip("pandas")
    frame = Capture(build([Conn(exchanges=[Ex("query", sql="select ?", answered=False)])])).exchanges.to_pandas()
    assert str(frame["response_frame"].dtype) == "Int64"
    assert frame["response_frame"].isna().all()
    assert frame["error"].dtype == pandas.Series(["text"]).dtype
    assert str(frame["response_time"].dtype) == "datetime64[ns, UTC]"


def test_times_keep_their_nanoseconds_in_pandas(capture: Capture) -> None:
    pytest.importorskip("pandas")
    frame = capture.exchanges.to_pandas()
    assert frame["response_time"][2].nanosecond == int(capture.exchanges["response_time"][2].astype("i8") % 1000)


def test_a_truth_that_is_not_known_is_neither_in_pandas() -> None:
    pytest.importorskip("pandas")
    assert str(read_fixture(NESTED).connections.to_pandas()["tls_resumed"].dtype) == "boolean"


# --- RTTs as people give them ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ("15ms", [15]),
        ("0.5ms,15ms", [0.5, 15]),
        (15, [15]),
        (np.float32(2.5), [2.5]),
        ([1, "15ms", timedelta(milliseconds=50)], [1, 15, 50]),
        (np.linspace(1, 3, 3), [1, 2, 3]),
        (np.array(7), [7]),
        (np.array([5, 20], "timedelta64[ms]"), [5, 20]),
        (range(10, 40, 10), [10, 20, 30]),
        ((rtt for rtt in (1.0, 2.0)), [1, 2]),
        ("lan,ocean", [0.5, 90]),
    ],
)
def test_an_rtt_is_a_text_a_number_or_any_of_several(capture: Capture, given: Any, asked: list[float]) -> None:
    assert [point.rtt_ms for point in capture.project(given).points] == asked


@pytest.mark.parametrize("given", ["15 bananas", -1, float("nan"), True, None, b"15", {}, ["1ms", "x"], object()])
def test_what_is_no_rtt_is_refused_in_one_line(capture: Capture, given: Any) -> None:
    with pytest.raises(UsageError) as error:
        capture.project([given])
    assert "\n" not in str(error.value)


def test_every_figure_of_a_projection_may_be_a_text_with_its_unit(capture: Capture) -> None:
    words = {"bandwidth_bps": "34Mbit", "loss": "0.1%", "jitter_ms": "500us", "service": "50%", "within_s": "1s"}
    figures = {"bandwidth_bps": 34e6, "loss": 0.001, "jitter_ms": 0.5, "service": 0.5, "within_s": 1}
    assert capture.project("15ms", **words) == capture.project(15, **figures)  # type: ignore[arg-type]
    assert capture.project(distance_km="1000km") == capture.project(distance_km=1000)
    server = capture.connections["server"][0]
    assert capture.project(move={server: "15ms"}) == capture.project(move={server: 15})


def test_an_rtt_is_told_when_a_capture_is_read() -> None:
    path = load_fixture(NESTED).path
    told = latpcap.read(path, rtt_baseline_ms="900us", think_s="500ms").analyze("15ms").settings
    assert (told.rtt_baseline_ms, told.think_s) == (0.9, 0.5)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_projection_is_a_table_with_a_row_for_each_rtt(capture: Capture, library: str) -> None:
    pytest.importorskip(library)
    projection = capture.project(range(1, 51))
    frame = getattr(projection, f"to_{library}")()
    assert list(frame["rtt_ms"]) == list(range(1, 51))
    assert list(frame["runtime_s"]) == [point.runtime_s for point in projection.points]
    assert len(projection.to_arrow()) == len(projection.table()) == 50


def test_a_projection_without_a_baseline_is_a_table_of_unknowns() -> None:
    table = Capture(build([Conn(exchanges=[])])).project([1, 2]).table()
    assert len(table) == 2


# --- two captures ---------------------------------------------------------------------------------------------------

NEAR, FAR = "mysql/nplus1-1000-rtt1", "mysql/nplus1-1000-rtt15"


def test_two_captures_are_compared_by_their_paths_or_as_they_were_read(capture: Capture) -> None:
    path = load_fixture(NESTED).path
    by_path = latpcap.compare(path, load_fixture("findings/oltp-my").path)
    assert by_path.to_dict() == latpcap.compare(capture, read_fixture("findings/oltp-my")).to_dict()
    assert by_path.round_trips_before == 32


@pytest.mark.parametrize("suffix", [".html", ".md"])
def test_a_comparison_is_written_as_a_report(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"change{suffix}"
    latpcap.compare(read_fixture(NESTED), read_fixture("findings/oltp-my"), report=path)
    assert "oltp-my" in path.read_text()
    with pytest.raises(UsageError, match="name a file that ends with"):
        latpcap.compare(read_fixture(NESTED), read_fixture(NESTED), report=tmp_path / "change.pdf")


def test_a_projection_is_validated_by_their_paths_or_as_they_were_read() -> None:
    there = latpcap.validate(load_fixture(NEAR).path, str(load_fixture(FAR).path))
    assert there.to_dict() == latpcap.validate(read_fixture(NEAR), read_fixture(FAR)).to_dict()
    assert there.inside
    assert latpcap.validate(read_fixture(NEAR), load_fixture(FAR).path, against_rtt_ms="15ms").target_rtt_ms == 15


def test_a_host_has_one_pseudonym_in_both() -> None:
    paths = load_fixture(NEAR).path, load_fixture(FAR).path
    assert latpcap.compare(*paths, pseudonymise=True).round_trips_before == 1003


def test_options_that_would_be_ignored_are_refused() -> None:
    with pytest.raises(UsageError, match="a capture keeps what it was read with"):
        latpcap.compare(read_fixture(NEAR), read_fixture(FAR), think_s=2)
    with pytest.raises(UsageError, match="a capture keeps what it was read with"):
        latpcap.validate(load_fixture(NEAR).path, read_fixture(FAR), against_rtt_ms=15)


def test_a_gate_is_asked_of_a_capture(capture: Capture) -> None:
    assert capture.check("round_trips > 500", "project(15ms) > 60s").passed
    checked = capture.check("round_trips > 30", "round_trips > baseline", baseline=capture)
    assert [each.holds for each in checked.gates] == [True, False]
    with pytest.raises(UsageError, match="baseline"):
        capture.check("round_trips > baseline")


# --- at a prompt ----------------------------------------------------------------------------------------------------


def results(capture: Capture) -> list[Any]:
    return [
        *(capture, capture.analyze(), capture.project(np.linspace(1, 99, 99), "1s"), capture.what_if(["all"])),
        *(capture.timeline, capture.deltas, capture.over_time(), latpcap.compare(capture, capture)),
        *(latpcap.validate(capture, capture), capture.check("round_trips > 3"), *capture.tables().values()),
    ]


def everything_in(value: Any) -> list[Any]:
    if isinstance(value, Struct):
        return [value, *(each for name in value.__struct_fields__ for each in everything_in(getattr(value, name)))]
    if isinstance(value, dict):
        return [each for one in value.values() for each in everything_in(one)]
    if hasattr(value, "__getitem__") and not isinstance(value, str | Table):
        rows = [] if isinstance(value, tuple) else [value]
        return rows + [each for one in value[:50] for each in everything_in(one)]
    return []


@pytest.mark.parametrize("name", [NESTED, "findings/failing-pg", "findings/chatter-pg", FAR])
def test_whatever_one_meets_fits_a_screen(name: str) -> None:
    for result in results(read_fixture(name)):
        for each in (result, *everything_in(result)):
            assert len(repr(each)) <= SCREEN, type(each)
            assert max(map(len, repr(each).split("\n"))) <= 900


def test_a_repr_says_what_one_asked_for(capture: Capture) -> None:
    assert repr(capture).endswith("nested-my.pcapng.zst: 1 connection, 34 exchanges>")
    assert capture.analyze().text.split()[0] in repr(capture.analyze())
    *_, last = repr(capture.project([1, "15ms"], within_s="1s")).split("\n")
    assert last == "1 s is met up to an RTT of 28.6 ms."


def test_a_repr_does_not_steer_the_terminal() -> None:
    hostile = Capture(build([Conn(exchanges=[Ex("query", sql="select '\x1b[31m\u202e'")] * 3)]))
    assert not any(sign in repr(result) for result in results(hostile) for sign in "\x1b\u202e")


def test_the_tab_key_shows_what_is_public() -> None:
    assert dir(latpcap) == sorted(latpcap.__all__)
    capture = read_fixture(NESTED)
    for each in (capture, capture.exchanges, capture.analyze(), capture.project(15)):
        shown = [name for name in dir(each) if not name.startswith("__")]
        assert not [name for name in shown if name.startswith("_")]
    assert not {"measures", "moved"} & set(dir(capture))
    assert {"exchanges", "analyze", "project", "select", "sql", "report"} <= set(dir(capture))


def test_every_public_method_says_what_it_does() -> None:
    for kind in (Capture, Table, latpcap.Analysis, latpcap.Projection):
        for name in dir(kind):
            member = getattr(kind, name)
            if not name.startswith("_") and (callable(member) or isinstance(member, property)):
                assert member.__doc__, f"{kind.__name__}.{name}"
