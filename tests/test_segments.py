"""Lost and spurious retransmissions by path and direction, in packets and per cent of the segments."""

from collections.abc import Callable

import pytest
from conftest import FIXTURES, Done, analysed, read_fixture

import latpcap as package
from latpcap.measures.segments import Direction, Segments
from latpcap.report import FORMATS
from latpcap.report.sections.paths import segments as section

Run = Callable[..., Done]
LOSSY = "mysql/nplus1-300-loss2"
NAMES = [LOSSY, "findings/wide-my", "findings/uncached", "postgresql/several-applications", "mysql/pool-4"]


def ways(name: str) -> tuple[Direction, Direction]:
    found = analysed(name).segments
    assert found.to_server is not None
    assert found.to_client is not None
    return found.to_server, found.to_client


@pytest.mark.parametrize("name", NAMES)
def test_both_directions_and_all_paths_sum_to_what_the_connections_have(name: str) -> None:
    analysis = analysed(name)
    told = [each.tcp for each in analysis.connections]
    for mine, theirs in (
        ("segments", "data_packets"),
        ("spurious", "spurious_retransmissions"),
        ("out_of_order", "reordered_packets"),
        ("zero_windows", "zero_windows"),
    ):
        total = sum(getattr(each, theirs) for each in told)
        assert sum(getattr(way, mine) for way in ways(name)) == total
        of_paths = [way for path in analysis.paths for way in path.segments.ways if way]
        assert sum(getattr(way, mine) for way in of_paths) == total
    again = sum(each.retransmissions for each in analysis.connections)
    assert sum(way.retransmissions for way in ways(name)) == again


def test_a_link_that_loses_packets_shows_by_direction() -> None:
    """Wireshark, too, has five of the client's packets sent again."""
    to_server, to_client = ways(LOSSY)
    assert (to_server.retransmissions, to_server.lost, to_server.spurious) == (5, 3, 2)
    assert (to_client.retransmissions, to_client.lost, to_client.spurious) == (2, 0, 2)
    assert to_server.lost_share == pytest.approx(3 / 309)
    assert analysed(LOSSY).segments.lost_share == pytest.approx(3 / (309 + 307))


def test_a_client_that_reads_slowly_stops_what_comes_to_it() -> None:
    to_server, to_client = ways("findings/wide-my")
    assert (to_server.zero_windows, to_client.zero_windows) == (0, 1)


def test_of_a_part_of_the_time_nothing_is_known() -> None:
    part = read_fixture(LOSSY).select(start="+100ms").analyze()
    assert part.segments == Segments()
    assert section(part.paths, 10).parts == []


def test_reports_tell_of_it_where_there_is_something_to_tell() -> None:
    assert section(analysed("mysql/pool-4").paths, 10).parts == []
    text = FORMATS["terminal"](analysed(LOSSY))
    assert "Segments lost and sent again" in text
    assert "10.77.0.1 → 10.77.0.2:3306" in text.partition("Segments lost and sent again")[2]


@pytest.mark.parametrize(("condition", "passed"), [("lost_share > 0.4%", False), ("lost_share > 1%", True)])
def test_a_gate_holds_the_loss(condition: str, passed: bool) -> None:
    assert read_fixture(LOSSY).check(condition).passed is passed


def test_a_gate_of_what_is_not_known_fails_and_says_why(latpcap: Run) -> None:
    done = latpcap("analyze", FIXTURES / f"{LOSSY}.pcapng", "--from", "+100ms", "--fail-if", "spurious_share > 1%")
    assert done.returncode == 1
    assert b"only a part of the time is selected" in done.stderr


def test_it_is_in_the_json_of_an_analysis() -> None:
    told = package.read(FIXTURES / f"{LOSSY}.pcapng").analyze().to_dict()
    assert told["segments"]["to_server"]["lost"] == 3
    assert told["paths"][0]["segments"] == told["segments"]
