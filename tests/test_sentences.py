"""The numbers of a sentence add up: the product of the waits is their time, a share is the same wherever it stands."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from builder import Conn, Ex, build
from conftest import SHARED, load_fixture, read_fixture, read_once
from golden import fixtures, path_of

import latpcap
from latpcap.findings.what_if import _decided, _Times
from latpcap.report import FORMATS, html
from latpcap.result.analysis import Analysis, Measures
from latpcap.result.page.exploration import explore
from latpcap.result.pairs.comparison import compare
from latpcap.units import format_given_ms, percent

NUMBER = r"([0-9][0-9,.]*)"
DURATION = rf"{NUMBER} (µs|ms|s)"
COUNTS = re.compile(rf"(?:^|\+ ){NUMBER} ")
LASTS = rf"{DURATION}(?: \([0-9][^)]*\))?"
NOW = re.compile(
    rf"(?P<runtime>{LASTS}): network (?P<share>(?:under )?{NUMBER}%)(?: \([0-9.]+ to [0-9.]+%\))?(?P<parts>.*)"
)
THERE = re.compile(
    rf"(?P<runtime>{LASTS}) \((?P<low>{NUMBER}(?: (?:µs|ms|s))?(?: \([^)]*\))?) to (?P<high>{LASTS})\)(?P<rest>.*)"
)
WAITS = re.compile(
    rf"(?P<counts>[^,]*(?:,[0-9]{{3}}[^,]*)*), (?P<each>{DURATION}) each(?: on average \([^)]*\))?: (?P<alone>{LASTS})"
    rf"(?:, in parallel (?P<overlap>{LASTS}))?"
)
SECONDS = {"µs": 1e-6, "ms": 1e-3, "s": 1.0}


def seconds(number: str, unit: str) -> tuple[float, float]:
    """A duration as it was written, and by how much that may be wrong: half of the last digit."""
    decimals = len(number.partition(".")[2])
    value = float(number.replace(",", ""))
    last = 10.0**-decimals if decimals or value < 1000 else 10.0
    return value * SECONDS[unit], 0.5001 * last * SECONDS[unit]


def captures() -> list[Path]:
    """Every fixture, and every capture of other projects that is here."""
    ours = [next(path_of(name).parent.glob(f"{path_of(name).stem}.pcapng*")) for name in fixtures()]
    others = [path for path in sorted(SHARED.rglob("*")) if path.suffix in {".pcap", ".pcapng", ".cap", ".zst"}]
    return [*ours, *others]


def analysed(path: Path) -> Analysis | str:
    """For a capture without database traffic: what is said instead."""
    try:
        return read_once(path).analyze()
    except (latpcap.NoDatabaseTraffic, latpcap.CaptureError) as none:
        return str(none)


@pytest.mark.parametrize("path", captures(), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_what_is_said_of_a_capture_agrees_with_its_numbers(path: Path) -> None:
    result = analysed(path)
    if isinstance(result, str):
        assert path.name in result  # why there is nothing to multiply
        return
    first_line(result)
    for sentence, said, off, truth in told(result):
        assert abs(said - truth) <= off, f"{sentence}: {said} is {truth}"


def first_line(result: Analysis) -> None:
    """What waits is a product that is its time, and its share of the runtime; where none is known, none is claimed."""
    labelled = {line.label: line.text for line in result.verdict if line.label not in ("", "NOTE")}
    found, share = NOW.fullmatch(labelled["NOW"]), result.summary.network_share
    if found is None:
        assert "%" not in labelled["NOW"]
        assert "network unknown (" in labelled["NOW"] or "nothing to measure" in labelled["NOW"]
        assert labelled.keys() <= {"NOW", "WHY", "DO", "ALSO", "ALL"}, "what cannot be told is not projected"
        return
    assert found["share"] == percent(share or 0), labelled["NOW"]
    text = result.waits.text(result.summary.round_trips)
    waits = WAITS.fullmatch(text)
    assert waits, text
    trips = sum(count(number) for number in COUNTS.findall(waits["counts"]))
    each, each_off = amount(waits["each"])
    product, off = amount(waits["alone"])
    assert abs(trips * each - product) <= trips * each_off + off, text
    shared, runtime = amount(waits["overlap"] or waits["alone"])[0], amount(found["runtime"])[0]
    assert shared / runtime == pytest.approx(share, rel=0.02, abs=1e-6), text


# --- every other sentence -------------------------------------------------------------------------------------------

Claim = tuple[str, float, float, float]
"""A sentence, a number in it, by how much that may be off, and what it is."""
AMOUNT = rf"{NUMBER} (µs|ms|s|%)(?: \([0-9][^)]*\))?"


def told(result: Analysis) -> Iterator[Claim]:
    """Every number of the verdict, the findings, the projection and the notes that stands in the JSON as well."""
    yield from _lines(result)
    verdict = " ".join(line.text for line in result.verdict if line.kind == "text")
    notes = " ".join(f"{note.message}." for note in result.health)
    projected = " ".join(saving.text(result.projection.headline_rtt_ms or 0) for saving in result.projection.fetches)
    for pattern, claims in VERDICT.items():
        for match in re.finditer(pattern, verdict):
            yield from ((match[0], *claim) for claim in claims(result, match))
    for pattern, claims in NOTES.items():
        for match in re.finditer(pattern, notes):
            yield from ((match[0], *claim) for claim in claims(result, match))
    for match in re.finditer(FETCHED, projected):
        yield from ((match[0], *claim) for claim in _fetched(match))
    yield from _of_findings(result)
    titles = " ".join(f"{finding.title}. {finding.why} {finding.fix}" for finding in result.findings)
    for text in (verdict, notes, titles):
        yield from _parts_of_wholes(text)


def amount(text: str) -> tuple[float, float]:
    """`0.203 s`, `1,283 s (21 min)` or `33%` as it was written, in seconds or as a share, and by how much it is off."""
    found = re.match(rf"{NUMBER} ?(µs|ms|s|%)", text)
    assert found, text
    if found[2] != "%":
        return seconds(found[1], found[2])
    decimals = len(found[1].partition(".")[2])
    return float(found[1]) / 100, 0.501 * 10.0 ** -(decimals + 2)


def count(text: str) -> int:
    return int(text.replace(",", ""))


Checked = Iterator[tuple[float, float, float]]


def _is(text: str, truth: float | None) -> tuple[float, float, float]:
    said, off = amount(text)
    assert truth is not None, text
    return said, off + 1e-9, truth


def _holds(claim: bool) -> tuple[float, float, float]:
    return float(claim), 0.0, 1.0


def _lines(result: Analysis) -> Iterator[Claim]:
    """The runtimes and shares of now and there, and what a millisecond costs."""
    told = result.projection.headline_rtt_ms
    points = {format_given_ms(point.rtt_ms): point for point in result.projection.points if point.rtt_ms == told}
    for line in result.verdict:
        if line.label == "NOW" and (now := NOW.fullmatch(line.text)):
            yield from ((line.text, *claim) for claim in _now(result, now))
        elif (point := points.get(line.label)) and (there := THERE.fullmatch(line.text)):
            ends = zip(("runtime", "low", "high"), ("runtime", "optimistic", "pessimistic"), strict=True)
            for name, end in ends:
                unit = "" if re.search("[a-zµ]", there[name]) else f" {there['high'].split()[1]}"
                yield (line.text, *_is(f"{there[name]}{unit}", getattr(point, f"{end}_s")))
            yield (
                line.text,
                *_holds((point.optimistic_s or 0) <= (point.runtime_s or 0) <= (point.pessimistic_s or 0)),
            )
        elif cost := re.search(rf"each millisecond of RTT costs ({AMOUNT})", line.text):
            projection = result.projection
            has_point = any(each.label in points for each in result.verdict)
            yield (
                line.text,
                *_is(cost[1], projection.headline_seconds_per_ms if has_point else projection.seconds_per_ms),
            )


def _now(result: Analysis, match: re.Match[str]) -> Checked:
    yield _is(match["runtime"], result.summary.runtime_s)
    parts = result.budget.parts() | {"network_s": 0.0}
    ordered, total = sorted(parts.values(), reverse=True), sum(result.budget.parts().values())
    for place, share in enumerate(re.findall(r" ([0-9]+%)", match["parts"])):
        yield _is(share, ordered[place] / total)


def _failed(result: Analysis, match: re.Match[str]) -> Checked:
    failed, of = count(match[1]), count(match[2])
    errors = result.errors
    of_logins = "login" in match[3]
    yield failed, 0, errors.failed_logins if of_logins else errors.failed_statements
    yield of, 0, errors.logins if of_logins else errors.statements
    each = [count(number) for number in re.findall(r"(?:^|, )([0-9,]*[0-9]) × ", match[4])]
    yield _holds(sum(each) <= failed if "and others" in match[4] else sum(each) == failed)


def _of_the_round_trips(result: Analysis, match: re.Match[str]) -> Checked:
    yield count(match[1]), 0, result.purposes[0].round_trips
    yield count(match[2]), 0, result.summary.round_trips


def _lost(result: Analysis, match: re.Match[str]) -> Checked:
    yield _is(match[1], result.budget.loss_s)
    yield _is(match[2], result.budget.loss_s / result.summary.runtime_s)
    if match[3]:
        yield _holds(amount(match[3])[0] <= amount(match[1])[0])


def _sent_again(result: Analysis, match: re.Match[str]) -> Checked:
    again, spurious, lost, of, share = match.groups()
    told = [each.tcp for each in result.connections]
    yield count(again), 0, sum(each.retransmissions for each in result.connections)
    needless = sum(each.spurious_retransmissions for each in told)
    if result.selection is None:
        yield count(lost or "0"), 0, count(again) - needless
    if spurious:
        yield count(again) if spurious == "all" else count(spurious), 0, needless
    if lost:
        yield count(of), 0, sum(each.data_packets for each in told)
        yield _is(share, count(lost) / count(of))


def _timed_out(result: Analysis, match: re.Match[str]) -> Checked:
    yield count(match[1]), 0, sum(each.tcp.timeouts for each in result.connections)
    yield _is(match[2], sum(each.tcp.timeout_ms for each in result.connections) / 1000)
    spans = sum(_span_s(each.start, each.end) for each in result.connections)
    yield _holds(amount(match[2])[0] <= spans + 1e-3)


def _span_s(start: str, end: str) -> float:
    begin, over = (np.datetime64(time.removesuffix("Z"), "ns") for time in (start, end))
    return float((over - begin).astype(np.int64)) / 1e9


def _unknown(result: Analysis, match: re.Match[str]) -> Checked:
    yield _is(match[1], result.budget.unknown_s / result.summary.runtime_s)


def _fetched(match: re.Match[str]) -> Checked:
    fetches, rows, usually, then, saved = (count(number) for number in match.groups())
    yield _holds(saved <= fetches)
    yield _holds(usually < then)
    yield _holds(rows <= (fetches - saved + 1) * max(then, 1))


def _of_findings(result: Analysis) -> Iterator[Claim]:
    """No fix saves more than there is, nor do all of them."""
    runtime_s = {f"{point.rtt_ms:g}": point.runtime_s or 0 for point in result.projection.points}
    for finding in result.findings:
        yield finding.title, finding.round_trips_saved, 0.5, min(finding.round_trips_saved, result.waits.count + 0.5)
        for rtt, saved_s in finding.saved_s.items():
            yield finding.title, saved_s, 1e-6, min(max(saved_s, 0), runtime_s[rtt])
        for pattern, claims in TITLES.items():
            if match := re.search(pattern, finding.title):
                yield from ((finding.title, *claim) for claim in claims(result, match))
    together = result.fixes_together
    for rtt, saved_s in together.saved_s.items() if together else ():
        yield "together", saved_s, 1e-6, min(max(saved_s, 0), runtime_s[rtt])


def _dominates(part: str) -> Callable[[Analysis, re.Match[str]], Checked]:
    def claims(result: Analysis, match: re.Match[str]) -> Checked:
        parts = result.budget.parts()
        share, of_total = parts[part] / sum(parts.values()), parts[part] / (sum(parts.values()) - parts["think_s"])
        said, off = amount(match[1])
        yield said, max(off, 0.00501), share
        yield _holds(said > 0)
        yield _holds(of_total >= 0.5)
        if match[2]:
            yield _is(match[2], of_total)

    return claims


def _yet_network(result: Analysis, match: re.Match[str]) -> Checked:
    assert result.projection.headline_budget is not None
    parts = result.projection.headline_budget.parts()
    said, off = amount(match[1])
    network = parts["network_s"] / sum(parts.values())
    yield _holds(network - off <= said <= network + off)


def _parts_of_wholes(text: str) -> Iterator[Claim]:
    """`7 of 8 statements`: a part is no more than its whole."""
    for match in re.finditer(r"(?<![0-9.,:])([0-9][0-9,]*) of (?:the )?([0-9][0-9,]*)(?: [a-z]|\b)", text):
        yield match[0], count(match[1]), 0, min(count(match[1]), count(match[2]))


FETCHED = (
    r"([0-9,]+) fetch(?:es)? returns? ([0-9,]+) rows, usually ([0-9,]+) each; "
    r"([0-9,]+) rows per fetch would save ([0-9,]+)"
)
VERDICT: dict[str, Callable[[Analysis, re.Match[str]], Checked]] = {
    r"([0-9,]+) of ([0-9,]+) (statement|login)s? failed: ((?:[^.]|\.[0-9])*)": _failed,
    r"([0-9,]+) of ([0-9,]+) round trips? only": _of_the_round_trips,
}
NOTES: dict[str, Callable[[Analysis, re.Match[str]], Checked]] = {
    rf"lost packets took ({NUMBER} (?:µs|ms|s))(?: \([^)]*min\))? \(({NUMBER}%) of the runtime\)"
    rf"(?:, ({NUMBER} (?:µs|ms|s)) of it probably)?": lambda result, match: _lost(
        result,
        re.match(r"(.*)\n(.*)\n(.*)", f"{match[1]}\n{match[3]}\n{match[5] or ''}"),  # type: ignore[arg-type]
    ),
    r"([0-9,]+) packets? w(?:as|ere) sent again(?:, ([0-9,]+|all) of them although the first copy had arrived)?"
    r"(?:: at least ([0-9,]+) of ([0-9,]+) packets? with data w(?:as|ere) lost \(([0-9.]+%)\))?": _sent_again,
    r"([0-9,]+) time-outs? before retransmissions, ([0-9.,]+ s) in all": _timed_out,
    r"([0-9.]+%) of the runtime may be network or server": _unknown,
}
TITLES: dict[str, Callable[[Analysis, re.Match[str]], Checked]] = {
    r"^The server takes ([0-9.]+%) of the time(?: \(([0-9.]+%) without think time\))?": _dominates("service_s"),
    r"^Transferring data takes ([0-9.]+%) of the time(?: \(([0-9.]+%) without think time\))?": _dominates("transfer_s"),
    r"^No avoidable round trips found, but at [0-9.]+ ms ([0-9.]+%) of the time is network": _yet_network,
}


def test_the_sentences_of_the_test_are_said_somewhere() -> None:
    """A pattern that no longer matches anything checks nothing."""
    names = ("nplus1-300-loss2", "oltp-pg", "failing-my", "chatter-pg", "pyodbc-postgresql", "killed-my")
    paths = [path for path in captures() if path.name.split(".")[0] in names]
    results = [result for result in map(analysed, paths) if isinstance(result, Analysis)]
    said = " ".join(line.text for each in results for line in each.verdict)
    notes = " ".join(note.message for each in results for note in each.health)
    missing = [pattern for pattern in list(VERDICT) if not re.search(pattern, said)]
    missing += [pattern for pattern in list(NOTES)[:3] if not re.search(pattern, notes)]
    assert not missing


CHANGED = [path for path in captures() if path.parent.name == "findings"]


@pytest.mark.parametrize("path", CHANGED[::3], ids=lambda path: path.name)
def test_what_fixes_are_said_to_change_agrees_with_their_numbers(path: Path) -> None:
    capture = read_once(path)
    changed = capture.what_if(["all"], ["15ms"])
    if changed is None:
        return
    durations = [amount(text) for text in re.findall(r"[0-9][0-9.,]* (?:µs|ms|s)\b", changed.answer)]
    fixed_s, now_s = changed.all_fixes.runtime_s["15"], capture.analyze().summary.runtime_s
    for fix in changed.fixes:
        assert fixed_s <= fix.runtime_s["15"] * 1.001 + 1e-6, (fix.name, changed.answer)
    if "no slower than today's" in changed.answer:
        (fixed, _), _, (here, _), *_ = durations
        assert fixed <= here, changed.answer
    if "hardly slower than today's" in changed.answer:
        assert now_s < fixed_s <= 1.1 * now_s, changed.answer


def test_a_fix_that_is_not_quite_enough_is_not_said_to_be_enough() -> None:
    enough, hardly = (_decided(_Times(0.242, 1.0, fixed), 15.0, 1, 1.0, ()) for fixed in (0.242, 0.259))
    assert "0.259 s at 15 ms, hardly slower than today's 0.242 s" in hardly
    assert "no slower than today's 0.242 s" in enough


def test_two_values_of_one_fix_cannot_both_be_made() -> None:
    capture = read_fixture("findings/fetch-10")
    with pytest.raises(latpcap.UsageError, match="`fetch=1000` and `fetch=50` contradict each other"):
        capture.what_if(["fetch=1000", "fetch=50"])
    alone = capture.what_if(["fetch=50"])
    beside = capture.what_if(["all", "fetch=50"])
    assert alone is not None
    assert beside is not None
    [named] = [fix for fix in beside.fixes if fix.name.startswith("fetch")]
    assert (named.name, named.round_trips_saved) == ("fetch=50", alone.all_fixes.round_trips_saved)


@pytest.mark.parametrize("name", ["mysql/nplus1-300-loss2", "mysql/parallel-8", "findings/write-write-read"])
def test_a_capture_of_one_task_grows_by_what_its_task_does(name: str) -> None:
    capture = read_fixture(name)
    [per_ms] = capture.tasks.column("seconds_per_ms")
    assert per_ms == pytest.approx(capture.analyze().projection.seconds_per_ms)


@pytest.mark.parametrize(("before", "after"), [("mysql/churn-20", "mysql/nplus1-300-loss2")])
def test_a_comparison_tells_the_difference_and_what_makes_it(before: str, after: str) -> None:
    result = compare(*(read_fixture(name).analyze() for name in (before, after)))
    said, *reasons = re.findall(r"[+−]?[0-9][0-9.,]* (?:µs|ms|s)(?= (?:slower|faster|for|because))", result.explanation)
    difference, off = amount(said)
    assert abs(difference - abs(result.runtime_after_s - result.runtime_before_s)) <= off
    signed = [(-1 if reason[0] == "−" else 1) * amount(reason[1:])[0] for reason in reasons]
    assert sum(signed) == pytest.approx(result.runtime_after_s - result.runtime_before_s, rel=0.2)


@pytest.mark.parametrize(
    "name", ["mysql/churn-20", "clients/django-postgresql", "firebird/fbclient3-nplus1-100-client"]
)
def test_the_share_of_the_network_is_the_same_wherever_it_stands(name: str) -> None:
    capture = read_fixture(name)
    result = capture.analyze()
    summary = result.summary
    assert summary.network_share is not None
    share = percent(summary.network_share)
    assert f": network {share}" in result.text.split("\n")[1]
    said = f"{result.waits.text(summary.round_trips)} ({share}"
    assert said in FORMATS["terminal"](result).replace("\n", " ").replace("  ", " ")
    assert said in FORMATS["markdown"](capture.measures, None, None)
    assert said in html.render(explore(capture.measures))
    assert FORMATS["terminal"](compare(result, result)).count(share) == 2
    assert (summary.network_share_low or 0) <= summary.network_share <= (summary.network_share_high or 1)


def test_where_no_pattern_is_found_it_is_said_what_would_help() -> None:
    transaction = [Ex(sql="begin"), Ex(sql="insert into a values (?)"), Ex(sql="update b set c = ?"), Ex(sql="commit")]
    [found] = Measures(build([Conn(rtt_ms=9, exchanges=transaction * 3)])).analyze().findings
    assert found.code == "network-bound"
    assert re.fullmatch("No avoidable round trips found, but at 15 ms [0-9]+% of the time is network", found.title)
    assert found.fix.startswith("Each transaction makes 4 round trips: a stored procedure or a batch would make")


def test_where_the_network_costs_little_there_is_nothing_to_fix() -> None:
    [found] = Measures(build([Conn(exchanges=[Ex(sql="select 1", client_ms=90)] * 3)])).analyze().findings
    assert (found.title, found.fix) == ("Nothing to fix: no avoidable round trips found", "")


def test_a_given_rtt_has_no_range() -> None:
    result = latpcap.read(load_fixture("mysql/churn-20").path, rtt_baseline_ms=1).analyze()
    assert " to " not in result.text.split("\n")[1]


def test_connections_at_different_distances_wait_on_average() -> None:
    near, far = (Conn(rtt_ms=rtt, client=f"10.0.0.{rtt}:40000", exchanges=[Ex("query")] * 10) for rtt in (1, 9))
    result = Measures(build([near, far])).analyze()
    assert "each on average (RTTs 1.00 to 9.00 ms)" in result.waits.text(result.summary.round_trips)
