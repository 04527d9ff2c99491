"""RowOutput as a command writes them: which, in which order, how many, in which format, where to."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click
from msgspec import Struct

from latpcap.cli.shared.io import beside, write
from latpcap.cli.shared.options import Choice, gathered, output_option
from latpcap.cli.shared.values import columns, table_of
from latpcap.errors import UsageError
from latpcap.report import FORMATS, chosen_format, formats_of

if TYPE_CHECKING:
    from latpcap.result.checks.gates import Gates
    from latpcap.tables.columnar.table import Table

T = TypeVar("T")


class RowOutput(Struct, frozen=True):
    """The output of a command's rows."""

    format: str
    path: str | None
    """The file; `None` is standard output."""
    by: tuple[str, ...] = ()
    limit: int | None = None
    columns: tuple[str, ...] = ()
    """The columns asked for; else all, or what a table for people shows."""

    @property
    def is_text(self) -> bool:
        """Whether they are for people, who may see more than a table."""
        return self.format == "table" and not self.columns

    def in_order(self, rows: Table) -> Table:
        """Sort rows, then cut rows and columns as asked."""
        rows = rows.sort(*self.by) if self.by else rows
        rows = rows if self.limit is None else rows.head(self.limit)
        return rows[self.columns] if self.columns else rows

    def in_order_of(self, results: Sequence[T], rows: Callable[[], Table]) -> list[T]:
        """`results`, of which `rows` makes the table, in that order."""
        order = rows().order(*self.by).tolist() if self.by else range(len(results))
        return [results[row] for row in order][: self.limit]

    def write(self, rows: Table, gates: Gates | None = None) -> None:
        """Write them; JSON tells what became of the gates."""
        write(FORMATS[self.format](self.in_order(rows), *beside(self.format, gates)), self.path)


class FormatOption(click.Option):
    """`--format NAME`, of which `--json` is one."""

    def __init__(self, *given: Any, **named: Any) -> None:
        """`--json` is its other name."""
        super().__init__(*given, **named)
        self.secondary_opts = ["--json"]

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        """Both, as one value."""
        parser.add_option(obj=self, opts=self.opts, dest=self.name, action="append", nargs=1)
        parser.add_option(obj=self, opts=self.secondary_opts, dest=self.name, action="append_const", const="json")

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Both with their help."""
        return f"--json, --format [{'|'.join(formats_of('rows'))}]", self.help or ""


def _one_format(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> str | None:
    others = [each for each in dict.fromkeys(value) if each != "json"]
    if others and "json" in value:
        raise UsageError(f"--json and --format {others[0]}: ask for one of them")
    return value[-1] if value else None


format_option = click.option(
    "--format",
    "file_format",
    cls=FormatOption,
    type=Choice(formats_of("rows")),
    multiple=True,
    callback=_one_format,
    help="Output format; by default a table, or the format that the suffix of -o selects.",
)
limit_option = click.option("--limit", type=click.IntRange(min=0), metavar="N", help="Only the first N rows.")
_sort_option = click.option(
    "--sort",
    "by_columns",
    multiple=True,
    metavar="COLUMNS",
    shell_complete=columns,
    help="Sort by these columns, named as in --json; `-` in front for descending order: `-round_trips`.",
)
_columns_option = click.option(
    "--columns",
    multiple=True,
    metavar="COLUMNS",
    shell_complete=columns,
    help="Only these columns, named as in --json: `request_frame,statement`.",
)


def _rows(
    file_format: str | None,
    output: str | None,
    limit: int | None = None,
    columns: tuple[str, ...] = (),
    by_columns: tuple[str, ...] = (),
) -> RowOutput:
    chosen = chosen_format(["rows"], output, file_format)
    if not FORMATS[chosen].is_text and output is None and sys.stdout.isatty():
        name = table_of(click.get_current_context())
        raise UsageError(f"{chosen.capitalize()} is binary: name a file with `-o {name}.{chosen}`")
    return RowOutput(chosen, output, _names(by_columns), limit, tuple(dict.fromkeys(_names(columns))))


def _names(given: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for each in given for name in map(str.strip, each.split(",")))


rows_options = gathered("rows", _rows, _sort_option, _columns_option, limit_option, format_option, output_option)
unsorted_rows_options = gathered("rows", _rows, _columns_option, limit_option, format_option, output_option)
"""Options of commands with their own order."""
queried_rows_options = gathered("rows", _rows, format_option, output_option)
"""Options where a query chooses, sorts and limits the rows."""
