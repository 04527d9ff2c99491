"""The output of text, and so how wide it may be and whether colour shows there.

A terminal gets its own width and colour. A pipe or a file gets neither: tables are as wide as they need, sentences stay
on one line. `COLUMNS` overrules the width; `--color`, `NO_COLOR`, `CLICOLOR_FORCE` and `FORCE_COLOR` the colour.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextvars import ContextVar

from msgspec import Struct
from msgspec.structs import replace

COLOURS = ("auto", "always", "never")
UNBOUNDED_CELLS = 1_000_000
"""The width if nothing bounds a line."""
VIRTUAL_TERMINAL = 4
"""A mode of Windows' console: ENABLE_VIRTUAL_TERMINAL_PROCESSING."""


class Destination(Struct, frozen=True):
    """Standard output unless `is_file`; `colour` is one of `COLOURS`."""

    colour: str = "auto"
    is_file: bool = False
    is_utc: bool = False
    """No local time beside UTC."""

    @property
    def is_terminal(self) -> bool:
        """Whether a person reads it as it is written."""
        return not self.is_file and sys.stdout is not None and sys.stdout.isatty()

    @property
    def is_coloured(self) -> bool:
        """Return what was asked for, else the environment's wish, else whether it is a terminal."""
        if self.colour != "auto":
            return self.colour == "always"
        wanted = None if self.is_file else _colour_wanted(os.environ)
        return self.is_terminal and _takes_escapes() if wanted is None else wanted

    @property
    def width(self) -> int | None:
        """Cells of a line; `None`: as wide as the terminal is."""
        columns = "" if self.is_file else os.environ.get("COLUMNS", "")
        if columns.isascii() and columns.isdigit() and int(columns) > 0:
            return int(columns)
        return None if self.is_terminal else UNBOUNDED_CELLS

    @property
    def bounds_lines(self) -> bool:
        """Whether lines end somewhere, so that what does not fit must be cut or wrapped."""
        return self.width != UNBOUNDED_CELLS

    @property
    def takes_unicode(self) -> bool:
        """Files are UTF-8; standard output has an encoding of its own, and Windows' consoles before 10 poor fonts."""
        encoding = None if self.is_file else getattr(sys.stdout, "encoding", None)
        is_old = sys.platform == "win32" and self.is_terminal and not _takes_escapes()
        return (encoding or "utf-8").lower().startswith("utf") and not is_old


def _takes_escapes() -> bool:
    """Whether the terminal knows sequences for colour; Windows' does from Windows 10 on, once it is told to."""
    if sys.platform != "win32":
        return os.environ.get("TERM") != "dumb"
    import ctypes
    import msvcrt

    system, mode = ctypes.windll.kernel32, ctypes.c_ulong()
    console = ctypes.c_void_p(msvcrt.get_osfhandle(sys.stdout.fileno()))
    known = system.GetConsoleMode(console, ctypes.byref(mode))
    return bool(known and system.SetConsoleMode(console, mode.value | VIRTUAL_TERMINAL))


def _colour_wanted(environment: Mapping[str, str]) -> bool | None:
    """Return the environment's choice, if any: no-color.org, bixense.com/clicolors, force-color.org.

    >>> _colour_wanted({"NO_COLOR": "1", "FORCE_COLOR": "1"}), _colour_wanted({"CLICOLOR_FORCE": "1"})
    (False, True)
    """
    if environment.get("NO_COLOR"):
        return False
    if any(environment.get(name, "0") not in ("", "0") for name in ("CLICOLOR_FORCE", "FORCE_COLOR")):
        return True
    return False if environment.get("CLICOLOR") == "0" else None


_DESTINATION: ContextVar[Destination] = ContextVar("destination", default=Destination())  # noqa: B039 (it is frozen)


def going_to() -> Destination:
    """Return the current output."""
    return _DESTINATION.get()


def send_to(*, colour: str | None = None, is_file: bool | None = None, is_utc: bool | None = None) -> None:
    """Say where what is printed goes from now on; `None` leaves it as it is."""
    given = {"colour": colour, "is_file": is_file, "is_utc": is_utc}
    _DESTINATION.set(replace(_DESTINATION.get(), **{name: value for name, value in given.items() if value is not None}))
