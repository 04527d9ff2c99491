"""The numbers of a sentence add up: the verdict's product is its time, a share is the same wherever it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from builder import Conn, Ex, build
from conftest import SHARED, load_fixture, read_fixture
from golden import fixtures, path_of

import latpcap
from latpcap.report import FORMATS, html
from latpcap.result.analysis import Analysis, Measures
from latpcap.result.comparison import compare
from latpcap.result.exploration import explore
from latpcap.units import format_s, percent

NUMBER = r"([0-9][0-9,.]*)"
DURATION = rf"{NUMBER} (µs|ms|s)"
COUNTS = re.compile(
    rf"(?:[0-9,]+ of )?{NUMBER} (?:of [0-9,]+ )?(round trips?|TCP handshakes?|greetings?|waits? for the)"
)
FIRST = re.compile(
    rf"(?P<counts>.*?) at {DURATION}(?: on average \([^)]*\))?"
    rf"(?: would be {DURATION} one after the other; side by side they)? (?:is|are) {DURATION}(?: \(.*?\))? "
    rf"of {DURATION}(?: \(.*?\))? \((under )?{NUMBER}%(?:, (.*) to (.*)%)?\)\."
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
        return latpcap.read(path).analyze()
    except (latpcap.NoDatabaseTraffic, latpcap.CaptureError) as none:
        return str(none)


@pytest.mark.parametrize("path", captures(), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_the_first_line_is_a_product_that_is_its_time(path: Path) -> None:
    result = analysed(path)
    if isinstance(result, str):
        assert path.name in result  # why there is nothing to multiply
        return
    first = next(line for line in result.summary.verdict.split("\n") if "login" not in line)
    if " at " not in first:
        assert "%" not in first  # where nothing is multiplied, nothing is claimed
        return
    found = FIRST.fullmatch(first)
    assert found, first
    trips = sum(int(_counted(match)) for match in COUNTS.finditer(found["counts"]))
    each, each_off = seconds(found[2], found[3])
    alone = found[4] is not None
    product, off = seconds(found[4], found[5]) if alone else seconds(found[6], found[7])
    assert abs(trips * each - product) <= trips * each_off + off, first
    shared, runtime = seconds(found[6], found[7])[0], seconds(found[8], found[9])[0]
    assert shared / runtime == pytest.approx(result.summary.network_share, rel=0.02, abs=1e-6), first


def _counted(match: re.Match[str]) -> str:
    """`143 of 145 round trips` are 143."""
    return match[0].split(" ")[0].replace(",", "")


@pytest.mark.parametrize(
    "name", ["mysql/churn-20", "clients/django-postgresql", "firebird/fbclient3-nplus1-100-client"]
)
def test_the_share_of_the_network_is_the_same_wherever_it_stands(name: str) -> None:
    capture = read_fixture(name)
    result = capture.analyze()
    summary = result.summary
    assert summary.network_share is not None
    share = percent(summary.network_share)
    first, _, third, *_ = summary.verdict.split("\n")
    assert f"({share}" in first
    assert f"waiting for the network ({share})" in third
    said = f"the network takes {format_s(summary.network_s or 0)} ({share}"
    assert said in FORMATS["terminal"](result).replace("\n", " ").replace("  ", " ")
    assert said in FORMATS["markdown"](capture.measures, None, None)
    assert said in html.render(explore(capture.measures))
    assert FORMATS["terminal"](compare(result, result)).count(share) == 2
    assert (summary.network_share_low or 0) <= summary.network_share <= (summary.network_share_high or 1)


def test_where_no_pattern_is_found_it_is_said_what_would_help() -> None:
    transaction = [Ex(sql="begin"), Ex(sql="insert into a values (?)"), Ex(sql="update b set c = ?"), Ex(sql="commit")]
    [found] = Measures(build([Conn(rtt_ms=9, exchanges=transaction * 3)])).analyze().findings
    assert (found.code, found.title.split(" takes ")[0]) == (
        "healthy",
        "No pattern wastes round trips, and yet the network",
    )
    assert found.fix.startswith("A transaction waits 4.00 times on average: a stored procedure or a batch would")


def test_where_the_network_costs_little_there_is_nothing_to_fix() -> None:
    [found] = Measures(build([Conn(exchanges=[Ex(sql="select 1", client_ms=90)] * 3)])).analyze().findings
    assert (found.title, found.fix) == ("Nothing to fix: no pattern wastes round trips", "")


def test_a_given_rtt_has_no_range() -> None:
    first = (
        latpcap.read(load_fixture("mysql/churn-20").path, rtt_baseline_ms=1).analyze().summary.verdict.split("\n")[0]
    )
    assert " to " not in first


def test_connections_at_different_distances_wait_on_average() -> None:
    near, far = (Conn(rtt_ms=rtt, client=f"10.0.0.{rtt}:40000", exchanges=[Ex("query")] * 10) for rtt in (1, 9))
    first = Measures(build([near, far])).analyze().summary.verdict.split("\n")[0]
    assert "on average (RTTs of 1.00 ms to 9.00 ms)" in first
