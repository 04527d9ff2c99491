"""`latpcap completion`."""

from __future__ import annotations

import click

from latpcap.errors import UsageError

__all__ = ["completion"]


@click.command()
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
    click.echo(script(click.get_current_context().find_root().command, {}, "latpcap", "_LATPCAP_COMPLETE").source())
