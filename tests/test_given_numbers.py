"""What users write as numbers and files: refused in one line, whatever its size."""

from __future__ import annotations

import io
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from builder import Conn, Ex, build
from conftest import FIXTURES

import latpcap as package
from latpcap.errors import UsageError
from latpcap.projection.capacity import ClosedNetwork, ServiceCenter

Run = Callable[..., subprocess.CompletedProcess[bytes]]

CAPTURE = FIXTURES / "mysql/prepared-each.pcapng"
LONG = "9" * 5000


@pytest.mark.parametrize(
    "arguments",
    [
        *(("analyze", CAPTURE, f"--{name}", f"10.0.0.1:{LONG}") for name in ("server", "client")),
        ("analyze", CAPTURE, "--decode-as", f"{LONG}=mysql"),
        *(("analyze", CAPTURE, "--memory", size) for size in ("100000TB", "20000000TB", f"{LONG}TB")),
        ("analyze", CAPTURE, "--disk", "100000TB"),
        *(("analyze", CAPTURE, option, LONG) for option in ("--stream", "--rtt", "--within")),
        *(("project", CAPTURE, "--fix", f"{name}={LONG}") for name in ("pipeline", "fetch", "n+1=in:")),
        *(("project", CAPTURE, option, LONG) for option in ("--connections", "--distance", "--loss", "--service")),
        ("project", CAPTURE, "--move", f"10.0.0.1:{LONG}=15ms"),
        *(("record", option, LONG, "--", "true") for option in ("--port", "--pid")),
        ("record", "--server", f"db:{LONG}", "--", "true"),
        ("record", "--relay", f"{LONG}:db:1", "--", "true"),
        ("record", "--ring", f"{LONG}x1MB", "-o", "x.pcapng", "--", "true"),
        ("scan", CAPTURE, "--totals", "--workers", LONG),
    ],
    ids=lambda arguments: " ".join(map(str, arguments))[:60],
)
def test_a_number_beyond_all_bounds_is_one_line(latpcap: Run, arguments: tuple[object, ...]) -> None:
    done = latpcap(*arguments)
    assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (2, b"", 1)


def test_so_it_is_in_python() -> None:
    for given in ({"memory": 10**30}, {"memory": 10**5000}, {"disk": 10**5000}, {"think_s": 10**5000}):
        with pytest.raises(UsageError):
            package.read(CAPTURE, **given)


def test_nothing_to_read_is_an_error() -> None:
    for nothing in ([], (), iter([])):
        with pytest.raises(UsageError, match="the list of captures is empty"):
            package.read(nothing)


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom"])
@pytest.mark.parametrize("command", ["analyze", "wireshark --verify"])
def test_a_device_is_no_key_log(latpcap: Run, command: str, device: str) -> None:
    done = latpcap(command, CAPTURE, "--keylog", device)
    assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (2, b"", 1)
    assert b"is a device" in done.stderr


def test_a_key_log_that_never_ends_is_given_up(process: Run) -> None:
    with open("/dev/zero", "rb") as endless:
        done = process("analyze", CAPTURE, "--keylog", "-", stdin=endless)
    assert (done.returncode, done.stderr.count(b"\n")) == (2, 1)


def test_a_scan_without_database_traffic_ends_with_4(latpcap: Run, tmp_path: Path) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(bytes.fromhex("d4c3b2a102000400000000000000000000000400") + (1).to_bytes(4, "little"))
    done = latpcap("scan", path, "--totals")
    assert (done.returncode, done.stdout) == (4, b"")
    assert done.stderr.endswith(b"no database traffic; `latpcap analyze` says why\n")


def test_rows_in_pieces_of_different_lengths_become_csv() -> None:
    query = "select range as number, range::varchar as text from range(200000)"
    written = io.BytesIO()
    package.read(CAPTURE).sql(query).write(written, "csv")
    lines = written.getvalue().splitlines()
    assert (lines[0], lines[-1], len(lines)) == (b"number,text", b"199999,199999", 200_001)


def test_intervals_of_several_days_say_which() -> None:
    day_ms = 86_400_000
    for days, shown in ((0.2, "\n13:00:00.000"), (2, "\n2020-09-13 13:00:00.000")):
        capture = package.Capture(
            build([Conn([Ex(sql="select ?", at_ms=at * days * day_ms / 20) for at in range(20)])])
        )
        printed = "".join(_rendered(capture.intervals_of(3600)))
        assert shown in printed
        assert ("2020-09-13" in printed) == (days == 2)


def _rendered(rows: package.Table) -> object:
    from latpcap.report.rows import render

    return render(rows)


def test_a_job_of_no_time_takes_none_with_more_connections() -> None:
    crowd = ClosedNetwork(2.0, 0.0, hosts=ServiceCenter(3, 0.0, 0.0, 0.0, 0.0, shown=False))
    assert crowd.runtime(np.zeros(1), np.zeros(1), 4, 0).tolist() == [0.0]


def test_of_thousands_of_notes_the_first_are_shown_and_the_rest_counted() -> None:
    from latpcap.measures.health import HealthNote
    from latpcap.report.console import print_renderables
    from latpcap.report.sections.health import health
    from latpcap.report.terminal import drawn

    notes = [HealthNote("file-damaged", "warning", f"file {number} ends early", 1) for number in range(10_000)]
    printed = print_renderables(drawn(health(notes, lambda _: False)))
    assert len(printed) < 20_000
    assert "file 49 ends" in printed
    assert "and 9,950 more: `latpcap table health` lists all" in printed
