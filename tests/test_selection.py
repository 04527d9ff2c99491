"""A part of a capture: some connections, some time, and that it is what a capture of that part alone would say."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builder import Conn, Ex, build
from conftest import Done, Fixture, load_fixture, read_fixture

import latpcap as package
from latpcap.capture import Capture
from latpcap.errors import NoDatabaseTraffic, UsageError
from latpcap.tables.part.selection import Selection
from latpcap.tables.privacy.pseudonyms import Pseudonyms, renaming
from latpcap.tables.recording import Recording

SEVERAL = (
    *("mysql/pool-4", "mysql/parallel-8", "mysql/churn-20", "mysql/port-reuse", "mysql/login-native"),
    *("postgresql/pgbench-tpcb-c4", "postgresql/logins", "postgresql/pgbouncer", "postgresql/psycopg2-connect-each"),
    *("findings/orm-no-pool-pg", "firebird/fbclient3-events"),
)
"""Fixtures with several connections: side by side, one after the other, in and out of a pool."""
COUNTED = ("exchanges", "round_trips", "request_bytes", "response_bytes")

Run = Callable[..., Done]


def three() -> Capture:
    web = {"user": "web", "application": "shop-web"}
    connections = [
        Conn([Ex(sql="select a from t")] * 3, client="10.0.0.1:40000", **web),
        Conn([Ex(sql="select b from t")] * 2, client="10.0.0.1:40001", at_ms=100, **web),
        Conn([Ex(sql="select c from t")], client="10.0.1.9:50000", server="[fd00::2]:3307", user="batch", at_ms=200),
    ]
    return Capture(build(connections))


def streams(capture: Capture) -> list[int]:
    return [int(stream) for stream in capture.connections.column("stream")]


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({"stream": 1}, [1]),
        ({"stream": "0,2-5"}, [0, 2]),
        ({"stream": ["0", "1"]}, [0, 1]),
        ({"stream": "!1"}, [0, 2]),
        ({"stream": ["0-9", "!0", "!2"]}, [1]),
        ({"stream": ["2", "0-1", "1"]}, [0, 1, 2]),
        ({"client": "10.0.0.1"}, [0, 1]),
        ({"client": "10.0.0.0/16"}, [0, 1, 2]),
        ({"client": "10.0.0.0/24"}, [0, 1]),
        ({"client": ":40001"}, [1]),
        ({"client": "10.0.0.1:40000"}, [0]),
        ({"server": "fd00::2"}, [2]),
        ({"server": "[fd00::2]:3307"}, [2]),
        ({"server": "fd00::/64"}, [2]),
        ({"server": "!10.0.0.2"}, [2]),
        ({"user": "web"}, [0, 1]),
        ({"user": "w*"}, [0, 1]),
        ({"user": ["web", "batch"]}, [0, 1, 2]),
        ({"user": ["*", "!batch"]}, [0, 1]),
        ({"application": "shop-*"}, [0, 1]),
        ({"application": "!shop-*"}, [2]),
        ({"user": "web", "client": ":40000"}, [0]),
        ({"database": "shop", "protocol": "mysql", "stream": "2"}, [2]),
        ({"start": "+90ms"}, [1, 2]),
        ({"end": "+90ms"}, [0]),
        ({"start": "90ms", "end": "150ms"}, [1]),
        ({"start": "frame:9"}, [1, 2]),
        ({"end": "frame:6"}, [0]),
    ],
)
def test_what_is_asked_for_is_what_is_left(asked: dict[str, Any], found: list[int]) -> None:
    assert streams(three().select(**asked)) == found


def test_time_and_connections_may_be_selected_in_any_order() -> None:
    whole = read_fixture("postgresql/several-applications")
    names, times = {"application": "monitor"}, {"start": "+300ms", "end": "+700ms"}
    one, other, at_once = whole.select(**names).select(**times), whole.select(**times).select(**names), names | times
    for part in (one, other):
        assert part.analyze().summary == whole.select(**at_once).analyze().summary
        assert part.analyze().budget == whole.select(**at_once).analyze().budget


def test_slices_compose() -> None:
    once, twice = three().select(user="web", stream="1-2"), three().select(user="web").select(stream="1-2")
    assert streams(once) == streams(twice) == [1]
    assert twice.selected is not None
    assert twice.selected.conditions == ("user web", "stream 1-2")
    assert (twice.selected.total_connections, twice.selected.total_exchanges) == (3, 6)


def test_nothing_asked_for_is_everything() -> None:
    everything = three().select()
    assert streams(everything) == [0, 1, 2]
    assert everything.selected is None


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (
            {"user": "app"},
            "built.pcap: no connection of user `app`; there are: web (2 connections), batch (1 connection)",
        ),
        (
            {"user": "batch", "server": "10.0.0.2"},
            "built.pcap: no connection of user `batch` among those to server `10.0.0.2`; "
            "there are: web (2 connections)",
        ),
        ({"stream": "7-9"}, "built.pcap: no connection of stream `7-9`; there are: 0-2"),
        (
            {"application": "cron"},
            "built.pcap: no connection of application `cron`; "
            "there are: shop-web (2 connections), 1 connection where it is unknown",
        ),
    ],
)
def test_where_nothing_is_selected_the_message_says_what_there_is(asked: dict[str, str], message: str) -> None:
    with pytest.raises(NoDatabaseTraffic) as raised:
        three().select(**asked)
    assert str(raised.value) == message


def test_where_nothing_passed_the_message_says_when_something_did() -> None:
    with pytest.raises(NoDatabaseTraffic, match="no packets from 14:05; these connections were open 2020-09-13 "):
        three().select(start="14:05")


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"server": "db1.example"}, "a capture holds no host names"),
        ({"server": "10.0.0.1:99999"}, "is not an address"),
        ({"stream": "5-3"}, "are not streams"),
        ({"user": ""}, "an empty text selects nothing"),
        ({"start": "yesterday"}, "is not a time"),
        ({"start": "25:00"}, "is not a time"),
        ({"end": "2026-02-30"}, "is not a time"),
        ({"start": 90}, "is not a time"),
        ({"user": 1.5}, "selects nothing"),
    ],
)
def test_what_cannot_be_read_is_refused(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Selection.of(**asked)


def test_python_gives_times_as_it_has_them() -> None:
    capture = three()
    first = capture.captures.column("first_time")[0]
    moment = datetime.fromtimestamp(int(first.astype(np.int64)) / 1e9, UTC) + timedelta(milliseconds=90)
    for start in (moment, moment.replace(tzinfo=None), timedelta(milliseconds=90), first + np.timedelta64(90, "ms")):
        assert streams(capture.select(start=start)) == [1, 2]


def test_a_time_of_day_is_that_inside_of_the_capture() -> None:
    midnight = 1_600_041_600_000 - 1_600_000_000_000  # of the next day, in ms since the capture began
    capture = Capture(build([Conn([Ex(), Ex(client_ms=midnight)])]))
    assert len(capture.select(start="00:00").exchanges) == 1
    assert len(capture.select(end="00:00").exchanges) == 1
    assert len(capture.select(start="12:26:40", end="23:59").exchanges) == 1


# --- a part is what a capture of that part says -----------------------------------------------------------------------


@pytest.mark.parametrize("name", SEVERAL)
def test_stream_by_stream_adds_up_to_the_whole(name: str) -> None:
    whole = read_fixture(name)
    behind = [each.stream for each in whole.analyze().connections if each.behind_proxy]
    parts = [whole.select(stream=stream).analyze().summary for stream in streams(whole) if stream not in behind]
    summary = whole.analyze().summary
    assert sum(part.connections for part in parts) == summary.connections
    assert sum(part.exchanges for part in parts) == summary.exchanges
    assert sum(part.round_trips for part in parts) == summary.round_trips


@pytest.mark.parametrize("name", SEVERAL)
@pytest.mark.parametrize("count", [2, 7])
def test_windows_side_by_side_add_up_to_the_whole(name: str, count: int) -> None:
    whole = read_fixture(name)
    recording, summary = whole.recording, whole.analyze().summary
    edges = np.linspace(0, recording.runtime_s * 1e9, count + 1).astype(np.int64)[1:-1] + recording.start_ns
    texts = [None, *(f"{np.datetime64(int(edge), 'ns')}Z" for edge in edges), None]
    exchanges = round_trips = trips_with_handshakes = 0
    for start, end in pairwise(texts):
        try:
            part = whole.select(start=start, end=end)
        except NoDatabaseTraffic:
            continue
        result = part.analyze()
        exchanges += result.summary.exchanges
        round_trips += result.summary.round_trips
        trips_with_handshakes += int(part.measures.basis.round_trips)
        assert sum(result.budget.parts().values()) == pytest.approx(result.summary.runtime_s, abs=1e-6)
        ours = [each.round_trips for each in result.connections if not each.behind_proxy]
        assert sum(ours) == result.summary.round_trips
    assert (exchanges, round_trips) == (summary.exchanges, summary.round_trips)
    assert trips_with_handshakes <= whole.measures.basis.round_trips


@pytest.mark.parametrize("name", SEVERAL)
def test_a_stream_is_what_tshark_writes_of_it(name: str, tmp_path: Path) -> None:
    needs("tshark")
    path, whole = plain(load_fixture(name), tmp_path), read_fixture(name)
    for stream in streams(whole)[:3]:
        alone = tmp_path / f"{stream}.pcapng"
        subprocess.run(["tshark", "-r", path, "-Y", f"tcp.stream=={stream}", "-w", alone], check=True)
        expected, found = package.read(alone).connections, whole.select(stream=stream).connections
        for column in (*COUNTED, "user", "database", "application", "state", "rtt_handshake_ms"):
            assert found.column(column).tolist() == pytest.approx(expected.column(column).tolist(), nan_ok=True), column


@pytest.mark.parametrize("name", ["mysql/parallel-8", "postgresql/pgbench-tpcb-c4", "mysql/pool-4"])
def test_a_window_is_what_editcap_cuts_out(name: str, tmp_path: Path) -> None:
    """After the logins and between exchanges, where no edge cuts one: then both see the same."""
    needs("editcap")
    path, whole = plain(load_fixture(name), tmp_path), read_fixture(name)
    start, end = quiet_moments(whole)
    cut = tmp_path / "cut.pcapng"
    subprocess.run(["editcap", "-A", start, "-B", end, path, cut], check=True)
    found, expected = whole.select(start=start, end=end), package.read(cut)
    ours, theirs = (each.exchanges.sort("request_time") for each in (found, expected))
    assert len(ours) == len(theirs) > 20
    for column in ("command", "round_trips", "request_bytes", "response_bytes"):
        assert ours.column(column).tolist() == theirs.column(column).tolist(), column
    for column in ("delta_ms", "client_ms"):
        known = ~np.isnan(theirs.column(column))  # a capture that begins inside of an exchange misses what it follows
        np.testing.assert_allclose(ours.column(column)[known], theirs.column(column)[known])


@pytest.mark.parametrize(
    "name",
    [
        "mysql/ntop-nDPI__mysql.pcapng",
        "mysql/deepflowio-deepflow__mysql-statement.pcap",
        "postgresql/OISF-suricata-verify__pgsql-cancel-request__input.pcap",
        "postgresql/OISF-suricata-verify__pgsql-upgrade-tls__input.pcap",
    ],
)
def test_the_streams_of_captures_of_others_add_up_and_are_what_tshark_writes(
    name: str, shared_capture: Callable[[str], Path], tmp_path: Path
) -> None:
    needs("tshark")
    path = shared_capture(name)
    whole = package.read(path)
    exchanges = 0
    for stream in streams(whole):
        alone = tmp_path / f"{stream}.pcapng"
        subprocess.run(["tshark", "-r", path, "-Y", f"tcp.stream=={stream}", "-w", alone], check=True)
        expected, found = package.read(alone).connections, whole.select(stream=stream).connections
        for column in (*COUNTED, "user", "database", "application"):
            assert found.column(column).tolist() == expected.column(column).tolist(), column
        exchanges += int(found.column("exchanges").sum())
    assert exchanges == len(whole.exchanges)


def needs(program: str) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed: it comes with tshark")


def plain(fixture: Fixture, folder: Path) -> Path:
    """The fixture as a file that editcap reads."""
    if fixture.path.suffix != ".zst":
        return fixture.path
    whole = folder / "whole.pcapng"
    subprocess.run(["tshark", "-r", fixture.path, "-w", whole], check=True)
    return whole


def quiet_moments(whole: Capture) -> tuple[str, str]:
    """Two moments at which no exchange is under way: the longest pauses of the first and the second half."""
    exchanges = whole.recording.exchanges
    order = np.argsort(exchanges.begin, kind="stable")
    begin, end = exchanges.begin[order], np.maximum.accumulate(exchanges.end[order])
    pauses = begin[1:] - end[:-1]
    logged_in = int(np.flatnonzero(exchanges.is_setup[order])[-1])
    half = (logged_in + len(order)) // 2
    places = logged_in + int(np.argmax(pauses[logged_in:half])), half + int(np.argmax(pauses[half:]))
    middles = [int(end[place] + pauses[place] // 2) + whole.recording.start_ns for place in places]
    return tuple(f"{np.datetime64(middle, 'ns')}Z" for middle in middles)  # type: ignore[return-value]


PROGRAMS = load_fixture("postgresql/several-applications").facts["programs"]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: f"{program['application']}-{program['port']}")
def test_only_this_application_on_this_server_is_what_the_application_counted(program: dict[str, Any]) -> None:
    whole = read_fixture("postgresql/several-applications")
    part = whole.select(application=program["application"], server=f"10.77.0.2:{program['port']}")
    exchanges = part.exchanges
    executed = exchanges.column("purpose") == "execute"
    assert len(part.connections) == program["connections"]
    assert exchanges.column("round_trips").sum() == program["round_trips"]
    assert executed.sum() == program["statements"]
    assert np.nansum(exchanges.column("rows")) == program["rows"]


# --- time -------------------------------------------------------------------------------------------------------------


def crossing() -> Capture:
    """A pool's connection that is open all the time, with a request every 100 ms."""
    return Capture(build([Conn([Ex(client_ms=99)] * 10, rtt_ms=1.0), Conn([Ex()], at_ms=450)]))


def test_a_handshake_before_the_window_tells_the_rtt_and_takes_no_time() -> None:
    part = crossing().select(start="+500ms")
    (connection,) = part.analyze().connections
    assert (connection.rtt.handshake_ms, connection.rtt.baseline_ms) == (pytest.approx(1.0), pytest.approx(1.0))
    assert part.analyze().budget.setup_s == 0
    assert part.measures.basis.round_trips == connection.round_trips == connection.exchanges


@pytest.mark.parametrize(("window", "rtt_ms"), [({"end": "03:31:09"}, [5.02]), ({"start": "03:31:10"}, [20.1])])
def test_where_a_path_changed_a_window_has_the_rtt_of_its_time(window: dict[str, str], rtt_ms: list[float]) -> None:
    part = read_fixture("mysql/path-changes").select(**window)
    assert [path.rtt.baseline_ms for path in part.analyze().paths] == pytest.approx(rtt_ms, rel=0.02)
    assert part.analyze().summary.baseline_rtt_ms == pytest.approx(rtt_ms[0], rel=0.02)
    assert "path-changed" not in part.health.column("code")


def test_a_window_in_which_the_path_changed_says_so() -> None:
    part = read_fixture("mysql/path-changes").select(start="03:31:08", end="03:31:11")
    assert "path-changed" in part.health.column("code")
    assert part.analyze().budget.network_s + part.analyze().budget.service_s < 3


def test_rtt_samples_are_those_of_the_window() -> None:
    whole = read_fixture("mysql/path-changes")
    parts = [whole.select(**window).rtt_samples for window in ({"end": "03:31:09"}, {"start": "03:31:09"})]
    assert sum(map(len, parts)) == len(whole.rtt_samples)


@pytest.mark.parametrize("name", ["mysql/pool-4", "postgresql/several-applications", "findings/orm-no-pool-pg"])
def test_a_window_of_everything_is_everything(name: str) -> None:
    whole = read_fixture(name)
    window = whole.select(start="2000-01-01", end="2100-01-01").analyze().to_dict()
    expected = whole.analyze().to_dict()
    for key in expected.keys() - {"selection", "health"}:
        assert window[key] == expected[key], key


def test_the_runtime_is_that_of_the_window_as_far_as_the_connections_reach() -> None:
    whole = crossing()
    assert whole.select(start="+200ms", end="+600ms").analyze().summary.runtime_s == pytest.approx(0.4)
    assert whole.select(start="+600ms", end="14:00").analyze().summary.runtime_s == pytest.approx(
        whole.analyze().summary.runtime_s - 0.6
    )


def test_connections_without_an_exchange_in_the_window_are_not_in_it() -> None:
    assert streams(crossing().select(start="+500ms")) == [0]
    assert streams(crossing().select(start="+390ms", end="+500ms")) == [0, 1]


def test_time_before_the_window_is_no_client_time() -> None:
    exchanges = crossing().select(start="+500ms").exchanges
    assert np.isnan(exchanges.column("client_ms")).tolist() == [True, *[False] * (len(exchanges) - 1)]


def test_an_exchange_belongs_to_the_window_in_which_it_begins() -> None:
    slow = Capture(build([Conn([Ex(client_ms=10, service_ms=500), Ex()])]))
    before, after = slow.select(end="+100ms"), slow.select(start="+100ms")
    assert [len(each.exchanges) for each in (before, after)] == [1, 1]
    assert before.analyze().summary.runtime_s == pytest.approx(0.1)
    assert before.exchanges.column("service_ms")[0] == pytest.approx(500)


# --- names ------------------------------------------------------------------------------------------------------------


def hidden() -> Capture:
    tables = build([Conn([Ex()], user="ann"), Conn([Ex()], user="bob"), Conn([Ex()], user="ann")]).core
    return Capture(Recording(tables, rename=renaming(tables, Pseudonyms())))


@pytest.mark.parametrize(("user", "found"), [("ann", [0, 2]), ("user-2", [1]), ("b*", [1]), ("!ann", [1])])
def test_real_names_and_pseudonyms_select_alike(user: str, found: list[int]) -> None:
    part = hidden().select(user=user)
    assert streams(part) == found
    assert set(part.connections.column("user")) <= {"user-1", "user-2"}


@pytest.mark.parametrize("asked", [{"user": "ann"}, {"user": "!ann"}, {"client": "10.0.0.1"}, {"server": ":3306"}])
def test_what_was_selected_is_told_in_pseudonyms(asked: dict[str, str]) -> None:
    said = json.dumps(hidden().select(**asked).analyze().to_dict())
    assert not re.search(r"\bann\b", said)
    assert "10.0.0." not in said


def test_a_name_that_selects_nothing_is_not_told_either() -> None:
    with pytest.raises(NoDatabaseTraffic) as raised:
        hidden().select(user="carol")
    assert "carol" not in str(raised.value)
    assert "user-1 (2 connections), user-2 (1 connection)" in str(raised.value)


# --- commands ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command",
    [
        *("analyze", "project", "findings", "statements"),
        *("table exchanges", "table connections", "table health", "table captures"),
    ],
)
def test_every_reading_command_selects_and_says_so(latpcap: Run, command: str) -> None:
    path = load_fixture("postgresql/logins").path
    done = latpcap(*command.split(), path, "--user", "plain", "--from", "+1ms")
    assert done.returncode == 0
    said = " ".join((done.stdout + done.stderr).decode().split())
    assert "elected: user plain; from +1ms: 1 of 6 connections, 3 of 14 exchanges" in said or command == "table health"


def test_json_says_what_was_selected(latpcap: Run) -> None:
    path = load_fixture("postgresql/logins").path
    result = json.loads(latpcap("analyze", path, "--json", "--stream", "0,2-3").stdout)
    assert result["selection"]["conditions"] == ["stream 0,2-3"]
    assert (result["selection"]["connections"], result["selection"]["total_connections"]) == (3, 6)
    assert json.loads(latpcap("analyze", path, "--json").stdout)["selection"] is None


def test_a_thousand_streams_are_looked_up_in_order_and_not_one_by_one() -> None:
    (condition,) = Selection.of(stream=range(0, 200_000, 2)).conditions
    (pattern,) = condition.patterns
    asked = {0: True, 1: False, 199_998: True, 199_999: False, 200_000: False}
    assert {stream: pattern.matches(str(stream)) for stream in asked} == asked
    (overlapping,) = next(Selection.of(stream=("0-9", "2-3", "20")).conditions).patterns
    assert [stream for stream in range(30) if overlapping.matches(str(stream))] == [*range(10), 20]


@pytest.mark.parametrize("suffix", [".html", ".md"])
def test_reports_to_hand_on_say_what_was_selected(latpcap: Run, tmp_path: Path, suffix: str) -> None:
    report = tmp_path / f"report{suffix}"
    assert latpcap("analyze", load_fixture("postgresql/logins").path, "--user", "plain", "-o", report).returncode == 0
    assert "Selected: user plain: 1 of 6 connections, 3 of 14 exchanges" in report.read_text()


def test_sql_gates_and_comparisons_see_only_what_was_selected(latpcap: Run) -> None:
    path = load_fixture("postgresql/logins").path
    rows = latpcap("sql", path, "select count(*) as n from exchanges", "--format", "csv", "--user", "plain").stdout
    assert rows.split() == [b"n", b"3"]
    assert latpcap("analyze", path, "--fail-if", "exchanges > 3").returncode == 1
    assert latpcap("analyze", path, "--fail-if", "exchanges > 3", "--user", "plain").returncode == 0
    compared = json.loads(latpcap("compare", path, path, "--json", "--user", "plain").stdout)
    assert compared["round_trips_after"] == 3


def test_wireshark_is_asked_for_the_same_connections(latpcap: Run) -> None:
    needs("tshark")
    path = load_fixture("postgresql/several-applications").path
    done = latpcap("wireshark", "--verify", path, "--json", "--application", "nightly-batch")
    result = json.loads(done.stdout)
    measures = {measure["name"]: measure for measure in result["measures"]}
    assert (done.returncode, result["selection"]["conditions"]) == (0, ["application nightly-batch"])
    assert (measures["streams, their end points"]["latpcap"], measures["streams, their end points"]["wireshark"]) == (
        1,
        1,
    )
    assert all(measure["unexplained"] == 0 for measure in measures.values())


def test_nothing_selected_ends_with_status_4(latpcap: Run) -> None:
    done = latpcap("analyze", load_fixture("postgresql/logins").path, "--database", "shop")
    assert (done.returncode, done.stdout) == (4, b"")
    assert b"no connection to database `shop`; there are: lab (5 connections), nowhere (1 connection)" in done.stderr


def test_what_cannot_be_selected_by_is_told_before_the_captures_are_read(latpcap: Run) -> None:
    done = latpcap("analyze", load_fixture("postgresql/logins").path, "--from", "noon")
    assert done.returncode == 2
    assert b"`noon` is not a time: write 14:05" in done.stderr
