"""What can be read: paths, globs, file objects, bytes, and the packets that scapy or dpkt hold in memory."""

from __future__ import annotations

import glob
import os
import struct
from collections.abc import Iterable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

from latpcap.errors import CaptureError, UsageError

__all__ = ["paths", "resolve"]

Source = str | bytes | Any

LINKTYPE_ETHERNET = 1


def resolve(source: Any) -> list[Source]:
    """Return what the core reads for `source`: paths, bytes or file objects; globs are expanded, lists flattened."""
    if isinstance(source, str | os.PathLike):
        return list(paths(source))
    if isinstance(source, bytes | bytearray | memoryview):
        return [bytes(source)]
    if _is_scapy(source):
        return [_pcapng(_scapy_packets(source))]
    if _is_dpkt(source):
        return [_pcapng(_dpkt_packets(source))]
    if hasattr(source, "read"):
        return [source]
    if isinstance(source, Iterable):
        return [part for each in source for part in resolve(each)]
    raise UsageError(
        f"cannot read a {type(source).__name__}: give a path, a glob, bytes, a file object, or packets of scapy or dpkt"
    )


def paths(given: str | os.PathLike[str]) -> Iterator[str]:
    """Yield the files that a path or glob names; `-` is standard input."""
    path = os.fsdecode(given)
    if path == "-" or os.path.exists(path):
        if os.path.isdir(path):
            raise CaptureError(f"{path}: is a directory; name its files, for instance `{Path(path) / '*.pcap'}`")
        yield path
        return
    found = sorted(glob.glob(path)) if glob.has_magic(path) else []
    if not found:
        raise CaptureError(f"{path}: no such file")
    yield from found


def _is_scapy(source: Any) -> bool:
    return type(source).__module__.startswith("scapy.") and not hasattr(source, "read")


def _is_dpkt(source: Any) -> bool:
    return type(source).__module__.startswith("dpkt.") and hasattr(source, "datalink")


def _scapy_packets(packets: Any) -> Iterator[tuple[int, int, bytes, int]]:
    from scapy.config import conf

    packets = [packets] if hasattr(packets, "layers") else packets
    for packet in packets:
        raw = bytes(packet)
        link_type = conf.l2types.layer2num.get(type(packet), LINKTYPE_ETHERNET)
        yield link_type, _nanoseconds(packet.time), raw, getattr(packet, "wirelen", None) or len(raw)


def _dpkt_packets(reader: Any) -> Iterator[tuple[int, int, bytes, int]]:
    link_type = reader.datalink()
    for time, raw in reader:
        yield link_type, _nanoseconds(time), raw, len(raw)


def _nanoseconds(seconds: Any) -> int:
    """Exact for the decimal times of scapy and of dpkt's nanosecond files; to the microsecond for floats."""
    if isinstance(seconds, float):
        return round(seconds * 1e6) * 1000
    return round(Decimal(str(seconds)) * 10**9)


# --- pcapng, as little of it as is needed ---------------------------------------------------------------------------


def _pcapng(packets: Iterable[tuple[int, int, bytes, int]]) -> bytes:
    """Write packets (link type, ns since 1970, bytes, length on the wire) as a pcapng file.

    <https://www.ietf.org/archive/id/draft-ietf-opsawg-pcapng-02.html>
    """
    blocks = [_block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))]
    interfaces: dict[int, int] = {}
    for link_type, time_ns, raw, length in packets:
        if link_type not in interfaces:
            interfaces[link_type] = len(interfaces)
            resolution = struct.pack("<HHB3xHH", 9, 1, 9, 0, 0)  # if_tsresol 10^-9, end of options
            blocks.append(_block(1, struct.pack("<HHI", link_type, 0, 0) + resolution))
        head = struct.pack("<IIIII", interfaces[link_type], time_ns >> 32, time_ns & 0xFFFFFFFF, len(raw), length)
        blocks.append(_block(6, head + raw + bytes(-len(raw) % 4)))
    return b"".join(blocks)


def _block(kind: int, body: bytes) -> bytes:
    total = len(body) + 12
    return struct.pack("<II", kind, total) + body + struct.pack("<I", total)
