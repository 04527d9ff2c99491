"""dpkt: the packets of a capture as Python objects."""

from __future__ import annotations

import sys

import dpkt
from answer import Answer


def main() -> None:
    answer = Answer()
    with open(sys.argv[1], "rb") as file:
        for time_s, frame in dpkt.pcap.Reader(file):
            answer.packets += 1
            ip = dpkt.ethernet.Ethernet(frame).data
            if isinstance(ip, dpkt.ip.IP) and isinstance(tcp := ip.data, dpkt.tcp.TCP):
                answer.segment(time_s, (ip.src, tcp.sport), (ip.dst, tcp.dport), tcp.flags, tcp.data)
    answer.print()


if __name__ == "__main__":
    main()
