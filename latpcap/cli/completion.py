"""`latpcap completion`, and how bash completes what holds `=`, `:` and `+`."""

from __future__ import annotations

import os

import click
from click.shell_completion import BashComplete, add_completion_class, get_completion_class, split_arg_string

from latpcap.cli.shared.command import command
from latpcap.cli.shared.options import ROOM, Choice
from latpcap.errors import UsageError


class _Bash(BashComplete):
    """Bash cuts words at `=` and `:`; here they are cut at blanks, as the command line gets them."""

    source_template = """\
%(complete_func)s() {
    local line=${COMP_LINE:0:COMP_POINT} IFS=$'\\n' type value
    local word=${line##*[[:blank:]]}
    local kept=${word%%"${word##*[=:]}"}
    COMPREPLY=()
    while IFS=, read -r type value; do
        case $type in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            plain) COMPREPLY+=("${value#"$kept"}") ;;
        esac
    done < <(COMP_WORDS=$line %(complete_var)s=bash_complete "$1")
}

complete -o nosort -F %(complete_func)s %(prog_name)s
"""

    def get_completion_args(self) -> tuple[list[str], str]:
        """The words before the one that is completed, and that one."""
        line = os.environ["COMP_WORDS"]
        words = split_arg_string(line)
        incomplete = words.pop() if words and not line[-1:].isspace() else ""
        return words[1:], incomplete


add_completion_class(_Bash)


@command(without=ROOM)
@click.argument("shell", type=Choice(["bash", "zsh", "fish"]))
def completion(shell: str, quiet: bool) -> None:
    """Print the completion script of a shell.

    \b
    bash   eval "$(latpcap completion bash)"       in ~/.bashrc
    zsh    eval "$(latpcap completion zsh)"        in ~/.zshrc
    fish   latpcap completion fish | source        in ~/.config/fish/config.fish
    """
    script = get_completion_class(shell)
    if script is None:
        raise UsageError(f"no completion for {shell}")
    click.echo(script(click.get_current_context().find_root().command, {}, "latpcap", "_LATPCAP_COMPLETE").source())
