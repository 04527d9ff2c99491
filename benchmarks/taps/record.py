#!/usr/bin/env python3
"""Record runs at both ends of the lab's link, and hold what latpcap says of the two captures to what the link did.

    python benchmarks/taps/record.py FOLDER            needs root and the lab, up, with MariaDB and PostgreSQL loaded
    python benchmarks/taps/record.py FOLDER --table    the table of what was recorded

Both ends are stamped by one clock, so that the one-way delays are true. Each run is also told with the server's clock set
40 ms forward: what is sure must stay as it was.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import latpcap
from latpcap.result.taps import TapsResult

HERE = Path(__file__).resolve()
sys.path[:0] = [str(HERE.parents[2] / "fixtures"), str(HERE.parents[1] / "accuracy")]

RUNS = (
    ("PyMySQL, N+1", "pymysql_nplus1", 200),
    ("PyMySQL, wide result", "wide_result", 20),
    ("MariaDB Connector/J, bulk", "jdbc:mariadb_batch_bulk", 2_000),
    ("MariaDB Connector/J, pipelined", "jdbc:mariadb_batch_pipelined", 200),
    ("psycopg2, N+1", "postgresql:psycopg2_nplus1", 200),
    ("psycopg 3, pipeline", "postgresql:psycopg3_pipeline_all", 300),
)
RTTS_MS = (0.5, 5.0, 15.0, 50.0)
LINKS = (*((rtt, 0.0, 0.0) for rtt in RTTS_MS), (15.0, 1.0, 0.0), (5.0, 0.0, 2.0))
"""RTT in ms, jitter of each way in ms, loss in percent."""
FILTER = "tcp port 3306 or tcp port 5432"
ECHOES = 20
"""Over the link without loss."""


def main() -> None:
    parser = argparse.ArgumentParser(description="Two taps of the lab's runs.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--table", action="store_true", help="of what was recorded already")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    if not arguments.table:
        record(arguments.folder)
    print(table(arguments.folder))


def record(folder: Path) -> None:
    import echo
    from recorder import lab

    for rtt_ms, jitter_ms, loss in LINKS:
        lab.set_link(rtt_ms, jitter_ms=jitter_ms)
        with echo.answering():
            echo_ms = echo.measured(ECHOES)["echo_ms"]
        lab.set_link(rtt_ms, loss, jitter_ms)
        for name, workload, n in RUNS:
            stem = f"{workload.replace(':', '-')}__rtt{rtt_ms:g}__jitter{jitter_ms:g}__loss{loss:g}"
            told = folder / f"{stem}.json"
            if told.exists():
                continue
            client, server = (folder / f"{stem}.{side}.pcapng" for side in ("client", "server"))
            with (
                lab.workload(workload, n) as process,
                lab.capturing(lab.CLIENT, client, FILTER),
                lab.capturing(lab.SERVER, server, FILTER),
            ):
                counted = lab.go(process)
            facts = {"run": name, "rtt_ms": rtt_ms, "jitter_ms": jitter_ms, "loss": loss, "echo_ms": echo_ms}
            told.write_text(json.dumps(facts | {"counted": counted}))
            print(stem, counted, flush=True)


def table(folder: Path) -> str:
    names = ("run", "link ms", "jitter", "loss %", "echo ms", "exchanges", "as the client's", "there ms", "back ms")
    headings = (*names, "round trip ms", "only client's", "only server's", "sent again", "server's clock +40 ms")
    lines = [f"| {' | '.join(headings)} |", f"|{'---|' * len(headings)}"]
    lines += [f"| {' | '.join(row)} |" for row in rows(folder)]
    return "\n".join(lines)


def rows(folder: Path) -> Iterator[tuple[str, ...]]:
    found = [json.loads(path.read_text()) | {"stem": path.stem} for path in folder.glob("*.json")]
    for facts in sorted(found, key=lambda each: (each["run"], each["jitter_ms"], each["loss"], each["rtt_ms"])):
        client, server = (folder / f"{facts['stem']}.{side}.pcapng" for side in ("client", "server"))
        alone, both = latpcap.read(client), latpcap.read([client, server])
        taps, same = one(both), exchanges(alone) == exchanges(both)
        again = taps.at_client.retransmissions, taps.at_server.retransmissions
        yield (
            facts["run"],
            *(f"{facts[name]:g}" for name in ("rtt_ms", "jitter_ms", "loss")),
            f"{facts['echo_ms']:.3f}",
            f"{len(alone.exchanges):,}",
            "yes" if same else "NO",
            *(f"{way.min_ms:.3f}, {way.median_ms:.3f}, {way.p95_ms:.3f}" for way in (taps.request, taps.response)),
            f"{taps.round_trip_ms:.3f}",
            f"{taps.request.client_tap_only} + {taps.response.client_tap_only}",
            f"{taps.request.server_tap_only} + {taps.response.server_tap_only}",
            f"{again[0]} / {again[1]}",
            shifted(client, server, folder),
        )


def one(capture: latpcap.Capture) -> TapsResult:
    [found] = capture.analyze().taps
    return found


def exchanges(capture: latpcap.Capture) -> list[dict[str, Any]]:
    """Every exchange but for the numbers of packets and connections, which count what either tap shows."""
    rows = capture.exchanges.to_dicts()
    return [
        {name: value for name, value in row.items() if name != "stream" and not name.endswith("_frame")} for row in rows
    ]


def shifted(client: Path, server: Path, folder: Path) -> str:
    """What is told where the server's clock is 40 ms ahead; files that follow each other are of one tap."""
    moved = folder / "moved.pcapng"
    subprocess.run(["editcap", "-t", "0.040", server, moved], check=True)
    capture = latpcap.read([client, moved])
    same = exchanges(capture) == exchanges(latpcap.read(client))
    moved.unlink()
    if not capture.taps:
        return "the run ends before"
    found = one(capture)
    return f"{found.round_trip_ms:.3f}, offset {found.offset_ms:.3f}, {found.clocks}{'' if same else ', NOT THE SAME'}"


if __name__ == "__main__":
    main()
