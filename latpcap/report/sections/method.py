"""How it was computed, in sentences with the numbers of this recording; and what a page draws of the exchanges."""

from __future__ import annotations

from collections.abc import Iterator

from latpcap.measures.charts import Deltas, Timeline
from latpcap.report.section import (
    Chart,
    ChartLine,
    Column,
    Drawn,
    Entry,
    Section,
    SectionPart,
    SectionTable,
    Sentence,
    sections_of,
)
from latpcap.result.analysis import Analysis
from latpcap.result.page.exploration import Exploration
from latpcap.units import counted, format_given_ms, format_ms

TITLES = {"response": ("Response times", "exchanges"), "delta": ("Times between requests", "intervals")}
QUANTILES = {"p50": "half are within", "p95": "95 % within", "p99": "99 % within", "max": "the longest takes"}
COUNTED = (
    "They are counted where the client waits for the server, not where packets change direction: requests sent "
    "together share one, a fetch costs one more, TCP's own acknowledgments cost none."
)
RUNTIME = (
    "It runs from the first packet of a database connection to the last packet with data. Every instant of it "
    "belongs to one part: an exchange that waits n times spends at most n × the baseline RTT on the network, the "
    "rest of its wait is the server's, the rest of its length is transfer. Where several connections are busy at "
    "once, the instant is shared equally."
)
THERE = (
    "The server, the application, think time, transfers and losses stay as they were measured; what is left of the "
    "replayed runtime goes to the network. The network column of the statements grows by the same factor."
)
FIXES = (
    "Each combination of them was replayed by itself: runtime, range, parts, statements per second and the "
    "statements' columns are those of the job with these fixes made. Several findings of one fix share what it "
    "saves. Fixes that remove the same waits save less together than one by one."
)
LINES = (
    "between two of them a page reads it off a straight line. That is within about 0.5 % where the runtime changes "
    "smoothly; beside a jump, as steady pauses make in the range, it can be several per cent off: `latpcap project "
    "--rtt` replays the very RTT. The range comes from the assumptions below."
)
DELTAS = (Column("time between requests"), Column("exchanges", "count"))
LANES = (
    Column("connection", "id"),
    *(Column(title, "ms") for title in ("from s", "to s")),
    *(Column(title, "count") for title in ("exchanges", "round trips")),
)
HISTOGRAMS = (
    "They have 10 bins for each power of ten over all exchanges; those that open a connection are left out, and "
    "so are responses without a wait."
)
NO_GRID = "It was not, as the RTT of the capture is unknown."


def drawn(explored: Exploration) -> Iterator[Section]:
    """The timeline of the exchanges, and how their times are distributed."""
    lanes = explored.timeline["lanes"]
    if any(lane["gap"] for lane in lanes):
        yield Section("timeline", "Timeline", [Sentence(_blocks(explored), "quiet"), Drawn("timeline")])
    found = explored.distributions
    if any(each.counts for each in found.values()):
        parts = [part for name, each in found.items() for part in _distribution(name, each)]
        yield Section("histograms", "How times are distributed", parts)


def _distribution(name: str, found: Deltas) -> Iterator[SectionPart]:
    """A histogram and its quantiles in words."""
    chart = _histogram(name, found)
    yield Sentence(chart.title, "head")
    if not found.counts:
        yield Sentence("None was captured whole.", "quiet")
        return
    yield chart
    line = "" if chart.mark is None else f" The line is the baseline RTT, {format_ms(chart.mark)}."
    yield Sentence(f"{_quantiles(found, chart.lines[0].name[:-1])}{line}", "quiet")


def _quantiles(found: Deltas, what: str) -> str:
    words = (f"{words} {format_ms(found.quantiles_ms[quantile])}" for quantile, words in QUANTILES.items())
    return f"{counted(sum(found.counts), what)}: {', '.join(words)}."


@sections_of.register
def _deltas(found: Deltas) -> Iterator[Section]:
    """The histogram, its quantiles and its rows."""
    bins = zip(found.edges_ms, found.edges_ms[1:], found.counts, strict=False)
    rows = [(f"{format_given_ms(low)} to {format_given_ms(high)}", count) for low, high, count in bins if count]
    said = [Sentence(_quantiles(found, "interval"), "quiet")] if rows else []
    yield Section("deltas", "", [_histogram("delta", found), *said, SectionTable(DELTAS, rows)])


def _histogram(name: str, found: Deltas) -> Chart:
    title, what = TITLES[name]
    line = ChartLine(what, what, "count", found.counts, colour="accent", style="bars")
    return Chart(
        name, title, f"{title.lower()} (ms)", "ms", found.edges_ms, (line,), is_log=True, mark=found.baseline_rtt_ms
    )


@sections_of.register
def _lanes(found: Timeline) -> Iterator[Section]:
    """A row a connection: when it was busy, and how often it waited."""
    lanes: dict[int, list[float]] = {}
    for each in found.intervals:
        lane = lanes.setdefault(each.stream, [each.start_s, 0.0, 0, 0])
        lane[1:] = [max(lane[1], each.end_s), lane[2] + each.exchanges, lane[3] + each.round_trips]
    left = found.connections - len(lanes)
    more = [Sentence(f"and {left:,} connections that waited less")] if left else []
    yield Section("lanes", "", [SectionTable(LANES, [(stream, *lane) for stream, lane in lanes.items()]), *more])


def _blocks(explored: Exploration) -> str:
    drawn, interval_us = explored.timeline, explored.timeline["stretch_us"]
    what = "Every exchange is drawn from its request to the end of its response"
    if interval_us:
        what = (
            f"The recording is divided into intervals of {format_given_ms(interval_us / 1000)}, in each of which an "
            "exchange counts for the part of it that lies there"
        )
    held = " A stall before a request is drawn with it." if any(lane.get("stall") for lane in drawn["lanes"]) else ""
    left = drawn["lanes_left_out"]
    more = f" {counted(left, 'lane')} with fewer exchanges left out." if left else ""
    return (
        f"{what}; colours show how it was spent.{held} Where nothing is drawn, the application worked or paused, as "
        f"seen where the capture was taken.{more}"
    )


def method(explored: Exploration) -> Section:
    """How each kind of figure came about."""
    said = (Entry(text, name) for name, text in _said(explored))
    return Section("method", "How this was computed", [*said])


def _said(explored: Exploration) -> Iterator[tuple[str, str]]:
    baseline, grid = _baseline(explored.analysis), _grid(explored)
    yield "Round trips", f"{COUNTED} {baseline}"
    yield "The runtime", RUNTIME
    yield "The runtime at another RTT", grid
    yield "The parts at another RTT", THERE
    yield "Fixes", FIXES
    yield "Histograms", HISTOGRAMS


def _baseline(analysis: Analysis) -> str:
    summary = analysis.summary
    if summary.baseline_rtt_ms is None:
        return "No RTT could be measured."
    mean = "on a path that changed the mean over its round trips, each with the RTT of its time"
    median = "the median over the connections, each counted by its round trips"
    changed = any(note.code == "path-changed" for note in analysis.health)
    return (
        f"The baseline RTT is {format_ms(summary.baseline_rtt_ms)}, {mean if changed else median}. "
        f"The runtime grows by {summary.effective_round_trips:,.0f} effective round trips: "
        "TCP handshakes included, overlapping work counted once."
    )


def _grid(explored: Exploration) -> str:
    if not explored.switches.jobs:
        return NO_GRID
    count = len(explored.switches.jobs[0].curve.rtt_ms)
    ends = (format_given_ms(float(f"{end:.3g}")) for end in (explored.lowest_rtt_ms, explored.highest_rtt_ms))
    return (
        f"It was replayed for {count:,} round-trip times from {' to '.join(ends)}, more densely where it bends; {LINES}"
    )
