import copy
import inspect
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import latpcap
from latpcap.capture import TABLES
from latpcap.reading import ReadOptions

CAPTURE = Path(__file__).parent.parent / "fixtures/postgresql/several-applications.pcapng.zst"


def test_everything_that_is_exported_is_there() -> None:
    assert sorted(latpcap.__all__) == list(latpcap.__all__)
    for name in latpcap.__all__:
        assert hasattr(latpcap, name), name


def test_every_error_is_one_of_ours_with_its_exit_status() -> None:
    kinds = (latpcap.UsageError, latpcap.CaptureError, latpcap.NoDatabaseTraffic, latpcap.DiskFull)
    statuses = {error: error.exit_status for error in kinds}
    assert list(statuses.values()) == [2, 3, 4, 5]
    assert all(issubclass(error, latpcap.LatpcapError) for error in statuses)


def test_nothing_heavy_is_imported_before_it_is_asked_for() -> None:
    program = "import latpcap.cli, latpcap.capture, latpcap.report.jsonout, sys; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert not {"pandas", "polars", "pyarrow", "altair", "rich", "scapy", "dpkt", "arro3.io"} & set(loaded)


def test_results_and_tables_can_be_pickled_and_copied() -> None:
    capture = latpcap.read(CAPTURE)
    results = capture.analyze(), capture.project("15ms"), capture.over_time()
    for result in results:
        assert pickle.loads(pickle.dumps(result)).to_dict() == copy.deepcopy(result).to_dict() == result.to_dict()
    for name in TABLES:
        table = getattr(capture, name)
        again = pickle.loads(pickle.dumps(table))
        assert (again.name, again.schema, again.to_dicts()) == (table.name, table.schema, table.to_dicts())


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_table_is_written_as_dataframes_are(form: str, tmp_path: Path) -> None:
    table, written = latpcap.read(CAPTURE).statements, tmp_path / f"statements.{form}"
    {"csv": table.to_csv, "parquet": table.to_parquet}[form](written)
    assert written.read_bytes() == b"".join(table.encode(form))


def test_what_reading_takes_is_typed_once_and_whole() -> None:
    assert {*ReadOptions.__annotations__} == {*inspect.signature(latpcap.read).parameters} - {"source"}
