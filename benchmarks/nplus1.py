"""Writes the classic as a capture: a list of employees, then one salary query for each.

    python benchmarks/nplus1.py OUT.pcap [--packets 1000000] [--rtt-ms 0.389]

The packets are what a MariaDB server and a plain client exchange (no compression, EOF packets), two a query: the
answer acknowledges the question and the next question the answer. Deterministic: equal arguments, equal bytes.
"""

from __future__ import annotations

import argparse
import struct
from collections.abc import Iterator
from pathlib import Path

PCAP_HEADER = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 1)
ETHERNET = bytes.fromhex("0200000000020200000000010800"), bytes.fromhex("0200000000010200000000020800")
CLIENT, SERVER = (bytes([10, 0, 0, 1]), 40000), (bytes([10, 0, 0, 2]), 3306)
SYN, ACK, PUSH_ACK, FIN_ACK = 0x02, 0x10, 0x18, 0x11
SERVICE_NS = 180_000
CLIENT_NS = 60_000


def message(sequence: int, payload: bytes) -> bytes:
    return struct.pack("<I", len(payload))[:3] + bytes([sequence & 0xFF]) + payload


def text(value: str) -> bytes:
    return bytes([len(value)]) + value.encode()


def column(name: str, kind: int) -> bytes:
    names = text("def") + text("lab") + text("salaries") * 2 + text(name) * 2
    return names + struct.pack("<BHIBHBH", 12, 33, 255, kind, 0, 0, 0)


def result(columns: list[tuple[str, int]], rows: list[list[str]]) -> bytes:
    end = b"\xfe\0\0\x02\0"
    payloads = [bytes([len(columns)]), *(column(*each) for each in columns), end]
    payloads += [b"".join(text(value) for value in row) for row in rows] + [end]
    return b"".join(message(number, payload) for number, payload in enumerate(payloads, 1))


def greeting() -> bytes:
    salt = b"abcdefgh\0", b"ijklmnopqrst\0"
    capabilities = struct.pack("<HBHHB", 0xF7FE, 45, 2, 0x81BF, 21)
    return message(
        0,
        b"\x0a10.11.6-MariaDB\0\x07\0\0\0" + salt[0] + capabilities + bytes(10) + salt[1] + b"mysql_native_password\0",
    )


def login(user: str = "lab") -> bytes:
    capabilities = struct.pack("<IIB23x", 0x000AA205, 1 << 24, 45)
    return message(1, capabilities + user.encode() + b"\0\x14" + b"\x07" * 20 + b"mysql_native_password\0")


OK = message(2, b"\0\0\0\x02\0\0\0")


class Wire:
    """One TCP connection as packets; sequence numbers count themselves."""

    def __init__(self, rtt_ns: int, client: tuple[bytes, int] = CLIENT, server: tuple[bytes, int] = SERVER) -> None:
        self.now_ns = 1_700_000_000_000_000_000
        self.rtt_ns = rtt_ns
        (address, port), (server_address, server_port) = client, server
        self.addresses, self.ports = (address, server_address), (port, server_port)
        self.sequence = [1000, 5000]

    def packet(self, sender: int, flags: int, payload: bytes = b"") -> bytes:
        peer = 1 - sender
        acknowledgment = self.sequence[peer] if flags & ACK else 0
        ports = self.ports[sender], self.ports[peer]
        tcp = struct.pack(">HHIIBBHHH", *ports, self.sequence[sender], acknowledgment, 0x50, flags, 64240, 0, 0)
        length = 20 + len(tcp) + len(payload)
        ip = (
            struct.pack(">BBHHHBBH", 0x45, 0, length, 0, 0x4000, 64, 6, 0)
            + self.addresses[sender]
            + self.addresses[peer]
        )
        frame = ETHERNET[sender] + ip + tcp + payload
        self.sequence[sender] = (self.sequence[sender] + len(payload) + (flags & 0x03 != 0)) & 0xFFFFFFFF
        seconds, nanoseconds = divmod(self.now_ns, 1_000_000_000)
        return struct.pack("<IIII", seconds, nanoseconds, len(frame), len(frame)) + frame

    def open(self) -> Iterator[bytes]:
        yield self.packet(0, SYN)
        self.now_ns += self.rtt_ns
        yield self.packet(1, SYN | ACK)
        yield self.packet(0, ACK)
        self.now_ns += self.rtt_ns

    def log_in(self, user: str = "lab") -> Iterator[bytes]:
        yield from self.open()
        yield self.packet(1, PUSH_ACK, greeting())
        yield from self.ask(login(user), OK)

    def ask(self, request: bytes, response: bytes) -> Iterator[bytes]:
        yield self.packet(0, PUSH_ACK, request)
        self.now_ns += self.rtt_ns + SERVICE_NS
        for start in range(0, len(response), 1448):
            yield self.packet(1, PUSH_ACK, response[start : start + 1448])
            self.now_ns += 1_000
        self.now_ns += CLIENT_NS


def packets(count: int, rtt_ns: int) -> Iterator[bytes]:
    """Handshake, login, the list, then as many salary queries as `count` packets hold."""
    wire = Wire(rtt_ns)
    yield from wire.log_in()
    yield from wire.ask(
        message(0, b"\x03SELECT emp_no FROM employees"), result([("emp_no", 3)], [["10001"], ["10002"]])
    )
    salary = [("salary", 3), ("from_date", 10)]
    for number in range((count - 10) // 2):
        sql = f"SELECT salary, from_date FROM salaries WHERE emp_no={10001 + number}"
        rows = [[str(40000 + number % 60000), "1986-06-26"]]
        yield from wire.ask(message(0, b"\x03" + sql.encode()), result(salary, rows))
    yield wire.packet(0, PUSH_ACK, message(0, b"\x01"))
    yield wire.packet(0, FIN_ACK)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--packets", type=int, default=1_000_000)
    parser.add_argument("--rtt-ms", type=float, default=0.389)
    arguments = parser.parse_args()
    with arguments.out.open("wb") as file:
        file.write(PCAP_HEADER)
        file.writelines(packets(arguments.packets, round(arguments.rtt_ms * 1e6)))


if __name__ == "__main__":
    main()
