"""The facts of runs that stay in the repository: `facts/`, from which the page can be made again without a capture.

A recording is a table (`NAME.csv.xz`, as `table.py` made it), the same by the version of before (`NAME.before.csv.xz`, where there is one) and
the truth of its runs (`NAME.jsonl.xz`). What crowds did is a table of rates, `crowds.rates.csv.xz`.
"""

from __future__ import annotations

import csv
import io
import json
import lzma
from dataclasses import dataclass
from pathlib import Path

from scores import Row, score_pct, width_pct

FACTS = Path(__file__).resolve().parent / "facts"
OF_THE_PAIR = ("from_ms", "to_ms", "measured_s")
NUMBERS = (*OF_THE_PAIR, "predicted_s", "optimistic_s", "pessimistic_s", "error_pct")
MORE_NUMBERS = ("baseline_ms", "target_ms", "median_ms", "bare_ms", "target_baseline_ms", "echo_ms", "spread_pct")
COUNTS = ("round_trips", "target_round_trips", "runs")
ECHO, IN_STREAM = "echo", "in-stream"


@dataclass(frozen=True)
class Recording:
    """What was recorded in one place."""

    name: str
    rows: list[dict[str, str]]
    before: list[dict[str, str]]
    runs: list[Row]

    def at(self, rtt: str) -> list[Row]:
        """The projections onto the target's echo, or its in-stream mean; pairs of another job left out."""
        return counted(self.rows, rtt)

    def scores_before(self, rtt: str) -> dict[tuple[str, float, float], float]:
        return {key(row): row["score_pct"] for row in counted(self.before, rtt)}


def key(row: Row) -> tuple[str, float, float]:
    return row["workload"], row["from_ms"], row["to_ms"]


def counted(rows: list[dict[str, str]], rtt: str) -> list[Row]:
    known = (row for row in rows if rtt == IN_STREAM or row["echo_ms"] != "nan")
    return [row for row in (typed(row, rtt) for row in known) if row["same_job"]]


def typed(row: dict[str, str], rtt: str = IN_STREAM) -> Row:
    """`predicted_s` and its like at the RTT asked for; tables of before have no scores, so that they are made from the range."""
    prefix = "echo_" if rtt == ECHO else ""
    found: Row = row | {name: float(row[name if name in OF_THE_PAIR else prefix + name]) for name in NUMBERS}
    found |= {name: float(row[name]) for name in MORE_NUMBERS if name in row}
    found |= {name: int(row[name]) for name in COUNTS if name in row}
    found |= {"same_job": row["same_job"] == "True", "inside": row[f"{prefix}inside"] == "True"}
    interval = found["optimistic_s"], found["pessimistic_s"], found["measured_s"]
    return found | {"width_pct": width_pct(*interval), "score_pct": score_pct(*interval)}


def names() -> list[str]:
    """Those with the truth of their runs."""
    return sorted(path.name.removesuffix(".jsonl.xz") for path in FACTS.glob("*.jsonl.xz"))


def load(name: str) -> Recording:
    runs = FACTS / f"{name}.jsonl.xz"
    lines = lzma.decompress(runs.read_bytes()).decode().splitlines() if runs.exists() else []
    return Recording(
        name, table(f"{name}.csv.xz"), table(f"{name}.before.csv.xz"), [json.loads(line) for line in lines]
    )


def table(name: str) -> list[dict[str, str]]:
    path = FACTS / name
    return list(csv.DictReader(io.StringIO(lzma.decompress(path.read_bytes()).decode()))) if path.exists() else []


def keep(name: str, text: str) -> None:
    """The same text makes the same file."""
    FACTS.mkdir(exist_ok=True)
    (FACTS / f"{name}.xz").write_bytes(lzma.compress(text.encode(), preset=9))
