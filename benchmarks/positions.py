"""One run captured at both ends: do both captures tell the same RTT, round trips and service time?

    python benchmarks/positions.py FOLDER

FOLDER holds pairs `RUN__…rtt1__….pcapng` (taken at the client) and the same with `.server` or `__srv` before the ending
(taken at the server), packed or not, as the lab writes them. In the lab both ends are stamped by one clock, so that the link's true RTT is known for every exchange: its wait
at the client less its wait at the server.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import latpcap
from latpcap.rtt import estimate_recording


@dataclass(frozen=True)
class End:
    """What the capture of one end says."""

    baseline_ms: float
    low_ms: float
    high_ms: float
    position: str
    method: str
    round_trips: int
    service_ms: float
    """Of one round trip, on the average."""
    waited_ns: NDArray[np.int64]
    """By exchange, in order; negative where it did not wait exactly once."""


def end(path: Path) -> End:
    capture = latpcap.read(str(path))
    recording, result = capture.recording, capture.analyze()
    found = estimate_recording(recording).of_paths
    exchanges = recording.exchanges
    once = exchanges.complete & (exchanges.round_trips == 1) & ~exchanges.is_setup
    busy = int(exchanges.round_trips[~exchanges.is_setup].sum())
    return End(
        found.baseline[0] / 1e6,
        found.low[0] / 1e6,
        found.high[0] / 1e6,
        found.position_name(0),
        found.method_name(0),
        result.summary.round_trips,
        result.budget.service_s * 1000 / max(busy, 1),
        np.where(once, exchanges.waited, -1),
    )


def link_ms(client: End, server: End) -> NDArray[np.float64]:
    """The link's RTT in each exchange that both ends saw."""
    if len(client.waited_ns) != len(server.waited_ns):
        return np.array([np.nan])
    both = (client.waited_ns >= 0) & (server.waited_ns >= 0)
    return (client.waited_ns - server.waited_ns)[both] / 1e6


def pairs(folder: Path) -> Iterator[tuple[str, float, Path, Path]]:
    """Name, RTT that was asked of the link in ms, client's and server's capture."""
    by_stem = {path.name.split(".pcap")[0]: path for path in folder.glob("[!.]*.pcap*")}
    found = []
    for stem, server in by_stem.items():
        client = by_stem.get(stem.removesuffix(".server").removesuffix("__srv"))
        told = re.match(r"(.+?)__.*rtt([0-9.]+)__", stem)
        if client and client != server and told:
            found.append((told[1], float(told[2]), client, server))
    yield from sorted(found)


HEADINGS = ("run", "asked ms", "round trips", "link ms (median, mean)", "client ms", "server ms", "differ")
HEADINGS += ("service ms at client", "at server", "differ ms")


def rows(folder: Path) -> Iterator[tuple[str, ...]]:
    for name, asked, client_path, server_path in pairs(folder):
        client, server = end(client_path), end(server_path)
        link = link_ms(client, server)
        same = client.round_trips == server.round_trips
        trips = f"{client.round_trips}" if same else f"{client.round_trips} ≠ {server.round_trips}"
        places = "" if (client.position, server.position) == ("client", "server") else " (!)"
        yield (
            name,
            f"{asked:g}",
            trips + places,
            f"{np.median(link):.3f}, {link.mean():.3f}",
            f"{client.baseline_ms:.3f} ({client.low_ms:.3f}–{client.high_ms:.3f})",
            f"{server.baseline_ms:.3f} ({server.low_ms:.3f}–{server.high_ms:.3f})",
            f"{server.baseline_ms / client.baseline_ms - 1:+.1%}",
            f"{client.service_ms:.3f}",
            f"{server.service_ms:.3f}",
            f"{server.service_ms - client.service_ms:+.3f}",
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    table = [HEADINGS, *rows(parser.parse_args().folder)]
    print("| " + " | ".join(table[0]) + " |\n|---|" + "---:|" * (len(HEADINGS) - 1))
    for row in table[1:]:
        print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
