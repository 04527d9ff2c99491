"""Packets that scapy, dpkt or a generator hand over, as a capture file that the core reads.

| packet | its link type |
|---|---|
| scapy's | of its outermost layer where scapy knows that, else of its reader |
| dpkt's `(time, Ethernet)`, `(time, IP)` | of the object |
| `(time, bytes, link type)` | as it says |
| `(time, bytes)` | of its reader, or as `read(link_type=…)` says; else raw IP where that is sure, and Ethernet |

Times are seconds since 1970 as `Decimal`, `int` or `float`; nanoseconds survive where the number can hold them.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from typing import Any

from latpcap import _core
from latpcap.errors import UsageError

Packet = tuple[int, int, bytes, int]
"""Link type, ns since 1970, what was captured, length on the wire."""

LINK_TYPES = {"ethernet": 1, "raw": 101, "null": 0, "cooked": 113, "cooked2": 276}
"""LINKTYPE numbers by what people call them; any other is given as its number."""
_OF_DPKT = {"Ethernet": 1, "IP": 101, "IP6": 101, "SLL": 113, "SLL2": 276, "Loopback": 0}
ETHERTYPES = {bytes.fromhex(number) for number in ("0800", "86dd", "8100", "88a8", "8864")}
"""IPv4, IPv6, VLANs and PPP over Ethernet: what database traffic in Ethernet has."""


def link_type_of(source: Any, otherwise: int | None) -> int | None:
    """The link type of a whole reader (dpkt's `datalink()`, scapy's `linktype`)."""
    if callable(getattr(source, "datalink", None)):
        return int(source.datalink())
    link_type = getattr(source, "linktype", None)
    return link_type if isinstance(link_type, int) else otherwise


def link_type_named(given: int | str | None) -> int | None:
    """Return the number of a link type that was given by its name; raises `UsageError`.

    >>> link_type_named("raw"), link_type_named(113), link_type_named(None)
    (101, 113, None)
    """
    if isinstance(given, str) and given not in LINK_TYPES:
        raise UsageError(f"no link type `{given}`: there are {', '.join(LINK_TYPES)}, or a LINKTYPE's number")
    return LINK_TYPES[given] if isinstance(given, str) else given


def is_packet(item: Any) -> bool:
    """True for a packet of scapy, and for a tuple of a time and bytes."""
    return _is_scapy(item) or (isinstance(item, tuple) and len(item) in (2, 3) and not isinstance(item[0], str))


def _is_scapy(item: Any) -> bool:
    return type(item).__module__.startswith("scapy.") and hasattr(item, "layers") and hasattr(item, "time")


def packet(item: Any, link_type: int | None) -> Packet:
    """Return one packet with its link type, the one given where it does not tell its own; raises `UsageError`."""
    if _is_scapy(item):
        return _scapy_packet(item, link_type)
    if isinstance(item[0], bytes):
        return _raw_scapy_packet(*item)
    time, raw, *given = item
    if type(raw).__module__.startswith("dpkt."):
        link_type, raw = _OF_DPKT.get(type(raw).__name__, link_type), bytes(raw)
    if not isinstance(raw, bytes | bytearray | memoryview):
        raise UsageError(f"a packet is a tuple of a time and bytes, not of a time and a {type(raw).__name__}")
    named = int(given[0]) if given else link_type
    raw = bytes(raw)
    return _link_type_by(raw) if named is None else named, _nanoseconds(time), raw, len(raw)


def _link_type_by(raw: bytes) -> int:
    """Raw IP where that is sure, else Ethernet: an address of a network card may begin with the same four bits.

    An IPv4 header has a checksum, an IPv6 header the length of the packet. Where Ethernet says what it carries both
    have a part of an address: what looks like that is a frame, unless it began with a card's address 45:…, which none
    has (it is that of a group).
    """
    is_ip = _is_ip4(raw) if raw[:1] < b"\x50" else _is_ip6(raw)
    return LINK_TYPES["raw" if is_ip and (raw[0] == 0x45 or raw[12:14] not in ETHERTYPES) else "ethernet"]


def _is_ip4(raw: bytes) -> bool:
    """<https://www.rfc-editor.org/rfc/rfc791#section-3.1>."""
    size = 4 * (raw[0] & 15) if raw else 0
    return len(raw) >= size >= 20 and raw[0] >> 4 == 4 and _checksum(raw[:size]) == 0xFFFF


def _is_ip6(raw: bytes) -> bool:
    """<https://www.rfc-editor.org/rfc/rfc8200#section-3>."""
    return len(raw) >= 40 and raw[0] >> 4 == 6 and int.from_bytes(raw[4:6], "big") + 40 == len(raw)


def _checksum(header: bytes) -> int:
    """The one's complement sum of 16-bit words (RFC 1071); of a right header with its checksum 0xffff."""
    total = sum(struct.unpack(f">{len(header) // 2}H", header))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return int(total)


def _scapy_packet(packet: Any, link_type: int | None) -> Packet:
    """One packet of scapy, with the link type of its outermost layer; without `scapy.all` scapy knows few of them."""
    from scapy.config import conf

    raw = bytes(packet)
    otherwise = _link_type_by(raw) if link_type is None else link_type
    known = int(conf.l2types.layer2num.get(type(packet), otherwise))
    return known, _nanoseconds(packet.time), raw, max(getattr(packet, "wirelen", None) or 0, len(raw))


def _raw_scapy_packet(raw: bytes, metadata: Any) -> Packet:
    """One item of scapy's `RawPcapReader` (seconds, fraction) or `RawPcapNgReader` (a count of ticks)."""
    if hasattr(metadata, "sec"):
        raise UsageError("scapy's RawPcapReader does not say its unit of time: use PcapReader, or give the path")
    ticks = (metadata.tshigh or 0) << 32 | (metadata.tslow or 0)
    return metadata.linktype, ticks * 10**9 // metadata.tsresol, raw, max(metadata.wirelen or 0, len(raw))


def _nanoseconds(seconds: Any) -> int:
    """Nanoseconds of `seconds`: exact for decimals and integers.

    A float near today holds 0.2 µs. One that is the nearest to a whole microsecond came from there.

    >>> _nanoseconds(Decimal("1700000000.123456789")), _nanoseconds(1700000000.123457)
    (1700000000123456789, 1700000000123457000)
    """
    try:
        if isinstance(seconds, float) and math.isfinite(seconds):
            microseconds = round(seconds * 1e6)
            return microseconds * 1000 if microseconds / 1e6 == seconds else round(Decimal(seconds) * 10**9)
        return round(Decimal(str(seconds)) * 10**9)
    except (InvalidOperation, ValueError, OverflowError):
        raise UsageError(f"the time of a packet is not a number of seconds: {seconds!r:.40}") from None


def as_pcapng(packets: Iterable[Packet]) -> bytes:
    """Write packets as a pcapng file with nanoseconds."""
    return _core.pcapng_of(
        (link_type & 0xFFFF, time_ns & 0xFFFF_FFFF_FFFF_FFFF, raw, length)
        for link_type, time_ns, raw, length in packets
    )
