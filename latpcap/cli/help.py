"""`latpcap help`."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from latpcap.cli.shared.command import ALL
from latpcap.cli.shared.values import items


def _names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The commands that begin so."""
    return items(_all_commands(ctx).commands, incomplete)


@click.command("help")
@click.argument("name", metavar="[COMMAND]", required=False, shell_complete=_names)
@click.option("--all", "everything", is_flag=True, help="Also explain the options that many commands share.")
@click.option("--man", is_flag=True, help="Print the man page, for `man -l -`.")
@click.pass_context
def help_command(ctx: click.Context, name: str | None, everything: bool, man: bool) -> None:
    """Show the help of latpcap, or of one of its commands.

    \b
    latpcap help
    latpcap help project
    latpcap help project --all
    latpcap help --man | man -l -
    """
    root = ctx.find_root()
    if man:
        from latpcap._core import __version__
        from latpcap.cli.manual import man_page

        click.echo(man_page(_all_commands(ctx), __version__), nl=False)
        return
    ctx.meta[ALL] = everything
    if name is None:
        click.echo(root.get_help())
        return
    _, command, _ = _all_commands(ctx).resolve_command(root, [name])
    if command is not None:
        click.echo(command.get_help(click.Context(command, info_name=name, parent=root)))


def _all_commands(ctx: click.Context) -> click.Group:
    group = ctx.find_root().command
    assert isinstance(group, click.Group)
    return group
