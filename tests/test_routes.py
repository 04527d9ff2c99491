"""Statements grouped by the routes that their tags name."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable

import pytest
from builder import Conn, Ex, build
from conftest import FIXTURES

from latpcap.capture import Capture
from latpcap.measures.routes import parse_tags
from latpcap.report import terminal

Run = Callable[..., subprocess.CompletedProcess[bytes]]

LIST = "action='list',controller='shop',framework='django',route='%2Fshop%2F%24'"
SHOW = "action='show',controller='shop'"


def capture() -> Capture:
    steps = [Ex(sql=f"select a from t{n}", rows=1, tags=LIST) for n in range(3)] + [
        Ex(sql="select b", tags=SHOW),
        Ex("ping"),
    ]
    return Capture(build([Conn(exchanges=steps)]))


def test_routes_are_named_by_route_else_by_controller_and_action() -> None:
    routes = capture().analyze([15]).routes
    assert [(each.route, each.framework, each.round_trips, each.distinct_statements) for each in routes] == [
        ("/shop/$", "django", 3, 3),
        ("shop#show", None, 1, 1),
    ]
    assert "/shop/$" in terminal.render(capture().analyze([15]))


def test_without_tags_there_are_no_routes() -> None:
    result = Capture(build([Conn(exchanges=[Ex(sql="select ?")])])).analyze([15])
    assert result.routes == ()
    assert "Routes" not in terminal.render(result)


def test_values_are_decoded_and_never_steer_a_terminal() -> None:
    assert parse_tags("route='%1B%5B2J'") == {"route": "\x1b[2J"}
    steps = [Ex(sql="select a", rows=1, tags="route='%1B%5B2J'")]
    assert "\x1b[2J" not in terminal.render(Capture(build([Conn(exchanges=steps)])).analyze([15]))


@pytest.mark.parametrize("server", ["my", "pg"])
def test_a_trace_shows_only_with_literals(latpcap: Run, server: str) -> None:
    path = FIXTURES / "findings" / f"tagged-{server}.pcapng.zst"
    usual = latpcap("analyze", path, "--json", "--quiet").stdout
    assert [each["route"] for each in json.loads(usual)["routes"]] == ["/shop/list", "/shop/show"]
    assert b"traceparent" not in usual + latpcap("table", "exchanges", path, "--format", "csv", "--quiet").stdout
    assert b"traceparent" in latpcap("table", "exchanges", path, "--format", "csv", "--quiet", "--show-literals").stdout
