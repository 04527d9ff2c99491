"""Writes a capture of one kind: equal arguments, equal bytes.

    python -m benchmarks.speed.traffic nplus1 OUT.pcap --packets 1000000      # the classic: 249,996 queries
    python -m benchmarks.speed.traffic nplus1 - --packets 68000000 | latpcap analyze --json -

`-` writes to the standard output, for a pipe. What was written is told as JSON on the standard error.
"""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import nullcontext
from pathlib import Path

from .kinds import KINDS, Wish


def main() -> None:
    arguments = parse()
    wish = Wish(arguments.packets, arguments.connections, not arguments.no_acks, arguments.row_bytes)
    traffic = KINDS[arguments.kind](wish)
    with nullcontext(sys.stdout.buffer) if arguments.out == "-" else Path(arguments.out).open("wb") as file:
        total = traffic.write(file)
    told = {name: getattr(traffic, name) for name in ("packets", "connections", "queries", "fingerprints")}
    print(json.dumps({**told, "bytes": total}), file=sys.stderr)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="traffic", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("out", help="a file, or - for the standard output")
    parser.add_argument("--packets", type=int, default=1_000_000, help="at most so many")
    parser.add_argument("--connections", type=int, default=1, help="that ask side by side")
    parser.add_argument("--no-acks", action="store_true", help="two packets a query instead of four")
    parser.add_argument("--row-bytes", type=int, default=16_000, help="of bulk results")
    return parser.parse_args()


if __name__ == "__main__":
    main()
