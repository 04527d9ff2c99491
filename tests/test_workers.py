"""A scan by several workers: the same bytes whoever computes its parts, and whoever dies meanwhile."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from concurrent.futures import CancelledError
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import PackageNotFoundError, version
from multiprocessing import active_children
from pathlib import Path
from threading import Thread

import pytest
from click.testing import CliRunner
from distributed import LocalCluster
from dying import DyingAlways, DyingOnce, DyingOnDask, DyingOnRay, WithoutMemory
from test_client_groups import moved

from latpcap import LatpcapError
from latpcap.cli import cli
from latpcap.errors import CaptureError, ServerUnreachable, UsageError, WorkersLost
from latpcap.scan import ScanOptions, part, reduce
from latpcap.work import cluster
from latpcap.work.local import Processes, Threads
from latpcap.work.on_dask import Dask
from latpcap.work.on_ray import Ray
from latpcap.work.scanning import scanned

MANY = ("mysql/nplus1-300-client", "postgresql/psycopg2-errors", "mysql/unsorted", "postgresql/psycopg2-cursor10")


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    paths = [tmp_path / f"{number}.pcapng" for number in range(len(MANY))]
    for number, path in enumerate(paths):
        path.write_bytes(moved(MANY[number], number))
    return [str(path) for path in paths]


def alone(files: list[str]) -> str:
    return reduce([part(files)]).json()


def run(*arguments: str) -> tuple[int, str, str]:
    """The status, standard output and standard error of `latpcap scan`."""
    done = subprocess.run([sys.executable, "-m", "latpcap", "scan", *arguments], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("engine", ["threads", "processes", "dask", "ray"])
def test_the_command_prints_what_all_parts_found(files: list[str], engine: str) -> None:
    status, out, err = run(*files, "--totals", "--engine", engine, "--workers", "2", "--parts", "3")
    assert (status, out) == (0, alone(files))
    told = [line for line in err.splitlines() if line.startswith("latpcap: ")]  # Ray may have a line of its own
    assert sorted(told) == [f"latpcap: part {number} of 3 is done" for number in (1, 2, 3)]


def test_a_damaged_file_is_named_as_the_other_commands_name_it(files: list[str]) -> None:
    Path(files[1]).write_bytes(Path(files[1]).read_bytes()[:-7])
    status, out, err = run(*files, "--totals", "--parts", "2")
    (note,) = [note["message"] for note in json.loads(out)["health"] if note["code"] == "file-cut"]
    assert (status, note.startswith("1.pcapng: ")) == (0, True)
    assert f"latpcap: warning: {note}\n" in err
    assert run(*files, "--totals", "--parts", "2", "--quiet") == (0, out, "")


def test_what_is_asked_reaches_the_parts(files: list[str]) -> None:
    done = CliRunner().invoke(cli, ["scan", *files[:1], "--totals", "--rtt", "7ms", "--think", "2s", "--quiet"])
    asked = ScanOptions(rtt_ms=(7.0,), think_s=2.0)
    assert done.output == reduce([part(files[:1], asked=asked)]).json()
    assert "runtime_7ms_ns" in json.loads(done.output)["groups"][0]


def test_a_part_whose_worker_died_is_done_again(files: list[str]) -> None:
    told: list[str] = []
    assert scanned(files, ScanOptions(), DyingOnce(2), 3, told.append).json() == alone(files)
    assert Path(f"{files[0]}.died").exists()
    assert [line for line in told if line.startswith("a worker died: ")]
    assert sorted(line for line in told if line.endswith(" is done")) == [f"part {n} of 3 is done" for n in (1, 2, 3)]


def test_a_part_that_no_worker_survives_ends_the_scan(files: list[str]) -> None:
    with pytest.raises(WorkersLost, match=r"^workers died 3 times before .* done .*--parts"):
        scanned(files, ScanOptions(), DyingAlways(1), 2)
    assert not active_children()


def test_workers_without_memory_end_the_scan_in_one_line(files: list[str]) -> None:
    with pytest.raises(WorkersLost, match=r"^workers died 3 times [^\n]*no memory left[^\n]*$"):
        scanned(files, ScanOptions(), WithoutMemory(1), 1)
    assert not active_children()


@pytest.mark.parametrize("engine", [Threads(2), Processes(2)])
def test_what_a_worker_cannot_read_ends_the_scan_in_one_line(files: list[str], engine: Threads | Processes) -> None:
    os.unlink(files[2])
    with pytest.raises(CaptureError, match=r"^[^\n]*2\.pcapng: no such file$"):
        scanned(files, ScanOptions(), engine, 2)
    assert not active_children()


@pytest.mark.parametrize("engine", ["threads", "processes"])
def test_ctrl_c_ends_all_workers(files: list[str], tmp_path: Path, engine: str) -> None:
    """They wait for a pipe that says nothing."""
    pipe = tmp_path / "pipe.pcapng"
    os.mkfifo(pipe)
    command = [sys.executable, "-m", "latpcap", "scan", str(pipe), "--totals", "--engine", engine, "--parts", "1"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    with pipe.open("wb", buffering=0) as writer:  # as soon as a worker reads
        os.killpg(process.pid, signal.SIGINT)
        if engine == "threads":
            with suppress(BrokenPipeError):
                writer.write(Path(files[0]).read_bytes())  # a thread notices when it reads on, if not before
            writer.close()
        assert process.communicate(timeout=300) == (b"", b"")  # whoever had inherited its standard error has ended
    assert process.returncode == 128 + signal.SIGINT


@pytest.mark.parametrize("engine", [Processes(1), Dask(1)])
def test_a_terminal_s_ctrl_c_does_not_reach_workers(engine: Processes | Dask) -> None:
    """They would each say where they were."""
    with engine.workers() as executor:
        assert signal.SIGINT in executor.submit(signal.pthread_sigmask, signal.SIG_BLOCK, ()).result()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "ask for one of them"),
        (["--totals", "-o", "dataset"], "ask for one of them"),
        (["--totals", "--pseudonymise"], "--pseudonymise is for -o FOLDER"),
        (["-o", "dataset", "--workers", "2", "--pseudonymise"], "parts cannot agree on pseudonyms"),
        (["-o", "dataset", "--rtt", "2ms"], "--rtt is for --totals"),
        (["--totals", "--workers", "3", "--memory", "191MB"], "--memory is shared by 3 workers, and each needs 64 MB"),
        (["--totals", "--scheduler", "tcp://127.0.0.1:1"], "--scheduler is that of Dask or Ray"),
    ],
)
def test_what_does_not_go_together_is_told(files: list[str], arguments: list[str], message: str) -> None:
    done = CliRunner().invoke(cli, ["scan", *files, *arguments])
    assert isinstance(done.exception, LatpcapError)
    assert message in str(done.exception)


def test_workers_of_one_machine_share_what_they_may_take(files: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[ScanOptions] = []

    def ended(files: list[str], asked: ScanOptions, *more: object, **named: object) -> None:
        seen.append(asked)
        raise UsageError("enough")

    monkeypatch.setattr("latpcap.work.scanning.scanned", ended)
    room = ["--memory", "900MB", "--disk", "6GB"]
    CliRunner().invoke(cli, ["scan", *files, "--totals", "--workers", "3", *room])
    CliRunner().invoke(cli, ["scan", *files, "--totals", "--workers", "1", *room])
    assert [(asked.memory, asked.disk) for asked in seen] == [
        (300_000_000, 2_000_000_000),
        (900_000_000, 6_000_000_000),
    ]


@pytest.mark.parametrize("engine", [DyingOnDask(2), DyingOnRay(2)])
def test_a_cluster_does_again_what_a_dead_worker_had(
    files: list[str], engine: DyingOnDask | DyingOnRay, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", os.path.dirname(__file__))  # workers import `dying`, too
    assert scanned(files, ScanOptions(threads=1), engine, 3).json() == alone(files)
    assert Path(f"{files[0]}.died").exists()


@pytest.mark.parametrize("engine", [Dask(1), Ray(1)])
def test_what_a_worker_of_a_cluster_cannot_read_is_told_as_by_this_machine(
    files: list[str], engine: Dask | Ray, capfd: pytest.CaptureFixture[str]
) -> None:
    os.unlink(files[2])
    with pytest.raises(CaptureError, match=r"^[^\n]*2\.pcapng: no such file$"):
        scanned(files, ScanOptions(), engine, 1)
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize(
    ("engine", "scheduler", "message"),
    [
        ("dask", "tcp://127.0.0.1:1", "no Dask scheduler answers"),
        ("dask", "nonsense", "no Dask scheduler answers"),
        ("ray", "127.0.0.1:1", "no Ray cluster answers"),
        ("ray", "ray://127.0.0.1:1", "no Ray cluster answers"),
        ("ray", "nonsense", "no Ray cluster answers"),
    ],
)
def test_a_scheduler_that_is_not_there_is_told(files: list[str], engine: str, scheduler: str, message: str) -> None:
    status, out, err = run(*files, "--totals", "--engine", engine, "--scheduler", scheduler)
    assert (status, out) == (7, "")
    assert err.startswith(f"latpcap: {scheduler}: {message}: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize(("engine", "scheme"), [("dask", "tcp://"), ("ray", "")])
def test_a_server_of_another_kind_is_told(files: list[str], engine: str, scheme: str) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        scheduler = f"{scheme}127.0.0.1:{server.server_port}"
        status, out, err = run(*files, "--totals", "--engine", engine, "--scheduler", scheduler)
        server.shutdown()
    assert (status, out) == (7, "")
    assert re.fullmatch(rf"latpcap: {scheduler}: no (Dask scheduler|Ray cluster) answers: .*\n", err)


def test_a_scheduler_that_goes_meanwhile_is_told() -> None:
    """Dask then cancels what was asked of it."""
    with (
        pytest.raises(ServerUnreachable, match=r"^this machine: the Dask scheduler has gone: nothing is kept$"),
        Dask(1).workers(),
    ):
        raise CancelledError


@pytest.mark.parametrize(("engine", "package", "name"), [(Dask(1), "distributed", "Dask"), (Ray(1), "ray", "Ray")])
def test_an_engine_that_is_not_installed_is_told(
    files: list[str], engine: Dask | Ray, package: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in [each for each in sys.modules if each.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UsageError, match=f'^{name} is not installed: pip install "latpcap.{name.lower()}."$'):
        scanned(files, ScanOptions(), engine, 1)


def test_standard_input_is_not_divided() -> None:
    status, out, err = run("-", "--totals")
    assert (status, out) == (2, "")
    assert err.startswith("latpcap: standard input can be read only once")


def test_datasets_are_scanned_by_workers_too(files: list[str], tmp_path: Path) -> None:
    assert run(*files, "-o", str(tmp_path / "saved"), "--quiet") == (0, "", "")
    assert scanned([str(tmp_path / "saved")], ScanOptions(), Threads(2), 2).json() == alone(files)


@pytest.mark.parametrize(
    ("found", "told"), [("0.0.9", "latpcap 0.0.9"), (PackageNotFoundError("latpcap"), "no latpcap")]
)
def test_workers_with_another_latpcap_compute_nothing(found: str | BaseException, told: str) -> None:
    with pytest.raises(UsageError, match=f"^tcp://10.0.0.2:1: has {told}.*, and here is"):
        cluster.check({"tcp://10.0.0.1:1": version("latpcap"), "tcp://10.0.0.2:1": found})


def test_a_scheduler_without_workers_is_told(files: list[str]) -> None:
    with LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0") as cluster:  # type: ignore[no-untyped-call]
        scheduler = cluster.scheduler_address
        told = run(*files, "--totals", "--engine", "dask", "--scheduler", scheduler)
    assert told == (7, "", f"latpcap: {scheduler}: the Dask scheduler has no workers: start some, and scan again\n")


def test_files_are_those_of_the_workers_which_have_the_same_latpcap(
    files: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(**settings) as cluster:  # type: ignore[no-untyped-call]
        monkeypatch.chdir("/")
        asked = ("--totals", "--quiet", "--engine", "dask", "--scheduler", cluster.scheduler_address)
        assert CliRunner().invoke(cli, ["scan", "*.pcapng", *asked]).output == alone(files)
        done = CliRunner().invoke(cli, ["scan", "none.pcapng", *asked])
        assert isinstance(done.exception, CaptureError)
        assert re.fullmatch(r"worker tcp://\S+: none\.pcapng: no such file", str(done.exception))
    metadata = tmp_path / "latpcap-0.0.9.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text("Metadata-Version: 2.1\nName: latpcap\nVersion: 0.0.9\n")
    monkeypatch.syspath_prepend(tmp_path)  # workers inherit it
    with LocalCluster(**settings) as cluster:  # type: ignore[no-untyped-call]
        status, out, err = run(*files, "--totals", "--engine", "dask", "--scheduler", cluster.scheduler_address)
    assert (status, out) == (2, "")
    assert re.fullmatch(
        r"latpcap: tcp://\S+: has latpcap 0\.0\.9, and here is .*: install the same on all workers\n", err
    )
