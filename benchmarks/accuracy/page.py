"""docs/accuracy.md: the summaries first, then every workload, then every pair."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from textwrap import fill
from typing import Any

import numpy as np
from scores import DOWN, UP, ZERO, way

Row = dict[str, Any]

INTRO = """\
# How right the projection is

Every workload below was run for real, by a real client against a real server, at each RTT, over a link that delays
every packet. The capture at one RTT was projected onto the RTT of another, and the prediction compared with what the
other took. `benchmarks/accuracy/run` makes this page: see [benchmarks/accuracy](../benchmarks/accuracy/README.md).

- *measured* and *predicted* are runtimes as latpcap defines them: first packet of the first database connection → last
  data packet of one.
- The RTT that a projection is asked for is {statistic}
- *inside*: the measured runtime lies between *optimistic* and *pessimistic*.
- A pair whose round trips differ by more than 5 % is not the same job: it is listed as *other job* and not counted.
- Of several runs of a workload at one RTT, the one with the median duration counts. *run to run* is half the range of
  the target's durations (median): no projection can be expected to be better than that. Runs during which a CPU stood
  still for more than 1 % of the time count only where there is no other.
- From 0 ms is counted apart: there the link itself (about 0.1 ms) is most of the RTT.
- Links that lose packets, are uneven or narrow: [accuracy-conditions.md](accuracy-conditions.md).
"""

AT_SERVER = "captured at the server"
SHOWN = ("0.5 → 15 ms", "15 → 1 ms")
"""The directions whose pairs are listed with all their figures; the others have their errors only."""


def page(rows: list[Row], runs: list[Row], statistic: str, validated: str = "") -> str:
    """The whole page as Markdown; `validated`: what `latpcap validate` prints of one pair."""
    counted = [row for row in rows if row["same_job"]]
    up = [row for row in counted if way(row) == UP]
    down = [row for row in counted if way(row) == DOWN]
    parts = [
        INTRO.format(statistic=statistic),
        recorded(rows, runs),
        section("Summary", summary(counted, lambda row: way(row), (UP, DOWN, ZERO))),
        section("By direction", summary(counted, direction)),
        section(
            "By protocol",
            summary(up, lambda row: f"{row['protocol']}, up")
            + summary(down, lambda row: f"{row['protocol']}, down")[2:],
        ),
        section("By kind of work, up", summary(up, lambda row: row["kind"])),
        section("By kind of work, down", summary(down, lambda row: row["kind"])),
        section("The twelve worst, up", pairs(worst(up, 12))),
        section("Error of every workload, in percent", grid(rows)),
        section("The RTTs", rtts(rows)),
        *(
            [section("One pair, as `latpcap validate` prints it", ["```console", *validated.splitlines(), "```"])]
            if validated
            else []
        ),
        *(
            section(f"Measured and predicted, {shown}", pairs([row for row in rows if direction(row) == shown]))
            for shown in SHOWN
        ),
        "All pairs are in `accuracy.csv` beside the captures.\n",
    ]
    return "\n".join(parts)


def recorded(rows: list[Row], runs: list[Row]) -> str:
    workloads = {row["workload"] for row in rows if row["kind"] != AT_SERVER}
    both_ends = {row["workload"] for row in rows if row["kind"] == AT_SERVER}
    other = [row for row in rows if not row["same_job"]]
    noise = [row["spread_pct"] for row in rows if row["spread_pct"]]
    text = (
        f"{len(workloads)} workloads ({len(both_ends)} of them captured at the server too), {len(runs)} runs, "
        f"{len(rows)} pairs, {len(other)} of them another job."
    )
    if noise:
        spread = f"{np.median(noise):.1f} % (median), {np.quantile(noise, 0.9):.1f} % (p90)"
        text += f" Run to run the measured runtimes differ by {spread}."
    return fill(text, 120) + "\n"


def section(title: str, lines: list[str]) -> str:
    return "\n".join([f"## {title}", "", *lines, ""])


def direction(row: Row) -> str:
    return f"{row['from_ms']:g} → {row['to_ms']:g} ms"


def summary(rows: list[Row], key: Callable[[Row], str], order: Iterable[str] | None = None) -> list[str]:
    """Median, p90 and worst absolute error, and coverage of the range, by `key`."""
    groups: dict[str, list[Row]] = {name: [] for name in order or ()}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    lines = [
        "| | pairs | median error | p90 | worst | mean, signed | inside the range | run to run | by bare ACKs: median | p90 | inside |"
    ]
    lines.append("|---" + "|--:" * 10 + "|")
    for name, group in groups.items():
        if not group:
            continue
        error = np.array([row["error_pct"] for row in group])
        size = np.abs(error)
        inside = np.mean([row["inside"] for row in group])
        repeated = [row["spread_pct"] for row in group if row["spread_pct"]]
        noise = f"{np.median(repeated):.1f} %" if repeated else "–"
        bare = np.abs([row["bare_error_pct"] for row in group])
        bare_inside = np.mean([row["bare_inside"] for row in group])
        lines.append(
            f"| {name} | {len(group)} | {np.median(size):.1f} % | {np.quantile(size, 0.9):.1f} % | {size.max():.1f} % "
            f"| {error.mean():+.1f} % | {inside:.0%} | {noise} "
            f"| {np.median(bare):.1f} % | {np.quantile(bare, 0.9):.1f} % | {bare_inside:.0%} |"
        )
    return lines


def rtts(rows: list[Row]) -> list[str]:
    """What the link was asked for, what the captures show, and what latpcap took it for; medians over the workloads."""
    lines = [
        "| asked of the link | mean in-stream | median in-stream | bare ACKs | latpcap's estimate | estimate less mean | p90 of that, either sign |",
        "|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for asked in sorted({row["to_ms"] for row in rows}):
        targets = list({row["workload"]: row for row in rows if row["to_ms"] == asked}.values())
        columns = {
            name: np.array([row[name] for row in targets])
            for name in ("target_ms", "median_ms", "bare_ms", "target_baseline_ms")
        }
        off = 100 * (columns["target_baseline_ms"] / columns["target_ms"] - 1)
        values = " | ".join(f"{np.nanmedian(column):.3f} ms" for column in columns.values())
        lines.append(
            f"| {asked:g} ms | {values} | {np.nanmedian(off):+.1f} % | {np.nanquantile(np.abs(off), 0.9):.1f} % |"
        )
    return lines


def worst(rows: list[Row], count: int) -> list[Row]:
    return sorted(rows, key=lambda row: -abs(row["error_pct"]))[:count]


def grid(rows: list[Row]) -> list[str]:
    """One line a workload, one column a direction: the error, `!` where the measured runtime lies outside the range."""
    columns = [name for name in dict.fromkeys(map(direction, rows)) if not name.startswith("0 ")]
    cells: dict[str, dict[str, str]] = {}
    about: dict[str, Row] = {}
    for row in rows:
        about.setdefault(row["workload"], row)
        mark = "" if row["inside"] else " !"
        cells.setdefault(row["workload"], {})[direction(row)] = (
            f"{row['error_pct']:+.1f}{mark}" if row["same_job"] else "other job"
        )
    lines = ["| workload | kind | driver | " + " | ".join(columns) + " |", "|---|---|---" + "|--:" * len(columns) + "|"]
    for name, found in cells.items():
        lines.append(
            f"| {name} | {about[name]['kind']} | {about[name]['driver']} | "
            + " | ".join(found.get(column, "") for column in columns)
            + " |"
        )
    return lines


def pairs(rows: list[Row]) -> list[str]:
    lines = [
        "| workload | protocol | RTT: estimated → asked for | measured | predicted | error | optimistic … pessimistic | inside | round trips | application |",
        "|---|---|--:|--:|--:|--:|--:|---|--:|--:|",
    ]
    for row in rows:
        inside = ("yes" if row["inside"] else "no") if row["same_job"] else "other job"
        trips = (
            f"{row['round_trips']}"
            if row["round_trips"] == row["target_round_trips"]
            else f"{row['round_trips']} / {row['target_round_trips']}"
        )
        lines.append(
            f"| {row['workload']} | {row['protocol']} | {row['baseline_ms']:.2f} → {row['target_ms']:.2f} | {row['measured_s']:.3f} s "
            f"| {row['predicted_s']:.3f} s | {row['error_pct']:+.1f} % | {row['optimistic_s']:.3f} … {row['pessimistic_s']:.3f} | {inside} | {trips} | {row['application_s']:.3f} s |"
        )
    return lines
