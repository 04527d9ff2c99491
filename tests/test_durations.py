import json
import subprocess
from collections.abc import Callable

import pytest
from conftest import FIXTURES
from hypothesis import given
from hypothesis import strategies as st
from test_cli import failed

from latpcap import UsageError
from latpcap.units import format_ms, format_s, parse_list_ms, parse_ms

Run = Callable[..., subprocess.CompletedProcess[bytes]]

NPLUS1 = FIXTURES / "mysql/nplus1-300-client.pcapng"


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("500us", 0.5),
        ("500µs", 0.5),
        ("15ms", 15),
        ("1.5s", 1500),
        ("15", 15),
        (" 2 s ", 2000),
        ("1e2", 100),
        ("2min", 120_000),
    ],
)
def test_units_are_understood_and_a_bare_number_is_milliseconds(text: str, milliseconds: float) -> None:
    assert parse_ms(text) == pytest.approx(milliseconds)


@pytest.mark.parametrize("text", ["", "ms", "-1ms", "1 parsec", "1,5", "nan", "inf", "1e99h", "1ms2", "0x10", "１"])
def test_what_is_no_duration_is_refused_with_the_way_out(text: str) -> None:
    with pytest.raises(UsageError, match=r"is not a duration: write 500us|too long"):
        parse_ms(text)


def test_a_list_keeps_its_order_and_its_duplicates() -> None:
    assert parse_list_ms("15ms,1ms,15ms") == [15, 1, 15]


def test_a_list_with_a_hole_is_refused() -> None:
    with pytest.raises(UsageError):
        parse_list_ms("1ms,,2ms")


@given(st.floats(min_value=0, max_value=1e9))
def test_a_bare_number_is_itself(value: float) -> None:
    assert parse_ms(repr(value)) == value


@given(st.floats(min_value=0, max_value=1e12))
def test_every_duration_can_be_written(value: float) -> None:
    assert format_ms(value)
    assert format_s(value)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(599.6, "600 s"), (600, "600 s (10 min)"), (7199.9, "7,200 s (2 h 0 min)"), (3e5, "300,000 s (3 d 11 h)")],
)
def test_long_durations_are_also_told_in_minutes_hours_and_days(seconds: float, text: str) -> None:
    assert format_s(seconds) == text


# --- what must say its unit ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "options", "message"),
    [
        ("project", ["--within", "60"], "`60` has no unit: write 60s or 60ms"),
        ("analyze", ["--think", "1"], "`1` has no unit: write 1s or 1ms"),
        ("sql", ["--timeout", "5", "from statements"], "`5` has no unit: write 5s or 5ms"),
        ("analyze", ["--fail-if", "runtime > 60"], "`runtime > 60`: `60` has no unit: write 60s or 60ms"),
        ("analyze", ["--fail-if", "project(15) > 60"], "`project(15) > 60`: `60` has no unit: write 60s or 60ms"),
    ],
)
def test_a_duration_that_may_be_seconds_must_say_its_unit(
    latpcap: Run, command: str, options: list[str], message: str
) -> None:
    done = latpcap(command, NPLUS1, *options)
    assert (done.returncode, done.stdout) == (2, b"")
    assert message in done.stderr.decode()


@pytest.mark.parametrize(
    "options", [["--rtt", "15"], ["--rtt-baseline", "1"], ["--think", "0"], ["--fail-if", "baseline_rtt > 5"]]
)
def test_rtts_are_in_milliseconds_and_nothing_needs_no_unit(latpcap: Run, options: list[str]) -> None:
    assert latpcap("analyze", NPLUS1, *options).returncode == 0


# --- RTTs by name and in steps ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "rtts"),
    [
        ("lan,region,ocean", [0.5, 15, 90]),
        ("LAN, 3ms", [0.5, 3]),
        ("1..50ms", [1, 2, 5, 10, 20, 50]),
        ("500us..3ms", [0.5, 1, 2, 3]),
        ("1..15", [1, 2, 5, 10, 15]),
        ("7..7ms", [7]),
        ("lan,1..2ms,1.5s", [0.5, 1, 2, 1500]),
    ],
)
def test_rtts_have_names_and_ladders(text: str, rtts: list[float]) -> None:
    assert parse_list_ms(text) == pytest.approx(rtts)


@pytest.mark.parametrize("text", ["50..1ms", "0..5ms", "..5ms", "1..", "moon", "1..2..3ms", "lan..ocean"])
def test_what_is_no_list_of_rtts_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="write"):
        parse_list_ms(text)


def test_a_distance_is_the_rtt_where_none_is_given_and_refuses_a_shorter_one(latpcap: Run) -> None:
    def rtts(*options: str) -> list[float]:
        points = json.loads(latpcap("project", NPLUS1, "--json", *options).stdout)["points"]
        return [point["rtt_ms"] for point in points]

    assert rtts("--rtt", "10ms,15ms", "--distance", "1000km") == [10, 15]
    status, line = failed(latpcap("project", NPLUS1, "--rtt", "5ms,15ms", "--distance", "1000km"))
    assert status == 2
    assert line == "an RTT of 5 ms over 1,000 km is impossible: light in fibre takes 10 ms there and back"
    assert rtts("--distance", "1000km") == [10]
