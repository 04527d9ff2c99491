import subprocess
import sys

import latpcap


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
