"""The command line: arguments → `read` → one result → one report.

Results go to standard output, progress and warnings to standard error. What the exit status means: `status.py`.
"""

from __future__ import annotations

import glob
import os
import sys
from collections import UserDict
from contextlib import suppress
from contextvars import copy_context
from importlib import import_module
from typing import Any

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from latpcap.cli.shared.command import ALL, FoldedHelp, write_options
from latpcap.cli.shared.files import never_over_inputs
from latpcap.cli.shared.io import click_writes, make_output_encodable
from latpcap.cli.shared.options import CAPTURE_HELP, EVERYWHERE
from latpcap.cli.shared.status import INTERRUPTED_STATUS, exit_status
from latpcap.cli.shared.version import version_option
from latpcap.errors import LatpcapError, UsageError, nearest, without_secrets
from latpcap.report import CAPTURES

MORE = "More"
GROUPS = {
    "Commands": {
        "analyze": "analyze",
        "project": "project",
        "findings": "tables",
        "statements": "tables",
        "compare": "compare",
        "rank": "rank",
        "record": "record",
        "wireshark": "wireshark",
        "report": "report",
    },
    MORE: {
        "table": "tables",
        "sql": "sql",
        "scan": "scan",
        "watch": "watch",
        "calibrate": "calibrate",
        "rehearse": "rehearse",
        "explain": "explain",
        "help": "help",
        "completion": "completion",
    },
}
"""The commands, each with its file: those that are shown first, and the others."""


class _Commands(UserDict[str, Any]):
    """Each is imported when it is asked for: the options of all take longer to make than a small capture to read."""

    def __getitem__(self, name: str) -> click.Command:
        """With what all commands have."""
        command = super().__getitem__(name)
        if isinstance(command, str):
            there = vars(import_module(f"latpcap.cli.{command}")).values()
            command = next(each for each in there if isinstance(each, click.Command) and each.name == name)
            command.epilog = exit_status(command)
            never_over_inputs(command)
            self.data[name] = command
        found: click.Command = command
        return found


def main() -> None:
    """Run the command line and exit."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy starts threads for matrices that nobody multiplies here
    make_output_encodable()
    sys.exit(_run())


def _run() -> int:
    try:
        return cli.main(prog_name="latpcap", standalone_mode=False, windows_expand_args=False) or 0
    except LatpcapError as error:
        return _fail(str(error), error.exit_status)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.ctx.get_help() if error.ctx else "", err=True)
        return UsageError.exit_status
    except click.ClickException as error:
        return _fail(_usage_line(error), UsageError.exit_status)
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED_STATUS


def _fail(message: str, status: int) -> int:
    from latpcap.report.text import printable

    line = printable(without_secrets(" ".join(message.split())))
    with suppress(OSError, ValueError, AttributeError):  # without a standard error the status alone must do
        encoding = sys.stderr.encoding or "utf-8"
        sys.stderr.write(f"latpcap: {line}\n".encode(encoding, "replace").decode(encoding, "replace"))
        sys.stderr.flush()
    return status


def _usage_line(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    where = f" (see `{context.command_path} --help`)" if context is not None else ""
    return f"{error.format_message()}{where}"


class _Group(FoldedHelp, click.Group):
    """Commands in groups, by what somebody wants; what is no command but a capture is analysed."""

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run a command; where its output goes is forgotten behind it."""
        if "_LATPCAP_COMPLETE" in os.environ:
            import_module("latpcap.cli.completion")  # it knows how shells complete
        return copy_context().run(super().main, *args, **extra)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands, then the options; without `--all` only the names of those that are needed less."""
        everything = ctx.meta.get(ALL)
        for title, names in GROUPS.items():
            if title == MORE and not everything:
                with formatter.section(f"{MORE} (`{ctx.command_path} --help --all`)"):
                    formatter.write_text(" ".join(names))
                    formatter.write_text(" ".join(option.opts[-1] for option in EVERYWHERE))
                continue
            with formatter.section(title):
                formatter.write_dl(
                    [(f"{name:<10}", self.commands[name].get_short_help_str(limit=200)) for name in names]
                )
        if everything:
            own = [param for param in self.get_params(ctx) if param not in EVERYWHERE]
            write_options(ctx, formatter, "Options", own)
            write_options(ctx, formatter, "Options of all commands, before or after the command's name", EVERYWHERE)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write with `--all` what a capture is, and the exit statuses."""
        if ctx.meta.get(ALL):
            super().format_epilog(ctx, formatter)

    def make_context(self, *given: Any, **more: Any) -> click.Context:
        """Its options: --help and --version are printed here."""
        with click_writes():
            return super().make_context(*given, **more)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Its options, before the command or the capture; where one of a command stands there, where it belongs."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if any(error.option_name in param.opts for command in self.commands.values() for param in command.params):
                name = error.option_name
                raise click.UsageError(
                    f"write {name} behind the command or the capture: latpcap CAPTURE {name} …", ctx
                ) from None
            raise

    def invoke(self, ctx: click.Context) -> Any:
        """Its command, with the --help of that."""
        with click_writes():
            return super().invoke(ctx)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The commands; where none begins so, files."""
        return super().shell_complete(ctx, incomplete) or [CompletionItem(incomplete, type="file")]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.commands and _is_capture(args[0]):
            return "analyze", self.commands["analyze"], args
        if args and args[0] not in self.commands and not ctx.resilient_parsing and not args[0].startswith("-"):
            from latpcap.cli.tables import TABLES

            known = {name: f"table {name}" for name in TABLES} | {name: name for name in self.commands}
            near = nearest(args[0], known)
            meant = f"; did you mean `latpcap {known[near]}`?" if near else ""
            raise click.UsageError(f"No such command or capture '{args[0]}'{meant}", ctx)
        return super().resolve_command(ctx, args)


def _is_capture(argument: str) -> bool:
    """Whether a first argument is meant as a capture: it is there, or it is named like one, or is a URL."""
    there = argument == "-" or os.path.exists(argument)
    return there or glob.has_magic(argument) or "://" in argument or argument.lower().endswith(CAPTURES)


@click.group(
    cls=_Group,
    commands=_Commands({name: file for commands in GROUPS.values() for name, file in commands.items()}),
    params=[version_option(), *EVERYWHERE],
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.pass_context
def cli(ctx: click.Context, /, **given: Any) -> None:
    """Show what the network costs a database application, now and at another RTT.

    \b
    latpcap capture.pcapng                  (short for latpcap analyze)
    latpcap project capture.pcapng --rtt 1ms,15ms,50ms
    tcpdump -w - port 3306 | latpcap -
    """
    said = {name: given[name] for name in given if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE}
    ctx.default_map = dict.fromkeys(cli.commands, said)


cli.epilog = f"{CAPTURE_HELP}\n\n{exit_status(cli)}"
