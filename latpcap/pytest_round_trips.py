"""The hooks that count: one recording for all tests, cut before and after the body of each.

| phase | counts for |
|---|---|
| setup, teardown | the test's fixtures; those of a module or session for the first (last) test that needs them |
| call | the test's body: what the marker limits |

With pytest-xdist each worker has a relay of its own, on the port that was asked for plus its number, and tells the
controller at its end what its tests have cost.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct, field, json
from msgspec.structs import replace

from latpcap.errors import LatpcapError
from latpcap.live.capturing.folder import Folder
from latpcap.live.recorder import Recorded, Recorder
from latpcap.live.sections import Failure, SectionContents, Sections, StatementCount
from latpcap.quantities import tcp_port
from latpcap.report import check_capture_name
from latpcap.report.text import printable
from latpcap.units import counted

MARKER = "round_trips"
RELAY_PORT = "LATPCAP_RELAY_PORT"
"""The variable that tells the tests to which port of this machine they connect."""
SENT = "latpcap"
"""The name under which a worker tells the controller."""
KEYS = "--latpcap-keylog FILE (with SSLKEYLOGFILE, or as `latpcap explain keys` shows for your client) decrypts them"
UNREAD = "unreadable"
"""The words in place of a statement that is encrypted."""
MAX_SITES = 3
"""Places in the code named with a statement."""
MAX_ROWS = 10
"""Tests that the summary shows, and statements that a failure shows."""


class PhaseSoFar:
    """The cost of the test's body (in a fixture: its setup) until now; looked at anew each time."""

    def __init__(self, sections: Sections) -> None:
        """Take the recording's sections."""
        self._sections = sections

    @property
    def round_trips(self) -> int:
        """How often the client has waited for the server."""
        return self._sections.so_far().round_trips

    @property
    def statements(self) -> tuple[StatementCount, ...]:
        """The statements, sorted by cost."""
        return self._sections.so_far().statements

    @property
    def failures(self) -> tuple[Failure, ...]:
        """The database's errors."""
        return self._sections.so_far().failures

    @property
    def loops(self) -> tuple[str, ...]:
        """The statements that ran once for each row of another one (N+1)."""
        return self._sections.so_far().loops


class Cost(Struct):
    """The cost of a test, phase by phase."""

    test: str
    phases: dict[str, SectionContents] = field(default_factory=dict)

    @property
    def body(self) -> SectionContents:
        """The cost of its own body."""
        return self.phases.get("call", SectionContents())

    @property
    def fixtures(self) -> int:
        """The round trips of its fixtures."""
        return self.round_trips - self.body.round_trips

    @property
    def round_trips(self) -> int:
        """Add up all phases."""
        return sum(phase.round_trips for phase in self.phases.values())

    @property
    def failures(self) -> tuple[Failure, ...]:
        """Join all phases."""
        return tuple(failure for phase in self.phases.values() for failure in phase.failures)

    @property
    def errors(self) -> int:
        """How often the database answered with one."""
        return sum(failure.count for failure in self.failures)

    @property
    def unread(self) -> int:
        """The round trips of all phases of which nothing but the time is known."""
        return sum(phase.unread for phase in self.phases.values())

    @property
    def loops(self) -> tuple[str, ...]:
        """Join all phases."""
        return tuple(loop for phase in self.phases.values() for loop in phase.loops)

    def properties(self) -> Iterator[tuple[str, int]]:
        """Yield what JUnit XML tells of it."""
        yield "latpcap_round_trips", self.body.round_trips
        yield "latpcap_fixture_round_trips", self.fixtures
        if self.unread:
            yield "latpcap_unread_round_trips", self.unread
        if self.unread < self.round_trips or not self.round_trips:
            yield "latpcap_errors", self.errors
            yield "latpcap_n_plus_one", len(self.loops)


class RecordingReport(Struct):
    """The report on a recording at the end."""

    costs: list[Cost]
    where: str
    dropped: int | None = None
    trouble: str | None = None
    kept: str | None = None


class OfWorkers:
    """The controller of pytest-xdist: it records nothing, and tells what its workers have recorded."""

    def __init__(self) -> None:
        """Begin without reports."""
        self._told: list[RecordingReport] = []

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take what a worker tells at its end."""
        if sent := getattr(node, "workeroutput", {}).get(SENT):
            self._told.append(json.decode(sent, type=RecordingReport))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Show the tests that cost most."""
        _show(terminalreporter, self._told)


class RoundTrips:
    """The plugin, where something is recorded."""

    def __init__(self, config: pytest.Config) -> None:
        """Prepare to record when the session starts."""
        self._folder = Folder()
        self._config = config
        self._kept = _of_worker(config, config.getoption("latpcap_output"))
        self._most: int | None = config.getoption("latpcap_max")
        try:
            self._recorder = _recorder(config, Path(self._kept or self._folder.path / "tests.pcapng"))
        except LatpcapError:
            self._folder.remove()
            raise
        self._sections = Sections(self._recorder, config.getoption("latpcap_keylog"))
        self._costs: list[Cost] = []
        self._recorded: Recorded | None = None
        self.so_far = PhaseSoFar(self._sections)

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Begin to record."""
        if session.config.option.collectonly:
            return
        try:
            self._recorder.start()
            if addresses := getattr(self._recorder, "addresses", None):
                os.environ[RELAY_PORT] = str(addresses[0][1])
            self._sections.cut()
        except LatpcapError as error:
            advice = str(error).replace("`--relay`", "`--latpcap-relay`")
            raise pytest.UsageError(f"latpcap: {advice}") from None

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Count the fixtures."""
        self._costs.append(Cost(item.nodeid))
        try:
            return (yield)
        finally:
            self._cut("setup")

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Count the body, and fail the test where it passed but cost too much."""
        limit = _limit(item, self._most)
        try:
            result = yield
        finally:
            cost = self._cut("call")
        if limit is not None and cost.round_trips > limit:
            pytest.fail(_too_many(cost, limit), pytrace=False)
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Count what fixtures do at their end; then all is known."""
        try:
            return (yield)
        finally:
            self._cut("teardown")
            item.user_properties.extend(self._costs[-1].properties())

    def _cut(self, phase: str) -> SectionContents:
        cost = self._costs[-1].phases[phase] = self._sections.cut()
        return cost

    def pytest_sessionfinish(self) -> None:
        """End the recording."""
        try:
            self._recorded = self._recorder.stop(at_once=True)
        except LatpcapError:
            self._recorded = None  # it never began
        if self._recorded and hasattr(self._config, "workeroutput"):
            self._config.workeroutput[SENT] = json.encode(self._told(self._recorded)).decode()

    def _told(self, recorded: Recorded) -> RecordingReport:
        return RecordingReport(self._costs, recorded.where, recorded.dropped, recorded.trouble, self._kept)

    def pytest_unconfigure(self) -> None:
        """Leave nothing behind."""
        self._folder.remove()

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Show the tests that cost most."""
        _show(terminalreporter, [self._told(self._recorded)] if self._recorded else [])


def _show(terminalreporter: pytest.TerminalReporter, told: list[RecordingReport]) -> None:
    if told:
        terminalreporter.section("latpcap: round trips")
        for line in _summary(told):
            terminalreporter.line(printable(line))


def _of_worker(config: pytest.Config, path: str | None) -> str | None:
    """Each worker keeps a recording of its own."""
    if path is None or not hasattr(config, "workerinput"):
        return path
    kept = Path(path)
    return str(kept.with_name(f"{kept.stem}-{config.workerinput['workerid']}{kept.suffix}"))


def _recorder(config: pytest.Config, path: Path) -> Recorder:
    """The recorder that the options ask for."""
    from latpcap.live.capturing.capturer import ANY
    from latpcap.live.record import recorder_of
    from latpcap.live.server import Server

    if (port := config.getoption("latpcap_port")) is not None:
        return recorder_of(path, [tcp_port(port)], interfaces=[ANY], marks=port)[0]
    if text := config.getoption("latpcap_server"):
        return recorder_of(path, servers=[text], interfaces=[ANY], marks=Server.of(text).port)[0]
    check_capture_name(path)
    from latpcap.live.relay import Relay, Route

    route = Route.of(config.getoption("latpcap_relay"))
    worker = str(getattr(config, "workerinput", {}).get("workerid", "gw0")).removeprefix("gw")
    return Relay([replace(route, port=route.port and tcp_port(route.port + int(worker)))], path)


def _limit(item: pytest.Item, otherwise: int | None) -> int | None:
    """The most round trips of a test's body; `None` for any number."""
    marker = item.get_closest_marker(MARKER)
    if marker is None:
        return otherwise
    given = (*marker.args, *marker.kwargs.values())
    is_written = len(given) == 1 and set(marker.kwargs) <= {"max"}
    if not is_written or type(given[0]) is not int or given[0] < 0:
        pytest.fail(f"{item.nodeid}: write @pytest.mark.round_trips(max=20), a number of round trips", pytrace=False)
    limit: int = given[0]
    return limit


def _too_many(cost: SectionContents, limit: int) -> str:
    """Say what the test waited for, statements by cost."""
    lines = [f"{counted(cost.round_trips, 'database round trip')}, limit {limit:,}:"]
    read = [ran for ran in cost.statements if ran.text != UNREAD]
    lines += [f"  {_often(ran)}" for ran in read[:MAX_ROWS]]
    if len(read) > MAX_ROWS:
        lines.append(f"  and {counted(len(read) - MAX_ROWS, 'other statement')}")
    if cost.unread:
        lines.append(f"  {counted(cost.unread, 'round trip')} on encrypted connections, statements unknown: {KEYS}")
    lines += [f"  N+1, once for each row of another statement: {_placed(loop, cost)}" for loop in cost.loops]
    return "\n".join(lines)


def _often(ran: StatementCount) -> str:
    """How often a statement was run, and what that cost where it is not one round trip each."""
    trips = "" if ran.round_trips == ran.executions else f" ({counted(ran.round_trips, 'round trip')})"
    often = f"{ran.executions:,} × " if ran.executions else ""
    return f"{often}{printable(ran.text)}{trips}{_at(ran)}"


def _at(ran: StatementCount) -> str:
    """Say where in the code it is asked, as far as its comments say."""
    more = f" and {counted(len(ran.sites) - MAX_SITES, 'other place')}" if len(ran.sites) > MAX_SITES else ""
    return f" at {', '.join(map(printable, ran.sites[:MAX_SITES]))}{more}" if ran.sites else ""


def _placed(loop: str, cost: SectionContents) -> str:
    """The statement of an N+1, and where it is asked."""
    return printable(loop) + next((_at(ran) for ran in cost.statements if ran.text == loop), "")


def _summary(told: list[RecordingReport]) -> Iterator[str]:
    costs = [cost for each in told for cost in each.costs]
    unread = sum(cost.unread for cost in costs)
    total, errors = sum(cost.round_trips for cost in costs), sum(cost.errors for cost in costs)
    costly = sorted((cost for cost in costs if cost.round_trips), key=lambda cost: -cost.round_trips)
    looping = sum(bool(cost.loops) for cost in costs)
    known = f"{counted(errors, 'error')} of the database, N+1 in {counted(looping, 'test')}"
    if unread:
        known = "errors and N+1 unknown" if unread == total else f"{known} as far as could be read"
    where = ", ".join(each.where for each in told)
    yield f"{counted(total, 'round trip')} in {len(costly):,} of {counted(len(costs), 'test')}, {known} ({where})"
    if unread:
        yield f"{unread:,} of them are encrypted, so their statements are unknown: {KEYS}."
    if costly:
        yield "  body  fixtures  errors  test"
    else:
        yield "No round trips seen: do the tests connect to that port over TCP? `localhost` may mean a Unix socket."
    for cost in costly[:MAX_ROWS]:
        failed = f"{cost.errors:,}" if not cost.unread else f"{cost.errors or ''}?"
        yield f"{cost.body.round_trips:6,}  {cost.fixtures:8,}  {failed:>6}  {cost.test}"
        yield from (f"{'':26}N+1: {_placed(loop, each)}" for each in cost.phases.values() for loop in each.loops)
        yield from (f"{'':26}error {each.code}: {each.message}" for each in cost.failures)
    if len(costly) > MAX_ROWS:
        yield f"and {counted(len(costly) - MAX_ROWS, 'other test')}"
    if dropped := sum(each.dropped or 0 for each in told):
        yield f"{counted(dropped, 'packet')} were dropped while recording: counts may be too low."
    for each in told:
        if each.trouble:
            yield f"The recording ended early: {each.trouble}."
        if each.kept:
            yield f"The recording: {each.kept}"
