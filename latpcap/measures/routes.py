"""What each route of the application cost, where its statements say so in sqlcommenter's tags.

<https://google.github.io/sqlcommenter/spec/>: the core keeps the tags that name code (route, controller, action,
framework, db_driver), URL-encoded as they were sent; a trace is kept only where literals are shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from latpcap.measures.budget import Timeline
from latpcap.tables import columns, passes
from latpcap.tables.columns import Ints
from latpcap.tables.recording import Recording

__all__ = ["RouteResult", "name_of", "parse_tags", "route_results", "routes_of_exchanges"]

_TAG = re.compile(r"([\w.-]+)='([^']*)'")


class RouteResult(Struct, frozen=True):
    """The exchanges whose statements name one route (or controller and action)."""

    route: str
    framework: str | None
    executions: int
    exchanges: int
    round_trips: int
    distinct_statements: int
    network_s: float
    service_s: float


def parse_tags(text: str) -> dict[str, str]:
    """The tags of a statement, decoded.

    >>> parse_tags("controller='polls',route='%5Epolls/%24'")
    {'controller': 'polls', 'route': '^polls/$'}
    """
    return {key: unquote(value, errors="replace") for key, value in _TAG.findall(text)}


def name_of(tags: dict[str, str]) -> str | None:
    """The route; else the controller with its action; `None` where the tags name no place in the code.

    >>> name_of({"route": "/a", "action": "b"}), name_of({"controller": "polls", "action": "index"}), name_of({})
    ('/a', 'polls#index', None)
    """
    named = "#".join(tags[key] for key in ("controller", "action") if key in tags)
    return tags.get("route") or named or None


def routes_of_exchanges(recording: Recording) -> tuple[list[str], Ints]:
    """The routes that statements name, and for each exchange which of them its statement names; -1 for none."""
    named = [name_of(parse_tags(text)) for text in recording.tag_texts]
    routes = sorted({name for name in named if name is not None})
    numbers = {name: number for number, name in enumerate(routes)}
    of_tags = np.array([-1 if name is None else numbers[name] for name in named] + [-1])
    return routes, of_tags[columns.column(recording.exchange_columns("tags"), "tags").ints(-1)]


def route_results(recording: Recording, timeline: Timeline) -> Iterator[RouteResult]:
    """The routes, the one that waits most first; none where no statement is tagged."""
    routes, of_exchange = routes_of_exchanges(recording)
    if not routes:
        return
    tags = [parse_tags(text) for text in recording.tag_texts]
    exchanges = recording.exchanges
    tagged = columns.column(recording.exchange_columns("tags"), "tags").ints(-1)
    rows = np.flatnonzero(of_exchange >= 0)
    route = of_exchange[rows]

    def total(values: NDArray[np.generic]) -> NDArray[np.float64]:
        return np.bincount(route, values[rows], len(routes)).astype(float)

    executions, trips = total(exchanges.is_execution), total(exchanges.round_trips)
    network, service = total(timeline.network_ns) / 1e9, total(timeline.service_ns) / 1e9
    of_route = np.split(
        rows[np.argsort(route, kind="stable")], np.cumsum(np.bincount(route, minlength=len(routes)))[:-1]
    )
    for number in np.argsort(-(network + service), kind="stable"):
        mine = of_route[number]
        frameworks = (tags[tag].get("framework") for tag in passes.occurring(tagged[mine]))
        yield RouteResult(
            route=routes[number],
            framework=next((name for name in frameworks if name), None),
            executions=int(executions[number]),
            exchanges=len(mine),
            round_trips=int(trips[number]),
            distinct_statements=len(passes.occurring(exchanges.fingerprint[mine])),
            network_s=float(network[number]),
            service_s=float(service[number]),
        )
