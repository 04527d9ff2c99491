"""Captures in S3 and behind HTTP: the same results as of the files, and one line where they cannot be read."""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from conftest import load_fixture
from fsspec.implementations.http import HTTPFileSystem
from fsspec.registry import _registry
from object_store import Store, free_port, store
from s3fs import S3FileSystem
from test_client_groups import moved
from test_privacy import NEVER, RUNS, WITHOUT_CAPTURE, ReadOnce, capture_of, leaks, printed

import latpcap
from latpcap.errors import CaptureError
from latpcap.tables.reading.remote import HEAD_BYTES, PART_BYTES, RemoteFile, opened

MANY = ("mysql/nplus1-300-client", "postgresql/psycopg2-errors", "mysql/unsorted", "postgresql/psycopg2-cursor10")
PACKETS_A_FILE = 60


pytestmark = pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")  # of libraries, in threads of their own

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def s3() -> Iterator[Store]:
    with store() as started:
        started.put("empty.pcapng", b"")
        started.put("text.pcapng", b"select 1\n" * 100)
        yield started


@pytest.fixture(scope="module", autouse=True)
def nothing_open_is_left() -> Iterator[None]:
    """To tests of other modules."""
    yield
    for system in (HTTPFileSystem, S3FileSystem):
        system.clear_instance_cache()
    gc.collect()


@pytest.fixture
def command(s3: Store, latpcap: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Command:
    """The status, standard output and standard error of `latpcap` in this process, which reads from the store."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in s3.environment.items():
        monkeypatch.setenv(name, value)

    def run(*arguments: str | Path) -> tuple[int, str, str]:
        done = latpcap(*arguments)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    return run


@pytest.fixture
def other(command: Command, monkeypatch: pytest.MonkeyPatch) -> Iterator[Command]:
    """`command` with credentials and a server of its own: who has asked before is not asked."""
    S3FileSystem.clear_instance_cache()
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    yield command
    S3FileSystem.clear_instance_cache()


@pytest.fixture(scope="module")
def ring(s3: Store, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The files of a ring that connections cross; the store has them in `ring/`."""
    folder = tmp_path_factory.mktemp("ring")
    for number, name in enumerate(MANY):
        (folder / f"{number}.whole").write_bytes(moved(name, number))
    whole, made = folder / "whole.pcapng", folder / "ring.pcapng"
    subprocess.run(["mergecap", "-w", whole, *sorted(folder.glob("*.whole"))], check=True)
    subprocess.run(["editcap", "-c", str(PACKETS_A_FILE), whole, made], check=True)
    whole.unlink()
    files = sorted(folder.glob("ring_*.pcapng"))
    assert len(files) > 16  # so many are closed again until their turn comes
    for path in files:
        s3.put(f"ring/{path.name}", path.read_bytes())
    return files


@pytest.mark.parametrize("name", ["mysql/nplus1-300-client", "mysql/sql-errors"])
def test_an_object_gives_the_same_bytes_as_the_file(s3: Store, command: Command, name: str) -> None:
    path = load_fixture(name).path
    url = s3.put(f"one/{path.name}", path.read_bytes())
    local = command("analyze", path, "--json")
    assert local[0] == 0
    assert command("analyze", url, "--json") == local


def test_a_glob_is_a_ring_whose_connections_cross_its_objects(command: Command, ring: list[Path]) -> None:
    local = command("analyze", *ring, "--json")
    assert local[0] == 0
    assert command("s3://captures/ring/ring_*.pcapng", "--json") == local


@pytest.mark.parametrize("engine", ["threads", "dask"])
def test_workers_read_objects_themselves(command: Command, ring: list[Path], engine: str) -> None:
    how = ("--totals", "--quiet", "--rtt", "15ms")
    local = command("scan", *ring, *how, "--parts", "1")
    assert local[0] == 0
    parts = ("--parts", "2", "--workers", "1", "--engine", engine)
    scanned = command("scan", "s3://captures/ring/*.pcapng", *how, *parts)
    assert scanned[:2] == local[:2]  # what Dask says of its ports on standard error is not compared


def test_a_damaged_object_costs_only_its_own_packets(
    s3: Store, command: Command, ring: list[Path], tmp_path: Path
) -> None:
    for number, path in enumerate(ring[:3]):
        content = bytearray(path.read_bytes())
        if number == 1:
            del content[len(content) // 2 :]
        (tmp_path / path.name).write_bytes(content)
        s3.put(f"damaged/{path.name}", bytes(content))
    local = command("table captures", *sorted(tmp_path.glob("*")), "--json")
    remote = command("table captures", "s3://captures/damaged/*", "--json")
    assert local[2] == remote[2] != ""
    assert [each["packets"] for each in json.loads(remote[1])["rows"]] == [
        each["packets"] for each in json.loads(local[1])["rows"]
    ]


def test_rank_takes_each_object_by_itself(command: Command, ring: list[Path]) -> None:
    status, out, _ = command("rank", "s3://captures/one/*", "--json")
    assert (status, len(json.loads(out)["rows"])) == (0, 2)


def test_a_file_behind_http_is_called_as_one_without_the_secrets_of_its_url(s3: Store, command: Command) -> None:
    path = load_fixture("mysql/nplus1-300-client").path
    s3.put("live.pcapng", path.read_bytes())
    url = s3.endpoint.replace("://", "://me:hush@") + "/captures/live.pcapng?X-Signature=hush"
    status, out, err = command("analyze", url, "--json")
    assert (status, json.loads(out)["captures"][0]["path"]) == (0, "live.pcapng")
    missing = command("analyze", url.replace("live", "other"))
    assert missing == (3, "", f"latpcap: {s3.endpoint}/captures/other.pcapng: no such file\n")
    assert "hush" not in out + err


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["analyze", "s3://captures/none.pcapng"], 3, "s3://captures/none.pcapng: no such file"),
        (["analyze", "s3://captures/none_*.pcapng"], 3, "s3://captures/none_*.pcapng: no such file"),
        (["analyze", "s3://nobucket/a.pcapng"], 3, "s3://nobucket/a.pcapng: no such file"),
        (["analyze", "s3://captures/ring"], 3, "s3://captures/ring: is a folder: name its files, for instance"),
        (["analyze", "s3://captures/empty.pcapng"], 3, "s3://captures/empty.pcapng: is empty (0 bytes)"),
        (["analyze", "s3://captures/text.pcapng"], 3, "s3://captures/text.pcapng: is not a capture file but"),
        (["analyze", "s3://captures/text.pcapng", "--pseudonymise"], 3, "capture-1.pcapng: is not a capture file but"),
        (["analyze", "s3://captures/none.pcapng", "--pseudonymise"], 3, "capture-1.pcapng: no such file"),
        (["scan", "s3://captures/none.pcapng", "--totals"], 3, "s3://captures/none.pcapng: no such file"),
        (["analyze", "s3://me:hush/hush@captures/a.pcapng"], 3, 'Invalid bucket name "***:***"'),
        (["analyze", "S3://captures/none.pcapng"], 3, "S3://captures/none.pcapng: no such file"),
        (["analyze", "s3://captures/none.pcapng", "-o", "s3://captures/a.txt"], 2, "s3://captures/a.txt: results are"),
        (["analyze", "a.pcapng", "-o", "https://host/a.html?hush"], 2, "https://host/a.html: results are written on"),
        (["analyze", "sftp://me:hush@host/a.pcapng"], 2, "sftp://host/a.pcapng: needs a package for sftp://: pip"),
        (
            ["scan", "s3://captures/ring/*", "-o", "s3://captures/made"],
            2,
            "s3://captures/made: results are written on this machine",
        ),
        (
            ["wireshark", "s3://captures/ring/*", "-o", "made.pcapng"],
            2,
            "is not a file of this machine: copy it here first",
        ),
        (
            ["wireshark", "--verify", "s3://captures/text.pcapng"],
            2,
            "s3://captures/text.pcapng: is not a file of this machine: copy it",
        ),
        (
            ["wireshark", "https://me:hush@host/a.pcapng?hush"],
            2,
            "https://host/a.pcapng: is not a file of this machine",
        ),
        (["analyze", "nosuch://captures/a.pcapng"], 2, "nosuch://captures/a.pcapng: nosuch:// is not known: s3://,"),
        (["analyze", "dropbox://a/a.pcapng"], 2, "dropbox://a/a.pcapng: needs a package for dropbox://:"),
    ],
)
def test_what_cannot_be_read_is_one_line(
    command: Command, ring: list[Path], arguments: list[str], status: int, message: str
) -> None:
    ended, out, err = command(*arguments)
    assert (ended, out, err.count("\n")) == (status, "", 1), err
    assert message in err
    assert "hush" not in err


def test_who_may_not_read_is_told_so(s3: Store, other: Command, ring: list[Path]) -> None:
    s3.check_keys(yes=True)
    try:
        status, out, err = other("s3://captures/ring/ring_*.pcapng")
    finally:
        s3.check_keys(yes=False)
    assert (status, out, err.count("\n")) == (3, "", 1)
    assert err.startswith("latpcap: s3://captures/ring/ring_*.pcapng: permission denied: ")


def test_credentials_that_lack_are_named_and_found_when_they_are_set(s3: Store, other: Command) -> None:
    url = s3.put("lacks/live.pcapng", load_fixture("mysql/sql-errors").path.read_bytes())
    with pytest.MonkeyPatch.context() as lacking:
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            lacking.delenv(name)
        status, out, err = other(url)
    assert (status, out, err.count("\n")) == (3, "", 1)
    assert err.startswith(f"latpcap: {url}: no credentials: name a profile (AWS_PROFILE)")
    assert other(url)[0] == 0


def test_a_server_that_is_not_there_is_one_line(other: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{free_port()}")
    for url, message in (
        ("s3://captures/ring.pcapng", "Could not connect to the endpoint URL"),
        (f"http://me:hush@127.0.0.1:{free_port()}/ring.pcapng?hush", "Cannot connect to host"),
    ):
        status, out, err = other(url)
        assert (status, out, err.count("\n")) == (3, "", 1)
        assert f"/ring.pcapng: cannot be read: {message}" in err
        assert "hush" not in err


@pytest.mark.parametrize(
    ("status", "code", "told"),
    [
        (400, "ExpiredToken", "permission denied: as it says (sign in again)"),
        (403, "SignatureDoesNotMatch", "permission denied: as it says (are AWS_ACCESS_KEY_ID and "),
        (200, "", "cannot be read: its server does not respond as a s3:// server does: is it the right one?"),
    ],
)
def test_what_a_store_refuses_is_told_with_what_to_do(
    other: Command, monkeypatch: pytest.MonkeyPatch, status: int, code: str, told: str
) -> None:
    """Though it says why only where the object itself is asked for."""
    with answering(status, f"<Error><Code>{code}</Code><Message>as it says.</Message></Error>".encode()) as address:
        monkeypatch.setenv("AWS_ENDPOINT_URL", address)
        ended, out, err = other("s3://captures/ring.pcapng")
    assert (ended, out, err.count("\n")) == (3, "", 1)
    assert err.startswith(f"latpcap: s3://captures/ring.pcapng: {told}")


@pytest.mark.parametrize(
    ("status", "told"),
    [(403, "permission denied: Forbidden (has its signature expired?)"), (404, "no such file"), (410, "no such file")],
)
def test_what_is_refused_behind_http_is_no_missing_file(command: Command, status: int, told: str) -> None:
    with answering(status, b"") as address:
        assert command(f"{address}/ring.pcapng?hush=1") == (3, "", f"latpcap: {address}/ring.pcapng: {told}\n")


@contextmanager
def answering(status: int, body: bytes) -> Iterator[str]:
    """A server that gives each request the same answer."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            if self.command == "GET":
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        do_HEAD = do_GET  # noqa: N815

        def log_message(self, *given: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_no_secret_of_a_url_is_in_any_output(
    s3: Store, command: Command, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    s3.put("acme-mysql.pcapng", capture_of("mysql"))
    url = s3.endpoint.replace("://", "://hushuser:hush@") + "/captures/acme-mysql.pcapng?X-Amz-Signature=hushsigned"
    monkeypatch.setattr("latpcap.reading.read", ReadOnce())
    of_files = {"watch", "wireshark"}
    for name in of_files:
        monkeypatch.delitem(RUNS, name)
    monkeypatch.setattr("test_privacy.WITHOUT_CAPTURE", WITHOUT_CAPTURE | of_files)
    outputs = printed(url, "hidden", tmp_path_factory)
    assert [run for run in outputs if run.startswith("scan ")]
    assert leaks(outputs, NEVER) == []


def test_a_dataset_of_what_cannot_be_read_leaves_nothing(command: Command, ring: list[Path], tmp_path: Path) -> None:
    wanted = ("s3://captures/ring/*.pcapng", "s3://captures/gone.pcapng")
    ended = command("scan", *wanted, "-o", tmp_path / "made", "--parts", "2", "--quiet")
    assert ended == (3, "", "latpcap: s3://captures/gone.pcapng: no such file\n")
    assert not list(tmp_path.iterdir())


def test_ctrl_c_ends_at_once_where_a_server_says_nothing(s3: Store) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        environment = {**s3.environment, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{silent.getsockname()[1]}"}
        command = [sys.executable, "-m", "latpcap", "s3://captures/ring.pcapng"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
        with silent.accept()[0]:
            process.send_signal(signal.SIGINT)
            told = b"latpcap: reading ends here; Ctrl-C again exits at once\n"
            assert process.communicate(timeout=300) == (b"", told)
    assert process.returncode == 128 + signal.SIGINT


@pytest.mark.parametrize(("module", "lacks"), [("fsspec.core", "fsspec"), ("s3fs", "a package for s3://")])
def test_a_missing_package_is_named_with_its_extra(
    command: Command, monkeypatch: pytest.MonkeyPatch, module: str, lacks: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delitem(_registry, "s3", raising=False)
    ended = command("s3://captures/ring.pcapng")
    assert ended == (2, "", f'latpcap: s3://captures/ring.pcapng: needs {lacks}: pip install "latpcap[s3]"\n')


# --- one file, by whatever system fsspec has --------------------------------------------------------------------------


@pytest.fixture
def long(tmp_path: Path) -> Path:
    """Some parts long."""
    path = tmp_path / "long"
    path.write_bytes(os.urandom(1 << 20) * ((HEAD_BYTES + 3 * PART_BYTES) // (1 << 20)) + b"end")
    return path


def test_parts_come_in_their_order_and_each_reader_begins_at_the_beginning(long: Path) -> None:
    file = RemoteFile(f"file://{long}")
    for most in (1 << 16, 1 << 30):
        reader = file.reader()
        assert b"".join(iter(lambda: reader.read(most), b"")) == long.read_bytes()  # noqa: B023


def test_what_is_looked_at_only_is_asked_for_no_further(long: Path) -> None:
    file, asked = RemoteFile(f"file://{long}"), []
    part = file.part
    file.part = lambda begin, end: asked.append((begin, end)) or part(begin, end)  # type: ignore[method-assign, func-returns-value]
    file.reader().read(1)
    assert asked == [(0, HEAD_BYTES)]


def test_what_is_read_several_times_at_once_is_fetched_once(long: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fetched, part = [], RemoteFile.part
    monkeypatch.setattr(RemoteFile, "part", lambda self, *ends: fetched.append(ends) or part(self, *ends))  # type: ignore[func-returns-value]
    urls = [f"file://{long}"]
    (one,), (other,) = opened(urls), opened(urls)
    readers = one.reader(), other.reader()
    content = [b"", b""]
    while any(read := [reader.read(PART_BYTES) for reader in readers]):
        content = [before + more for before, more in zip(content, read, strict=True)]
    assert content == [long.read_bytes()] * 2
    assert sorted(fetched) == [
        (0, HEAD_BYTES),
        *((at, min(at + PART_BYTES, one.size)) for at in range(HEAD_BYTES, one.size, PART_BYTES)),
    ]
    long.write_bytes(long.read_bytes() + b"more")
    assert opened(urls)[0].size == one.size + 4


@pytest.mark.parametrize("change", ["replaced", "shorter", "gone"])
def test_what_changes_while_it_is_read_is_told(long: Path, change: str) -> None:
    file = RemoteFile(f"file://{long}")
    content = long.read_bytes()
    reader = file.reader()
    reader.read(1)
    long.unlink()
    if change != "gone":
        long.write_bytes(content if change == "replaced" else content[:HEAD_BYTES])
    told = rf"^file://{long}: (has changed while it was read: read it again|no such file)$"
    with pytest.raises(CaptureError, match=told):
        deque(iter(lambda: reader.read(1 << 30), b""), maxlen=0)


def test_what_could_not_be_fetched_is_asked_for_again(long: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = RemoteFile(f"file://{long}")
    with monkeypatch.context() as patched:
        patched.setattr(file, "part", lambda begin, end: 1 / 0)
        failed = file.begun(0, HEAD_BYTES)
        assert isinstance(failed.exception(), ZeroDivisionError)
    assert file.begun(0, HEAD_BYTES).result() == long.read_bytes()[:HEAD_BYTES]


def test_what_goes_wrong_on_the_way_ends_the_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A damaged file costs its packets; a server that goes away, the reading: else a result would lack what it has."""
    path = tmp_path / "live.pcapng"
    path.write_bytes(load_fixture("mysql/nplus1-300-client").path.read_bytes())

    def part(self: RemoteFile, begin: int, end: int) -> bytes:
        raise CaptureError("it went away")

    monkeypatch.setattr(RemoteFile, "part", part)
    with pytest.raises(CaptureError, match=r"^it went away$"):
        latpcap.read([path, f"file://{path}"])
