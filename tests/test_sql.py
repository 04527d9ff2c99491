"""`latpcap sql` and `Capture.sql`: the tables and nothing but the tables."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Fixture, read_fixture

import latpcap as package
from latpcap import UsageError

pytest.importorskip("duckdb")

Run = Callable[..., subprocess.CompletedProcess[bytes]]


@pytest.fixture(scope="module")
def capture() -> package.Capture:
    return read_fixture("mysql/nplus1-300-client")


@pytest.fixture
def nplus1(fixture: Callable[[str], Fixture]) -> Path:
    return fixture("mysql/nplus1-300-client").path


def test_every_table_is_there_whole(capture: package.Capture) -> None:
    for name, table in capture.tables().items():
        asked = capture.sql(f"from {name}")
        assert asked.column_names == table.column_names
        assert b"".join(asked.encode("csv")) == b"".join(table.encode("csv")), name


def test_the_result_is_a_table_like_all_others(capture: package.Capture) -> None:
    asked = capture.sql("select command, sum(round_trips) as trips from exchanges group by all order by trips desc")
    assert asked.to_dicts()[0] == {"command": "query", "trips": 302}
    assert asked.to_polars()["trips"].sum() == 303
    assert asked.to_pandas()["trips"].sum() == 303
    assert asked.column("trips").tolist() == [302, 1, 0, 0]


def test_nanoseconds_survive(capture: package.Capture) -> None:
    query = "select max(epoch_ns(response_time) - epoch_ns(request_end_time)) as ns from exchanges"
    spans = capture.exchanges.column("response_time") - capture.exchanges.column("request_end_time")
    assert capture.sql(query).column("ns").tolist() == [max(int(span) for span in spans if span == span)]


@pytest.mark.parametrize(
    ("query", "columns", "row"),
    [
        ("select 1 as a, 2 as a, 3 as a", ["a", "a_2", "a_3"], [1, 2, 3]),
        ("select [1, 2] as l, interval 1 day as i", ["l", "i"], ["[1, 2]", "1 day"]),
        ("select date '2026-01-02' as d, '' as e", ["d", "e"], ["2026-01-02", ""]),
        ("select 1.25::decimal(9, 2) as d, 12::hugeint as h, null as n", ["d", "h", "n"], [1.25, 12, None]),
        ("create table t as select 7 as x; from t", ["x"], [7]),
        ('select 1 as "a""b\n"', ['a"b\n'], [1]),
    ],
)  # fmt: skip
def test_whatever_is_selected_fits_a_table(
    capture: package.Capture, query: str, columns: list[str], row: list[object]
) -> None:
    asked = capture.sql(query)
    assert asked.column_names == columns
    assert list(asked.to_dicts()[0].values()) == row
    for file_format in ("csv", "jsonl", "parquet"):
        assert b"".join(asked.encode(file_format))


def test_no_rows_are_a_table_too(capture: package.Capture) -> None:
    asked = capture.sql("from exchanges where false")
    assert len(asked) == 0
    assert asked.column_names == capture.exchanges.column_names
    assert b"".join(asked.encode("csv")).startswith(b"stream,exchange,")


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("selec 1", 'Parser Error: syntax error at or near "selec"'),
        ("select nothing from exchanges", 'Referenced column "nothing" not found'),
        ("from exchange", "there are exchanges, connections, statements, "),
        ("", "the query returns nothing"),
        ("select 1 / 0 * (select x from (values (1), (2)) t(x))", "More than one row|scalar subquery"),
    ],
)
def test_a_wrong_query_is_one_line(capture: package.Capture, query: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as error:
        capture.sql(query)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "query",
    [
        "from read_text('{file}')",
        "from read_csv('{file}')",
        "from '{file}'",
        "from glob('{folder}/*')",
        "copy exchanges to '{folder}/x.csv'",
        "attach '{folder}/x.db'",
        "export database '{folder}/x'",
        "install httpfs",
        "load httpfs",
        "from 'http://127.0.0.1:9/x.csv'",
        "set enable_external_access = true",
        "set temp_directory = '{folder}'",
        "from secret_of_the_program",
    ],
)
def test_a_query_reaches_nothing_but_the_tables(capture: package.Capture, tmp_path: Path, query: str) -> None:
    secret_of_the_program = capture.exchanges  # noqa: F841  # DuckDB would find it by its name
    file = tmp_path / "secret.csv"
    file.write_text("a,b\n1,2\n")
    with pytest.raises(UsageError):
        capture.sql(query.format(file=file, folder=tmp_path))
    assert list(tmp_path.iterdir()) == [file]


def test_the_last_argument_is_the_query(latpcap: Run, nplus1: Path) -> None:
    done = latpcap("sql", nplus1, "select command, count(*) as n from exchanges group by all order by n desc, command")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode().splitlines()[2].split() == ["query", "302"]


def test_files_are_written_as_their_names_say(latpcap: Run, nplus1: Path, tmp_path: Path) -> None:
    for name in ("x.csv", "x.parquet", "x.jsonl"):
        assert latpcap("sql", nplus1, "select 1 as one", "-o", tmp_path / name).returncode == 0
    assert (tmp_path / "x.csv").read_text() == "one\n1\n"
    assert (tmp_path / "x.jsonl").read_text() == '{"one":1}\n'
    assert (tmp_path / "x.parquet").read_bytes()[:4] == b"PAR1"


def test_mistakes_are_one_line_with_status_2(latpcap: Run, nplus1: Path, tmp_path: Path) -> None:
    for arguments, message in (
        ((nplus1,), b"as the last argument, a query"),
        ((nplus1, nplus1), b"the last argument is the query, and "),
        ((nplus1, "selec"), b"Parser Error"),
        ((nplus1, "select 1", "-o", nplus1), b"a capture is never overwritten"),
        ((nplus1, "select 1", "-o", tmp_path / "no" / "x.csv"), b"no such directory"),
    ):
        done = latpcap("sql", *arguments)
        assert (done.returncode, done.stdout) == (2, b"")
        assert message in done.stderr
        assert done.stderr.count(b"\n") == 1


def test_columns_stay_in_line_over_many_rows(latpcap: Run, nplus1: Path) -> None:
    done = latpcap("sql", nplus1, "select range as n, 'x' as x from range(1200)")
    lines = done.stdout.decode().splitlines()
    assert len(lines) == 1202
    assert lines[2].endswith("0  x")


def test_a_missing_extra_is_named(nplus1: Path) -> None:
    code = (
        "import sys; sys.modules['duckdb'] = None; import latpcap.cli as c; "
        f"sys.argv = ['latpcap', 'sql', {str(nplus1)!r}, 'select 1']; c.main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == b'latpcap: SQL needs DuckDB: pip install "latpcap[sql]"\n'


def test_text_of_a_capture_steers_no_terminal(capture: package.Capture) -> None:
    from latpcap.report.rows import render

    shown = "".join(render(capture.sql("select chr(27) || '[31m' as x, 1 as y")))
    assert "\x1b" not in shown


ENDLESS = "select count(*) from range(10000000000) a, range(10000000000) b where a.range % 7 = b.range % 3"


WITHOUT_MEMORY = "select count(*) from range(1000000000000000) where range % 7 = 3"
"""Takes days."""


@pytest.mark.parametrize("query", [ENDLESS, WITHOUT_MEMORY])
def test_a_query_ends_when_its_time_is_over(latpcap: Run, nplus1: Path, query: str) -> None:
    done = latpcap("sql", nplus1, query, "--timeout", "200ms")
    assert done.returncode == 2
    assert done.stderr == b"latpcap: the query was stopped after 0.200 s: select less, or give a longer --timeout\n"


SAYS_WHEN_IT_ASKS = """
import sys, latpcap.cli as cli, latpcap.tables.writing.sql as sql
rows = sql._rows
sql._rows = lambda *given: (print("asked", flush=True), rows(*given))[1]
sys.argv[0] = "latpcap"
cli.main()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends its Ctrl-C to a whole console")
def test_the_first_ctrl_c_ends_a_query(nplus1: Path) -> None:
    asking = subprocess.Popen(
        [sys.executable, "-c", SAYS_WHEN_IT_ASKS, "sql", str(nplus1), WITHOUT_MEMORY, "--timeout", "1h"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        assert asking.stdout is not None
        assert asking.stdout.readline() == b"asked\n"
        asking.send_signal(signal.SIGINT)
        assert asking.communicate(timeout=300) == (b"", b"\n")
        assert asking.returncode == 128 + signal.SIGINT
    finally:
        asking.kill()


def test_the_statements_before_the_last_one_count_as_well(capture: package.Capture) -> None:
    with pytest.raises(UsageError, match="stopped after"):
        capture.sql(f"create table t as {ENDLESS}; select 1", timeout_s=0.2)


@pytest.mark.parametrize(
    ("query", "complaint"),
    [
        (
            "select list(a) from (select repeat('x', 1000) || range as a from range(10000000))",
            "the query needs more than",
        ),
        ("select repeat('x', 1000) as a from range(10000000)", "the result is larger than"),
    ],
)
def test_a_query_takes_no_more_memory_than_reading_may(query: str, complaint: str) -> None:
    from latpcap.tables.writing import sql

    with pytest.raises(UsageError, match=complaint):
        sql.query(query, [], {}.__getitem__, memory=100_000_000)
