"""A ranking for people: which is the worst and by how much, a line each, and what could not be ranked and why."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

from latpcap.projection.basis import is_same_rtt
from latpcap.report.destination import going_to
from latpcap.report.section import Column, Section, Sentence, rise, table_of
from latpcap.report.text import printable
from latpcap.result.rank_order import RANK_SORTS, RankOrder
from latpcap.result.verdict import PART_NAMES
from latpcap.tables.columnar.table import Table
from latpcap.units import counted, format_given_ms, format_s, listed

Row = dict[str, Any]

NAME_CELLS = 40
"""The width of a group's name on a terminal."""
FILE_CELLS = 40
"""The width of a file's name before columns that can be spared: it is what was asked for."""
MAX_THINK_SHARE = 0.5
"""A runtime of which think time is a larger share says little about how chatty the work is."""
MAX_FAR = 3
"""Captures at the RTT that was asked for, or above it, whose names are shown."""
THINKS = "In some captures think time is half of the runtime or more; `--by task` leaves it out."


def ranked_sections(rows: Table, asked: RankOrder, shown: int) -> Iterator[Section]:
    """The ranking with no more than the first `shown` rows, and what is not ranked."""
    everything = rows.to_dicts()
    ranked = [row for row in everything if row["rank"] is not None]
    others = [row for row in everything if row["rank"] is None]
    if ranked:
        folder = _folder([row["file"] for row in everything])
        longest = max((len(_called(row["file"], folder)) for row in ranked[:shown]), default=0)
        columns = _columns(asked, min(longest, FILE_CELLS), any(row["errors"] for row in ranked))
        table = table_of(columns, [_filled(row, asked, folder) for row in ranked[:shown]])
        thinks = any(row["think_s"] >= MAX_THINK_SHARE * row["runtime_s"] for row in ranked)
        said = [Sentence(_first(ranked, asked, folder), "strong"), table]
        notes = [*([Sentence(THINKS)] if thinks else []), *_far(ranked, asked, folder)]
        yield Section("rank", "", [*said, *notes])
    else:
        folder = ""
    left = [Sentence(f"{_whose(row, asked, folder)}: {row['reason']}{_failed(row)}") for row in others]
    if left:
        yield Section(
            "not-ranked", f"Not ranked ({len(left):,})", left[: max(shown - len(ranked), 0)] or [Sentence("")]
        )


def _first(ranked: list[Row], asked: RankOrder, folder: str) -> str:
    """Return which one is worst, and what it takes now and there, or what a millisecond costs it."""
    worst = ranked[0]
    where = f" (below {folder})" if folder else ""
    of = f"{counted(len(ranked), asked.by or 'capture')}{where}"
    first = " ".join(filter(None, (asked.by, _whose(worst, asked, folder))))
    now = f"{format_s(worst['runtime_s'])} today"
    if (
        worst["projected_s"] is not None
        and (worst["added_s"] or 0.0) > 0
        and not RANK_SORTS[asked.sort].endswith("per_ms")
    ):
        return f"{of}. Worst: {first}, {now}, {format_s(worst['projected_s'])} at {format_given_ms(asked.rtt_ms)}."
    share = f" ({rise(worst['share_per_ms'])})" if asked.sort == "share" else ""
    return f"{of}. Worst: {first}, {now}, and {format_s(worst['seconds_per_ms'])} more per millisecond of RTT{share}."


def _far(ranked: list[Row], asked: RankOrder, folder: str) -> Iterator[Sentence]:
    """Say which rows took place at the RTT that was asked for, or above: it adds nothing to them."""
    rtt_ms = asked.rtt_ms
    known = [row for row in ranked if row["projected_s"] is not None]
    far = [row for row in known if (own := row["baseline_rtt_ms"]) >= rtt_ms or is_same_rtt(own, rtt_ms)]
    if far and RANK_SORTS[asked.sort] == "added_s":
        names = [_whose(row, asked, folder) for row in far[:MAX_FAR]]
        more = [f"{len(far) - MAX_FAR:,} more"] if len(far) > MAX_FAR else []
        at = f"at {format_given_ms(rtt_ms)} or more already"
        yield Sentence(f"Captured {at}: {listed([*names, *more])}. `--sort seconds` compares them with the others.")


def _columns(asked: RankOrder, file_cells: int, fails: bool) -> list[Column]:
    """Order columns: the ranking ones, those to spare from the right, the file."""
    at, spare = format_given_ms(asked.rtt_ms), RANK_SORTS[asked.sort].__ne__
    return [
        Column("", "id", least=2, name="rank"),
        Column(f"+s at {at}", "figure", name="added_s"),
        Column("+s per ms", "figure", name="seconds_per_ms"),
        Column("cause", optional=True, name="bottleneck"),
        Column("errors", "count", optional=not fails, name="errors"),
        Column("runtime s", "figure", optional=spare("runtime_s"), name="runtime_s"),
        Column("RTT ms", "figure", optional=spare("baseline_rtt_ms"), name="baseline_rtt_ms"),
        Column("loss", "share", optional=spare("loss_share"), name="loss_share"),
        Column("round trips", "count", optional=spare("round_trips"), name="round_trips"),
        Column("more per ms", "rise", optional=spare("share_per_ms"), name="share_per_ms"),
        *([Column(asked.by, name=asked.by)] if asked.by else []),
        Column("finding", optional=True, name="finding"),
        Column(f"× at {at}", "figure", optional=spare("factor"), name="factor"),
        Column("network", "share", optional=spare("network_share"), name="network_share"),
        Column(f"s at {at}", "figure", optional=spare("projected_s"), name="projected_s"),
        Column("think s", "figure", optional=spare("think_s"), name="think_s"),
        Column("timing only", "figures", optional=True, name="timing_only"),
        Column("notes", optional=True, name="health"),
        Column("file", least=max(file_cells, 20), name="file"),
    ]


def _filled(row: Row, asked: RankOrder, folder: str) -> Row:
    """The row as it is read: what is none, and what is not known, says nothing."""
    told = {name: "" if value is None else value for name, value in row.items()}
    for name in ("errors", "loss_share", "round_trips", "think_s"):
        told[name] = told[name] or ""
    names = {asked.by: _fitted(_name(row, asked.by))} if asked.by else {}
    told["bottleneck"] = PART_NAMES.get(f"{told['bottleneck']}_s", told["bottleneck"])
    return told | names | {"timing_only": _timing_only(row), "file": _called(row["file"], folder)}


def _folder(files: Sequence[str]) -> str:
    """The directory that all files are in; the lines need not repeat it."""
    folder = os.path.dirname(files[0]) if files else ""
    while folder and not all(file.startswith(f"{folder.rstrip(os.sep)}{os.sep}") for file in files):
        above = os.path.dirname(folder)
        folder = "" if above == folder else above
    return "" if folder == os.path.dirname(folder) else folder


def _called(file: str, folder: str) -> str:
    return os.path.relpath(file, folder) if folder else file


def _whose(row: Row, asked: RankOrder, folder: str) -> str:
    file = _called(row["file"], folder)
    return f"{_name(row, asked.by)} in {file}" if asked.by else file


def _name(row: Row, by: str) -> str:
    return printable(row[by] or "(none)")


def _fitted(name: str) -> str:
    cut = going_to().bounds_lines and len(name) > NAME_CELLS
    return f"{name[: NAME_CELLS - 1]}…" if cut else name


def _timing_only(row: Row) -> str:
    """How many of its connections could not be read."""
    hidden = row["timing_only"] or 0
    return "" if hidden == 0 else "all" if hidden == row["connections"] else f"{hidden:,} of {row['connections']:,}"


def _failed(row: Row) -> str:
    return f" ({counted(row['errors'], 'error')})" if row["errors"] else ""
