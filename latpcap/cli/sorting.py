"""`--sort` and `--limit`: in which order rows are written, and how many. Every command that writes rows has them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from latpcap.cli.values import columns

if TYPE_CHECKING:
    from latpcap.tables.table import Table

__all__ = ["in_order", "in_order_of", "limit_option", "sort_options"]

T = TypeVar("T")
SORT, LIMIT = "latpcap.sort", "latpcap.limit"


def _kept(key: str) -> Any:
    """For whoever writes the rows, so that no command has to pass it on."""

    def keep(context: click.Context, _: click.Parameter, value: Any) -> None:
        context.meta[key] = value

    return keep


limit_option = click.option(
    "--limit",
    type=click.IntRange(min=0),
    metavar="N",
    expose_value=False,
    callback=_kept(LIMIT),
    help="No more than N rows, the first ones.",
)
sort_options = (
    click.option(
        "--sort",
        multiple=True,
        metavar="COLUMNS",
        shell_complete=columns,
        expose_value=False,
        callback=_kept(SORT),
        help="By these columns, called as in --json, with `-` before one from the largest down: `-round_trips`.",
    ),
    limit_option,
)


def in_order(rows: Table) -> Table:
    """The rows as the options of the running command ask for them."""
    by, limit = _asked()
    rows = rows.sort(*by) if by else rows
    return rows if limit is None else rows.head(limit)


def in_order_of(results: Sequence[T], rows: Callable[[], Table]) -> list[T]:
    """`results`, of which `rows` makes the table, in that order."""
    by, limit = _asked()
    order = rows().order(*by).tolist() if by else range(len(results))
    return [results[row] for row in order][:limit]


def _asked() -> tuple[list[str], int | None]:
    context = click.get_current_context(silent=True)
    meta = context.meta if context else {}
    return [name for given in meta.get(SORT) or () for name in map(str.strip, given.split(","))], meta.get(LIMIT)
