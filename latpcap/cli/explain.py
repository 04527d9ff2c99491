"""`latpcap explain`: what a code of the output means, in the words of the pages of docs/."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib.resources import files
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from latpcap.cli.shared.command import command
from latpcap.cli.shared.io import write
from latpcap.cli.shared.options import ROOM
from latpcap.cli.shared.values import items
from latpcap.errors import UsageError, did_you_mean
from latpcap.units import capitalised

if TYPE_CHECKING:
    from latpcap.findings.finding import Pattern
    from latpcap.report.section import Section

TOPICS = ("keys",)
"""Pages that stand in the package as text."""
POINTER = re.compile(r" \(\[[^\]]*\]\([^)]*\)[^()]*\)")
"""A parenthesis that begins with a link."""
LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
Explanation = Callable[[], "Iterator[Section]"]


def _codes(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The codes that begin so."""
    return items([code for known in _known().values() for code in known], incomplete)


@command(short_help="What a finding, a health note or an error's category means, and what helps.", without=ROOM)
@click.argument("code", metavar="[CODE]", required=False, shell_complete=_codes)
def explain(code: str | None, quiet: bool) -> None:
    """Explain a code of the output: how it is recognised, an example, what helps, and how each client does it.

    CODE is that of a finding, a health note or a category of errors, or `keys`: how each client logs its TLS keys.
    Without one, lists all.

    \b
    latpcap explain
    latpcap explain n+1
    latpcap explain keys
    """
    from latpcap.report import terminal

    known = _known()
    if code is None:
        write([terminal.document(_list(known))], None)
        return
    name = code.lower()
    found = [each[name] for each in known.values() if name in each]
    if not found:
        meant = did_you_mean(name, [each for codes in known.values() for each in codes])
        raise UsageError(f"nothing is called `{code}`{meant or ': `latpcap explain` lists what can be explained'}")
    text = _page(name) if name in TOPICS else terminal.document(part for each in found for part in each())
    write([text.lstrip("\n")], None)


def _known() -> Mapping[str, Mapping[str, Explanation]]:
    """Return what can be explained, by its kind and code."""
    from latpcap.findings.patterns.healthy import NETWORK_BOUND
    from latpcap.findings.registry import HEALTHY, PATTERNS
    from latpcap.measures.error_classes import CLASSES
    from latpcap.measures.health_rules import RULES

    return {
        "Findings": {each.code: partial(_finding, each) for each in (*PATTERNS, HEALTHY, NETWORK_BOUND)},
        "Health notes": {code: partial(_note, code) for code in RULES},
        "Categories of errors": {category: partial(_category, category) for category in CLASSES},
        "Topics": {topic: lambda: iter(()) for topic in TOPICS},
    }


def _list(known: Mapping[str, Mapping[str, Explanation]]) -> Iterator[Section]:
    from latpcap.report.section import Section, Sentence

    for kind, codes in known.items():
        yield Section("", kind, [Sentence(", ".join(codes))])


def _page(topic: str) -> str:
    return files("latpcap.cli").joinpath(f"{topic}.txt").read_text("utf-8")


def plain(markdown: str) -> str:
    """Return a text without links.

    >>> plain("20 runs ([losses](#lost)); as [Wireshark](https://wireshark.org) does")
    '20 runs; as Wireshark does'
    """
    return LINK.sub(r"\1", POINTER.sub("", markdown))


def _finding(pattern: Pattern) -> Iterator[Section]:
    from latpcap.report.section import Entry, Section, Sentence

    yield Section("", f"Finding {pattern.code}", [Sentence(pattern.why)])
    yield Section("", "Recognised by", [Sentence(f"{capitalised(plain(pattern.rule))}.")])
    yield Section("", "Example", [Sentence(pattern.example)])
    yield Section("", "What it is not", [Sentence(f"It is not {pattern.is_not}")])
    said = [(kind, fix if isinstance(fix, str) else f"{fix.general}.") for kind, fix in pattern.fixes.items()]
    project = f"`latpcap project CAPTURE --fix {pattern.fix}` shows the job with the fix made."
    fixes = [Entry(fix, lead=kind) for kind, fix in said if fix]
    yield Section("", "Fix", [*fixes, *([Sentence(project)] if pattern.fix else [])])
    kinds: dict[str, list[str]] = {}
    for kind, fix in pattern.fixes.items():
        if not isinstance(fix, str):
            kinds.setdefault(fix.key, []).append(kind)
    for key, named in kinds.items():
        of_kind = f" ({', '.join(named)})" if len(kinds) > 1 else ""
        yield Section("", f"Fix by client{of_kind}", [Entry(text, lead=name) for name, text in _by_client(key)])


def _by_client(key: str) -> Iterator[tuple[str, str]]:
    """Yield what each client sets or calls, with its language, the version that it needs and what was measured."""
    from latpcap.protocols.drivers import table

    clients = (*table().frameworks, *table().drivers)
    for client in sorted(clients, key=lambda each: (each.language, each.name)):
        for each in client.settings:
            if each.pattern == key:
                since = f" (from {each.since} on)" if each.since else ""
                tried = f"; tried: {each.tried}" if each.tried else ""
                language = "" if client.name.endswith(f"({client.language})") else f" ({client.language})"
                yield f"{client.name}{language}", f"{each.advice}{since}{tried}"


def _note(code: str) -> Iterator[Section]:
    from latpcap.measures.health_codes import ADVICE
    from latpcap.measures.health_rules import RULES
    from latpcap.report.section import Section, Sentence

    effect, advice = ADVICE[code]
    yield Section("", f"Health note {code}", [Sentence(f"Effect on the figures: {effect}.")])
    yield Section("", "Recognised by", [Sentence(f"{capitalised(plain(RULES[code]))}.")])
    yield Section("", "To do", [Sentence(f"{capitalised(advice)}.")])


def _category(category: str) -> Iterator[Section]:
    from latpcap.findings.patterns.failing_statements import FIXES
    from latpcap.measures.error_classes import CLASSES
    from latpcap.report.section import Section, Sentence

    listed = "`latpcap table errors CAPTURE` lists them."
    yield Section("", f"Errors of the category {category}", [Sentence(f"{capitalised(CLASSES[category])}.")])
    yield Section("", "Fix", [*([Sentence(FIXES[category])] if FIXES[category] else []), Sentence(listed)])
