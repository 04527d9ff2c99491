"""A ranking for people: which is the worst and by how much, a line each, and what could not be ranked and why."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from latpcap.report.destination import going_to
from latpcap.report.section import Column, Section, SectionTable, Sentence
from latpcap.report.text import printable
from latpcap.result.rank_order import RANK_SORTS, RankOrder
from latpcap.tables.columnar.table import Table
from latpcap.units import counted, format_given_ms, format_s, percent, significant

__all__ = ["ranked_sections"]

Row = dict[str, Any]
Filled = tuple[Column, Callable[[Row], str]]
"""A column, and how a row fills it."""

NAME_CELLS = 40
"""What the name of a group gets on a terminal."""
FILE_CELLS = 40
"""What the name of a file gets before columns that can be spared: it is what was asked for."""
MUCH_THINK = 0.5
"""Where think time is this part of a runtime, it says little of how chatty the work is."""
THINKS = "Think time is half of the runtime or more in some captures; `--by task` excludes it."


def ranked_sections(rows: Table, asked: RankOrder, shown: int) -> Iterator[Section]:
    """The ranking with no more than the first `shown` rows, and what is not ranked."""
    everything = rows.to_dicts()
    ranked = [row for row in everything if row["rank"] is not None]
    others = [row for row in everything if row["rank"] is None]
    if ranked:
        folder = _folder([row["file"] for row in everything])
        longest = max((len(_called(row["file"], folder)) for row in ranked[:shown]), default=0)
        columns, writers = zip(
            *_columns(asked, folder, min(longest, FILE_CELLS), any(row["errors"] for row in ranked)), strict=True
        )
        cells = [[write(row) for write in writers] for row in ranked[:shown]]
        among = rows.column_names if going_to().bounds_lines else ()
        thinks = any(row["think_s"] >= MUCH_THINK * row["runtime_s"] for row in ranked)
        said = [Sentence(_first(ranked, asked, folder), "strong"), SectionTable(columns, cells, among=among)]
        yield Section("rank", "", [*said, *([Sentence(THINKS)] if thinks else [])])
    else:
        folder = ""
    left = [Sentence(f"{_whose(row, asked, folder)}: {row['reason']}{_failed(row)}") for row in others]
    if left:
        yield Section(
            "not-ranked", f"Not ranked ({len(left):,})", left[: max(shown - len(ranked), 0)] or [Sentence("")]
        )


def _first(ranked: list[Row], asked: RankOrder, folder: str) -> str:
    """The worst one, in a sentence whose product is the figure of its row."""
    worst = ranked[0]
    where = f" (below {folder})" if folder else ""
    of = f"{counted(len(ranked), asked.by or 'capture')}{where}"
    per_ms, runtime = format_s(worst["seconds_per_ms"]), format_s(worst["runtime_s"])
    first = " ".join(filter(None, (asked.by, _whose(worst, asked, folder))))
    adds = f"each further millisecond adds {per_ms} to its {runtime}"
    if (worst["added_s"] or 0) > 0:
        there = format_given_ms(asked.rtt_ms)
        adds = (
            f"an RTT of {there} adds {format_s(worst['added_s'])} to its {runtime}, each further millisecond {per_ms}"
        )
    return (
        f"{of}. First {first}: {adds} ({_percent(worst['share_per_ms'])}), "
        f"{counted(worst['round_trips'], 'round trip')}."
    )


def _columns(asked: RankOrder, folder: str, file_cells: int, fails: bool) -> list[Filled]:
    """What ranks them first, what can be spared from the right, the file last."""
    at, key = format_given_ms(asked.rtt_ms), RANK_SORTS[asked.sort]

    def figures(title: str, name: str, write: Callable[[Any], str], *, optional: bool = True) -> Filled:
        column = Column(title, "figures", optional=optional and name != key, name=name)
        return column, lambda row: write(row[name])

    shown: list[Filled] = [
        (Column("", "figures", least=2, name="rank"), lambda row: f"{row['rank']}"),
        figures(f"+s at {at}", "added_s", _number, optional=False),
        figures("+1 ms", "share_per_ms", _percent, optional=False),
        (Column("culprit", optional=True, name="culprit"), lambda row: row["culprit"] or ""),
        figures("errors", "errors", _count, optional=not fails),
        figures("runtime s", "runtime_s", _number),
        figures("loss", "loss_share", lambda share: _share(share or None)),
        figures("round trips", "round_trips", _count),
        figures("s per ms", "seconds_per_ms", _number),
    ]
    if asked.by is not None:
        by = asked.by
        shown.append((Column(by, name=by), lambda row: _fitted(_name(row, by))))
    shown += [
        (Column("finding", optional=True, name="finding"), lambda row: row["finding"] or ""),
        figures(f"× at {at}", "factor", _number),
        figures("RTT ms", "baseline_rtt_ms", _number),
        figures("network", "network_share", _share),
        figures(f"s at {at}", "projected_s", _number),
        figures("think s", "think_s", lambda seconds: _number(seconds or None)),
        (Column("timing only", "figures", optional=True, name="timing_only"), _timing_only),
        (Column("notes", optional=True, name="health"), lambda row: row["health"] or ""),
        (Column("file", least=max(file_cells, 20), name="file"), lambda row: _called(row["file"], folder)),
    ]
    return shown


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


def _count(number: int | None) -> str:
    return f"{number:,}" if number else ""


def _percent(share: float | None) -> str:
    return "" if share is None else f"+{significant(100 * share)}%"


def _share(share: float | None) -> str:
    return "" if share is None else percent(share)


def _number(value: float | None) -> str:
    return "" if value is None else significant(value)
