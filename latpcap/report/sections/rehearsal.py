"""A rehearsal for people: for each RTT what was predicted, what was measured, and which part was off."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from latpcap.report.section import Column, Section, SectionTable, Sentence, sections_of
from latpcap.report.sections.budget import PARTS
from latpcap.report.sections.opening import asked_for
from latpcap.report.text import number, printable
from latpcap.result.pairs.rehearsal import Rehearsal, RehearsedRtt, Run
from latpcap.result.pairs.validation import ValidationPart
from latpcap.units import counted, format_ms, listed, significant

__all__ = ["rehearsal"]

COLUMNS = (
    Column("RTT ms", "figures"),
    *(Column(title, "figures", optional=True) for title in ("SYN ms", "data ms")),
    *(Column(title, "figures") for title in ("predicted s", "range s", "measured s", "difference", "inside")),
    Column("round trips", "figures", optional=True),
    Column("most off s", folds=True),
)
LINK_ALONE = 0.95
"""A link that takes more of the RTT takes all that one sees."""
WAYS = {
    "link": "Every packet crossed a link that adds the rest of the RTT.",
    "relay": "Requests crossed a relay that delayed them: exact for stop-and-wait work only; TCP handshakes, windows "
    "and losses are not those of a network.",
}


@sections_of.register
def rehearsal(result: Rehearsal) -> Iterator[Section]:
    """What was predicted and measured at each RTT, and what the table cannot say."""
    said = [*asked_for(None, result.settings), Sentence(result.text, "strong")]
    table = SectionTable(COLUMNS, list(_rows(result)), "Predicted and measured")
    yield Section("rehearsal", "", [*said, table, *(Sentence(line, "quiet") for line in _lines(result))])


def _rows(result: Rehearsal) -> Iterator[Sequence[str]]:
    now = result.told_today
    yield (
        "today",
        *_rtts(now),
        "",
        "",
        _measured([run.runtime_s for run in result.today], now),
        "",
        "",
        f"{now.round_trips:,}",
        "",
    )
    yield from map(_row, result.rtts)


def _row(there: RehearsedRtt) -> Sequence[str]:
    found = there.validation
    predicted = ("–", "", "–", "") if found is None else (
        number(found.predicted_s),
        f"{number(found.optimistic_s)} to {number(found.pessimistic_s)}",
        f"{found.error:+.1%}",
        "yes" if found.inside else "no",
    )  # fmt: skip
    expected, span, error, inside = predicted
    measured = _measured([run.runtime_s for run in there.runs], there.told)
    return (
        f"{there.asked_ms:,g}",
        *_rtts(there.told),
        expected,
        span,
        measured,
        error,
        inside,
        f"{there.told.round_trips:,}",
        _most_off(there.most_off),
    )


def _rtts(run: Run) -> tuple[str, str]:
    handshake, data = ("" if each is None else significant(each) for each in (run.handshake_ms, run.in_stream_ms))
    return handshake, data


def _measured(runtimes: Sequence[float], told: Run) -> str:
    """The median; of several runs the fastest and the slowest, too."""
    spread = f" ({number(min(runtimes))} to {number(max(runtimes))})" if len(runtimes) > 1 else ""
    return f"{number(told.runtime_s)}{spread}"


def _most_off(term: ValidationPart | None) -> str:
    """`network and set-up +0.120`: so much more was predicted than measured."""
    if term is None:
        return ""
    return f"{PARTS[term.name][1]} {term.predicted_s - term.measured_s:+,.3f}"


def _is_beyond(there: RehearsedRtt) -> bool:
    """The link takes but a part of the RTT: the server is away by itself."""
    return there.link_ms is not None and there.link_ms < LINK_ALONE * there.asked_ms


def _lines(result: Rehearsal) -> Iterator[str]:
    """What the table cannot say."""
    yield from (printable(f"{each.asked_ms:,g} ms: {each.no_verdict}") for each in result.rtts if each.no_verdict)
    yield from (printable(f"{each.asked_ms:,g} ms: {why}.") for each in result.rtts for why in each.reasons)
    today = result.told_today.baseline_ms
    away = f", {format_ms(today)} away today" if today is not None else ""
    yield printable(
        f"{counted(len(result.servers), 'server')} farther away: {listed(result.servers)}{away}. {WAYS[result.way]}"
    )
    if result.way == "link" and any(_is_beyond(each) for each in result.rtts):
        yield "Data is acknowledged at the far end of the link: its RTT excludes the path behind it; SYNs include it."
    if result.conditions.text:
        again = "" if result.seed is None else f"; `--seed {result.seed}` repeats the random numbers"
        yield f"With {result.conditions.text}{again}."
    if result.ends is not None:
        yield printable(f"Congestion control: {result.ends.client} at the client, {result.ends.server} at the server.")
    yield "SYN, data: the RTT of TCP handshakes and of the data, as recorded. Difference: predicted ÷ measured − 1."
