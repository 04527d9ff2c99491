"""The result as Markdown, to paste into a ticket or a mail: GitHub's flavour, and readable as it stands.

Statements stand in code spans, everything else that a capture contains is escaped: nothing of it becomes a link, an
image, HTML or another column.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
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
from latpcap.result.minutes import MinutesResult
from latpcap.result.settings import Settings
from latpcap.units import counted, format_given_ms, format_ms, format_s, percent, significant

__all__ = ["render"]

MAX_STATEMENT = 300
PACE_TITLES = ("delta p50 ms", "delta p95 ms", "client p50 ms", "client p95 ms")

SPECIAL = re.compile(r"[\\`*_\[\]<>|~&#!@]")


def render(result: Analysis) -> str:
    """Return the result as Markdown."""
    shown = tuple(result.connections[place] for place in busiest(result.connections)[:TOP])
    plain = replace(result, statements=result.statements[:TOP], connections=shown).to_dict()
    sections = (
        _verdict(plain["summary"]["verdict"]),
        _selection(plain["selection"]),
        _settings(result.settings),
        _health(plain["health"]),
        _budget(result.budget.parts(), network_in_all(result), about_budget(result.timing_only, result.connecting)),
        _projection(plain["projection"]),
        _chattiness(result.chattiness),
        _errors(result.errors),
        _minutes(result.minutes),
        _findings(plain["findings"], about_findings(result.timing_only)),
        _statements(plain["statements"], len(result.statements), about_statements(result.timing_only)),
        _connections(plain["connections"], len(result.connections)),
        _captures(plain["captures"]),
    )
    return "\n\n".join("\n".join(lines) for section in sections if (lines := list(section))) + "\n"


# --- sections -------------------------------------------------------------------------------------------------------


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
        yield from _table(
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
    yield from _table(
        ("RTT", "runtime s", "× now", "optimistic s", "pessimistic s", "statements/s"),
        ((rtt, *("" if point[name] is None else significant(point[name]) for name in names)) for rtt, point in points),
    )
    yield from (f"\n{text_of(text)}" for text in (projection["range_text"], projection["guess_text"]) if text)
    if projection.get("within"):
        yield f"\n{text_of(projection['within']['text'])}"


def _chattiness(result: Chattiness) -> Iterator[str]:
    if rows := list(chattiness_rows(result)):
        yield "## Chattiness\n"
        yield from _table(("ratio", "value", "from"), rows, left=(0, 2))


def _errors(errors: ErrorsResult) -> Iterator[str]:
    if not errors.found:
        return
    yield f"## {top('Errors', len(errors.found))}\n"
    yield f"{text_of(errors.failed_of_all)}: {counted(errors.round_trips, 'round trip')}.\n"
    yield from _table(
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
        yield from _table(
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
        yield from _table(
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
        yield from _table(
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


def _captures(captures: Sequence[dict[str, Any]]) -> Iterator[str]:
    for each in captures[:TOP]:
        span = f", {each['first_time']} – {each['last_time']}" if each["first_time"] else ""
        yield f"- {code_of(each['path'])}: {counted(each['packets'], 'packet')}, {text_of(each['format'])}{span}"
    if len(captures) > TOP:
        yield f"- … {len(captures):,} files in all"


# --- Markdown -------------------------------------------------------------------------------------------------------


def text_of(text: str | None) -> str:
    r"""Return `text` as plain Markdown text.

    >>> text_of("<b> a_b | [x](y)")
    '\\<b\\> a\\_b \\| \\[x\\](y)'
    """
    return SPECIAL.sub(lambda found: f"\\{found[0]}", printable(text)).strip()


def code_of(text: str) -> str:
    """Return `text` as a code span.

    >>> code_of("select `a`")
    '`` select `a` ``'
    """
    line = printable(text).strip()
    fence = "`" * (max(map(len, re.findall("`+", line)), default=0) + 1)
    space = " " if line.startswith("`") or line.endswith("`") or not line else ""
    return f"{fence}{space}{line}{space}{fence}"


def cell_of(statement: str) -> str:
    r"""Return a statement as a code span that fits into a cell: cut, and no bar of it ends the cell.

    >>> cell_of("select a || b")
    '`select a \\|\\| b`'
    """
    cut = statement if len(statement) <= MAX_STATEMENT else f"{statement[:MAX_STATEMENT]}…"
    return code_of(cut).replace("|", "\\|")


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]], left: Sequence[int] = ()) -> Iterator[str]:
    """A table whose columns are right-aligned, but for those of `left`."""
    yield f"| {' | '.join(titles)} |"
    yield f"|{'|'.join('---' if column in left else '---:' for column in range(len(titles)))}|"
    for row in rows:
        yield f"| {' | '.join(row)} |"
