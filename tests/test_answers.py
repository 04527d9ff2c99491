"""What servers of captures may answer: nothing, too much, something else. It ends in one line, and soon."""

from __future__ import annotations

import os
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from conftest import FIXTURES
from fsspec.implementations.local import LocalFileSystem
from s3fs import S3FileSystem

from latpcap._core import Progress
from latpcap.errors import CaptureError, UsageError, without_secrets
from latpcap.reading import read
from latpcap.tables.reading import answers, remote
from latpcap.tables.reading.remote import HEAD_BYTES, RemoteFile
from latpcap.tables.reading.unreachable import SilentServer

pytestmark = pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")  # of libraries, in threads of their own

CAPTURE = FIXTURES / "mysql/prepared-each.pcapng"
SIZE = 100
PIECE = bytes(1 << 16)
MAX_SENT_BYTES = 40_000_000
"""What a bounded answer has, with what waits in the buffers of two sockets."""


class Server(ThreadingHTTPServer):
    """Answers HEAD with a length, and GET by `answer`; counts what it sends, until the test is over."""

    daemon_threads = True

    def __init__(self, answer: Callable[[Handler], None], size: int) -> None:
        self.answer, self.size = answer, size
        self.sent_bytes = 0
        self.is_over = threading.Event()
        super().__init__(("127.0.0.1", 0), Handler)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def head(self, status: int, **headers: object) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()

    def part(self, content: bytes) -> None:
        """The bytes that were asked for."""
        begin, last = map(int, self.headers["Range"].removeprefix("bytes=").split("-"))
        length = last + 1 - begin
        self.head(206, Content_Range=f"bytes {begin}-{last}/{self.server.size}", Content_Length=length)
        self.send(content[begin : last + 1])

    def send(self, piece: bytes) -> None:
        self.server.sent_bytes += len(piece)
        self.wfile.write(piece)
        self.wfile.flush()

    def without_end(self, piece: bytes = PIECE) -> None:
        while not self.server.is_over.is_set():
            self.send(piece)

    def wait(self) -> None:
        self.server.is_over.wait()
        self.close_connection = True

    def do_HEAD(self) -> None:
        if self.server.size:
            self.head(200, Content_Length=self.server.size)
        else:
            self.wait()

    def do_GET(self) -> None:
        with suppress(OSError):
            self.server.answer(self)

    def log_message(self, *given: object) -> None:
        pass


@contextmanager
def serving(answer: Callable[[Handler], None], size: int = SIZE) -> Iterator[tuple[str, Server]]:
    with Server(answer, size) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", server
        server.is_over.set()
        server.shutdown()


@pytest.fixture(params=["http", "s3"])
def address(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], str]]:
    """The URL of a capture of the server that is named."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)

    def url(server: str) -> str:
        if request.param == "http":
            return f"{server}/ring.pcapng"
        given = {"ENDPOINT_URL": server, "ACCESS_KEY_ID": "a", "SECRET_ACCESS_KEY": "b", "DEFAULT_REGION": "us-east-1"}
        for name, value in given.items():
            monkeypatch.setenv(f"AWS_{name}", value)
        S3FileSystem.clear_instance_cache()
        return "s3://captures/ring.pcapng"

    yield url
    S3FileSystem.clear_instance_cache()


def whole_without_end(to: Handler) -> None:
    to.head(200)
    to.without_end()


def part_without_end(to: Handler) -> None:
    to.head(206, Content_Range=f"bytes 0-{SIZE - 1}/{SIZE}")
    to.without_end()


def chunks_without_end(to: Handler) -> None:
    to.head(206, Content_Range=f"bytes 0-{SIZE - 1}/{SIZE}", Transfer_Encoding="chunked")
    to.without_end(b"%x\r\n%s\r\n" % (len(PIECE), PIECE))


def zeros_without_end(to: Handler) -> None:
    to.head(206, Content_Range=f"bytes 0-{SIZE - 1}/{SIZE}", Content_Encoding="gzip")
    packer = zlib.compressobj(9, wbits=31)
    while not to.server.is_over.is_set():
        to.send(packer.compress(PIECE * 64))


def error_without_end(to: Handler) -> None:
    to.head(500)
    to.without_end()


def other_part(to: Handler) -> None:
    to.head(206, Content_Range=f"bytes {SIZE}-{2 * SIZE - 1}/{2 * SIZE}", Content_Length=SIZE)
    to.send(bytes(SIZE))


def less(to: Handler) -> None:
    to.head(206, Content_Range=f"bytes 0-9/{SIZE}", Content_Length=10)
    to.send(bytes(10))


def one_error(status: int) -> Callable[[Handler], None]:
    return lambda to: to.head(status, Content_Length=0)


MORE = "its server sends more than requested: copy the file to this machine first"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (whole_without_end, MORE),
        (part_without_end, MORE),
        (chunks_without_end, MORE),
        (zeros_without_end, r"(its server sends it compressed without request|its server sends more than requested).*"),
        (error_without_end, MORE),
        (other_part, "its server sends other bytes than requested: copy the file to this machine first"),
        (less, "bytes 0 to 100 came cut: try again"),
        (one_error(416), "cannot be read: Requested Range Not Satisfiable.*"),
        (one_error(403), "permission denied: Forbidden.*"),
    ],
)
def test_a_server_is_read_as_far_as_it_was_asked(
    address: Callable[[str], str], answer: Callable[[Handler], None], said: str
) -> None:
    with serving(answer) as (at, server):
        url = address(at)
        with pytest.raises(CaptureError, match=rf"^{url}: {said}$"):
            RemoteFile(url).part(0, SIZE)
        assert server.sent_bytes < MAX_SENT_BYTES + answers.MAX_ANSWER_BYTES * (answer is error_without_end)


def test_a_listing_has_an_end(address: Callable[[str], str]) -> None:
    def listing(to: Handler) -> None:
        to.head(200, Content_Type="text/html")
        to.without_end(b"<a href='other'>other</a>" * 1000)

    with serving(listing) as (at, server):
        with pytest.raises(CaptureError, match="its server sends more than requested"):
            remote.found(address(at).replace("ring.pcapng", "ring_*.pcapng"))
        assert server.sent_bytes < MAX_SENT_BYTES + answers.MAX_ANSWER_BYTES


def test_a_server_that_sends_all_for_a_part_is_told_so(address: Callable[[str], str]) -> None:
    def all_of_it(to: Handler) -> None:
        to.head(200, Content_Length=2 * SIZE)
        to.send(bytes(2 * SIZE))

    with serving(all_of_it, 2 * SIZE) as (at, _):
        file = RemoteFile(address(at))
        assert file.part(0, 2 * SIZE) == bytes(2 * SIZE)
        with pytest.raises(CaptureError, match="does not support range requests: copy the file to this machine first"):
            file.part(SIZE, 2 * SIZE)


def test_a_server_that_leads_to_a_file_of_this_machine_is_not_followed() -> None:
    said = r"redirects to an address other than HTTP: file:///etc/hostname$"
    leads = partial(Handler.head, status=302, Location="file:///etc/hostname", Content_Length=0)
    with serving(leads) as (at, _), pytest.raises(CaptureError, match=said):
        RemoteFile(f"{at}/ring.pcapng").part(0, SIZE)


# --- silence ---------------------------------------------------------------------------------------------------------


def silent(to: Handler) -> None:
    to.wait()


def silent_in_the_body(to: Handler) -> None:
    to.head(206, Content_Range=f"bytes 0-{SIZE - 1}/{SIZE}", Content_Length=SIZE)
    to.send(b"x")
    to.wait()


@pytest.mark.parametrize("answer", [silent, silent_in_the_body])
def test_a_silent_server_is_told(
    address: Callable[[str], str], answer: Callable[[Handler], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "MAX_SILENCE_S", 0.5)
    with serving(answer) as (at, _):
        url = address(at)
        with pytest.raises(CaptureError, match=rf"^{url}: its server has sent nothing for 0 s: try again later$"):
            RemoteFile(url).part(0, SIZE)


def test_a_connection_that_hangs_is_replaced_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "ring.pcapng"
    path.write_bytes(b"x" * SIZE)
    file, fetch, asked = RemoteFile(f"file://{path}"), LocalFileSystem.cat_file, []

    def hangs(self: LocalFileSystem, *given: Any, **ends: int) -> bytes:
        asked.append(ends)
        if len(asked) % 3:
            raise SilentServer("it hangs")
        content: bytes = fetch(self, *given, **ends)
        return content

    monkeypatch.setattr(LocalFileSystem, "cat_file", hangs)
    with pytest.raises(CaptureError, match=r"it hangs$"):
        file.part(0, SIZE)
    assert (file.part(0, SIZE), len(asked)) == (b"x" * SIZE, 3)


def test_a_server_that_sends_a_byte_now_and_then_is_told(
    address: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "MAX_SLOW_S", 0.0)
    monkeypatch.setattr(answers, "MIN_BYTES_A_SECOND", 10**9)
    with serving(lambda to: to.part(bytes(SIZE))) as (at, _):
        url = address(at)
        with pytest.raises(CaptureError, match=rf"^{url}: its server sends too slowly: [0-9]+ bytes in [0-9]+ s$"):
            RemoteFile(url).part(0, SIZE)


def stop_when(waits: threading.Event, progress: Progress) -> None:
    def run() -> None:
        waits.wait()
        progress.stop()

    threading.Thread(target=run, daemon=True).start()


def test_who_stops_leaves_a_server_that_says_nothing(address: Callable[[str], str]) -> None:
    """Its silence would be told much later than a test may last."""
    waits, progress = threading.Event(), Progress()

    def answer(to: Handler) -> None:
        waits.set()
        to.wait()

    stop_when(waits, progress)
    with serving(answer) as (at, _), pytest.raises(KeyboardInterrupt):
        read(address(at), progress=progress)


def test_what_came_before_a_server_fell_silent_is_the_result_of_who_stops(address: Callable[[str], str]) -> None:
    content = CAPTURE.read_bytes()
    assert len(content) > HEAD_BYTES
    waits, progress = threading.Event(), Progress()

    def answer(to: Handler) -> None:
        if to.headers["Range"] == f"bytes=0-{HEAD_BYTES - 1}":
            to.part(content)
        else:
            waits.set()
            to.wait()

    stop_when(waits, progress)
    with serving(answer, len(content)) as (at, _):
        capture = read(address(at), progress=progress)
    assert len(capture.exchanges)
    assert [note["code"] for note in capture.health if note["code"].startswith(("file", "stopped"))] == ["stopped"]


# --- secrets ---------------------------------------------------------------------------------------------------------

SCHEMES = ("http", "HTTPS", "s3", "simplecache::http", "jdbc:http", "zip://a.zip::https", "postgresql+psycopg", "jdbc")
SEPARATORS = (":", ":/", "://", ":///", "//", ":\\\\", "::/")
USERS = ("me:hush", "me:hu/hush", "me:h@hush", ":hush", "me:hush:hush", "me:hush?hush")


@pytest.mark.parametrize("scheme", SCHEMES)
def test_no_user_and_password_is_shown_behind_whatever_looks_like_a_scheme(
    latpcap: Callable[..., Any], scheme: str
) -> None:
    urls = [f"{scheme}{separator}{user}@host/ring.pcapng" for separator in SEPARATORS for user in USERS]
    assert [url for url in urls if "hush" in without_secrets(f"latpcap: ({url}): cannot")] == []
    assert [url for url in urls if "hush" in str(UsageError(f"{url}: cannot be read"))] == []
    shown = [latpcap("analyze", url) for url in urls[:3]] + [latpcap("analyze", CAPTURE, "--rtt", urls[0])]
    assert [done for done in shown if b"hush" in done.stdout + done.stderr or done.returncode not in (2, 3)] == []


def test_a_name_that_is_no_url_is_shown_as_it_is() -> None:
    for name in ("me@home.pcapng", "C:/rings/a:b@home.pcapng", "http://host:80/me@home.pcapng", "ring_?.pcapng"):
        assert without_secrets(f"{name}: no such file") == f"{name}: no such file"


def test_what_hides_secrets_costs_as_much_as_the_text_is_long() -> None:
    """What is too long to be a URL is left out, and nothing is looked for in it."""
    for word in ("http:/" * 100_000 + "@", "a:@" * 100_000, "http://" * 100_000 + "?", "a" * 100_000 + ":b@"):
        assert without_secrets(f"latpcap: {word}: no") == "latpcap: … no"
