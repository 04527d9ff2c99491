"""scapy: the packets of a capture, as layers that know each other."""

from __future__ import annotations

import sys

from answer import Answer
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Ether  # noqa: F401 (what the link type is read with)
from scapy.utils import PcapReader


def main() -> None:
    answer = Answer()
    with PcapReader(sys.argv[1]) as packets:
        for packet in packets:
            answer.packets += 1
            if IP in packet and TCP in packet:
                ip, tcp = packet[IP], packet[TCP]
                ends = (ip.src.encode(), tcp.sport), (ip.dst.encode(), tcp.dport)
                answer.segment(packet.time, *ends, int(tcp.flags), bytes(tcp.payload))
    answer.print()


if __name__ == "__main__":
    main()
