import pytest
from hypothesis import given
from hypothesis import strategies as st

from latpcap import UsageError
from latpcap.units import format_ms, format_s, parse_list_ms, parse_ms


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
