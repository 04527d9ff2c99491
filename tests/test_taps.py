"""What two taps show together: how long packets travelled each way, by which clocks, and what one did not see."""

from __future__ import annotations

import io
import random
import struct
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import load_fixture
from hypothesis import given, settings
from hypothesis import strategies as st

import latpcap
from latpcap.report.sections.taps import sentences
from latpcap.result.taps import TapsResult

RUN = "postgresql/psycopg2-cursor10-2000"
ONE_WAY_MS = 2.49
"""Of the link that this run was recorded on, at 5 ms."""
PACKET = 16
"""Bytes of a record's header in a pcap."""

CLIENT, SERVER = (bytes((10, 77, 0, host)) for host in (1, 2))

Records = list[tuple[int, bytes]]


def path(side: str) -> str:
    return str(load_fixture(f"{RUN}-{side}").path)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The run's captures as pcap of nanoseconds."""
    folder = tmp_path_factory.mktemp("taps")
    for side in ("client", "server"):
        command = ["editcap", "-F", "nsecpcap", path(side), str(folder / f"{side}.pcap")]
        subprocess.run(command, check=True)
    return {side: folder / f"{side}.pcap" for side in ("client", "server")}


def records(file: Path) -> tuple[bytes, Records]:
    """A pcap's header, and its packets' times with their bytes, lengths in front."""
    data, found, at = file.read_bytes(), Records(), 24
    while at < len(data):
        seconds, nanoseconds, captured, _ = struct.unpack_from("<IIII", data, at)
        found.append((seconds * 10**9 + nanoseconds, data[at + 8 : at + PACKET + captured]))
        at += PACKET + captured
    return data[:24], found


def written(header: bytes, packets: Records) -> io.BytesIO:
    return io.BytesIO(header + b"".join(struct.pack("<II", *divmod(time, 10**9)) + rest for time, rest in packets))


def taps_of(*sources: Any) -> tuple[TapsResult, ...]:
    return latpcap.read(list(sources)).analyze().taps


def exchanges(capture: latpcap.Capture) -> list[dict[str, Any]]:
    """Every exchange but for the frames' numbers, which count all packets."""
    rows = capture.exchanges.to_dicts()
    return [{name: value for name, value in row.items() if not name.endswith("_frame")} for row in rows]


def moved(plain: dict[str, Path], offset_ns: int, ppm: float = 0.0, without: int = 0) -> io.BytesIO:
    """The server's tap, with its clock set forward and gaining, without its first packets."""
    header, packets = records(plain["server"])
    first = packets[0][0]
    return written(
        header, [(time + offset_ns + round((time - first) * ppm / 1e6), rest) for time, rest in packets[without:]]
    )


def test_both_ways_take_as_long_as_the_link() -> None:
    [found] = taps_of(path("server"), path("client"))
    assert (found.client, found.server) == ("10.77.0.1", "10.77.0.2:5432")
    assert "client" in found.client_tap
    assert "server" in found.server_tap
    for way in (found.request, found.response):
        assert way.median_ms == pytest.approx(ONE_WAY_MS, abs=0.05)
        assert (way.client_tap_only, way.server_tap_only) == (0, 0)
    assert found.round_trip_ms == pytest.approx(2 * ONE_WAY_MS, abs=0.1)
    assert found.offset_ms == pytest.approx(0, abs=0.01)
    assert (found.clocks, found.drift_ppm) == ("unknown", None)
    # what is answered at the server's tap is answered a round trip later at the client's
    assert found.at_client.answers == found.at_server.answers > 100
    near, far = found.at_client.answer_median_ms, found.at_server.answer_median_ms
    assert near is not None
    assert far is not None
    assert near - far == pytest.approx(found.round_trip_ms, abs=0.1)


def test_one_tap_tells_nothing() -> None:
    assert taps_of(path("client")) == ()
    assert len(latpcap.read(path("client")).taps) == 0


@pytest.mark.parametrize("offset_ms", [-300.0, -4.0, 1.5, 40.0, 700.0])
def test_the_round_trip_is_sure_whatever_the_clocks_say(plain: dict[str, Path], offset_ms: float) -> None:
    [found] = taps_of(plain["client"], moved(plain, round(offset_ms * 1e6)))
    assert found.round_trip_ms == pytest.approx(2 * ONE_WAY_MS, abs=0.1)
    assert found.offset_ms == pytest.approx(offset_ms, abs=0.01)
    assert "client" in found.client_tap, "the offset does not turn the taps round"
    assert found.clocks == ("differ" if abs(offset_ms) > ONE_WAY_MS else "unknown")
    assert any("arrive before they were sent" in each for each in sentences(found)) == (found.clocks == "differ")


@pytest.mark.parametrize("offset_ms", [-700, -40, 40, 700])
def test_every_exchange_counts_once_whatever_the_clocks_say(plain: dict[str, Path], offset_ms: int) -> None:
    server = moved(plain, offset_ms * 1_000_000)
    both = latpcap.read([plain["client"], server])
    server.seek(0)
    first = latpcap.read(server if offset_ms < 0 else plain["client"])
    assert exchanges(both) == exchanges(first)
    assert [note["code"] for note in both.health.to_dicts()] == ["duplicate-packets"]


def test_taps_of_a_connection_that_was_there_before_are_known(plain: dict[str, Path]) -> None:
    header, packets = records(plain["client"])
    client = written(header, packets[60:])
    both = latpcap.read([client, moved(plain, 300_000_000, without=60)])
    client.seek(0)
    alone = latpcap.read(client)
    counts = [len(capture.exchanges) for capture in (both, alone)]
    assert abs(counts[0] - counts[1]) <= 1
    assert both.analyze().taps[0].round_trip_ms == pytest.approx(2 * ONE_WAY_MS, abs=0.1)


def test_a_clock_that_gains_is_told(plain: dict[str, Path]) -> None:
    [found] = taps_of(plain["client"], moved(plain, 0, ppm=300.0))
    assert found.drift_ppm == pytest.approx(300, rel=0.1)
    assert found.clocks == "differ"
    assert found.round_trip_ms == pytest.approx(2 * ONE_WAY_MS, abs=0.1)


def test_interfaces_of_one_file_have_one_clock(plain: dict[str, Path], tmp_path: Path) -> None:
    both = tmp_path / "both.pcapng"
    subprocess.run(["mergecap", "-I", "none", "-w", both, path("client"), path("server")], check=True)
    [found] = taps_of(both)
    assert (found.clocks, found.client_tap, found.server_tap) == (
        *("same", "both.pcapng (interface 0)"),
        "both.pcapng (interface 1)",
    )
    assert found.request.median_ms == pytest.approx(ONE_WAY_MS, abs=0.05)
    assert exchanges(latpcap.read(both)) == exchanges(latpcap.read(path("client")))


def test_the_same_capture_twice_is_said(tmp_path: Path) -> None:
    copy = tmp_path / f"again{''.join(Path(path('client')).suffixes)}"
    copy.write_bytes(Path(path("client")).read_bytes())
    [found] = taps_of(path("client"), copy)
    assert [*sentences(found)] == ["All times are identical: both files are the same capture, not two taps"]


def test_three_taps_are_told_two_by_two(plain: dict[str, Path]) -> None:
    header, packets = records(plain["client"])
    of_client = [rest.index(CLIENT) < rest.index(SERVER) for _, rest in packets]
    half = [
        (time + (1 if sent else -1) * 1_000_000, rest) for (time, rest), sent in zip(packets, of_client, strict=True)
    ]
    middle = written(header, sorted(half))
    middle.name = "middle"
    found = {(each.client_tap, each.server_tap): each for each in taps_of(plain["client"], plain["server"], middle)}
    assert len(found) == 3
    told = sorted(each.round_trip_ms or 0.0 for each in found.values())
    assert told == pytest.approx([2.0, 2.98, 4.98], abs=0.1)


def test_of_very_many_taps_the_first_are_told_and_all_exchanges_count_once(plain: dict[str, Path]) -> None:
    header, packets = records(plain["client"])
    port = packets[0][1].partition(CLIENT + SERVER)[2][:2]
    connections = [
        [(time, rest.replace(port, struct.pack(">H", 50_000 + number))) for time, rest in packets[:40]]
        for number in range(20)
    ]
    captures = [latpcap.read([written(header, each) for each in connections for _ in range(taps)]) for taps in (1, 2)]
    once, twice = captures
    assert exchanges(once) == exchanges(twice)
    assert len(twice.taps) == 16, "a file may name any number of interfaces"


def test_what_one_tap_did_not_see_is_counted(plain: dict[str, Path]) -> None:
    header, packets = records(plain["server"])
    lost = {60, 61, 100, 150}
    [found] = taps_of(plain["client"], written(header, [each for at, each in enumerate(packets) if at not in lost]))
    assert found.request.client_tap_only + found.response.client_tap_only == len(lost)
    assert found.request.server_tap_only + found.response.server_tap_only == 0


def test_a_tap_that_starts_later_and_ends_sooner_has_lost_nothing(plain: dict[str, Path]) -> None:
    header, packets = records(plain["server"])
    [found] = taps_of(plain["client"], written(header, packets[100:-100]))
    assert found.request.client_tap_only + found.response.client_tap_only == 0
    assert found.request.median_ms == pytest.approx(ONE_WAY_MS, abs=0.05)


def test_parts_and_datasets_tell_the_same(tmp_path: Path) -> None:
    sources = [path("client"), path("server")]
    whole = latpcap.read(sources)
    whole.save(tmp_path / "dataset")
    told = whole.taps.to_dicts()
    assert latpcap.read(tmp_path / "dataset").taps.to_dicts() == told
    parts = [latpcap.read(sources, part=(number, 3)).taps.to_dicts() for number in range(3)]
    assert [row for part in parts for row in part] == told


def test_names_are_replaced() -> None:
    [row] = latpcap.read([path("client"), path("server")], pseudonymise=True).taps.to_dicts()
    assert (row["client"], row["server"]) == ("client-1", "server-1:5432")
    assert {row["client_tap"], row["server_tap"]} == {"capture-1.pcapng.zst", "capture-2.pcapng.zst"}


@pytest.fixture(scope="module")
def counted(plain: dict[str, Path]) -> list[dict[str, Any]]:
    return exchanges(latpcap.read(plain["client"]))


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32), dropped=st.floats(0, 0.5), doubled=st.floats(0, 0.5))
def test_what_the_other_tap_shows_never_changes_what_is_counted(
    plain: dict[str, Path], counted: list[dict[str, Any]], seed: int, dropped: float, doubled: float
) -> None:
    chance = random.Random(seed)
    header, packets = records(plain["server"])
    kept = [each for each in packets[1:] if chance.random() >= dropped]
    kept += [(time + chance.randrange(20_000), rest) for time, rest in kept if chance.random() < doubled]
    kept = [(time + chance.randrange(50_000), rest) for time, rest in kept]
    capture = latpcap.read([plain["client"], written(header, sorted([packets[0], *kept]))])
    assert exchanges(capture) == counted
    for each in capture.analyze().taps:
        assert each.round_trip_ms is None or each.round_trip_ms == pytest.approx(2 * ONE_WAY_MS, abs=0.2)


def test_nothing_depends_on_which_file_comes_first() -> None:
    sources = [path("client"), path("server")]
    one, other = (latpcap.read(order).taps.to_dicts() for order in (sources, sources[::-1]))
    assert one == other
    assert np.isfinite([value for row in one for value in row.values() if isinstance(value, float)]).all()
