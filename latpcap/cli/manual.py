"""The man page, made of what the commands say of themselves: `latpcap help --man`.

man(7): <https://man7.org/linux/man-pages/man7/groff_man.7.html>. The page that the wheel installs lies in
`latpcap.data/data/share/man/man1`; a test compares the two, and writes it anew where that is asked for.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections import Counter
from collections.abc import Iterator

import click

from latpcap.cli.shared.options import CAPTURE_HELP
from latpcap.cli.shared.status import EXIT_STATUS

MIN_COMMANDS = 5
"""An option of at least this many commands is explained once."""

WIDTH_COLUMNS = 72
"""Columns of a line of the source."""

ENVIRONMENT = {
    "COLUMNS": "The width of what goes to standard output; else the terminal's, in a pipe as much as is needed.",
    "NO_COLOR": "No colour, unless --color says otherwise.",
    "CLICOLOR_FORCE, FORCE_COLOR": "Colour, in a pipe too.",
}


def man_page(group: click.Group, version: str) -> str:
    """Return the page of `group`, its commands and all their options."""
    root = group.make_context("latpcap", [], resilient_parsing=True)
    commands = [(name, click.Context(group.commands[name], root, name)) for name in group.list_commands(root)]
    common = _common([context for _, context in commands])
    return "\n".join(
        [
            f'.TH LATPCAP 1 "" "latpcap {_text(version)}" "User Commands"',
            ".SH NAME",
            "latpcap \\- what the network costs a database application",
            ".SH SYNOPSIS",
            *"\n.br\n".join(_synopsis(name, context) for name, context in commands).splitlines(),
            ".SH DESCRIPTION",
            *_paragraphs(group.help or ""),
            ".PP",
            *_paragraphs(CAPTURE_HELP),
            ".SH COMMANDS",
            *(line for name, context in commands for line in _command(name, context, common)),
            ".SH COMMON OPTIONS",
            *(line for record in common.values() for line in _item(*record)),
            ".SH EXIT STATUS",
            *(line for status, meaning in EXIT_STATUS.items() for line in _item(status, meaning)),
            ".SH ENVIRONMENT",
            *(line for name, meaning in ENVIRONMENT.items() for line in _item(name, meaning)),
            ".SH SEE ALSO",
            ".BR tcpdump (8),",
            ".BR tshark (1),",
            ".BR wireshark (1)",
            "",
        ]
    )


def _options(context: click.Context) -> list[tuple[str, str]]:
    """The options of a command as its help shows them: how they are written, and what they do."""
    options = (param for param in context.command.get_params(context) if isinstance(param, click.Option))
    return [record for option in options if (record := option.get_help_record(context)) is not None]


def _common(contexts: list[click.Context]) -> dict[str, tuple[str, str]]:
    """The options that most commands share, by how they are written."""
    records = [record for context in contexts for record in _options(context)]
    counts = Counter(records)
    return {record[0]: record for record in dict.fromkeys(records) if counts[record] >= MIN_COMMANDS}


def _synopsis(name: str, context: click.Context) -> str:
    return f".B latpcap {_text(name)}\n{_text(' '.join(context.command.collect_usage_pieces(context)))}"


def _command(name: str, context: click.Context, common: dict[str, tuple[str, str]]) -> Iterator[str]:
    yield f".SS latpcap {_text(name)}"
    yield from _paragraphs(context.command.help or "")
    options = _options(context)
    for record in options:
        if common.get(record[0]) != record:
            yield from _item(*record)
    shared = [written for written, _ in options if written in common]
    if shared:
        yield ".PP"
        yield from _filled(f"Common options: {', '.join(re.findall('--[a-z-]+', ' '.join(shared)))}.")


def _item(term: str, meaning: str) -> Iterator[str]:
    yield ".TP"
    yield f".B {_text(term)}"
    yield from _filled(meaning)


def _paragraphs(text: str) -> Iterator[str]:
    """Paragraphs; what click leaves as it stands (behind a backspace) is an example."""
    for number, paragraph in enumerate(inspect.cleandoc(text).split("\n\n")):
        if number > 0:
            yield ".PP"
        if paragraph.startswith("\b"):
            yield from (".nf", *(f"    {_text(line)}" for line in paragraph.splitlines()[1:]), ".fi")
        else:
            yield from _filled(" ".join(paragraph.split()))


def _filled(text: str) -> Iterator[str]:
    return map(_text, textwrap.wrap(text, WIDTH_COLUMNS, break_long_words=False, break_on_hyphens=False))


def _text(text: str) -> str:
    r"""Return `text` as man(7) wants it.

    >>> _text("--rtt 'a\\b'")
    "\\-\\-rtt 'a\\eb'"
    """
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("…", "...").replace("µ", "u")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped
