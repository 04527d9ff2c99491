"""The exchanges column by column: what is asked for alone is what the whole table has."""

import numpy as np
import pytest
from arro3.core import Table
from conftest import load_fixture, read_fixture

import latpcap
from latpcap.tables.columnar import columns
from latpcap.tables.connections import MISSING
from latpcap.tables.part.groups import arranged, names_of
from latpcap.tables.recording import Recording

NAMES = ["mysql/parallel-8", "mysql/churn-20", "mysql/unsorted", "postgresql/pgbench-select-simple-c4"]


def listed(table: Table, name: str) -> list[object]:
    column = table.column(name)
    if columns.is_text(column) or "Dictionary" in str(column.type):
        coded = columns.codes(table, name)
        return [None if code < 0 else coded.names[code] for code in coded.codes]
    return list(column.to_pylist())


def every(capture: latpcap.Capture) -> list[Recording]:
    """The recording, a part of it, a window of it, and one client's."""
    whole = capture.recording
    first = whole.start_ns // 10**9
    streams = whole.connections.stream
    part = capture.select(stream=[str(stream) for stream in streams[: len(streams) // 2 + 1]]).recording
    window = capture.select(start=f"+{whole.runtime_s / 3:.6f}s", end=f"+{whole.runtime_s * 0.9:.6f}s").recording
    assert first > 0
    groups = [group.recording for some in arranged(whole, names_of(whole, "user")) for group in some]
    return [whole, part, window, *groups]


@pytest.mark.parametrize("name", NAMES)
def test_a_column_asked_for_alone_is_that_of_the_whole_table(name: str) -> None:
    for recording in every(read_fixture(name)):
        table = recording.exchanges_table
        for column in table.column_names:
            assert listed(recording.exchange_columns(column), column) == listed(table, column), column
        both = recording.exchange_columns("delta_ns", "stream")
        assert both.column_names == ["delta_ns", "stream"]


@pytest.mark.parametrize("name", NAMES)
def test_what_exchanges_are_made_of_is_what_the_table_has(name: str) -> None:
    for recording in every(read_fixture(name)):
        table, exchanges = recording.exchanges_table, recording.exchanges
        stream = recording.connections.stream[exchanges.connection]
        assert stream.tolist() == columns.column(table, "stream").values.tolist()
        for made, kept in (
            ("request", "request_time"),
            ("request_end", "request_end_time"),
            ("response", "response_time"),
            ("response_end", "response_end_time"),
        ):
            times = columns.column(table, kept).ints(MISSING)
            since = np.where(times == MISSING, MISSING, times - recording.start_ns)
            assert getattr(exchanges, made).tolist() == since.tolist()
        for made, kept in (
            ("waited", "waited_ns"),
            ("delta", "delta_ns"),
            ("client", "client_ns"),
            ("round_trips", "round_trips"),
            ("request_bytes", "request_bytes"),
            ("response_bytes", "response_bytes"),
            ("retransmissions", "retransmissions"),
            ("stalled", "stalled_ns"),
        ):
            assert getattr(exchanges, made).tolist() == columns.column(table, kept).ints(MISSING).tolist()
            assert getattr(exchanges, made).dtype == np.int64
        for made in ("command", "purpose", "wait", "error_code"):
            coded = getattr(exchanges, made)
            words = [None if code < 0 else coded.names[code] for code in coded.codes]
            assert words == listed(table, made)


def test_a_column_that_there_is_not_is_named() -> None:
    with pytest.raises(ValueError, match="exchanges have no column `nothing`"):
        read_fixture(NAMES[0]).recording.exchange_columns("nothing")


def test_what_is_forgotten_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("latpcap.tables.exchanges.MAX_CACHED_ROWS", 0)  # less is not worth it
    capture = latpcap.read(load_fixture("mysql/parallel-8").path)
    exchanges = capture.recording.exchanges
    names = ("request", "is_setup", "round_trips", "connection")
    before = {name: getattr(exchanges, name) for name in names}
    exchanges.forget()
    after = {name: getattr(exchanges, name) for name in names}
    assert [name for name in names if after[name] is before[name]] == ["round_trips", "connection"]
    assert all(after[name].tolist() == before[name].tolist() for name in names)
