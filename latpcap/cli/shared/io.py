"""The output of commands: writing results, warning on standard error."""

from __future__ import annotations

import codecs
import errno
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from typing import IO, TYPE_CHECKING, Any

import click

from latpcap.errors import NO_ROOM, UsageError, unwritten

if TYPE_CHECKING:
    from latpcap.capture import Capture
    from latpcap.result.checks.gates import Gates
    from latpcap.tables.columnar.table import Table

MAX_WARNINGS = 50
"""Warnings printed: of thousands of damaged files nobody reads one each."""
SIGPIPE_STATUS = 128 + 13
"""The exit status that shells report for SIGPIPE, which Windows does not have."""
GONE = (errno.EPIPE, errno.EINVAL) if sys.platform == "win32" else (errno.EPIPE,)
"""The system's errors where nobody reads any more."""


def make_output_encodable() -> None:
    """Have what the encoding of a console or a pipe lacks written in ASCII, as reports are there."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and not stream.encoding.lower().startswith("utf"):
            codecs.register_error("latpcap", _spelt)
            stream.reconfigure(errors="latpcap")


def _spelt(error: UnicodeError) -> tuple[str, int]:
    from latpcap.report.text import ascii_only

    assert isinstance(error, UnicodeEncodeError)
    return ascii_only(error.object[error.start : error.end]), error.end


def result_format(as_json: bool, output: str | None, *kinds: str) -> str:
    """The format of a result that was asked for, else what the output's name says, else text for people."""
    from latpcap.report import chosen_format

    return chosen_format(kinds or ("result",), output, "json" if as_json else None)


def write_result(result: object, chosen: str, output: str | None, gates: Gates | None = None) -> None:
    """Write what a command found in the chosen format; JSON tells what became of the gates."""
    from latpcap.report import FORMATS

    text = FORMATS[chosen](result, *beside(chosen, gates))
    write([text] if isinstance(text, str) else text, output)


def beside(chosen: str, gates: Gates | None) -> list[dict[str, Any]]:
    """Return what this format adds to a result."""
    return [gates.parts()] if chosen == "json" and gates is not None else []


def write(parts: Iterable[str | bytes], output: str | None) -> None:
    """Write to the file `output`, or to standard output; what cannot be written is told (`unwritten`)."""
    if output is None:
        _write_to_standard_output(parts)
        return
    from latpcap.tables.writing.outputs import write as write_file

    write_file(output, parts)


def _write_to_standard_output(parts: Iterable[str | bytes]) -> None:
    if sys.stdout is None:
        raise UsageError("standard output is closed: name a file with -o")
    try:
        _write_to(sys.stdout.buffer, parts)
    except OSError as error:
        raise _not_taken(error) from None


@contextmanager
def click_writes() -> Iterator[None]:
    """Raise the right exception where click cannot print a help or a version."""
    try:
        yield
    except OSError as error:
        if error.filename is not None or error.errno not in (*GONE, *NO_ROOM):
            raise
        raise _not_taken(error) from None


def _not_taken(error: OSError) -> Exception:
    """Return what to raise where standard output takes no more, and close it to further text."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # so that the exit does not complain again
    if error.errno in GONE:
        return click.exceptions.Exit(SIGPIPE_STATUS)
    return unwritten("standard output", error)


def _write_to(file: IO[bytes], parts: Iterable[str | bytes]) -> None:
    for part in parts:
        rest = memoryview(part.encode("utf-8", "replace") if isinstance(part, str) else part)
        while rest:
            rest = rest[file.write(rest) :]  # an unbuffered standard output takes only as much as the pipe has room for
    file.flush()


def teller(quiet: bool) -> Callable[[str], None]:
    """Return a function that says a line on standard error, or nothing where `quiet`."""
    from latpcap.report.text import printable

    def say(text: str) -> None:
        if not quiet:
            click.echo(f"latpcap: {printable(text)}", err=True)

    return say


def warn(capture: Capture, quiet: bool, *, told: bool = False) -> None:
    """Say on standard error what limits the trust in the rows that follow, and (unless `told`) of what they are."""
    if quiet:
        return
    if capture.selected and not told:
        teller(quiet)(f"selected: {capture.selected.text}")
    warn_of(capture.health, quiet)
    tell_timing_only(capture, quiet)


def warn_of(notes: Table, quiet: bool) -> None:
    """Say those of the notes that are warnings or worse."""
    say, warnings = teller(quiet), [note for note in notes.to_dicts() if note["severity"] != "info"]
    for note in warnings[:MAX_WARNINGS]:
        say(f"{note['severity']}: {note['message']}")
    if (more := len(warnings) - MAX_WARNINGS) > 0:
        say(f"warning: and {more:,} more of these; `latpcap table health` lists all")


def tell_timing_only(capture: Capture, quiet: bool, whose: str = "") -> None:
    """Say on standard error what could not be read, of `whose` where there are several."""
    from latpcap.measures.timing_only import EXPLAIN_KEYS

    for note in () if quiet else capture.health.to_dicts():
        if note["code"] == "encrypted":
            teller(quiet)(f"{whose}{note['message']} ({EXPLAIN_KEYS})")
