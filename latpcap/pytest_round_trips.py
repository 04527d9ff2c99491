"""The hooks that count: one recording for all tests, cut before and after the body of each.

| phase | counts for |
|---|---|
| setup, teardown | the test's fixtures; those of a module or session for the first (last) test that needs them |
| call | the test's body: what the marker limits |
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct, field

from latpcap.errors import LatpcapError
from latpcap.given import tcp_port
from latpcap.live.folder import Folder
from latpcap.live.recorder import Recorded, Recorder
from latpcap.live.sections import Counted, Failure, Ran, Sections
from latpcap.report import check_capture_name
from latpcap.report.text import printable
from latpcap.units import counted

__all__ = ["PhaseSoFar", "RoundTrips"]

MARKER = "round_trips"
TOP = 10
"""Tests that the summary shows, and statements that a failure does."""


class PhaseSoFar:
    """What the test's body (in a fixture: its setup) has cost until now; looked at anew each time."""

    def __init__(self, sections: Sections) -> None:
        """Of what is being recorded."""
        self._sections = sections

    @property
    def round_trips(self) -> int:
        """How often the client has waited for the server."""
        return self._sections.so_far().round_trips

    @property
    def statements(self) -> tuple[Ran, ...]:
        """What was asked, the costliest first."""
        return self._sections.so_far().statements

    @property
    def failures(self) -> tuple[Failure, ...]:
        """What the database answered with an error."""
        return self._sections.so_far().failures

    @property
    def loops(self) -> tuple[str, ...]:
        """The statements that ran once for each row of another one (N+1)."""
        return self._sections.so_far().loops


class Cost(Struct):
    """What a test cost, phase by phase."""

    test: str
    phases: dict[str, Counted] = field(default_factory=dict)

    @property
    def body(self) -> Counted:
        """What its own body did."""
        return self.phases.get("call", Counted())

    @property
    def fixtures(self) -> int:
        """The round trips of its fixtures."""
        return self.round_trips - self.body.round_trips

    @property
    def round_trips(self) -> int:
        """Those of all phases."""
        return sum(phase.round_trips for phase in self.phases.values())

    @property
    def failures(self) -> tuple[Failure, ...]:
        """Those of all phases."""
        return tuple(failure for phase in self.phases.values() for failure in phase.failures)

    @property
    def errors(self) -> int:
        """How often the database answered with one."""
        return sum(failure.count for failure in self.failures)

    @property
    def loops(self) -> tuple[str, ...]:
        """Those of all phases."""
        return tuple(loop for phase in self.phases.values() for loop in phase.loops)

    def properties(self) -> Iterator[tuple[str, int]]:
        """Yield what JUnit XML tells of it."""
        yield "latpcap_round_trips", self.body.round_trips
        yield "latpcap_fixture_round_trips", self.fixtures
        yield "latpcap_errors", self.errors
        yield "latpcap_n_plus_one", len(self.loops)


class RoundTrips:
    """The plugin, where something is recorded."""

    def __init__(self, config: pytest.Config) -> None:
        """Nothing is recorded before the session starts."""
        self._folder = Folder()
        self._kept: str | None = config.getoption("latpcap_output")
        try:
            self._recorder = _recorder(config, Path(self._kept or self._folder.path / "tests.pcapng"))
        except LatpcapError:
            self._folder.remove()
            raise
        self._sections = Sections(self._recorder)
        self._costs: list[Cost] = []
        self._recorded: Recorded | None = None
        self.so_far = PhaseSoFar(self._sections)

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Begin to record."""
        if session.config.option.collectonly:
            return
        try:
            self._recorder.start()
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
        limit = _limit(item)
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

    def _cut(self, phase: str) -> Counted:
        cost = self._costs[-1].phases[phase] = self._sections.cut()
        return cost

    def pytest_sessionfinish(self) -> None:
        """End the recording."""
        try:
            self._recorded = self._recorder.stop(at_once=True)
        except LatpcapError:
            self._recorded = None  # it never began

    def pytest_unconfigure(self) -> None:
        """Leave nothing behind."""
        self._folder.remove()

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Show the tests that cost most."""
        if self._recorded is None:
            return
        terminalreporter.section("latpcap: round trips")
        for line in _summary(self._costs, self._recorded, self._kept):
            terminalreporter.line(printable(line))


def _recorder(config: pytest.Config, path: Path) -> Recorder:
    """The recorder that the options ask for."""
    check_capture_name(path)
    from latpcap.live.capturer import Capturer
    from latpcap.live.server import Server, addresses

    if (port := config.getoption("latpcap_port")) is not None:
        tcp_port(port)
        return Capturer(path, capture_filter=f"tcp port {port}", where=f"TCP port {port}", marks=port)
    if text := config.getoption("latpcap_server"):
        server = Server.of(text)
        hosts = " or ".join(f"host {address.host}" for address in addresses(server, 10))
        filters = f"tcp port {server.port} and ({hosts})"
        return Capturer(path, capture_filter=filters, where=str(server), marks=server.port)
    from latpcap.live.relay import Relay, Route

    return Relay([Route.of(config.getoption("latpcap_relay"))], path)


def _limit(item: pytest.Item) -> int | None:
    """The most round trips of a test's body; `None` for any number."""
    marker = item.get_closest_marker(MARKER)
    if marker is None:
        return None
    given = (*marker.args, *marker.kwargs.values())
    is_written = len(given) == 1 and set(marker.kwargs) <= {"max"}
    if not is_written or type(given[0]) is not int or given[0] < 0:
        pytest.fail(f"{item.nodeid}: write @pytest.mark.round_trips(max=20), a number of round trips", pytrace=False)
    limit: int = given[0]
    return limit


def _too_many(cost: Counted, limit: int) -> str:
    """What the test waited for, the costliest statement first."""
    lines = [f"{counted(cost.round_trips, 'round trip')} to the database, and at most {limit:,} may be:"]
    lines += [f"  {_often(ran)}" for ran in cost.statements[:TOP]]
    if len(cost.statements) > TOP:
        lines.append(f"  and {counted(len(cost.statements) - TOP, 'other statement')}")
    lines += [f"  N+1, once for each row of another statement: {printable(loop)}" for loop in cost.loops]
    return "\n".join(lines)


def _often(ran: Ran) -> str:
    """How often a statement was run, and what that cost where it is not one round trip each."""
    trips = "" if ran.round_trips == ran.executions else f" ({counted(ran.round_trips, 'round trip')})"
    return f"{ran.executions:,} × {printable(ran.text)}{trips}" if ran.executions else f"{printable(ran.text)}{trips}"


def _summary(costs: list[Cost], recorded: Recorded, kept: str | None) -> Iterator[str]:
    total, errors = sum(cost.round_trips for cost in costs), sum(cost.errors for cost in costs)
    costly = sorted((cost for cost in costs if cost.round_trips), key=lambda cost: -cost.round_trips)
    looping = sum(bool(cost.loops) for cost in costs)
    yield (
        f"{counted(total, 'round trip')} in {len(costly):,} of {counted(len(costs), 'test')}, "
        f"{counted(errors, 'error')} of the database, N+1 in {counted(looping, 'test')} ({recorded.where})"
    )
    if costly:
        yield "  body  fixtures  errors  test"
    else:
        yield "None was seen: do the tests connect to that port, by TCP? A host `localhost` may mean a Unix socket."
    for cost in costly[:TOP]:
        yield f"{cost.body.round_trips:6,}  {cost.fixtures:8,}  {cost.errors:6,}  {cost.test}"
        yield from (f"{'':26}N+1: {loop}" for loop in cost.loops)
        yield from (f"{'':26}error {each.code}: {each.message}" for each in cost.failures)
    if len(costly) > TOP:
        yield f"and {counted(len(costly) - TOP, 'other test')}"
    if recorded.dropped:
        yield f"{counted(recorded.dropped, 'packet')} were dropped while recording: counts may be too low."
    if recorded.trouble:
        yield f"The recording ended early: {recorded.trouble}."
    if kept:
        yield f"The recording: {kept}"
