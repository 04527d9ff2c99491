#!/usr/bin/env python3
"""How right projections are, from the facts that are kept, in benchmarks/results/accuracy.md. `python benchmarks/accuracy/page.py`"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from textwrap import fill

import held
import numpy as np
from facts import STATISTIC
from kept import ECHO, FACTS, IN_STREAM, Recording, counted, key, load, names, table
from scores import DOWN, UP, ZERO, Row, figures, how_far, left_out, there_and_back, way

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "accuracy.md"
AT_SERVER = "captured at the server"
WAITS = ("stop and wait", "cursor", "pool", "connect per query")
MOVES = ("bulk", "pipeline", "parallel")
LONG_S = 1.0
"""Of jobs that move data or work side by side, those that take as long are summed up apart."""
DOWNWARDS = ("down by 3", "down by 15", "down further")
LISTED = 12
NAMED: tuple[tuple[str, str, str], ...] = (
    ("starts a query by the clock", "overlap|clients", "periodic|ticker|timer"),
    ("a reader ahead of its worker", "overlap|clients", "prefetch"),
    ("one, several side by side, one: over a pool", "overlap|clients", "fan_out|web"),
    ("waits for the server's push", "overlap|clients", "notified|ping_pong|told_by"),
    ("asynchronous tasks on a pool", "overlap|clients", "tasks|pool|all_at_once|joined"),
    ("look-alikes of these", "overlap", "alike"),
    ("COPY and uploads", "transfers|clients", "copy_in|infile|my_insert$|upload"),
    ("pipelines and batches", "transfers|clients|awake", "pipeline|batch|executemany|flushed"),
    ("a narrow receive window", "transfers", "rcv(16|32|64)"),
    ("a compressed protocol", "transfers|clients", "compressed_(c|py|bulk|nplus1)"),
    ("a BBR sender", "transfers", "bbr"),
    ("N+1 on processors that sleep", "sleeping", "nplus1$"),
    ("3 % of the capture's packets missing", "lossy", "."),
)
"""What no class of the lab's own holds, by the recordings and the names of the workloads."""
AWAKE, SLEEPING = "awake", "sleeping"
TITLES = {
    AWAKE: "processors kept awake, link, servers and clients at real-time priority",
    SLEEPING: "processors that sleep, everything at normal priority, as users have it",
    "clients": "clients that nothing was fitted on, in Go, Node, PHP, Ruby, Rust, and by object mappers",
}
OTHERS = {
    "overlap": "clients that start work by the clock, read ahead, wait for a push, fan out; and look-alikes",
    "overlap-test": "the same with parameters that nothing was fitted on",
    "transfers": "narrow windows, compression, pacing, uploads",
    "lossy": "3 % of the packets missing from the capture (`thin.py`)",
    "earlier": "the 92 workloads of the day before, without an echo",
}

INTRO = """\
# Projections beside measured runs: every figure

[open.md](open.md) is newer, [docs/accuracy.md](../../docs/accuracy.md) the summary. Every workload below was run for
real, by a real client against a real server, at each RTT, over a link that delays every packet. The capture at one RTT
was projected onto the RTT of another, and the prediction compared with what the other took. `benchmarks/accuracy/run`
makes this page: see [benchmarks/accuracy](../accuracy/README.md); the facts of the runs are kept in
`benchmarks/accuracy/facts`, and `page.py` there makes it again from them.

- *measured* and *predicted* are runtimes as latpcap defines them: first packet of the first database connection → last
  data packet of one.
- *At the echo*: the projection was asked for the median of 100 pings, 0.2 s apart, before the runs at that RTT: what a
  user knows of the target's link.
- *In-stream*: it was asked for {statistic}
- *inside*: the measured runtime lies between *optimistic* and *pessimistic*; *half-width*: half the range, in percent of
  what was measured, median.
- *score*: the interval score, mean, in percent of what was measured: width + 2/α · how far outside, α = 0.05. Lower is
  better; neither a narrow range that misses nor a wide one that does not comes cheap. *before* is the score of version
  6121280 on the same captures.
- A pair whose round trips differ by more than 5 % is not the same job, and not counted.
- Of several runs of a workload at one RTT, the one with the median duration counts. Runs during which a CPU stood still
  for more than 1 % of the time count only where there is no other.
- Downwards the network's share of the runtime shrinks by the ratio of the RTTs: *by 3* is up to a fifth of the RTT,
  *by 15* up to a twentieth.
- Links that lose packets, have jitter or are narrow: [accuracy-conditions.md](accuracy-conditions.md).
- The worst cases, with the packets that show why: [accuracy-misses.md](accuracy-misses.md).
"""


def main() -> None:
    recordings = {name: load(name) for name in names()}
    RESULTS.write_text(page(recordings))
    held.main()


def moves_up(row: Row) -> bool:
    return way(row) == UP and row["kind"] in MOVES and row["measured_s"] >= LONG_S


def page(recordings: dict[str, Recording], named: str | None = None) -> str:
    """The whole page as Markdown; `named`: the table of jobs that no class holds."""
    parts = [
        INTRO.format(statistic=STATISTIC),
        in_short(recordings),
        section("What was recorded", [*map(recorded, recordings.values())], 2),
    ]
    for name, title in TITLES.items():
        if name in recordings and recordings[name].at(ECHO):
            parts.append(f"## At the link's echo: {title}\n")
            parts += user(recordings[name])
    parts.append(jobs_of_the_issue(recordings, kept_table()) if named is None else "")
    parts.append(crowds(table("crowds.rates.csv.xz"), table("crowds.rates.before.csv.xz")) if named is None else "")
    for name, found in recordings.items():
        if name not in TITLES:
            parts.append(f"## {sentence(OTHERS.get(name, name))}\n")
            parts += whole(found, ECHO if found.at(ECHO) else IN_STREAM)
    parts.append("## At the target's in-stream mean\n")
    for name in TITLES:
        if name in recordings:
            parts += whole(recordings[name], IN_STREAM)
    for name in (name for name in TITLES if name in recordings):
        parts += [consistency(recordings[name]), held_out(recordings[name]), rtts(recordings[name])]
    return "\n".join(part for part in parts if part)


def recorded(recording: Recording) -> str:
    rows, pairs = recording.at(IN_STREAM), len(recording.rows)
    workloads = {row["workload"] for row in rows if row["kind"] != AT_SERVER}
    runs = [row["runs"] for row in rows]
    noise = [row["spread_pct"] for row in rows if row["spread_pct"]]
    text = (
        f"Recording *{recording.name}*: {len(workloads)} workloads, {len(recording.runs)} runs (target: median of "
        f"{np.median(runs) if runs else 0:g}), {pairs} pairs, {pairs - len(rows)} of them another job."
    )
    if noise:
        text += f" Run to run the runtimes differ by {np.median(noise):.1f} % (median), {np.quantile(noise, 0.9):.1f} % (p90)."
    echoed = len(recording.at(ECHO))
    text += (
        "" if echoed == len(rows) else f" The echo was measured before {echoed} of the targets; the others have none."
    )
    return fill(text, 120) + "\n"


def user(recording: Recording) -> list[str]:
    """What somebody gets who asks for what `ping` said."""
    rows = recording.at(ECHO)
    up = [row for row in rows if way(row) == UP]
    down = [row for row in rows if way(row) == DOWN]
    before = recording.scores_before(ECHO)
    long = [row for row in up if moves_up(row)]
    return [
        section(
            "Up: jobs that wait", summary([row for row in up if row["kind"] in WAITS], kind, before, "all that wait")
        ),
        section(
            f"Up: jobs that move data or work side by side, of {LONG_S:g} s and more",
            summary(long, kind, before, "all of them"),
        ),
        section("Up, all kinds of work", summary(up, kind, before, "all")),
        section("Down: jobs that wait", downwards([row for row in down if row["kind"] in WAITS], before)),
        section("Down, all kinds of work", downwards(down, before)),
        section(f"The {LISTED} worst, up", pairs(worst(up))),
        section(f"The {LISTED} worst, down by 3", pairs(worst([row for row in down if how_far(row) == DOWNWARDS[0]]))),
    ]


def kind(row: Row) -> str:
    return str(row["kind"])


def section(title: str, lines: list[str], level: int = 3) -> str:
    return "\n".join([f"{'#' * level} {title}", "", *(lines or ["None was recorded."]), ""])


def in_short(recordings: dict[str, Recording]) -> str:
    """What was aimed at, and what came of it, at the echo."""
    user = {name: recordings[name].at(ECHO) for name in TITLES if name in recordings}
    lines = [
        "At the echo. *aimed at*: median · p90 · worst error, inside, half-width.",
        "",
        "| | recording | pairs | median error | p90 | worst | inside | half-width | aimed at |",
        "|---|---|--:|--:|--:|--:|--:|--:|---|",
    ]

    def add(title: str, name: str, rows: list[Row], aim: str) -> None:
        if rows:
            found = figures(rows)
            lines.append(
                f"| {title} | {name} | {len(rows)} | {found['median error']:.1f} % | {found['p90']:.1f} % | {found['worst']:.1f} % "
                f"| {found['inside']:.0f} % | {found['half-width']:.1f} % | {aim} |"
            )

    for name, rows in user.items():
        up = [row for row in rows if way(row) == UP]
        aim = f"1 · {5 if name == SLEEPING else 3} · 8 %, 97 %, 5 %"
        add("jobs that wait, up", name, [row for row in up if row["kind"] in WAITS], aim)
        long = [row for row in up if moves_up(row)]
        add(f"bulk, pipelines, side by side, {LONG_S:g} s and more, up", name, long, "p90 12 %, 92 %")
        for far, aimed in zip(
            DOWNWARDS, ("median 4 %, 95 %", "median 8 %, 95 %", "0.1 ms a round trip, 95 %"), strict=True
        ):
            there = [row for row in rows if how_far(row) == far and row["kind"] in (*WAITS, *MOVES)]
            off = [abs(per_round_trip_ms(row)) for row in there if row["target_round_trips"]]
            add(far, name, there, aimed + (f": median {np.median(off):.3f} ms" if off and far == DOWNWARDS[-1] else ""))
    return section("In short", lines, 2) if len(lines) > 4 else ""


def summary(
    rows: list[Row], name_of: Callable[[Row], str], before: dict[tuple[str, float, float], float], whole: str = ""
) -> list[str]:
    """A line a group: errors, coverage, width and score; first all of them where the `whole` has a name."""
    groups: dict[str, list[Row]] = {whole: rows} if whole and rows else {}
    for row in rows:
        groups.setdefault(name_of(row), []).append(row)
    lines = [
        "| | pairs | median error | p90 | worst | mean, signed | inside | half-width | score | before |",
        "|---" + "|--:" * 9 + "|",
    ]
    for name, group in groups.items():
        found = figures(group)
        old = [before[key(row)] for row in group if key(row) in before]
        was = f"{np.mean(old):.1f}" if len(old) == len(group) else "–"
        lines.append(
            f"| {name} | {len(group)} | {found['median error']:.1f} % | {found['p90']:.1f} % | {found['worst']:.1f} % "
            f"| {found['mean, signed']:+.1f} % | {found['inside']:.0f} % | {found['half-width']:.1f} % | {found['score']:.1f} | {was} |"
        )
    return lines if rows else []


def downwards(rows: list[Row], before: dict[tuple[str, float, float], float]) -> list[str]:
    """By how far; and the error a round trip, which is what counts where little of the runtime is left."""
    ordered = sorted(rows, key=lambda row: DOWNWARDS.index(how_far(row)))
    lines = summary(ordered, how_far, before)
    if not lines:
        return lines
    told = [lines[0] + " median error a round trip | p90 |", lines[1] + "--:|--:|"]
    for line in lines[2:]:
        name = line.split("|")[1].strip()
        off = [abs(per_round_trip_ms(row)) for row in ordered if how_far(row) == name and row["target_round_trips"]]
        told.append(f"{line} {np.median(off):.3f} ms | {np.quantile(off, 0.9):.3f} ms |")
    return told


def per_round_trip_ms(row: Row) -> float:
    return 1000 * (row["predicted_s"] - row["measured_s"]) / row["target_round_trips"]


def whole(recording: Recording, rtt: str) -> list[str]:
    """Everything of one recording, in three tables."""
    rows, before = recording.at(rtt), recording.scores_before(rtt)
    up, down, zero = ([row for row in rows if way(row) == wanted] for wanted in (UP, DOWN, ZERO))
    asked = "at the echo" if rtt == ECHO else "in-stream"
    parts = [section(f"Recording *{recording.name}*, {asked}, up", summary(up, kind, before, "all"))]
    parts += [section(f"Recording *{recording.name}*, {asked}, down", downwards(down, before))] if down else []
    parts += [section(f"Recording *{recording.name}*, {asked}, from 0 ms", summary(zero, way, before))] if zero else []
    return parts


def consistency(recording: Recording) -> str:
    """There and back: what the capture at the short RTT adds, against what the one at the long RTT takes off."""
    off = there_and_back(recording.at(ECHO) or recording.at(IN_STREAM))
    if not off:
        return ""
    groups: dict[str, list[tuple[Row, float]]] = {"all": off}
    for pair, value in off:
        groups.setdefault(kind(pair), []).append((pair, value))
    lines = [
        fill(
            "What a projection up adds to the runtime, from the one capture, less what the projection back down takes off, from the "
            "other; in percent of the longer run. *within* counts the pairs that return within 5 %.",
            120,
        ),
        "",
        "| | pairs | median | p90 | mean, signed | within |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for name, group in groups.items():
        values = np.array([value for _, value in group])
        size = np.abs(values)
        lines.append(
            f"| {name} | {len(group)} | {np.median(size):.1f} % | {np.quantile(size, 0.9):.1f} % | {values.mean():+.1f} % | {np.mean(size <= 5):.0%} |"
        )
    return section(f"There and back, recording *{recording.name}*", lines, 2)


def held_out(recording: Recording) -> str:
    """Is there a factor left to learn? Each class's mean error, calibrated on all other workloads and taken off this one."""
    rows = [row for row in recording.at(ECHO) or recording.at(IN_STREAM) if way(row) == UP]

    def fit(others: list[Row]) -> dict[str, float]:
        return {
            name: float(np.median([row["error_pct"] for row in others if kind(row) == name]))
            for name in set(map(kind, others))
        }

    def tested(bias: dict[str, float], own: list[Row]) -> list[Row]:
        return [row | {"corrected_pct": row["error_pct"] - bias.get(kind(row), 0.0)} for row in own]

    if not rows:
        return ""
    test = left_out(rows, fit, tested)
    lines = [
        fill(
            "For each class a factor was calibrated that takes its median error off, on all workloads but one, and tried on that one. "
            "Where the errors stay as they are, no constant is left to be fitted.",
            120,
        ),
        "",
        "| | pairs | median error | with the factor | p90 | with the factor |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    groups: dict[str, list[Row]] = {"all": test}
    for row in test:
        groups.setdefault(kind(row), []).append(row)
    for name, group in groups.items():
        plain, better = (np.abs([row[column] for row in group]) for column in ("error_pct", "corrected_pct"))
        lines.append(
            f"| {name} | {len(group)} | {np.median(plain):.1f} % | {np.median(better):.1f} % | {np.quantile(plain, 0.9):.1f} % | {np.quantile(better, 0.9):.1f} % |"
        )
    return section(f"Leave one workload out, recording *{recording.name}*, up", lines, 2)


def rtts(recording: Recording) -> str:
    """What the link was asked for, what the echo and the captures show, and what latpcap took it for; medians over the workloads."""
    lines = [
        "| asked of the link | echo | mean in-stream | median in-stream | bare ACKs | latpcap's estimate |",
        "|--:|--:|--:|--:|--:|--:|",
    ]
    rows = recording.at(IN_STREAM)
    for asked in sorted({row["to_ms"] for row in rows}):
        targets = list({row["workload"]: row for row in rows if row["to_ms"] == asked}.values())
        columns = ("echo_ms", "target_ms", "median_ms", "bare_ms", "target_baseline_ms")
        cells = [np.array([row[name] for row in targets]) for name in columns]
        values = " | ".join("–" if np.isnan(cell).all() else f"{np.nanmedian(cell):.3f} ms" for cell in cells)
        lines.append(f"| {asked:g} ms | {values} |")
    return section(f"The RTTs, recording *{recording.name}*", lines, 2)


def crowds(rates: list[dict[str, str]], before: list[dict[str, str]]) -> str:
    """`--connections`: statements a second of N clients, from captures of fewer (`crowds.py`)."""
    if not rates:
        return ""
    rows, old = [typed_rate(row) for row in rates], [typed_rate(row) for row in before]
    largest: dict[tuple[str, str], Row] = {}
    for row in sorted(rows, key=lambda row: (row["clients"], row["of_clients"])):
        largest[row["workload"], row["rtt_ms"]] = row
    lines = [
        "Statements a second of more clients, from the capture of fewer, at the same RTT (`--connections`): pgbench and other",
        "crowds, on two processors, on one (`pg1_`), with a service that sleeps (`_sleep`), with locks (`tpcb`, `hot`).",
        "",
        "| | pairs | median error | p90 | worst | mean, signed | inside | half-width | score | before |",
        "|---" + "|--:" * 9 + "|",
    ]
    for name, chosen in (
        ("all", lambda row: True),
        ("a limit shows in the capture", lambda row: bool(row["limit_per_s"])),
        ("none shows", lambda row: not row["limit_per_s"]),
    ):
        group = [row for row in rows if chosen(row)]
        if group:
            keys = {(row["workload"], row["rtt_ms"], row["clients"], row["of_clients"]) for row in group}
            was = [
                row["score_pct"]
                for row in old
                if (row["workload"], row["rtt_ms"], row["clients"], row["of_clients"]) in keys
            ]
            found = figures(group)
            lines.append(
                f"| {name} | {len(group)} | {found['median error']:.1f} % | {found['p90']:.1f} % | {found['worst']:.1f} % "
                f"| {found['mean, signed']:+.1f} % | {found['inside']:.0f} % | {found['half-width']:.1f} % | {found['score']:.0f} "
                f"| {f'{np.mean(was):.0f}' if was else '–'} |"
            )
    lines += ["", "From the largest crowd captured to the largest that ran:", ""]
    lines += [
        "| job | RTT | clients | measured | predicted | range | inside | limit |",
        "|---|--:|--:|--:|--:|--:|---|--:|",
    ]
    for row in largest.values():
        lines.append(
            f"| {row['workload']} | {row['rtt_ms']} ms | {row['clients']} → {row['of_clients']} | {row['measured_per_s']:,.0f}/s "
            f"| {row['predicted_per_s']:,.0f}/s | {row['low_per_s']:,.0f} … {row['high_per_s']:,.0f} | {'yes' if row['inside'] else 'no'} "
            f"| {row['limit_per_s'] or 'none known'} |"
        )
    return section("More clients", lines, 2)


def typed_rate(row: dict[str, str]) -> Row:
    numbers = ("measured_per_s", "predicted_per_s", "low_per_s", "high_per_s", "error_pct", "width_pct", "score_pct")
    found: Row = row | {name: float(row[name]) for name in numbers}
    return found | {
        "inside": row["inside"] == "True",
        "clients": int(row["clients"]),
        "of_clients": int(row["of_clients"]),
    }


def jobs_of_the_issue(recordings: dict[str, Recording], told: str) -> str:
    """Jobs that were far off: at each way the mean signed error and the coverage, before and now."""
    lines = [
        "At the echo where it was measured, else in-stream. *before* is version 6121280 on the same captures.",
        "",
        "| job | way | pairs | before: mean, signed | inside | now: median error | mean, signed | inside | half-width |",
        "|---|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for title, places, workloads in NAMED:
        now, before = (
            named_rows(recordings, places, workloads, old=False),
            named_rows(recordings, places, workloads, old=True),
        )
        for wanted in (UP, DOWN):
            group, was = ([row for row in rows if way(row) == wanted] for rows in (now, before))
            if group:
                found, old = figures(group), figures(was) if was else None
                old_cells = f"{old['mean, signed']:+.0f} % | {old['inside']:.0f} %" if old else "– | –"
                lines.append(
                    f"| {title} | {wanted} | {len(group)} | {old_cells} | {found['median error']:.1f} % | {found['mean, signed']:+.1f} % "
                    f"| {found['inside']:.0f} % | {found['half-width']:.1f} % |"
                )
    lines += ["", *told.splitlines()] if told else []
    return section("Jobs that were far off", lines, 2) if len(lines) > 4 else ""


def named_rows(recordings: dict[str, Recording], places: str, workloads: str, *, old: bool) -> list[Row]:
    found: list[Row] = []
    for name in (name for name in places.split("|") if name in recordings):
        recording = recordings[name]
        rtt = ECHO if recording.at(ECHO) else IN_STREAM
        found += [
            row
            for row in counted(recording.before if old else recording.rows, rtt)
            if re.search(workloads, re.sub(r"_s?\d+$", "", row["workload"])) and row["kind"] != AT_SERVER
        ]
    return found


def sentence(words: str) -> str:
    return words[:1].upper() + words[1:]


def kept_table() -> str:
    path = FACTS / "jobs.md"
    return path.read_text() if path.exists() else ""


def direction(row: Row) -> str:
    return f"{row['from_ms']:g} → {row['to_ms']:g} ms"


def worst(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: -abs(row["error_pct"]))[:LISTED]


def pairs(rows: list[Row]) -> list[str]:
    lines = [
        "| workload | kind | link | asked for | measured | predicted | error | optimistic … pessimistic | inside |",
        "|---|---|--:|--:|--:|--:|--:|--:|---|",
    ]
    for row in rows:
        lines.append(
            f"| {row['workload']} | {row['kind']} | {direction(row)} | {row['echo_ms']:.2f} ms | {row['measured_s']:.3f} s | {row['predicted_s']:.3f} s "
            f"| {row['error_pct']:+.1f} % | {row['optimistic_s']:.3f} … {row['pessimistic_s']:.3f} | {'yes' if row['inside'] else 'no'} |"
        )
    return lines if rows else []


if __name__ == "__main__":
    main()
