"""The steps of Python that a further group, error or exchange costs: counted, since times differ from day to day."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from mysql_wire import capture, error, mysql, query, result, tcp

from latpcap import read
from latpcap.ranking import rank
from latpcap.units import significant
from latpcap.wireshark.annotate import comments

MAX_STEPS_A_GROUP = 8_000
"""Calls of functions for a group of one connection with four statements: a whole analysis of these alone."""
MAX_STEPS_AN_ERROR = 110
"""Calls for a row of `errors`."""
MAX_STEPS_A_COMMENT = 28
"""Calls for an exchange that is written beside its packet."""


def steps(work: Callable[[], Any]) -> int:
    """Count the functions that are called meanwhile, those in C included."""
    count = 0

    def see(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(see)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def growth(work: Callable[[int], Callable[[], Any]], few: int, many: int) -> float:
    """Return how many steps each takes that `many` have more than `few`."""
    work(few)()  # what is loaded or made once
    return (steps(work(many)) - steps(work(few))) / (many - few)


def clients(path: Path, count: int) -> str:
    """Clients with a connection each, whose statements name routes of their own, and fail: that makes a finding."""
    with path.open("wb") as file:
        file.write(tcp.PCAP_HEADER)
        now_ns = tcp.BEGIN_NS
        for number in range(count):
            wire = tcp.Wire(1_000_000, (bytes([10, 9, number >> 8, number & 255]), 40_000))
            wire.now_ns = now_ns
            file.writelines(mysql.log_in(wire, f"user{number}"))
            for row in range(4):
                asked = query(f"select a{number} from b where c = {row} /*route='/{number}/{row}'*/")
                file.writelines(wire.ask(asked, result(1) if row == 0 else error(f"no column a{number}")))
            now_ns = wire.now_ns + 1_000_000
    return str(path)


def failing(count: int) -> bytes:
    """Statements that fail, each with words of its own."""
    return capture((query(f"select a{number} from b"), error(f"no column a{number}")) for number in range(count))


def test_a_group_of_a_ranking_looks_at_no_other_group(tmp_path: Path) -> None:
    def ranked(count: int) -> Callable[[], Any]:
        path = clients(tmp_path / f"{count}.pcap", count)
        return lambda: rank(path, by="client")

    assert growth(ranked, 20, 40) < MAX_STEPS_A_GROUP
    assert growth(ranked, 100, 120) < MAX_STEPS_A_GROUP


def test_a_distinct_error_costs_a_row_and_no_walk() -> None:
    def listed(count: int) -> Callable[[], Any]:
        read_so_far = read(failing(count))
        return lambda: (read_so_far.errors_result, read_so_far.errors)

    assert growth(listed, 50, 250) < MAX_STEPS_AN_ERROR


def test_a_comment_is_written_in_few_steps() -> None:
    def written(count: int) -> Callable[[], Any]:
        read_so_far = read(capture((query("select 1"), result(1)) for _ in range(count)))
        analysis, exchanges = read_so_far.analyze(), read_so_far.exchanges
        return lambda: [*comments(analysis, exchanges)]

    assert growth(written, 50, 250) < MAX_STEPS_A_COMMENT


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.000999, "0.000999"), (0.001, "0.00100"), (-0.25, "-0.250"), (99.96, "100"), (998.9, "999"), (999.6, "1,000")],
)
def test_a_figure_has_three_digits_on_both_sides_of_each_way_to_write_it(value: float, text: str) -> None:
    assert significant(value) == text
