"""Facts of the system's own TCP about a connection: `TCP_INFO` of Linux.

<https://github.com/torvalds/linux/blob/master/include/uapi/linux/tcp.h>, `struct tcp_info`

```text
0 state u8 | 16 snd_mss u32 | 60 pmtu u32 | 68 rtt u32 µs | 100 total_retrans u32 | 140 segs_in u32 | 148 min_rtt u32 µs
```

The system stamps packets itself, so its RTTs hold nothing of what a busy machine takes to run a program again.
"""

from __future__ import annotations

import socket
import struct

from msgspec import Struct

STRUCT_BYTES = 152
SMOOTHING_SAMPLES = 8
"""The kernel's RTT moves by an eighth of the way to each sample (RFC 6298); it begins as the first one."""
FIN_ACKNOWLEDGED = (5, 7)
"""FIN_WAIT2, and CLOSE: what is left of a connection that both sides have ended."""


class TcpInfo(Struct, frozen=True):
    """One look at a connection."""

    state: int
    mss: int
    path_mtu: int
    rtt_us: int
    """Smoothed; after the handshake alone it is SYN → SYN/ACK."""
    retransmissions: int
    segments_in: int
    min_rtt_us: int

    @property
    def fin_acknowledged(self) -> bool:
        """The other side has our FIN."""
        return self.state in FIN_ACKNOWLEDGED


def tcp_info(connection: socket.socket) -> TcpInfo | None:
    """Ask the system about it now; `None` where it does not tell, or tells less (Linux before 4.2)."""
    if not hasattr(socket, "TCP_INFO"):
        return None
    try:
        info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, STRUCT_BYTES)
    except OSError:
        return None
    if len(info) < STRUCT_BYTES:
        return None
    mss, path_mtu, rtt_us, retransmissions, segments_in, min_rtt_us = (
        struct.unpack_from("=I", info, at)[0] for at in (16, 60, 68, 100, 140, 148)
    )
    return TcpInfo(info[0], mss, path_mtu, rtt_us, retransmissions, segments_in, min_rtt_us)


def latest_rtt_us(before: TcpInfo, after: TcpInfo) -> int:
    """The one RTT that was sampled between two looks, from the smoothed ones: to 8 µs, exact where it is the least.

    >>> look = TcpInfo(1, 1448, 1500, 15200, 0, 1, 15200)
    >>> latest_rtt_us(look, TcpInfo(1, 1448, 1500, 15183, 0, 3, 15066)), latest_rtt_us(
    ...     look, TcpInfo(1, 1448, 1500, 15300, 0, 3, 15200)
    ... )
    (15066, 16000)
    """
    if after.min_rtt_us < before.min_rtt_us:
        return after.min_rtt_us
    return before.rtt_us + SMOOTHING_SAMPLES * (after.rtt_us - before.rtt_us)
