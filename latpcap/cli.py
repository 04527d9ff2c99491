"""The command line: arguments → `read` → one result → one report.

Results go to standard output, progress and warnings to standard error. Exit status: 0 done, 2 usage, 3 a file cannot be
read or is no capture, 4 no database traffic found (see `latpcap.errors`).
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from latpcap.errors import LatpcapError, UsageError
from latpcap.options import Duration, json_option, output_options, reading_options, rtt_option

if TYPE_CHECKING:
    from latpcap._core import Progress
    from latpcap.capture import Capture
    from latpcap.table import Table

__all__ = ["cli", "main"]

INTERRUPTED = 128 + signal.SIGINT
READER_GONE = 128 + signal.SIGPIPE

FORMAT_OF_SUFFIX = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet"}


def main() -> None:
    """Run the command line and exit."""
    sys.exit(_run())


def _run() -> int:
    try:
        return cli.main(prog_name="latpcap", standalone_mode=False) or 0
    except LatpcapError as error:
        return _fail(str(error), error.exit_status)
    except click.ClickException as error:
        return _fail(_usage_line(error), UsageError.exit_status)
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED


def _fail(message: str, status: int) -> int:
    from latpcap.report.text import printable

    line = printable(" ".join(message.split()))
    with suppress(OSError, ValueError, AttributeError):  # without a standard error the status alone must do
        encoding = sys.stderr.encoding or "utf-8"
        sys.stderr.write(f"latpcap: {line}\n".encode(encoding, "replace").decode(encoding, "replace"))
        sys.stderr.flush()
    return status


def _usage_line(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    where = f" (see `{context.command_path} --help`)" if context is not None else ""
    return f"{error.format_message()}{where}"


class _Group(click.Group):
    """Commands in the order in which they are needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="latpcap", message="latpcap %(version)s")
def cli() -> None:
    """What the network costs a database application, and what it would cost at another round-trip time.

    CAPTURE is a pcap or pcapng file (also .gz, .zst, .lz4), a glob, or `-` for a pipe; several are one recording.

    \b
    latpcap analyze capture.pcapng
    latpcap project capture.pcapng --rtt 1ms,15ms,50ms
    tcpdump -w - port 3306 | latpcap analyze -
    """


# --- commands -------------------------------------------------------------------------------------------------------


@cli.command()
@reading_options
@rtt_option
@click.option("--within", type=Duration(), metavar="DURATION", help="Find the largest RTT that meets this runtime.")
@json_option
@click.option("-o", "--output", metavar="FILE", help="Write to FILE instead of standard output.")
def analyze(
    rtt: tuple[list[float], ...], within: float | None, as_json: bool, output: str | None, **reading: Any
) -> None:
    """Verdict, health, budget, projection, statements and connections.

    \b
    latpcap analyze capture.pcapng
    latpcap analyze capture.pcapng --rtt 15ms --within 60s
    latpcap analyze 'ring/*.pcapng' --json > result.json
    """
    from latpcap.report import FORMATS

    capture = _read(reading, output)
    result = capture.analyze(_flat(rtt), _in_seconds(within))
    _write([FORMATS["json" if as_json else "terminal"](result)], output)


@cli.command()
@reading_options
@rtt_option
@click.option("--within", type=Duration(), metavar="DURATION", help="Find the largest RTT that meets this runtime.")
@json_option
@click.option("-o", "--output", metavar="FILE", help="Write to FILE instead of standard output.")
def project(
    rtt: tuple[list[float], ...], within: float | None, as_json: bool, output: str | None, **reading: Any
) -> None:
    """The runtime at other RTTs, and the largest RTT that meets a target.

    \b
    latpcap project capture.pcapng --rtt 1ms,15ms,50ms
    latpcap project capture.pcapng --within 60s
    latpcap project capture.pcapng --rtt 500us --rtt 1.5s --json
    """
    capture = _read(reading, output)
    projection = capture.project(_flat(rtt), _in_seconds(within))
    if as_json:
        from latpcap.analysis import plain
        from latpcap.report.jsonout import dump

        text = dump({"schema": "latpcap.projection/1"} | plain(projection))
    else:
        from latpcap.report.terminal import print_renderables, projection_parts

        text = print_renderables(projection_parts(projection)).lstrip("\n")
    _warn(capture, reading["quiet"])
    _write([text], output)


def _rows_command(name: str, what: str) -> click.Command:
    @cli.command(
        name, help=f"{what}\n\n\b\nlatpcap {name} capture.pcapng\nlatpcap {name} capture.pcapng -o {name}.parquet"
    )
    @reading_options
    @output_options
    def command(file_format: str | None, output: str | None, **reading: Any) -> None:
        chosen = file_format or FORMAT_OF_SUFFIX.get(Path(output).suffix if output else "", "table")
        if chosen == "parquet" and output is None and sys.stdout.isatty():
            raise UsageError(f"Parquet is no text: name a file with `-o {name}.parquet`")
        capture = _read(reading, output)
        rows: Table = getattr(capture, name)
        _warn(capture, reading["quiet"])
        if chosen == "table":
            from latpcap.report.rows import render

            _write(render(rows), output)
        else:
            _write(rows.encode(chosen), output)

    return command


exchanges = _rows_command("exchanges", "Every request with its whole response: times, round trips, bytes, rows.")
connections = _rows_command("connections", "Every database connection: who, what, its RTT and where that comes from.")
statements = _rows_command("statements", "Every statement: how often it ran, what it waited for, how long it took.")


@cli.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script of a shell.

    \b
    bash   eval "$(latpcap completion bash)"       in ~/.bashrc
    zsh    eval "$(latpcap completion zsh)"        in ~/.zshrc
    fish   latpcap completion fish | source        in ~/.config/fish/config.fish
    """
    from click.shell_completion import get_completion_class

    script = get_completion_class(shell)
    if script is None:
        raise UsageError(f"no completion for {shell}")
    click.echo(script(cli, {}, "latpcap", "_LATPCAP_COMPLETE").source())


# --- reading and writing --------------------------------------------------------------------------------------------


def _read(reading: dict[str, Any], output: str | None) -> Capture:
    """Read the captures, watched; refuse an output file that is one of them before that takes time."""
    from latpcap import sources
    from latpcap.capture import read
    from latpcap.watching import watch

    paths = [path for given in reading["captures"] for path in sources.paths(given)]
    _check_output(output, paths)

    def work(progress: Progress) -> Capture:
        return read(
            paths,
            show_literals=reading["show_literals"],
            decode_as=dict(reading["decode_as"]),
            think_s=reading["think"] / 1000,
            rtt_baseline_ms=reading["rtt_baseline"],
            progress=progress,
        )

    try:
        return watch(work, quiet=reading["quiet"])
    except KeyboardInterrupt:
        raise click.exceptions.Exit(INTERRUPTED) from None


def _check_output(output: str | None, captures: Sequence[str]) -> None:
    if output is None:
        return
    if os.path.isdir(output):
        raise UsageError(f"{output}: is a directory; name a file")
    if not os.path.isdir(os.path.dirname(output) or "."):
        raise UsageError(f"{output}: no such directory")
    for path in captures:
        if path != "-" and os.path.exists(output) and os.path.samefile(path, output):
            raise UsageError(f"{output}: is one of the captures, and a capture is never overwritten")


def _write(parts: Iterable[str | bytes], output: str | None) -> None:
    if output is None:
        _write_to_standard_output(parts)
        return
    try:
        with open(output, "wb") as file:
            _write_to(file, parts)
    except OSError as error:
        raise UsageError(f"{output}: cannot be written: {error.strerror}") from None


def _write_to_standard_output(parts: Iterable[str | bytes]) -> None:
    if sys.stdout is None:
        raise UsageError("standard output is closed: name a file with -o")
    try:
        _write_to(sys.stdout.buffer, parts)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # so that the exit does not complain again
        if isinstance(error, BrokenPipeError):
            raise click.exceptions.Exit(READER_GONE) from None
        raise UsageError(f"standard output cannot be written: {error.strerror}") from None


def _write_to(file: IO[bytes], parts: Iterable[str | bytes]) -> None:
    for part in parts:
        rest = memoryview(part.encode("utf-8", "replace") if isinstance(part, str) else part)
        while rest:
            rest = rest[file.write(rest) :]  # an unbuffered standard output takes only as much as the pipe has room for
    file.flush()


def _warn(capture: Capture, quiet: bool) -> None:
    """Tell on standard error what limits the trust in the rows that follow."""
    if quiet:
        return
    from latpcap.report.text import printable

    for note in capture.health.to_dicts():
        if note["severity"] != "info":
            click.echo(f"latpcap: {note['severity']}: {printable(note['message'])}", err=True)


def _flat(lists: Iterable[Iterable[float]]) -> list[float] | None:
    return list(chain.from_iterable(lists)) or None


def _in_seconds(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000
