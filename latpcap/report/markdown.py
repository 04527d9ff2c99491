"""The result as Markdown, to paste into a ticket or a mail: GitHub's flavour, and readable as it stands.

Statements stand in code spans. What else a capture contains stays as it is but where it would become a link, an image,
HTML, a mention or another column: addresses and mentions then stand in code spans, too, and a character that means
something where it stands is written as an entity. There are no backslashes, which people read who see the source.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from msgspec.structs import replace

from latpcap.findings.frames import Frames, short_filter
from latpcap.report.chattiness import chattiness_rows
from latpcap.report.network import network_in_all
from latpcap.report.terminal import PARTS
from latpcap.report.text import TOP, number, printable, top
from latpcap.report.timing_only import about_budget, about_findings, about_statements
from latpcap.result.analysis import Analysis
from latpcap.result.chattiness import Chattiness
from latpcap.result.connections import busiest
from latpcap.result.errors import ErrorsResult
from latpcap.result.gates import Gates
from latpcap.result.minutes import MinutesResult
from latpcap.result.settings import Settings
from latpcap.result.signoff import SignOff
from latpcap.units import counted, format_given_ms, format_ms, format_s, percent, significant

__all__ = ["captures_of", "cell_of", "code_of", "cover_of", "gates_of", "render", "sign_off_of", "table", "text_of"]

MAX_STATEMENT = 300
PACE_TITLES = ("delta p50 ms", "delta p95 ms", "client p50 ms", "client p95 ms")

SPAN = re.compile(r"`([^`]+)`")
"""Our own sentences have code in them."""
ADDRESS = re.compile(
    r"""
    (?:https?|ftp):// \S+ | www\. \S+ | (?:mailto|xmpp): \S+
    | [^\s@`]{1,64} @ [^\s@`]{1,255}
    | (?<!\w) @ \w [\w/-]*
    | (?<![\w&]) \# \d+
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""What GitHub makes links of: addresses, people and issues."""
ACTIVE = re.compile(
    r"""
    [`\[|~$]                               # code, links, images and footnotes, cells, what is struck out, formulas
    | \\ (?=[!-/:-@\[-`{-~]|$)             # an escape
    | \* (?!\s) | (?<=\S) \*              # emphasis
    | (?<![^\W_]) _ | _ (?![^\W_])        # likewise: not within a word
    | < (?=[A-Za-z/!?])                   # HTML
    | & (?=\#|\w+;)                       # an entity
    | ^ (?:[-+>\#=:] | \*)                # a list, a quotation, a heading
    | ^ \d{1,9} [.)] (?=\s|$)             # a numbered list
    """,
    re.VERBOSE,
)
"""What means something in GitHub's Markdown where it stands (CommonMark 0.31, GFM 0.29)."""


def render(result: Analysis, gates: Gates | None = None) -> str:
    """Return the result as Markdown, and what became of the gates."""
    shown = tuple(result.connections[place] for place in busiest(result.connections)[:TOP])
    plain = replace(result, statements=result.statements[:TOP], connections=shown).to_dict()
    sections = (
        cover_of(result.sign_off),
        _verdict(plain["summary"]["verdict"]),
        _selection(plain["selection"]),
        _settings(result.settings),
        gates_of(gates),
        _health(plain["health"]),
        _budget(result.budget.parts(), network_in_all(result), about_budget(result.timing_only, result.connecting)),
        _projection(plain["projection"]),
        _chattiness(result.chattiness),
        _errors(result.errors),
        _minutes(result.minutes),
        _findings(plain["findings"], about_findings(result.timing_only)),
        _statements(plain["statements"], len(result.statements), about_statements(result.timing_only)),
        _connections(plain["connections"], len(result.connections)),
        sign_off_of(result.sign_off),
        captures_of(plain["captures"]),
    )
    return "\n\n".join("\n".join(lines) for section in sections if (lines := list(section))) + "\n"


# --- sections -------------------------------------------------------------------------------------------------------


def cover_of(told: SignOff) -> Iterator[str]:
    """What the report was given to say of itself."""
    title = [f"# {text_of(told.title)}"] if told.title else []
    named = [f"{name}: {text_of(text)}" for name, text in (("Customer", told.customer), ("Date", told.date)) if text]
    if lines := [*title, *named, *map(text_of, told.notes)]:
        yield "\n\n".join(lines)


def gates_of(gates: Gates | None) -> Iterator[str]:
    """What became of the gates, where there are any."""
    if gates is not None:
        yield "## Gates\n"
        for each in gates.gates:
            yield f"- {'failed' if each.failed else 'passed'}: {code_of(each.condition)}: {text_of(each.text)}"


def _verdict(text: str) -> Iterator[str]:
    first, *others = [text_of(line) for line in text.split("\n") if line]
    yield f"**{first}**"
    yield from (f"\n{line}" for line in others)


def _selection(selected: dict[str, Any] | None) -> Iterator[str]:
    if selected is not None:
        yield f"Selected: {text_of(selected['text'])}"


def _settings(settings: Settings) -> Iterator[str]:
    if settings.text:
        yield f"Asked for: {text_of(settings.text)}"


def _health(notes: Sequence[dict[str, Any]]) -> Iterator[str]:
    if notes:
        yield "## Health\n"
    for note in notes:
        yield f"- {note['severity']}: {text_of(note['message'])} ({text_of(note['code'])})"


def _budget(parts: dict[str, float], *besides: str) -> Iterator[str]:
    total = sum(parts.values())
    if total > 0:
        yield "## Where the time went\n"
        yield from table(
            ("part", "seconds", "share", "what"),
            (
                (PARTS[name][1], number(seconds), f"{seconds / total:.1%}", PARTS[name][3])
                for name, seconds in parts.items()
                if seconds > 0
            ),
            left=(0, 3),
        )
        yield from (f"\n{text_of(text)}" for text in besides if text)


def _projection(projection: dict[str, Any]) -> Iterator[str]:
    yield "## At another RTT\n"
    baseline = projection["baseline_rtt_ms"]
    if baseline is None:
        yield "Unknown, because the baseline RTT is; give it with `--rtt-baseline`."
        return
    names = ("runtime_s", "factor", "optimistic_s", "pessimistic_s", "throughput_per_s")
    points = [(f"now: {format_ms(baseline)}", projection["now"])]
    points += [(format_given_ms(point["rtt_ms"]), point) for point in projection["points"]]
    yield from table(
        ("RTT", "runtime s", "× now", "optimistic s", "pessimistic s", "statements/s"),
        ((rtt, *("" if point[name] is None else significant(point[name]) for name in names)) for rtt, point in points),
    )
    yield from (f"\n{text_of(text)}" for text in (projection["range_text"], projection["guess_text"]) if text)
    if projection.get("within"):
        yield f"\n{text_of(projection['within']['text'])}"


def _chattiness(result: Chattiness) -> Iterator[str]:
    if rows := list(chattiness_rows(result)):
        yield "## Chattiness\n"
        yield from table(("ratio", "value", "from"), rows, left=(0, 2))


def _errors(errors: ErrorsResult) -> Iterator[str]:
    if not errors.found:
        return
    yield f"## {top('Errors', len(errors.found))}\n"
    yield f"{text_of(errors.failed_of_all)}: {counted(errors.round_trips, 'round trip')}.\n"
    yield from table(
        ("count", "code", "what", "first frame", "message", "statement"),
        (
            (
                f"{each.count:,}",
                text_of(each.code),
                each.kind,
                "" if each.first_frame is None else f"{each.first_frame}",
                text_of(each.message),
                cell_of(each.statement or ""),
            )
            for each in errors.found[:TOP]
        ),
        left=(1, 2, 4, 5),
    )


def _minutes(result: MinutesResult | None) -> Iterator[str]:
    if result is not None:
        yield f"## Over time ({format_given_ms(result.every_s * 1000)} each)\n"
        columns = ("baseline_ms", "rtt_min_ms", "fastest_ms", "response_p50_ms", "response_p95_ms")
        counts = ("round_trips", "errors", "retransmissions")
        yield from table(
            (
                "from (UTC)",
                "RTT ms",
                "measured ms",
                "fastest ms",
                "p50 ms",
                "p95 ms",
                "round trips",
                "errors",
                "sent again",
            ),
            (
                (
                    each.start[:23].replace("T", " "),
                    *(number(getattr(each, name)) for name in columns),
                    *(f"{getattr(each, name):,}" for name in counts),
                )
                for each in result.rows
            ),
            left=(0,),
        )


def _findings(findings: Sequence[dict[str, Any]], besides: str) -> Iterator[str]:
    if findings or besides:
        yield "## Findings"
    for finding in findings:
        yield f"\n### {text_of(finding['title'])}\n"
        yield f"{text_of(finding['why'])} **Fix:** {text_of(finding['fix'])}\n"
        if finding.get("statement"):
            yield f"- statement: {code_of(finding['statement'])}"
        saved = [
            f"{format_s(seconds)} at {format_given_ms(float(rtt))}"
            for rtt, seconds in (finding.get("saved_s") or {}).items()
        ]
        trips = finding.get("round_trips_alone", finding["round_trips_saved"])
        needs = f" (with {', '.join(finding['needs'])}, which it needs)" if finding.get("needs") else ""
        yield f"- {counted(finding['exchanges'], 'exchange')}, {counted(trips, 'round trip')} to save{needs}"
        if saved:
            yield f"- it would save {', '.join(saved)}"
        if finding.get("display_filter"):
            frames = [Frames(**each) for each in finding.get("frames", ())]
            shown, more = short_filter(finding["display_filter"], frames)
            more += finding.get("frames_left_out", 0)
            further = f", … {more:,} more (`latpcap findings --filters`)" if more else ""
            yield f"- in Wireshark: {code_of(shown)}{further}"
    if besides:
        yield f"\n{text_of(besides)}"


def _statements(costliest: Sequence[dict[str, Any]], count: int, besides: str) -> Iterator[str]:
    if costliest:
        yield f"## {top('Statements', count)}\n"
        if besides:
            yield f"{text_of(besides)}\n"
        yield from table(
            (
                *("share", "network s", "service s", "runs", "round trips", "p50 ms", "p95 ms"),
                *(*PACE_TITLES, "statement"),
            ),
            map(_statement_row, costliest),
            left=(11,),
        )


def _statement_row(statement: dict[str, Any]) -> tuple[str, ...]:
    text = statement["fingerprint"]
    return (
        "" if statement["share"] is None else percent(statement["share"]),
        number(statement["network_s"]),
        number(statement["service_s"]),
        f"{statement['executions']:,}" if statement["executions"] else "",
        f"{statement['round_trips']:,}",
        number(statement["response_ms"]["p50"]),
        number(statement["response_ms"]["p95"]),
        *_pace(statement),
        cell_of(text) if text else f"({text_of(statement['text'])})",
    )


def _pace(times: dict[str, Any]) -> Iterator[str]:
    """Inter-query delta and client time."""
    return (number(times[name][which]) for name in ("delta_ms", "client_ms") for which in ("p50", "p95"))


def _connections(shown: Sequence[dict[str, Any]], count: int) -> Iterator[str]:
    if shown:
        yield f"## {top('Connections', count)}\n"
        yield from table(
            (
                *("stream", "round trips", "RTT ms", "iRTT ms", "in-stream ms"),
                *(*PACE_TITLES, "how it is known", "client → server"),
            ),
            (
                (
                    f"{each['stream']}",
                    f"{each['round_trips']:,}",
                    *(number(each["rtt"][name]) for name in ("baseline_ms", "handshake_ms", "in_stream_median_ms")),
                    *_pace(each["chattiness"]),
                    text_of(f"{each['rtt']['method']}: {each['rtt']['reason']}"),
                    text_of(f"{each['client']} → {each['server']} {each['protocol']}{_hidden(each)}"),
                )
                for each in shown
            ),
            left=(9, 10),
        )


def _hidden(connection: dict[str, Any]) -> str:
    version = f", {connection['tls_version']}" if connection["tls_version"] else ""
    return f"{version}, timing only" if connection["timing_only"] else version


def sign_off_of(told: SignOff) -> Iterator[str]:
    """Of what the report is, and how right it may be."""
    yield "## Sign-off\n"
    yield f"- made by {told.program}" + (f" of packets captured on {told.captured} (UTC)" if told.captured else "")
    yield f"- {told.packets.text}"
    work = f"{told.accuracy.work}. " if told.accuracy.work else ""
    yield f"- accuracy class: {text_of(f'{work}{told.accuracy.text}')}"
    yield from (f"- assumed: {text_of(each)}" for each in told.assumptions)


def captures_of(captures: Sequence[dict[str, Any]]) -> Iterator[str]:
    """The files, each with what it can be recognised by."""
    yield "## Captures\n"
    for each in captures[:TOP]:
        span = f", {each['first_time']} – {each['last_time']}" if each["first_time"] else ""
        yield f"- {code_of(each['path'])}: {counted(each['packets'], 'packet')}, {text_of(each['format'])}{span}"
        if each["sha256"]:
            yield f"  SHA-256 {code_of(each['sha256'])}, {each['size_bytes']:,} bytes"
    if len(captures) > TOP:
        yield f"- … {len(captures):,} files in all"


# --- Markdown -------------------------------------------------------------------------------------------------------


def text_of(text: str | None) -> str:
    """Return `text` as plain Markdown text: it shows as it is, and does nothing.

    >>> text_of("<b> a_b | [x](y), 3 < 4: see `IN (…)`")
    '&lt;b> a_b &#124; &#91;x](y), 3 < 4: see `IN (…)`'
    >>> text_of("ask @ann of www.example.org")
    'ask `@ann` of `www.example.org`'
    """
    pieces = groupby(_pieces(printable(text).strip()), lambda piece: piece[0])
    joined = ((is_code, "".join(part for _, part in parts)) for is_code, parts in pieces)
    return "".join(_in_cell(part) if is_code else part for is_code, part in joined)


def _pieces(line: str) -> Iterator[tuple[bool, str]]:
    """Code and addresses, which are written as code, and the text between them: is it code, and what is it."""
    at = 0
    for span in SPAN.finditer(line):
        yield from _without_addresses(line, at, span.start())
        yield True, span[1]
        at = span.end()
    yield from _without_addresses(line, at, len(line))


def _without_addresses(line: str, at: int, end: int) -> Iterator[tuple[bool, str]]:
    for address in ADDRESS.finditer(line, at, end):
        if at < address.start():
            yield False, _inert(line, at, address.start())
        yield True, address[0]
        at = address.end()
    if at < end:
        yield False, _inert(line, at, end)


def _inert(line: str, at: int, end: int) -> str:
    parts = []
    for found in ACTIVE.finditer(line, at, end):
        before, special = found[0][:-1], found[0][-1]
        parts += [line[at : found.start()], before, ENTITIES.get(special, f"&#{ord(special)};")]
        at = found.end()
    return "".join((*parts, line[at:end]))


ENTITIES = {"<": "&lt;", ">": "&gt;", "&": "&amp;"}


def code_of(text: str) -> str:
    """Return `text` as a code span.

    >>> code_of("select `a`")
    '`` select `a` ``'
    """
    return _span(printable(text).strip())


def _span(line: str) -> str:
    fence = "`" * (max(map(len, re.findall("`+", line)), default=0) + 1)
    is_padded = line.startswith(" ") and line.endswith(" ") and line.strip(" ")
    space = " " if line.startswith("`") or line.endswith("`") or is_padded or not line else ""
    return f"{fence}{space}{line}{space}{fence}"


def _in_cell(code: str) -> str:
    """A code span that fits into a cell: bars would end that, and stand between spans."""
    return "".join(
        BAR * len(part) if part.startswith("|") else _span(part) for part in re.split(r"(\|+)", code) if part
    )


BAR = "&#124;"


def cell_of(statement: str) -> str:
    """Return a statement as a code span that fits into a cell: cut, and no bar of it ends the cell.

    >>> cell_of("select a || b")
    '`select a `&#124;&#124;` b`'
    """
    cut = statement if len(statement) <= MAX_STATEMENT else f"{statement[:MAX_STATEMENT]}…"
    return _in_cell(printable(cut).strip())


def table(titles: Sequence[str], rows: Iterable[Sequence[str]], left: Sequence[int] = ()) -> Iterator[str]:
    """A table whose columns are right-aligned, but for those of `left`."""
    yield f"| {' | '.join(titles)} |"
    yield f"|{'|'.join('---' if column in left else '---:' for column in range(len(titles)))}|"
    for row in rows:
        yield f"| {' | '.join(row)} |"
