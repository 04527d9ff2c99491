"""pyshark: what tshark dissects, as Python objects. Queries, streams and RTTs are tshark's."""

from __future__ import annotations

import sys
from decimal import Decimal

import pyshark
from answer import NUMBER, Answer


def main() -> None:
    answer = Answer()
    waiting: dict[str, bool] = {}
    rtts: dict[str, Decimal] = {}
    with pyshark.FileCapture(sys.argv[1], keep_packets=False) as packets:
        for packet in packets:
            answer.packets += 1
            if "TCP" not in packet:
                continue
            stream = packet.tcp.stream
            rtt = packet.tcp.get_field_value("analysis_initial_rtt")
            if rtt is not None:
                rtts[stream] = Decimal(rtt)
            if "MYSQL" not in packet:
                continue
            text = packet.mysql.get_field_value("query")
            if text is not None:
                answer.queries += 1
                answer.statements.add(NUMBER.sub(b"?", str(text).encode()))
                waiting[stream] = True
            elif packet.tcp.srcport == "3306" and waiting.get(stream):
                answer.answered += 1
                waiting[stream] = False
    answer.connections, answer.rtts_s = len(rtts), list(rtts.values())
    answer.print()


if __name__ == "__main__":
    main()
