"""A command of latpcap: its help shows what is its own, and folds what all have.

`latpcap analyze --help` shows the options of `analyze`, and of those that many commands share only the names;
`latpcap analyze --help --all` explains these, too.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from typing import Any

import click

from latpcap.cli.shared.options import EVERYWHERE
from latpcap.cli.shared.request import SELECTION

FOLDED = {
    "Filters": SELECTION,
    "Reading": ("decode_as", "keylog", "think", "rtt_baseline"),
    "Report cover": ("title", "customer", "notes", "date"),
    "CI gates": ("baseline", "ci"),
    "All commands": tuple(str(option.name) for option in EVERYWHERE),
}
"""Options that many commands share, by their names as parameters."""
HELP, ALL = "latpcap.help", "latpcap.all"


class FoldedHelp(click.Command):
    """A command whose `--help` takes `--all`."""

    def __init__(self, *given: Any, **named: Any) -> None:
        """Make it, with `--all`."""
        super().__init__(*given, **named)
        self._all = click.Option(["--all"], is_flag=True, is_eager=True, expose_value=False, hidden=True, callback=_all)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return its own parameters, and `--all` behind `--help`."""
        return [*super().get_params(ctx), self._all]

    def get_help_option(self, ctx: click.Context) -> click.Option:
        """One that waits for `--all`, in whichever order they come."""
        if self._help_option is None:
            self._help_option = click.Option(
                ["-h", "--help"],
                is_flag=True,
                is_eager=True,
                expose_value=False,
                callback=_help,
                help="Show this help; with --all, also explain the common options.",
            )
        return self._help_option

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse them; `--all` needs `--help`."""
        rest = super().parse_args(ctx, args)
        if ctx.meta.get(ALL) and not ctx.resilient_parsing:
            raise click.UsageError("--all goes with --help", ctx)
        return rest


class FoldedHelpCommand(FoldedHelp):
    """A command that folds in its help what others have, too."""

    def __init__(self, *given: Any, without: Collection[str] = (), **named: Any) -> None:
        """One that takes all options of latpcap itself, `without` some that would say nothing here."""
        super().__init__(*given, **named)
        self._everywhere = [option for option in EVERYWHERE if option.name not in without]

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return its own parameters, and those that all commands have."""
        *own, help_option, all_option = super().get_params(ctx)
        return [*own, *self._everywhere, help_option, all_option]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse them; an option is no value of the one before it."""
        rest = super().parse_args(ctx, args)
        if not ctx.resilient_parsing:
            self._refuse_options_as_values(ctx)
            self._refuse_what_it_lacks(ctx)
        return rest

    def _refuse_options_as_values(self, ctx: click.Context) -> None:
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        names = {"--", *(name for option in options for name in (*option.opts, *option.secondary_opts))}
        for option in options:
            value = ctx.params.get(option.name or "")
            for each in value if isinstance(value, tuple) else (value,):
                if isinstance(each, str) and each in names:
                    raise click.UsageError(f"{option.opts[-1]} needs a value, and {each} is an option", ctx)

    def _refuse_what_it_lacks(self, ctx: click.Context) -> None:
        """An option that stands before the command's name, and says nothing here."""
        for name in (ctx.default_map or {}).keys() - {option.name for option in self._everywhere}:
            raise click.NoSuchOption(f"--{name.replace('_', '-')}", ctx=ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Its own in full, others by name unless all are asked for."""
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option) and not param.hidden]
        shown = {str(option.name): option for option in options}
        folded = {title: [shown.pop(name) for name in names if name in shown] for title, names in FOLDED.items()}
        write_options(ctx, formatter, "Options", list(shown.values()))
        folded = {title: params for title, params in folded.items() if params}
        if ctx.meta.get(ALL):
            for title, params in folded.items():
                write_options(ctx, formatter, title, params)
        elif folded:
            with formatter.section(f"More options (explained by `{ctx.command_path} --help --all`)"):
                formatter.write_dl([(title, " ".join(map(_longest, params))) for title, params in folded.items()])


def _longest(param: click.Parameter) -> str:
    return max(param.opts, key=len)


def write_options(
    ctx: click.Context, formatter: click.HelpFormatter, title: str, params: Sequence[click.Parameter]
) -> None:
    """Write them with their help, below a title."""
    with formatter.section(title):
        formatter.write_dl([record for param in params if (record := param.get_help_record(ctx))])


def _help(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        ctx.meta[HELP] = True
        if ctx.meta.get(ALL):
            _show(ctx)


def _all(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    """Called behind the help where it was not given, too: that is when nothing else can be said any more."""
    if value:
        ctx.meta[ALL] = True
    if ctx.meta.get(HELP):
        _show(ctx)


def _show(ctx: click.Context) -> None:
    click.echo(ctx.get_help(), color=ctx.color)
    ctx.exit()


command = partial(click.command, cls=FoldedHelpCommand)
