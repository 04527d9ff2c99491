"""The recording relay, as Python has it: what passes and how it passes is tested in `link/src/relay/tests.rs`."""

from __future__ import annotations

import socket
import struct
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import load_fixture

import latpcap
from latpcap.errors import RecordingError, ServerUnreachable, UsageError
from latpcap.live.relay import Relay, Route


@pytest.mark.parametrize(
    ("text", "host", "port", "server"),
    [
        ("15432:db:5432", "127.0.0.1", 15432, "db:5432"),
        ("0.0.0.0:15432:db.example:5432", "0.0.0.0", 15432, "db.example:5432"),
        ("[::1]:0:[fd00::5]:5432", "::1", 0, "[fd00::5]:5432"),
        ("15432:[::1]:5432", "127.0.0.1", 15432, "[::1]:5432"),
    ],
)
def test_a_route_says_from_where_to_where(text: str, host: str, port: int, server: str) -> None:
    route = Route.of(text)
    assert (route.host, route.port, str(route.server)) == (host, port, server)


@pytest.mark.parametrize("text", ["", "5432", "db:5432", "x:db:5432", "70000:db:5432", "1:db:0", "a:b:c:d:e", "1::5"])
def test_what_is_no_route_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError, match="write "):
        Route.of(text)


@contextmanager
def server() -> Iterator[int]:
    """Sends back what it receives."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            try:
                while True:
                    threading.Thread(target=echo, args=(listener.accept()[0],)).start()
            except OSError:
                return

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:  # a thread that goes on would keep the whole run from its end
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def echo(connection: socket.socket) -> None:
    with connection:
        while data := connection.recv(65536):
            connection.sendall(data)


def ask(address: tuple[str, int], question: bytes) -> bytes:
    with socket.create_connection(address) as client:
        client.sendall(question)
        return client.recv(65536)


def test_what_passed_is_in_the_file_while_the_relay_runs(tmp_path: Path) -> None:
    path = tmp_path / "relayed.pcapng"
    with server() as port:
        relay = Relay([Route.of(f"0:127.0.0.1:{port}")], path)
        relay.start()
        assert ask(relay.addresses[0], b"question") == b"question"
        relay.flush()
        assert path.read_bytes().count(b"question") == 2
        assert relay.where == f"relayed connections from 127.0.0.1:{relay.addresses[0][1]} to 127.0.0.1:{port}"
        recorded = relay.stop()
        assert relay.stop() is recorded
    assert (recorded.path, recorded.dropped, recorded.trouble, recorded.problems) == (path, 0, None, ())
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_flush_right_behind_an_answer_finds_it_in_the_file(tmp_path: Path) -> None:
    """A client may be quicker than the relay is to record what it has handed on: one in some hundred was."""
    path = tmp_path / "relayed.pcapng"
    with server() as port:
        relay = Relay([Route.of(f"0:127.0.0.1:{port}")], path)
        relay.start()
        with socket.create_connection(relay.addresses[0]) as client, open(path, "rb") as file:
            for number in range(5000):
                question = b"question %d;" % number
                client.sendall(question)
                assert client.recv(100) == question
                relay.flush()
                assert file.read().count(question) == 2
        relay.stop()


def test_packets_are_cut_as_a_capturer_would(tmp_path: Path) -> None:
    path = tmp_path / "relayed.pcapng"
    with server() as port:
        relay = Relay([Route.of(f"0:127.0.0.1:{port}")], path, snap_length=96)
        relay.start()
        ask(relay.addresses[0], b"0123456789" * 10)
        relay.stop()
    ethernet, ip, tcp = 14, 20, 32
    kept = (b"0123456789" * 10)[: 96 - ethernet - ip - tcp]
    bytes_there = path.read_bytes()
    assert bytes_there.count(kept) == 2
    assert kept + b"0" not in bytes_there


def test_a_server_that_refuses_is_told(tmp_path: Path) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        port = nobody.getsockname()[1]
        relay = Relay([Route.of(f"0:127.0.0.1:{port}")], tmp_path / "relayed.pcapng")
        relay.start()
        for _ in range(2):
            with pytest.raises(ConnectionResetError):
                ask(relay.addresses[0], b"question")
        recorded = relay.stop()
    assert recorded.problems == (f"127.0.0.1:{port} refused the connection (2 times)",)


def test_a_port_that_is_taken_is_told_in_one_line(tmp_path: Path) -> None:
    with server() as port, pytest.raises(RecordingError, match=rf"^127\.0\.0\.1:{port} is in use: [^\n]*$"):
        Relay([Route.of(f"{port}:127.0.0.1:1")], tmp_path / "relayed.pcapng").start()
    assert not (tmp_path / "relayed.pcapng").exists()


@pytest.mark.parametrize(
    ("listens", "server"),
    [("127.0.0.1", "127.0.0.1"), ("127.0.0.1", "localhost"), ("0.0.0.0", "127.0.0.1"), ("127.0.0.1", "0.0.0.0")],
)
def test_a_route_back_to_the_relay_is_refused(listens: str, server: str, tmp_path: Path) -> None:
    with socket.create_server((listens, 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(UsageError, match=rf"^{server}:{port} leads back to the relay[^\n]*$"):
        Relay([Route.of(f"{listens}:{port}:{server}:{port}")], tmp_path / "relayed.pcapng").start()
    assert not (tmp_path / "relayed.pcapng").exists()


def test_two_routes_that_lead_to_each_other_are_refused(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as other:
        here, there = one.getsockname()[1], other.getsockname()[1]
    routes = [Route.of(f"{here}:127.0.0.1:{there}"), Route.of(f"{there}:127.0.0.1:{here}")]
    with pytest.raises(UsageError, match="leads back to the relay"):
        Relay(routes, tmp_path / "relayed.pcapng").start()


def test_the_same_port_of_another_address_is_no_way_back(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as elsewhere:
        port = elsewhere.getsockname()[1]
        relay = Relay([Route.of(f"127.0.0.2:{port}:127.0.0.1:{port}")], tmp_path / "relayed.pcapng")
        relay.start()
        assert relay.addresses == [("127.0.0.2", port)]
        relay.stop()


def test_a_server_whose_name_is_unknown_is_unreachable(tmp_path: Path) -> None:
    with pytest.raises(ServerUnreachable, match=r"^nowhere\.invalid: the name cannot be resolved"):
        Relay([Route.of("0:nowhere.invalid:1")], tmp_path / "relayed.pcapng").start()
    assert not (tmp_path / "relayed.pcapng").exists()


def test_a_file_that_cannot_be_written_is_told_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be written"):
        Relay([Route.of("0:127.0.0.1:1")], tmp_path / "missing" / "relayed.pcapng").start()


def test_a_relay_that_was_not_started_says_so(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="not started"):
        Relay([Route.of("0:127.0.0.1:1")], tmp_path / "relayed.pcapng").stop()


def test_a_recording_of_a_relay_is_known_as_such(tmp_path: Path) -> None:
    path = tmp_path / "relayed.pcapng"
    with server() as port:
        relay = Relay([Route.of(f"0:127.0.0.1:{port}")], path)
        relay.start()
        ask(relay.addresses[0], b"question")
        relay.stop()
    capture = latpcap.read(path, decode_as={port: "opaque"})
    assert "relayed" in {row["code"] for row in capture.health.to_dicts()}


def relayed(capture: bytes) -> bytes:
    """The same behind a section whose interface is a relay's."""

    def block(kind: int, body: bytes) -> bytes:
        length = struct.pack("<I", len(body) + 12)
        return struct.pack("<I", kind) + length + body + length

    section = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    return section + block(1, struct.pack("<HHIHH8sI", 101, 0, 0, 3, 7, b"relayed", 0)) + capture


def test_the_range_allows_for_windows_that_nobody_saw() -> None:
    path = load_fixture("mysql/large-row").path
    seen = subprocess.run(["zstd", "-dcq", str(path)], capture_output=True, check=True).stdout
    of_packets, of_relay = (latpcap.read(each).project([100]) for each in (seen, relayed(seen)))
    assert of_relay.points[0].runtime_s == of_packets.points[0].runtime_s
    assert of_relay.points[0].optimistic_s == of_packets.points[0].optimistic_s
    assert "windows unseen" in {assumption.name for assumption in of_relay.assumptions}
    assert "windows unseen" not in {assumption.name for assumption in of_packets.assumptions}
    assert of_relay.points[0].pessimistic_s > of_packets.points[0].pessimistic_s
