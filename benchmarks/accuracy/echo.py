#!/usr/bin/env python3
"""What a user knows of a link: the median of 100 small echoes, 0.2 s apart, as `ping` measures them - and of as many over TCP.

`ping` is what a user runs: it asks the server's kernel alone, and takes the time at which its own kernel had the answer. An echo over TCP has
to wake a program on either side, as a query does. The two take turns. As a program: `echo.py serve` inside the server's namespace, then
`echo.py ask 100` inside the client's, which prints both medians. `echo.py beside` pings while something else runs, until its input ends.
"""

from __future__ import annotations

import contextlib
import json
import select
import socket
import statistics
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "fixtures"))

from recorder import lab

COUNT = 100
APART_S = 0.2
LOST_S = 1.0
"""A ping that is not answered within that time does not count."""
PORT = 7007
PAYLOAD = b"x" * 56
"""As much as `ping` sends."""
REQUEST, REPLY = 8, 0
SO_TIMESTAMPNS = 35
Echo = dict[str, float]
"""`echo_ms` as by ping, `echo_tcp_ms` by a program."""


@contextlib.contextmanager
def answering() -> Iterator[None]:
    """A program that sends back what it is sent, in the server's namespace."""
    process = subprocess.Popen(command(lab.SERVER[0], "serve"), stdout=subprocess.PIPE, text=True)
    assert process.stdout
    process.stdout.readline()
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def measured(count: int = COUNT, namespace: str = lab.CLIENT[0]) -> Echo:
    """Both medians over the link as it is set now, or beside the server; `answering` must be running."""
    asked = subprocess.run(command(namespace, "ask", str(count)), check=True, capture_output=True, text=True)
    answer: Echo = json.loads(asked.stdout)
    return answer


@contextlib.contextmanager
def beside(namespace: str = lab.CLIENT[0]) -> Iterator[Echo]:
    """The median of the pings of that time, and how many there were: known when it is over."""
    heard: Echo = {}
    pinging = subprocess.Popen(command(namespace, "beside"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert pinging.stdout
    pinging.stdout.readline()
    try:
        yield heard
    finally:
        heard |= json.loads(pinging.communicate()[0])


def command(namespace: str, *words: str) -> list[str]:
    return lab.inside(namespace, [*lab.REALTIME, sys.executable, __file__, *words])


def serve() -> None:
    with socket.create_server((lab.DEBIANS, PORT)) as listener:
        print("ready", flush=True)
        while True:
            connection, _ = listener.accept()
            with connection:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                while data := connection.recv(4096):
                    connection.sendall(data)


def pinger() -> socket.socket:
    icmp = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    icmp.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    icmp.connect((lab.DEBIANS, 0))
    return icmp


def until_told() -> None:
    icmp, pings = pinger(), []
    icmp.settimeout(LOST_S)
    print("ready", flush=True)
    while not pings or not select.select([sys.stdin], [], [], APART_S / 2)[0]:
        with contextlib.suppress(TimeoutError):
            pings.append(ping(icmp, len(pings)))
    print(json.dumps({"echo_ms": middle(pings), "echoes": len(pings)}))


def ask(count: int) -> None:
    icmp = pinger()
    tcp = socket.create_connection((lab.DEBIANS, PORT))
    tcp.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    pings, echoes = [], []
    with icmp, tcp:
        for number in range(count):
            pings.append(paced(lambda number=number: ping(icmp, number)))
            echoes.append(paced(lambda: echo(tcp)))
    print(json.dumps({"echo_ms": middle(pings), "echo_tcp_ms": middle(echoes)}))


def paced(one: Callable[[], float]) -> float:
    """Half of the pause after each, as the two kinds take turns."""
    begin = time.monotonic()
    seconds = one()
    time.sleep(max(begin + APART_S / 2 - time.monotonic(), 0))
    return seconds


def ping(icmp: socket.socket, number: int) -> float:
    """Seconds until the kernel had the reply to this number."""
    body = struct.pack("!BBHHH", REQUEST, 0, 0, 7007, number) + PAYLOAD
    begin = time.time_ns()
    icmp.send(body[:2] + struct.pack("!H", checksum(body)) + body[4:])
    while True:
        data, extra, _, _ = icmp.recvmsg(4096, 256)
        kind, _, _, _, seen = struct.unpack_from("!BBHHH", data, 4 * (data[0] & 15))
        if (kind, seen) == (REPLY, number):
            seconds, nanoseconds = struct.unpack_from("qq", extra[0][2])
            return (seconds * 1_000_000_000 + nanoseconds - begin) / 1e9


def checksum(body: bytes) -> int:
    """RFC 1071: the ones' complement of the ones' complement sum."""
    total = sum(struct.unpack(f"!{len(body) // 2}H", body))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def echo(tcp: socket.socket) -> float:
    begin = time.perf_counter()
    tcp.sendall(PAYLOAD)
    tcp.recv(4096)
    return time.perf_counter() - begin


def middle(seconds: list[float]) -> float:
    return round(1000 * statistics.median(seconds), 4)


if __name__ == "__main__":
    {"serve": serve, "ask": lambda: ask(int(sys.argv[2])), "beside": until_told}[sys.argv[1]]()
