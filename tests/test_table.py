import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from arro3.core import Array, DataType
from arro3.core import Table as ArrowTable
from arro3.io import read_parquet
from builder import Conn, Ex, build

from latpcap import Capture, Table, UsageError

EXCHANGE_COLUMNS = [
    "stream",
    "exchange",
    "protocol",
    "command",
    "statement",
    "fingerprint",
    "request_frame",
    "request_end_frame",
    "response_frame",
    "response_end_frame",
    "request_time",
    "request_end_time",
    "response_time",
    "response_end_time",
    "request_bytes",
    "response_bytes",
    "round_trips",
    "rows",
    "affected_rows",
    "error",
    "service_ms",
    "request_spread_ms",
    "response_spread_ms",
    "delta_ms",
    "client_ms",
    "complete",
]


@pytest.fixture
def capture() -> Capture:
    exchanges = [
        Ex("query", sql="=cmd|'/c calc'!A0", service_ms=2, transfer_ms=3, rows=1),
        Ex("query", sql="<script>alert(1)</script>", client_ms=4, error="1064 42000: syntax"),
        Ex("quit", answered=False, round_trips=0),
    ]
    return Capture(build([Conn(rtt_ms=10, exchanges=exchanges)]))


def written(table: Table, file_format: str) -> bytes:
    buffer = io.BytesIO()
    table.write(buffer, file_format)
    return buffer.getvalue()


def test_the_exchanges_have_the_columns_that_were_promised(capture: Capture) -> None:
    assert capture.exchanges.column_names[: len(EXCHANGE_COLUMNS)] == EXCHANGE_COLUMNS


def test_times_of_an_exchange_are_milliseconds(capture: Capture) -> None:
    table = capture.exchanges
    assert table.column("service_ms")[0] == 2
    assert table.column("response_spread_ms")[0] == 3
    assert table.column("client_ms")[1] == 4
    assert table.column("delta_ms")[1] == 19
    assert np.isnan(table.column("service_ms")[2])


def test_numpy_has_nan_nat_and_none_for_null(capture: Capture) -> None:
    arrays = capture.exchanges.to_numpy()
    assert np.isnat(arrays["response_time"][2])
    assert np.isnan(arrays["rows"][1])
    assert arrays["error"].tolist() == [None, "1064 42000: syntax", None]
    assert arrays["error_code"].tolist() == [None, "1064 42000", None]
    assert arrays["request_time"][0] == np.datetime64("2020-09-13T12:26:40.010000000")


def test_csv_is_read_back_the_same(capture: Capture) -> None:
    rows = list(csv.DictReader(io.StringIO(written(capture.exchanges, "csv").decode())))
    assert [row["command"] for row in rows] == ["query", "query", "quit"]
    assert rows[0]["request_time"] == "2020-09-13T12:26:40.010000000Z"
    assert rows[1]["statement"] == "<script>alert(1)</script>"


def test_no_csv_cell_is_a_formula(capture: Capture) -> None:
    rows = list(csv.DictReader(io.StringIO(written(capture.exchanges, "csv").decode())))
    assert rows[0]["statement"] == "'=cmd|'/c calc'!A0"


def test_jsonl_keeps_the_text_as_it_is(capture: Capture) -> None:
    rows = [json.loads(line) for line in written(capture.exchanges, "jsonl").splitlines()]
    assert rows[0]["statement"] == "=cmd|'/c calc'!A0"
    assert rows[2]["response_time"] is None


def test_parquet_is_read_back_the_same(capture: Capture, tmp_path: Path) -> None:
    capture.exchanges.write(tmp_path / "x.parquet", "parquet")
    assert Table(read_parquet(str(tmp_path / "x.parquet"))).to_dicts() == capture.exchanges.to_dicts()


def test_long_tables_are_written_piece_by_piece_with_one_header() -> None:
    count = 200_000
    table = Table(ArrowTable.from_pydict({"number": Array.from_numpy(np.arange(count))}))
    lines = written(table, "csv").decode().splitlines()
    assert (lines[0], len(lines), lines[-1]) == ("number", count + 1, str(count - 1))


def test_an_empty_table_still_has_its_header() -> None:
    table = Table(ArrowTable.from_pydict({"text": Array.from_numpy(np.empty(0, np.int64)).cast(DataType.string())}))
    assert written(table, "csv") == b"text\n"
    assert written(table, "jsonl") == b""


def test_html_is_escaped(capture: Capture) -> None:
    shown = capture.exchanges._repr_html_()
    assert "&lt;script&gt;" in shown
    assert "<script>" not in shown + capture._repr_html_()


def test_other_libraries_read_it_by_the_arrow_interface(capture: Capture) -> None:
    assert ArrowTable.from_arrow(capture.statements).num_rows == len(capture.statements) == 3


def test_an_unknown_column_or_format_names_those_there_are(capture: Capture) -> None:
    with pytest.raises(UsageError, match="no column `wrong`: there are stream, exchange"):
        capture.exchanges.column("wrong")
    with pytest.raises(UsageError, match=r"no column `service`; did you mean `service_ms`\?"):
        capture.exchanges.column("service")
    with pytest.raises(UsageError, match="no format `xlsx`: there are csv, jsonl, parquet"):
        capture.exchanges.write(io.BytesIO(), "xlsx")


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_dataframes_have_the_same_rows(capture: Capture, library: str) -> None:
    pytest.importorskip(library)
    frame = getattr(capture.exchanges, f"to_{library}")()
    assert list(frame["command"]) == ["query", "query", "quit"]
    assert str(frame["request_time"].dtype).lower().replace("'", "").count("utc") == 1
