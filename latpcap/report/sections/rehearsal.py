"""A rehearsal for people: for each RTT what was predicted, what was measured, and which part was off."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from latpcap.report.section import Column, Section, Sentence, sections_of, table_of
from latpcap.report.sections.budget import PARTS
from latpcap.report.sections.opening import asked_for
from latpcap.report.text import number, printable
from latpcap.result.pairs.rehearsal import Rehearsal, RehearsedRtt, Run
from latpcap.units import counted, format_ms, listed, significant

TYPICAL_HOST = "typical host s"
COLUMNS = (
    Column("RTT ms", "figures", name="asked"),
    *(Column(title, "figures", optional=True, name=title) for title in ("SYN ms", "data ms")),
    *(Column(title, "figures", name=title) for title in ("predicted s", "range s")),
    Column(TYPICAL_HOST, "figures", optional=True, name=TYPICAL_HOST),
    *(Column(title, "figures", name=title) for title in ("measured s", "difference", "inside")),
    Column("round trips", "figures", optional=True, name="round trips"),
    Column("most off s", folds=True, name="most off s"),
)
MIN_LINK_SHARE = 0.95
"""A link that takes a larger share of the RTT is the whole way to the server."""
WAYS = {
    "link": "Every packet crossed a link that adds the rest of the RTT.",
    "relay": "Requests crossed a relay that delayed them: exact for stop-and-wait work only; TCP handshakes, windows "
    "and losses are not those of a network.",
}


@sections_of.register
def rehearsal(result: Rehearsal) -> Iterator[Section]:
    """Show predictions and measurements at each RTT, and what the table cannot say."""
    said = [*asked_for(None, result.settings), Sentence(result.text, "strong")]
    table = table_of(COLUMNS, _rows(result), "Predicted and measured")
    yield Section("rehearsal", "", [*said, table, *(Sentence(line, "quiet") for line in _lines(result))])


def _rows(result: Rehearsal) -> Iterator[dict[str, str]]:
    yield _measured("today", result.median_today, result.today)
    for there in result.rtts:
        yield _measured(f"{there.target_rtt_ms:,g}", there.told, there.runs) | _predicted(there)


def _measured(asked: str, told: Run, runs: Sequence[Run]) -> dict[str, str]:
    """The median; of several runs the fastest and the slowest, too."""
    runtimes = [run.runtime_s for run in runs]
    spread = f" ({number(min(runtimes))} to {number(max(runtimes))})" if len(runs) > 1 else ""
    handshake, data = ("" if each is None else significant(each) for each in (told.handshake_ms, told.in_stream_ms))
    return dict.fromkeys((column.name for column in COLUMNS), "") | {
        "asked": asked,
        "SYN ms": handshake,
        "data ms": data,
        "measured s": f"{number(told.runtime_s)}{spread}",
        "round trips": f"{told.round_trips:,}",
    }


def _predicted(there: RehearsedRtt) -> dict[str, str]:
    """Beside it, and where most is off: `network and set-up +0.120` is so much more than was measured."""
    found, term = there.validation, there.largest_error
    if found is None:
        return {"predicted s": "–", "difference": "–"}
    return {
        "predicted s": number(found.predicted_s),
        "range s": f"{number(found.optimistic_s)} to {number(found.pessimistic_s)}",
        TYPICAL_HOST: number(there.typical_host_s) if _knows_host(there) else "",
        "difference": f"{found.error:+.1%}",
        "inside": "yes" if found.inside else "no",
        "most off s": f"{PARTS[term.name][1]} {term.predicted_s - term.measured_s:+,.3f}" if term else "",
    }


def _knows_host(there: RehearsedRtt) -> bool:
    """How late this host answers after a rest makes a difference."""
    found = there.validation
    return found is not None and there.typical_host_s not in (None, found.predicted_s)


def _is_beyond(there: RehearsedRtt) -> bool:
    """The link takes but a part of the RTT: the server is away by itself."""
    return there.link_ms is not None and there.link_ms < MIN_LINK_SHARE * there.target_rtt_ms


def _lines(result: Rehearsal) -> Iterator[str]:
    """Yield what the table cannot say."""
    yield from (printable(f"{each.target_rtt_ms:,g} ms: {each.no_verdict}") for each in result.rtts if each.no_verdict)
    yield from (printable(f"{each.target_rtt_ms:,g} ms: {why}.") for each in result.rtts for why in each.reasons)
    today = result.median_today.baseline_ms
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
    if any(map(_knows_host, result.rtts)):
        yield "Typical host: the prediction without what was measured of this host's answers after a rest."
    yield "SYN, data: the RTT of TCP handshakes and of the data, as recorded. Difference: predicted ÷ measured − 1."
