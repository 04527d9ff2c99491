"""Files that options and arguments name: the type says whether one is read or written, and commands go by it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from typing import Any

import click

from latpcap.errors import UsageError
from latpcap.units import UNITS

GITHUB = "github"
"""The build server that reads standard error."""


class _Input(click.Path):
    """The name of a file that is read; whether it can be is told where it is opened."""

    def __init__(self, what: str) -> None:
        super().__init__(readable=False)
        self.what = what


class _Capture(_Input):
    """The name of a capture; a unit that a blank parted from its number is none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the name."""
        if value in UNITS and not os.path.exists(value):
            raise UsageError(
                f"`{value}` is a unit, not a capture: write it without a blank behind its number, 15{value}"
            )
        return super().convert(value, param, ctx)


class _Output(click.Path):
    """The name of a file or folder of this machine that is written."""

    def __init__(self, *, is_folder: bool = False) -> None:
        super().__init__(readable=False)
        self.is_folder = is_folder

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The name; a URL is refused."""
        from latpcap.tables.writing.outputs import check_here

        check_here(value)
        return super().convert(value, param, ctx)


class _CiOutput(_Output):
    """A file for build servers, or the name of one that reads standard error."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The name."""
        return value if value == GITHUB else super().convert(value, param, ctx)


CAPTURE, KEY_LOG, BASELINE = _Capture("capture"), _Input("key log"), _Input("baseline")
OUTPUT, CI_OUTPUT, OUTPUT_FOLDER = _Output(), _CiOutput(), _Output(is_folder=True)
FOLDER = click.Path(readable=False)
"""A folder in which temporary files are made."""


def never_over_inputs(command: click.Command) -> None:
    """Have a command refuse outputs that it reads, that are one file, or that cannot be written, before all else."""
    run = command.callback
    assert run is not None

    @wraps(run)
    def checked(**given: Any) -> Any:
        outputs = [
            each for each in _named(command, given, lambda kind: kind in (OUTPUT, CI_OUTPUT)) if each[1] != GITHUB
        ]
        folders = [*_named(command, given, lambda kind: kind is OUTPUT_FOLDER)]
        if outputs or folders:
            from latpcap.tables.writing.outputs import check

            check((path for _, path in outputs), _inputs(command, given), folders=(path for _, path in folders))
        return run(**given)

    command.callback = checked


def _inputs(command: click.Command, given: dict[str, Any]) -> Iterator[tuple[str, str]]:
    return ((kind.what, path) for kind, path in _named(command, given, lambda kind: isinstance(kind, _Input)))


def _named(command: click.Command, given: dict[str, Any], is_asked: Callable[[Any], bool]) -> Iterator[tuple[Any, str]]:
    """The files that parameters of such a type name."""
    for param in command.params:
        value = given.get(param.name or "")
        if value is not None and is_asked(param.type):
            several: Iterable[str] = value if isinstance(value, tuple | list) else (value,)
            yield from ((param.type, path) for path in several)
