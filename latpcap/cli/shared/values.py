"""The values that a shell completes after an option."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from latpcap.findings.finding import Pattern

DEFAULT_KEYS = 100
"""Keys of an `IN` list, as in the help."""


def items(values: Iterable[str], incomplete: str) -> list[CompletionItem]:
    """Return values that begin as typed."""
    return [CompletionItem(value) for value in values if value.startswith(incomplete)]


def fixes(incomplete: str) -> list[CompletionItem]:
    """The names of `--fix` with the values that they usually have."""
    from latpcap.findings.registry import PATTERNS

    named = [written for pattern in PATTERNS if pattern.fix for written in (pattern.fix, *_with_values(pattern))]
    return items([*named, "all"], incomplete)


def _with_values(pattern: Pattern) -> list[str]:
    if pattern.usual:
        return [f"{pattern.fix}={pattern.usual}"]
    return [
        f"{pattern.fix}={word}:{DEFAULT_KEYS}" if word == "in" else f"{pattern.fix}={word}" for word in pattern.choices
    ]


def conditions(incomplete: str) -> list[CompletionItem]:
    """The figures of `--fail-if`."""
    from latpcap.result.checks.figures import FIGURES

    return items(FIGURES, incomplete)


def protocols(incomplete: str) -> list[CompletionItem]:
    """The protocols that latpcap reads."""
    from latpcap._core import protocols as known

    return items(known(), incomplete)


def ports(incomplete: str) -> list[CompletionItem]:
    """A port with each protocol; without a port there is nothing to say."""
    port, _, protocol = incomplete.partition("=")
    return [CompletionItem(f"{port}={item.value}") for item in protocols(protocol)] if port.isdigit() else []


def table_of(ctx: click.Context) -> str:
    """Return the table that a command writes: the one of its name, or the one that it was given."""
    given = ctx.params.get("name") or next(iter(ctx.args), "")  # behind an option without its value nothing is parsed
    return str(given if ctx.info_name == "table" else ctx.info_name)


def columns(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The columns of the command's table, after the commas and the `-` that were typed."""
    from latpcap.result.tables import COLUMNS

    before, comma, last = incomplete.rpartition(",")
    sign = "-" if last.startswith("-") else ""
    return items((f"{before}{comma}{sign}{name}" for name in COLUMNS.get(table_of(ctx), ())), incomplete)


def completes(complete: Callable[[str], list[CompletionItem]]) -> Callable[..., list[CompletionItem]]:
    """`complete` as click calls it."""
    return lambda ctx, param, incomplete: complete(incomplete)
