"""`pytest --latpcap-port 5432`: what each test costs in round trips to its database.

This module is loaded by every pytest that runs where latpcap is installed: it adds the options and the marker, and
imports the rest (`pytest_round_trips.py`) when one of the options asks for it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from latpcap.pytest_round_trips import PhaseSoFar

OPTIONS = ("latpcap_port", "latpcap_server", "latpcap_relay")
NAME = "latpcap-round-trips"
MARKER = (
    "round_trips(max): fail the test where it waits for the database more often; its own body counts, fixtures do not. "
    "Without --latpcap-port, --latpcap-server or --latpcap-relay it says nothing."
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options, in a group of their own."""
    group = parser.getgroup("latpcap", "latpcap: round trips to a database")
    group.addoption(
        "--latpcap-port",
        type=int,
        metavar="PORT",
        help="Capture what passes to this TCP port (needs dumpcap or tcpdump, and the right to capture).",
    )
    group.addoption("--latpcap-server", metavar="HOST:PORT", help="The same of one server.")
    group.addoption(
        "--latpcap-relay",
        metavar="PORT:HOST:PORT",
        help="Without any rights: the tests connect to PORT, where all is passed on to the server and recorded, "
        "as in 15432:localhost:5432.",
    )
    group.addoption(
        "--latpcap-max",
        type=int,
        metavar="N",
        help="At most so many round trips for the body of each test that has no marker of its own.",
    )
    group.addoption(
        "--latpcap-keylog",
        metavar="FILE",
        help="Read what TLS encrypts with the keys that the tests' client logs there. SSLKEYLOGFILE is set to it, "
        "which most clients heed; libpq 18 wants sslkeylogfile= in the connection string (`latpcap explain keys`).",
    )
    group.addoption("--latpcap-output", metavar="FILE", help="Keep the recording, a pcapng; by default it is deleted.")


def pytest_configure(config: pytest.Config) -> None:
    """Describe the marker, and begin to record where that was asked for."""
    config.addinivalue_line("markers", MARKER)
    asked = [name for name in OPTIONS if config.getoption(name) is not None]
    if not asked:
        return
    if len(asked) > 1:
        raise pytest.UsageError(f"ask for one of {', '.join(_written(name) for name in asked)}")
    in_parallel = hasattr(config, "workerinput") or bool(getattr(config.option, "tx", None))
    if in_parallel and asked != ["latpcap_relay"]:
        raise pytest.UsageError(
            f"{_written(asked[0])} sees the tests of all workers at once: leave out -n, or give each worker a port of "
            "its own with --latpcap-relay"
        )
    if (most := config.getoption("latpcap_max")) is not None and most < 0:
        raise pytest.UsageError("--latpcap-max is a number of round trips")
    if keylog := config.getoption("latpcap_keylog"):
        os.environ["SSLKEYLOGFILE"] = os.path.abspath(keylog)
    from latpcap.errors import LatpcapError
    from latpcap.pytest_round_trips import OfWorkers, RoundTrips

    is_controller = in_parallel and not hasattr(config, "workerinput")
    try:
        config.pluginmanager.register(OfWorkers() if is_controller else RoundTrips(config), NAME)
    except LatpcapError as error:
        raise pytest.UsageError(f"latpcap: {error}") from None


def _written(option: str) -> str:
    return f"--{option.replace('_', '-')}"


@pytest.fixture
def latpcap_session(request: pytest.FixtureRequest) -> PhaseSoFar:
    """Return this test's cost so far: `.round_trips`, `.statements`, `.failures`, `.loops`."""
    recording = request.config.pluginmanager.get_plugin(NAME)
    if recording is None:
        pytest.skip("nothing is recorded: --latpcap-port, --latpcap-server or --latpcap-relay")
    session: PhaseSoFar = recording.so_far
    return session
