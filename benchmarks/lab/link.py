#!/usr/bin/env python3
"""The lab's link: `link.py NS_A DEV_A NS_B DEV_B -u SOCKET` joins two network namespaces until it is ended.

A namespace is a name of `ip netns`, or a path.

`dlctl.py` speaks to it: `rtt=5000 loss=2` in a datagram to the socket, settings and counters as JSON back. Here, as in
the options, times are in µs, loss in percent, and the jitter is that of each way.
"""

import argparse
import contextlib
import json
import os
import signal
import socket
import sys
from pathlib import Path

from latpcap._core import Counts, Link

KEYS = ("rtt", "rate", "loss", "jitter", "queue", "spin")


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Join two network namespaces by a link with a delay.")
    for name in ("first_namespace", "first_device", "second_namespace", "second_device"):
        parser.add_argument(name)
    parser.add_argument("-d", "--rtt", type=float, default=0, metavar="µs")
    parser.add_argument("-r", "--rate", type=float, default=0, metavar="bit/s")
    parser.add_argument("-l", "--loss", type=float, default=0, metavar="%%")
    parser.add_argument("-j", "--jitter", type=float, default=0, metavar="µs", help="of each way")
    parser.add_argument("-q", "--queue", type=float, default=0, metavar="bytes")
    parser.add_argument("-s", "--spin", type=float, default=250, metavar="µs", help="how long the clock may be watched")
    parser.add_argument("-u", "--socket", type=Path, required=True, help="where dlctl.py finds it")
    parser.add_argument("-H", "--keep-awake", action="store_true", help="let no processor sleep")
    return parser.parse_args()


def apply(link: Link, asked: dict[str, float]) -> None:
    link.set(
        rtt_ms=asked["rtt"] / 1e3,
        jitter_ms=2 * asked["jitter"] / 1e3,
        loss=asked["loss"] / 100,
        bits_per_second=int(asked["rate"]),
        queue_bytes=int(asked["queue"]) or None,
        spin_ms=asked["spin"] / 1e3,
    )


def direction(counts: Counts) -> dict[str, float]:
    return {
        "rx": counts.received,
        "tx": counts.sent,
        "bytes": counts.bytes,
        "lost": counts.lost,
        "qdrop": counts.queue_full,
        "werr": counts.refused,
        "late_avg_us": round(counts.mean_late_ms * 1e3, 2),
        "late_max_us": round(counts.latest_ms * 1e3, 1),
        "maxq": counts.most_in_flight,
    }


def state(link: Link, asked: dict[str, float]) -> dict[str, object]:
    settings = {
        "rtt_us": asked["rtt"],
        "rate": int(asked["rate"]),
        "loss_pct": asked["loss"],
        "jitter_us": asked["jitter"],
    }
    return settings | {"failure": link.failure, "dirs": [direction(counts) for counts in link.counts()]}


def obey(message: str, link: Link, asked: dict[str, float]) -> dict[str, object]:
    """What `rtt=5000 loss=2` asks for, and how the link stands then."""
    try:
        changed = dict(asked)
        for key, _, value in (word.partition("=") for word in message.replace(",", " ").split()):
            if key in KEYS:
                changed[key] = float(value)
            elif key == "reset":
                link.reset_counts()
        apply(link, changed)
        asked.update(changed)
    except (ValueError, OverflowError) as error:
        return {"error": str(error)}
    return state(link, asked)


def serve(control: socket.socket, link: Link, asked: dict[str, float]) -> None:
    while True:
        message, sender = control.recvfrom(512)
        answer = obey(message.decode(errors="replace"), link, asked)
        with contextlib.suppress(OSError):  # whoever asked has gone
            control.sendto(json.dumps(answer).encode(), sender or "")


def main() -> None:
    given = options()
    asked = {key: getattr(given, key) for key in KEYS}
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    given.socket.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as control:
        control.bind(str(given.socket))
        os.chmod(given.socket, 0o600)
        first = (str(Path("/run/netns", given.first_namespace)), given.first_device)
        second = (str(Path("/run/netns", given.second_namespace)), given.second_device)
        try:
            link = Link(first, second, keep_awake=given.keep_awake)
            apply(link, asked)
        except (OSError, ValueError) as error:
            sys.exit(f"no link: {error}")
        print("ready", flush=True)
        try:
            serve(control, link, asked)
        except KeyboardInterrupt:
            link.stop()
        finally:
            given.socket.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
