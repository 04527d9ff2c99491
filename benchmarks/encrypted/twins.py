#!/usr/bin/env python3
"""Compare each encrypted run with the clear run of the same job: without keys, and with those that there are.

    benchmarks/encrypted/twins.py FOLDER --csv rows.csv --page benchmarks/results/encryption.md

Without keys: round trips with set-up apart, and two projections to the far RTT: that of the work against the clear
capture's, and that of the whole against the run that was really made there. With keys: everything that is counted.
"""

from __future__ import annotations

import argparse
import csv
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
from encrypted_jobs import CHURN
from encrypted_page import page
from run import FAR_MS, NEAR_MS, read_lines

sys.path.append(str(Path(__file__).resolve().parents[1] / "accuracy"))

from facts import facts

import latpcap

Line = dict[str, Any]


@dataclass(frozen=True)
class Row:
    """One job, one way, beside the clear run."""

    workload: str
    protocol: str
    driver: str
    kind: str
    way: str
    connections: int
    statements: int
    """As the application counts them."""
    clear: int
    """Round trips without set-up, as the clear capture tells."""
    again: int
    """The same job, clear, once more."""
    seen: int
    """As the encrypted capture tells without keys."""
    off_pct: float
    clear_setup: int
    setup: int
    at_client: int | None
    """All round trips of such a run, counted at the client's system calls."""
    clear_projected_s: float
    """The work at the far RTT, without set-up; NaN where every query logs in."""
    again_off_pct: float
    projected_s: float
    projected_off_pct: float
    measured_s: float
    """What the run at the far RTT took, set-up and all; NaN where there was none."""
    error_pct: float
    """The projection of the whole against that."""
    clear_error_pct: float
    """The clear capture's against the clear run there."""
    hidden_off_pct: float
    """The work's projection without keys, against that of the same capture with them."""
    keys: str
    """With keys: `same`, `none` where the client gave none that open it, or what differs."""


@dataclass(frozen=True)
class WatchedSoFar:
    """What one capture tells without keys."""

    capture: latpcap.Capture
    kind: str

    @property
    def work(self) -> int:
        return self.round_trips - self.setup

    @property
    def round_trips(self) -> int:
        return int(self.capture.measures.recording.exchanges.round_trips.sum())

    @property
    def setup(self) -> int:
        exchanges = self.capture.measures.recording.exchanges
        return int(exchanges.round_trips[exchanges.is_setup].sum())

    def projected_s(self, rtt_ms: float) -> float:
        """The whole at another RTT."""
        [point] = self.capture.project([rtt_ms]).points
        return point.runtime_s or 0.0

    def work_projected_s(self, rtt_ms: float) -> float:
        """What follows the last login; NaN where every query logs in."""
        if self.kind == CHURN:
            return np.nan
        exchanges = self.capture.measures.recording.exchanges
        over = exchanges.response_end[exchanges.is_setup].max(initial=0)
        begins = exchanges.request[~exchanges.is_setup & (exchanges.request >= over)].min()
        part = self.capture.select(start=timedelta(microseconds=int(begins) // 1000 - 1))
        [point] = part.project([rtt_ms]).points
        return point.runtime_s or 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default=".", help="jobs that match this regular expression")
    parser.add_argument("--csv", type=Path)
    parser.add_argument("--page", type=Path)
    arguments = parser.parse_args()
    counts = {
        (line["workload"], line["way"]): line["round_trips"] for line in read_lines(arguments.folder / "counts.jsonl")
    }
    rows = [
        row
        for lines in by_workload(read_lines(arguments.folder / "truth.jsonl"), arguments.only)
        for row in compare(arguments.folder, lines, counts)
    ]
    if arguments.csv:
        write_csv(arguments.csv, rows)
    if arguments.page:
        arguments.page.write_text(page([asdict(row) for row in rows]))


def by_workload(lines: list[Line], only: str) -> Iterator[dict[tuple[str, float], Line]]:
    """The runs of each job, by way and RTT."""
    for name in dict.fromkeys(line["workload"] for line in lines):
        if re.search(only, name):
            yield {(line["way"], line["rtt_ms"]): line for line in lines if line["workload"] == name}


def compare(folder: Path, lines: dict[tuple[str, float], Line], counts: dict[tuple[str, str], int]) -> Iterator[Row]:
    clear, again = (see(folder, lines[way, NEAR_MS]) for way in ("clear", "again"))
    there = {way: facts(folder / line["capture"]) for (way, rtt_ms), line in lines.items() if rtt_ms == FAR_MS}
    clear_there = there.get("clear")
    clear_error = off(clear.projected_s(clear_there.rtt.in_stream), clear_there.runtime_s) if clear_there else np.nan
    clear_work_s, again_work_s = clear.work_projected_s(FAR_MS), again.work_projected_s(FAR_MS)
    for (way, rtt_ms), line in lines.items():
        if rtt_ms != NEAR_MS or way in ("clear", "again"):
            continue
        seen, target = see(folder, line), there.get(way)
        work_s, decrypted = seen.work_projected_s(FAR_MS), opened(folder, line)
        row = Row(
            workload=line["workload"],
            protocol=line["protocol"],
            driver=line["client"],
            kind=line["kind"],
            way=way,
            connections=len(seen.capture.measures.recording.database_rows),
            statements=line["statements"],
            clear=clear.work,
            again=again.work,
            seen=seen.work,
            off_pct=off(seen.work, clear.work),
            clear_setup=clear.setup,
            setup=seen.setup,
            at_client=counts.get((line["workload"], way)),
            clear_projected_s=clear_work_s,
            again_off_pct=off(again_work_s, clear_work_s),
            projected_s=work_s,
            projected_off_pct=off(work_s, clear_work_s),
            measured_s=target.runtime_s if target else np.nan,
            error_pct=off(seen.projected_s(clear_there.rtt.in_stream), target.runtime_s) if target else np.nan,
            clear_error_pct=clear_error,
            hidden_off_pct=off(work_s, decrypted.work_projected_s(FAR_MS)) if decrypted else np.nan,
            keys=differences(clear.capture, decrypted.capture) if decrypted else "none",
        )
        print(told(row), flush=True)
        yield row


def see(folder: Path, line: Line) -> WatchedSoFar:
    return WatchedSoFar(latpcap.read(folder / line["capture"]), line["kind"])


def off(value: float, truth: float) -> float:
    return 100 * (value / truth - 1) if truth else 0.0 if value == truth else np.inf


# --- with keys ------------------------------------------------------------------------------------------------------


def opened(folder: Path, line: Line) -> WatchedSoFar | None:
    """The same capture, read with its keys; none where these open nothing."""
    file = folder / line["capture"]
    keys = file.with_suffix(".keys")
    if not keys.exists() or not keys.stat().st_size:
        return None
    seen = WatchedSoFar(latpcap.read(file, keylog=keys), line["kind"])
    return None if seen.capture.analyze().timing_only else seen


def differences(clear: latpcap.Capture, decrypted: latpcap.Capture) -> str:
    """What the two tell differently, set-up apart; `same` where that is nothing."""
    ours, theirs = counted(clear), counted(decrypted)
    return ", ".join(name for name in ours if ours[name] != theirs[name]) or "same"


def counted(capture: latpcap.Capture) -> dict[str, Any]:
    """Statements with their counts, rows, errors: all that does not depend on time."""
    recording = capture.measures.recording
    exchanges, work = recording.exchanges, ~recording.exchanges.is_setup
    statements = capture.analyze().statements
    return {
        "statements": Counter((one.text, one.executions) for one in statements if one.executions),
        "round trips of statements": Counter((one.text, one.round_trips) for one in statements if one.executions),
        "rows": Counter((one.text, one.rows, one.affected_rows) for one in statements if one.executions),
        "errors": Counter((one.code, one.message, one.statement, one.count) for one in capture.analyze().errors.found),
        "exchanges": int(work.sum()),
        "round trips": int(exchanges.round_trips[work].sum()),
        "request bytes": int(exchanges.request_bytes[work].sum()),
    }


def told(row: Row) -> str:
    return (
        f"{row.workload:32} {row.way:11} {row.clear:6} {row.again:6} {row.seen:6} {row.off_pct:+7.1f} %  "
        f"set-up {row.clear_setup:4} {row.setup:4} all {row.seen + row.setup:4} client {row.at_client}  projected {row.projected_off_pct:+6.1f} % (clear {row.again_off_pct:+5.1f}) "
        f"measured {row.error_pct:+6.1f} % (clear {row.clear_error_pct:+5.1f})"
        f"without keys {row.hidden_off_pct:+5.1f} %  keys: {row.keys}"
    )


def write_csv(path: Path, rows: list[Row]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Row)])
        writer.writeheader()
        for row in rows:
            writer.writerow(
                {name: f"{value:.5g}" if isinstance(value, float) else value for name, value in asdict(row).items()}
            )


if __name__ == "__main__":
    main()
