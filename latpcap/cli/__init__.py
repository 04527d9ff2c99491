"""The command line: arguments → `read` → one result → one report.

Results go to standard output, progress and warnings to standard error. Exit status: 0 done, 1 a gate failed, 2 usage,
3 a file cannot be read or is no capture, 4 no database traffic found (see `latpcap.errors`).
"""

from __future__ import annotations

import sys
from contextlib import suppress
from contextvars import copy_context

import click

from latpcap.cli.analyze import analyze
from latpcap.cli.annotate import annotate
from latpcap.cli.compare import compare, validate
from latpcap.cli.completion import completion
from latpcap.cli.findings import findings
from latpcap.cli.io import INTERRUPTED
from latpcap.cli.project import project
from latpcap.cli.report import report
from latpcap.cli.sql import sql
from latpcap.cli.tables import captures, connections, errors, exchanges, health, statements
from latpcap.cli.tasks import tasks
from latpcap.cli.verify import verify
from latpcap.errors import LatpcapError, UsageError

__all__ = ["cli", "main"]

COMMANDS = (
    analyze,
    project,
    findings,
    compare,
    validate,
    report,
    exchanges,
    connections,
    statements,
    errors,
    tasks,
    health,
    captures,
    sql,
    verify,
    annotate,
    completion,
)
"""In the order in which they are needed."""


def main() -> None:
    """Run the command line and exit."""
    sys.exit(_run())


def _run() -> int:
    try:
        return copy_context().run(cli.main, prog_name="latpcap", standalone_mode=False) or 0
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


for command in COMMANDS:
    cli.add_command(command)
